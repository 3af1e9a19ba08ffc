// SPDX-License-Identifier: Apache-2.0
/* Answers of a parser that a file has taken over: each number out of its range is refused. */
#include "probes/python_answer.h"

#include "base/array.h"
#include "children/parser.h"
#include "tests/support/check.h"

#define FILE_BYTES 4096

static struct parser_python right(void)
{
	return (struct parser_python){ .state = PARSER_PYTHON_OK,
				       .layout = { .minor = 11,
						   .thread = PYTHON_THREAD_GLIBC,
						   .start = PYTHON_START_RUN,
						   .instruction = PYTHON_INSTRUCTION_POINTER,
						   .thread_interpreter = 16,
						   .thread_start = 56,
						   .thread_run = 56,
						   .thread_self = 152,
						   .run_frame = 8,
						   .run_link = 16,
						   .frame_link = 48,
						   .frame_code = 32,
						   .frame_instruction = 56,
						   .frame_bytes = 72,
						   .n_identity = 11 },
				       .freed = { .offset = 100, .n_head = 32 } };
}

#define WRONG(field, value)                                                                                            \
	static void wrong_##field(struct parser_python *p)                                                             \
	{                                                                                                              \
		p->layout.field = (value);                                                                             \
	}
WRONG(minor, 0)
WRONG(thread, PYTHON_THREAD_COUNT)
WRONG(start, PYTHON_START_COUNT)
WRONG(instruction, PYTHON_INSTRUCTION_COUNT)
WRONG(tag_mask, 8)
WRONG(thread_interpreter, 185)
WRONG(thread_start, 185)
WRONG(thread_run, 185)
WRONG(thread_self, 185)
WRONG(run_frame, 16)
WRONG(run_link, 24)
WRONG(frame_link, 65)
WRONG(frame_code, 65)
WRONG(frame_instruction, 65)
WRONG(frame_owner, 72)
WRONG(frame_entry, 72)
WRONG(frame_bytes, 128)
WRONG(code_first_line, 249)
WRONG(code_file, 249)
WRONG(code_name, 249)
WRONG(code_qualname, 249)
WRONG(code_lines, 249)
WRONG(code_traceable, 249)
WRONG(n_identity, 15)

static void wrong_state(struct parser_python *p)
{
	p->state = PARSER_PYTHON_COUNT;
}
static void wrong_place(struct parser_python *p)
{
	p->freed.offset = FILE_BYTES;
}
static void wrong_head(struct parser_python *p)
{
	p->freed.n_head = PARSER_HEAD_BYTES + 1;
}

#define CASE(field)                                                                                                    \
	{                                                                                                              \
#field, wrong_##field                                                                                  \
	}
static const struct {
	const char *name;
	void (*spoil)(struct parser_python *p);
} cases[] = {
	CASE(minor),	     CASE(thread),	CASE(start),	   CASE(instruction),	     CASE(tag_mask),
	CASE(thread_start),  CASE(thread_run),	CASE(thread_self), CASE(thread_interpreter), CASE(run_frame),
	CASE(run_link),	     CASE(frame_link),	CASE(frame_code),  CASE(frame_instruction),  CASE(frame_owner),
	CASE(frame_entry),   CASE(frame_bytes), CASE(code_file),   CASE(code_first_line),    CASE(code_name),
	CASE(code_qualname), CASE(code_lines),	CASE(n_identity),  CASE(code_traceable),     CASE(state),
	CASE(place),	     CASE(head),
};

int main(void)
{
	struct parser_python p = right();

	CHECK("right", python_answer_is_sound(&p, FILE_BYTES));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		p = right();
		cases[i].spoil(&p);
		CHECK(cases[i].name, !python_answer_is_sound(&p, FILE_BYTES));
	}
	p = (struct parser_python){ .state = PARSER_PYTHON_THREADED };
	CHECK("refused", python_answer_is_sound(&p, FILE_BYTES));
	return check_result();
}
