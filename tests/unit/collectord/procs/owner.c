// SPDX-License-Identifier: Apache-2.0
/*
 * Whose a process is, of real ones in /proc: what ptrace(2) would refuse to their user is guarded.
 */
#include "procs/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define USER 54321 /* nobody of this machine */

/* In the child. Return: whether it became so */
static bool become(uid_t real, uid_t effective)
{
	return setgroups(0, NULL) == 0 && setresgid(real, real, real) == 0 &&
	       setresuid(real, effective, effective) == 0;
}
static bool dumpable(bool is_dumpable)
{
	return prctl(PR_SET_DUMPABLE, is_dumpable) == 0;
}
static bool as_it_is(void)
{
	return true;
}
static bool undumpable(void)
{
	return dumpable(false);
}
static bool user_undumpable(void)
{
	return become(USER, USER); /* which the kernel does by itself */
}
static bool user_dumpable(void)
{
	return become(USER, USER) && dumpable(true);
}
static bool user_of_root(void)
{
	return become(USER, 0) && dumpable(true);
}
static bool user_capable(void)
{
	return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && become(USER, USER) && dumpable(true);
}
static bool user_in_own_namespace(void)
{
	return become(USER, USER) && unshare(CLONE_NEWUSER) == 0 && dumpable(true);
}
static bool map_write(const char *name)
{
	CLEANUP(closep) int fd = open(name, O_WRONLY | O_CLOEXEC);
	char text[32];
	int n = snprintf(text, sizeof(text), "%d %d 1\n", USER, USER);

	return fd >= 0 && write(fd, text, (size_t)n) == n;
}

/* A namespace's user is mapped by root outside of it: by a child that stayed there. */
static bool user_in_roots_namespace(void)
{
	int go[2], status = -1;
	char path[64], c;
	pid_t pid;

	if (pipe(go) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		bool is_mapped = read(go[0], &c, 1) == 1;

		for (size_t i = 0; i < 2; i++) {
			(void)snprintf(path, sizeof(path), "/proc/%d/%cid_map", getppid(), i ? 'u' : 'g');
			is_mapped = is_mapped && map_write(path);
		}
		_exit(!is_mapped);
	}
	return unshare(CLONE_NEWUSER) == 0 && write(go[1], "", 1) == 1 && waitpid(pid, &status, 0) == pid &&
	       status == 0 && setresgid(USER, USER, USER) == 0 && setresuid(USER, USER, USER) == 0 && dumpable(true);
}

static bool user_exits(void)
{
	if (become(USER, USER))
		_exit(0);
	return false;
}

static const struct {
	const char *name;
	bool (*become)(void);
	uid_t uid;
	bool is_guarded;
	bool needs_root;
} cases[] = {
	{ "ourselves", as_it_is, 0, false, false },
	{ "root, undumpable", undumpable, 0, false, true },
	{ "root that became the user", user_undumpable, USER, true, true },
	{ "the user's", user_dumpable, USER, false, true },
	{ "with another's effective id", user_of_root, USER, true, true },
	{ "with capabilities", user_capable, USER, true, true },
	{ "in a user namespace of the user's", user_in_own_namespace, USER, false, true },
	{ "in a user namespace of root's", user_in_roots_namespace, USER, true, true },
	{ "one that exits, whose ids are known alone", user_exits, USER, false, true },
};

static void case_check(size_t i)
{
	CLEANUP(closep) int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(closep) int process_fd = -1;
	struct owner owner = { .uid = 4711 };
	int ready[2];
	siginfo_t info;
	char c;
	pid_t pid;

	CHECK_INT_EQ(cases[i].name, pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!cases[i].become() || write(ready[1], "", 1) != 1)
			_exit(1);
		(void)pause();
		_exit(0);
	}
	(void)close(ready[1]);
	if (cases[i].become == user_exits)
		(void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	else
		CHECK_INT_EQ(cases[i].name, read(ready[0], &c, 1), 1);
	process_fd = procfs_open_process(proc_fd, (uint32_t)pid);
	CHECK_INT_EQ(cases[i].name, owner_read(process_fd, &owner), 0);
	CHECK_INT_EQ(cases[i].name, owner.uid, cases[i].needs_root ? cases[i].uid : getuid());
	CHECK_INT_EQ(cases[i].name, owner.is_guarded, cases[i].is_guarded);
	CHECK_INT_EQ(cases[i].name, owner_uid(&owner), cases[i].is_guarded ? OWNER_NOBODY : owner.uid);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	CHECK_INT_EQ(cases[i].name, owner_read(process_fd, &owner), -ESRCH);
	(void)close(ready[0]);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (!cases[i].needs_root || geteuid() == 0)
			case_check(i);
	return check_result();
}
