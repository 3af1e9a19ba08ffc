// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a library file, through the entry that the parser child uses for rules of unwinding. Beyond what the
 * sanitizers see, an answer that the daemon would refuse is a failure.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "children/child_role.h"
#include "children/elf_unwind.h"
#include "tests/support/unwind_text.h"

#define PAGES 8 /* those of a small file, and the last ones that there can be */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void answer_check(const struct parser_rows_question *question, const struct parser_rows *head, size_t n)
{
	const struct parser_page *pages = (const struct parser_page *)(head + 1);
	const uint32_t *rows = (const uint32_t *)(pages + head->n_pages);
	const struct unwind_side *sides = (const struct unwind_side *)(rows + head->n_rows);
	char text[UNWIND_TEXT_BYTES];
	uint32_t n_rows = 0;

	if (n != sizeof(*head) + head->n_pages * sizeof(*pages) + head->n_rows * sizeof(*rows) +
			 head->n_sides * sizeof(*sides) ||
	    !head->n_pages || head->n_pages > question->n)
		abort();
	for (uint32_t i = 0; i < head->n_pages; i++) {
		if (pages[i].page != question->pages[i] || pages[i].n_rows > UNWIND_PAGE_ROWS_MAX ||
		    pages[i].n_rows > head->n_rows - n_rows)
			abort();
		for (uint32_t k = 0; k < pages[i].n_rows; k++) {
			uint32_t row = rows[n_rows + k];

			if (k ? UNWIND_ROW_OFFSET(row) <= UNWIND_ROW_OFFSET(rows[n_rows + k - 1])
			      : UNWIND_ROW_OFFSET(row) > 0)
				abort();
			unwind_rule_text(UNWIND_ROW_RULE(row), sides, head->n_sides, text);
		}
		n_rows += pages[i].n_rows;
	}
	if (n_rows != head->n_rows)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct parser_rows_question question = { .kind = PARSER_ASK_ROWS, .n = PAGES, .file_bytes = n };
	static struct parser_rows *answer;
	static int fd = -1;
	size_t n_answer;

	if (!answer) {
		answer = malloc(CHILD_ANSWER_MAX);
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	}
	if (!answer || fd < 0 || ftruncate(fd, (off_t)n) < 0 || (n && pwrite(fd, data, n, 0) != (ssize_t)n))
		abort();

	for (uint32_t i = 0; i < PAGES; i++)
		question.pages[i] = i < PAGES - 2 ? i : UINT32_MAX - (PAGES - 1 - i);
	n_answer = elf_read_rows(fd, &question, answer, CHILD_ANSWER_MAX);
	if (answer->result == PARSER_OK)
		answer_check(&question, answer, n_answer);
	else if (n_answer != sizeof(*answer) || answer->result >= PARSER_RESULT_COUNT)
		abort();
	return 0;
}
