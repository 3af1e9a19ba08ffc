// SPDX-License-Identifier: Apache-2.0
/* Where Python frames belong among native ones, by the addresses that each version of CPython leaves on the stack. */
#include "stacks/merge.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "tests/support/check.h"

#define MOST 16
#define STACK 0x7000

struct case_run {
	uint64_t at;
	uint64_t frame;
};

/* Native frames are letters, innermost first, a frame of 0x100 bytes each from the second on; Python ones likewise. */
static const struct {
	const char *name;
	const char *native; /* E: the interpreter's loop */
	const char *python; /* '.': an entry from C, no frame */
	uint64_t at[MOST];  /* of each entry: its address */
	struct case_run runs[MOST];
	size_t n_runs;
	uint32_t minor;
	bool is_cut;
	const char *expect;
	bool is_placed;
} cases[] = {
	{ "no Python", "fab", "", { 0 }, { { 0 } }, 0, 13, false, "fab", true },
	{ "3.13, one run", "faEm", "xy.", { 1, 2, STACK + 0x180 }, { { 0 } }, 0, 13, false, "faxyEm", true },
	{ "3.12, two runs", "faEbEm", "x.yz.", { 1, STACK + 0x110, 2, 3, STACK + 0x330 }, { { 0 } }, 0, 12, false,
	  "faxEbyzEm", true },
	{ "an entry at the very end of a frame", "fEam", "x.", { 1, STACK + 0xff }, { { 0 } }, 0, 12, false, "fxEam", true },
	{ "an entry at the start of the next", "fEEm", "x.", { 1, STACK + 0x100 }, { { 0 } }, 0, 12, false, "fExEm", true },
	{ "3.15, the last entry is in the thread state", "faEm", "x..", { 1, STACK + 0x180, 9 }, { { 0 } }, 0, 15, false,
	  "faxEm", true },
	{ "the activation is beyond the native part", "fa", "x.y.", { 1, STACK + 0x80, 2, STACK + 0x900 }, { { 0 } }, 0, 13,
	  true, "fxay", true },
	{ "the same, where the native part is whole", "fa", "x.", { 1, STACK + 0x900 }, { { 0 } }, 0, 13, false, "fax",
	  false },
	{ "activations in another order than frames", "faEbEm", "x.y.", { 1, STACK + 0x330, 2, STACK + 0x110 }, { { 0 } }, 0,
	  13, false, "faEbxyEm", false },
	{ "3.11, runs by their first frames", "faEbEm", "xyz", { 11, 12, 13 },
	  { { STACK + 0x180, 11 }, { STACK + 0x380, 13 } }, 2, 11, false, "faxyEbzEm", true },
	{ "3.10, a node for each frame", "faEEm", "xy", { 1, 2 }, { { STACK + 0x110, 0 }, { STACK + 0x210, 0 } }, 2, 10, false,
	  "faxEyEm", true },
	{ "3.10, a node is missing", "faEEm", "xy", { 1, 2 }, { { STACK + 0x110, 0 } }, 1, 10, false, "faxEEmy", false },
	{ "3.9, by the name of the loop", "faEbEm", "xy", { 1, 2 }, { { 0 } }, 0, 9, false, "faxEbyEm", true },
	{ "3.9, fewer loops than frames", "faEb", "xy", { 1, 2 }, { { 0 } }, 0, 9, true, "faxEby", true },
};

static void frames_make(const char *letters, char texts[MOST][32], struct stack_frame *frames, bool is_python)
{
	for (size_t i = 0; letters[i]; i++) {
		(void)snprintf(texts[i], sizeof(texts[i]), "%s",
			       letters[i] == 'E' ? "_PyEval_EvalFrameDefault+0x1d" : (char[]){ letters[i], '\0' });
		frames[i] = (struct stack_frame){ .symbol = texts[i], .is_python = is_python };
	}
}

int main(void)
{
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		struct stack_frame native[MOST], python[MOST], frames[2 * MOST];
		char native_texts[MOST][32], python_texts[MOST][32], got[2 * MOST + 1] = "";
		struct stack_python entries[MOST] = { { .code = 0 } };
		struct stack_run runs[MOST] = { { .at = 0 } };
		uint64_t cfa[MOST];
		struct merge merge = { .native = native, .cfa = cfa, .python = python, .entries = entries, .runs = runs };
		bool is_placed = false;
		size_t n;

		frames_make(cases[c].native, native_texts, native, false);
		frames_make(cases[c].python, python_texts, python, true);
		merge.n_native = strlen(cases[c].native);
		merge.n_python = strlen(cases[c].python);
		merge.n_runs = cases[c].n_runs;
		merge.minor = cases[c].minor;
		merge.is_native_whole = !cases[c].is_cut;
		for (size_t i = 0; i < merge.n_native; i++)
			cfa[i] = STACK + 0x100 * i;
		for (size_t i = 0; i < merge.n_python; i++)
			entries[i] = (struct stack_python){ .code = cases[c].python[i] == '.' ? 0 : 1 + i,
							    .frame = cases[c].at[i] };
		for (size_t i = 0; i < merge.n_runs; i++)
			runs[i] = (struct stack_run){ .at = cases[c].runs[i].at, .frame = cases[c].runs[i].frame };
		n = merge_frames(&merge, frames, &is_placed);
		for (size_t i = 0; i < n; i++)
			got[i] = frames[i].symbol[0] == '_' ? 'E' : frames[i].symbol[0];
		CHECK_STR_EQ(cases[c].name, got, cases[c].expect);
		CHECK_INT_EQ(cases[c].name, is_placed, cases[c].is_placed);
	}
	return check_result();
}
