// SPDX-License-Identifier: Apache-2.0
/* The probe where an interpreter frees code objects: each one is counted, by process and address, while it is attached.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "probes/probe_set_state.h"
#include "rig.h"
#include "tests/support/check.h"
#include "tests/support/whole.h"

#define FREES (sizeof(((struct ingero__bss *)0)->code_frees) / sizeof(uint32_t))
#define ROUNDS 1009

static WHOLE void code_dealloc(uint64_t code)
{
	__asm__ volatile("" : : "r"(code) : "memory");
}

/* Frees an object again and again. Return: the count that grew by just that; FREES: none did, or another one, too */
static size_t count_of(const struct rig *rig, uint64_t code)
{
	static uint32_t before[FREES];
	const uint32_t *counts = rig->set->bpf->bss->code_frees;
	size_t found = FREES;

	memcpy(before, counts, sizeof(before));
	for (int i = 0; i < ROUNDS; i++)
		code_dealloc(code);
	for (size_t i = 0; i < FREES; i++) {
		if (counts[i] == before[i])
			continue;
		if (found != FREES || counts[i] - before[i] != ROUNDS)
			return FREES;
		found = i;
	}
	return found;
}

static struct probe_library *attach(const struct rig *rig, uint32_t *ret_number)
{
	const struct probe_site site = { .offset = rig_offset((const void *)code_dealloc) };
	CLEANUP(closep) int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct probe_library *library = NULL;

	*ret_number = 0;
	CHECK_INT_EQ("attached", probe_set_attach_code_watch(rig->set, fd, &site, &library, ret_number), 0);
	return library;
}

static uint32_t watch_of(const struct rig *rig, uint32_t number)
{
	return rig->set->bpf->bss->code_watches[number % CODE_WATCHES];
}

/* Another process has other objects at the same addresses. */
static void child_check(const struct rig *rig, uint64_t code, size_t parent_count)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(count_of(rig, code) == parent_count);
	CHECK_INT_EQ("child", waitpid(pid, &status, 0), pid);
	CHECK_INT_EQ("another count", status, 0);
}

int main(int argc, char **argv)
{
	struct probe_library *library;
	uint32_t number, second;
	struct rig rig;
	size_t one, other;

	rig_open_bare(&rig, rig_back_end(argc, argv), 0);
	CHECK_INT_EQ("before", count_of(&rig, 0x7f0000001000), FREES);
	library = attach(&rig, &number);
	CHECK("number", number != 0);
	CHECK_INT_EQ("said", watch_of(&rig, number), number);
	one = count_of(&rig, 0x7f0000001000);
	other = count_of(&rig, 0x7f00000010c8);
	CHECK("counted", one < FREES && other < FREES);
	CHECK("by address", one != other);
	CHECK_INT_EQ("again", count_of(&rig, 0x7f0000001000), one);
	child_check(&rig, 0x7f0000001000, one);
	probe_set_detach_library(rig.set, library);
	CHECK_INT_EQ("not any more", watch_of(&rig, number), 0);
	CHECK_INT_EQ("detached", count_of(&rig, 0x7f0000001000), FREES);
	library = attach(&rig, &second);
	CHECK("another number", second && second != number);
	CHECK_INT_EQ("attached again", count_of(&rig, 0x7f0000001000), one);
	probe_set_detach_library(rig.set, library);
	rig_close(&rig);
	return check_result();
}
