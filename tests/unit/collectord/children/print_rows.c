// SPDX-License-Identifier: Apache-2.0
/*
 * Rules of unwinding of all code of a file, as text for readelf_rows.py: from a place in the file on, where the rule
 * differs from the one before.
 *
 *   print_rows FILE
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "children/child_role.h"
#include "children/elf_file.h"
#include "children/elf_unwind.h"
#include "tests/support/unwind_text.h"

static union {
	struct parser_rows head;
	uint8_t bytes[CHILD_ANSWER_MAX];
} answer;

static struct {
	uint64_t next; /* end of the last page */
	char rule[UNWIND_TEXT_BYTES];
} last;

/* Prints an answer. Return: number of pages */
static uint32_t answer_print(void)
{
	const struct parser_page *pages = (const struct parser_page *)(&answer.head + 1);
	const uint32_t *rows = (const uint32_t *)(pages + answer.head.n_pages);
	const struct unwind_side *sides = (const struct unwind_side *)(rows + answer.head.n_rows);

	for (uint32_t i = 0; i < answer.head.n_pages; i++) {
		uint64_t start = (uint64_t)pages[i].page << UNWIND_PAGE_SHIFT;

		if (!pages[i].n_rows)
			printf("%" PRIx64 " none\n", start);
		for (uint32_t k = 0; k < pages[i].n_rows; k++, rows++) {
			char rule[UNWIND_TEXT_BYTES];

			if (k ? UNWIND_ROW_OFFSET(*rows) <= UNWIND_ROW_OFFSET(rows[-1]) : UNWIND_ROW_OFFSET(*rows) > 0)
				abort();
			unwind_rule_text(UNWIND_ROW_RULE(*rows), sides, answer.head.n_sides, rule);
			if (start == last.next && strcmp(rule, last.rule) == 0)
				continue;
			printf("%" PRIx64 " %s\n", start + UNWIND_ROW_OFFSET(*rows), rule);
			memcpy(last.rule, rule, sizeof(rule));
			last.next = start;
		}
		last.next = start + UNWIND_PAGE;
	}
	return answer.head.n_pages;
}

/* Asks for pages from `page` on, before `end`. Return: the first page that was not answered */
static uint64_t pages_print(const struct elf_file *file, uint64_t page, uint64_t end)
{
	struct parser_rows_question question = { .kind = PARSER_ASK_ROWS, .file_bytes = file->bytes };
	size_t n;

	for (; question.n < PARSER_PAGES_MAX && page + question.n < end; question.n++)
		question.pages[question.n] = (uint32_t)(page + question.n);
	n = elf_read_rows(file->fd, &question, &answer.head, sizeof(answer));
	if (answer.head.result != PARSER_OK || n > sizeof(answer) || !answer.head.n_pages)
		exit(2);
	return page + answer_print();
}

int main(int argc, char **argv)
{
	static struct elf_file file;
	uint64_t page = 0;
	uint16_t machine;

	file.fd = open(argc == 2 ? argv[1] : "", O_RDONLY | O_CLOEXEC);
	file.bytes = file.fd < 0 ? 0 : (uint64_t)lseek(file.fd, 0, SEEK_END);
	if (elf_file_read_header(&file, &machine) != PARSER_OK)
		return 2;
	for (size_t i = 0; i < file.n_segments; i++) {
		const Elf64_Phdr *p = &file.segments[i];
		uint64_t end = (p->p_offset + p->p_filesz + UNWIND_PAGE - 1) >> UNWIND_PAGE_SHIFT;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		page = MAX(page, p->p_offset >> UNWIND_PAGE_SHIFT);
		while (page < end)
			page = pages_print(&file, page, end);
	}
	return 0;
}
