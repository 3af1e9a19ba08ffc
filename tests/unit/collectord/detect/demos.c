// SPDX-License-Identifier: Apache-2.0
/*
 * Each demo names its own cause, by its process, and nothing else above LOW, however its time is cut into ticks.
 */
#include "detect/engine.h"
#include "demo/play.h"
#include "events/op.h"
#include "figures/tick.h"
#include "play.h"

struct stage {
	struct demo_play demo;
	struct play told; /* its findings alone are used */
	struct process_table *table;
	struct figures *figures;
	struct ticker *ticker;
	struct engine *engine;
};

static void on_call(const struct call_record *call, void *data)
{
	struct stage *s = data;
	const struct process_slot *slot = &s->demo.slots[DEMO_SLOT];
	struct process_identity identity = {
		.start_boot_ns = slot->start_boot_ns, .tgid = slot->tgid, .uid = slot->uid, .comm = "python"
	};
	struct event event = { .call = call,
			       .process = process_table_take(s->table, &identity),
			       .op = op_get(call->op),
			       .measured = ALL_CLASSES };

	engine_call(s->engine, &event);
	(void)process_unref(event.process);
}

static uint32_t cells_used(void *data)
{
	struct stage *s = data;

	return s->demo.cells_used;
}

static void behind_tell(struct stage *s, const char *name, const uint64_t behind_ns[DEMO_HOGS], bool is_between)
{
	for (size_t i = 0; i < DEMO_HOGS; i++) {
		const struct demo_hog *hog = &s->demo.scenario->hogs[i];
		struct behind_key key = { .slot = DEMO_SLOT, .is_between = is_between, .tgid = hog->tgid };
		struct behind_value value = { .ns = behind_ns[i] };

		memcpy(value.comm, hog->comm, sizeof(value.comm));
		if (value.ns)
			CHECK_INT_EQ(name, figures_behind(s->figures, &key, &value), 0);
	}
}

static void take(struct stage *s, const char *name)
{
	struct figures_source source = {
		.slots = s->demo.slots, .cells = s->demo.cells, .cells_used = cells_used, .data = s
	};
	const uint64_t losses[LOSS_COUNT] = { 0 };
	struct in_flight_record in_flight[DEMO_THREADS];
	struct account_record account;
	struct tick tick;

	CHECK_INT_EQ(name, figures_collect(s->figures, &source), 0);
	behind_tell(s, name, s->demo.behind_ns, /* is_between= */ false);
	behind_tell(s, name, s->demo.behind_between_ns, /* is_between= */ true);
	CHECK_INT_EQ(name, figures_behind_read(s->figures, /* is_complete= */ true), 0);
	for (size_t i = 0; i < DEMO_THREADS; i++)
		if (demo_play_account(&s->demo, i, &account))
			CHECK_INT_EQ(name, figures_account(s->figures, &account), 0);
	for (size_t i = 0; i < s->demo.n_waits; i++)
		CHECK_INT_EQ(name, figures_wait(s->figures, &s->demo.waits[i].key, &s->demo.waits[i].value), 0);
	CHECK_INT_EQ(name, figures_accounts_read(s->figures, /* all_accounts= */ true, /* all_waits= */ true), 0);
	CHECK_INT_EQ(name, ticker_take(s->ticker, s->figures, s->demo.now_ns, losses, &tick), 0);
	tick.measured = ALL_CLASSES;
	tick.in_flight = in_flight;
	tick.n_in_flight = demo_play_in_flight(&s->demo, in_flight, DEMO_THREADS);
	CHECK_INT_EQ(name, engine_tick(s->engine, &tick), 0);
	tick_done(&tick);
}

static void run(struct stage *s, const char *name, uint64_t seed, uint64_t length_ns)
{
	const uint64_t start_ns = 5000 * S;
	bool is_more = true;

	memset(s, 0, sizeof(*s));
	CHECK_INT_EQ(name, demo_play_init(&s->demo, demo_scenario_find(name), seed), 0);
	s->demo.on_call = on_call;
	s->demo.data = s;
	s->demo.records_any = true;
	s->demo.sample_every = 64;
	CHECK_INT_EQ(name, process_table_new(&s->table), 0);
	CHECK_INT_EQ(name, figures_new(s->table, &s->figures), 0);
	CHECK_INT_EQ(name, ticker_new(&s->ticker), 0);
	CHECK_INT_EQ(name, engine_new(s->table, play_told, &s->told, &s->engine), 0);
	demo_play_begin(&s->demo, start_ns, start_ns, 1000);
	take(s, name);
	for (uint64_t until_ns = start_ns + length_ns; is_more; until_ns += length_ns) {
		is_more = demo_play_until(&s->demo, until_ns);
		take(s, name);
	}
	engine_finish(s->engine, s->demo.now_ns);
}

static void done(struct stage *s)
{
	engine_free(s->engine);
	ticker_free(s->ticker);
	figures_free(s->figures);
	process_table_free(s->table);
	demo_play_done(&s->demo);
}

static const struct {
	const char *name;
	const char *kind;
	enum finding_severity low, high;
	uint32_t pid;
	const char *op;
} cases[] = {
	{ "incident", "cpu_contention", FINDING_HIGH, FINDING_CRITICAL, DEMO_PID(6603), "cudaStreamSynchronize" },
	{ "cold-start", "cold_start", FINDING_LOW, FINDING_MEDIUM, 0, "cudaMalloc" },
	{ "memcpy-bottleneck", "memcpy_share", FINDING_MEDIUM, FINDING_MEDIUM, 0, "cudaMemcpy" },
	{ "cpu-contention", "cpu_contention", FINDING_MEDIUM, FINDING_CRITICAL, DEMO_PID(8821),
	  "cudaStreamSynchronize" },
};

static const uint64_t lengths_ns[] = { S, S + 37 * MS, 700 * MS, 2 * S };

#define DEMO(name, ...) name,
static const char *const names[] = {
#include "base/demos.def"
};

int main(void)
{
	struct stage *s = malloc(sizeof(*s));

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t at = 0;

		while (at < ARRAY_SIZE(cases) && strcmp(cases[at].name, names[i]) != 0)
			at++;
		CHECK(names[i], at < ARRAY_SIZE(cases));
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (uint64_t seed = 0; seed < 10 * ARRAY_SIZE(lengths_ns); seed++) {
			const struct finding *first;

			run(s, cases[i].name, seed, lengths_ns[seed % ARRAY_SIZE(lengths_ns)]);
			first = play_first(&s->told);
			CHECK_STR_EQ(cases[i].name, first ? first->kind : "", cases[i].kind);
			if (first) {
				CHECK_INT_IN(cases[i].name, first->severity, cases[i].low, cases[i].high);
				CHECK_INT_EQ(cases[i].name, first->cause.pid, cases[i].pid);
				CHECK_STR_EQ(cases[i].name, first->op->name, cases[i].op);
				CHECK(cases[i].name, first->n_calls > 0);
				/* The hog's last moments may fall in a tick where the device had work meanwhile. */
				CHECK_INT_IN(cases[i].name, (int64_t)(first->confidence * 1000), 995, 1000);
			}
			for (size_t k = 0; k < s->told.n_findings; k++) {
				const struct finding *f = &s->told.findings[k];

				if (f != first)
					CHECK_STR_EQ(cases[i].name, f->severity > FINDING_LOW ? f->kind : "", "");
			}
			done(s);
		}
	}
	free(s);
	return check_result();
}
