// SPDX-License-Identifier: Apache-2.0
/* Questions about the rules of unwinding of a file made by hand, and their answers as text. */
#pragma once

#include "children/elf_unwind.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "children/child_role.h"
#include "tests/support/check.h"
#include "tests/support/unwind_text.h"
#include "unwind_image.h"

/* ---- instructions of call frame information ---- */

enum {
	NOP,
	SET_LOC,
	ADVANCE1,
	ADVANCE2,
	ADVANCE4,
	OFFSET_EXT,
	RESTORE_EXT,
	UNDEFINED,
	SAME,
	IN_REGISTER,
	REMEMBER,
	RESTORE_STATE,
	DEF,
	DEF_REGISTER,
	DEF_OFFSET,
	DEF_EXPRESSION,
	EXPRESSION,
	OFFSET_EXT_SF,
	DEF_SF,
	DEF_OFFSET_SF,
	VAL_OFFSET,
	VAL_OFFSET_SF,
	VAL_EXPRESSION,
	ARGS_SIZE = 0x2e,
	NEGATIVE_OFFSET_EXT,
	ADVANCE = 0x40,
	OFFSET = 0x80,
	RESTORE = 0xc0,
};
enum { RBX = 3, BP = 6, SP = 7, R10 = 10, RA = 16 };
enum { DEREF = 0x06, AND = 0x1a, PLUS = 0x22, PLUS_UCONST = 0x23, SHL = 0x24, GE = 0x2a, LIT = 0x30, BREG = 0x70 };
#define PLT(from) DEF_EXPRESSION, 11, BREG + SP, 8, BREG + RA, 0, LIT + 15, AND, LIT + (from), GE, LIT + 3, SHL, PLUS
#define MINUS(n) (0x80 - (n)) /* of one byte: 1 to 64 */
#define USUAL DEF, SP, 8, OFFSET + RA, 1

static const uint8_t cie_program[] = { USUAL };
/* A function that keeps a frame pointer. */
#define FRAME_POINTER                                                                                                  \
	ADVANCE + 1, DEF_OFFSET, 16, OFFSET + BP, 2, ADVANCE + 3, DEF_REGISTER, BP, ADVANCE + 0x20, DEF, SP, 8

#define PAGE_1 (IMAGE_CODE / UNWIND_PAGE)
#define CODE (IMAGE_CODE + 0x10) /* of the one function that most files have: 0x40 bytes */
#define TEXT_BYTES 32768

static union {
	struct parser_rows head;
	uint8_t bytes[CHILD_ANSWER_MAX];
} answer;
static struct image image;
static int image_fd;

/* ---- asking ---- */

static inline const struct parser_page *answer_pages(void)
{
	return (const struct parser_page *)(&answer.head + 1);
}

static inline const uint32_t *answer_rows(void)
{
	return (const uint32_t *)(answer_pages() + answer.head.n_pages);
}

/* What holds of every answer, whatever the file is. */
static inline void answer_check(const char *name, const struct parser_rows_question *question, size_t n)
{
	const struct parser_rows *head = &answer.head;
	const struct parser_page *pages = answer_pages();
	uint32_t n_rows = 0;
	char text[UNWIND_TEXT_BYTES];

	CHECK(name, head->result < PARSER_RESULT_COUNT);
	if (head->result != PARSER_OK) {
		CHECK_INT_EQ(name, n, sizeof(*head));
		CHECK(name, !head->n_pages && !head->n_rows && !head->n_sides);
		return;
	}
	CHECK_INT_EQ(name, n,
		     sizeof(*head) + head->n_pages * sizeof(*pages) + head->n_rows * sizeof(uint32_t) +
			     head->n_sides * sizeof(struct unwind_side));
	CHECK_INT_IN(name, head->n_pages, question->n > 0, question->n);
	for (uint32_t i = 0; i < head->n_pages; i++) {
		const uint32_t *rows = answer_rows() + n_rows;

		CHECK_INT_EQ(name, pages[i].page, question->pages[i]);
		CHECK_INT_IN(name, pages[i].n_rows, 0, UNWIND_PAGE_ROWS_MAX);
		n_rows += pages[i].n_rows;
		for (uint32_t k = 0; n_rows <= head->n_rows && k < pages[i].n_rows; k++) {
			CHECK(name, k ? UNWIND_ROW_OFFSET(rows[k]) > UNWIND_ROW_OFFSET(rows[k - 1])
				      : UNWIND_ROW_OFFSET(rows[k]) == 0);
			unwind_rule_text(UNWIND_ROW_RULE(rows[k]),
					 (const struct unwind_side *)(answer_rows() + head->n_rows), head->n_sides,
					 text);
		}
	}
	CHECK_INT_EQ(name, n_rows, head->n_rows);
}

static inline void pages_ask(const char *name, int fd, uint64_t bytes, uint32_t page, uint32_t n)
{
	struct parser_rows_question question = { .kind = PARSER_ASK_ROWS, .n = n, .file_bytes = bytes };

	for (uint32_t i = 0; i < n; i++)
		question.pages[i] = page + i;
	memset(&answer, 0xa5, sizeof(answer));
	answer_check(name, &question, elf_read_rows(fd, &question, &answer.head, sizeof(answer)));
}

/* Rows of a page of the answer: "0 gap, 10 sp+8, ..." */
static inline const char *page_text(uint32_t i)
{
	static char text[TEXT_BYTES];
	const uint32_t *rows = answer_rows();
	size_t at = 0;

	for (uint32_t k = 0; k < i; k++)
		rows += answer_pages()[k].n_rows;
	text[0] = '\0';
	for (uint32_t k = 0; k < answer_pages()[i].n_rows && at < sizeof(text); k++) {
		char rule[UNWIND_TEXT_BYTES];

		unwind_rule_text(UNWIND_ROW_RULE(rows[k]),
				 (const struct unwind_side *)(answer_rows() + answer.head.n_rows), answer.head.n_sides,
				 rule);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%x %s", k ? ", " : "",
				       UNWIND_ROW_OFFSET(rows[k]), rule);
	}
	return text;
}

static inline void image_write(void)
{
	if (pwrite(image_fd, image.bytes, sizeof(image.bytes), 0) != sizeof(image.bytes))
		abort();
}

/* Rows of the image's first page of code. */
static inline void image_check(const char *name, const char *want)
{
	image_write();
	pages_ask(name, image_fd, sizeof(image.bytes), PAGE_1, 1);
	CHECK_INT_EQ(name, answer.head.result, PARSER_OK);
	if (answer.head.result == PARSER_OK)
		CHECK_STR_EQ(name, page_text(0), want);
}

static inline void image_fails(const char *name, enum parser_result want)
{
	image_write();
	pages_ask(name, image_fd, sizeof(image.bytes), PAGE_1, 1);
	CHECK_INT_EQ(name, answer.head.result, want);
}
