// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "tracers"
#include "tracers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "procs/closers.h"
#include "procs/procfs.h"
#include "procs/subordinate.h"
#include "rpc/cpu_budget.h"

#define CLIENT_NAME "ingero-cli"
#define CLIENT_CPU_SHARE 4 /* of its time it may compute one in so many; guess: a live screen takes a hundredth */
/*
 * Time that others may wait behind the clients of a user before these are named; it refills by a quarter of each
 * second. Guess: a live screen takes a hundredth of a CPU, and several threads may wait for it at once.
 */
#define HIDDEN_NS (NSEC_PER_SEC / 2)
#define CLOSERS_NS (10 * NSEC_PER_SEC) /* between looks for others who close: as long as any do, more may come */
#define WRITTEN_BY_OTHERS (S_IWGRP | S_IWOTH)

struct tracer {
	uint32_t pid;
	uint32_t uid; /* of a client: as whom it has connected */
	bool is_client;
	uint32_t n_connections;
	uint32_t n_closing; /* probes that it has still to close; 0: it closes none */
	bool has_said;	    /* by its name, that it closes probes */
	bool is_child;
	bool is_told;	    /* as reported to the sink */
	uint64_t hidden_ns; /* of these the user was charged since it was reported */
	bool is_shown;	    /* only since its user has no time left for which others may wait unseen */
	uint64_t gone_ns;   /* when it was first seen without a connection; 0: connected */
	bool is_busy;	    /* computes more than a client should */
	uint64_t cpu_ns;    /* its CPU time at looked_ns; 0: not read yet */
	uint64_t looked_ns;
};

struct tracers {
	struct tracers_sink sink;
	struct cpu_budget hidden; /* of users: time that others waited behind clients which nobody was shown */
	uint64_t now_ns;	  /* of the last second */
	bool is_private;
	char places[2][PATH_MAX]; /* where the client may be installed; "": nowhere */
	struct statx daemon;	  /* its file; stx_mask 0: not known */
	uint64_t closers_ns;	  /* when closers were last looked for, while any were known */
	ARRAY(struct tracer) items;
};

/*
 * Nothing is read or opened, and no file system is asked: a user's own file system could block us. The inode data in
 * the kernel is enough, because the identity of the file never changes.
 */
static int executable_stat(const char *path, struct statx *ret)
{
	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		     STATX_INO | STATX_TYPE | STATX_MODE | STATX_UID, ret) < 0
		       ? -errno
		       : 0;
}

/*
 * A user who may write the file could put any code into it. The daemon's own file sets the standard: it runs with the
 * same trust.
 */
static bool may_trust(const struct tracers *t, const struct statx *client)
{
	unsigned int writers = client->stx_mode & WRITTEN_BY_OTHERS;

	return S_ISREG(client->stx_mode) && (client->stx_uid == 0 || client->stx_uid == t->daemon.stx_uid) &&
	       !(writers & ~(unsigned int)t->daemon.stx_mode);
}

/* Read each time: an update puts another file there. */
static bool is_client(const struct tracers *t, uint32_t pid)
{
	struct statx exe, client;

	if (t->is_private)
		return true;
	if (!t->daemon.stx_mask)
		return false;
	if (procfs_program(pid, &exe) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(t->places); i++)
		if (t->places[i][0] && executable_stat(t->places[i], &client) == 0 && client.stx_ino == exe.stx_ino &&
		    client.stx_dev_major == exe.stx_dev_major && client.stx_dev_minor == exe.stx_dev_minor)
			return may_trust(t, &client);
	return false;
}

static uint64_t cpu_used_ns(uint32_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (uint64_t)used.tv_sec * NSEC_PER_SEC + (uint64_t)used.tv_nsec;
}

/*
 * The file of a client does not show which other code its user has loaded into it. At most once a second: over a
 * shorter time the share would be too small.
 */
static bool is_busy(const struct tracers *t, struct tracer *tracer, uint64_t now_ns)
{
	uint64_t used_ns;

	if (t->is_private || tracer->is_busy || (tracer->looked_ns && now_ns - tracer->looked_ns < NSEC_PER_SEC))
		return tracer->is_busy;
	used_ns = cpu_used_ns(tracer->pid);
	tracer->is_busy = tracer->looked_ns && used_ns > tracer->cpu_ns &&
			  used_ns - tracer->cpu_ns > (now_ns - tracer->looked_ns) / CLIENT_CPU_SHARE;
	tracer->cpu_ns = used_ns;
	tracer->looked_ns = now_ns;
	return tracer->is_busy;
}

/* Also when it is reported as none of ours: it may have come for less than a second. */
static void hidden_charge(struct tracers *t, struct tracer *tracer)
{
	uint64_t ns = 0;

	if (t->is_private || !tracer->is_told || !tracer->is_client || !t->sink.hidden ||
	    t->sink.hidden(tracer->pid, &ns, t->sink.data) < 0 || ns <= tracer->hidden_ns)
		return;
	cpu_budget_charge(&t->hidden, tracer->uid, ns - tracer->hidden_ns, t->now_ns);
	tracer->hidden_ns = ns;
}

static void tell(struct tracers *t, struct tracer *tracer, bool is_tracer)
{
	int r;

	if (!t->sink.add || tracer->is_told == is_tracer)
		return;
	hidden_charge(t, tracer);
	tracer->hidden_ns = 0;
	r = is_tracer ? t->sink.add(tracer->pid, t->sink.data) : t->sink.remove(tracer->pid, t->sink.data);
	if (r < 0 && is_tracer)
		(void)log_warning(r, "process %u of ours may appear among those that are traced", tracer->pid);
	tracer->is_told = is_tracer && r == 0;
}

static bool is_used_up(const struct tracers *t, const struct tracer *tracer)
{
	return tracer->is_client && cpu_budget_is_used(&t->hidden, tracer->uid, t->now_ns);
}

/* Reports a client as ours, or not, if only for now. */
static void client_tell(struct tracers *t, struct tracer *tracer, bool is_ours)
{
	bool is_shown = is_ours && is_used_up(t, tracer);

	tell(t, tracer, is_ours && !is_shown);
	tracer->is_shown = is_shown;
}

static struct tracer *tracer_find(struct tracers *t, uint32_t pid)
{
	for (size_t i = 0; i < t->items.n; i++)
		if (t->items.items[i].pid == pid)
			return &t->items.items[i];
	return NULL;
}

static struct tracer *tracer_get(struct tracers *t, uint32_t pid)
{
	struct tracer *tracer = tracer_find(t, pid);

	if (tracer)
		return tracer;
	if (ARRAY_PUSH(&t->items, ((struct tracer){ .pid = pid })) < 0)
		return NULL; /* one of ours may be named: better than naming no process */
	return &t->items.items[t->items.n - 1];
}

static void tracer_gone(struct tracers *t, struct tracer *tracer)
{
	if (tracer->is_child || tracer->n_connections || tracer->n_closing || tracer->is_told)
		return;
	ARRAY_REMOVE_SWAP(&t->items, (size_t)(tracer - t->items.items));
}

static void place_set(char *place, const char *directory, size_t n, const char *client)
{
	if (snprintf(place, PATH_MAX, "%.*s%s", (int)n, directory, client) >= PATH_MAX)
		place[0] = 0;
}

int tracers_new(const char *daemon_path, bool is_private, struct tracers **ret_tracers)
{
	static const char sbin[] = "/sbin";
	struct tracers *t = calloc(1, sizeof(*t));
	const char *slash = strrchr(daemon_path, '/');
	size_t n = slash ? (size_t)(slash - daemon_path) : 0;

	if (!t)
		return -ENOMEM;
	t->is_private = is_private;
	t->hidden.size_ns = HIDDEN_NS;
	t->hidden.together = subordinate_read();
	if (slash && executable_stat(daemon_path, &t->daemon) == 0) {
		place_set(t->places[0], daemon_path, n, "/" CLIENT_NAME);
		if (n >= sizeof(sbin) - 1 && memcmp(slash - (sizeof(sbin) - 1), sbin, sizeof(sbin) - 1) == 0)
			place_set(t->places[1], daemon_path, n - (sizeof(sbin) - 1), "/bin/" CLIENT_NAME);
	} else {
		t->daemon.stx_mask = 0;
	}
	*ret_tracers = t;
	return 0;
}

void tracers_free(struct tracers *t)
{
	if (t) {
		ARRAY_DONE(&t->items);
		cpu_budget_done(&t->hidden);
	}
	free(t);
}

/* Without memory, or where /proc cannot be read, one of ours may be named. */
static void closers_look(struct tracers *t)
{
	closer_list found = { .n = 0 };

	(void)closers_find(&found);
	for (size_t i = 0; i < found.n; i++)
		tracers_closer(t, found.items[i].pid, found.items[i].n_probes);
	ARRAY_DONE(&found);
}

void tracers_closer(struct tracers *t, uint32_t pid, uint32_t n_probes)
{
	struct tracer *tracer = tracer_get(t, pid);

	if (!tracer)
		return;
	tracer->gone_ns = 0;
	tracer->n_closing = n_probes;
	tell(t, tracer, true);
}

uint32_t tracers_closing(const struct tracers *t)
{
	uint32_t n = 0;

	for (size_t i = 0; i < t->items.n; i++)
		n += t->items.items[i].n_closing;
	return n;
}

void tracers_begin(struct tracers *t, const struct tracers_sink *sink)
{
	t->sink = *sink;
	closers_look(t);
	for (size_t i = 0; i < t->items.n; i++) {
		struct tracer *tracer = &t->items.items[i];

		tell(t, tracer, tracer->is_child || tracer->n_closing || is_client(t, tracer->pid));
	}
}

void tracers_child(struct tracers *t, uint32_t pid, bool is_running)
{
	struct tracer *tracer = is_running ? tracer_get(t, pid) : tracer_find(t, pid);

	if (!tracer)
		return;
	tracer->is_child = is_running;
	tracer->gone_ns = 0;
	if (is_running)
		tell(t, tracer, true);
	else
		tracer_gone(t, tracer);
}

void tracers_connected(struct tracers *t, uint32_t pid, uint32_t uid)
{
	struct tracer *tracer = tracer_get(t, pid);

	if (!tracer)
		return;
	tracer->gone_ns = 0;
	tracer->uid = uid;
	tracer->is_client = true;
	tracer->n_connections++;
	if (!t->sink.add) /* else when there is somebody to tell: a look costs microseconds */
		return;
	if (tracer->is_child || tracer->n_closing)
		tell(t, tracer, true);
	else
		client_tell(t, tracer, !tracer->is_busy && is_client(t, pid));
}

void tracers_disconnected(struct tracers *t, uint32_t pid)
{
	struct tracer *tracer = tracer_find(t, pid);

	if (!tracer)
		return;
	tracer->gone_ns = 0;
	if (tracer->n_connections)
		tracer->n_connections--;
	tracer_gone(t, tracer);
}

/* Return: whether it still closes probes; one that has just started does not say it yet */
static bool closes(struct tracer *tracer)
{
	struct closer now;

	if (!tracer->n_closing)
		return false;
	if (closer_read(tracer->pid, &now)) {
		tracer->n_closing = now.n_probes;
		tracer->has_said = true;
	} else if (tracer->has_said || (kill((pid_t)tracer->pid, 0) < 0 && errno == ESRCH)) {
		tracer->n_closing = 0;
	}
	return tracer->n_closing;
}

static void tracer_second(struct tracers *t, struct tracer *tracer)
{
	if (closes(tracer) || tracer->is_child || (!tracer->is_told && !tracer->is_shown))
		return;
	if (tracer->n_connections) {
		client_tell(t, tracer, !is_busy(t, tracer, t->now_ns) && is_client(t, tracer->pid));
		return;
	}
	if (!tracer->gone_ns)
		tracer->gone_ns = t->now_ns;
	if (t->now_ns - tracer->gone_ns < NSEC_PER_SEC && !is_used_up(t, tracer))
		return;
	tell(t, tracer, false);
	tracer_gone(t, tracer);
}

void tracers_second(struct tracers *t, uint64_t now_ns)
{
	t->now_ns = now_ns;
	if (tracers_closing(t) && now_ns - t->closers_ns > CLOSERS_NS) {
		t->closers_ns = now_ns;
		closers_look(t);
	}
	for (size_t i = 0; i < t->items.n; i++) /* first: each one's time counts for all of the same user */
		hidden_charge(t, &t->items.items[i]);
	for (size_t i = t->items.n; i-- > 0;) /* from behind: the last one takes the place of one that goes */
		tracer_second(t, &t->items.items[i]);
}
