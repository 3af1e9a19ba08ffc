// SPDX-License-Identifier: Apache-2.0
/* What counts as a delay, and which remedy goes with it. */
#include "detect/delay.h"

#include <string.h>

#include "base/cleanup.h"
#include "events/event.h"
#include "events/op.h"
#include "support/check.h"

#define MS NSEC_PER_MSEC
#define S NSEC_PER_SEC
#define ALL UINT16_MAX

static const struct {
	const char *name;
	const char *op;
	__u64 blame_ns[BLAME_COUNT];
	uint64_t raw_ns, window_ns;
	uint16_t measured;
	uint64_t want_ns;
	enum blame_class want;
} judged[] = {
	{ "behind another task",
	  "cudaStreamSynchronize",
	  { [BLAME_RUNNABLE] = 2 * S, [BLAME_DEVICE] = 5 * S },
	  8 * S,
	  10 * S,
	  ALL,
	  2 * S,
	  BLAME_RUNNABLE },
	{ "for the device", "cudaMalloc", { [BLAME_DEVICE] = 5 * S }, 8 * S, 10 * S, ALL, 0, 0 },
	{ "computing", "cudaMalloc", { 0 }, 8 * S, 10 * S, ALL, 0, 0 },
	{ "in a futex, by its meaning", "cudaStreamSynchronize", { [BLAME_LOCK] = 5 * S }, 8 * S, 10 * S, ALL, 0, 0 },
	{ "in a futex", "cudaMalloc", { [BLAME_LOCK] = 5 * S }, 8 * S, 10 * S, ALL, 5 * S, BLAME_LOCK },
	{ "of an unknown operation", NULL, { [BLAME_LOCK] = 5 * S }, 8 * S, 10 * S, ALL, 5 * S, BLAME_LOCK },
	{ "the largest",
	  "cudaMalloc",
	  { [BLAME_LOCK] = 2 * S, [BLAME_MEMORY] = 3 * S },
	  8 * S,
	  10 * S,
	  ALL,
	  3 * S,
	  BLAME_MEMORY },
	{ "not measured",
	  "cudaMalloc",
	  { [BLAME_LOCK] = 2 * S, [BLAME_MEMORY] = 3 * S },
	  8 * S,
	  10 * S,
	  MEASURED(BLAME_LOCK),
	  2 * S,
	  BLAME_LOCK },
	{ "little of the operation", "cudaMalloc", { [BLAME_LOCK] = 1 * S }, 11 * S, 10 * S, ALL, 0, 0 },
	{ "little of the window", "cudaMalloc", { [BLAME_LOCK] = 1 * S }, 2 * S, 101 * S, ALL, 0, 0 },
	{ "little", "cudaMalloc", { [BLAME_LOCK] = MS - 1 }, MS, MS, ALL, 0, 0 },
};

#define FEWER "start fewer of them (PyTorch DataLoader: num_workers), or fewer threads in each (OMP_NUM_THREADS)"

static const struct {
	const char *name;
	uint32_t first_pid, first_uid;
	uint64_t first_ns, third_ns;
	enum blame_class takes;
	uint32_t finding_pid;
	const char *finding_takes;
	const char *want;
	uint32_t workers; /* processes from 6603 on that it started */
} advised[] = {
	{ "one process", 6603, 0, 9 * S, 0, BLAME_RUNNABLE, 0, "", "renice -n 19 -p $(ls /proc/6603/task)", 0 },
	{ "several", 6603, 0, 4 * S, 5 * S, BLAME_RUNNABLE, 0, "", "renice -n -5 -p $(ls /proc/4711/task)", 0 },
	{ "nobody known", 0, 0, 0, 0, BLAME_RUNNABLE, 0, "", "", 0 },
	{ "somebody hidden", 0, 1000, 9 * S, 0, BLAME_RUNNABLE, 0, "", "", 0 },
	{ "a quota", 6603, 0, 9 * S, 0, BLAME_QUOTA, 0, "",
	  "raise cpu.max of its control group (kubernetes: limits.cpu, docker: --cpus)", 0 },
	{ "memory", 0, 0, 0, 0, BLAME_MEMORY, 0, "", "touch or lock the memory before the calls", 0 },
	{ "a disk", 0, 0, 0, 0, BLAME_BLOCK_IO, 0, "", "", 0 },
	{ "with a finding", 6603, 0, 9 * S, 0, BLAME_RUNNABLE, 4711, "runnable", "the finding's", 0 },
	{ "with a finding of something else", 6603, 0, 9 * S, 0, BLAME_RUNNABLE, 4711, "quota",
	  "renice -n 19 -p $(ls /proc/6603/task)", 0 },
	{ "with another's finding", 6603, 0, 9 * S, 0, BLAME_RUNNABLE, 4712, "runnable",
	  "renice -n 19 -p $(ls /proc/6603/task)", 0 },
	{ "its worker", 6603, 0, 9 * S, 0, BLAME_RUNNABLE, 0, "", "6603 is a worker of this process: " FEWER, 1 },
	{ "its worker, of another user", 6603, 1000, 9 * S, 0, BLAME_RUNNABLE, 0, "",
	  "renice -n 19 -p $(ls /proc/6603/task)", 1 },
	{ "several, all its workers", 6603, 0, 4 * S, 5 * S, BLAME_RUNNABLE, 0, "",
	  "they are workers of this process: " FEWER, 3 },
	{ "several, one is no worker", 6603, 0, 4 * S, 5 * S, BLAME_RUNNABLE, 0, "",
	  "renice -n -5 -p $(ls /proc/4711/task)", 2 },
	{ "several, the one that is no worker hardly ran", 6603, 0, 2 * S, S / 10, BLAME_RUNNABLE, 0, "",
	  "they are workers of this process: " FEWER, 2 },
};

static uint32_t n_workers;

static int parent_of(uint32_t pid, uint32_t *ret_parent)
{
	*ret_parent = pid >= 6603 && pid < 6603 + n_workers ? 4711 : 1;
	return 0;
}

static char *text(const char *lent)
{
	return (char *)(uintptr_t)lent;
}

static void advised_check(size_t i)
{
	Ingero__V1__Behind behind[3] = { INGERO__V1__BEHIND__INIT, INGERO__V1__BEHIND__INIT, INGERO__V1__BEHIND__INIT };
	Ingero__V1__Behind *behinds[] = { &behind[0], &behind[1], &behind[2] };
	Ingero__V1__Finding finding = INGERO__V1__FINDING__INIT, *findings[] = { &finding };
	Ingero__V1__Summary summary = INGERO__V1__SUMMARY__INIT;
	Ingero__V1__Operation op = INGERO__V1__OPERATION__INIT;
	Ingero__V1__Cause cause = INGERO__V1__CAUSE__INIT;
	char *advice[] = { text("the finding's") };

	behind[0].pid = advised[i].first_pid;
	behind[0].uid = advised[i].first_uid;
	behind[0].comm = text("logrotate");
	behind[0].ns = advised[i].first_ns;
	behind[1].pid = 6604;
	behind[1].comm = text("updatedb");
	behind[1].ns = 2 * S;
	behind[2].pid = 6605;
	behind[2].comm = text("find");
	behind[2].ns = advised[i].third_ns;
	behind[0].victim_pid = behind[1].victim_pid = behind[2].victim_pid = op.pid = 4711;
	op.process_name = text("python");
	cause.takes = text(advised[i].finding_takes);
	finding.pid = advised[i].finding_pid;
	finding.cause = &cause;
	finding.advice = advice;
	finding.n_advice = 1;
	summary.behind = behinds;
	summary.n_behind = advised[i].first_ns ? 3 : 0;
	summary.findings = findings;
	summary.n_findings = advised[i].finding_pid ? 1 : 0;
	n_workers = advised[i].workers;
	CHECK_STR_EQ(advised[i].name, delay_advice(&summary, &op, advised[i].takes, parent_of).text, advised[i].want);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(judged); i++) {
		struct delay_times times = { .op = judged[i].op ? op_find(judged[i].op) : NULL,
					     .raw_ns = judged[i].raw_ns,
					     .blame_ns = judged[i].blame_ns,
					     .measured = judged[i].measured };
		enum blame_class class = BLAME_ON_CPU;

		CHECK_INT_EQ(judged[i].name, delay_judge(&times, judged[i].window_ns, &class), judged[i].want_ns);
		CHECK_INT_EQ(judged[i].name, class, judged[i].want);
	}
	for (size_t i = 0; i < ARRAY_SIZE(advised); i++)
		advised_check(i);
	return check_result();
}
