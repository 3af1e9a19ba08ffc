// SPDX-License-Identifier: Apache-2.0
#include "detect/advice.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* The kernel keeps nice values of threads: that of the process's number is only the first one's. */
#define TASKS_FORMAT "$(ls /proc/%" PRIu32 "/task)"

const char *advice_class(enum blame_class class)
{
#define BLAME(id, field, label, phrase, remedy) [BLAME_##id] = (remedy),
	static const char *const remedies[BLAME_COUNT] = {
#include "bpf/blame.def"
	};
#undef BLAME

	return remedies[class];
}

/* Names that the kernel gives its own threads: they cannot be moved by command. */
static bool is_kernel_thread(const struct advice_task *task)
{
	static const char *const names[] = { "kworker/", "ksoftirqd/", "migration/", "rcu", "irq/", "kswapd" };

	for (size_t i = 0; task->uid == 0 && i < ARRAY_SIZE(names); i++)
		if (strncmp(task->comm, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

struct advice_cpu advice_cpu(const struct advice_task *victim, const struct advice_task *behind, uint32_t n_cpus)
{
	struct advice_cpu a = { .n = 0 };
	bool is_foreign = victim->uid != 0 && victim->uid != behind->uid;

	if (behind->pid == victim->pid) {
		(void)snprintf(
			a.text[a.n++], ADVICE_BYTES,
			"let the process have more CPUs or start fewer threads: its own threads wait for each other");
		return a;
	}
	/* Nobody slows down the first process: everything else hangs on it. */
	if (behind->pid <= 1 || is_kernel_thread(behind)) {
		(void)snprintf(a.text[a.n++], ADVICE_BYTES, "%srenice -n -5 -p " TASKS_FORMAT "%s",
			       victim->uid ? "sudo " : "", victim->pid, victim->uid ? ", or ask root" : "");
		(void)snprintf(a.text[a.n++], ADVICE_BYTES,
			       "or give the process CPUs of its own: cpuset.cpus of its control group (needs root)");
		return a;
	}
	(void)snprintf(a.text[a.n++], ADVICE_BYTES, "%srenice -n 19 -p " TASKS_FORMAT "%s", is_foreign ? "sudo " : "",
		       behind->pid,
		       !is_foreign   ? ""
		       : behind->uid ? ", or ask its owner"
				     : ", or ask root");
	if (n_cpus != 1)
		(void)snprintf(a.text[a.n++], ADVICE_BYTES,
			       "or move it: %staskset -acp CPUS %" PRIu32
			       ", with CPUS of those that 'taskset -cp %" PRIu32 "' shows",
			       is_foreign ? "sudo " : "", behind->pid, behind->pid);
	return a;
}
