// SPDX-License-Identifier: Apache-2.0
/* Whose a process was that the kernel names by its id alone: by its slot, by /proc, or nobody's any more. */
#include "events/life.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "bpf/record.h"
#include "tests/support/check.h"

#define SLOT_PID 77u

static const struct process_slot slots[PROCESS_SLOTS] = {
	[3] = { .tgid = SLOT_PID,
		.uid = 1234,
		.exec_gen = 2,
		.start_boot_ns = 99,
		.flags = PROCESS_GUARDED,
		.comm = "train" },
};

/* It has no child and is waited for: its id is nobody's. */
static uint32_t pid_of_nobody(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	(void)waitpid(pid, NULL, 0);
	return (uint32_t)pid;
}

int main(void)
{
	const struct {
		const char *name;
		uint32_t tgid;
		uint16_t slot;
		uint32_t exec_gen;
		int r;
		uint32_t uid;
		const char *comm;
		uint8_t flags;
	} cases[] = {
		{ "by its slot", SLOT_PID, 3, 2, 0, 1234, "train", LIFE_GUARDED },
		{ "by /proc", (uint32_t)getpid(), 0, 0, 0, getuid(), "unit_collectord", 0 },
		{ "another's slot", (uint32_t)getpid(), 3, 2, 0, getuid(), "unit_collectord", 0 },
		{ "a former program's slot", pid_of_nobody(), 3, 1, -ESRCH, 0, "", LIFE_UNKNOWN },
		{ "gone", pid_of_nobody(), 0, 0, -ESRCH, 0, "", LIFE_UNKNOWN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct life_record life = {
			.type = RECORD_OOM,
			.tgid = cases[i].tgid,
			.slot = cases[i].slot,
			.exec_gen = cases[i].exec_gen,
			.flags = LIFE_UNKNOWN,
		};

		CHECK_INT_EQ(cases[i].name, life_complete(&life, slots), cases[i].r);
		CHECK_INT_EQ(cases[i].name, life.uid, cases[i].uid);
		CHECK_STR_EQ(cases[i].name, life.comm, cases[i].comm);
		CHECK_INT_EQ(cases[i].name, life.flags, cases[i].flags);
		CHECK(cases[i].name, cases[i].r < 0 || life.start_boot_ns != 0);
	}
	return check_result();
}
