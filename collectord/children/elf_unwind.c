// SPDX-License-Identifier: Apache-2.0
#include "children/elf_unwind.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "children/child_role.h"
#include "children/elf_unwind_entry.h"
#include "children/elf_unwind_page.h"
#include "children/elf_unwind_table.h"

#define PIECES_PER_PAGE 4 /* of several segments; linkers write at most two */
#define EMPTY_MAX 16	  /* functions without code at one address */
#define ROWS_MAX (CHILD_ANSWER_MAX / sizeof(uint32_t) + UNWIND_PAGE_ROWS_MAX)

_Static_assert(sizeof(struct parser_rows) + sizeof(struct parser_page) +
			       UNWIND_PAGE_ROWS_MAX * (sizeof(uint32_t) + sizeof(struct unwind_side)) <=
		       CHILD_ANSWER_MAX,
	       "the largest page fits one message");
_Static_assert(sizeof(struct parser_rows_question) <= CHILD_QUESTION_MAX, "so does the largest question");

/* Code of one page as linked. */
struct rows_piece {
	uint64_t from, to;
	struct unwind_page *page;
	uint32_t at; /* place of `from` in the page */
};

struct rows_job {
	const struct parser_rows_question *question;
	struct parser_rows *answer;
	size_t room; /* bytes of the answer */
	bool is_full;
	bool has_rules; /* an entry was seen, whether it is understood or not */
	struct elf_file *file;
	struct frame_reader reader;
	struct unwind_tables tables;
	struct unwind_page page;   /* one after another, by the table */
	struct unwind_sides sides; /* of what is painted */
	/* Of the answer. */
	uint32_t rows[ROWS_MAX];
	struct unwind_sides answer_sides;
};

/* Pages that are painted at once, by all entries of the file. */
struct rows_many {
	size_t n, n_pieces;
	struct rows_piece pieces[PARSER_PAGES_MAX * PIECES_PER_PAGE]; /* ascending by address */
	struct unwind_page pages[];
};

static void rows_job_freep(struct rows_job **job)
{
	if (*job) {
		frame_reader_done(&(*job)->reader);
		free((*job)->file);
	}
	free(*job);
}

/* ---- code of the pages ---- */

static bool is_code(const Elf64_Phdr *p)
{
	/* If place and address do not agree it cannot be mapped. */
	return p->p_type == PT_LOAD && p->p_flags & PF_X && p->p_filesz &&
	       !((p->p_vaddr - p->p_offset) % UNWIND_PAGE) && p->p_filesz <= UINT64_MAX - p->p_vaddr &&
	       p->p_filesz <= UINT64_MAX - p->p_offset;
}

/* Two segments with the same addresses or the same bytes of the file: then neither says which code it is. */
static bool is_code_ambiguous(const struct elf_file *file)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *p = &file->segments[i];

		for (size_t k = 0; k < i && is_code(p); k++) {
			const Elf64_Phdr *q = &file->segments[k];

			if (!is_code(q))
				continue;
			if (p->p_vaddr < q->p_vaddr + q->p_filesz && q->p_vaddr < p->p_vaddr + p->p_filesz)
				return true;
			if (p->p_offset < q->p_offset + q->p_filesz && q->p_offset < p->p_offset + p->p_filesz)
				return true;
		}
	}
	return false;
}

/* Return: number of pieces; with more than PIECES_PER_PAGE the page is lost, and there are none */
static size_t page_pieces(const struct elf_file *file, struct unwind_page *page, struct rows_piece *pieces)
{
	uint64_t start = (uint64_t)page->page << UNWIND_PAGE_SHIFT;
	size_t n = 0;

	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *p = &file->segments[i];
		uint64_t from, to;

		if (!is_code(p))
			continue;
		from = MAX(start, p->p_offset);
		to = MIN(start + UNWIND_PAGE, p->p_offset + p->p_filesz);
		if (from >= to)
			continue;
		if (n == PIECES_PER_PAGE) {
			unwind_page_lose(page);
			return 0;
		}
		pieces[n++] = (struct rows_piece){
			.from = from - p->p_offset + p->p_vaddr,
			.to = to - p->p_offset + p->p_vaddr,
			.page = page,
			.at = (uint32_t)(from - start),
		};
	}
	return n;
}

/* ---- entries ---- */

struct rows_paint {
	struct rows_job *job;
	const struct rows_piece *piece;
	bool is_signal;
};

static void on_state(uint64_t from, uint64_t to, const struct frame_state *state, void *data)
{
	struct rows_paint *paint = data;
	const struct rows_piece *piece = paint->piece;
	struct unwind_sides *sides = &paint->job->sides;

	if (frame_reader_spend(&paint->job->reader, to - from + sides->n))
		unwind_page_paint(piece->page, piece->at + (uint32_t)(from - piece->from), (uint32_t)(to - from), state,
				  paint->is_signal, sides);
}

static void fde_paint(struct rows_job *job, const struct frame_fde *fde, const struct rows_piece *piece)
{
	struct rows_paint paint = { .job = job, .piece = piece, .is_signal = fde->cie->is_signal };
	uint64_t from = MAX(fde->begin, piece->from), to = MIN(fde->end, piece->to);

	if (from < to && frame_reader_spend(&job->reader, fde->n_program))
		frame_fde_run(fde->cie, fde->begin, fde->end, fde->address, fde->program, fde->n_program, from, to,
			      on_state, &paint);
}

/*
 * Paints an entry of the table. Of several functions at one address lld has only the first in its table, which may be
 * one without code; the entry of the next one usually follows.
 * Return: false: it does not begin at @begin, or cannot be read
 */
static bool entry_paint(struct rows_job *job, const struct rows_piece *piece, uint64_t address, uint64_t begin)
{
	struct frame_region region;

	if (!unwind_region_find(&job->tables, address, &region))
		return false;
	for (size_t i = 0; i < EMPTY_MAX; i++) {
		struct frame_entry entry;
		struct frame_fde fde;

		if (!frame_entry_read(&job->reader, &region, address, &entry) || entry.is_cie || entry.is_terminator ||
		    !frame_fde_read(&job->reader, &region, &entry, &fde) || fde.begin != begin)
			return i > 0;
		fde_paint(job, &fde, piece);
		if (fde.end > fde.begin)
			break;
		address = entry.end;
	}
	return true;
}

/* Return: false: the table is wrong, or the file cannot be read */
static bool piece_paint_by_table(struct rows_job *job, const struct rows_piece *piece)
{
	struct unwind_tables *tables = &job->tables;
	uint64_t i;

	if (!unwind_table_find(tables, piece->from, &i))
		return false;
	for (; i < tables->n; i++) {
		uint64_t begin, address;

		if (!unwind_table_get(tables, i, &begin, &address))
			return false;
		if (begin >= piece->to)
			break;
		if (!entry_paint(job, piece, address, begin))
			return false;
	}
	return job->reader.result == PARSER_OK;
}

/* ---- the answer ---- */

/* The rule with the index of its side in the answer. Return: false: no room */
static bool rule_move(struct rows_job *job, uint32_t *row)
{
	uint32_t rule = UNWIND_ROW_RULE(*row);
	size_t side;

	if (UNWIND_RULE_SLOT(rule) != UNWIND_SLOT_ESCAPE || UNWIND_ESCAPE_KIND(rule) != UNWIND_SIDE)
		return true;
	side = unwind_side_add(&job->answer_sides, &job->sides.items[UNWIND_ESCAPE_VALUE(rule)]);
	*row = UNWIND_ROW(UNWIND_ROW_OFFSET(*row), UNWIND_ESCAPE(UNWIND_SIDE, (uint32_t)side));
	return side < UNWIND_SIDES;
}

/* Return: number of rows, at most UNWIND_PAGE_ROWS_MAX */
static uint32_t page_rows(const struct rows_job *job, struct unwind_page *page, uint32_t *rows)
{
	uint64_t start = (uint64_t)page->page << UNWIND_PAGE_SHIFT;
	uint8_t code[UNWIND_PAGE];
	size_t n_code;
	uint32_t n;

	n_code = start < job->file->bytes ? (size_t)MIN(job->file->bytes - start, (uint64_t)UNWIND_PAGE) : 0;
	if (elf_file_read(job->file, start, code, n_code) != PARSER_OK)
		n_code = 0;
	unwind_page_contexts(page, code, n_code);
	n = unwind_page_rows(page, rows);
	if (n <= UNWIND_PAGE_ROWS_MAX)
		return n;
	/* Of functions with 16 bytes each, as those that call GPU code may be. */
	unwind_page_fill(page, code, n_code);
	return MIN(unwind_page_rows(page, rows), UNWIND_PAGE_ROWS_MAX);
}

/* Appends a page to the answer. Return: false: it does not fit, and neither do those after it */
static bool page_answer(struct rows_job *job, struct unwind_page *page)
{
	struct parser_rows *answer = job->answer;
	struct parser_page *pages = (struct parser_page *)(answer + 1);
	uint32_t *rows = job->rows + answer->n_rows;
	uint32_t n = job->has_rules ? page_rows(job, page, rows) : 0;
	size_t n_sides = job->answer_sides.n, bytes;

	for (uint32_t i = 0; i < n && !job->is_full; i++)
		job->is_full = !rule_move(job, &rows[i]);
	bytes = sizeof(*answer) + (answer->n_pages + 1) * sizeof(*pages) + (answer->n_rows + n) * sizeof(*rows) +
		job->answer_sides.n * sizeof(job->answer_sides.items[0]);
	job->is_full |= bytes > job->room;
	if (job->is_full) {
		job->answer_sides.n = n_sides;
		return false;
	}
	pages[answer->n_pages++] = (struct parser_page){ .page = page->page, .n_rows = n };
	answer->n_rows += n;
	return true;
}

/* Return: bytes */
static size_t answer_finish(const struct rows_job *job)
{
	struct parser_rows *answer = job->answer;
	uint8_t *to = (uint8_t *)((struct parser_page *)(answer + 1) + answer->n_pages);
	size_t n_rows = answer->n_rows * sizeof(job->rows[0]);
	size_t n_sides = job->answer_sides.n * sizeof(job->answer_sides.items[0]);

	answer->n_sides = (uint32_t)job->answer_sides.n;
	memcpy(to, job->rows, n_rows);
	memcpy(to + n_rows, job->answer_sides.items, n_sides);
	return (size_t)(to - (uint8_t *)answer) + n_rows + n_sides;
}

/* ---- pages ---- */

/* Return: false: the table is wrong, or the file cannot be read */
static bool page_paint_by_table(struct rows_job *job, struct unwind_page *page)
{
	struct rows_piece pieces[PIECES_PER_PAGE];
	size_t n = page_pieces(job->file, page, pieces);

	for (size_t i = 0; i < n; i++)
		if (!piece_paint_by_table(job, &pieces[i]))
			return false;
	return true;
}

/*
 * Answers pages up to the first one for which the table has nothing, or which does not fit.
 * Return: false: the table is wrong, and nothing of it is believed; or the file cannot be read
 */
static bool pages_read_by_table(struct rows_job *job)
{
	for (uint32_t i = 0; i < job->question->n; i++) {
		job->sides.n = 0;
		unwind_page_init(&job->page, job->question->pages[i]);
		if (!page_paint_by_table(job, &job->page))
			return false;
		if (!job->page.is_found || !page_answer(job, &job->page))
			break;
	}
	return true;
}

/* Insertion sort: pieces are nearly always in order. */
static void piece_insert(struct rows_many *many, const struct rows_piece *piece)
{
	size_t i = many->n_pieces++;

	for (; i && many->pieces[i - 1].from > piece->from; i--)
		many->pieces[i] = many->pieces[i - 1];
	many->pieces[i] = *piece;
}

/* Collects the code of pages for which nothing was found so far. */
static void pieces_collect(const struct rows_job *job, struct rows_many *many)
{
	many->n_pieces = 0;
	for (size_t i = 0; i < many->n; i++) {
		struct rows_piece pieces[PIECES_PER_PAGE];
		size_t n = many->pages[i].is_found ? 0 : page_pieces(job->file, &many->pages[i], pieces);

		for (size_t k = 0; k < n; k++)
			piece_insert(many, &pieces[k]);
	}
}

/* Reads all entries one after another. */
static void pieces_paint(struct rows_job *job, const struct rows_many *many, const struct frame_region *region)
{
	uint64_t address = region->address;
	struct frame_entry entry;

	job->reader.at_once = FRAME_WINDOW_BYTES;
	for (; frame_entry_read(&job->reader, region, address, &entry); address = entry.end) {
		struct frame_fde fde;
		size_t i;

		if (entry.is_terminator && region->ends_at_terminator)
			return;
		if (entry.is_terminator || entry.is_cie)
			continue;
		job->has_rules = true;
		if (!frame_fde_read(&job->reader, region, &entry, &fde)) {
			if (job->reader.result != PARSER_OK)
				return;
			continue;
		}
		i = SORTED_PLACE(many->n_pieces, k, many->pieces[k].to <= fde.begin);
		for (; i < many->n_pieces && many->pieces[i].from < fde.end; i++)
			fde_paint(job, &fde, &many->pieces[i]);
	}
}

/*
 * Answers the pages that are left, by all entries where the table does not help.
 * Return: false: as pages_read_by_table()
 */
static bool pages_read_by_all(struct rows_job *job, bool has_table)
{
	const struct parser_rows_question *question = job->question;
	uint32_t n_done = job->answer->n_pages;
	CLEANUP(freep) struct rows_many *many = malloc(sizeof(*many) + (question->n - n_done) * sizeof(many->pages[0]));
	struct frame_region regions[2]; /* .eh_frame, and .debug_frame for what it does not describe */

	if (!many) {
		job->reader.result = PARSER_TOO_LARGE;
		return false;
	}
	job->sides.n = 0;
	many->n = question->n - n_done;
	for (size_t i = 0; i < many->n; i++) {
		unwind_page_init(&many->pages[i], question->pages[n_done + i]);
		if (has_table && !page_paint_by_table(job, &many->pages[i]))
			return false;
	}
	unwind_regions_find(&job->tables, &regions[0], &regions[1]);
	for (size_t i = 0; i < ARRAY_SIZE(regions) && job->reader.result == PARSER_OK; i++) {
		pieces_collect(job, many);
		if (many->n_pieces && regions[i].bytes)
			pieces_paint(job, many, &regions[i]);
	}
	for (size_t i = 0; i < many->n && page_answer(job, &many->pages[i]);)
		i++;
	return job->reader.result == PARSER_OK;
}

/* Return: false: as pages_read_by_table() */
static bool pages_read(struct rows_job *job, bool has_table)
{
	*job->answer = (struct parser_rows){ .result = PARSER_OK };
	job->answer_sides.n = 0;
	job->is_full = false;
	job->has_rules = has_table;
	if (has_table && !pages_read_by_table(job))
		return false;
	if (job->is_full || job->answer->n_pages == job->question->n)
		return true;
	return pages_read_by_all(job, has_table);
}

static enum parser_result rows_read(struct rows_job *job)
{
	uint16_t machine;
	enum parser_result r = elf_file_read_header(job->file, &machine);

	if (r == PARSER_OK)
		r = unwind_tables_open(&job->tables, job->file, &job->reader);
	if (r != PARSER_OK)
		return r;
	if (machine != EM_X86_64) {
		job->answer->n_pages = job->question->n;
		for (uint32_t i = 0; i < job->question->n; i++)
			((struct parser_page *)(job->answer + 1))[i] =
				(struct parser_page){ .page = job->question->pages[i] };
		return PARSER_OK;
	}
	if (is_code_ambiguous(job->file))
		return PARSER_DAMAGED;
	if (!pages_read(job, job->tables.n > 0) && job->reader.result == PARSER_OK)
		(void)pages_read(job, /* has_table= */ false);
	if (job->reader.result == PARSER_OK && !job->has_rules && job->tables.is_damaged)
		return PARSER_DAMAGED;
	return job->reader.result;
}

/* Return: NULL without memory */
static struct rows_job *rows_job_new(int fd, const struct parser_rows_question *question, struct parser_rows *answer,
				     size_t room)
{
	CLEANUP(rows_job_freep) struct rows_job *job = malloc(sizeof(*job)); /* it is large, and little of it is used */

	if (!job)
		return NULL;
	job->file = calloc(1, sizeof(*job->file));
	if (!frame_reader_init(&job->reader, job->file) || !job->file)
		return NULL;
	job->file->fd = fd;
	job->file->bytes = MIN(question->file_bytes, (uint64_t)INT64_MAX);
	job->question = question;
	job->answer = answer;
	job->room = MIN(room, (size_t)CHILD_ANSWER_MAX);
	job->answer_sides.n = 0;
	return TAKE_PTR(job);
}

size_t elf_read_rows(int fd, const struct parser_rows_question *question, struct parser_rows *ret_rows, size_t room)
{
	CLEANUP(rows_job_freep) struct rows_job *job = rows_job_new(fd, question, ret_rows, room);

	*ret_rows = (struct parser_rows){ .result = PARSER_TOO_LARGE };
	if (job)
		ret_rows->result = rows_read(job);
	if (ret_rows->result == PARSER_OK)
		return answer_finish(job);
	*ret_rows = (struct parser_rows){ .result = ret_rows->result };
	return sizeof(*ret_rows);
}
