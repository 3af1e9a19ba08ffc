// SPDX-License-Identifier: Apache-2.0
/* The parser as a sealed process: its answers are those of the same code here, and an invalid question ends it. */
#include "children/parser.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "bpf/stack_record.h"
#include "children/child.h"
#include "children/child_role.h"
#include "children/elf_unwind.h"
#include "tests/support/check.h"

#define FAR_NS (600 * NSEC_PER_SEC) /* a limit that is not meant to be met */

const struct child_role *const child_roles[] = { &parser_role, NULL };

struct told {
	bool is_there;
	int r;
	size_t n;
	_Alignas(max_align_t) uint8_t answer[CHILD_ANSWER_MAX];
};

static void on_answer(int r, const void *answer, size_t n, void *data)
{
	struct told *told = data;

	told->is_there = true;
	told->r = r;
	told->n = n;
	if (r == 0)
		memcpy(told->answer, answer, n);
}

static const struct told *parser_ask(uv_loop_t *loop, struct child *child, const void *question, size_t n, int fd)
{
	static struct told told;

	told.is_there = false;
	CHECK_INT_EQ("ask", child_ask(child, question, n, fd, 1, FAR_NS, on_answer, &told), 0);
	while (!told.is_there)
		(void)uv_run(loop, UV_RUN_ONCE);
	return &told;
}

/* All pages of this program, as many at once as a question may have, then one by one. */
static void rows_check(uv_loop_t *loop, struct child *child, int fd, uint64_t bytes)
{
	static _Alignas(max_align_t) uint8_t want[CHILD_ANSWER_MAX];
	uint32_t n_all = (uint32_t)(bytes >> UNWIND_PAGE_SHIFT);

	for (uint32_t at_once = PARSER_PAGES_MAX; at_once; at_once = at_once > 1)
		for (uint32_t page = 0; page < n_all;) {
			struct parser_rows_question question = { .kind = PARSER_ASK_ROWS, .file_bytes = bytes };
			const struct parser_rows *head = (const struct parser_rows *)want;
			const struct told *told;
			size_t n;

			while (question.n < at_once && page + question.n < n_all) {
				question.pages[question.n] = page + question.n;
				question.n++;
			}
			n = elf_read_rows(fd, &question, (struct parser_rows *)want, sizeof(want));
			CHECK_INT_EQ("rows", head->result, PARSER_OK);
			told = parser_ask(loop, child, &question, sizeof(question), fd);
			CHECK_INT_EQ("rows", told->r, 0);
			CHECK_INT_EQ("rows", told->n, n);
			CHECK("rows", told->n == n && memcmp(told->answer, want, n) == 0);
			if (!head->n_pages)
				return;
			page += head->n_pages;
		}
}

static void library_check(uv_loop_t *loop, struct child *child, int fd, uint64_t bytes)
{
	const struct parser_question question = { .kind = PARSER_ASK_LIBRARY, .file_bytes = bytes };
	const struct told *told = parser_ask(loop, child, &question, sizeof(question), fd);
	const struct parser_library *library = (const struct parser_library *)told->answer;

	CHECK_INT_EQ("library", told->r, 0);
	CHECK_INT_EQ("library", told->n, sizeof(*library));
	CHECK_INT_EQ("library", library->result, PARSER_OK);
}

/* Each is the first of a fresh process. */
static void invalid_check(uv_loop_t *loop, int fd)
{
	static const struct {
		const char *name;
		uint32_t kind, n_pages;
		size_t n;
		bool has_file;
	} rows[] = {
		{ "no kind", 0, 0, sizeof(struct parser_question), true },
		{ "half a kind", PARSER_ASK_ROWS, 0, 2, true },
		{ "a short question for a library", PARSER_ASK_LIBRARY, 0, sizeof(struct parser_question) - 1, true },
		{ "a long question for a library", PARSER_ASK_LIBRARY, 0, sizeof(struct parser_rows_question), true },
		{ "a short question for rows", PARSER_ASK_ROWS, 1, sizeof(struct parser_question), true },
		{ "too many pages", PARSER_ASK_ROWS, PARSER_PAGES_MAX + 1, sizeof(struct parser_rows_question), true },
		{ "without a file", PARSER_ASK_ROWS, 1, sizeof(struct parser_rows_question), false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct parser_rows_question question = { .kind = rows[i].kind, .n = rows[i].n_pages };
		struct child *child;

		CHECK_INT_EQ(rows[i].name, child_open(loop, "parser", &child), 0);
		CHECK_INT_EQ(rows[i].name, parser_ask(loop, child, &question, rows[i].n, rows[i].has_file ? fd : -1)->r,
			     -EPIPE);
		child_close(child);
	}
}

int main(int argc, char **argv)
{
	CLEANUP(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t bytes = (uint64_t)lseek(fd, 0, SEEK_END);
	struct child *child;
	uv_loop_t loop;

	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		return child_main(argv[2]);
	CHECK_INT_EQ("loop", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("child", child_open(&loop, "parser", &child), 0);
	rows_check(&loop, child, fd, bytes);
	library_check(&loop, child, fd, bytes);
	child_close(child);
	invalid_check(&loop, fd);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	CHECK_INT_EQ("loop", uv_loop_close(&loop), 0);
	return check_result();
}
