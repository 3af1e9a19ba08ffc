// SPDX-License-Identifier: Apache-2.0
/*
 * The probe where an interpreter frees code objects: each one is counted, by process and address, while it is attached.
 * Users have counts of their own.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
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

#define OTHER_SHARE (SHARES_FIRST + 1)
#define OTHER_SLOT 2
#define OTHER_FREES 40000 /* objects: more than there are counts of a user */

/* As if this process had made a call: it has a slot, and its user a share. */
static void slot_take(const struct rig *rig, uint32_t slot, uint32_t uid, uint32_t share)
{
	const struct process_entry entry = { .slot = slot };
	uint32_t tgid = (uint32_t)getpid();

	rig->set->slots[slot].uid = uid;
	rig->set->bpf->bss->slot_shares[slot] = share;
	if (bpf_map_update_elem(bpf_map__fd(rig->set->bpf->maps.processes), &tgid, &entry, BPF_ANY))
		_exit(2);
}

/* A process of another user that frees without pause changes no count of this one. */
static void user_check(const struct rig *rig, uint64_t code, size_t count)
{
	const uint32_t *counts = rig->set->bpf->bss->code_frees;
	size_t n_own = 0, n_changed = 0, at = count >> 10 << 10;
	static uint32_t before[FREES];
	int status = -1;
	pid_t pid;

	memcpy(before, counts, sizeof(before));
	pid = fork();
	if (pid == 0) {
		slot_take(rig, OTHER_SLOT, 1, OTHER_SHARE);
		for (uint64_t i = 0; i < OTHER_FREES; i++)
			code_dealloc(code + i * 16);
		_exit(0);
	}
	CHECK_INT_EQ("another user's", waitpid(pid, &status, 0), pid);
	CHECK_INT_EQ("another user's", status, 0);
	for (size_t i = 0; i < FREES; i++) {
		n_changed += counts[i] != before[i];
		n_own += counts[i] != before[i] && i >= at && i < at + (1 << 10);
	}
	CHECK("another user's are counted", n_changed > 1000);
	CHECK_INT_EQ("and change none of one's own", n_own, 0);
}

/* Another process has other objects at the same addresses. */
static void child_check(const struct rig *rig, uint64_t code, size_t parent_count)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		slot_take(rig, 1, 0, SHARES_FIRST);
		_exit(count_of(rig, code) == parent_count);
	}
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
	CHECK_INT_EQ("a process without a call has no stacks", count_of(&rig, 0x7f0000001000), FREES);
	slot_take(&rig, 1, 0, SHARES_FIRST);
	one = count_of(&rig, 0x7f0000001000);
	other = count_of(&rig, 0x7f00000010c8);
	CHECK("counted", one < FREES && other < FREES);
	CHECK("by address", one != other);
	CHECK_INT_EQ("again", count_of(&rig, 0x7f0000001000), one);
	child_check(&rig, 0x7f0000001000, one);
	user_check(&rig, 0x7f0000001000, one);
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
