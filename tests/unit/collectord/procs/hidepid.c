// SPDX-License-Identifier: Apache-2.0
/*
 * Whether others' processes are hidden, by the text of /proc/mounts: each value of the option, and which mount counts;
 * and from whom, by its own mounts and root.
 */
#include "procs/hidepid.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define OTHERS "sysfs /sys sysfs rw,nosuid 0 0\n/dev/sda1 / ext4 rw,errors=remount-ro 0 0\n"

static const struct {
	const char *name;
	const char *mounts;
	bool is_on;
} cases[] = {
	{ "nothing is mounted", "", true },
	{ "no /proc", OTHERS, true },
	{ "without the option", OTHERS "proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n", false },
	{ "off, as a number", "proc /proc proc rw,hidepid=0 0 0\n", false },
	{ "off, as a name", "proc /proc proc rw,hidepid=off 0 0\n", false },
	{ "contents are hidden, as a number", "proc /proc proc rw,hidepid=1 0 0\n", true },
	{ "contents are hidden, as a name", "proc /proc proc rw,hidepid=noaccess 0 0\n", true },
	{ "processes are hidden, as a number", "proc /proc proc rw,hidepid=2 0 0\n", true },
	{ "processes are hidden, as a name", "proc /proc proc rw,hidepid=invisible 0 0\n", true },
	{ "what one may trace, as a number", "proc /proc proc rw,hidepid=4 0 0\n", true },
	{ "what one may trace, as a name", "proc /proc proc rw,hidepid=ptraceable 0 0\n", true },
	{ "but for a group", "proc /proc proc rw,gid=27,hidepid=2 0 0\n", true },
	{ "options behind it", "proc /proc proc rw,hidepid=invisible,gid=27,subset=pid 0 0\n", true },
	{ "no end of line", "proc /proc proc rw,hidepid=2 0 0", true },
	{ "the last one hides", "proc /proc proc rw 0 0\nproc /proc proc rw,hidepid=2 0 0\n", true },
	{ "the last one shows", "proc /proc proc rw,hidepid=2 0 0\n" OTHERS "proc /proc proc rw 0 0\n", false },
	{ "a mount of another name", "hidden /proc proc rw,hidepid=2 0 0\n", true },
	{ "another place", "proc /srv/jail/proc proc rw 0 0\n", true },
	{ "below it", "proc /proc/fs proc rw 0 0\n", true },
	{ "another kind of file system there", "none /proc tmpfs rw 0 0\n", true },
	{ "something over it", "proc /proc proc rw 0 0\nnone /proc tmpfs rw 0 0\n", true },
	{ "another place beside it", "proc /proc proc rw 0 0\nproc /srv/proc proc rw,hidepid=2 0 0\n", false },
	{ "below it beside it", "proc /proc proc rw 0 0\nproc /proc/fs proc rw,hidepid=2 0 0\n", false },
	{ "lines that make no sense", "\nproc\nproc /proc\nproc /proc proc\nproc /proc proc rw,hidepid=2 0 0\n", true },
};

/* Processes that ask; those with `type` have a mount namespace of their own, and that on /proc. */
static const struct {
	const char *name;
	const char *type, *options;
	const char *root; /* NULL: that of its namespace */
	bool hides;
} clients[] = {
	{ "a /proc that shows", "proc", "hidepid=0", NULL, false },
	{ "a /proc that hides", "proc", "hidepid=2", NULL, true },
	{ "another file system there", "tmpfs", NULL, NULL, true },
	{ "a root without /proc", "proc", "hidepid=0", "/usr", true },
	{ "another root of the test's mounts", NULL, NULL, "/usr", true },
};

/* Return: 0 or -errno */
static int client_become(size_t i)
{
	if (clients[i].type && (unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
				mount("client", "/proc", clients[i].type, 0, clients[i].options)))
		return -errno;
	return clients[i].root && chroot(clients[i].root) ? -errno : 0;
}

static void client_check(size_t i)
{
	int pair[2], r = -1, status;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		abort();
	pid = fork();
	if (pid < 0)
		abort();
	if (pid == 0) {
		(void)close(pair[0]);
		r = client_become(i);
		/* It stays until the other end is closed. */
		_exit(write(pair[1], &r, sizeof(r)) != sizeof(r) || read(pair[1], &r, sizeof(r)) != 0);
	}
	(void)close(pair[1]);
	CHECK_INT_EQ(clients[i].name, read(pair[0], &r, sizeof(r)), sizeof(r));
	if (r == 0)
		CHECK_INT_EQ(clients[i].name, hidepid_hides_from((uint32_t)pid), clients[i].hides);
	else
		fprintf(stderr, "%s: cannot be made: %s\n", clients[i].name, strerror(-r));
	(void)close(pair[0]);
	CHECK_INT_EQ(clients[i].name, waitpid(pid, &status, 0), pid);
	CHECK_INT_EQ(clients[i].name, status, 0);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_INT_EQ(cases[i].name, hidepid_in_mounts(cases[i].mounts), cases[i].is_on);
	for (size_t i = 0; i < ARRAY_SIZE(clients) && geteuid() == 0; i++)
		client_check(i);
	return check_result();
}
