// SPDX-License-Identifier: Apache-2.0
/*
 * Advice that its reader can follow: permitted for the user, with the right target, on CPUs known to be allowed.
 */
#include "detect/advice.h"

#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define ALICE 1000
#define BOB 1001
#define FEWER "start fewer of them (PyTorch DataLoader: num_workers), or fewer threads in each (OMP_NUM_THREADS)"

static const struct {
	const char *name;
	struct advice_task victim, behind;
	uint32_t n_cpus;
	const char *want[ADVICE_CPU_MAX];
	const char *runs_on, *behind_runs_on; /* as many digits as CPUs; NULL: not known */
} cases[] = {
	{ "one's own",
	  { 10, ALICE, "python", false },
	  { 20, ALICE, "ffmpeg", false },
	  16,
	  { "renice -n 19 -p $(ls /proc/20/task)",
	    "or move it: taskset -acp CPUS 20, with CPUS of those that 'taskset -cp 20' shows" },
	  NULL,
	  NULL },
	{ "another user's",
	  { 10, ALICE, "python", false },
	  { 20, BOB, "ffmpeg", false },
	  0,
	  { "sudo renice -n 19 -p $(ls /proc/20/task), or ask its owner",
	    "or move it: sudo taskset -acp CPUS 20, with CPUS of those that 'taskset -cp 20' shows" },
	  NULL,
	  NULL },
	{ "root's",
	  { 10, ALICE, "python", false },
	  { 20, 0, "logrotate", false },
	  1,
	  { "sudo renice -n 19 -p $(ls /proc/20/task), or ask root" },
	  NULL,
	  NULL },
	{ "a user's, and root waits",
	  { 10, 0, "python", false },
	  { 20, BOB, "ffmpeg", false },
	  1,
	  { "renice -n 19 -p $(ls /proc/20/task)" },
	  NULL,
	  NULL },
	{ "its own threads",
	  { 10, ALICE, "python", false },
	  { 10, ALICE, "python", false },
	  16,
	  { "give the process more CPUs or start fewer threads: its own threads wait for each other" },
	  NULL,
	  NULL },
	{ "a thread of the kernel",
	  { 10, ALICE, "python", false },
	  { 20, 0, "kworker/1:2", false },
	  16,
	  { "sudo renice -n -5 -p $(ls /proc/10/task), or ask root",
	    "or give the process CPUs of its own: cpuset.cpus of its control group (needs root)" },
	  NULL,
	  NULL },
	{ "who is only called like one",
	  { 10, ALICE, "python", false },
	  { 20, ALICE, "kworker/1:2", false },
	  1,
	  { "renice -n 19 -p $(ls /proc/20/task)" },
	  NULL,
	  NULL },
	{ "the first process",
	  { 10, 0, "python", false },
	  { 1, 0, "init", false },
	  16,
	  { "renice -n -5 -p $(ls /proc/10/task)",
	    "or give the process CPUs of its own: cpuset.cpus of its control group (needs root)" },
	  NULL,
	  NULL },
	{ "nobody known",
	  { 10, ALICE, "python", false },
	  { 0, 0, "", false },
	  16,
	  { "sudo renice -n -5 -p $(ls /proc/10/task), or ask root",
	    "or give the process CPUs of its own: cpuset.cpus of its control group (needs root)" },
	  NULL,
	  NULL },
	{ "it has others, too",
	  { 10, ALICE, "python", false },
	  { 20, ALICE, "ffmpeg", false },
	  16,
	  { "renice -n 19 -p $(ls /proc/20/task)",
	    "or move it: taskset -acp 2,4-5 20, where this process does not run" },
	  "01",
	  "1245" },
	{ "another user's, that has others, too",
	  { 10, ALICE, "python", false },
	  { 20, BOB, "ffmpeg", false },
	  16,
	  { "sudo renice -n 19 -p $(ls /proc/20/task), or ask its owner",
	    "or move it: sudo taskset -acp 0,2-3 20, where this process does not run" },
	  "1",
	  "0123" },
	{ "it has none of its own, the process has",
	  { 10, ALICE, "python", false },
	  { 20, BOB, "ffmpeg", false },
	  16,
	  { "sudo renice -n 19 -p $(ls /proc/20/task), or ask its owner",
	    "or move this process: taskset -acp 0,3 10, where the other may not run" },
	  "0123",
	  "12" },
	{ "both may use the same",
	  { 10, ALICE, "python", false },
	  { 20, ALICE, "ffmpeg", false },
	  16,
	  { "renice -n 19 -p $(ls /proc/20/task)",
	    "or pin it to some of its CPUs: taskset -acp CPUS 20; both may run on 0-3" },
	  "0123",
	  "0123" },
	{ "both are confined to one",
	  { 10, ALICE, "python", false },
	  { 20, ALICE, "ffmpeg", false },
	  16,
	  { "move one of them: both are pinned to CPU 3; taskset -acp CPUS 20", "renice -n 19 -p $(ls /proc/20/task)" },
	  "3",
	  "3" },
	{ "both are confined to the only one",
	  { 10, ALICE, "python", false },
	  { 20, ALICE, "ffmpeg", false },
	  1,
	  { "renice -n 19 -p $(ls /proc/20/task)" },
	  "0",
	  "0" },
	{ "each is confined to one",
	  { 10, ALICE, "python", false },
	  { 20, ALICE, "ffmpeg", false },
	  16,
	  { "renice -n 19 -p $(ls /proc/20/task)", "or move it: taskset -acp 3 20, where this process does not run" },
	  "2",
	  "3" },
	{ "a worker confined to the one of the process",
	  { 10, ALICE, "python", false },
	  { 20, ALICE, "python", true },
	  16,
	  { "move one of them: both are pinned to CPU 3; taskset -acp CPUS 20",
	    "20 is a worker of this process: " FEWER },
	  "3",
	  "3" },
	{ "the largest numbers",
	  { UINT32_MAX, ALICE, "python", false },
	  { UINT32_MAX - 1, BOB, "sixteen letters!", false },
	  0,
	  { "sudo renice -n 19 -p $(ls /proc/4294967294/task), or ask its owner",
	    "or move it: sudo taskset -acp CPUS 4294967294, with CPUS of those that 'taskset -cp 4294967294' shows" },
	  NULL,
	  NULL },
	{ "a worker",
	  { 10, ALICE, "python", false },
	  { 20, ALICE, "python", true },
	  16,
	  { "20 is a worker of this process: " FEWER,
	    "or move it: taskset -acp CPUS 20, with CPUS of those that 'taskset -cp 20' shows" },
	  NULL,
	  NULL },
	{ "a worker, that has CPUs of its own, too",
	  { 10, ALICE, "python", false },
	  { 20, ALICE, "python", true },
	  16,
	  { "20 is a worker of this process: " FEWER,
	    "or move it: taskset -acp 2,4-5 20, where this process does not run" },
	  "01",
	  "1245" },
	{ "a worker, one CPU",
	  { 10, ALICE, "python", false },
	  { 20, ALICE, "python", true },
	  1,
	  { "20 is a worker of this process: " FEWER },
	  NULL,
	  NULL },
	{ "several workers",
	  { 10, ALICE, "python", false },
	  { 0, ALICE, "python", true },
	  16,
	  { "they are workers of this process: " FEWER,
	    "or move each of them: taskset -acp CPUS PID, with CPUS where this process does not run" },
	  NULL,
	  NULL },
	{ "the largest number of a worker",
	  { UINT32_MAX, ALICE, "python", false },
	  { UINT32_MAX - 1, ALICE, "python", true },
	  1,
	  { "4294967294 is a worker of this process: " FEWER },
	  NULL,
	  NULL },
};

static cpu_set_t cpus_of(const char *digits)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (; digits && *digits; digits++)
		CPU_SET(*digits - '0', &cpus);
	return cpus;
}

/* More ranges than the text has room for: said as if they were not known. */
static void check_many(void)
{
	const struct advice_task victim = { 10, ALICE, "python", false }, behind = { 20, ALICE, "ffmpeg", false };
	struct advice_scheduling s = { .affinity.is_known = true };
	struct advice_cpu a;

	CPU_ZERO(&s.affinity.victim);
	CPU_ZERO(&s.affinity.behind);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu += 2)
		CPU_SET(cpu, &s.affinity.behind);
	a = advice_cpu(&victim, &behind, 0, &s);
	CHECK_INT_EQ("many CPUs", a.n, 2);
	CHECK_STR_EQ("many CPUs", a.text[1],
		     "or move it: taskset -acp CPUS 20, with CPUS of those that 'taskset -cp 20' shows");
}

/* Each process's parent has half its number; above 100 nobody is known. */
static int half_of(uint32_t pid, uint32_t *ret_parent)
{
	if (pid > 100)
		return -1;
	*ret_parent = pid / 2;
	return 0;
}

static void check_parents(void)
{
	static const struct {
		const char *name;
		uint32_t pid, of;
		bool is_known, want;
	} rows[] = {
		{ "a child", 20, 10, true, true },
		{ "through one other", 21, 5, true, true },
		{ "through two others", 47, 5, true, true },
		{ "through three others", 95, 5, true, false },
		{ "another one's child", 20, 11, true, false },
		{ "its parent", 10, 20, true, false },
		{ "itself", 10, 10, true, false },
		{ "a process that has ended", 200, 100, true, false },
		{ "of the first process", 2, 1, true, true },
		{ "nobody known", 0, 10, true, false },
		{ "no parent known", 20, 10, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_INT_EQ(rows[i].name, advice_is_worker(rows[i].pid, rows[i].of, rows[i].is_known ? half_of : NULL),
			     rows[i].want);
}

/* Nice values do nothing to a task in real time, and the one that waits may have the wrong one itself. */
static void check_scheduling(void)
{
	static const struct {
		const char *name;
		uint32_t behind_uid;
		struct advice_priority victim, behind;
		uint32_t n_others;
		const char *want[ADVICE_CPU_MAX];
	} rows[] = {
		{ "unknown", ALICE, { false, 0, 5 }, { false, 0, 0 }, 0, { "renice -n 19 -p $(ls /proc/20/task)" } },
		{ "as usual",
		  ALICE,
		  { true, SCHED_OTHER, 0 },
		  { true, SCHED_OTHER, 0 },
		  0,
		  { "renice -n 19 -p $(ls /proc/20/task)" } },
		{ "in real time",
		  ALICE,
		  { true, SCHED_OTHER, 0 },
		  { true, SCHED_FIFO, 0 },
		  0,
		  { "chrt -a -o -p 0 20: it runs as SCHED_FIFO, which no nice value changes" } },
		{ "in real time, of another user",
		  BOB,
		  { true, SCHED_OTHER, 10 },
		  { true, SCHED_RR, 0 },
		  0,
		  { "sudo chrt -a -o -p 0 20, or ask its owner: it runs as SCHED_RR, which no nice value changes" } },
		{ "with a deadline",
		  0,
		  { true, SCHED_OTHER, 0 },
		  { true, 6, 0 },
		  1,
		  { "sudo chrt -a -o -p 0 20, or ask root: it runs as SCHED_DEADLINE, which no nice value changes; one "
		    "of 2: 'ingero blame' names others" } },
		{ "nice itself",
		  ALICE,
		  { true, SCHED_OTHER, 10 },
		  { true, SCHED_OTHER, 0 },
		  1,
		  { "sudo renice -n 0 -p $(ls /proc/10/task): this process has nice 10, and gives way to nice 0",
		    "renice -n 19 -p $(ls /proc/20/task); one of 2: 'ingero blame' names others" } },
		{ "the other is nicer",
		  ALICE,
		  { true, SCHED_OTHER, 5 },
		  { true, SCHED_BATCH, 10 },
		  0,
		  { "renice -n 19 -p $(ls /proc/20/task)" } },
		{ "as important as can be",
		  0,
		  { true, SCHED_OTHER, 19 },
		  { true, SCHED_OTHER, -20 },
		  UINT32_MAX - 1,
		  { "sudo renice -n -20 -p $(ls /proc/10/task): this process has nice 19, and gives way to nice -20",
		    "sudo renice -n 19 -p $(ls /proc/20/task), or ask root; one of 4294967295: 'ingero blame' names "
		    "others" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct advice_task victim = { 10, ALICE, "python", false },
					 behind = { 20, rows[i].behind_uid, "ffmpeg", false };
		const struct advice_scheduling s = { .victim = rows[i].victim,
						     .behind = rows[i].behind,
						     .n_others = rows[i].n_others };
		struct advice_cpu a = advice_cpu(&victim, &behind, 1, &s);

		CHECK_INT_EQ(rows[i].name, a.n, rows[i].want[1] ? 2 : 1);
		for (size_t k = 0; k < a.n; k++)
			CHECK_STR_EQ(rows[i].name, a.text[k], rows[i].want[k]);
	}
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct advice_scheduling s = { .affinity = { .is_known = cases[i].runs_on,
							     .victim = cpus_of(cases[i].runs_on),
							     .behind = cpus_of(cases[i].behind_runs_on) } };
		struct advice_cpu a = advice_cpu(&cases[i].victim, &cases[i].behind, cases[i].n_cpus, &s);

		CHECK_INT_EQ(cases[i].name, a.n, cases[i].want[1] ? 2 : 1);
		CHECK_STR_EQ(cases[i].name, a.text[0], cases[i].want[0]);
		CHECK_STR_EQ(cases[i].name, a.text[1], cases[i].want[1] ? cases[i].want[1] : "");
	}
	check_many();
	check_scheduling();
	check_parents();
	return check_result();
}
