// SPDX-License-Identifier: Apache-2.0
/*
 * Python frames in memory that no interpreter leaves: each walk ends, with what is sure, and says why. This thread runs
 * the walk on itself, over objects of CPython 3.13 that it makes.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "bpf/stack_record.h"
#include "python_walk.skel.h"
#include "tests/support/check.h"

#define FRAMES 3 /* innermost first; the last one is an entry from C */
#define FRAME_BYTES 72

static __thread uint64_t state_of_thread;

/* Words of objects, as CPython 3.13 lays them out. */
static struct memory {
	uint64_t type; /* of types, which are of no further interest */
	uint64_t code_type[1], text_type[1], bytes_type[1];
	uint64_t newest, main; /* interpreters */
	uint64_t interpreter[1];
	uint64_t thread[PYTHON_THREAD_BYTES / 8];
	uint64_t frames[FRAMES][FRAME_BYTES / 8];
	uint64_t code[200 / 8];
	uint64_t name[8], lines[8];
	uint64_t rest[2 * CODE_TEXT_MAX / 8]; /* room for lengths that are none */
} memory;

#define AT(member) ((uint64_t)&memory.member)

static struct interpreter interpreter_made(void)
{
	uint64_t self;
	struct interpreter interpreter = { .layout = { .minor = 13,
						       .thread = PYTHON_THREAD_LOCAL,
						       .start = PYTHON_START_FRAME,
						       .instruction = PYTHON_INSTRUCTION_POINTER,
						       .shim = 3,
						       .thread_interpreter = 16,
						       .thread_start = 72,
						       .thread_self = 152,
						       .frame_link = 8,
						       .frame_code = 0,
						       .frame_instruction = 56,
						       .frame_owner = 70,
						       .frame_bytes = FRAME_BYTES,
						       .code_first_line = 68,
						       .code_file = 112,
						       .code_name = 120,
						       .code_qualname = 128,
						       .code_lines = 136,
						       .code_traceable = 184,
						       .code_bytecode = 200,
						       .code_identity = 48,
						       .n_identity = 12,
						       .main = AT(main),
						       .code_type = AT(code_type),
						       .text_type = AT(text_type),
						       .bytes_type = AT(bytes_type) } };

	__asm__("mov %%fs:0, %0" : "=r"(self));
	interpreter.layout.variable = (int64_t)((uint64_t)&state_of_thread - self);
	return interpreter;
}

/* Two frames of one code object, and an entry. */
static void memory_make(void)
{
	uint64_t self;

	__asm__("mov %%fs:0, %0" : "=r"(self));
	memset(&memory, 0, sizeof(memory));
	state_of_thread = AT(thread);
	memory.newest = memory.main = AT(interpreter);
	memory.thread[16 / 8] = AT(interpreter);
	memory.thread[72 / 8] = AT(frames[0]);
	memory.thread[152 / 8] = self;
	for (size_t i = 0; i < FRAMES; i++) {
		memory.frames[i][0] = AT(code);
		memory.frames[i][1] = i + 1 < FRAMES ? AT(frames[i + 1]) : 0;
		memory.frames[i][7] = AT(code) + 200 + 2 * i;
	}
	((uint8_t *)memory.frames[FRAMES - 1])[70] = 3;
	memory.code[1] = AT(code_type);
	memory.code[48 / 8] = 1; /* flags */
	memory.code[64 / 8] = 7ull << 32;
	memory.code[112 / 8] = memory.code[120 / 8] = memory.code[128 / 8] = AT(name);
	memory.code[136 / 8] = AT(lines);
	memory.name[1] = AT(text_type);
	memory.name[2] = 3;
	memory.name[4] = 1 << 2 | 1 << 5 | 1 << 6;
	memcpy(&memory.name[5], "abc", 3);
	memory.lines[1] = AT(bytes_type);
	memory.lines[2] = 2;
	memory.lines[4] = 0x0080;
}

/* --- what is wrong --- */

static uint64_t nowhere; /* a page that cannot be read */

static void nothing(void)
{
}
static void no_state(void)
{
	state_of_thread = 0;
}
static void unreadable_state(void)
{
	state_of_thread = nowhere;
}
static void state_of_another_thread(void)
{
	memory.thread[152 / 8] += 64;
}
static void no_interpreter(void)
{
	memory.thread[16 / 8] = 0;
}
static void sub_interpreter(void)
{
	memory.main = AT(thread);
}
static void unreadable_frame(void)
{
	memory.frames[0][1] = nowhere;
}
static void odd_frame(void)
{
	memory.frames[0][1] += 4;
}
static void kernel_frame(void)
{
	memory.frames[0][1] = 0xffffffff81000000;
}
static void own_caller(void)
{
	memory.frames[1][1] = AT(frames[1]);
}
static void circle(void)
{
	memory.frames[1][1] = AT(frames[0]);
}
static void no_code(void)
{
	memory.frames[1][0] = AT(name);
}
static void unreadable_code(void)
{
	memory.frames[1][0] = nowhere;
}
static void name_is_none(void)
{
	memory.name[1] = AT(bytes_type);
}
static void name_is_unreadable(void)
{
	memory.code[112 / 8] = memory.code[120 / 8] = memory.code[128 / 8] = nowhere;
}
static void name_is_long(void)
{
	memory.name[2] = UINT64_MAX;
}
static void lines_are_none(void)
{
	memory.lines[1] = AT(text_type);
}
static void lines_are_many(void)
{
	memory.lines[2] = UINT64_MAX;
}

static const struct {
	const char *name;
	void (*spoil)(void);
	enum stack_end end;
	int n_python;
	int n_name, n_lines; /* of the code object that is sent; -1: none is */
} cases[] = {
	{ "right", nothing, STACK_END_COMPLETE, 3, 43, 2 },
	{ "no state", no_state, STACK_END_NONE, 0, -1, 0 },
	{ "unreadable state", unreadable_state, STACK_END_UNREADABLE, 0, -1, 0 },
	{ "state of another thread", state_of_another_thread, STACK_END_UNREADABLE, 0, -1, 0 },
	{ "no interpreter", no_interpreter, STACK_END_UNREADABLE, 0, -1, 0 },
	{ "sub-interpreter", sub_interpreter, STACK_END_INTERPRETER, 3, 43, 2 },
	{ "unreadable frame", unreadable_frame, STACK_END_UNREADABLE, 1, 43, 2 },
	{ "odd frame", odd_frame, STACK_END_UNREADABLE, 1, 43, 2 },
	{ "frame in the kernel", kernel_frame, STACK_END_UNREADABLE, 1, 43, 2 },
	{ "its own caller", own_caller, STACK_END_UNREADABLE, 1, 43, 2 },
	{ "circle", circle, STACK_END_DEPTH, STACK_PYTHON_MAX, 43, 2 },
	{ "no code object", no_code, STACK_END_UNREADABLE, 1, 43, 2 },
	{ "unreadable code object", unreadable_code, STACK_END_UNREADABLE, 1, 43, 2 },
	{ "name is none", name_is_none, STACK_END_COMPLETE, 3, 0, 2 },
	{ "name is unreadable", name_is_unreadable, STACK_END_COMPLETE, 3, 0, 2 },
	{ "name is long", name_is_long, STACK_END_COMPLETE, 3, CODE_TEXT_MAX, 2 },
	{ "lines are none", lines_are_none, STACK_END_COMPLETE, 3, 43, 0 },
	{ "lines are many", lines_are_many, STACK_END_COMPLETE, 3, 43, 0 },
};

/* --- the walk --- */

static struct {
	struct python_walk *bpf;
	struct ring_buffer *ring;
	int n_name, n_lines, n_codes;
	struct stack_record stack;
} run;

static int on_record(void *data, void *bytes, size_t n)
{
	const struct code_record *code = bytes;

	(void)data;
	if (code->type == RECORD_CODE) {
		run.n_name = code->n_name;
		run.n_lines = (int)code->n_lines;
		run.n_codes++;
		CHECK_INT_EQ("size", n, sizeof(*code) + code->n_name + code->n_qualname + code->n_file + code->n_lines);
	} else {
		memcpy(&run.stack, bytes, sizeof(run.stack));
	}
	return 0;
}

static void walk(uint64_t exec_gen)
{
	uint64_t context[12] = { 1, exec_gen };
	struct bpf_test_run_opts opts = { .sz = sizeof(opts), .ctx_in = context, .ctx_size_in = sizeof(context) };

	run.n_codes = 0;
	run.n_name = run.n_lines = -1;
	memset(&run.stack, 0, sizeof(run.stack));
	CHECK_INT_EQ("run", bpf_prog_test_run_opts(bpf_program__fd(run.bpf->progs.python_take), &opts), 0);
	CHECK_INT_EQ("result", opts.retval, 0);
	(void)ring_buffer__consume(run.ring);
}

static void interpreter_set(struct interpreter interpreter)
{
	uint32_t tgid = (uint32_t)getpid();

	CHECK_INT_EQ("note", bpf_map_update_elem(bpf_map__fd(run.bpf->maps.interpreters), &tgid, &interpreter, BPF_ANY),
		     0);
	run.bpf->bss->interpreters_noted++;
}

static void cases_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		interpreter_set(interpreter_made());
		memory_make();
		cases[i].spoil();
		walk(i); /* as if another program: no code object was sent before */
		CHECK_INT_EQ(cases[i].name, run.stack.python_end, cases[i].end);
		CHECK_INT_EQ(cases[i].name, run.stack.n_python, cases[i].n_python);
		CHECK_INT_EQ(cases[i].name, run.n_codes > 0, cases[i].n_name >= 0);
		if (cases[i].n_name >= 0) {
			CHECK_INT_EQ(cases[i].name, run.n_name, cases[i].n_name);
			CHECK_INT_EQ(cases[i].name, run.n_lines, cases[i].n_lines);
		}
	}
}

/* A layout that is not understood, and none. */
static void layouts_check(void)
{
	static const struct interpreter unknown;
	uint32_t tgid = (uint32_t)getpid();

	memory_make();
	interpreter_set(unknown);
	walk(100);
	CHECK_INT_EQ("not understood", run.stack.python_end, STACK_END_LAYOUT);
	CHECK_INT_EQ("not understood", run.stack.n_python, 0);
	CHECK_INT_EQ("no Python", bpf_map_delete_elem(bpf_map__fd(run.bpf->maps.interpreters), &tgid), 0);
	walk(100);
	CHECK_INT_EQ("no Python", run.stack.python_end, STACK_END_NONE);
}

/* Which code objects are sent again: those that may be others. */
static void again_check(void)
{
	struct interpreter interpreter = interpreter_made(), watched = interpreter;
	uint64_t id;

	interpreter_set(interpreter);
	memory_make();
	walk(200);
	id = run.stack.id;
	CHECK_INT_EQ("first", run.n_codes, 1);
	walk(200);
	CHECK_INT_EQ("the same", run.n_codes, 0);
	CHECK("the same", run.stack.id == id);
	memory.code[48 / 8]++;
	walk(200);
	CHECK_INT_EQ("other bytes", run.n_codes, 1);
	CHECK("other bytes", run.stack.id != id);
	id = run.stack.id;
	walk(201);
	CHECK_INT_EQ("other program", run.n_codes, 1);
	CHECK("other program", run.stack.id != id);

	watched.code_watch = 5 + CODE_WATCHES;
	interpreter_set(watched);
	run.bpf->bss->code_watches[5] = 5;
	walk(201);
	CHECK_INT_EQ("another probe: compared as before", run.n_codes, 0);
	run.bpf->bss->code_watches[5] = 5 + CODE_WATCHES;
	walk(201);
	id = run.stack.id;
	CHECK_INT_EQ("watched now", run.n_codes, 1);
	memory.code[48 / 8]++;
	walk(201);
	CHECK_INT_EQ("not freed", run.n_codes, 0);
	CHECK("not freed", run.stack.id == id);
	for (size_t i = 0; i < ARRAY_SIZE(run.bpf->bss->code_frees); i++)
		run.bpf->bss->code_frees[i]++;
	walk(201);
	CHECK_INT_EQ("freed", run.n_codes, 1);
	CHECK("freed", run.stack.id != id);
}

/* Instructions: before the first one, and of a line. */
static void instructions_check(void)
{
	interpreter_set(interpreter_made());
	memory_make();
	memory.frames[0][7] = AT(code) + 198;
	walk(300);
	CHECK_INT_EQ("not begun", (int64_t)run.stack.python[0].instruction, -2);
	CHECK_INT_EQ("second", run.stack.python[1].instruction, 2);
	CHECK_INT_EQ("entry", run.stack.python[2].code, 0);
	CHECK_INT_EQ("entry", run.stack.python[2].frame, AT(frames[2]));
}

int main(void)
{
	nowhere = (uint64_t)mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
	run.bpf = python_walk__open_and_load();
	if (!run.bpf) {
		CHECK("load", geteuid() != 0);
		return check_result();
	}
	run.ring = ring_buffer__new(bpf_map__fd(run.bpf->maps.stacks), on_record, NULL, NULL);
	cases_check();
	layouts_check();
	again_check();
	instructions_check();
	ring_buffer__free(run.ring);
	python_walk__destroy(run.bpf);
	return check_result();
}
