// SPDX-License-Identifier: Apache-2.0
/*
 * Advice that its reader can follow: who may do it, to whom it is done, and no CPU that nobody knows to be allowed.
 */
#include "detect/advice.h"

#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define ALICE 1000
#define BOB 1001

static const struct {
	const char *name;
	struct advice_task victim, behind;
	uint32_t n_cpus;
	const char *want[ADVICE_CPU_MAX];
} cases[] = {
	{ "one's own",
	  { 10, ALICE, "python" },
	  { 20, ALICE, "ffmpeg" },
	  16,
	  { "renice -n 19 -p $(ls /proc/20/task)",
	    "or move it: taskset -acp CPUS 20, with CPUS of those that 'taskset -cp 20' shows" } },
	{ "another user's",
	  { 10, ALICE, "python" },
	  { 20, BOB, "ffmpeg" },
	  0,
	  { "sudo renice -n 19 -p $(ls /proc/20/task), or ask its owner",
	    "or move it: sudo taskset -acp CPUS 20, with CPUS of those that 'taskset -cp 20' shows" } },
	{ "root's",
	  { 10, ALICE, "python" },
	  { 20, 0, "logrotate" },
	  1,
	  { "sudo renice -n 19 -p $(ls /proc/20/task), or ask root" } },
	{ "a user's, and root waits",
	  { 10, 0, "python" },
	  { 20, BOB, "ffmpeg" },
	  1,
	  { "renice -n 19 -p $(ls /proc/20/task)" } },
	{ "its own threads",
	  { 10, ALICE, "python" },
	  { 10, ALICE, "python" },
	  16,
	  { "let the process have more CPUs or start fewer threads: its own threads wait for each other" } },
	{ "a thread of the kernel",
	  { 10, ALICE, "python" },
	  { 20, 0, "kworker/1:2" },
	  16,
	  { "sudo renice -n -5 -p $(ls /proc/10/task), or ask root",
	    "or give the process CPUs of its own: cpuset.cpus of its control group (needs root)" } },
	{ "who is only called like one",
	  { 10, ALICE, "python" },
	  { 20, ALICE, "kworker/1:2" },
	  1,
	  { "renice -n 19 -p $(ls /proc/20/task)" } },
	{ "the first process",
	  { 10, 0, "python" },
	  { 1, 0, "init" },
	  16,
	  { "renice -n -5 -p $(ls /proc/10/task)",
	    "or give the process CPUs of its own: cpuset.cpus of its control group (needs root)" } },
	{ "nobody known",
	  { 10, ALICE, "python" },
	  { 0, 0, "" },
	  16,
	  { "sudo renice -n -5 -p $(ls /proc/10/task), or ask root",
	    "or give the process CPUs of its own: cpuset.cpus of its control group (needs root)" } },
	{ "the largest numbers",
	  { UINT32_MAX, ALICE, "python" },
	  { UINT32_MAX - 1, BOB, "sixteen letters!" },
	  0,
	  { "sudo renice -n 19 -p $(ls /proc/4294967294/task), or ask its owner",
	    "or move it: sudo taskset -acp CPUS 4294967294, with CPUS of those that 'taskset -cp 4294967294' shows" } },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct advice_cpu a = advice_cpu(&cases[i].victim, &cases[i].behind, cases[i].n_cpus);

		CHECK_INT_EQ(cases[i].name, a.n, cases[i].want[1] ? 2 : 1);
		CHECK_STR_EQ(cases[i].name, a.text[0], cases[i].want[0]);
		CHECK_STR_EQ(cases[i].name, a.text[1], cases[i].want[1] ? cases[i].want[1] : "");
	}
	return check_result();
}
