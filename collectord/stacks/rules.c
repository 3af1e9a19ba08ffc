// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "stacks"
#include "stacks/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "bpf/stack_record.h"
#include "children/child.h"
#include "children/parser.h"
#include "clock.h"
#include "probes/probe_stacks.h"
#include "stacks/stack_file.h"

#define RULES_LIMIT_NS (5 * NSEC_PER_SEC)
#define PAGE_ID(page) (((uint64_t)(page) + 1) * 0x9e3779b97f4a7c15ull) /* not 0 */
/* Of the tables, for the own files of one user. */
#define OWNER_ROWS_MAX (UNWIND_ROWS / 4)
#define OWNER_SIDES_MAX (UNWIND_SIDES / 4)

struct rules_ask {
	struct stack_file *file;
	rules_told_func told;
	void *data;
};

/* An answer, taken apart. */
struct rules_answer {
	const struct parser_rows *head;
	const struct parser_page *pages;
	const uint32_t *rows;
	const struct unwind_side *sides;
};

void rules_wanted_done(struct rules_wanted *wanted)
{
	ARRAY_DONE(&wanted->pages);
	ARRAY_DONE(&wanted->asked);
	id_map_done(&wanted->known);
}

void rules_table_reset(struct rules_table *table)
{
	table->n_rows = 0;
	table->sides.n = 0;
	table->owners.n = 0;
	table->is_short = false;
}

void rules_table_done(struct rules_table *table)
{
	ARRAY_DONE(&table->sides);
	ARRAY_DONE(&table->owners);
}

/* Place of a page in the table; 0: none. */
static uint32_t page_place(const struct stack_file *file, uint32_t page)
{
	for (size_t i = 0; i < file->segments.n; i++) {
		const struct stack_segment *s = &file->segments.items[i];

		if (page >= s->page && page - s->page < s->n_pages)
			return s->first_page + (page - s->page);
	}
	return 0;
}

uint32_t rules_page(const struct stack_file *file, uint32_t page)
{
	uint32_t place = page_place(file, page);

	return place ? probe_stacks_page(stack_files_probes(file->files), place) : UNWIND_PAGE_UNKNOWN;
}

/* What was wanted of a page is known now. A page may be in several segments: one place each. */
static void page_put(struct stack_file *file, uint32_t page, uint32_t entry)
{
	id_map_remove(&file->rules.known, PAGE_ID(page));
	for (size_t i = 0; i < file->segments.n; i++) {
		const struct stack_segment *s = &file->segments.items[i];

		if (page >= s->page && page - s->page < s->n_pages)
			probe_stacks_page_put(stack_files_probes(file->files), s->first_page + (page - s->page), entry);
	}
}

/* ---- the answer ---- */

static bool rule_is_sound(uint32_t rule, uint32_t n_sides)
{
	uint32_t kind = UNWIND_ESCAPE_KIND(rule);

	if (UNWIND_RULE_SLOT(rule) != UNWIND_SLOT_ESCAPE)
		return true;
	return kind >= UNWIND_STOP && kind <= UNWIND_FRAME_POINTER &&
	       (kind != UNWIND_SIDE || UNWIND_ESCAPE_VALUE(rule) < n_sides);
}

static bool rows_are_sound(const uint32_t *rows, uint32_t n, uint32_t n_sides)
{
	for (uint32_t i = 0; i < n; i++)
		if ((i ? UNWIND_ROW_OFFSET(rows[i]) <= UNWIND_ROW_OFFSET(rows[i - 1])
		       : UNWIND_ROW_OFFSET(rows[i]) != 0) ||
		    !rule_is_sound(UNWIND_ROW_RULE(rows[i]), n_sides))
			return false;
	return true;
}

/* Nothing of the answer is trusted: it is the parser's, whom the file may have taken over. */
static bool rules_answer_read(const struct stack_file *file, const void *bytes, size_t n, struct rules_answer *ret)
{
	const struct parser_rows *head = bytes;
	uint64_t n_rows = 0;

	if (n < sizeof(*head) || head->result != PARSER_OK || head->n_pages > file->rules.asked.n || !head->n_pages ||
	    head->n_rows > UNWIND_ROWS || head->n_sides > UNWIND_SIDES ||
	    n != sizeof(*head) + head->n_pages * sizeof(struct parser_page) +
			    (uint64_t)head->n_rows * sizeof(uint32_t) + head->n_sides * sizeof(struct unwind_side))
		return false;
	ret->head = head;
	ret->pages = (const struct parser_page *)(head + 1);
	ret->rows = (const uint32_t *)(ret->pages + head->n_pages);
	ret->sides = (const struct unwind_side *)(ret->rows + head->n_rows);
	for (uint32_t i = 0; i < head->n_pages; i++) {
		const struct parser_page *page = &ret->pages[i];

		if (page->page != file->rules.asked.items[i] || page->n_rows > UNWIND_PAGE_ROWS_MAX ||
		    page->n_rows > head->n_rows - n_rows ||
		    !rows_are_sound(ret->rows + n_rows, page->n_rows, head->n_sides))
			return false;
		n_rows += page->n_rows;
	}
	return n_rows == head->n_rows;
}

/* ---- the tables ---- */

struct rules_owner *rules_owner_find(struct rules_table *table, uint32_t owner)
{
	const struct rules_owner fresh = { .owner = owner };

	for (size_t i = 0; i < table->owners.n; i++)
		if (table->owners.items[i].owner == owner)
			return &table->owners.items[i];
	return ARRAY_PUSH(&table->owners, fresh) < 0 ? NULL : &table->owners.items[table->owners.n - 1];
}

static bool rows_have_room(struct rules_table *table, const struct stack_file *file, uint32_t n)
{
	struct rules_owner *owner = file->owner ? rules_owner_find(table, file->owner) : NULL;

	if (!table->n_rows)
		table->n_rows = 1;			     /* row 0 is never used */
	if (table->n_rows % UNWIND_BLOCK + n > UNWIND_BLOCK) /* rows of a page are in one block */
		table->n_rows += UNWIND_BLOCK - table->n_rows % UNWIND_BLOCK;
	if (n > UNWIND_ROWS - table->n_rows || (file->owner && !owner) ||
	    (owner && n > OWNER_ROWS_MAX - owner->n_rows)) {
		if (!table->is_full_told)
			(void)log_warning(0, "no room for more rules of unwinding; stacks end at code that is new");
		table->is_full_told = table->is_short = true;
		return false;
	}
	if (owner)
		owner->n_rows += n;
	return true;
}

/* Return: index of the side rule in the table, or -ENOSPC */
static int side_put(struct rules_table *table, const struct stack_file *file, const struct unwind_side *side)
{
	struct rules_owner *owner;

	for (size_t i = 0; i < table->sides.n; i++)
		if (memcmp(&table->sides.items[i], side, sizeof(*side)) == 0)
			return (int)i;
	owner = file->owner ? rules_owner_find(table, file->owner) : NULL;
	if (table->sides.n >= UNWIND_SIDES || (file->owner && (!owner || owner->n_sides >= OWNER_SIDES_MAX))) {
		table->is_short = true;
		return -ENOSPC;
	}
	if (ARRAY_PUSH(&table->sides, *side) < 0)
		return -ENOSPC;
	if (owner)
		owner->n_sides++;
	probe_stacks_side_put(stack_files_probes(file->files), (uint32_t)table->sides.n - 1, side);
	return (int)table->sides.n - 1;
}

static void page_rows_put(struct stack_file *file, const struct rules_answer *answer, const struct parser_page *page,
			  const uint32_t *from)
{
	struct rules_table *table = stack_files_rules(file->files);
	uint32_t rows[UNWIND_PAGE_ROWS_MAX];

	if (!page->n_rows || !rows_have_room(table, file, page->n_rows)) {
		page_put(file, page->page, UNWIND_PAGE_BARE);
		return;
	}
	for (uint32_t i = 0; i < page->n_rows; i++) {
		uint32_t rule = UNWIND_ROW_RULE(from[i]);

		if (UNWIND_RULE_SLOT(rule) == UNWIND_SLOT_ESCAPE && UNWIND_ESCAPE_KIND(rule) == UNWIND_SIDE) {
			int side = side_put(table, file, &answer->sides[UNWIND_ESCAPE_VALUE(rule)]);

			rule = side < 0 ? UNWIND_ESCAPE(UNWIND_LOST, 0) : UNWIND_ESCAPE(UNWIND_SIDE, side);
		}
		rows[i] = UNWIND_ROW(UNWIND_ROW_OFFSET(from[i]), rule);
	}
	probe_stacks_rows_put(stack_files_probes(file->files), table->n_rows, rows, page->n_rows);
	page_put(file, page->page, UNWIND_PAGE_ENTRY(table->n_rows, page->n_rows));
	table->n_rows += page->n_rows;
}

/* Pages beyond those of the answer are asked for again: they did not fit. */
static void rules_answer_put(struct stack_file *file, const struct rules_answer *answer)
{
	const uint32_t *rows = answer->rows;

	for (uint32_t i = 0; i < answer->head->n_pages; i++) {
		page_rows_put(file, answer, &answer->pages[i], rows);
		rows += answer->pages[i].n_rows;
	}
	for (size_t i = answer->head->n_pages; i < file->rules.asked.n; i++)
		if (ARRAY_PUSH(&file->rules.pages, file->rules.asked.items[i]) < 0)
			page_put(file, file->rules.asked.items[i], UNWIND_PAGE_BARE);
	stack_file_asked(file);
}

static void on_rules(int r, const void *bytes, size_t n, void *data)
{
	CLEANUP(freep) struct rules_ask *ask = data;
	struct stack_file *file = ask->file;
	struct rules_answer answer;

	file->rules.is_asking = false;
	if (r == 0 && rules_answer_read(file, bytes, n, &answer)) {
		rules_answer_put(file, &answer);
	} else {
		file->rules.n_failed++;
		for (size_t i = 0; i < file->rules.asked.n; i++)
			page_put(file, file->rules.asked.items[i], UNWIND_PAGE_BARE);
	}
	file->rules.asked.n = 0;
	ask->told(file, ask->data);
	stack_file_unref(file);
}

/* ---- the question ---- */

void rules_want(struct stack_file *file, uint32_t page)
{
	struct rules_wanted *w = &file->rules;

	if (!page_place(file, page) || rules_page(file, page) > UNWIND_PAGE_ASKED ||
	    id_map_find(&w->known, PAGE_ID(page)) || w->pages.n >= RULES_WANTED_MAX)
		return;
	if (id_map_put(&w->known, PAGE_ID(page), file) < 0 || ARRAY_PUSH(&w->pages, page) < 0)
		page_put(file, page, UNWIND_PAGE_BARE);
	stack_file_asked(file);
}

void rules_unwant(struct rules_wanted *w)
{
	for (size_t i = 0; i < w->pages.n; i++)
		id_map_remove(&w->known, PAGE_ID(w->pages.items[i]));
	w->pages.n = 0;
}

static int page_number_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int rules_ask_send(struct stack_file *file, rules_told_func told, void *data)
{
	struct rules_wanted *w = &file->rules;
	struct parser_rows_question question = { .kind = PARSER_ASK_ROWS, .file_bytes = file->n_bytes };
	CLEANUP(freep) struct rules_ask *ask = calloc(1, sizeof(*ask));
	CLEANUP(closep) int fd = stack_file_open(file);
	int r;

	if (!ask)
		return -ENOMEM;
	if (fd < 0)
		return fd;
	*ask = (struct rules_ask){ stack_file_ref(file), told, data };
	question.n = (uint32_t)w->asked.n;
	memcpy(question.pages, w->asked.items, w->asked.n * sizeof(w->asked.items[0]));
	r = child_ask(stack_files_parser(file->files, file->owner), &question, sizeof(question), fd, file->owner,
		      RULES_LIMIT_NS, on_rules, ask);
	if (r < 0) {
		stack_file_unref(file);
		return r;
	}
	(void)TAKE_PTR(ask);
	w->is_asking = true;
	return 0;
}

void rules_pump(struct stack_file *file, rules_told_func told, void *data)
{
	struct rules_wanted *w = &file->rules;
	size_t n = MIN(w->pages.n, (size_t)PARSER_PAGES_MAX);
	int r;

	if (w->is_asking || !n)
		return;
	for (size_t i = 0; i < n; i++)
		if (ARRAY_PUSH(&w->asked, w->pages.items[w->pages.n - 1 - i]) < 0)
			n = i;
	if (!n)
		return;
	qsort(w->asked.items, n, sizeof(w->asked.items[0]), page_number_order);
	r = rules_ask_send(file, told, data);
	if (r == 0) {
		w->pages.n -= n;
		return;
	}
	w->asked.n = 0;
	if (r == -ENOBUFS || r == -ENOMEM) /* sent with the next one, or a second later */
		return;
	for (size_t i = 0; i < w->pages.n; i++)
		page_put(file, w->pages.items[i], UNWIND_PAGE_BARE);
	w->pages.n = 0;
}
