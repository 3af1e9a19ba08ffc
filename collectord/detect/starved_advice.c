// SPDX-License-Identifier: Apache-2.0
#include "detect/starved_advice.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "detect/wait_advice.h"
#include "figures/wait_chain.h"
#include "files/file_path.h"

/* The last step of the chain if it reads from a disk for most of the wait; NULL: it does something else. */
static const struct finding_hop *chain_disk(const struct finding_chain *chain)
{
	const struct finding_hop *last = chain->n ? &chain->hop[chain->n - 1] : NULL;

	if (!last || !last->is_known || !wait_is_most(last->ns, chain->ns))
		return NULL;
	return last->class == BLAME_BLOCK_IO || last->kind == RESOURCE_INODE ? last : NULL;
}

/* The step of the chain that waits for the lock of a file for most of the wait; NULL: there is none. */
static const struct finding_hop *chain_file_lock(const struct finding_chain *chain)
{
	for (size_t i = 0; i < chain->n && chain->hop[i].is_known; i++)
		if (chain->hop[i].kind == RESOURCE_FILE_LOCK && wait_is_most(chain->hop[i].ns, chain->ns))
			return &chain->hop[i];
	return NULL;
}

/* Whether the process to blame, the first step of the chain, sleeps for most of the wait. */
static bool chain_sleeps(const struct finding_chain *chain)
{
	const struct finding_hop *first = &chain->hop[0];

	return chain->n && first->is_known && first->class == BLAME_SLEEP && wait_is_most(first->ns, chain->ns);
}

/* More workers would wait for the same lock. */
static void advise_locked_worker(const struct finding_hop *lock, const struct detector_facts *facts, struct finding *f)
{
	char path[DETECTOR_PATH_BYTES] = "";

	if (lock->name[0])
		file_path_quote(lock->name, path, sizeof(path));
	detector_advise(f,
			"give each process a file of its own in the place of %s, or hold its lock for less time: the "
			"worker waits for it",
			path[0] ? path : "the locked one");
	detector_advise(f, "see which process holds the lock: sudo lslocks");
	if (f->cause.pid)
		detector_advise_command(f, facts, "see what the worker does", "sudo py-spy dump --pid ", f->cause.pid,
					"");
}

/* Number of workers that would keep up, given enough CPUs and no common disk. */
static void advise_loader(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	const struct finding_hop *disk = chain_disk(&f->cause.chain), *lock = chain_file_lock(&f->cause.chain);
	bool sleeps = chain_sleeps(&f->cause.chain);
	char path[DETECTOR_PATH_BYTES] = "";
	double ratio = s->time_ns ? (double)s->lost_ns / (double)s->time_ns : 0;
	double n = ratio < 1 ? (double)s->n_culprits / (1 - ratio) + 0.999 : UINT32_MAX;

	if (lock) {
		advise_locked_worker(lock, facts, f);
		return;
	}
	if (facts->n_cpus && n > facts->n_cpus)
		n = facts->n_cpus;
	if (disk && disk->name[0])
		file_path_quote(disk->name, path, sizeof(path));
	if (path[0])
		detector_advise(f, "keep %s in memory or on a faster disk: the worker waits for it", path);
	else if (disk)
		detector_advise(f, "keep its files in memory or on a faster disk: the worker waits for them");
	if (sleeps)
		detector_advise(f, "the worker sleeps for most of the time: see what for, and let it sleep less");
	if (n > s->n_culprits && n < UINT32_MAX)
		detector_advise(f,
				"more workers while CPUs are free; if it is a PyTorch DataLoader: num_workers %" PRIu32
				" -> %" PRIu32,
				s->n_culprits, (uint32_t)n);
	else if (!sleeps)
		detector_advise(f, "let the workers do less for each batch: prepare the data once, keep it in memory");
	if (f->cause.pid)
		detector_advise_command(f, facts, "see what the worker does", "sudo py-spy dump --pid ", f->cause.pid,
					"");
}

static void advise_files(const struct detector_facts *facts, struct finding *f)
{
	detector_advise_command(f, facts, "see which files", "sudo ls -l /proc/", f->process.tgid, "/fd");
}

static void advise_disk(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	const char *device = s->longest.device_name;
	char path[DETECTOR_PATH_BYTES];

	if (detector_path(&s->longest, path))
		detector_advise(f, "keep %s in memory or on a faster disk%s%s", path, *device ? " than " : "", device);
	else if (*device)
		detector_advise(f, "keep what it reads in memory or on a faster disk than %s", device);
	detector_advise(f, "prefetch the data in another process; in a PyTorch DataLoader: num_workers");
	advise_files(facts, f);
}

static void advise_checkpoint(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	char path[DETECTOR_PATH_BYTES];

	if (detector_path(&s->longest, path))
		detector_advise(f, "write %s in another thread or process, from a copy in memory", path);
	detector_advise(f,
			"save checkpoints asynchronously (torch.distributed.checkpoint.async_save), less often, or "
			"to a faster disk%s%s",
			*s->longest.device_name ? " than " : "", s->longest.device_name);
	advise_files(facts, f);
}

/* What to look at: the thread that holds the lock. The next run of a process that has ended has threads of its own. */
static void holder_words(const struct detector_facts *facts, uint32_t tid, const char *lock, char *ret, size_t n)
{
	if (!tid)
		(void)snprintf(ret, n, "see which thread holds the %s", lock);
	else if (facts->is_ended)
		(void)snprintf(ret, n, "see what the thread that holds the %s does, as thread %" PRIu32 " did", lock,
			       tid);
	else
		(void)snprintf(ret, n, "see what thread %" PRIu32 " does while it holds the %s", tid, lock);
}

/* The lock of a thread: a queue that one fills at its own pace may look like it (holder_paces()). */
static void advise_lock(const struct detector_facts *facts, struct finding *f)
{
	uint32_t tid = f->cause.tid, pid = tid ? f->cause.pid : f->process.tgid;
	const char *paced = facts->is_ended ? "slept on purpose and then filled" : "sleeps on purpose and then fills";
	char what[192];

	if (tid && f->cause.pid == f->process.tgid && chain_sleeps(&f->cause.chain))
		(void)snprintf(what, sizeof(what),
			       "unless thread %" PRIu32 " %s a queue (one of Python looks like a lock): see what %s",
			       tid, paced,
			       facts->is_ended ? "the thread that holds the lock does"
					       : "it does while it holds the lock");
	else
		holder_words(facts, tid, "lock", what, sizeof(what));
	wait_advise_debugger(f, facts, what, pid, " -batch -ex 'thread apply all bt'");
}

void starved_advise(const struct detector_sums *s, const struct detector_facts *facts, enum cause_number cause,
		    struct finding *f)
{
	char path[DETECTOR_PATH_BYTES], what[96];
	uint32_t pid = f->process.tgid;

	switch (cause) {
	case CAUSE_LOADER:
		advise_loader(s, facts, f);
		break;
	case CAUSE_DISK:
		advise_disk(s, facts, f);
		break;
	case CAUSE_LOCK:
		if (s->longest.kind == RESOURCE_FILE_LOCK && detector_path(&s->longest, path))
			detector_advise(f,
					"give each process a file of its own in the place of %s, or hold its lock for "
					"less time",
					path);
		if (s->longest.kind == RESOURCE_FILE_LOCK) {
			detector_advise(f, "see which process holds the lock: sudo lslocks");
			break;
		}
		advise_lock(facts, f);
		break;
	case CAUSE_GIL:
		detector_advise(f, "move the work of the other Python threads to other processes (multiprocessing)");
		holder_words(facts, f->cause.tid, "GIL", what, sizeof(what));
		detector_advise_command(f, facts, what, "sudo py-spy dump --pid ", pid, "");
		break;
	case CAUSE_MEMORY:
		if (*s->longest.device_name)
			detector_advise(f,
					"its page faults wait for %s: read mapped files ahead (MADV_WILLNEED), or keep "
					"them on a "
					"faster disk",
					s->longest.device_name);
		detector_advise(f, "raise memory.max of its control group, or use less memory");
		detector_advise(f, "see who waits for memory: cat /proc/pressure/memory");
		break;
	case CAUSE_NETWORK:
		wait_advise_socket(f, facts);
		break;
	case CAUSE_TOOL:
		detector_advise(
			f, "start the child process earlier and go on with calls meanwhile, or start it less often");
		break;
	case CAUSE_CHECKPOINT:
		advise_checkpoint(s, facts, f);
		break;
	case CAUSE_READER:
		wait_advise_reader(f, facts, &s->longest);
		break;
	case CAUSE_STOPPED:
		wait_advise_stopped(f, facts, &s->longest);
		break;
	case CAUSE_PYTHON:
	case CAUSE_KERNEL:
	case CAUSE_GC:
	case CAUSE_LAUNCHES:
	case CAUSE_SYNCS:
	case CAUSE_COUNT:
		break;
	}
}
