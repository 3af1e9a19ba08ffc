// SPDX-License-Identifier: Apache-2.0
/* Who is the tracer itself: by the file that he runs, connection by connection; and that nobody else is who connects.
 */
#include "tracers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define STRANGER 65533 /* a user who is neither root nor the daemon's owner */
#define MARKED_MAX 16
#define USER 1000

static char root[PATH_MAX];

static const char *at(const char *path)
{
	static char texts[2][PATH_MAX + 64];
	static int n;

	n = !n;
	(void)snprintf(texts[n], sizeof(texts[n]), "%s/%s", root, path);
	return texts[n];
}

static void file_copy(const char *path)
{
	CLEANUP(closep) int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(closep) int to = open(at(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	struct stat st;

	if (from < 0 || to < 0 || fstat(from, &st) < 0 || fchmod(to, 0755) < 0)
		abort();
	for (off_t n = 0; n < st.st_size;)
		if (sendfile(to, from, &n, (size_t)(st.st_size - n)) <= 0)
			abort();
}

struct program {
	pid_t pid;
	int to; /* a byte: become bin/other, or with COMPUTE do nothing but that */
};

#define COMPUTE 'c'

static char end_await(int fd)
{
	char byte = 0;

	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	return byte;
}

/* Back once it runs that file: exec closes the pipe. */
static struct program program_start(const char *path)
{
	int ends[2], gone[2];
	struct program p;

	if (pipe2(ends, O_CLOEXEC) < 0 || pipe2(gone, O_CLOEXEC) < 0)
		abort();
	p.pid = fork();
	if (p.pid == 0) {
		(void)dup2(ends[0], STDIN_FILENO);
		(void)execl(path, path, "--stay", at("bin/other"), NULL);
		_exit(1);
	}
	(void)close(ends[0]);
	(void)close(gone[1]);
	end_await(gone[0]);
	(void)close(gone[0]);
	p.to = ends[1];
	return p;
}

static void program_end(struct program *p)
{
	(void)kill(p->pid, SIGKILL);
	(void)waitpid(p->pid, NULL, 0);
	closep(&p->to);
}

/* What the kernel half would know. */
static struct {
	uint32_t pids[MARKED_MAX];
	uint64_t hidden_ns[MARKED_MAX];
	int n;
	int r; /* to be returned */
} marked;

static int mark_find(uint32_t pid)
{
	for (int i = 0; i < marked.n; i++)
		if (marked.pids[i] == pid)
			return i;
	return -1;
}

static bool is_marked(pid_t pid)
{
	return mark_find((uint32_t)pid) >= 0;
}

static int mark_add(uint32_t pid, void *data)
{
	(void)data;
	if (marked.r < 0)
		return marked.r;
	if (marked.n == MARKED_MAX || mark_find(pid) >= 0)
		abort();
	marked.hidden_ns[marked.n] = 0;
	marked.pids[marked.n++] = pid;
	return 0;
}

static int mark_remove(uint32_t pid, void *data)
{
	int i = mark_find(pid);

	(void)data;
	if (i < 0)
		abort(); /* told twice */
	marked.n--;
	marked.pids[i] = marked.pids[marked.n];
	marked.hidden_ns[i] = marked.hidden_ns[marked.n];
	return 0;
}

static int mark_hidden(uint32_t pid, uint64_t *ret_ns, void *data)
{
	int i = mark_find(pid);

	(void)data;
	if (i < 0)
		return -ENOENT;
	*ret_ns = marked.hidden_ns[i];
	return 0;
}

/* Others have waited behind a process; who is named is none of ours. */
static void others_wait(pid_t pid, uint64_t ns)
{
	int i = mark_find((uint32_t)pid);

	if (i >= 0)
		marked.hidden_ns[i] += ns;
}

static const struct tracers_sink sink = { mark_add, mark_remove, mark_hidden, NULL };

static struct tracers *tracers_of(const char *daemon, bool is_private)
{
	struct tracers *t;

	marked.n = 0;
	if (tracers_new(at(daemon), is_private, &t) < 0)
		abort();
	return t;
}

static const struct {
	const char *name;
	const char *daemon; /* where it is installed */
	const char *client; /* that is installed */
	const char *runs;   /* the file of who connects */
	mode_t mode;	    /* of the client */
	uid_t uid;	    /* of the client; 0: as it is */
	bool is_private;
	bool is_tracer;
} peers[] = {
	{ "our client in the same directory", "bin/daemon", "bin/ingero-cli", "bin/ingero-cli", 0755, 0, false, true },
	{ "our client in bin, the daemon in sbin", "sbin/daemon", "bin/ingero-cli", "bin/ingero-cli", 0755, 0, false,
	  true },
	{ "in sbin beside it", "sbin/daemon", "sbin/ingero-cli", "sbin/ingero-cli", 0755, 0, false, true },
	{ "a daemon elsewhere knows no bin", "lib/daemon", "bin/ingero-cli", "bin/ingero-cli", 0755, 0, false, false },
	{ "another program", "bin/daemon", "bin/ingero-cli", "bin/other", 0755, 0, false, false },
	{ "a copy of our client", "bin/daemon", "bin/ingero-cli", "lib/ingero-cli", 0755, 0, false, false },
	{ "no client is installed", "bin/daemon", NULL, "bin/other", 0755, 0, false, false },
	{ "the group may write it", "bin/daemon", "bin/ingero-cli", "bin/ingero-cli", 0775, 0, false, false },
	{ "everybody may write it", "bin/daemon", "bin/ingero-cli", "bin/ingero-cli", 0757, 0, false, false },
	{ "a stranger's", "bin/daemon", "bin/ingero-cli", "bin/ingero-cli", 0755, STRANGER, false, false },
	{ "who started a private daemon", "bin/daemon", NULL, "bin/other", 0755, 0, true, true },
};

static void peers_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(peers); i++) {
		const char *name = peers[i].name;
		struct program program;
		struct tracers *t;

		if (peers[i].uid && geteuid() != 0) {
			fprintf(stderr, "skipped: [%s] without root\n", name);
			continue;
		}
		(void)unlink(at("bin/ingero-cli"));
		(void)unlink(at("sbin/ingero-cli"));
		if (peers[i].client) {
			file_copy(peers[i].client);
			if (chmod(at(peers[i].client), peers[i].mode) < 0 ||
			    (peers[i].uid && chown(at(peers[i].client), peers[i].uid, (gid_t)-1) < 0))
				abort();
		}
		program = program_start(at(peers[i].runs));
		t = tracers_of(peers[i].daemon, peers[i].is_private);
		tracers_begin(t, &sink);
		tracers_connected(t, (uint32_t)program.pid, USER);
		CHECK_INT_EQ(name, is_marked(program.pid), peers[i].is_tracer);
		tracers_second(t, 1);
		CHECK_INT_EQ(name, is_marked(program.pid), peers[i].is_tracer);
		tracers_free(t);

		/* he came before the probes */
		t = tracers_of(peers[i].daemon, peers[i].is_private);
		tracers_connected(t, (uint32_t)program.pid, USER);
		CHECK_INT_EQ(name, marked.n, 0);
		tracers_begin(t, &sink);
		CHECK_INT_EQ(name, is_marked(program.pid), peers[i].is_tracer);
		tracers_free(t);
		program_end(&program);
	}
}

static void connections_check(void)
{
	struct tracers *t;
	struct program program;

	file_copy("bin/ingero-cli");
	program = program_start(at("bin/ingero-cli"));
	t = tracers_of("bin/daemon", false);
	tracers_begin(t, &sink);
	tracers_connected(t, (uint32_t)program.pid, USER);
	tracers_connected(t, (uint32_t)program.pid, USER);
	CHECK("two connections", is_marked(program.pid));
	tracers_disconnected(t, (uint32_t)program.pid);
	tracers_second(t, 1 * NSEC_PER_SEC);
	tracers_second(t, 9 * NSEC_PER_SEC);
	CHECK("one of two closes", is_marked(program.pid));
	tracers_disconnected(t, (uint32_t)program.pid);
	tracers_second(t, 10 * NSEC_PER_SEC);
	CHECK("both: a wait may end after that", is_marked(program.pid));
	tracers_second(t, 11 * NSEC_PER_SEC);
	CHECK("and a second later", !is_marked(program.pid));
	tracers_connected(t, (uint32_t)program.pid, USER);
	CHECK("comes back", is_marked(program.pid));

	/* It becomes another program, and keeps the connection. */
	if (write(program.to, "", 1) != 1)
		abort();
	for (char link[PATH_MAX] = "", exe[32]; !strstr(link, "bin/other"); (void)sched_yield()) {
		(void)snprintf(exe, sizeof(exe), "/proc/%d/exe", program.pid);
		if (readlink(exe, link, sizeof(link) - 1) < 0)
			abort();
	}
	tracers_second(t, 12 * NSEC_PER_SEC);
	CHECK("another program by now", !is_marked(program.pid));
	program_end(&program);

	/* What the kernel half has no room for is tried again. */
	program = program_start(at("bin/ingero-cli"));
	marked.r = -E2BIG;
	tracers_connected(t, (uint32_t)program.pid, USER);
	CHECK("no room", !is_marked(program.pid));
	marked.r = 0;
	tracers_connected(t, (uint32_t)program.pid, USER);
	CHECK("room again", is_marked(program.pid));
	tracers_disconnected(t, (uint32_t)program.pid);
	tracers_disconnected(t, (uint32_t)program.pid);
	tracers_free(t);
	program_end(&program);
}

static uint64_t cpu_ns(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		abort();
	return (uint64_t)used.tv_sec * NSEC_PER_SEC + (uint64_t)used.tv_nsec;
}

/* The file that he runs says nothing about what else was loaded into it: who computes is named like everybody. */
static void computing_check(void)
{
	static const struct {
		const char *name;
		bool is_private;
		uint64_t window_ns; /* until the next look */
		bool is_tracer;
	} cases[] = {
		{ "computes for more than a quarter of the time", false, NSEC_PER_SEC, false },
		{ "for less", false, 3600 * NSEC_PER_SEC, true },
		{ "looked at more often", false, NSEC_PER_MSEC, true },
		{ "a private daemon's", true, NSEC_PER_SEC, true },
	};

	file_copy("bin/ingero-cli");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tracers *t = tracers_of("bin/daemon", cases[i].is_private);
		struct program program = program_start(at("bin/ingero-cli"));
		uint64_t before_ns;

		tracers_begin(t, &sink);
		tracers_connected(t, (uint32_t)program.pid, USER);
		tracers_second(t, 1 * NSEC_PER_SEC);
		CHECK(cases[i].name, is_marked(program.pid));
		before_ns = cpu_ns(program.pid);
		if (write(program.to, &(char){ COMPUTE }, 1) != 1)
			abort();
		while (cpu_ns(program.pid) - before_ns < NSEC_PER_SEC / 2)
			(void)sched_yield();
		tracers_second(t, 1 * NSEC_PER_SEC + cases[i].window_ns);
		CHECK_INT_EQ(cases[i].name, is_marked(program.pid), cases[i].is_tracer);
		if (cases[i].window_ns < NSEC_PER_SEC) { /* does not begin anew by that */
			tracers_second(t, 2 * NSEC_PER_SEC);
			CHECK("then at last", !is_marked(program.pid));
		}
		tracers_connected(t, (uint32_t)program.pid, USER);
		CHECK_INT_EQ("another connection changes nothing", is_marked(program.pid),
			     cases[i].is_tracer && cases[i].window_ns >= NSEC_PER_SEC);
		tracers_free(t);
		program_end(&program);
	}
}

/* A fresh client each second, behind which others wait: for how many seconds it is not named. */
static void fresh_check(void)
{
	static const struct {
		const char *name;
		bool is_private;
		uint32_t n_users; /* in turns */
		uint64_t wait_ms; /* each second */
		int n_hidden;
	} cases[] = {
		{ "others wait all the time", false, 1, 1000, 3 }, { "of two users", false, 2, 1000, 5 },
		{ "for a quarter of the time", false, 1, 250, 9 }, { "many threads wait", false, 1, 64000, 1 },
		{ "a private daemon's", true, 1, 1000, 9 },
	};

	file_copy("bin/ingero-cli");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tracers *t = tracers_of("bin/daemon", cases[i].is_private);
		int n_hidden = 0;

		tracers_begin(t, &sink);
		for (uint64_t second = 0; second < 9; second++) {
			struct program program = program_start(at("bin/ingero-cli"));

			tracers_connected(t, (uint32_t)program.pid, USER + (uint32_t)second % cases[i].n_users);
			n_hidden += is_marked(program.pid);
			others_wait(program.pid, cases[i].wait_ms * NSEC_PER_MSEC);
			tracers_second(t, (second + 1) * NSEC_PER_SEC);
			tracers_disconnected(t, (uint32_t)program.pid);
			program_end(&program);
		}
		CHECK_INT_EQ(cases[i].name, n_hidden, cases[i].n_hidden);
		tracers_free(t);
	}
}

/* All clients of a user are named, one that asks for nothing among them; until others have not waited for a while. */
static void shown_check(void)
{
	struct tracers *t = tracers_of("bin/daemon", false);
	struct program quiet, busy, other;

	file_copy("bin/ingero-cli");
	quiet = program_start(at("bin/ingero-cli"));
	busy = program_start(at("bin/ingero-cli"));
	other = program_start(at("bin/ingero-cli"));
	tracers_begin(t, &sink);
	tracers_connected(t, (uint32_t)quiet.pid, USER);
	tracers_connected(t, (uint32_t)busy.pid, USER);
	tracers_connected(t, (uint32_t)other.pid, USER + 1);
	others_wait(busy.pid, NSEC_PER_SEC);
	tracers_disconnected(t, (uint32_t)busy.pid);
	tracers_second(t, 1 * NSEC_PER_SEC);
	CHECK("all of the user", !is_marked(quiet.pid) && !is_marked(busy.pid));
	CHECK("another user's", is_marked(other.pid));
	tracers_second(t, 3 * NSEC_PER_SEC);
	CHECK("not yet", !is_marked(quiet.pid));
	tracers_second(t, 4 * NSEC_PER_SEC);
	CHECK("after a while", is_marked(quiet.pid) && !is_marked(busy.pid));
	tracers_free(t);
	program_end(&quiet);
	program_end(&busy);
	program_end(&other);
}

/* A process of this very file, as closers are of the daemon's, by another name, and another's where root may do that.
 */
static pid_t closer_fork(const char *title, uid_t uid)
{
	int ready[2];
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		if ((uid && setresuid(uid, uid, uid) < 0) || prctl(PR_SET_NAME, title) < 0 ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		(void)close(ready[1]);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	(void)end_await(ready[0]);
	(void)close(ready[0]);
	return pid;
}

static void child_end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* Those that close the probes of an earlier daemon's traces: by name, file and user. */
static void closers_check(void)
{
	static const struct {
		const char *name, *title;
		uid_t uid;
		uint32_t n_probes; /* 0: it is none */
	} cases[] = {
		{ "an earlier daemon's", "closing 5", 0, 5 },
		{ "without a number", "closing ", 0, 0 },
		{ "with another one", "closing 5x", 0, 0 },
		{ "with another name", "closed 5", 0, 0 },
		{ "which closes none", "closing 0", 0, 0 },
		{ "a stranger's", "closing 5", STRANGER, 0 },
		{ "with as many as fit", "closing 1234567", 0, 1234567 },
	};
	struct program program;
	struct tracers *t;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		pid_t pid;

		if (cases[i].uid && geteuid() != 0) {
			fprintf(stderr, "skipped: [%s] without root\n", cases[i].name);
			continue;
		}
		pid = closer_fork(cases[i].title, cases[i].uid);
		t = tracers_of("bin/daemon", false);
		tracers_begin(t, &sink);
		CHECK_INT_EQ(cases[i].name, is_marked(pid), cases[i].n_probes != 0);
		CHECK_INT_EQ(cases[i].name, tracers_closing(t), cases[i].n_probes);
		child_end(pid);
		tracers_second(t, 1 * NSEC_PER_SEC);
		CHECK_INT_EQ("gone: a wait may end after that", is_marked(pid), cases[i].n_probes != 0);
		CHECK_INT_EQ("nothing is closed any more", tracers_closing(t), 0);
		tracers_second(t, 2 * NSEC_PER_SEC);
		CHECK("and a second later", !is_marked(pid));
		tracers_free(t);
	}

	file_copy("bin/closing 7");
	program = program_start(at("bin/closing 7"));
	t = tracers_of("bin/daemon", false);
	tracers_begin(t, &sink);
	CHECK("of another file", !is_marked(program.pid) && tracers_closing(t) == 0);
	/* Ours has been told to close so many, and does not say so yet. */
	tracers_closer(t, (uint32_t)program.pid, 7);
	tracers_second(t, 1 * NSEC_PER_SEC);
	tracers_second(t, 9 * NSEC_PER_SEC);
	CHECK("ours, which has just started", is_marked(program.pid) && tracers_closing(t) == 7);
	program_end(&program);
	tracers_second(t, 10 * NSEC_PER_SEC);
	tracers_second(t, 11 * NSEC_PER_SEC);
	CHECK("ours, which has ended", !is_marked(program.pid) && tracers_closing(t) == 0);
	tracers_free(t);
	(void)unlink(at("bin/closing 7"));
}

static void children_check(void)
{
	struct tracers *t = tracers_of("bin/daemon", false);

	tracers_child(t, 11, true);
	tracers_begin(t, &sink);
	CHECK("ran already", is_marked(11));
	tracers_child(t, 12, true);
	CHECK("starts", is_marked(12));
	tracers_second(t, 1 * NSEC_PER_SEC);
	tracers_second(t, 3 * NSEC_PER_SEC);
	CHECK("runs", is_marked(11) && is_marked(12));
	tracers_child(t, 12, false);
	tracers_second(t, 4 * NSEC_PER_SEC);
	CHECK("ended: a wait may end after that", is_marked(12));
	tracers_second(t, 5 * NSEC_PER_SEC);
	CHECK("and a second later", !is_marked(12) && is_marked(11));
	tracers_child(t, 13, false);
	CHECK_INT_EQ("never heard of", marked.n, 1);
	tracers_free(t);
}

int main(int argc, char **argv)
{
	static const char *const directories[] = { "bin", "sbin", "lib" };
	static const char *const files[] = { "bin/daemon", "sbin/daemon", "lib/daemon", "bin/other", "lib/ingero-cli" };
	const char *place = getenv("TMPDIR");

	if (argc == 3 && strcmp(argv[1], "--stay") == 0) {
		if (end_await(STDIN_FILENO) == COMPUTE)
			for (volatile int computes = 1; computes;)
				;
		(void)execl(argv[2], argv[2], "--stay", argv[2], NULL);
		return 1;
	}
	(void)snprintf(root, sizeof(root), "%s/ingero-tracers-XXXXXX", place ? place : "/tmp");
	if (!mkdtemp(root))
		CHECK_SKIP("no directory of its own");
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		if (mkdir(at(directories[i]), 0755) < 0)
			abort();
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		file_copy(files[i]);

	peers_check();
	connections_check();
	computing_check();
	fresh_check();
	shown_check();
	children_check();
	closers_check();

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		(void)unlink(at(files[i]));
	(void)unlink(at("bin/ingero-cli"));
	(void)unlink(at("sbin/ingero-cli"));
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
		(void)rmdir(at(directories[i]));
	(void)rmdir(root);
	return check_result();
}
