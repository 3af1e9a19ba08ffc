// SPDX-License-Identifier: Apache-2.0
/*
 * A library goes while its calls are open: they are over in every figure, at once and for
 * good, and calls of the same threads into other libraries count as ever.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "rig.h"
#include "tests/support/check.h"

#define AFTER 3 /* calls that follow */

static int to_child[2], to_parent[2];

static void tell(int fd)
{
	char byte = 1;

	if (write(fd, &byte, 1) != 1)
		_exit(98);
}

static void hear(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(99);
}

/* Inside two calls; what is told next may be a call that is made in there. */
static int func_inside(void *data)
{
	int r = 0;

	tell(to_parent[1]);
	hear(to_child[0]);
	for (int i = 0; data && i < AFTER; i++)
		r |= subject_empty();
	tell(to_parent[1]);
	hear(to_child[0]);
	return r;
}

static int run_inside(void *data)
{
	int r;

	hear(to_child[0]);
	r = subject_runtime(func_inside, data);
	tell(to_parent[1]);
	hear(to_child[0]);
	for (int i = 0; i < AFTER; i++)
		r |= subject_empty();
	return r;
}

static pid_t child_start(void *data)
{
	pid_t pid;

	if (pipe2(to_child, O_CLOEXEC) < 0 || pipe2(to_parent, O_CLOEXEC) < 0)
		exit(1);
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		(void)close(to_child[1]);
		_exit(run_inside(data));
	}
	return pid;
}

static void pipes_close(void)
{
	for (int i = 0; i < 2; i++) {
		(void)close(to_child[i]);
		(void)close(to_parent[i]);
	}
}

/* The sites of what is called inside, or of what is called there and afterwards. */
static void attach(struct rig *rig, bool is_inner, struct probe_library **ret_library)
{
	struct probe_site sites[RIG_SITES_MAX];
	CLEANUP(closep) int fd = rig_path_fd();
	size_t n = rig_sites(sites), k = 0;

	for (size_t i = 0; i < n; i++)
		if ((COOKIE_OP(sites[i].cookie) == RIG_EMPTY) == is_inner)
			sites[k++] = sites[i];
	CHECK_INT_EQ("attach", probe_set_attach_library(rig->set, fd, sites, k, ret_library), 0);
}

static void check_over(struct rig *rig, const char *name, pid_t pid)
{
	static const unsigned int ops[] = { RIG_RUNTIME, RIG_DRIVER };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rig_figures f = rig_figures(rig, pid, ops[i]);

		CHECK_INT_EQ(name, f.abandoned, 1);
		CHECK_INT_EQ(name, f.count, 0);
		CHECK_INT_EQ(name, f.total_ns + f.raw_ns, 0);
	}
}

static const struct {
	const char *name;
	bool calls_inside; /* another library, while the calls of the one that went are open */
	bool returns;
	bool is_killed;
	bool is_attached_again; /* before they return */
} cases[] = {
	{ "returns, then calls", false, true, false, false },
	{ "calls inside", true, true, false, false },
	{ "killed inside", false, false, true, false },
	{ "attached again before it returns", true, true, false, true },
};

static void check_case(struct rig *rig, size_t k)
{
	struct probe_library *outer = NULL, *inner = NULL, *again = NULL;
	const char *name = cases[k].name;
	struct in_flight_record r[4];
	int status = -1;
	pid_t pid;

	/* First, or it would hold the probes' descriptors, too. */
	pid = child_start(cases[k].calls_inside ? r : NULL);
	attach(rig, false, &outer);
	attach(rig, true, &inner);
	rig_target(rig, pid, RIG_NO_CALL);
	tell(to_child[1]);
	hear(to_parent[0]);
	CHECK_INT_EQ(name, probe_set_in_flight(rig->set, r, ARRAY_SIZE(r)), 2);
	CHECK_INT_EQ(name, rig_figures(rig, pid, RIG_RUNTIME).abandoned, 0);

	probe_set_detach_library(rig->set, outer);
	check_over(rig, name, pid);
	CHECK_INT_EQ(name, probe_set_in_flight(rig->set, r, ARRAY_SIZE(r)), 0);
	check_over(rig, name, pid);
	if (cases[k].is_attached_again)
		attach(rig, false, &again);
	if (cases[k].is_killed) {
		(void)kill(pid, SIGKILL);
	} else {
		tell(to_child[1]);
		hear(to_parent[0]);
		CHECK_INT_EQ(name, rig_figures(rig, pid, RIG_EMPTY).timed, cases[k].calls_inside ? AFTER : 0);
		tell(to_child[1]);
		hear(to_parent[0]);
		check_over(rig, name, pid);
		tell(to_child[1]);
	}
	(void)waitpid(pid, &status, 0);
	pipes_close();
	CHECK_INT_EQ(name, status, cases[k].is_killed ? SIGKILL : 0);
	check_over(rig, name, pid);
	CHECK_INT_EQ(name, rig_figures(rig, pid, RIG_EMPTY).timed,
		     (cases[k].calls_inside ? AFTER : 0) + (cases[k].returns ? AFTER : 0));
	CHECK_INT_EQ(name, rig_loss(rig, LOSS_RETURN_UNPAIRED), 0);
	probe_set_detach_library(rig->set, inner);
	probe_set_detach_library(rig->set, again);
}

int main(int argc, char **argv)
{
	struct rig rig;

	rig_open_bare(&rig, rig_back_end(argc, argv), 0);
	for (size_t k = 0; k < ARRAY_SIZE(cases); k++)
		check_case(&rig, k);
	rig_close(&rig);
	return check_result();
}
