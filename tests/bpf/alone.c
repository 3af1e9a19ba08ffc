// SPDX-License-Identifier: Apache-2.0
/* Two tracers at once: only one of them takes session links, and says why not. */
#include <errno.h>
#include <sys/wait.h>

#include "probes/calibrate.h"
#include "probes/probe_set.h"
#include "rig.h"
#include "tests/support/check.h"

static struct probe_set *open_as(enum probe_back_end back_end, char *why, size_t why_bytes, int *ret_r)
{
	const struct probe_set_options options = { .back_end = back_end };
	struct probe_set *set = NULL;

	*ret_r = probe_set_open(&options, why, why_bytes, &set);
	return *ret_r < 0 ? NULL : set;
}

static void check_second(enum probe_back_end first)
{
	bool is_taken = first == PROBE_BACK_END_SESSION;
	struct probe_set *set;
	char why[512];
	int r;

	set = open_as(PROBE_BACK_END_AUTO, why, sizeof(why), &r);
	CHECK_INT_EQ("second, its choice", r, 0);
	if (set)
		CHECK_INT_EQ("second, its choice", probe_set_back_end(set) != PROBE_BACK_END_SESSION, is_taken);
	CHECK_INT_EQ("second, its choice: told why", strstr(why, "another tracer of Ingero has it") != NULL,
		     is_taken);
	if (set)
		probe_set_close(set);

	set = open_as(PROBE_BACK_END_SESSION, why, sizeof(why), &r);
	CHECK_INT_EQ("second, forced", r, is_taken ? -EBUSY : 0);
	CHECK_INT_EQ("second, forced: told the way out", strstr(why, "'--back-end auto'") != NULL, is_taken);
	if (set)
		probe_set_close(set);
}

/* It calibrates itself on functions of its own program, which is ours, too: nobody's calls. */
static void check_calibration(struct rig *rig)
{
	char why[512];
	int status, r;
	pid_t pid;

	probe_set_everyone_add(rig->set, RIG_EVERY_CALL);
	pid = fork();
	if (pid == 0) {
		struct probe_set *set = open_as(PROBE_BACK_END_AUTO, why, sizeof(why), &r);

		_exit(set ? subject_empty() : 1);
	}
	(void)waitpid(pid, &status, 0);
	probe_set_everyone_remove(rig->set);
	CHECK_INT_EQ("calibration of another", status, 0);
	CHECK_INT_EQ("calibration of another: its calls", rig_figures(rig, pid, RIG_EMPTY).count, 1);
	for (unsigned int op = CALIBRATE_OP_PLAIN; op <= CALIBRATE_OP_OUTER; op++)
		CHECK_INT_EQ("calibration of another", rig_figures(rig, pid, op).count, 0);
}

int main(int argc, char **argv)
{
	enum probe_back_end first = rig_back_end(argc, argv);
	struct probe_set *set;
	struct rig rig;
	char why[512];
	int r;

	rig_open_bare(&rig, PROBE_BACK_END_SESSION, 0); /* or there is nothing to test */
	rig_close(&rig);
	rig_open_bare(&rig, first, 0);
	check_second(first);
	rig_close(&rig);
	rig_open(&rig, first, 0);
	check_calibration(&rig);
	rig_close(&rig);

	set = open_as(PROBE_BACK_END_AUTO, why, sizeof(why), &r);
	CHECK("alone again", set && probe_set_back_end(set) == PROBE_BACK_END_SESSION);
	if (set)
		probe_set_close(set);
	return check_result();
}
