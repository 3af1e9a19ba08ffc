// SPDX-License-Identifier: Apache-2.0
/*
 * What a turned parser may say of the garbage collector of an interpreter: nothing outside the file, and no more than
 * there is room for, is believed; what is, is placed.
 */
#include "probes/target_collector.h"

#include <elf.h>
#include <string.h>

#include "base/cleanup.h"
#include "children/parser.h"
#include "tests/support/check.h"

#define FILE_BYTES 4096u

static const struct {
	const char *name;
	struct parser_collector collector;
	bool is_sound;
} answers[] = {
	{ "none", { .n_begins = 0 }, true },
	{ "a function", { .n_begins = 1, .begins = { { .offset = FILE_BYTES - 1 } } }, true },
	{ "marks",
	  { .n_begins = 1, .n_ends = 1, .begins = { { .offset = 8, .semaphore = 16 } }, .ends = { { .offset = 9 } } },
	  true },
	{ "all that there is room for",
	  { .n_begins = PARSER_COLLECTOR_SITES, .n_ends = PARSER_COLLECTOR_SITES },
	  true },
	{ "begins beyond that", { .n_begins = PARSER_COLLECTOR_SITES + 1 }, false },
	{ "many begins", { .n_begins = UINT32_MAX }, false },
	{ "many ends", { .n_begins = 1, .n_ends = UINT32_MAX }, false },
	{ "ends alone", { .n_ends = 1 }, false },
	{ "outside the file", { .n_begins = 1, .begins = { { .offset = FILE_BYTES } } }, false },
	{ "far outside", { .n_begins = 1, .begins = { { .offset = UINT64_MAX } } }, false },
	{ "an end outside", { .n_begins = 1, .n_ends = 1, .ends = { { .offset = FILE_BYTES } } }, false },
	{ "a semaphore outside", { .n_begins = 1, .begins = { { .semaphore = FILE_BYTES } } }, false },
	{ "a semaphore of another's bits", { .n_begins = 1, .begins = { { .semaphore = 1ull << 32 } } }, false },
	{ "a long head", { .n_begins = 1, .begins = { { .n_head = PARSER_HEAD_BYTES + 1 } } }, false },
};

/* endbr64; push %r15; push %r14: the first instruction is not the cheapest. */
static const uint8_t function_head[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x57, 0x41, 0x56 };

static void check_taken(void)
{
	struct parser_collector c = {
		.n_begins = 1, .begins = { { .offset = 64, .semaphore = 128, .n_head = sizeof(function_head) } }
	};
	struct target_file file = { .path_fd = -1 };

	memcpy(c.begins[0].head, function_head, sizeof(function_head));
	target_collector_take(&file, &c, EM_X86_64);
	CHECK_INT_EQ("function", file.collector.n_begins, 1);
	CHECK_INT_EQ("function", file.collector.n_ends, 0);
	CHECK_INT_EQ("where it is cheap", file.collector.begins[0].offset, 68);
	CHECK_INT_EQ("semaphore", file.collector.begins[0].semaphore, 128);
	c.n_ends = 1;
	c.ends[0].offset = 80;
	target_collector_take(&file, &c, EM_X86_64);
	CHECK_INT_EQ("a mark is where it is", file.collector.begins[0].offset, 64);
	CHECK_INT_EQ("a mark is where it is", file.collector.ends[0].offset, 80);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		CHECK_INT_EQ(answers[i].name, target_collector_is_sound(&answers[i].collector, FILE_BYTES),
			     answers[i].is_sound);
	check_taken();
	return check_result();
}
