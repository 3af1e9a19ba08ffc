// SPDX-License-Identifier: Apache-2.0
/* Several who want something of the same processes: each gets what was asked for, of nobody else. */
#include <bpf/libbpf.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "probes/lease.h"
#include "rig.h"
#include "tests/support/check.h"

#define TIMES 30
#define LEASES_MAX 3

enum whom { NOBODY, OWN, OTHER, USER, EVERYBODY };

struct expected {
	unsigned int own_records, other_records;
	unsigned int own_calls, other_calls;
};

static const struct {
	const char *name;
	struct {
		enum whom whom;
		uint32_t flags, sample_every;
	} leases[LEASES_MAX];
	struct expected all, without_first;
} cases[] = {
	{ "one has every call, the other has none",
	  { { OWN, WISH_RECORDS | WISH_EVERY_CALL, 0 }, { OTHER, 0, 0 } },
	  { TIMES, 0, TIMES, TIMES },
	  { 0, 0, 0, TIMES } },
	{ "two of the same process",
	  { { OWN, WISH_RECORDS | WISH_EVERY_CALL, 0 }, { OWN, 0, 0 } },
	  { TIMES, 0, TIMES, 0 },
	  { 0, 0, TIMES, 0 } },
	{ "the denser sample",
	  { { OWN, WISH_RECORDS, 3 }, { OWN, WISH_RECORDS, 10 }, { OTHER, WISH_RECORDS, 15 } },
	  { TIMES / 3, TIMES / 15, TIMES, TIMES },
	  { TIMES / 10, TIMES / 15, TIMES, TIMES } },
	{ "everybody's figures, and one's calls",
	  { { OTHER, WISH_RECORDS | WISH_EVERY_CALL, 0 }, { EVERYBODY, 0, 0 } },
	  { 0, TIMES, TIMES, TIMES },
	  { 0, 0, TIMES, TIMES } },
	{ "a user's sample, and one's figures",
	  { { USER, WISH_RECORDS, 10 }, { OWN, 0, 0 } },
	  { TIMES / 10, TIMES / 10, TIMES, TIMES },
	  { 0, 0, TIMES, 0 } },
	{ "everybody's calls, and a user's figures",
	  { { EVERYBODY, WISH_RECORDS | WISH_EVERY_CALL, 0 }, { USER, 0, 0 } },
	  { TIMES, TIMES, TIMES, TIMES },
	  { 0, 0, TIMES, TIMES } },
	{ "nobody", { { NOBODY, 0, 0 } }, { 0, 0, 0, 0 }, { 0, 0, 0, 0 } },
};

struct other {
	pid_t pid;
	int socket;
};

/* A process that makes its calls when it is told to. */
static struct other other_start(void)
{
	struct other other;
	int sockets[2];
	char word;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
		abort();
	other.pid = fork();
	if (other.pid == 0) {
		(void)close(sockets[0]);
		while (read(sockets[1], &word, 1) == 1) {
			for (int i = 0; i < TIMES; i++)
				(void)subject_empty();
			if (write(sockets[1], &word, 1) != 1)
				break;
		}
		_exit(0);
	}
	(void)close(sockets[1]);
	other.socket = sockets[0];
	return other;
}

static bool other_calls(const struct other *other)
{
	char word = 0;

	return write(other->socket, &word, 1) == 1 && read(other->socket, &word, 1) == 1;
}

struct records {
	unsigned int own, other, strange;
	pid_t other_pid;
};

static int on_record(void *context, void *data, size_t bytes)
{
	const struct call_record *record = data;
	struct records *records = context;

	(void)bytes;
	if (record->tgid == (uint32_t)getpid())
		records->own++;
	else if (record->tgid == (uint32_t)records->other_pid)
		records->other++;
	else
		records->strange++;
	return 0;
}

static void check_calls(const char *name, struct rig *rig, struct ring_buffer *ring, struct records *records,
			const struct other *other, const struct expected *expected)
{
	uint64_t own_before = rig_figures(rig, getpid(), RIG_EMPTY).count;
	uint64_t other_before = rig_figures(rig, other->pid, RIG_EMPTY).count;

	*records = (struct records){ .other_pid = other->pid };
	for (int i = 0; i < TIMES; i++)
		(void)subject_empty();
	CHECK(name, other_calls(other));
	(void)ring_buffer__consume(ring);
	CHECK_INT_EQ(name, records->own, expected->own_records);
	CHECK_INT_EQ(name, records->other, expected->other_records);
	CHECK_INT_EQ(name, records->strange, 0);
	CHECK_INT_EQ(name, rig_figures(rig, getpid(), RIG_EMPTY).count - own_before, expected->own_calls);
	CHECK_INT_EQ(name, rig_figures(rig, other->pid, RIG_EMPTY).count - other_before, expected->other_calls);
}

static struct lease *lease_take(struct lease_set *set, size_t i, size_t k, const struct other *other)
{
	const uint32_t own_pid = (uint32_t)getpid(), other_pid = (uint32_t)other->pid, uid = getuid();
	enum whom whom = cases[i].leases[k].whom;
	struct lease_wish wish = {
		.pids = whom == OWN ? &own_pid : &other_pid,
		.n_pids = whom == OWN || whom == OTHER,
		.uids = &uid,
		.n_uids = whom == USER,
		.all = whom == EVERYBODY,
		.each = { .flags = cases[i].leases[k].flags, .sample_every = cases[i].leases[k].sample_every },
	};
	struct lease *lease = NULL;

	CHECK_INT_EQ(cases[i].name, lease_add(set, &wish, &lease), 0);
	return lease;
}

static bool is_by_owner(size_t i)
{
	for (size_t k = 0; k < LEASES_MAX; k++)
		if (cases[i].leases[k].whom == USER || cases[i].leases[k].whom == EVERYBODY)
			return true;
	return false;
}

/* The record of an end was lost: the lease ends nevertheless. */
static void check_gone(struct lease_set *set)
{
	uint32_t pid = (uint32_t)fork();
	const struct lease_wish wish = { .pids = &pid, .n_pids = 1 };
	struct lease *lease = NULL;

	if (pid == 0)
		for (;;)
			(void)pause();
	CHECK_INT_EQ("gone", lease_add(set, &wish, &lease), 0);
	CHECK_INT_EQ("gone: not yet", lease_set_look(set), 0);
	CHECK("gone: not over", !lease_is_over(lease));
	(void)kill((pid_t)pid, SIGKILL);
	(void)waitpid((pid_t)pid, NULL, 0);
	CHECK_INT_EQ("gone: seen", lease_set_look(set), 1);
	CHECK("gone: over", lease_is_over(lease));
	CHECK("gone: covered all the same", lease_covers(lease, pid, UINT32_MAX, 0));
	CHECK_INT_EQ("gone: seen once", lease_set_look(set), 0);
	lease_remove(set, lease);
}

int main(int argc, char **argv)
{
	enum probe_back_end back_end = rig_back_end(argc, argv);
	struct other other = other_start();
	struct lease_set *set = NULL;
	struct ring_buffer *ring;
	struct records records;
	struct rig rig;

	rig_open(&rig, back_end, 0);
	ring = ring_buffer__new(probe_set_calls_fd(rig.set), on_record, &records, NULL);
	CHECK("ring", ring != NULL);
	CHECK_INT_EQ("leases", lease_set_new(rig.set, &set), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct lease *leases[LEASES_MAX] = {};

		for (size_t k = 0; k < LEASES_MAX; k++)
			if (cases[i].leases[k].whom != NOBODY)
				leases[k] = lease_take(set, i, k, &other);
		CHECK_INT_EQ(cases[i].name, lease_set_is_by_owner(set), is_by_owner(i));
		check_calls(cases[i].name, &rig, ring, &records, &other, &cases[i].all);
		lease_remove(set, leases[0]);
		check_calls(cases[i].name, &rig, ring, &records, &other, &cases[i].without_first);
		for (size_t k = 1; k < LEASES_MAX; k++)
			lease_remove(set, leases[k]);
		CHECK_INT_EQ(cases[i].name, lease_set_count(set), 0);
	}
	check_gone(set);
	lease_set_free(set);
	ring_buffer__free(ring);
	rig_close(&rig);
	(void)close(other.socket);
	(void)waitpid(other.pid, NULL, 0);
	return check_result();
}
