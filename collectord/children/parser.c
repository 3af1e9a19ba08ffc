// SPDX-License-Identifier: Apache-2.0
#include "children/parser.h"

#include <string.h>

#include "bpf/stack_record.h"
#include "children/child_role.h"
#include "children/elf.h"
#include "children/elf_names.h"
#include "children/elf_unwind.h"
#include "children/python_code.h"

_Static_assert(sizeof(struct parser_library) + PARSER_SYMBOLS_MAX * sizeof(struct parser_symbol) <= CHILD_ANSWER_MAX,
	       "the largest answer fits one message");
_Static_assert(PYTHON_CODE_ANSWER_MAX <= CHILD_ANSWER_MAX, "likewise");
_Static_assert(sizeof(struct parser_code_question) + sizeof(struct code_record) + 3 * CODE_TEXT_MAX + CODE_LINES_MAX <=
		       CHILD_QUESTION_MAX,
	       "a code object fits one question");

static ssize_t library_answer(const void *question, size_t n, int fd, void *answer)
{
	struct parser_library *library = answer; /* the caller's buffer is aligned for any type */
	struct parser_question q;

	if (n != sizeof(q) || fd < 0)
		return -1;
	memcpy(&q, question, sizeof(q));
	if (elf_read_library(fd, q.file_bytes, library) != PARSER_OK)
		library->n_symbols = 0;
	return (ssize_t)(sizeof(*library) + library->n_symbols * sizeof(library->symbols[0]));
}

static ssize_t rows_answer(const void *question, size_t n, int fd, void *answer, size_t room)
{
	struct parser_rows_question q;

	if (n != sizeof(q) || fd < 0)
		return -1;
	memcpy(&q, question, sizeof(q));
	if (q.n > PARSER_PAGES_MAX)
		return -1;
	return (ssize_t)elf_read_rows(fd, &q, answer, room);
}

static ssize_t code_answer(const void *question, size_t n, void *answer, size_t room)
{
	struct parser_code_question q;

	if (n < sizeof(q))
		return -1;
	memcpy(&q, question, sizeof(q));
	if (q.n_record != n - sizeof(q))
		return -1;
	return (ssize_t)python_code_read((const char *)question + sizeof(q), q.n_record, answer, room);
}

static ssize_t parser_answer(const void *question, size_t n, int fd, void *answer, size_t room)
{
	uint32_t kind;

	if (n < sizeof(kind) || room < CHILD_ANSWER_MAX)
		return -1;
	memcpy(&kind, question, sizeof(kind));
	switch (kind) {
	case PARSER_ASK_LIBRARY:
		return library_answer(question, n, fd, answer);
	case PARSER_ASK_ROWS:
		return rows_answer(question, n, fd, answer, room);
	case PARSER_ASK_NAMES:
		return elf_names_answer(question, n, fd, answer, room);
	case PARSER_ASK_CODE:
		return code_answer(question, n, answer, room);
	default:
		return -1;
	}
}

const struct child_role parser_role = {
	.name = "parser",
	.answer = parser_answer,
};
