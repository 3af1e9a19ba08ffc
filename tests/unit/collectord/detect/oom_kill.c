// SPDX-License-Identifier: Apache-2.0
/* A kill for want of memory is one finding, whether the process ever called, and names who set it off. */
#include "play.h"

static const struct {
	const char *name;
	enum record_type type;
	bool has_called, is_told_twice;
	enum oom_scope scope;
	uint32_t by;
	uint64_t rss_bytes;
	const char *title; /* NULL: no finding */
} cases[] = {
	{ "its group", RECORD_OOM, true, false, OOM_SCOPE_GROUP, 0, 64 << 20,
	  "killed: its control group was out of memory" },
	{ "the machine", RECORD_OOM, true, false, OOM_SCOPE_MACHINE, PLAY_HOG, 64 << 20,
	  "killed: the machine was out of memory" },
	{ "an old kernel", RECORD_OOM, true, false, OOM_SCOPE_UNKNOWN, 0, 0, "killed: out of memory" },
	{ "a scope of a later version", RECORD_OOM, true, false, 200, 0, 0, "killed: out of memory" },
	{ "never called", RECORD_OOM, false, false, OOM_SCOPE_GROUP, 0, 1 << 20,
	  "killed: its control group was out of memory" },
	{ "told twice", RECORD_OOM, true, true, OOM_SCOPE_GROUP, 0, 1 << 20,
	  "killed: its control group was out of memory" },
	{ "an exit is none", RECORD_EXIT, true, false, OOM_SCOPE_UNKNOWN, 0, 0, NULL },
};

static void kill_it(struct play *p, size_t i)
{
	struct life_record life = {
		.time_ns = p->now_ns + S / 2,
		.tgid = PLAY_PID,
		.uid = PLAY_UID,
		.type = (uint8_t)cases[i].type,
		.oom.rss_bytes = cases[i].rss_bytes,
		.oom.scope = (uint8_t)cases[i].scope,
		.oom.by_tgid = cases[i].by,
		.oom.by_comm = "hog",
	};
	struct event event = { .life = &life, .process = play_entry(p), .op = op_get(OP_EVENT_oom_kill) };

	engine_host(p->engine, &event);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct play *p = play_new(i);
		const struct finding *f;
		uint64_t at_ns;

		for (int second = 0; second < 3 && cases[i].has_called; second++) {
			play_calls(p, "cudaFree", 100, US, BLAME_ON_CPU);
			CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
		}
		at_ns = p->now_ns + S / 2;
		kill_it(p, i);
		CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);
		if (cases[i].is_told_twice)
			kill_it(p, i);
		CHECK_INT_EQ(cases[i].name, play_tick(p, S), 0);

		CHECK_INT_EQ(cases[i].name, p->n_findings, cases[i].title ? 1 : 0);
		f = play_find(p, "oom_kill");
		CHECK(cases[i].name, (f != NULL) == (cases[i].title != NULL));
		if (f) {
			CHECK_STR_EQ(cases[i].name, f->title, cases[i].title);
			CHECK_INT_EQ(cases[i].name, f->severity, FINDING_CRITICAL);
			CHECK(cases[i].name, f->confidence == 1);
			CHECK_INT_EQ(cases[i].name, f->start_ns, at_ns);
			CHECK_INT_EQ(cases[i].name, f->end_ns, at_ns);
			CHECK_INT_EQ(cases[i].name, f->lost_ns, 0);
			CHECK(cases[i].name, f->n_advice > 0);
			CHECK_INT_EQ(cases[i].name, f->cause.pid, cases[i].by);
			CHECK_STR_EQ(cases[i].name, f->cause.comm, cases[i].by ? "hog" : "");
			CHECK_INT_EQ(cases[i].name, play_evidence(f, "by_itself"), cases[i].by ? 0 : 1);
			if (cases[i].rss_bytes)
				CHECK_INT_EQ(cases[i].name, play_evidence(f, "rss_bytes"), cases[i].rss_bytes);
			CHECK_INT_EQ(cases[i].name, p->n_opened, 1);
			CHECK_INT_EQ(cases[i].name, p->n_closed, 1);
		}
		play_free(p);
	}
	return check_result();
}
