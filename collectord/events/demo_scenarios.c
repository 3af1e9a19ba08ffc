// SPDX-License-Identifier: Apache-2.0
#include "events/demo_scenarios.h"

#include <string.h>

#include "base/cleanup.h"

#define US(n) ((n)*1000ull)
#define MS(n) ((n)*1000000ull)
#define MIB(n) ((n) << 20)
#define STEP(calls_)                                                                                                   \
	{                                                                                                              \
		.calls = (calls_), .n_calls = ARRAY_SIZE(calls_)                                                       \
	}

/* The batch that is copied while the one before is computed, by a thread of its own. */
static const struct demo_call copy_ahead[] = {
	{ .op = "cudaMemcpyAsync",
	  .times = 1,
	  .usual_ns = US(350),
	  .spread = 15,
	  .after_ns = MS(24),
	  .bytes = MIB(8),
	  .percent = { [BLAME_DEVICE] = 60 } },
};

/* ---- incident: log rotation on the training's CPU ---- */

static const struct demo_call incident_before[] = {
	{ .op = "cudaMemcpyAsync",
	  .times = 1,
	  .usual_ns = US(800),
	  .spread = 15,
	  .after_ns = US(60),
	  .bytes = MIB(16),
	  .percent = { [BLAME_DEVICE] = 70 } },
	{ .op = "cudaMalloc",
	  .times = 1,
	  .every = 20,
	  .usual_ns = US(120),
	  .spread = 20,
	  .after_ns = US(20),
	  .bytes = MIB(4),
	  .percent = { [BLAME_DEVICE] = 20 } },
	{ .op = "cudaLaunchKernel", .times = 40, .usual_ns = US(14), .spread = 20, .after_ns = US(30) },
	{ .op = "cudaStreamSynchronize",
	  .times = 1,
	  .usual_ns = MS(16),
	  .spread = 10,
	  .after_ns = US(200),
	  .percent = { [BLAME_DEVICE] = 97 } },
};

static const struct demo_call incident_storm[] = {
	{ .op = "cudaMemcpyAsync",
	  .times = 1,
	  .usual_ns = MS(3),
	  .spread = 15,
	  .after_ns = US(60),
	  .bytes = MIB(16),
	  .percent = { [BLAME_RUNNABLE] = 70, [BLAME_DEVICE] = 19 } },
	{ .op = "cudaMalloc",
	  .times = 1,
	  .every = 20,
	  .usual_ns = US(160),
	  .spread = 20,
	  .after_ns = US(20),
	  .bytes = MIB(4),
	  .percent = { [BLAME_DEVICE] = 15, [BLAME_RUNNABLE] = 25 } },
	{ .op = "cudaLaunchKernel",
	  .times = 40,
	  .usual_ns = US(45),
	  .spread = 20,
	  .after_ns = US(40),
	  .percent = { [BLAME_RUNNABLE] = 40 },
	  .rare_every = 400,
	  .rare_ns = MS(20) },
	{ .op = "cudaStreamSynchronize",
	  .times = 1,
	  .usual_ns = MS(142),
	  .spread = 20,
	  .after_ns = US(400),
	  .percent = { [BLAME_RUNNABLE] = 68, [BLAME_DEVICE] = 22 } },
};

static const struct demo_call incident_after[] = {
	{ .op = "cudaMemcpyAsync",
	  .times = 1,
	  .usual_ns = US(800),
	  .spread = 15,
	  .after_ns = US(60),
	  .bytes = MIB(16),
	  .percent = { [BLAME_DEVICE] = 70 } },
	{ .op = "cudaMalloc",
	  .times = 1,
	  .every = 20,
	  .usual_ns = US(120),
	  .spread = 20,
	  .after_ns = US(20),
	  .bytes = MIB(4),
	  .percent = { [BLAME_DEVICE] = 20 } },
	{ .op = "cudaLaunchKernel", .times = 40, .usual_ns = US(14), .spread = 20, .after_ns = US(30) },
	{ .op = "cudaStreamSynchronize",
	  .times = 1,
	  .usual_ns = MS(17),
	  .spread = 10,
	  .after_ns = US(200),
	  .percent = { [BLAME_DEVICE] = 97 } },
};

static const struct demo_phase incident_phases[] = {
	{ .length_ns = MS(4000), .steps = { STEP(incident_before), STEP(copy_ahead) } },
	{ .length_ns = MS(5000), .steps = { STEP(incident_storm), STEP(copy_ahead) } },
	{ .length_ns = MS(3000), .steps = { STEP(incident_after), STEP(copy_ahead) } },
};

/* ---- cold-start: context, kernels and library read and compiled by whoever calls first ---- */

#define COLD(op_, ms, disk)                                                                                            \
	{                                                                                                              \
		.op = (op_), .times = 1, .usual_ns = MS(ms), .spread = 5, .after_ns = MS(2), .bytes = MIB(32),         \
		.percent = {                                                                                           \
			[BLAME_BLOCK_IO] = (disk),                                                                     \
			[BLAME_MEMORY] = 8,                                                                            \
			[BLAME_DEVICE] = 10                                                                            \
		}                                                                                                      \
	}
static const struct demo_call cold_first[] = {
	COLD("cudaMalloc", 340, 35),	  COLD("cudaMalloc", 210, 30),	    COLD("cudaMalloc", 150, 25),
	COLD("cudaMalloc", 120, 20),	  COLD("cudaMalloc", 100, 20),	    COLD("cudaLaunchKernel", 150, 40),
	COLD("cudaLaunchKernel", 80, 35), COLD("cudaLaunchKernel", 50, 30),
};

static const struct demo_call cold_steady[] = {
	{ .op = "cudaMemcpyAsync",
	  .times = 5,
	  .usual_ns = US(200),
	  .spread = 15,
	  .after_ns = US(30),
	  .bytes = MIB(2),
	  .percent = { [BLAME_DEVICE] = 60 } },
	{ .op = "cudaLaunchKernel", .times = 9, .usual_ns = US(14), .spread = 20, .after_ns = US(30) },
	{ .op = "cudaMalloc",
	  .times = 1,
	  .every = 4,
	  .usual_ns = US(50),
	  .spread = 20,
	  .after_ns = US(20),
	  .bytes = MIB(1) },
	{ .op = "cudaStreamSynchronize",
	  .times = 3,
	  .usual_ns = MS(1),
	  .spread = 15,
	  .after_ns = US(300),
	  .percent = { [BLAME_DEVICE] = 92 } },
};

static const struct demo_phase cold_phases[] = {
	{ .length_ns = MS(1500), .once = true, .steps = { STEP(cold_first) } },
	{ .length_ns = MS(9000), .steps = { STEP(cold_steady), STEP(copy_ahead) } },
};

/* ---- cpu-contention: short calls, long turns of somebody else ---- */

static const struct demo_call contention_before[] = {
	{ .op = "cudaLaunchKernel", .times = 4, .usual_ns = US(50), .spread = 20, .after_ns = US(60) },
	{ .op = "cudaStreamSynchronize",
	  .times = 1,
	  .usual_ns = US(200),
	  .spread = 20,
	  .after_ns = US(500),
	  .percent = { [BLAME_DEVICE] = 85 } },
};

static const struct demo_call contention_storm[] = {
	{ .op = "cudaLaunchKernel",
	  .times = 4,
	  .usual_ns = US(80),
	  .spread = 25,
	  .after_ns = US(80),
	  .percent = { [BLAME_RUNNABLE] = 38 },
	  .rare_every = 60,
	  .rare_ns = MS(5) },
	{ .op = "cudaStreamSynchronize",
	  .times = 1,
	  .usual_ns = US(600),
	  .spread = 25,
	  .after_ns = US(700),
	  .percent = { [BLAME_RUNNABLE] = 65, [BLAME_DEVICE] = 28 },
	  .rare_every = 10,
	  .rare_ns = MS(5) },
};

static const struct demo_phase contention_phases[] = {
	{ .length_ns = MS(4000), .steps = { STEP(contention_before) } },
	{ .length_ns = MS(5000), .steps = { STEP(contention_storm) } },
	{ .length_ns = MS(3000), .steps = { STEP(contention_before) } },
};

static const struct demo_scenario scenarios[] = {
	{ .name = "incident",
	  .phases = incident_phases,
	  .n_phases = ARRAY_SIZE(incident_phases),
	  .hogs = { { .tgid = DEMO_PID(6603), .is_root = true, .percent = 92, .comm = "logrotate" },
		    { .tgid = DEMO_PID(412), .is_root = true, .percent = 8, .comm = "systemd-journal" } } },
	{ .name = "cold-start", .phases = cold_phases, .n_phases = ARRAY_SIZE(cold_phases) },
	{ .name = "cpu-contention",
	  .phases = contention_phases,
	  .n_phases = ARRAY_SIZE(contention_phases),
	  .hogs = { { .tgid = DEMO_PID(8821), .percent = 100, .comm = "ffmpeg" } } },
};

const struct demo_scenario *demo_scenario_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	return NULL;
}
