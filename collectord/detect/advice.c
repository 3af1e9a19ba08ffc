// SPDX-License-Identifier: Apache-2.0
#include "detect/advice.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define CPUS_BYTES 64
#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6 /* include/uapi/linux/sched.h; glibc before 2.41 has no name for it */
#endif
/* Nice values are per thread: the process id alone names only its first thread. */
#define TASKS_FORMAT "$(ls /proc/%" PRIu32 "/task)"
/* A server of forks, or a shell, may stand between a process and its worker. */
#define GENERATIONS_MOST 3
#define FEWER_WORKERS                                                                                                  \
	"start fewer of them (PyTorch DataLoader: num_workers), or fewer threads in each (OMP_NUM_THREADS)"

const char *advice_class(enum blame_class class)
{
#define BLAME(id, field, label, phrase, remedy) [BLAME_##id] = (remedy),
	static const char *const remedies[BLAME_COUNT] = {
#include "bpf/blame.def"
	};
#undef BLAME

	return remedies[class];
}

bool advice_is_worker(uint32_t pid, uint32_t of, advice_parent_func parent)
{
	uint32_t at = pid;

	for (int i = 0; parent && i < GENERATIONS_MOST && at > 1; i++) {
		if (parent(at, &at) < 0)
			return false;
		if (at == of)
			return true;
	}
	return false;
}

/* Whether a task is a kernel thread, by its name: these cannot be moved by a command. */
static bool is_kernel_thread(const struct advice_task *task)
{
	static const char *const names[] = { "kworker/", "ksoftirqd/", "migration/", "rcu", "irq/", "kswapd" };

	for (size_t i = 0; task->uid == 0 && i < ARRAY_SIZE(names); i++)
		if (strncmp(task->comm, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Formats a set of CPUs for taskset: "0-3,7". Return: false if the text is too long or the set is empty */
static bool cpus_text(const cpu_set_t *cpus, char text[static CPUS_BYTES])
{
	size_t n = 0;

	text[0] = 0;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		int first = cpu, r;

		if (!CPU_ISSET(cpu, cpus))
			continue;
		while (cpu + 1 < CPU_SETSIZE && CPU_ISSET(cpu + 1, cpus))
			cpu++;
		r = first == cpu ? snprintf(text + n, CPUS_BYTES - n, "%s%d", n ? "," : "", cpu)
				 : snprintf(text + n, CPUS_BYTES - n, "%s%d-%d", n ? "," : "", first, cpu);
		if (r < 0 || (size_t)r >= CPUS_BYTES - n)
			return false;
		n += (size_t)r;
	}
	return n > 0;
}

/* The CPUs of @a that are not in @b. */
static cpu_set_t cpus_without(const cpu_set_t *a, const cpu_set_t *b)
{
	cpu_set_t both, rest;

	CPU_AND(&both, a, b);
	CPU_XOR(&rest, a, &both);
	return rest;
}

/* Advises to move one of the two processes, within the CPUs that it may already use. */
static void advise_move(struct advice_cpu *a, const struct advice_task *victim, const struct advice_task *behind,
			const char *sudo, const struct advice_affinity *affinity)
{
	cpu_set_t of_behind, of_victim; /* alone */
	char text[CPUS_BYTES];

	of_behind = cpus_without(&affinity->behind, &affinity->victim);
	of_victim = cpus_without(&affinity->victim, &affinity->behind);
	if (affinity->is_known && cpus_text(&of_behind, text))
		(void)snprintf(a->text[a->n++], ADVICE_BYTES,
			       "or move it: %staskset -acp %s %" PRIu32 ", where this process does not run", sudo, text,
			       behind->pid);
	else if (affinity->is_known && cpus_text(&of_victim, text))
		(void)snprintf(a->text[a->n++], ADVICE_BYTES,
			       "or move this process: taskset -acp %s %" PRIu32 ", where the other may not run", text,
			       victim->pid);
	else if (affinity->is_known && cpus_text(&affinity->behind, text)) {
		if (CPU_COUNT(&affinity->behind) > 1)
			(void)snprintf(a->text[a->n++], ADVICE_BYTES,
				       "or pin it to some of its CPUs: %staskset -acp CPUS %" PRIu32
				       "; both may run on %s",
				       sudo, behind->pid, text);
	} else {
		(void)snprintf(a->text[a->n++], ADVICE_BYTES,
			       "or move it: %staskset -acp CPUS %" PRIu32
			       ", with CPUS of those that 'taskset -cp %" PRIu32 "' shows",
			       sudo, behind->pid, behind->pid);
	}
}

/* Return: whether both are pinned to one CPU, and there are others */
static bool advise_apart(struct advice_cpu *a, const struct advice_task *behind, uint32_t n_cpus, bool is_foreign,
			 const struct advice_affinity *affinity)
{
	char cpu[CPUS_BYTES];

	if (n_cpus == 1 || !affinity->is_known || CPU_COUNT(&affinity->victim) != 1 ||
	    !CPU_EQUAL(&affinity->victim, &affinity->behind) || !cpus_text(&affinity->victim, cpu))
		return false;
	(void)snprintf(a->text[a->n++], ADVICE_BYTES,
		       "move one of them: both are pinned to CPU %s; %staskset -acp CPUS %" PRIu32, cpu,
		       is_foreign ? "sudo " : "", behind->pid);
	return true;
}

/* A process that gets less of the CPU delays the one that waits for its work. */
static struct advice_cpu advise_workers(const struct advice_task *victim, const struct advice_task *behind,
					uint32_t n_cpus, const struct advice_affinity *affinity)
{
	struct advice_cpu a = { .n = 0 };
	bool is_apart = behind->pid && advise_apart(&a, behind, n_cpus, false, affinity);

	if (behind->pid)
		(void)snprintf(a.text[a.n++], ADVICE_BYTES, "%" PRIu32 " is a worker of this process: " FEWER_WORKERS,
			       behind->pid);
	else
		(void)snprintf(a.text[a.n++], ADVICE_BYTES, "they are workers of this process: " FEWER_WORKERS);
	if (n_cpus == 1 || is_apart)
		return a;
	if (behind->pid)
		advise_move(&a, victim, behind, "", affinity);
	else
		(void)snprintf(
			a.text[a.n++], ADVICE_BYTES,
			"or move each of them: taskset -acp CPUS PID, with CPUS where this process does not run");
	return a;
}

/* Nice values weigh neither a task in real time nor those behind it. Return: NULL: no such task */
static const char *real_time_name(const struct advice_priority *priority)
{
	if (!priority->is_known)
		return NULL;
	switch (priority->policy) {
	case SCHED_FIFO:
		return "SCHED_FIFO";
	case SCHED_RR:
		return "SCHED_RR";
	case SCHED_DEADLINE:
		return "SCHED_DEADLINE";
	default:
		return NULL;
	}
}

/* Advises to give the other process less of the CPU. */
static void advise_weight(struct advice_cpu *a, const struct advice_task *victim, const struct advice_task *behind,
			  bool is_foreign, const struct advice_scheduling *s)
{
	const char *real_time = real_time_name(&s->behind), *sudo = is_foreign ? "sudo " : "",
		   *owner = !is_foreign	  ? ""
			    : behind->uid ? ", or ask its owner"
					  : ", or ask root";
	char others[64] = "";

	if (s->n_others)
		(void)snprintf(others, sizeof(others), "; one of %" PRIu32 ": 'ingero blame' names others",
			       s->n_others + 1);
	if (real_time) {
		(void)snprintf(a->text[a->n++], ADVICE_BYTES,
			       "%schrt -a -o -p 0 %" PRIu32 "%s: it runs as %s, which no nice value changes%s", sudo,
			       behind->pid, owner, real_time, others);
		return;
	}
	if (s->victim.is_known && s->behind.is_known && s->victim.nice > s->behind.nice)
		(void)snprintf(a->text[a->n++], ADVICE_BYTES,
			       "%srenice -n %d -p " TASKS_FORMAT ": this process has nice %d, and gives way to nice %d",
			       victim->uid ? "sudo " : "", s->behind.nice, victim->pid, s->victim.nice, s->behind.nice);
	(void)snprintf(a->text[a->n++], ADVICE_BYTES, "%srenice -n 19 -p " TASKS_FORMAT "%s%s", sudo, behind->pid,
		       owner, others);
}

struct advice_cpu advice_cpu(const struct advice_task *victim, const struct advice_task *behind, uint32_t n_cpus,
			     const struct advice_scheduling *scheduling)
{
	const struct advice_affinity *affinity = &scheduling->affinity;
	bool is_foreign = victim->uid != 0 && victim->uid != behind->uid;
	struct advice_cpu a = { .n = 0 };
	bool is_apart;

	if (behind->pid == victim->pid) {
		(void)snprintf(
			a.text[a.n++], ADVICE_BYTES,
			"give the process more CPUs or start fewer threads: its own threads wait for each other");
		return a;
	}
	if (behind->is_worker)
		return advise_workers(victim, behind, n_cpus, affinity);
	/* Never advise to slow down process 1: the whole system depends on it. */
	if (behind->pid <= 1 || is_kernel_thread(behind)) {
		(void)snprintf(a.text[a.n++], ADVICE_BYTES, "%srenice -n -5 -p " TASKS_FORMAT "%s",
			       victim->uid ? "sudo " : "", victim->pid, victim->uid ? ", or ask root" : "");
		(void)snprintf(a.text[a.n++], ADVICE_BYTES,
			       "or give the process CPUs of its own: cpuset.cpus of its control group (needs root)");
		return a;
	}
	is_apart = advise_apart(&a, behind, n_cpus, is_foreign, affinity);
	advise_weight(&a, victim, behind, is_foreign, scheduling);
	if (n_cpus != 1 && !is_apart)
		advise_move(&a, victim, behind, is_foreign ? "sudo " : "", affinity);
	return a;
}
