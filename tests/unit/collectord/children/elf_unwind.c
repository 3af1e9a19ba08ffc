// SPDX-License-Identifier: Apache-2.0
/*
 * Rules of unwinding of files made by hand: each way to find the entries of a file, and files that lie or are cut.
 * Real files: readelf_rows.py.
 */
#include "unwind_asking.h"

/* ---- files ---- */

static const uint8_t push_program[] = { ADVANCE + 1, DEF_OFFSET, 16 };
#define ONE "0 gap, 10 sp+8, 11 sp+16, 50 gap"

/* One function. Return: its CIE */
static uint32_t one_add(void)
{
	uint32_t cie = image_cie(&image, NULL, 0, cie_program, sizeof(cie_program));

	image_fde(&image, cie, CODE, 0x40, push_program, sizeof(push_program));
	return cie;
}

/* The ways to find entries: each alone, and none. */
static void ways_check(void)
{
	static const struct {
		const char *name;
		bool is_debug;
		uint32_t flags;
		const char *want;
	} rows[] = {
		{ "table", false, IMAGE_TABLE, ONE },
		{ "table and section", false, IMAGE_TABLE | IMAGE_NAMES, ONE },
		{ "section", false, IMAGE_NAMES, ONE },
		{ "neither", false, 0, "" },
		{ ".debug_frame", true, IMAGE_NAMES | IMAGE_DEBUG, ONE },
		{ ".debug_frame of a program", true, IMAGE_NAMES | IMAGE_DEBUG | IMAGE_FIXED, ONE },
		{ ".debug_frame of Go", true, IMAGE_NAMES | IMAGE_DEBUG | IMAGE_GO, "" },
		{ ".eh_frame of Go", false, IMAGE_NAMES | IMAGE_GO, ONE },
		{ ".debug_frame, compressed", true, IMAGE_NAMES | IMAGE_DEBUG | IMAGE_COMPRESSED, "" },
		{ ".debug_frame without names", true, 0, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		image_start(&image, rows[i].is_debug);
		one_add();
		image_finish(&image, rows[i].flags);
		image_check(rows[i].name, rows[i].want);
	}
}

/* What is loaded elsewhere than at its place in the file. */
static void biases_check(void)
{
	static const uint64_t biases[][2] = {
		{ 0x200000, 0 }, { 0, 0x200000 }, { 0x200000, 0x600000 }, { 0x7fff0000, 0 }
	};

	for (size_t i = 0; i < ARRAY_SIZE(biases); i++)
		for (uint32_t flags = IMAGE_TABLE; flags <= IMAGE_NAMES; flags++) {
			image_start(&image, /* is_debug= */ false);
			image.code_bias = biases[i][0];
			image.data_bias = biases[i][1];
			one_add();
			image_finish(&image, flags);
			image_check("biases", ONE);
		}
}

/* Two segments of code that meet in a page, at addresses far from each other. */
static void segments_check(void)
{
	Elf64_Phdr *code, *other;
	uint32_t cie;

	image_start(&image, /* is_debug= */ false);
	cie = one_add();
	image.code_bias = 0x100000;
	image_fde(&image, cie, IMAGE_CODE + 0x800, 0x10, NULL, 0);
	image.code_bias = 0;
	image_fde(&image, cie, IMAGE_CODE + 0x800, 0x20, push_program, sizeof(push_program)); /* not of this part */
	image_finish(&image, IMAGE_TABLE);
	code = image_segment(&image, 0);
	other = image_segment(&image, 2);
	image_segment(&image, 3)[0] = *other;
	((Elf64_Ehdr *)image.bytes)->e_phnum = 4;
	*other = *code;
	code->p_filesz = 0x700;
	other->p_offset += 0x700;
	other->p_vaddr += 0x700 + 0x100000;
	other->p_filesz -= 0x700;
	image_check("two segments", "0 gap, 10 sp+8, 11 sp+16, 50 gap, 800 sp+8, 810 gap");

	other->p_vaddr -= 0x100000 + 1; /* the loader would not take it */
	image_check("not congruent", ONE);
	other->p_vaddr = code->p_vaddr;
	other->p_offset = code->p_offset + UNWIND_PAGE;
	image_fails("the same addresses", PARSER_DAMAGED);
	other->p_offset = code->p_offset;
	other->p_vaddr = code->p_vaddr + 0x100000;
	image_fails("the same bytes", PARSER_DAMAGED);
	other->p_flags = PF_R;
	image_check("code alone counts", ONE);
}

/* Addresses that the dynamic loader relocates are not in the file. */
static void absolute_check(void)
{
	static const uint8_t head[] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0 };
	static const struct {
		uint32_t flags;
		const char *want;
	} rows[] = {
		{ IMAGE_TABLE, "0 gap" },
		{ IMAGE_TABLE | IMAGE_FIXED, ONE },
		{ IMAGE_NAMES, "0 gap" },
		{ IMAGE_NAMES | IMAGE_FIXED, ONE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t cie;

		image_start(&image, /* is_debug= */ false);
		cie = image_cie(&image, head, sizeof(head), cie_program, sizeof(cie_program));
		image.encoding = 0;
		image_fde(&image, cie, CODE, 0x40, push_program, sizeof(push_program));
		image_finish(&image, rows[i].flags);
		image_check("absolute", rows[i].want);
	}
}

/* Functions that are beside, over, in and before each other. */
static void neighbours_check(void)
{
	static const struct {
		const char *name;
		struct {
			uint32_t at, n;
			bool pushes;
		} entries[3];
		const char *want;
	} rows[] = {
		{ "side by side",
		  { { 0x10, 0x10, true }, { 0x20, 0x10, true } },
		  "0 gap, 10 sp+8, 11 sp+16, 20 sp+8, 21 sp+16, 30 gap" },
		{ "one byte between",
		  { { 0x10, 0x10, false }, { 0x21, 0x10, false } },
		  "0 gap, 10 sp+8, 20 gap, 21 sp+8, 31 gap" },
		{ "not in order",
		  { { 0x40, 0x10, true }, { 0x10, 0x10, false } },
		  "0 gap, 10 sp+8, 20 gap, 40 sp+8, 41 sp+16, 50 gap" },
		{ "in the order that meets",
		  { { 0x20, 0x10, true }, { 0x10, 0x10, true } },
		  "0 gap, 10 sp+8, 11 sp+16, 20 sp+8, 21 sp+16, 30 gap" },
		{ "twice", { { 0x10, 0x10, true }, { 0x10, 0x10, true } }, "0 gap, 10 sp+8, 11 sp+16, 20 gap" },
		{ "twice, differently",
		  { { 0x10, 0x10, true }, { 0x10, 0x10, false } },
		  "0 gap, 10 sp+8, 11 lost, 20 gap" },
		{ "over the end",
		  { { 0x10, 0x10, true }, { 0x1c, 0x10, false } },
		  "0 gap, 10 sp+8, 11 sp+16, 1c lost, 20 sp+8, 2c gap" },
		{ "inside",
		  { { 0x10, 0x20, true }, { 0x18, 8, false } },
		  "0 gap, 10 sp+8, 11 sp+16, 18 lost, 20 sp+16, 30 gap" },
		{ "around",
		  { { 0x18, 8, false }, { 0x10, 0x20, true } },
		  "0 gap, 10 sp+8, 11 sp+16, 18 lost, 20 sp+16, 30 gap" },
		{ "three at once",
		  { { 0x10, 0x20, true }, { 0x18, 0x20, true }, { 0x20, 0x20, false } },
		  "0 gap, 10 sp+8, 11 sp+16, 18 lost, 19 sp+16, 20 lost, 38 sp+8, 40 gap" },
		{ "without code",
		  { { 0x10, 0, true }, { 0x10, 0x10, false }, { 0x20, 0, false } },
		  "0 gap, 10 sp+8, 20 gap" },
		{ "at the start of the page", { { 0, 0x10, true } }, "0 sp+8, 1 sp+16, 10 gap" },
		{ "from the page before", { { (uint32_t)-0x10, 0x20, true } }, "0 sp+16, 10 gap" },
		{ "to the end of the page", { { 0xff0, 0x10, true } }, "0 gap, ff0 sp+8, ff1 sp+16" },
		{ "over several pages", { { (uint32_t)-0x10, 0x3000, true } }, "0 sp+16" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (uint32_t flags = IMAGE_TABLE; flags <= IMAGE_NAMES; flags++) {
			uint32_t cie;

			image_start(&image, /* is_debug= */ false);
			cie = image_cie(&image, NULL, 0, cie_program, sizeof(cie_program));
			for (size_t k = 0; k < 3 && (rows[i].entries[k].at || rows[i].entries[k].n); k++)
				image_fde(&image, cie, IMAGE_CODE + (int32_t)rows[i].entries[k].at,
					  rows[i].entries[k].n, push_program,
					  rows[i].entries[k].pushes ? sizeof(push_program) : 0);
			image_finish(&image, flags);
			/* Code begins a page earlier. */
			image_segment(&image, 0)->p_offset = image_segment(&image, 0)->p_vaddr = 0;
			image_check(rows[i].name, rows[i].want);
		}
}

/* ---- tables that lie ---- */

#define FUNCTIONS 500

static void functions_add(void)
{
	uint32_t cie = image_cie(&image, NULL, 0, cie_program, sizeof(cie_program));

	for (uint32_t i = 0; i < FUNCTIONS; i++)
		image_fde(&image, cie, IMAGE_CODE + i * 0x20, 0x10, push_program, sizeof(push_program));
}

static void table_swap(struct image_table_entry *a, struct image_table_entry *b)
{
	struct image_table_entry c = *a;

	*a = *b;
	*b = c;
}
static void table_reversed(struct image_table_entry *table)
{
	for (size_t i = 0; i < FUNCTIONS / 2; i++)
		table_swap(&table[i], &table[FUNCTIONS - 1 - i]);
}
static void table_shuffled(struct image_table_entry *table)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		table_swap(&table[i], &table[i * 7919 % FUNCTIONS]);
}
static void table_two_swapped(struct image_table_entry *table)
{
	table_swap(&table[3], &table[4]);
}
static void table_begins_early(struct image_table_entry *table)
{
	table[2].begin -= 4;
}
static void table_other_entry(struct image_table_entry *table)
{
	table[2].fde = table[3].fde;
}
static void table_into_entry(struct image_table_entry *table)
{
	table[2].fde += 4;
}
static void table_cie(struct image_table_entry *table)
{
	table[2].fde = IMAGE_FRAMES - IMAGE_HEAD;
}
static void table_outside(struct image_table_entry *table)
{
	table[2].fde = INT32_MAX;
}
static void table_far_away(struct image_table_entry *table)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		table[i].begin += 0x100000;
}
static void table_all_equal(struct image_table_entry *table)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		table[i] = table[0];
}
static void table_of_another_kind(struct image_table_entry *table)
{
	((uint8_t *)table)[-9] = 0x1b;
}
static void table_too_many(struct image_table_entry *table)
{
	((uint32_t *)table)[-1] = UINT32_MAX;
}
static void table_empty(struct image_table_entry *table)
{
	((uint32_t *)table)[-1] = 0;
}

/* However a table is wrong, the rows are those of a reading without it. */
static void liars_check(void)
{
	static void (*const spoils[])(struct image_table_entry *) = {
		table_reversed,	       table_shuffled, table_two_swapped, table_begins_early, table_other_entry,
		table_into_entry,      table_cie,      table_outside,	  table_far_away,     table_all_equal,
		table_of_another_kind, table_too_many, table_empty,
	};
	static char want[2][TEXT_BYTES];

	image_start(&image, /* is_debug= */ false);
	functions_add();
	for (size_t i = 0; i <= ARRAY_SIZE(spoils); i++) {
		struct image_table_entry *table = image_finish(&image, IMAGE_TABLE);
		char name[32];

		(void)snprintf(name, sizeof(name), "liar %zu", i);
		if (i)
			spoils[i - 1](table);
		image_write();
		pages_ask(name, image_fd, sizeof(image.bytes), PAGE_1, 2);
		CHECK_INT_EQ(name, answer.head.n_pages, 2);
		for (uint32_t k = 0; k < 2 && answer.head.n_pages == 2; k++) {
			CHECK_INT_EQ(name, answer_pages()[k].n_rows, 3 * UNWIND_PAGE / 0x20);
			if (!i)
				memcpy(want[k], page_text(k), TEXT_BYTES);
			CHECK_STR_EQ(name, page_text(k), want[k]);
		}
	}
}

/* A table as lld writes it, with one entry for each address: that of a function without code. */
static void table_of_lld_check(void)
{
	struct image_table_entry *table;
	uint32_t cie;

	image_start(&image, /* is_debug= */ false);
	cie = image_cie(&image, NULL, 0, cie_program, sizeof(cie_program));
	image_fde(&image, cie, CODE, 0, NULL, 0);
	image_fde(&image, cie, CODE, 0, NULL, 0);
	image_fde(&image, cie, CODE, 0x40, push_program, sizeof(push_program));
	image_fde(&image, cie, CODE + 0x60, 0, NULL, 0);
	image_fde(&image, cie, CODE + 0x80, 0x10, NULL, 0);
	table = image_finish(&image, IMAGE_TABLE);
	table[1] = table[3];
	table[2] = table[4];
	((uint32_t *)table)[-1] = 3;
	image_check("lld", "0 gap, 10 sp+8, 11 sp+16, 50 gap, 90 sp+8, a0 gap");
}

/* A missing table, which the file says that it has, is no reason to try frame pointers. */
static void heads_of_tables_check(void)
{
	image_start(&image, /* is_debug= */ false);
	one_add();
	image_finish(&image, IMAGE_TABLE);
	image.bytes[IMAGE_HEAD] = 2;
	image_fails("another version", PARSER_DAMAGED);
	image_finish(&image, IMAGE_TABLE | IMAGE_NAMES);
	image.bytes[IMAGE_HEAD] = 2;
	image_check("another version, with sections", ONE);
	image_finish(&image, IMAGE_TABLE);
	image_segment(&image, 2)->p_vaddr = 1ull << 40;
	image_fails("outside", PARSER_DAMAGED);
	image_finish(&image, IMAGE_TABLE);
	image.bytes[IMAGE_HEAD + 1] = 0xff;
	image_fails("without .eh_frame", PARSER_DAMAGED);
}

/* ---- .debug_frame beside ---- */

/* Where .eh_frame has nothing for a page, .debug_frame may; of removed functions it says address 0. */
static void debug_beside_check(void)
{
	static const uint8_t debug_cie[] = { 14, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 3, 0, 1, 0x78, 16, USUAL };
	const uint64_t begins[] = { 0, CODE + 0x20, CODE + UNWIND_PAGE };
	Elf64_Shdr *sections = (Elf64_Shdr *)(image.bytes + IMAGE_SECTIONS);
	uint32_t start;

	image_start(&image, /* is_debug= */ false);
	one_add();
	start = image.at;
	image_put(&image, debug_cie, sizeof(debug_cie));
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		const uint32_t head[] = { 4 + 8 + 8 + sizeof(push_program), 0 };
		const uint64_t range[] = { begins[i], i ? 0x20 : UNWIND_PAGE * 3 };

		image_put(&image, head, sizeof(head));
		image_put(&image, range, sizeof(range));
		image_put(&image, push_program, sizeof(push_program));
	}
	image_finish(&image, IMAGE_NAMES | IMAGE_TABLE);
	sections[3] = sections[2];
	sections[2].sh_size = start - IMAGE_FRAMES;
	sections[3].sh_name += 10; /* ".debug_frame" follows in the names */
	sections[3].sh_offset = start;
	sections[3].sh_size = image.at - start;
	image_write();
	pages_ask("beside", image_fd, sizeof(image.bytes), PAGE_1, 3);
	CHECK_INT_EQ("beside", answer.head.n_pages, 3);
	if (answer.head.n_pages != 3)
		return;
	CHECK_STR_EQ("beside", page_text(0), ONE);
	CHECK_STR_EQ("beside", page_text(1), "0 gap, 10 sp+8, 11 sp+16, 30 gap");
	CHECK_STR_EQ("beside", page_text(2), "0 gap");
}

/* ---- many ---- */

/* More rows than a page may have: padding goes first, then the end of the page is lost. */
static void full_page_check(void)
{
	static const uint8_t program[] = { ADVANCE + 1, DEF_OFFSET,  16,	 ADVANCE + 1, DEF_OFFSET,
					   24,		ADVANCE + 1, DEF_OFFSET, 32 };
	static const uint8_t nops[][6] = {
		{ 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc }, { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 },
		{ 0x66, 0x0f, 0x1f, 0x44, 0, 0 },	{ 0x66, 0x90, 0x0f, 0x1f, 0x40, 0 },
		{ 0x0f, 0x1f, 0, 0x0f, 0x1f, 0 },	{ 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0 },
	};
	uint32_t cie;

	for (uint32_t i = 0; i < 3; i++) {
		size_t n_rows;

		image_start(&image, /* is_debug= */ false);
		cie = image_cie(&image, NULL, 0, cie_program, sizeof(cie_program));
		for (uint32_t at = 0; at < UNWIND_PAGE; at += 16) {
			image_fde(&image, cie, IMAGE_CODE + at, 10, program, sizeof(program));
			memcpy(image.bytes + IMAGE_CODE + at + 10, nops[at / 16 % ARRAY_SIZE(nops)], 6);
		}
		if (i == 1) /* no nop */
			image.bytes[IMAGE_CODE + 15] = 0xe8;
		if (i == 2)
			for (uint32_t at = 0; at < UNWIND_PAGE; at += 16)
				image.bytes[IMAGE_CODE + at + 10] = 0xe8;
		image_finish(&image, IMAGE_TABLE);
		image_write();
		pages_ask("full", image_fd, sizeof(image.bytes), PAGE_1, 1);
		n_rows = answer.head.n_rows;
		CHECK_INT_EQ("full", n_rows, UNWIND_PAGE_ROWS_MAX);
		if (n_rows != UNWIND_PAGE_ROWS_MAX)
			continue;
		CHECK_INT_EQ("full", UNWIND_ROW_RULE(answer_rows()[n_rows - 1]), UNWIND_ESCAPE(UNWIND_LOST, 0));
		CHECK_INT_EQ("full", UNWIND_ROW_OFFSET(answer_rows()[n_rows - 1]),
			     i == 0   ? 0xff2
			     : i == 1 ? 0xff1
				      : (1022 / 5) * 16 + 1022 % 5);
	}
}

/*
 * The function that makecontext(3) lets a context return to: the byte before it, which is where unwinding looks, ends the
 * stack. It is known by its code, an entry that begins there, and that nothing but padding is before.
 */
static void contexts_check(void)
{
	static const uint8_t starts[] = { 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24 };
	static const uint8_t marked[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24 };
	static const uint8_t others[] = { 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x25 };
	static const uint8_t nops[] = { 0x66, 0x0f, 0x1f, 0x44, 0, 0 }, nop[] = { 0x90 }, calls[] = { 0xe8, 0, 0, 0, 0 };
	static const struct {
		const char *name;
		const uint8_t *code, *before;
		uint32_t n_code, n_before, at, begin; /* of the code, and of its entry */
		const char *want;
	} rows[] = {
		{ "context", starts, nops, sizeof(starts), 6, 0x20, 0x20, "0 gap, 10 sp+8, 1a gap, 1f stop, 20 sp+8, 2b gap" },
		{ "context, marked", marked, nops, sizeof(marked), 6, 0x20, 0x20,
		  "0 gap, 10 sp+8, 1a gap, 1f stop, 20 sp+8, 2b gap" },
		{ "context, one byte", starts, nop, sizeof(starts), 1, 0x1b, 0x1b, "0 gap, 10 sp+8, 1a stop, 1b sp+8, 26 gap" },
		{ "context, none", others, nops, sizeof(others), 6, 0x20, 0x20, "0 gap, 10 sp+8, 1a gap, 20 sp+8, 2b gap" },
		{ "context, other entry", starts, nops, sizeof(starts), 6, 0x20, 0x21,
		  "0 gap, 10 sp+8, 1a gap, 21 sp+8, 2c gap" },
		{ "context, a call before", starts, calls, sizeof(starts), 5, 0x1f, 0x1f,
		  "0 gap, 10 sp+8, 1a gap, 1f sp+8, 2a gap" },
		{ "context, a function before", starts, nop, sizeof(starts), 0, 0x1a, 0x1a, "0 gap, 10 sp+8, 25 gap" },
		{ "context, cut", starts, nops, sizeof(starts) - 1, 6, UNWIND_PAGE - 6, UNWIND_PAGE - 6,
		  "0 gap, 10 sp+8, 1a gap, ffa sp+8" },
	};
	uint32_t cie;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t *page;

		image_start(&image, /* is_debug= */ false);
		page = image.bytes + IMAGE_CODE;
		cie = image_cie(&image, NULL, 0, cie_program, sizeof(cie_program));
		image_fde(&image, cie, CODE, 10, NULL, 0);
		image_fde(&image, cie, IMAGE_CODE + rows[i].begin, 11, NULL, 0);
		memcpy(page + rows[i].at, rows[i].code, rows[i].n_code);
		memcpy(page + rows[i].at - rows[i].n_before, rows[i].before, rows[i].n_before);
		image_finish(&image, IMAGE_TABLE);
		image_check(rows[i].name, rows[i].want);
	}
}

/* Sides have the index of their own answer, and each form is there once. */
static void sides_check(void)
{
	static const uint8_t programs_of[][4] = { { DEF_OFFSET, 12 }, { DEF_OFFSET, 20 }, { DEF_OFFSET, 12 } };
	uint32_t cie;

	image_start(&image, /* is_debug= */ false);
	cie = image_cie(&image, NULL, 0, cie_program, sizeof(cie_program));
	for (uint32_t i = 0; i < 3; i++)
		image_fde(&image, cie, CODE + i * UNWIND_PAGE, 0x10, programs_of[i], 4);
	image_finish(&image, IMAGE_TABLE);
	image_write();
	pages_ask("sides", image_fd, sizeof(image.bytes), PAGE_1, 3);
	CHECK_INT_EQ("sides", answer.head.n_sides, 2);
	for (uint32_t i = 0; i < 3 && answer.head.n_pages == 3; i++)
		CHECK_STR_EQ("sides", page_text(i), i == 1 ? "0 gap, 10 sp+20, 20 gap" : "0 gap, 10 sp+12, 20 gap");
	pages_ask("sides", image_fd, sizeof(image.bytes), PAGE_1 + 1, 1);
	CHECK_INT_EQ("sides", answer.head.n_sides, 1);
	CHECK_STR_EQ("sides", page_text(0), "0 gap, 10 sp+20, 20 gap");
}

/* As many pages as fit into an answer: of these three, each with 1000 rules that do not fit in a row. */
static void wide_pages_check(void)
{
	static uint8_t program[4 * 1000];
	uint32_t cie;

	image_start(&image, /* is_debug= */ false);
	cie = image_cie(&image, NULL, 0, cie_program, sizeof(cie_program));
	for (uint32_t i = 0; i < 5; i++) {
		for (uint32_t k = 0; k < 1000; k++) {
			uint32_t offset = (i * 1000 + k) * 2 + 1;
			const uint8_t row[] = { DEF_OFFSET, (uint8_t)(offset | 0x80), (uint8_t)(offset >> 7),
						ADVANCE + 1 };

			memcpy(program + k * sizeof(row), row, sizeof(row));
		}
		image_fde(&image, cie, CODE + i * UNWIND_PAGE, 1000, program, sizeof(program));
	}
	image_finish(&image, IMAGE_TABLE);
	image_write();
	for (uint32_t i = 0; i < 5; i += 3) {
		pages_ask("wide", image_fd, sizeof(image.bytes), PAGE_1 + i, 5 - i);
		CHECK_INT_EQ("wide", answer.head.n_pages, i ? 2 : 3);
		for (uint32_t k = 0; k < answer.head.n_pages; k++) {
			char want[64];

			(void)snprintf(want, sizeof(want), "0 gap, 10 sp+%u, 11 sp+%u", (i + k) * 2000 + 1,
				       (i + k) * 2000 + 3);
			CHECK_INT_EQ("wide", answer_pages()[k].n_rows, 1002);
			CHECK("wide", strncmp(page_text(k), want, strlen(want)) == 0);
		}
	}
}

/* Pages of a real file, the same as each alone; and a page outside the file. */
static void many_pages_check(const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t bytes = fd < 0 ? 0 : (uint64_t)lseek(fd, 0, SEEK_END);
	uint32_t n = (uint32_t)(bytes >> UNWIND_PAGE_SHIFT);
	static char want[PARSER_PAGES_MAX][TEXT_BYTES];

	for (uint32_t page = 0, n_pages; page < n; page += n_pages) {
		uint32_t n_asked = MIN(n - page, (uint32_t)PARSER_PAGES_MAX);

		pages_ask(path, fd, bytes, page, n_asked);
		CHECK_INT_EQ(path, answer.head.result, PARSER_OK);
		n_pages = answer.head.n_pages;
		if (!n_pages)
			return;
		for (uint32_t i = 0; i < n_pages; i++)
			memcpy(want[i], page_text(i), TEXT_BYTES);
		for (uint32_t i = 0; i < n_pages; i++) {
			pages_ask(path, fd, bytes, page + i, 1);
			CHECK_STR_EQ(path, page_text(0), want[i]);
		}
	}
	pages_ask(path, fd, bytes, UINT32_MAX, 1);
	CHECK_STR_EQ(path, page_text(0), "0 gap");
	pages_ask(path, fd, bytes, 0, 0);
	CHECK_INT_EQ(path, answer.head.n_pages, 0);
}

/* ---- damage ---- */

/* A file cut at any place, and whole again while it is read. */
static void cut_files_check(uint32_t flags)
{
	image_start(&image, (flags & IMAGE_DEBUG) != 0);
	functions_add();
	image_finish(&image, flags);
	image_write();
	for (size_t n = sizeof(image.bytes); n; n -= 64) {
		char name[32];

		(void)snprintf(name, sizeof(name), "cut at %zu", n - 64);
		if (ftruncate(image_fd, (off_t)(n - 64)) < 0)
			abort();
		pages_ask(name, image_fd, n - 64, PAGE_1, 2);
		pages_ask(name, image_fd, sizeof(image.bytes), PAGE_1, 2);
	}
	image_write();
	pages_ask("whole", image_fd, sizeof(image.bytes), PAGE_1, 2);
	CHECK_INT_EQ("whole", answer.head.n_rows, 2 * 3 * UNWIND_PAGE / 0x20);
}

/* Every byte that is read, set to what breaks most. */
static void spoiled_bytes_check(uint32_t flags)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	static const uint8_t program[IMAGE_PROGRAM_BYTES] = { FRAME_POINTER };
	const struct {
		uint32_t from, to;
	} parts[] = { { 0, 256 },
		      { IMAGE_HEAD, IMAGE_HEAD + 64 },
		      { IMAGE_FRAMES, 0 },
		      { IMAGE_SECTIONS, IMAGE_SECTIONS + 320 } };

	image_start(&image, (flags & IMAGE_DEBUG) != 0);
	one_add();
	image_fde(&image, IMAGE_FRAMES, CODE + 0x80, 0x100, program, sizeof(program));
	image_finish(&image, flags);
	image_write();
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (uint32_t at = parts[i].from, to = parts[i].to ? parts[i].to : image.at; at < to; at++) {
			char name[32];

			(void)snprintf(name, sizeof(name), "byte %x", at);
			for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
				if (pwrite(image_fd, &values[k], 1, at) != 1)
					abort();
				pages_ask(name, image_fd, sizeof(image.bytes), PAGE_1, 2);
			}
			if (pwrite(image_fd, &image.bytes[at], 1, at) != 1)
				abort();
		}
}

/* Work has a cap: entries that lead to each other's programs, and a file of nothing but entries. */
static void endless_check(void)
{
	static uint8_t zeros[1u << 20];
	CLEANUP(closep) int fd = memfd_create("endless", MFD_CLOEXEC);
	const uint64_t bytes = 1ull << 30;
	Elf64_Shdr *sections = (Elf64_Shdr *)(image.bytes + IMAGE_SECTIONS);

	image_start(&image, /* is_debug= */ false);
	one_add();
	image_finish(&image, IMAGE_NAMES);
	sections[2].sh_size = bytes - IMAGE_FRAMES;
	if (ftruncate(fd, (off_t)bytes) < 0 || pwrite(fd, image.bytes, sizeof(image.bytes), 0) < 0 ||
	    pwrite(fd, zeros, sizeof(zeros), IMAGE_BYTES) < 0)
		abort();
	pages_ask("endless", fd, bytes, PAGE_1, 1);
	CHECK_INT_EQ("endless", answer.head.result, PARSER_TOO_LARGE);
}

static void unwind_descriptors_check(void)
{
	CLEANUP(closep) int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(closep) int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	pages_ask("directory", directory, 4096, 1, 1);
	CHECK_INT_EQ("directory", answer.head.result, PARSER_UNREADABLE);
	pages_ask("device", zero, UINT64_MAX, 1, 1);
	CHECK_INT_EQ("device", answer.head.result, PARSER_NOT_ELF);
	pages_ask("none", -1, 4096, 1, 1);
	CHECK_INT_EQ("none", answer.head.result, PARSER_UNREADABLE);
	pages_ask("empty", zero, 0, 1, 1);
	CHECK_INT_EQ("empty", answer.head.result, PARSER_NOT_ELF);
}

/* On arm64 code keeps frame pointers: no file has rules. */
static void frame_pointers_check(void)
{
	image_start(&image, /* is_debug= */ false);
	one_add();
	image_finish(&image, IMAGE_TABLE);
	image_check("frame pointers", "");
}

int main(void)
{
#ifdef __x86_64__
	const bool has_rules = true;
#else
	const bool has_rules = false;
#endif

	image_fd = memfd_create("image", MFD_CLOEXEC);
	unwind_descriptors_check();
	if (!has_rules) {
		frame_pointers_check();
		return check_result();
	}
	ways_check();
	biases_check();
	segments_check();
	absolute_check();
	neighbours_check();
	liars_check();
	table_of_lld_check();
	heads_of_tables_check();
	debug_beside_check();
	full_page_check();
	contexts_check();
	sides_check();
	wide_pages_check();
	many_pages_check("/proc/self/exe");
	many_pages_check("/usr/bin/python3");
	endless_check();
	for (uint32_t i = 0; i < 3; i++) {
		static const uint32_t flags[] = { IMAGE_TABLE, IMAGE_NAMES, IMAGE_NAMES | IMAGE_DEBUG };

		cut_files_check(flags[i]);
		spoiled_bytes_check(flags[i]);
	}
	return check_result();
}
