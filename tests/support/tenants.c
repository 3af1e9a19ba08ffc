// SPDX-License-Identifier: Apache-2.0
#include "tests/support/tenants.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/support/check.h"
#include "tests/support/now.h"

#define GROUP_READ 54390

/* Sizes that occur nowhere else in an answer, with five bytes as a varint on the wire. */
static const struct tenant rows[TENANT_COUNT] = {
	[TENANT_ALICE] = { .name = "alice",
			   .uid = 54321,
			   .comm = "qzalicejob",
			   .path_part = "qzalicedir",
			   .size_bytes = 1234567811 },
	[TENANT_BOB] = { .name = "bob",
			 .uid = 54322,
			 .comm = "qzbobjob",
			 .path_part = "qzbobdir",
			 .size_bytes = 1234567822 },
	[TENANT_READER] = { .name = "a member of ingero-read",
			    .uid = 54323,
			    .gid = GROUP_READ,
			    .reads_all = true,
			    .comm = "qzreadjob",
			    .size_bytes = 1234567833 },
	[TENANT_ROOT] = { .name = "root", .uid = 0, .reads_all = true, .comm = "qzrootjob", .size_bytes = 1234567855 },
};

static struct tenants *running; /* ended with the test in any case */

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- the machine ---- */

static void copy(const char *from, const char *to, mode_t mode)
{
	CLEANUP(closep) int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
	char bytes[65536];
	ssize_t n;

	if (in < 0)
		die(from);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (out < 0)
		die(to);
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		if (fd_write_full(out, bytes, (size_t)n) < 0)
			die(to);
	if (n < 0)
		die(from);
}

/* Write the machine's groups, with the test's group in place of one of the same name. */
static void groups_make(const struct tenants *t)
{
	CLEANUP(fclosep) FILE *in = fopen("/etc/group", "re"), *out = NULL;
	char line[4096], path[96];

	(void)snprintf(path, sizeof(path), "%s/group", t->directory);
	out = fopen(path, "we");
	if (!in || !out)
		die(path);
	while (fgets(line, sizeof(line), in))
		if (strncmp(line, "ingero-read:", 12) != 0)
			fputs(line, out);
	fprintf(out, "ingero-read:x:%d:\n", GROUP_READ);
	if (fflush(out))
		die(path);
	if (mount(path, "/etc/group", NULL, MS_BIND, NULL))
		CHECK_SKIP("a group file of the test's own cannot be mounted: %s", strerror(errno));
}

/* Write the mounts of the machine's first process, where the daemon reads whether names are hidden. */
static void proc_make(const struct tenants *t, enum tenants_proc proc)
{
	bool hides = proc == TENANTS_PROC_HIDES;
	CLEANUP(fclosep) FILE *out = NULL;
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/mounts", t->directory);
	out = fopen(path, "we");
	if (!out || fprintf(out, "proc /proc proc rw,relatime%s 0 0\n", hides ? ",hidepid=invisible" : "") < 0 ||
	    fflush(out))
		die(path);
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, hides ? "hidepid=2" : "hidepid=0") ||
	    mount(path, "/proc/1/mounts", NULL, MS_BIND, NULL))
		CHECK_SKIP("no /proc of the test's own: %s", strerror(errno));
}

static void end_all(void)
{
	struct tenants *t = running;
	char path[128];

	if (!t)
		return;
	running = NULL;
	for (size_t i = 0; i < TENANT_COUNT; i++) {
		if (t->of[i].pid > 0 && kill(t->of[i].pid, SIGKILL) == 0)
			(void)waitpid(t->of[i].pid, NULL, 0);
		t->of[i].pid = 0;
	}
	if (t->daemon > 0)
		(void)tenants_stop_daemon(t);
	(void)umount2("/etc/group", MNT_DETACH);
	(void)snprintf(path, sizeof(path), "rm -rf '%s'", t->directory);
	if (system(path) != 0)
		fprintf(stderr, "left behind: %s\n", t->directory);
}

void tenants_open(struct tenants *t, enum tenants_proc proc)
{
	if (getuid() != 0)
		CHECK_SKIP("other users need root");
	if (unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		CHECK_SKIP("no mount namespace of the test's own: %s", strerror(errno));
	*t = (struct tenants){ .daemon = 0 };
	(void)snprintf(t->directory, sizeof(t->directory), "%s/ingero-tenants-XXXXXX", P_tmpdir);
	memcpy(t->of, rows, sizeof(rows));
	if (!mkdtemp(t->directory) || chmod(t->directory, 0711))
		die(t->directory);
	(void)snprintf(t->socket, sizeof(t->socket), "%s/socket", t->directory);
	running = t;
	(void)atexit(end_all);
	groups_make(t);
	proc_make(t, proc);
}

void tenants_close(struct tenants *t)
{
	if (running == t)
		end_all();
}

/* ---- what runs ---- */

/* Runs in a forked child, which ends with the test in any case. */
static void run(char *const *argv, char *const *env)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)execve(argv[0], argv, env);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(126);
}

static int connect_here(const char *path)
{
	CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return -1;
	return TAKE_FD(fd);
}

void tenants_start_daemon(struct tenants *t, const char *const *arguments)
{
	const char *argv[24] = { INGERO_COLLECTORD, "--socket", t->socket };
	int fd = -1;

	for (size_t i = 0; arguments[i]; i++) {
		if (i + 4 >= ARRAY_SIZE(argv))
			abort();
		argv[i + 3] = arguments[i];
	}
	t->daemon = fork();
	if (t->daemon < 0)
		die("fork");
	if (t->daemon == 0)
		run((char *const *)(uintptr_t)argv, environ);
	while ((fd = connect_here(t->socket)) < 0) {
		if (!tenants_daemon_lives(t)) {
			fprintf(stderr, "the daemon did not start\n");
			exit(1);
		}
		(void)poll(NULL, 0, 10);
	}
	(void)close(fd);
}

int tenants_stop_daemon(struct tenants *t)
{
	int status = -1;

	(void)kill(t->daemon, SIGTERM);
	(void)waitpid(t->daemon, &status, 0);
	t->daemon = 0;
	return status;
}

bool tenants_daemon_lives(const struct tenants *t)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)t->daemon, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

uint64_t tenants_daemon_rss_bytes(const struct tenants *t)
{
	char path[64], text[128];
	unsigned long long pages = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/statm", t->daemon);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0 || sscanf(text, "%*u %llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Make private libraries for a tenant, below a directory whose name is a secret. */
static void libraries_make(const struct tenants *t, struct tenant *tenant)
{
	static const char *const names[] = { "libcudart.so.12", "libcuda.so.1", "libingero-standin.so" };

	char path[sizeof(tenant->path)];

	(void)snprintf(path, sizeof(path), "%s/%s", t->directory, tenant->path_part);
	memcpy(tenant->path, path, sizeof(path));
	if (mkdir(tenant->path, 0755) && errno != EEXIST)
		die(tenant->path);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char from[512], to[512];

		(void)snprintf(from, sizeof(from), "%s/%s", INGERO_STANDINS, names[i]);
		(void)snprintf(to, sizeof(to), "%s/%s", tenant->path, names[i]);
		copy(from, to, 0755);
		if (chown(to, tenant->uid, tenant->uid))
			die(to);
	}
	if (chown(tenant->path, tenant->uid, tenant->uid))
		die(tenant->path);
}

void tenants_start_program(struct tenants *t, enum tenant_id id)
{
	struct tenant *tenant = &t->of[id];
	char line[64], size[32], libraries[300] = "LD_LIBRARY_PATH=" INGERO_STANDINS;
	/* Launches without synchronisation, and allocations of a size that identifies the tenant. */
	const char *const argv[] = { INGERO_CUDALOAD,
				     "--comm",
				     tenant->comm,
				     "--rate",
				     "40",
				     "--duration",
				     "24h",
				     "--mix",
				     "malloc=1,free=1,launch=2,sync=1",
				     "--size",
				     size,
				     "--report",
				     "/dev/null",
				     "--wait-for-stdin",
				     NULL };
	const char *const env[] = { "INGERO_STANDIN_QUIET=1", libraries, tenant->variable, NULL };
	int pair[2];

	(void)snprintf(size, sizeof(size), "%" PRIu64, tenant->size_bytes);
	if (tenant->path_part[0]) {
		libraries_make(t, tenant);
		(void)snprintf(libraries, sizeof(libraries), "LD_LIBRARY_PATH=%s", tenant->path);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	tenant->pid = fork();
	if (tenant->pid < 0)
		die("fork");
	if (tenant->pid) {
		/* It reports that it is ready, and is told to begin. */
		(void)close(pair[1]);
		if (read(pair[0], line, sizeof(line)) <= 0 || write(pair[0], "\n", 1) != 1)
			die(tenant->comm);
		(void)close(pair[0]);
		return;
	}
	if (!tenants_become(tenant) || dup2(pair[1], STDIN_FILENO) < 0 || dup2(pair[1], STDOUT_FILENO) < 0)
		_exit(125);
	run((char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env);
}

/* ---- who calls ---- */

bool tenants_become(const struct tenant *tenant)
{
	if (setgroups(tenant->gid ? 1 : 0, &tenant->gid))
		return false;
	return setresgid(tenant->uid, tenant->uid, tenant->uid) == 0 &&
	       setresuid(tenant->uid, tenant->uid, tenant->uid) == 0;
}

/* The kernel notes the user of a connection, so a process of that user connects, and passes the socket back. */
/* A process that connects as this user, and runs until connector_end(), since the daemon checks the process. */
struct connector {
	pid_t pid;
	int fd;
};

static void connector_end(const struct connector *c)
{
	(void)close(c->fd);
	(void)waitpid(c->pid, NULL, 0);
}

static int connector_start(const struct tenants *t, enum tenant_id id, uint64_t *ret_took_ns, struct connector *ret)
{
	int pair[2], fds[FD_PASS_MAX] = { -1 };
	uint64_t took_ns = 0;
	size_t n_fds = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	(void)fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		bool is_he = tenants_become(&t->of[id]);
		uint64_t before_ns = now_ns();
		int fd = is_he ? connect_here(t->socket) : -1;

		took_ns = now_ns() - before_ns;
		(void)close(pair[0]);
		if (fd >= 0 && fd_send(pair[1], &took_ns, sizeof(took_ns), &fd, 1) == 0)
			(void)!read(pair[1], &took_ns, sizeof(took_ns));
		_exit(0);
	}
	(void)close(pair[1]);
	(void)fd_receive(pair[0], &took_ns, sizeof(took_ns), fds, &n_fds);
	if (ret_took_ns)
		*ret_took_ns = took_ns;
	*ret = (struct connector){ .pid = pid, .fd = pair[0] };
	return n_fds == 1 ? fds[0] : -1;
}

int tenants_connect(const struct tenants *t, enum tenant_id id, uint64_t *ret_took_ns)
{
	struct connector connector;
	int fd = connector_start(t, id, ret_took_ns, &connector);

	connector_end(&connector);
	return fd;
}

void tenants_greet(const struct tenants *t, enum tenant_id id, struct wire *ret_wire)
{
	struct connector connector;
	int fd = connector_start(t, id, NULL, &connector);

	if (fd < 0 || !wire_open(ret_wire, fd)) {
		fprintf(stderr, "the connection of %s was refused\n", t->of[id].name);
		exit(1);
	}
	connector_end(&connector);
}

bool tenants_may_see(const struct tenants *t, enum tenant_id caller, enum tenant_id owner)
{
	return caller == owner || t->of[caller].reads_all;
}

/* ---- secrets ---- */

static size_t put_varint(uint8_t *p, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		p[n++] = (uint8_t)(value | 0x80);
	p[n++] = (uint8_t)value;
	return n;
}

const char *tenants_find_secret(const struct tenant *owner, const void *data, size_t n)
{
	uint8_t plain[10], signed_one[10];
	char decimal[24];
	size_t n_plain = put_varint(plain, owner->size_bytes);
	size_t n_signed = put_varint(signed_one, owner->size_bytes << 1);

	(void)snprintf(decimal, sizeof(decimal), "%" PRIu64, owner->size_bytes);
	const struct {
		const char *what;
		const void *bytes;
		size_t n;
	} secrets[] = {
		{ "the name of a process", owner->comm, strlen(owner->comm) },
		{ "the path of a library", owner->path_part, strlen(owner->path_part) },
		{ "an argument", plain, n_plain },
		{ "an argument, as SQL gives it", signed_one, n_signed },
		{ "an argument, in words", decimal, strlen(decimal) },
	};

	for (size_t i = 0; n && i < ARRAY_SIZE(secrets); i++)
		if (secrets[i].n && memmem(data, n, secrets[i].bytes, secrets[i].n))
			return secrets[i].what;
	return NULL;
}
