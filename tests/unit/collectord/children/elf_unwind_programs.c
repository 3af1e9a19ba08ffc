// SPDX-License-Identifier: Apache-2.0
/* Programs of call frame information, and the common entries that begin them: each against its rules as text. */
#include "unwind_asking.h"

/* ---- programs ---- */

/*
 * Of a function of 0x40 bytes at 0x10 in its page; what follows is DW_CFA_nop. `want`: rows between the two that say
 * 'gap'.
 */
static const struct {
	const char *name;
	uint8_t program[IMAGE_PROGRAM_BYTES];
	const char *want;
} programs[] = {
	{ "no instructions", { 0 }, "10 sp+8" },
	{ "a frame pointer", { FRAME_POINTER }, "10 sp+8, 11 sp+16 bp@16, 14 bp+16 bp@16, 34 sp+8 bp@16" },
	{ "registers that are not followed",
	  { ADVANCE + 2, DEF_OFFSET, 24, OFFSET + RBX, 3, OFFSET + 12, 2 },
	  "10 sp+8, 12 sp+24" },
	{ "equal neighbours", { ADVANCE + 2, OFFSET + RBX, 3, ADVANCE + 2, DEF_OFFSET, 16 }, "10 sp+8, 14 sp+16" },
	{ "one byte apart", { ADVANCE + 1, DEF_OFFSET, 16, ADVANCE + 1, DEF_OFFSET, 8 }, "10 sp+8, 11 sp+16, 12 sp+8" },
	{ "no advance between", { ADVANCE + 1, DEF_OFFSET, 16, ADVANCE, DEF_OFFSET, 24 }, "10 sp+8, 11 sp+24" },
	{ "at the start", { DEF_OFFSET, 32 }, "10 sp+32" },
	{ "long advances",
	  { ADVANCE1, 4, DEF_OFFSET, 16, ADVANCE2, 4, 0, DEF_OFFSET, 24, ADVANCE4, 4, 0, 0, 0, DEF_OFFSET, 32 },
	  "10 sp+8, 14 sp+16, 18 sp+24, 1c sp+32" },
	{ "up to the end", { ADVANCE + 0x3f, DEF_OFFSET, 16 }, "10 sp+8, 4f sp+16" },
	{ "to the end", { ADVANCE + 0x3f, ADVANCE + 1, DEF_OFFSET, 16 }, "10 sp+8" },
	{ "beyond the end", { ADVANCE4, 0, 0, 1, 0, DEF_OFFSET, 16, ADVANCE + 1, DEF_OFFSET, 24 }, "10 sp+8" },
	{ "remembered",
	  { ADVANCE + 1, DEF_OFFSET, 16, OFFSET + BP, 2, REMEMBER, ADVANCE + 1, DEF_OFFSET, 8, RESTORE + BP,
	    ADVANCE + 1, RESTORE_STATE },
	  "10 sp+8, 11 sp+16 bp@16, 12 sp+8, 13 sp+16 bp@16" },
	{ "remembered twice",
	  { REMEMBER, DEF_OFFSET, 16, REMEMBER, DEF_OFFSET, 24, ADVANCE + 1, RESTORE_STATE, ADVANCE + 1,
	    RESTORE_STATE },
	  "10 sp+24, 11 sp+16, 12 sp+8" },
	{ "restored without being remembered", { ADVANCE + 1, RESTORE_STATE, DEF_OFFSET, 16 }, "10 sp+8, 11 lost" },
	{ "remembered too often",
	  { ADVANCE + 1, REMEMBER, REMEMBER, REMEMBER, REMEMBER, REMEMBER, REMEMBER, REMEMBER, REMEMBER, REMEMBER,
	    REMEMBER, REMEMBER, REMEMBER, REMEMBER, REMEMBER, REMEMBER, REMEMBER, REMEMBER },
	  "10 sp+8, 11 lost" },
	{ "offsets in long form",
	  { OFFSET_EXT, BP, 2, ADVANCE + 1, OFFSET_EXT_SF, BP, 3, ADVANCE + 1, OFFSET_EXT_SF, BP, MINUS(3), ADVANCE + 1,
	    NEGATIVE_OFFSET_EXT, BP, 4 },
	  "10 sp+8 bp@16, 11 sp+8 bp@24, 12 sp+8 bp@-24, 13 sp+8 bp@-32" },
	{ "factored",
	  { DEF_SF, SP, MINUS(3), ADVANCE + 1, DEF_OFFSET_SF, MINUS(5), ADVANCE + 1, DEF_SF, BP, MINUS(2) },
	  "10 sp+24, 11 sp+40, 12 bp+16" },
	{ "large",
	  { DEF_OFFSET, 0xf8, 0xff, 0x1f, ADVANCE + 1, DEF_OFFSET, 0x80, 0x80, 0x20 },
	  "10 sp+524280, 11 sp+524288" },
	{ "odd", { DEF_OFFSET, 12, ADVANCE + 1, DEF_OFFSET, 0 }, "10 sp+12, 11 sp+0" },
	{ "negative", { DEF_OFFSET_SF, 2 }, "10 sp-16" },
	{ "too large for all", { DEF_OFFSET, 0x80, 0x80, 0x80, 0x80, 0x08 }, "10 lost" },
	{ "the farthest place in a row",
	  { OFFSET + BP, 7, ADVANCE + 1, OFFSET + BP, 8 },
	  "10 sp+8 bp@56, 11 sp+8 bp@64" },
	{ "where the return address is", { OFFSET + BP, 1, ADVANCE + 1, OFFSET + BP, 0 }, "10 lost" },
	{ "another base",
	  { ADVANCE + 1, DEF, R10, 0, ADVANCE + 1, DEF_REGISTER, SP, DEF_OFFSET, 16 },
	  "10 sp+8, 11 lost, 12 sp+16" },
	{ "the outermost frame",
	  { ADVANCE + 1, UNDEFINED, RA, ADVANCE + 1, RESTORE + RA },
	  "10 sp+8, 11 stop, 12 sp+8" },
	{ "a return address elsewhere",
	  { OFFSET + RA, 2, ADVANCE + 1, IN_REGISTER, RA, 5, ADVANCE + 1, SAME, RA, ADVANCE + 1, OFFSET + RA, 1 },
	  "10 lost, 13 sp+8" },
	{ "a stack pointer of its own",
	  { OFFSET + SP, 2, ADVANCE + 1, SAME, SP, ADVANCE + 1, RESTORE + SP },
	  "10 lost, 12 sp+8" },
	{ "a frame pointer that is unchanged", { OFFSET + BP, 2, ADVANCE + 1, SAME, BP }, "10 sp+8 bp@16, 11 sp+8" },
	{ "a frame pointer that is gone",
	  { UNDEFINED, BP,	    ADVANCE + 1,   IN_REGISTER, BP,	  9,	       ADVANCE + 1,    VAL_OFFSET, BP,
	    2,	       ADVANCE + 1, VAL_OFFSET_SF, BP,		MINUS(2), ADVANCE + 1, VAL_EXPRESSION, BP,	   2,
	    BREG + SP, 16,	    ADVANCE + 1,   RESTORE + BP },
	  "10 lost, 15 sp+8" },
	{ "size of arguments", { ADVANCE + 1, ARGS_SIZE, 0x80, 1, DEF_OFFSET, 16 }, "10 sp+8, 11 sp+16" },
	{ "an unknown instruction",
	  { ADVANCE + 1, DEF_OFFSET, 16, ADVANCE + 1, 0x2d, ADVANCE + 1, DEF_OFFSET, 8 },
	  "10 sp+8, 11 sp+16, 12 lost" },
	{ "a number of more than 64 bits",
	  { ADVANCE + 1, DEF_OFFSET, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, DEF_OFFSET, 16 },
	  "10 sp+8, 11 lost" },
	{ "a number in too many bytes", { DEF_OFFSET, 0x90, 0x80, 0x80, 0 }, "10 sp+16" },

	{ "procedure linkage",
	  { DEF_OFFSET, 16, ADVANCE + 6, DEF_OFFSET, 24, ADVANCE + 10, PLT(11) },
	  "10 sp+16, 16 sp+24, 20 plt" },
	{ "procedure linkage of another form", { ADVANCE + 0x20, PLT(9) }, "10 sp+8, 39 sp+16, 40 sp+8, 49 sp+16" },
	{ "procedure linkage from nowhere", { PLT(-1) }, "10 lost" },
	{ "procedure linkage that saves", { OFFSET + BP, 2, PLT(11) }, "10 lost" },
	{ "aligned stack",
	  { ADVANCE + 5, DEF,	    R10,	 0,	ADVANCE + 12, EXPRESSION,
	    BP,		 2,	    BREG + BP,	 0,	ADVANCE + 4,  DEF_EXPRESSION,
	    3,		 BREG + BP, MINUS(40),	 DEREF, ADVANCE + 4,  DEF,
	    R10,	 0,	    ADVANCE + 4, DEF,	SP,	      8 },
	  "10 sp+8, 15 lost, 25 *(bp-40)+0 bp@bp+0, 29 lost" },
	{ "saved stack pointer",
	  { OFFSET + BP, 2, DEF_EXPRESSION, 5, BREG + SP, 40, DEREF, PLUS_UCONST, 8 },
	  "10 *(sp+40)+8 bp@16" },
	{ "saved relative to the base",
	  { EXPRESSION, BP, 2, BREG + SP, 0, DEF_OFFSET, 40, ADVANCE + 1, DEF, BP, 24, ADVANCE + 1, EXPRESSION, BP, 2,
	    BREG + BP, MINUS(8) },
	  "10 sp+40 bp@40, 11 lost, 12 bp+24 bp@32" },
	{ "saved relative to the other register",
	  { EXPRESSION, BP, 2, BREG + BP, 0, ADVANCE + 1, DEF_EXPRESSION, 3, BREG + SP, 8, DEREF },
	  "10 lost" },
	{ "an expression without dereference", { DEF_EXPRESSION, 2, BREG + SP, 24 }, "10 sp+24" },
	{ "expressions that are not understood",
	  { DEF_EXPRESSION,
	    2,
	    BREG + R10,
	    0,
	    ADVANCE + 1,
	    DEF_EXPRESSION,
	    4,
	    BREG + SP,
	    0,
	    DEREF,
	    DEREF,
	    ADVANCE + 1,
	    DEF_EXPRESSION,
	    0,
	    ADVANCE + 1,
	    DEF,
	    SP,
	    8,
	    EXPRESSION,
	    BP,
	    3,
	    BREG + BP,
	    0,
	    DEREF,
	    ADVANCE + 1,
	    EXPRESSION,
	    BP,
	    0,
	    ADVANCE + 1,
	    RESTORE + BP },
	  "10 lost, 15 sp+8" },
	{ "expressions with something else",
	  { DEF_EXPRESSION,
	    3,
	    BREG + SP,
	    8,
	    PLUS,
	    ADVANCE + 1,
	    DEF_EXPRESSION,
	    6,
	    BREG + SP,
	    8,
	    DEREF,
	    PLUS_UCONST,
	    8,
	    DEREF,
	    ADVANCE + 1,
	    DEF,
	    SP,
	    16,
	    EXPRESSION,
	    BP,
	    3,
	    BREG + SP,
	    0,
	    DEREF },
	  "10 lost" },
	{ "a register in place of an expression",
	  { DEF_EXPRESSION, 3, BREG + SP, 8, DEREF, ADVANCE + 1, DEF_REGISTER, BP, ADVANCE + 1, DEF_OFFSET, 16,
	    ADVANCE + 1, DEF, SP, 8 },
	  "10 *(sp+8)+0, 11 bp+8, 12 bp+16, 13 sp+8" },
	{ "an offset in place of an expression",
	  { DEF_EXPRESSION, 3, BREG + SP, 8, DEREF, ADVANCE + 1, DEF_OFFSET, 24, ADVANCE + 1, DEF_REGISTER, SP },
	  "10 *(sp+8)+0, 12 sp+24" },
};

/* Programs that end after n bytes. */
static const struct {
	const char *name;
	uint8_t n, program[8];
	const char *want;
} cut_programs[] = {
	{ "a cut instruction", 2, { ADVANCE + 1, DEF_OFFSET }, "10 sp+8, 11 lost" },
	{ "a cut advance", 3, { ADVANCE + 1, ADVANCE2, 1 }, "10 sp+8, 11 lost" },
	{ "a cut expression", 6, { ADVANCE + 1, DEF_EXPRESSION, 9, BREG + SP, 8, DEREF }, "10 sp+8, 11 lost" },
};

/* Programs of the CIE and of the FDE. */
static const struct {
	const char *name;
	uint8_t cie[16], program[8];
	const char *want;
} begun_programs[] = {
	{ "restored as in the CIE",
	  { DEF, SP, 32, OFFSET + RA, 1, OFFSET + BP, 2 },
	  { OFFSET + BP, 3, ADVANCE + 1, RESTORE_EXT, BP },
	  "10 sp+32 bp@24, 11 sp+32 bp@16" },
	{ "nothing defined", { NOP, NOP, REMEMBER }, { ADVANCE + 1, USUAL }, "10 lost, 11 sp+8" },
	{ "a register without an offset",
	  { OFFSET + RA, 1 },
	  { DEF_REGISTER, SP, ADVANCE + 1, DEF, SP, 8 },
	  "10 lost" },
	{ "a CIE that advances", { USUAL, ADVANCE + 1 }, { DEF, SP, 8 }, "10 lost" },
	{ "a CIE that restores", { USUAL, RESTORE + BP }, { DEF, SP, 8 }, "10 lost" },
};

static void program_check(const char *name, const uint8_t *begun, size_t n_begun, const uint8_t *program, size_t n,
			  const char *want)
{
	char rows[256];
	uint32_t cie;

	image_start(&image, /* is_debug= */ false);
	cie = image_cie(&image, NULL, 0, begun, n_begun);
	image_fde(&image, cie, CODE, 0x40, program, n);
	image_finish(&image, IMAGE_TABLE);
	(void)snprintf(rows, sizeof(rows), "0 gap, %s, 50 gap", want);
	image_check(name, rows);
}

static void programs_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		program_check(programs[i].name, cie_program, sizeof(cie_program), programs[i].program,
			      sizeof(programs[i].program), programs[i].want);
	for (size_t i = 0; i < ARRAY_SIZE(cut_programs); i++)
		program_check(cut_programs[i].name, cie_program, sizeof(cie_program), cut_programs[i].program,
			      cut_programs[i].n, cut_programs[i].want);
	for (size_t i = 0; i < ARRAY_SIZE(begun_programs); i++)
		program_check(begun_programs[i].name, begun_programs[i].cie, sizeof(begun_programs[i].cie),
			      begun_programs[i].program, sizeof(begun_programs[i].program), begun_programs[i].want);
}

/* ---- common entries ---- */

/* A head has version, augmentation, factors, column of the return address, and data of the augmentation. */
static const struct {
	const char *name;
	uint8_t head[24], n;
	uint8_t program[8];
	const char *want; /* as in programs; NULL: the entry is not understood */
	bool is_debug;
} heads[] = {
	{ "version 3", { 3, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b }, 9, { 0 }, "10 sp+8", false },
	{ "a column of two bytes", { 3, 'z', 'R', 0, 1, 0x78, 0x90, 0, 1, 0x1b }, 10, { 0 }, "10 sp+8", false },
	{ "version 2", { 2, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b }, 9, { 0 }, NULL, false },
	{ "version 4 outside .debug_frame", { 4, 'z', 'R', 0, 8, 0, 1, 0x78, 16, 1, 0x1b }, 11, { 0 }, NULL, false },
	{ "another return column", { 1, 'z', 'R', 0, 1, 0x78, 15, 1, 0x1b }, 9, { 0 }, "10 lost", false },
	{ "a factor of addresses",
	  { 1, 'z', 'R', 0, 4, 0x78, 16, 1, 0x1b },
	  9,
	  { ADVANCE + 2, DEF_OFFSET, 16 },
	  "10 sp+8, 18 sp+16",
	  false },
	{ "a factor of offsets",
	  { 1, 'z', 'R', 0, 1, 0x7c, 16, 1, 0x1b },
	  9,
	  { OFFSET + RA, 2, OFFSET + BP, 3 },
	  "10 sp+8 bp@12",
	  false },
	{ "a function for the language",
	  { 1, 'z', 'P', 'L', 'R', 0, 1, 0x78, 16, 7, 0x9b, 1, 2, 3, 4, 0x1b, 0x1b },
	  17,
	  { 0 },
	  "10 sp+8",
	  false },
	{ "none for the language",
	  { 1, 'z', 'P', 'L', 'R', 0, 1, 0x78, 16, 3, 0xff, 0x1b, 0x1b },
	  13,
	  { 0 },
	  "10 sp+8",
	  false },
	{ "a cut function for the language",
	  { 1, 'z', 'P', 'R', 0, 1, 0x78, 16, 3, 0x9b, 1, 0x1b },
	  12,
	  { 0 },
	  NULL,
	  false },
	{ "an aligned function",
	  { 1, 'z', 'P', 'R', 0, 1, 0x78, 16, 10, 0x50, 0, 0, 0, 0, 0, 0, 0, 0, 0x1b },
	  19,
	  { 0 },
	  NULL,
	  false },
	{ "an unknown letter", { 1, 'z', 'Q', 'R', 0, 1, 0x78, 16, 1, 0x1b }, 10, { 0 }, NULL, false },
	{ "letters without a size", { 1, 'R', 0, 1, 0x78, 16, 1, 0x1b }, 8, { 0 }, NULL, false },
	{ "indirect addresses", { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x9b }, 9, { 0 }, NULL, false },
	{ "a signal without its frame", { 1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0x1b }, 10, { 0 }, "10 lost", false },
	{ "version 4", { 4, 0, 8, 0, 1, 0x78, 16 }, 7, { 0 }, "10 sp+8", true },
	{ "a signal in .debug_frame, without its frame", { 3, 'S', 0, 1, 0x78, 16 }, 6, { 0 }, "10 lost", true },
	{ "addresses of 4 bytes", { 4, 0, 4, 0, 1, 0x78, 16 }, 7, { 0 }, NULL, true },
	{ "segments", { 4, 0, 8, 1, 1, 0x78, 16 }, 7, { 0 }, NULL, true },
};

static void heads_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		char want[256] = "0 gap";
		uint32_t cie;

		image_start(&image, heads[i].is_debug);
		/* Of an entry that is understood, so that the file has rules. */
		cie = image_cie(&image, NULL, 0, cie_program, sizeof(cie_program));
		image_fde(&image, cie, IMAGE_CODE + UNWIND_PAGE, 1, NULL, 0);
		cie = image_cie(&image, heads[i].head, heads[i].n, cie_program, sizeof(cie_program));
		image_fde(&image, cie, CODE, 0x40, heads[i].program, sizeof(heads[i].program));
		image_finish(&image, heads[i].is_debug ? IMAGE_NAMES | IMAGE_DEBUG : IMAGE_TABLE);
		if (heads[i].want)
			(void)snprintf(want, sizeof(want), "0 gap, %s, 50 gap", heads[i].want);
		image_check(heads[i].name, want);
	}
}

/* glibc's entry for the function to which a handler returns, and the same with one thing elsewhere. */
static void signal_check(void)
{
	static const uint8_t head[] = { 1, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0x1b };
	static const uint8_t program[] = {
		DEF_EXPRESSION, 6, BREG + SP,  0xa0, 1, DEREF,	   PLUS_UCONST, 0, EXPRESSION, BP, 3, BREG + SP,
		0xf8,		0, EXPRESSION, SP,   3, BREG + SP, 0xa0,	1, EXPRESSION, RA, 3, BREG + SP,
		0xa8,		1,
	};
	static const uint8_t places[] = { 3, 7, 12, 18, 24 }; /* of numbers */

	for (size_t i = 0; i <= ARRAY_SIZE(places); i++) {
		uint8_t spoiled[sizeof(program)];
		uint32_t cie;

		memcpy(spoiled, program, sizeof(program));
		if (i)
			spoiled[places[i - 1]] ^= 8;
		image_start(&image, /* is_debug= */ false);
		cie = image_cie(&image, head, sizeof(head), cie_program, sizeof(cie_program));
		image_fde(&image, cie, CODE - 1, 0x41, spoiled, sizeof(spoiled));
		image_finish(&image, IMAGE_TABLE);
		image_check("signal", i ? "0 gap, f lost, 50 gap" : "0 gap, f signal, 50 gap");
	}
}

/* An address in a program is relative to itself. */
static void set_loc_check(void)
{
	static const struct {
		const char *name;
		int32_t to;
		const char *want;
	} rows[] = {
		{ "set_loc", CODE + 8, "0 gap, 10 sp+8, 18 sp+16, 50 gap" },
		{ "set_loc to the end", CODE + 0x40, "0 gap, 10 sp+8, 50 gap" },
		{ "set_loc back", CODE - 1, "0 gap, 10 lost, 50 gap" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t program[] = { SET_LOC, 0, 0, 0, 0, DEF_OFFSET, 16 };
		uint32_t cie;
		int32_t delta;

		image_start(&image, /* is_debug= */ false);
		cie = image_cie(&image, NULL, 0, cie_program, sizeof(cie_program));
		delta = rows[i].to - (int32_t)(image.at + 4 + 4 + 4 + 4 + 1 + 1);
		memcpy(program + 1, &delta, 4);
		image_fde(&image, cie, CODE, 0x40, program, sizeof(program));
		image_finish(&image, IMAGE_TABLE);
		image_check(rows[i].name, rows[i].want);
	}
}

/* What fits in a row has no side. */
static void rows_alone_check(void)
{
	static const uint8_t program[] = { OFFSET + BP, 2,  ADVANCE + 1, OFFSET + BP, 7,   ADVANCE + 1,
					   DEF,		BP, 0xf8,	 0xff,	      0x1f };

	program_check("rows alone", cie_program, sizeof(cie_program), program, sizeof(program),
		      "10 sp+8 bp@16, 11 sp+8 bp@56, 12 bp+524280 bp@56");
	CHECK_INT_EQ("rows alone", answer.head.n_sides, 0);
}

int main(void)
{
#ifdef __x86_64__
	image_fd = memfd_create("image", MFD_CLOEXEC);
	programs_check();
	heads_check();
	signal_check();
	set_loc_check();
	rows_alone_check();
#endif
	return check_result();
}
