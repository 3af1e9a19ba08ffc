// SPDX-License-Identifier: Apache-2.0
/*
 * Which functions of the kernel the loaded programs call, and since when Linux has each: told to
 * leave alone what 5.15 does not have, they call nothing younger.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "probes/probe_set_state.h"
#include "rig.h"
#include "tests/support/check.h"

#define OLDEST 515 /* 5.15, as a number */
#define SYMBOL_BYTES 128

/* Every helper of bpf/, by its function in the kernel: longest names first. Source: the kernel's history. */
static const struct {
	const char *prefix;
	unsigned int since;
} helpers[] = {
	{ "bpf_get_current_task_btf", 511 },
	{ "bpf_probe_read_kernel_str", 505 },
	{ "bpf_probe_read_kernel", 505 },
	{ "bpf_probe_read_user_str", 505 },
	{ "bpf_probe_read_user", 505 },
	{ "bpf_task_storage_get", 512 }, /* by tracing programs */
	{ "bpf_get_attach_cookie", 515 },
	{ "bpf_get_current_pid_tgid", 402 },
	{ "bpf_get_current_uid_gid", 402 },
	{ "bpf_get_smp_processor_id", 401 },
	{ "bpf_user_rnd_u32", 401 }, /* bpf_get_prandom_u32() */
	{ "bpf_ringbuf_", 508 },
	{ "bpf_send_signal", 503 },
	{ "bpf_seq_write", 508 },
	{ "bpf_task_pt_regs", 515 },
	{ "bpf_ktime_get_", 508 },
	{ "bpf_map_", 420 },
	{ "htab_", 420 },
	{ "__htab_", 420 },
	{ "array_", 420 },
	{ "percpu_array_", 420 },
	{ "queue_map_", 420 },
	{ "queue_stack_map_", 420 },
	{ "stack_map_", 420 },
	{ "bpf_loop", 517 },
	{ "bpf_find_vma", 517 },
	{ "bpf_session_", 613 },
};

static uint64_t symbol_address(const char *wanted)
{
	CLEANUP(fclosep) FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], name[SYMBOL_BYTES];
	uint64_t at;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " %*c %127s", &at, name) == 2 && strcmp(name, wanted) == 0)
			return at;
	return 0;
}

static void symbol_name(uint64_t wanted, char ret_name[SYMBOL_BYTES])
{
	CLEANUP(fclosep) FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], name[SYMBOL_BYTES];
	uint64_t at;

	(void)snprintf(ret_name, SYMBOL_BYTES, "%#" PRIx64, wanted);
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " %*c %127s", &at, name) == 2 && at == wanted)
			(void)snprintf(ret_name, SYMBOL_BYTES, "%s", name);
}

static unsigned int since(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
		if (strncmp(name, helpers[i].prefix, strlen(helpers[i].prefix)) == 0)
			return helpers[i].since;
	return 9999;
}

struct calls {
	uint64_t *items; /* addresses, each once */
	size_t n, room;
	size_t n_callbacks;
};

static void calls_note(struct calls *calls, uint64_t address)
{
	for (size_t i = 0; i < calls->n; i++)
		if (calls->items[i] == address)
			return;
	CHECK_INT_EQ("room", ARRAY_PUSH(calls, address), 0);
}

/* What the verifier left of a program: its calls are relative to __bpf_call_base. */
static void program_read(const struct bpf_program *program, uint64_t base, struct calls *calls)
{
	CLEANUP(freep) struct bpf_insn *insns = NULL;
	struct bpf_prog_info info = {};
	uint32_t bytes = sizeof(info);
	int fd = bpf_program__fd(program);

	if (fd < 0)
		return; /* of another back end */
	CHECK_INT_EQ("program", bpf_obj_get_info_by_fd(fd, &info, &bytes), 0);
	bytes = info.xlated_prog_len;
	insns = calloc(1, bytes);
	memset(&info, 0, sizeof(info));
	info.xlated_prog_insns = (uintptr_t)insns;
	info.xlated_prog_len = bytes;
	bytes = sizeof(info);
	CHECK_INT_EQ("program", bpf_obj_get_info_by_fd(fd, &info, &bytes), 0);
	CHECK("program", insns && info.xlated_prog_len);
	for (size_t i = 0; i < info.xlated_prog_len / sizeof(*insns); i++) {
		/* bpf_loop() itself may be inlined, its callback stays. */
		if (insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) && insns[i].src_reg == BPF_PSEUDO_FUNC)
			calls->n_callbacks++;
		if (insns[i].code == (BPF_JMP | BPF_CALL) && insns[i].src_reg == 0)
			calls_note(calls, base + (uint64_t)(int64_t)insns[i].imm);
	}
}

static unsigned int youngest(enum probe_back_end back_end, bool is_oldest)
{
	const struct probe_set_options options = { .back_end = back_end, .is_oldest = is_oldest };
	struct calls calls = {};
	struct bpf_program *program;
	struct probe_set *set;
	unsigned int found = 0;
	char why[256];
	uint64_t base;

	if (geteuid() != 0)
		CHECK_SKIP("loading BPF programs needs root");
	base = symbol_address("__bpf_call_base");
	if (!base)
		CHECK_SKIP("this kernel hides its addresses");
	if (probe_set_open(&options, why, sizeof(why), &set) < 0)
		CHECK_SKIP("this machine cannot do it: %s", why);
	bpf_object__for_each_program(program, set->bpf->obj) program_read(program, base, &calls);
	CHECK("calls", calls.n > 5);
	CHECK_INT_EQ("loops by callback", calls.n_callbacks != 0, !is_oldest);
	for (size_t i = 0; i < calls.n; i++) {
		char name[SYMBOL_BYTES];

		symbol_name(calls.items[i], name);
		CHECK(name, since(name) != 9999);
		if (is_oldest)
			CHECK(name, since(name) <= OLDEST);
		found = MAX(found, since(name));
	}
	ARRAY_DONE(&calls);
	probe_set_close(set);
	return found;
}

int main(int argc, char **argv)
{
	enum probe_back_end back_end = rig_back_end(argc, argv);

	(void)youngest(back_end, /* is_oldest= */ true);
	/* Or the names are not read. */
	CHECK("as this kernel is", youngest(back_end, /* is_oldest= */ false) > OLDEST);
	return check_result();
}
