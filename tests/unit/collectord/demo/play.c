// SPDX-License-Identifier: Apache-2.0
/*
 * A demo's cells are the sum of its calls, its blame adds up, its records follow the kernel half's rule, and a seed
 * decides everything, in whatever steps it is played.
 */
#include "demo/play.h"
#include "base/array.h"
#include "events/op.h"
#include "figures/account.h"
#include "figures/histogram.h"
#include "tests/support/check.h"

#define S NSEC_PER_SEC
#define MS NSEC_PER_MSEC
#define START_NS (5000 * S)
/* PID_MAX_LIMIT of include/linux/threads.h on 64 bits: the kernel gives out none from here on. */
#define PID_MAX_LIMIT (4u << 20)

static const char *const names[] = {
#define DEMO(name, ...) name,
#include "base/demos.def"
};

typedef ARRAY(struct call_record) records;

static void keep(const struct call_record *call, void *data)
{
	records *kept = data;

	CHECK_INT_EQ("memory", ARRAY_PUSH(kept, *call), 0);
}

/* Return: a play that has been played to its end in steps of so long; its cells are as the last call left them */
static struct demo_play play_whole(const char *name, uint64_t seed, uint64_t step_ns, bool all, uint32_t sample_every,
				   records *kept)
{
	struct demo_play p;
	uint64_t at_ns = START_NS;

	CHECK_INT_EQ(name, demo_play_init(&p, demo_scenario_find(name), seed), 0);
	p.on_call = keep;
	p.data = kept;
	p.records_any = true;
	p.records_all = all;
	p.sample_every = sample_every;
	demo_play_begin(&p, START_NS, START_NS, 1000);
	do
		at_ns += step_ns;
	while (demo_play_until(&p, at_ns));
	return p;
}

/* ---- the tables ---- */

static void check_call(const char *name, const struct demo_call *call, bool *ret_waits)
{
	unsigned int percent = 0, away = 0;

	CHECK(call->op, op_find(call->op));
	for (int i = 0; i < BLAME_COUNT; i++) {
		percent += call->percent[i];
		away += call->away[i];
	}
	CHECK_INT_IN(name, percent, 0, 100);
	CHECK_INT_EQ(name, call->percent[BLAME_ON_CPU], 0);
	CHECK_INT_IN(name, away, 0, 100);
	CHECK_INT_EQ(name, call->away[BLAME_ON_CPU], 0);
	CHECK_INT_IN(name, call->spread, 0, 100);
	CHECK(name, call->times > 0 && call->usual_ns > 0);
	*ret_waits |= call->percent[BLAME_RUNNABLE] || call->away[BLAME_RUNNABLE] || call->rare_every;
}

static void check_tables(const char *name)
{
	const struct demo_scenario *s = demo_scenario_find(name);
	unsigned int percent = 0;
	bool waits = false;

	CHECK(name, s);
	if (!s)
		return;
	for (size_t i = 0; i < s->n_phases; i++)
		for (size_t k = 0; k < DEMO_THREADS; k++)
			for (size_t j = 0; j < s->phases[i].steps[k].n_calls; j++)
				check_call(name, &s->phases[i].steps[k].calls[j], &waits);
	for (size_t i = 0; i < DEMO_HOGS; i++) {
		percent += s->hogs[i].percent;
		CHECK(name, !s->hogs[i].tgid || s->hogs[i].tgid >= PID_MAX_LIMIT);
	}
	CHECK_INT_EQ(name, percent, waits ? 100 : 0);
	CHECK(name, DEMO_TGID >= PID_MAX_LIMIT);
	CHECK_INT_IN(name, demo_play_length_ns(s) / S, 8, 15);
}

/* ---- cells and records ---- */

static void check_record(const char *name, const struct demo_play *p, const struct call_record *c,
			 uint64_t *last_end_ns, uint64_t thread_end_ns[DEMO_THREADS])
{
	uint64_t waited_ns = 0, end_ns = c->start_ns + c->duration_ns;
	uint32_t thread = c->tid - c->tgid;

	for (int i = 0; i < BLAME_COUNT; i++)
		waited_ns += c->blame_ns[i];
	CHECK(name, waited_ns <= c->raw_ns && c->blame_ns[BLAME_ON_CPU] == 0);
	CHECK_INT_EQ(name, c->raw_ns, c->duration_ns);
	CHECK_INT_EQ(name, c->tgid, p->slots[DEMO_SLOT].tgid);
	CHECK(name, end_ns >= *last_end_ns);
	CHECK_INT_IN(name, thread, 0, DEMO_THREADS - 1);
	if (thread < DEMO_THREADS) {
		CHECK(name, c->start_ns >= thread_end_ns[thread]);
		thread_end_ns[thread] = end_ns;
	}
	*last_end_ns = end_ns;
}

static void cell_add(struct figure_cell *cell, const struct call_record *c)
{
	cell->total_ns += c->duration_ns;
	cell->raw_ns += c->raw_ns;
	cell->max_ns = MAX(cell->max_ns, c->duration_ns);
	if (op_get(c->op)->meaning[0] == OP_MEANING_BYTES)
		cell->bytes += c->args[0];
	for (int i = 1; i < BLAME_COUNT; i++)
		cell->blame_ns[i - 1] += c->blame_ns[i];
	cell->buckets[histogram_bucket_of(c->duration_ns)]++;
}

static void check_sums(const char *name)
{
	uint64_t last_ns = START_NS, thread_ns[DEMO_THREADS] = { START_NS, START_NS }, runnable_ns = 0, behind_ns = 0;
	struct figure_cell *sums = calloc(OP_ID_MAX, sizeof(sums[0]));
	records kept = { .items = NULL };
	struct demo_play p = play_whole(name, 7, 100 * MS, /* all= */ true, 0, &kept);

	for (size_t i = 0; i < kept.n; i++) {
		check_record(name, &p, &kept.items[i], &last_ns, thread_ns);
		cell_add(&sums[kept.items[i].op], &kept.items[i]);
	}
	for (uint32_t i = 1; i < p.cells_used; i++) {
		struct figure_cell *cell = &p.cells[i], *sum = &sums[cell->op];

		CHECK_INT_EQ(name, cell->slot, DEMO_SLOT);
		sum->slot = cell->slot;
		sum->op = cell->op;
		CHECK(op_get(cell->op)->name, memcmp(cell, sum, sizeof(*cell)) == 0);
		runnable_ns += cell->blame_ns[BLAME_RUNNABLE - 1];
		sum->raw_ns = 0;
	}
	for (uint32_t op = 0; op < OP_ID_MAX; op++)
		CHECK_INT_EQ(name, sums[op].raw_ns, 0); /* else: records of an operation that has no cell */
	for (size_t i = 0; i < DEMO_HOGS; i++)
		behind_ns += p.behind_ns[i];
	CHECK_INT_EQ(name, behind_ns, runnable_ns);
	CHECK(name, kept.n > 5000);

	/* It is over, and gives back what it had. */
	CHECK_INT_EQ(name, p.slots[DEMO_SLOT].state, PROCESS_SLOT_GONE);
	CHECK_INT_EQ(name, p.slots[DEMO_SLOT].gone_ns, last_ns);
	CHECK_INT_IN(name, last_ns - START_NS, demo_play_length_ns(p.scenario) - 200 * MS,
		     demo_play_length_ns(p.scenario) + 200 * MS);
	CHECK_INT_EQ(name, demo_play_in_flight(&p, NULL, 0), 0);
	CHECK_INT_EQ(name, demo_play_release(&p, DEMO_SLOT + 1), -EINVAL);
	CHECK_INT_EQ(name, demo_play_release(&p, DEMO_SLOT), 0);
	CHECK_INT_EQ(name, p.cells_used, 1);
	CHECK_INT_EQ(name, demo_play_release(&p, DEMO_SLOT), -EINVAL);
	demo_play_done(&p);
	ARRAY_DONE(&kept);
	free(sums);
}

static void check_seed(const char *name)
{
	records one = { .items = NULL }, same = { .items = NULL }, other = { .items = NULL };
	struct demo_play a = play_whole(name, 1, 100 * S, /* all= */ true, 0, &one);
	struct demo_play b = play_whole(name, 1, 13 * MS, /* all= */ true, 0, &same);
	struct demo_play c = play_whole(name, 2, 13 * MS, /* all= */ true, 0, &other);

	CHECK_INT_EQ(name, same.n, one.n);
	CHECK(name, same.n == one.n && memcmp(one.items, same.items, one.n * sizeof(one.items[0])) == 0);
	CHECK(name, other.n != one.n || memcmp(one.items, other.items, one.n * sizeof(one.items[0])) != 0);
	demo_play_done(&a);
	demo_play_done(&b);
	demo_play_done(&c);
	ARRAY_DONE(&one);
	ARRAY_DONE(&same);
	ARRAY_DONE(&other);
}

/* The few that are kept are those of all that the rule names. */
static void check_rule(const char *name)
{
	records all = { .items = NULL }, kept = { .items = NULL };
	struct demo_play a = play_whole(name, 3, S, /* all= */ true, 64, &all);
	struct demo_play b = play_whole(name, 3, S, /* all= */ false, 64, &kept);
	uint32_t calls[DEMO_THREADS] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < all.n; i++) {
		struct call_record c = all.items[i];
		const struct op *op = op_get(c.op);
		bool is_sample = ++calls[(c.tid - c.tgid) % DEMO_THREADS] % 64 == 0;
		uint8_t want = (uint8_t)((op->traits & OP_SYNC ? RECORD_REASON_SYNC : 0) |
					 (op->traits & OP_MEMORY ? RECORD_REASON_ALLOC : 0) |
					 (is_sample ? RECORD_REASON_SAMPLE : 0));

		CHECK_INT_EQ(name, c.reason, want | RECORD_REASON_ALL);
		if (!want)
			continue;
		c.reason = want;
		CHECK(name, n < kept.n && memcmp(&kept.items[n], &c, sizeof(c)) == 0);
		n++;
	}
	CHECK_INT_EQ(name, kept.n, n);
	demo_play_done(&a);
	demo_play_done(&b);
	ARRAY_DONE(&all);
	ARRAY_DONE(&kept);
}

/* A threshold that the reader of figures sets makes slow calls records, and nothing else does. */
static void check_slow(const char *name)
{
	records kept = { .items = NULL };
	struct demo_play p;
	const uint64_t slow_ns = 100 * MS;
	uint32_t n_slow = 0;

	CHECK_INT_EQ(name, demo_play_init(&p, demo_scenario_find(name), 3), 0);
	p.on_call = keep;
	p.data = &kept;
	p.records_any = true;
	demo_play_begin(&p, START_NS, START_NS, 1000);
	for (uint64_t at_ns = START_NS + MS; demo_play_until(&p, at_ns); at_ns += MS)
		for (uint32_t i = 1; i < p.cells_used; i++)
			p.cells[i].slow_ns = slow_ns;
	for (size_t i = 0; i < kept.n; i++) {
		bool is_slow = kept.items[i].duration_ns > slow_ns;

		/* The very first call of an operation has no threshold yet. */
		CHECK(name, is_slow || !(kept.items[i].reason & RECORD_REASON_SLOW));
		n_slow += is_slow && kept.items[i].reason & RECORD_REASON_SLOW;
	}
	CHECK(name, n_slow > 1);
	demo_play_done(&p);
	ARRAY_DONE(&kept);
}

/* What is in progress at any moment becomes a record later, and its waits do not shrink. */
static void check_in_flight(const char *name)
{
	struct in_flight_record now[DEMO_THREADS], before[DEMO_THREADS] = { { 0 } };
	records kept = { .items = NULL };
	struct demo_play p;
	size_t n_seen = 0;

	CHECK_INT_EQ(name, demo_play_init(&p, demo_scenario_find(name), 4), 0);
	p.on_call = keep;
	p.data = &kept;
	demo_play_begin(&p, START_NS, START_NS, 1000);
	for (uint64_t at_ns = START_NS + MS; demo_play_until(&p, at_ns); at_ns += MS) {
		size_t n = demo_play_in_flight(&p, now, DEMO_THREADS);

		CHECK_INT_IN(name, n, 0, DEMO_THREADS);
		n_seen += n;
		for (size_t i = 0; i < n; i++) {
			uint64_t waited_ns = 0;
			uint32_t thread = now[i].tid - now[i].tgid;

			for (int k = 0; k < BLAME_COUNT; k++) {
				waited_ns += now[i].blame_ns[k];
				CHECK(name, before[thread].start_ns != now[i].start_ns ||
						    now[i].blame_ns[k] >= before[thread].blame_ns[k]);
			}
			CHECK(name, now[i].start_ns < now[i].now_ns && waited_ns <= now[i].now_ns - now[i].start_ns);
			before[thread] = now[i];
		}
	}
	CHECK(name, n_seen > 1000);
	CHECK_INT_EQ(name, kept.n, 0); /* nobody asked for records */
	demo_play_done(&p);
}

/* ---- accounts ---- */

static uint64_t part_of(const struct account_part *parts, size_t n, enum account_where where, uint32_t op,
			enum blame_class class)
{
	for (size_t i = 0; i < n; i++)
		if (parts[i].where == where && parts[i].op == op && parts[i].class == class)
			return parts[i].ns;
	return 0;
}

/* As the kernel half would write them: at each moment the parts are the clock, none shrinks, all of them is known. */
static void check_moment(const char *name, const struct demo_play *p, uint64_t last_ns[DEMO_THREADS][BLAME_COUNT])
{
	for (size_t i = 0; i < DEMO_THREADS; i++) {
		struct account_part parts[ACCOUNT_PARTS_MOST];
		uint64_t sum_ns = 0, class_ns[BLAME_COUNT] = { 0 };
		struct account_record record;
		size_t n;

		if (!demo_play_account(p, i, &record))
			continue;
		CHECK(name, !account_is_torn(&record));
		n = account_read(&record, parts);
		for (size_t k = 0; k < n; k++) {
			sum_ns += parts[k].ns;
			class_ns[parts[k].class] += parts[k].ns;
			CHECK(name, parts[k].where != ACCOUNT_NOT_KNOWN);
		}
		CHECK_INT_EQ(name, sum_ns, record.now_ns - record.account.since_ns);
		CHECK_INT_EQ(name, class_ns[BLAME_ON_CPU], record.runtime_ns);
		for (int k = 0; k < BLAME_COUNT; k++) {
			CHECK(name, class_ns[k] >= last_ns[i][k]);
			last_ns[i][k] = class_ns[k];
		}
	}
}

/* What cells, neighbours and waits have, the accounts have. Return: the share of the main thread's clock that it was
 * ready between calls, percent */
static uint64_t check_account(const char *name, size_t n_waits)
{
	uint64_t last_ns[DEMO_THREADS][BLAME_COUNT] = { { 0 } }, in_ns[BLAME_COUNT] = { 0 }, behind_ns = 0, calls = 0;
	uint64_t between_ns[BLAME_COUNT] = { 0 }, all_calls = 0, main_ns = 0, wall_ns = 0;
	struct demo_play p;

	CHECK_INT_EQ(name, demo_play_init(&p, demo_scenario_find(name), 5), 0);
	demo_play_begin(&p, START_NS, START_NS, 1000);
	for (uint64_t at_ns = START_NS + 3 * MS; demo_play_until(&p, at_ns); at_ns += 3 * MS)
		check_moment(name, &p, last_ns);
	check_moment(name, &p, last_ns);
	for (size_t i = 0; i < DEMO_THREADS; i++) {
		struct account_part parts[ACCOUNT_PARTS_MOST];
		struct account_record record;
		size_t n;

		if (!demo_play_account(&p, i, &record))
			continue;
		n = account_read(&record, parts);
		calls += record.account.calls;
		for (size_t k = 0; k < n; k++) {
			in_ns[parts[k].class] += parts[k].where == ACCOUNT_IN ? parts[k].ns : 0;
			between_ns[parts[k].class] += parts[k].where == ACCOUNT_BETWEEN ? parts[k].ns : 0;
		}
		if (i == 0) {
			main_ns = part_of(parts, n, ACCOUNT_BETWEEN, 0, BLAME_RUNNABLE);
			wall_ns = record.now_ns - record.account.since_ns;
		}
	}
	for (int k = 1; k < BLAME_COUNT; k++) {
		uint64_t cells_ns = 0;

		for (uint32_t i = 1; i < p.cells_used; i++)
			cells_ns += p.cells[i].blame_ns[k - 1];
		CHECK_INT_EQ(name, in_ns[k], cells_ns);
	}
	for (uint32_t i = 1; i < p.cells_used; i++)
		for (uint32_t k = 0; k < HISTOGRAM_BUCKETS; k++)
			all_calls += p.cells[i].buckets[k];
	CHECK_INT_EQ(name, calls, all_calls);
	for (size_t i = 0; i < DEMO_HOGS; i++)
		behind_ns += p.behind_between_ns[i];
	CHECK_INT_EQ(name, behind_ns, between_ns[BLAME_RUNNABLE]);
	CHECK_INT_EQ(name, p.n_waits, n_waits);
	for (size_t i = 0; i < p.n_waits; i++) {
		const struct demo_wait *w = &p.waits[i];

		CHECK(name, w->value.count && w->value.max_ns >= WAIT_LEAST_NS);
		CHECK(name, w->value.ns <= (w->key.op ? in_ns : between_ns)[w->key.class]);
	}
	CHECK_INT_EQ(name, demo_play_release(&p, DEMO_SLOT), 0);
	CHECK(name, !demo_play_account(&p, 0, &(struct account_record){ .tid = 0 }));
	demo_play_done(&p);
	return main_ns * 100 / wall_ns;
}

static void check_accounts(void)
{
	CHECK_INT_IN("incident", check_account("incident", 2), 3, 8);
	CHECK_INT_IN("cpu-contention", check_account("cpu-contention", 0), 5, 12);
	CHECK_INT_EQ("cold-start", check_account("cold-start", 6), 0);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		check_tables(names[i]);
		check_sums(names[i]);
		check_seed(names[i]);
		check_rule(names[i]);
		check_in_flight(names[i]);
	}
	check_slow("incident");
	check_accounts();
	CHECK("unknown", !demo_scenario_find("gpu-steal"));
	CHECK("empty", !demo_scenario_find(""));
	return check_result();
}
