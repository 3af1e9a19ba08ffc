// SPDX-License-Identifier: Apache-2.0
#include "events/decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static void check_waits(void)
{
	static const struct {
		const char *name;
		struct wait_record record;
		bool is_short, is_unterminated;
		enum decode_result expect;
	} cases[] = {
		{ "a wait", { .type = RECORD_WAIT, .key.class = BLAME_LOCK }, .expect = DECODE_OK },
		{ "the last of everything",
		  { .type = RECORD_WAIT,
		    .key = { .class = BLAME_COUNT - 1, .kind = RESOURCE_COUNT - 1, .slot = PROCESS_SLOTS - 1 } },
		  .expect = DECODE_OK },
		{ "class", { .type = RECORD_WAIT, .key.class = BLAME_COUNT }, .expect = DECODE_RANGE },
		{ "kind", { .type = RECORD_WAIT, .key.kind = RESOURCE_COUNT }, .expect = DECODE_RANGE },
		{ "slot", { .type = RECORD_WAIT, .key.slot = PROCESS_SLOTS }, .expect = DECODE_RANGE },
		{ "cut short", { .type = RECORD_WAIT }, .is_short = true, .expect = DECODE_SHORT },
		{ "name without end", { .type = RECORD_WAIT }, .is_unterminated = true, .expect = DECODE_NOT_TEXT },
		{ "a file", { .type = RECORD_FILE }, .expect = DECODE_UNKNOWN_TYPE },
		{ "of another ring", { .type = RECORD_STACK }, .expect = DECODE_UNKNOWN_TYPE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wait_record record = cases[i].record;
		const struct wait_record *got = NULL;

		if (cases[i].is_unterminated)
			memset(record.comm, 'x', sizeof(record.comm));
		CHECK_INT_EQ(cases[i].name, decode_wait(&record, sizeof(record) - cases[i].is_short, &got),
			     cases[i].expect);
		CHECK(cases[i].name, (got == &record) == (cases[i].expect == DECODE_OK));
	}
}

static void check_stacks(void)
{
	static const struct {
		const char *name;
		size_t n; /* bytes of memory in the data */
		bool is_short, is_unterminated;
		enum decode_result expect;
		struct stack_record record;
	} cases[] = {
		{ "a stack", 0, .record = { .n_native = 3, .native_end = STACK_END_COMPLETE }, .expect = DECODE_OK },
		{ "all there is room for", 0,
		  .record = { .n_native = STACK_NATIVE_MAX,
			      .n_python = STACK_PYTHON_MAX,
			      .n_runs = STACK_RUNS_MAX,
			      .n_traps = STACK_TRAPS_MAX,
			      .native_end = STACK_END_DEPTH,
			      .python_end = STACK_END_COUNT - 1 },
		  .expect = DECODE_OK },
		{ "with memory", 64, .record = { .n_memory = 64, .native_end = STACK_END_RULE }, .expect = DECODE_OK },
		{ "with cut memory", 64, .record = { .n_memory = 64, .native_end = STACK_END_LARGE },
		  .expect = DECODE_OK },
		{ "padded", 64, .record = { .n_memory = 57, .native_end = STACK_END_RULE }, .expect = DECODE_OK },
		{ "more memory than there is", 64, .record = { .n_memory = 65, .native_end = STACK_END_RULE },
		  .expect = DECODE_SHORT },
		{ "memory without end", 64, .record = { .n_memory = UINT32_MAX, .native_end = STACK_END_RULE },
		  .expect = DECODE_RANGE },
		{ "memory without a reason", 64, .record = { .n_memory = 64, .native_end = STACK_END_COMPLETE },
		  .expect = DECODE_RANGE },
		{ "native frames", 0, .record = { .n_native = STACK_NATIVE_MAX + 1 }, .expect = DECODE_RANGE },
		{ "Python frames", 0, .record = { .n_python = STACK_PYTHON_MAX + 1 }, .expect = DECODE_RANGE },
		{ "runs", 0, .record = { .n_runs = STACK_RUNS_MAX + 1 }, .expect = DECODE_RANGE },
		{ "traps", 0, .record = { .n_traps = STACK_TRAPS_MAX + 1 }, .expect = DECODE_RANGE },
		{ "native end", 0, .record = { .native_end = STACK_END_COUNT }, .expect = DECODE_RANGE },
		{ "Python end", 0, .record = { .python_end = STACK_END_COUNT }, .expect = DECODE_RANGE },
		{ "cut short", 0, .record = { .n_native = 1 }, .is_short = true, .expect = DECODE_SHORT },
		{ "name without end", 0, .record = { .n_native = 1 }, .is_unterminated = true,
		  .expect = DECODE_NOT_TEXT },
		{ "a code object", 0, .record = { .type = RECORD_CODE }, .expect = DECODE_UNKNOWN_TYPE },
		{ "a call", 0, .record = { .type = RECORD_CALL }, .expect = DECODE_UNKNOWN_TYPE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = sizeof(struct stack_record) + cases[i].n - cases[i].is_short;
		CLEANUP(freep) struct stack_record *record = calloc(1, sizeof(*record) + cases[i].n);
		const struct stack_record *got = NULL;

		if (!record)
			CHECK_SKIP("no memory");
		memcpy(record, &cases[i].record, sizeof(*record));
		record->type = cases[i].record.type ? cases[i].record.type : RECORD_STACK;
		memset(record->comm, 'x', sizeof(record->comm) - !cases[i].is_unterminated);
		CHECK_INT_EQ(cases[i].name, decode_stack(record, n, &got), cases[i].expect);
		CHECK(cases[i].name, (got == record) == (cases[i].expect == DECODE_OK));
	}
}

static void check_codes(void)
{
	static const struct {
		const char *name;
		size_t n; /* bytes behind its head */
		bool is_unterminated;
		enum decode_result expect;
		struct code_record record;
	} cases[] = {
		{ "a code object", 40,
		  .record = { .n_name = 10, .n_qualname = 10, .n_file = 10, .n_lines = 10, .n_lines_all = 12 },
		  .expect = DECODE_OK },
		{ "nothing of it", 0, .record = { .n_lines_all = 12 }, .expect = DECODE_OK },
		{ "the largest", 3 * CODE_TEXT_MAX + CODE_LINES_MAX,
		  .record = { .n_name = CODE_TEXT_MAX,
			      .n_qualname = CODE_TEXT_MAX,
			      .n_file = CODE_TEXT_MAX,
			      .n_lines = CODE_LINES_MAX,
			      .n_lines_all = UINT32_MAX },
		  .expect = DECODE_OK },
		{ "more than there is", 39,
		  .record = { .n_name = 10, .n_qualname = 10, .n_file = 10, .n_lines = 10, .n_lines_all = 10 },
		  .expect = DECODE_SHORT },
		{ "name", 8192, .record = { .n_name = CODE_TEXT_MAX + 1 }, .expect = DECODE_RANGE },
		{ "qualified name", 8192, .record = { .n_qualname = CODE_TEXT_MAX + 1 }, .expect = DECODE_RANGE },
		{ "file", 8192, .record = { .n_file = CODE_TEXT_MAX + 1 }, .expect = DECODE_RANGE },
		{ "lines", 65536, .record = { .n_lines = CODE_LINES_MAX + 1, .n_lines_all = CODE_LINES_MAX + 1 },
		  .expect = DECODE_RANGE },
		{ "more lines than there are", 64, .record = { .n_lines = 10, .n_lines_all = 9 },
		  .expect = DECODE_RANGE },
		{ "name without end", 0, .record = { .n_name = 0 }, .is_unterminated = true,
		  .expect = DECODE_NOT_TEXT },
		{ "a stack", sizeof(struct stack_record), .record = { .type = RECORD_STACK },
		  .expect = DECODE_UNKNOWN_TYPE },
	};
	const struct code_record *got = NULL;
	struct code_record head = { .type = RECORD_CODE };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) struct code_record *record = calloc(1, sizeof(*record) + cases[i].n);

		if (!record)
			CHECK_SKIP("no memory");
		got = NULL;
		memcpy(record, &cases[i].record, CODE_RECORD_HEAD);
		record->type = cases[i].record.type ? cases[i].record.type : RECORD_CODE;
		memset(record->comm, 'x', sizeof(record->comm) - !cases[i].is_unterminated);
		CHECK_INT_EQ(cases[i].name, decode_code(record, CODE_RECORD_HEAD + cases[i].n, &got), cases[i].expect);
		CHECK(cases[i].name, (got == record) == (cases[i].expect == DECODE_OK));
	}
	CHECK_INT_EQ("cut short", decode_code(&head, CODE_RECORD_HEAD - 1, &got), DECODE_SHORT);
}

int main(void)
{
	static const struct call_record good = {
		.type = RECORD_CALL, .op = 3, .comm = "train", .args = { 11, 12, 13 }
	};
	static const struct life_record life = { .type = RECORD_EXIT, .comm = "train" };
	static const struct {
		const char *name;
		size_t n;
		uint8_t type;
		uint16_t op;
		bool is_unterminated;
		enum decode_result expect;
	} calls[] = {
		{ "good", sizeof(good), RECORD_CALL, 3, false, DECODE_OK },
		{ "longer, of a later version", sizeof(good) + 8, RECORD_CALL, 3, false, DECODE_OK },
		{ "of two arguments", CALL_RECORD_SHORT, RECORD_CALL, 3, false, DECODE_OK },
		{ "cut short", CALL_RECORD_SHORT - 1, RECORD_CALL, 3, false, DECODE_SHORT },
		{ "nothing", 0, RECORD_CALL, 3, false, DECODE_SHORT },
		{ "a file", sizeof(good), RECORD_FILE, 3, false, DECODE_UNKNOWN_TYPE },
		{ "of the other ring", sizeof(good), RECORD_EXIT, 3, false, DECODE_UNKNOWN_TYPE },
		{ "no such operation", sizeof(good), RECORD_CALL, OP_ID_MAX - 1, false, DECODE_UNKNOWN_OP },
		{ "operation out of range", sizeof(good), RECORD_CALL, 255, false, DECODE_UNKNOWN_OP },
		{ "name without end", sizeof(good), RECORD_CALL, 3, true, DECODE_NOT_TEXT },
	};
	static const struct {
		const char *name;
		size_t n;
		uint8_t type;
		uint32_t n_bytes, end; /* where its text has a NUL */
		enum decode_result expect;
	} files[] = {
		{ "a path", FILE_RECORD_HEAD + 8, RECORD_FILE, 8, 7, DECODE_OK },
		{ "padded", FILE_RECORD_HEAD + 8, RECORD_FILE, 5, 4, DECODE_OK },
		{ "the root", FILE_RECORD_HEAD, RECORD_FILE, 0, 0, DECODE_OK },
		{ "the longest", sizeof(struct file_record), RECORD_FILE, FILE_PATH_BYTES, FILE_PATH_BYTES - 1,
		  DECODE_OK },
		{ "longer than it is", FILE_RECORD_HEAD + 8, RECORD_FILE, 9, 8, DECODE_SHORT },
		{ "longer than any", sizeof(struct file_record), RECORD_FILE, FILE_PATH_BYTES + 1, 0, DECODE_SHORT },
		{ "of no end", sizeof(struct file_record), RECORD_FILE, UINT32_MAX, 0, DECODE_SHORT },
		{ "cut short", FILE_RECORD_HEAD - 1, RECORD_FILE, 0, 0, DECODE_SHORT },
		{ "nothing", 0, RECORD_FILE, 0, 0, DECODE_SHORT },
		{ "without its NUL", FILE_RECORD_HEAD + 8, RECORD_FILE, 8, 6, DECODE_NOT_TEXT },
		{ "a call", sizeof(struct file_record), RECORD_CALL, 8, 7, DECODE_UNKNOWN_TYPE },
		{ "of the other ring", sizeof(struct file_record), RECORD_EXIT, 8, 7, DECODE_UNKNOWN_TYPE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct {
			struct call_record record;
			char more[8];
		} bytes = { .record = good };
		struct call_record got = { .type = RECORD_NONE };

		bytes.record.type = calls[i].type;
		bytes.record.op = calls[i].op;
		if (calls[i].is_unterminated)
			memset(bytes.record.comm, 'x', sizeof(bytes.record.comm));
		CHECK_INT_EQ(calls[i].name, decode_call(&bytes, calls[i].n, &got), calls[i].expect);
		CHECK_INT_EQ(calls[i].name, got.type, calls[i].expect == DECODE_OK ? RECORD_CALL : RECORD_NONE);
		CHECK_INT_EQ(calls[i].name, got.args[1], got.type ? 12 : 0);
		CHECK_INT_EQ(calls[i].name, got.args[2], got.type && calls[i].n >= sizeof(good) ? 13 : 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct file_record record = { .type = files[i].type, .n_bytes = files[i].n_bytes, .comm = "train" };
		const struct file_record *got = NULL;

		memset(record.text, 'x', sizeof(record.text));
		if (files[i].end < sizeof(record.text))
			record.text[files[i].end] = '\0';
		CHECK_INT_EQ(files[i].name, decode_file(&record, files[i].n, &got), files[i].expect);
		CHECK(files[i].name, (got == &record) == (files[i].expect == DECODE_OK));
	}
	for (int type = 0; type < 256; type++) {
		struct life_record record = life;
		const struct life_record *got;
		bool known = type >= RECORD_EXEC && type <= RECORD_OOM;

		record.type = (uint8_t)type;
		CHECK_INT_EQ("life by type", decode_life(&record, sizeof(record), &got),
			     known ? DECODE_OK : DECODE_UNKNOWN_TYPE);
	}
	{
		struct life_record record = life;
		const struct life_record *got;

		record.type = RECORD_OOM;
		memset(record.oom.by_comm, 'x', sizeof(record.oom.by_comm));
		CHECK_INT_EQ("name without end", decode_life(&record, sizeof(record), &got), DECODE_NOT_TEXT);
		CHECK_INT_EQ("cut short", decode_life(&life, sizeof(life) - 1, &got), DECODE_SHORT);
	}
	check_waits();
	check_stacks();
	check_codes();
	return check_result();
}
