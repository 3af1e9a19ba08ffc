// SPDX-License-Identifier: Apache-2.0
#include "demo/scenarios.h"

#include <string.h>

#include "base/cleanup.h"

/* The macros of base/demos.def. */
#define US(n) ((n)*1000ull)
#define MS(n) ((n)*1000000ull)
#define MIB(n) ((n) << 20)
#define LIST_OF(type, ...) (const type[]){ __VA_ARGS__ }, sizeof((const type[]){ __VA_ARGS__ }) / sizeof(type)
#define HOGS(...)                                                                                                      \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}
#define HOG(pid, percent_, comm_)                                                                                      \
	{                                                                                                              \
		.tgid = DEMO_PID(pid), .percent = (percent_), .comm = comm_                                            \
	}
#define ROOT_HOG(pid, percent_, comm_)                                                                                 \
	{                                                                                                              \
		.tgid = DEMO_PID(pid), .is_root = true, .percent = (percent_), .comm = comm_                           \
	}
#define PHASE(ms, ...)                                                                                                 \
	{                                                                                                              \
		.length_ns = MS(ms), .steps = { __VA_ARGS__ }                                                          \
	}
#define ONCE(ms, ...)                                                                                                  \
	{                                                                                                              \
		.length_ns = MS(ms), .once = true, .steps = { __VA_ARGS__ }                                            \
	}
#define THREAD(...)                                                                                                    \
	{                                                                                                              \
		LIST_OF(struct demo_call, __VA_ARGS__)                                                                 \
	}
#define CALL(op_, times_, usual, spread_, after, ...)                                                                  \
	{                                                                                                              \
		.op = (op_), .times = (times_), .usual_ns = (usual), .spread = (spread_), .after_ns = (after),         \
		__VA_ARGS__                                                                                            \
	}
#define BYTES(n) .bytes = (n)
#define EVERY(n) .every = (n)
#define WAITS(class, part) .percent[BLAME_##class] = (part)
#define AWAY(class, part) .away[BLAME_##class] = (part)
#define RARE(n, ns) .rare_every = (n), .rare_ns = (ns)

static const struct demo_scenario scenarios[] = {
#define DEMO(name_, aliases, sentence, hogs_, ...) { (name_), LIST_OF(struct demo_phase, __VA_ARGS__), hogs_ },
#include "base/demos.def"
};

const struct demo_scenario *demo_scenario_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	return NULL;
}
