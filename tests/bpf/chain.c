// SPDX-License-Identifier: Apache-2.0
/*
 * Chains of wakers: what the thread that ended a wait did while it was waited for, and who ended its own waits.
 *
 * The thread that makes calls asks the first of several processes, waits for its answer, and rests before it asks the
 * next time. Each of them asks the next one and waits for its answer; the last one rests or computes before it answers.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "files/file_path.h"
#include "probes/probe_set_state.h"
#include "rig.h"
#include "tests/support/check.h"
#include "waits.h"

#define WAITS 20
#define LINKS_MOST 5
#define OTHER_UID 65534
#define FIFO_NAME "chain.fifo"

/* Shared by all processes of a chain and the test. */
static struct shared {
	uint32_t pids[LINKS_MOST]; /* those of the chain, the first is asked by the thread that makes calls */
} * shared;

static struct {
	int ask[2], answer[2];
} pipes[LINKS_MOST];

struct scenario {
	const char *name;
	size_t n; /* processes of the chain */
	void (*last_does)(void);
	enum blame_class last_class;
	uint32_t uid;	/* of the processes */
	bool is_thread; /* the first is a thread of the process that makes calls */
	bool is_rooted; /* the processes have the working directory for their root */
	bool is_execed; /* each is a second thread, which executes another program after its last answer */
};

static const struct scenario *scenario;

static void does_rest(void)
{
	wait_sleep();
}

static void does_compute(void)
{
	wait_spin();
}

/* Nobody may look into it meanwhile, but whenever it ends the wait of another. */
static void does_hide(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0);
	wait_sleep();
	(void)prctl(PR_SET_DUMPABLE, 1);
}

static const struct scenario scenarios[] = {
	{ "rests", 1, does_rest, BLAME_SLEEP, 0, false, false, false },
	{ "computes", 1, does_compute, BLAME_ON_CPU, 0, false, false, false },
	{ "a thread, which waits for a process", 2, does_rest, BLAME_SLEEP, 0, true, false, false },
	{ "two", 2, does_rest, BLAME_SLEEP, 0, false, false, false },
	{ "four", 4, does_rest, BLAME_SLEEP, 0, false, false, false },
	{ "five: the last is not followed", 5, does_rest, BLAME_SLEEP, 0, false, false, false },
	{ "in another root", 2, does_rest, BLAME_SLEEP, 0, false, true, false },
	{ "two, the last hides", 2, does_hide, BLAME_SLEEP, 0, false, false, false },
	{ "a second thread, until its exec", 1, does_rest, BLAME_SLEEP, 0, false, false, true },
	{ "another user's", 2, does_rest, BLAME_SLEEP, OTHER_UID, false, false, false },
};

/* One of the chain; it ends with the process that asks. */
static void *link_run(void *data)
{
	size_t i = (size_t)(uintptr_t)data;

	__atomic_store_n(&shared->pids[i], (uint32_t)gettid(), __ATOMIC_SEQ_CST);
	for (int n = 1;; n++) {
		rig_byte_take(pipes[i].ask[0]);
		if (i + 1 < scenario->n) {
			rig_byte_give(pipes[i + 1].ask[1]);
			rig_byte_take(pipes[i + 1].answer[0]);
		} else {
			scenario->last_does();
		}
		rig_byte_give(pipes[i].answer[1]);
		if (scenario->is_execed && n == WAITS) {
			(void)execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
	}
	return NULL;
}

static void link_start(size_t i)
{
	pid_t parent = getpid(), pid;
	pthread_t thread;

	if (i == 0 && scenario->is_thread) {
		if (pthread_create(&thread, NULL, link_run, NULL))
			_exit(1);
		return;
	}
	pid = fork();
	if (pid)
		return;
	if (scenario->is_rooted && chroot(".") < 0)
		_exit(1);
	if (setresuid(scenario->uid, scenario->uid, scenario->uid) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	if (scenario->is_execed && pthread_create(&thread, NULL, link_run, (void *)(uintptr_t)i) == 0)
		for (;;)
			(void)pause();
	(void)link_run((void *)(uintptr_t)i);
	_exit(0);
}

static int run(void *data)
{
	const struct scenario *s = data;

	for (size_t i = s->n; i-- > 0;)
		link_start(i);
	for (int i = 0; i < WAITS; i++) {
		(void)subject_empty();
		wait_sleep(); /* nobody is waited for meanwhile */
		rig_byte_give(pipes[0].ask[1]);
		rig_byte_take(pipes[0].answer[0]);
	}
	(void)subject_empty();
	while (s->is_execed && wait(NULL) > 0)
		;
	return 0;
}

/* ---- what was kept ---- */

struct kept {
	const struct scenario *s;
	uint32_t slot, tid;
	uint64_t waited_ns;	       /* of the thread that makes calls, ended by the first of the chain */
	uint64_t waited_max_ns;	       /* the longest of them */
	uint64_t did_ns[LINKS_MOST];   /* rows of each, in all */
	uint64_t right_ns[LINKS_MOST]; /* of these, what it does by the scenario */
	uint64_t right_max_ns[LINKS_MOST];
	uint64_t idle_ns;     /* waits until it is asked */
	struct file_key file; /* that the first waits for while it is waited for; inode 0: without a name */
	unsigned int n_paths;
	char path[FILE_PATH_TEXT_BYTES]; /* of that file */
};

static uint64_t inode_of(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

static void kept_wait_add(uint64_t *ns, uint64_t *max_ns, const struct wait_value *value)
{
	*ns += value->ns;
	*max_ns = MAX(*max_ns, value->max_ns);
}

static void kept_add(const struct wait_key *key, const struct wait_value *value, void *data)
{
	struct kept *kept = data;
	const struct scenario *s = kept->s;
	size_t i = 0;

	if (key->slot != kept->slot)
		return;
	if (!key->is_meanwhile) {
		if (key->tid == kept->tid && key->waker_tid == shared->pids[0])
			kept_wait_add(&kept->waited_ns, &kept->waited_max_ns, value);
		return;
	}
	while (i < LINKS_MOST && shared->pids[i] != key->tid)
		i++;
	if (i == LINKS_MOST) {
		fprintf(stderr, "[%s] thread %u is none of the chain\n", s->name, key->tid);
		CHECK("of the chain", false);
		return;
	}
	kept->did_ns[i] += value->ns;
	if (key->kind == RESOURCE_PIPE && key->resource == inode_of(pipes[i].ask[0]))
		kept->idle_ns += value->ns;
	if (i + 1 == s->n ? key->class == s->last_class && key->kind == RESOURCE_NONE
			  : key->class == BLAME_OTHER && key->kind == RESOURCE_PIPE &&
				    key->resource == inode_of(pipes[i + 1].answer[0]) &&
				    key->waker_tid == shared->pids[i + 1]) {
		kept_wait_add(&kept->right_ns[i], &kept->right_max_ns[i], value);
		if (i == 0 && strcmp(value->name, FIFO_NAME) == 0)
			kept->file = (struct file_key){ .inode = key->resource,
							.device = key->device,
							.name_hash = value->name_hash,
							.tgid = value->tgid,
							.slot = key->slot };
	}
}

static int on_record(void *context, void *data, size_t bytes)
{
	const struct file_record *record = data;
	struct kept *kept = context;

	if (bytes < FILE_RECORD_HEAD || record->type != RECORD_FILE || !kept->file.inode ||
	    memcmp(&record->key, &kept->file, sizeof(record->key)) != 0)
		return 0;
	kept->n_paths++;
	file_path_format(record, kept->path);
	return 0;
}

/* What the first waits for has the path that its process sees, told for the process that waits for it. */
static void check_path(const struct rig *rig, struct kept *kept)
{
	const struct scenario *s = kept->s;
	struct ring_buffer *ring = ring_buffer__new(probe_set_calls_fd(rig->set), on_record, kept, NULL);
	char directory[PATH_MAX] = "", path[FILE_PATH_TEXT_BYTES];

	CHECK("ring", ring && ring_buffer__consume(ring) >= 0);
	ring_buffer__free(ring);
	CHECK_INT_EQ(s->name, kept->n_paths, kept->file.inode != 0);
	if (!kept->n_paths)
		return;
	CHECK_INT_EQ(s->name, kept->file.tgid, s->is_thread ? kept->tid : shared->pids[0]);
	CHECK("directory", getcwd(directory, sizeof(directory)) != NULL);
	(void)snprintf(path, sizeof(path), "%s/" FIFO_NAME " (deleted)", s->is_rooted ? "" : directory);
	CHECK_STR_EQ(s->name, kept->path, path);
}

static void check_scenario(struct rig *rig, const struct scenario *s)
{
	size_t n_seen = s->uid ? 0 : s->n - (s->last_does == does_hide), n_told = MIN(n_seen, (size_t)WAIT_HOPS_MOST);
	struct kept kept = { .s = s };
	pid_t pid;

	*shared = (struct shared){};
	scenario = s;
	CHECK_INT_EQ(s->name, rig_child(rig, run, (void *)(uintptr_t)s, &pid), 0);
	kept.slot = rig_slot(rig, pid);
	kept.tid = (uint32_t)pid;
	CHECK("some are there", probe_set_waits(rig->set, kept_add, &kept) >= 0);
	CHECK_INT_IN(s->name, kept.waited_ns, (uint64_t)WAITS * WAIT_NS * 9 / 10, NSEC_PER_SEC * WAITS);
	for (size_t i = 0; i < LINKS_MOST; i++) {
		/* Each becomes known when it first ends a wait of one that is known, as long as that one may be. */
		uint64_t n = i < n_told ? WAITS - 1 - i : 0, waited_ns = i ? kept.right_ns[i - 1] : kept.waited_ns,
			 first_ns = i ? kept.right_max_ns[i - 1] : kept.waited_max_ns;

		/* A thread that hides and is not off a CPU until it shows itself again (a pause of the machine) is not
		 * seen. */
		uint64_t none_ns = s->last_does == does_hide && i == s->n - 1 ? 2 * WAIT_NS : 0;

		CHECK_INT_IN(s->name, kept.did_ns[i], n ? (waited_ns - first_ns) * 95 / 100 : 0,
			     n ? waited_ns * 102 / 100 : none_ns);
		/* Between the clocks of two processes lie a wake-up and a switch. */
		CHECK_INT_IN(s->name, kept.right_ns[i], n * WAIT_NS * 9 / 10, kept.did_ns[i]);
	}
	CHECK_INT_IN(s->name, kept.idle_ns, 0, kept.waited_ns / 100);
	CHECK_INT_EQ(s->name, kept.file.inode != 0, n_told && s->n > 1);
	check_path(rig, &kept);
}

/* Who finds no room is counted; who ends, or executes another program, makes some. */
static void check_full(struct rig *rig)
{
	int fd = bpf_map__fd(rig->set->bpf->maps.wakers);
	char *none = calloc(1, bpf_map__value_size(rig->set->bpf->maps.wakers));
	uint32_t tid, n_left = 0, n_marks = 0;
	pid_t pid;

	for (uint32_t *before = NULL; bpf_map_get_next_key(fd, before, &tid) == 0; before = &tid)
		n_left++;
	for (size_t i = 0; i < ARRAY_SIZE(rig->set->bpf->bss->waker_marks); i++)
		n_marks += rig->set->bpf->bss->waker_marks[i];
	CHECK_INT_EQ("none is left of those that ended", n_left, 0);
	CHECK_INT_EQ("nor marked", n_marks, 0);
	CHECK_INT_EQ("room for all", rig_loss(rig, LOSS_WAKERS), 0);
	for (uint32_t i = 0; none && i < WAKERS_MAX; i++) {
		tid = (1u << 30) + i;
		CHECK_INT_EQ("filled", bpf_map_update_elem(fd, &tid, none, 0), 0);
	}
	scenario = &scenarios[0];
	CHECK_INT_EQ("full", rig_child(rig, run, (void *)(uintptr_t)scenario, &pid), 0);
	CHECK_INT_IN("full", rig_loss(rig, LOSS_WAKERS), WAITS / 2, 2 * WAITS);
	free(none);
}

int main(int argc, char **argv)
{
	struct rig rig;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	(void)unlink(FIFO_NAME);
	if (shared == MAP_FAILED || mkfifo(FIFO_NAME, 0600) < 0)
		CHECK_SKIP("no memory or pipes");
	for (size_t i = 0; i < LINKS_MOST; i++)
		if (pipe2(pipes[i].ask, O_CLOEXEC) < 0 || pipe2(pipes[i].answer, O_CLOEXEC) < 0)
			CHECK_SKIP("no pipes");
	(void)close(pipes[1].answer[0]);
	(void)close(pipes[1].answer[1]);
	pipes[1].answer[0] = pipes[1].answer[1] = open(FIFO_NAME, O_RDWR | O_CLOEXEC);
	(void)unlink(FIFO_NAME);
	rig_open(&rig, rig_back_end(argc, argv), 0);
	if (!probe_set_measures(rig.set, BLAME_RUNNABLE))
		CHECK_SKIP("this kernel does not tell of task switches");
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++)
		check_scenario(&rig, &scenarios[i]);
	CHECK_INT_EQ("room for all rows", rig_loss(&rig, LOSS_WAITS), 0);
	check_full(&rig);
	rig_close(&rig);
	return check_result();
}
