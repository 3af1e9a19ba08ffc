// SPDX-License-Identifier: Apache-2.0
#include "rpc/access.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proto/methods.h"
#include "tests/support/check.h"

static void test_may_see(void)
{
	static const struct {
		const char *name;
		struct call_identity identity;
		uint32_t owner_uid;
		bool is_guarded;
		bool may;
	} cases[] = {
		{ "own", { .uid = 1000 }, 1000, false, true },
		{ "own, with privilege", { .uid = 1000 }, 1000, true, false },
		{ "another user's", { .uid = 1000 }, 1001, false, false },
		{ "another user's, with privilege", { .uid = 1000 }, 1001, true, false },
		{ "root's", { .uid = 1000 }, 0, false, false },
		{ "another's, in ingero-read", { .uid = 1000, .can_read_all = true }, 1001, false, true },
		{ "root's with privilege, in ingero-read", { .uid = 1000, .can_read_all = true }, 0, true, true },
		{ "uid 0 in a table does not read all by itself", { .uid = 0 }, 1000, false, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_INT_EQ(cases[i].name, access_may_see(&cases[i].identity, cases[i].owner_uid, cases[i].is_guarded),
			     cases[i].may);
}

static void test_grant(void)
{
	static const struct access_groups some = { .read = 60 };
	static const struct access_groups none = { .read = ACCESS_NO_GROUP };
	static const struct {
		const char *name;
		uint32_t uid;
		gid_t gids[4];
		size_t n_gids;
		const struct access_groups *groups;
		bool can_read_all;
	} cases[] = {
		{ "root", 0, { 0 }, 1, &some, true },
		{ "root without groups", 0, {}, 0, &none, true },
		{ "user", 1000, { 1000, 27 }, 2, &some, false },
		{ "group 0 is not root", 1000, { 0 }, 1, &some, false },
		{ "ingero-read", 1000, { 1000, 27, 60 }, 3, &some, true },
		{ "ingero-read as first group", 1000, { 60 }, 1, &some, true },
		{ "a group that does not exist here", 1000, { 50, 60 }, 2, &none, false },
		{ "a gid that looks like no group", 1000, { ACCESS_NO_GROUP }, 1, &none, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call_identity identity =
			access_grant(cases[i].uid, 4711, cases[i].gids, cases[i].n_gids, cases[i].groups);

		CHECK_INT_EQ(cases[i].name, identity.uid, cases[i].uid);
		CHECK_INT_EQ(cases[i].name, identity.peer_pid, 4711);
		CHECK_INT_EQ(cases[i].name, identity.can_read_all, cases[i].can_read_all);
	}
}

/* Root acting for a user: what that user sees, and no more. */
static void test_act_for(void)
{
	static const struct access_groups groups = { .read = 60 };
	static const struct {
		const char *name;
		uint32_t uid;
		gid_t gids[2];
		bool can_read_all;
		bool sees_own, sees_other, sees_mixed; /* processes of 1000, of 1001, of 1000 with privilege */
	} cases[] = {
		{ "a user", 1000, { 1000, 27 }, false, true, false, false },
		{ "a user in ingero-read", 1000, { 1000, 60 }, true, true, true, true },
		{ "root itself", 0, { 0, 0 }, true, true, true, true },
	};
	struct call_identity root = access_grant(0, 4711, NULL, 0, &groups);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call_identity identity =
			access_act_for(&root, cases[i].uid, cases[i].gids, ARRAY_SIZE(cases[i].gids), &groups);

		CHECK_INT_EQ(cases[i].name, identity.uid, cases[i].uid);
		CHECK_INT_EQ(cases[i].name, identity.peer_pid, 4711);
		CHECK_INT_EQ(cases[i].name, identity.can_read_all, cases[i].can_read_all);
		CHECK_INT_EQ(cases[i].name, access_may_see(&identity, 1000, false), cases[i].sees_own);
		CHECK_INT_EQ(cases[i].name, access_may_see(&identity, 1001, false), cases[i].sees_other);
		CHECK_INT_EQ(cases[i].name, access_may_see(&identity, 1000, true), cases[i].sees_mixed);
	}
}

/* Every method of the protocol has its row, and nothing else has. */
static void test_methods(void)
{
	static const struct {
		const char *name;
		bool is_there, one_reply;
	} cases[] = {
		{ "ingero.v1.Query.Status", true, true },
		{ "ingero.v1.Query.Operations", true, false },
		{ "ingero.v1.Trace.Trace", true, false },
		{ "ingero.v1.Query", false, false },
		{ "ingero.v1.Control.Stop", false, false },
		{ "ingero.v1.Query.Statu", false, false },
		{ "", false, false },
	};
	static const ProtobufCServiceDescriptor *const services[] = { &ingero__v1__query__descriptor,
								      &ingero__v1__trace__descriptor };
	size_t n_methods = 0;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum method_id id = method_find(cases[i].name);

		CHECK_INT_EQ(cases[i].name, id != METHOD_COUNT, cases[i].is_there);
		if (id != METHOD_COUNT)
			CHECK_INT_EQ(cases[i].name, !method_get(id)->is_stream, cases[i].one_reply);
	}
	for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
		for (unsigned int k = 0; k < services[i]->n_methods; k++, n_methods++) {
			const ProtobufCMethodDescriptor *method = &services[i]->methods[k];
			char name[128];
			enum method_id id;

			(void)snprintf(name, sizeof(name), "%s.%s", services[i]->name, method->name);
			id = method_find(name);
			CHECK_INT_EQ(name,
				     id != METHOD_COUNT && method_get(id)->request == method->input &&
					     method_get(id)->reply == method->output,
				     true);
		}
	}
	CHECK_INT_EQ("methods", METHOD_COUNT, n_methods);
}

/* More groups than the first guess of their number has room for. */
static void test_identify(void)
{
	struct access_groups groups = { .read = getgid() };
	struct call_identity identity = { 0 };
	struct ucred cred;
	gid_t gids[200];
	int fds[2];

	CHECK_INT_EQ("pair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	CHECK_INT_EQ("own end", access_credentials(fds[0], &cred), 0);
	CHECK_INT_EQ("own end", cred.uid, getuid());
	CHECK_INT_EQ("own end", access_identify(fds[0], &cred, &groups, &identity), 0);
	CHECK_INT_EQ("own end", identity.uid, getuid());
	CHECK_INT_EQ("own end", identity.peer_pid, getpid());
	CHECK_INT_EQ("own first group", identity.can_read_all, true);
	(void)close(fds[0]);
	(void)close(fds[1]);

	if (getuid() != 0) {
		printf("not tried without root: many groups\n");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(gids); i++)
		gids[i] = 70000 + (gid_t)i;
	groups = (struct access_groups){ .read = 70199 };
	CHECK_INT_EQ("many groups", setgroups(ARRAY_SIZE(gids), gids), 0);
	CHECK_INT_EQ("many groups", setresuid(12345, 12345, 0), 0);
	CHECK_INT_EQ("pair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	CHECK_INT_EQ("many groups", access_credentials(fds[0], &cred), 0);
	CHECK_INT_EQ("many groups", access_identify(fds[0], &cred, &groups, &identity), 0);
	CHECK_INT_EQ("the last of many groups", identity.can_read_all, true);
	(void)close(fds[0]);
	(void)close(fds[1]);
	CHECK_INT_EQ("back", setresuid(0, 0, 0), 0);
}

static void test_no_unix_socket(void)
{
	struct access_groups groups = { .read = ACCESS_NO_GROUP };
	struct call_identity identity = { .uid = 42 };
	struct ucred cred = { .uid = 42 };
	int fds[2];

	CHECK_INT_EQ("pipe", pipe(fds), 0);
	CHECK_INT_EQ("no socket", access_credentials(fds[0], &cred), -ENOTSOCK);
	CHECK_INT_EQ("untouched", cred.uid, 42);
	CHECK_INT_EQ("no socket", access_identify(fds[0], &cred, &groups, &identity), -ENOTSOCK);
	CHECK_INT_EQ("untouched", identity.uid, 42);
	(void)close(fds[0]);
	(void)close(fds[1]);

	/* A socket that is connected to nobody has nobody's credentials. */
	fds[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT_EQ("not connected", access_credentials(fds[0], &cred), -ENOTCONN);
	(void)close(fds[0]);
}

/* Who has other processes in his /proc than the daemon in its own is not told their names; nor who cannot be looked at.
 */
static void test_elsewhere(void)
{
	static const struct {
		const char *name;
		bool is_elsewhere;
	} cases[] = { { "a client beside the daemon", false }, { "one in a name space of process ids", true } };

	if (getuid() != 0) {
		printf("not tried without root: a client in a name space of process ids\n");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sockaddr_un address = { .sun_family = AF_UNIX }; /* the kernel finds a name */
		struct access_groups groups = { .read = ACCESS_NO_GROUP };
		socklen_t bytes = sizeof(address);
		struct call_identity identity, acting;
		struct ucred cred;
		int fd, client_fd, listen_fd = socket(AF_UNIX, SOCK_STREAM, 0);
		char byte;
		pid_t pid;

		if (bind(listen_fd, (struct sockaddr *)&address, sizeof(sa_family_t)) || listen(listen_fd, 1) ||
		    getsockname(listen_fd, (struct sockaddr *)&address, &bytes))
			abort();
		pid = fork();
		if (pid == 0) {
			/* the one that connects is the one that is looked at */
			if (cases[i].is_elsewhere && (unshare(CLONE_NEWPID) || fork() > 0))
				_exit(0);
			client_fd = socket(AF_UNIX, SOCK_STREAM, 0);
			if (connect(client_fd, (struct sockaddr *)&address, bytes))
				_exit(1);
			(void)!write(client_fd, "c", 1);
			(void)!read(client_fd, &byte, 1); /* until the test closes its end */
			_exit(0);
		}
		fd = accept(listen_fd, NULL, NULL);
		CHECK_INT_EQ(cases[i].name, read(fd, &byte, 1), 1);
		CHECK_INT_EQ(cases[i].name, access_credentials(fd, &cred), 0);
		CHECK_INT_EQ(cases[i].name, access_identify(fd, &cred, &groups, &identity), 0);
		CHECK_INT_EQ(cases[i].name, identity.is_elsewhere, cases[i].is_elsewhere);
		acting = access_act_for(&identity, 1000, NULL, 0, &groups);
		CHECK_INT_EQ(cases[i].name, acting.is_elsewhere, cases[i].is_elsewhere);
		(void)close(fd);
		(void)close(listen_fd);
		(void)waitpid(pid, NULL, 0);
	}
}

int main(void)
{
	test_elsewhere();
	test_may_see();
	test_grant();
	test_act_for();
	test_methods();
	test_identify();
	test_no_unix_socket();
	return check_result();
}
