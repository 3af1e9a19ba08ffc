// SPDX-License-Identifier: Apache-2.0
#include "detect/wait_advice.h"

#include <inttypes.h>
#include <stdio.h>

#include "detect/detector.h"

#define WHAT_BYTES 256

/* A process as a command has it that also names it elsewhere: detector_advise_command() writes its number only once. */
struct pid_word {
	char text[16];
};

static struct pid_word pid_word(const struct detector_facts *facts, uint32_t pid)
{
	struct pid_word word = { .text = "PID" };

	if (!facts->is_ended)
		(void)snprintf(word.text, sizeof(word.text), "%" PRIu32, pid);
	return word;
}

void wait_advise_stopped(struct finding *f, const struct detector_facts *facts, const struct account_wait *wait)
{
	uint32_t pid = f->process.tgid;
	struct pid_word word = pid_word(facts, pid);
	char what[64];

	switch ((enum stop_kind)wait->resource) {
	case STOP_SIGNAL:
		(void)snprintf(what, sizeof(what), "if it is %s (ps -o stat= -p %s shows T)",
			       facts->is_ended ? "stopped again" : "still stopped", word.text);
		detector_advise_command(f, facts, what, "kill -CONT ", pid, "");
		detector_advise(
			f, "see what stops it: job control of its shell (Ctrl-Z), a batch system that suspends jobs");
		break;
	case STOP_DEBUGGER:
		detector_advise_command(f, facts, "see which process debugs or traces it", "grep TracerPid /proc/", pid,
					"/status");
		break;
	case STOP_FREEZER:
		detector_advise(f,
				"if it is %s, thaw its control group, which cat /proc/%s/cgroup names: echo 0 > "
				"cgroup.freeze; of version 1: echo THAWED > freezer.state; docker unpause; systemctl "
				"thaw",
				facts->is_ended ? "frozen again" : "still frozen", word.text);
		break;
	case STOP_HOLD:
		detector_advise(f,
				"it was stopped by Ingero, which attached a library; trace it from before it loads it");
		break;
	case STOP_NONE:
		break;
	}
}

void wait_advise_debugger(struct finding *f, const struct detector_facts *facts, const char *what, uint32_t pid,
			  const char *behind)
{
	char said[WHAT_BYTES];

	if (pid == f->cause.pid && pid != f->process.tgid && f->cause.uid != f->process.uid) {
		detector_advise_command(f, facts, what, "top -H -p ", pid, "");
		return;
	}
	(void)snprintf(said, sizeof(said), "%s (this stops the process meanwhile)", what);
	detector_advise_command(f, facts, said, "sudo gdb -p ", pid, behind);
}

void wait_advise_socket(struct finding *f, const struct detector_facts *facts)
{
	detector_advise_command(f, facts, "see what the socket is", "sudo ss -tnp | grep pid=", f->process.tgid, ",");
}

void wait_advise_reader(struct finding *f, const struct detector_facts *facts, const struct account_wait *wait)
{
	uint32_t reader = f->cause.pid;
	char what[64], behind[96];

	if (reader && reader != f->process.tgid) {
		(void)snprintf(what, sizeof(what), "see why %" PRIu32 " reads so slowly", reader);
		(void)snprintf(behind, sizeof(behind),
			       " -batch -ex bt, or if it is in Python: sudo py-spy dump --pid %s",
			       pid_word(facts, reader).text);
		wait_advise_debugger(f, facts, facts->is_ended ? "see why its reader is so slow" : what, reader,
				     behind);
	} else if (wait->kind == RESOURCE_FULL_PEER) {
		wait_advise_socket(f, facts);
	}
	detector_advise(f, "write less (fewer messages of a log or progress bar), or to a file");
	detector_advise(f, "write in another thread, so that a slow reader delays no calls");
}
