// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "rpc"
#include "rpc/socket_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <linux/capability.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"

#define KEEPER_MS 2000 /* timeout for removing the file: usually it takes microseconds */

static int file_look(int dir_fd, const char *name, struct statx *ret)
{
	return statx(dir_fd, name, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, ret) ? -errno : 0;
}

/* Some file systems reuse inode numbers at once; so the birth time is compared, too. */
static void file_remove(int dir_fd, const char *name, const struct statx *bound)
{
	struct statx now;

	if (file_look(dir_fd, name, &now) == 0 && now.stx_ino == bound->stx_ino &&
	    now.stx_dev_major == bound->stx_dev_major && now.stx_dev_minor == bound->stx_dev_minor &&
	    now.stx_btime.tv_sec == bound->stx_btime.tv_sec && now.stx_btime.tv_nsec == bound->stx_btime.tv_nsec)
		(void)unlinkat(dir_fd, name, 0);
}

/* ---- the process that removes the file ---- */

static int keeper_become(int dir_fd)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	struct stat directory;

	/* Refused only without CAP_SETPCAP. */
	(void)capabilities_bound_none();
	if (fstat(dir_fd, &directory) || setgroups(0, NULL) ||
	    setresgid(directory.st_gid, directory.st_gid, directory.st_gid) ||
	    setresuid(directory.st_uid, directory.st_uid, directory.st_uid) || syscall(SYS_capset, &header, none))
		return -errno;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

static int keeper_seal(void)
{
	static const int allowed[] = { SCMP_SYS(read), SCMP_SYS(statx), SCMP_SYS(unlinkat), SCMP_SYS(exit_group),
				       SCMP_SYS(restart_syscall) };
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = filter ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_SIZE(allowed) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	if (r == 0)
		r = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return r;
}

static _Noreturn void keeper_run(int daemon_fd, int dir_fd, const char *name)
{
	const unsigned int first = (unsigned int)MIN(daemon_fd, dir_fd), last = (unsigned int)MAX(daemon_fd, dir_fd);
	struct statx bound;
	sigset_t all;
	ssize_t n;
	char byte;

	/* Signals and keys that end the daemon must not end this process. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "ingero-socket");
	(void)!chdir("/");
	if (first)
		(void)syscall(SYS_close_range, 0, first - 1, 0);
	(void)syscall(SYS_close_range, first + 1, last - 1, 0);
	(void)syscall(SYS_close_range, last + 1, ~0u, 0);
	if (keeper_become(dir_fd) || keeper_seal())
		_exit(1);
	n = read(daemon_fd, &bound, sizeof(bound));
	while (n == sizeof(bound) && read(daemon_fd, &byte, 1) < 0 && errno == EINTR)
		;
	if (n == sizeof(bound))
		file_remove(dir_fd, name, &bound);
	_exit(0);
}

/* Started before the socket exists: otherwise the process would keep it open. */
static int keeper_start(struct socket_file *file, int dir_fd, const char *name)
{
	CLEANUP(closep) int theirs = -1, ours = -1;
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	theirs = ends[0];
	ours = ends[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		keeper_run(theirs, dir_fd, name);
	file->keeper = pid;
	file->keeper_fd = TAKE_FD(ours);
	return 0;
}

static int keeper_tell(const struct socket_file *file)
{
	ssize_t n = send(file->keeper_fd, &file->bound, sizeof(file->bound), MSG_NOSIGNAL);

	return n == sizeof(file->bound) ? 0 : -EPIPE;
}

/* Closing the connection ends the process; the daemon waits for it, since a container ends with the daemon. */
static void keeper_stop(struct socket_file *file)
{
	CLEANUP(closep) int pid_fd = (int)syscall(SYS_pidfd_open, file->keeper, 0);
	struct pollfd end = { .fd = pid_fd, .events = POLLIN };
	int n = 0;

	closep(&file->keeper_fd);
	if (pid_fd >= 0)
		while ((n = poll(&end, 1, KEEPER_MS)) < 0 && errno == EINTR)
			;
	if (n == 1)
		(void)waitpid(file->keeper, NULL, 0);
	file->keeper = 0;
}

/* ---- the socket file ---- */

/*
 * Removes a socket file whose server is gone: it refuses connections. A file that is not a socket also refuses them,
 * and stays.
 */
static int remove_stale(const struct sockaddr_un *address)
{
	CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (lstat(address->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EADDRINUSE;
	/* The removing process of that server may delete the file at any moment. */
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return -EADDRINUSE;
	if (errno == ENOENT)
		return 0;
	if (errno != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(address->sun_path) && errno != ENOENT ? -errno : 0;
}

/*
 * All users may connect to the file from its creation on; their identity decides about access. Connections succeed only
 * after listen().
 */
static int bind_open(int fd, const struct sockaddr_un *address)
{
	mode_t mask = umask(0111);
	int r = bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;

	(void)umask(mask);
	return r;
}

static int bind_to(int fd, const struct sockaddr_un *address)
{
	int r = bind_open(fd, address);

	if (r != -EADDRINUSE)
		return r;
	r = remove_stale(address);
	return r ? r : bind_open(fd, address);
}

static int name_bind(struct socket_file *file, const struct sockaddr_un *address, int fd, int backlog)
{
	int r = bind_to(fd, address);

	if (r)
		return r;
	r = file_look(AT_FDCWD, address->sun_path, &file->bound);
	if (r == 0 && file->keeper && keeper_tell(file))
		(void)log_warning(0, "'%s' may not be removed at the end", address->sun_path);
	if (r == 0 && listen(fd, backlog))
		r = -errno;
	if (r)
		(void)unlink(address->sun_path);
	return r;
}

/* Starts the removing process if root creates the file. Otherwise the daemon removes the file itself if it may. */
static int name_keep(struct socket_file *file, const struct sockaddr_un *address)
{
	char directory[sizeof(file->path)], name[sizeof(file->path)];
	CLEANUP(closep) int dir_fd = -1;

	if (geteuid() != 0)
		return 0;
	memcpy(directory, address->sun_path, sizeof(directory));
	memcpy(name, address->sun_path, sizeof(name));
	dir_fd = open(dirname(directory), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -errno : keeper_start(file, dir_fd, basename(name));
}

int socket_file_listen(const char *path, int backlog, struct socket_file *file, int *ret_fd)
{
	CLEANUP(closep) int fd = -1;
	struct sockaddr_un address;
	int r;

	*file = (struct socket_file){ .keeper_fd = -1 };
	r = fd_socket_address(path, &address);
	if (r == 0)
		r = name_keep(file, &address);
	if (r)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	r = fd < 0 ? -errno : name_bind(file, &address, fd, backlog);
	if (r) {
		socket_file_remove(file);
		return r;
	}
	memcpy(file->path, address.sun_path, sizeof(file->path));
	*ret_fd = TAKE_FD(fd);
	return 0;
}

void socket_file_remove(struct socket_file *file)
{
	if (file->keeper)
		keeper_stop(file);
	if (file->path[0]) /* no removing process, or it failed */
		file_remove(AT_FDCWD, file->path, &file->bound);
	file->path[0] = 0;
}
