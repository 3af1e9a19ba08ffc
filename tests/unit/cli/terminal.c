// SPDX-License-Identifier: Apache-2.0
/* Frames: each line at its place, none below the screen. */
#include "cli/terminal.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

static const struct {
	const char *name;
	const char *lines;
	unsigned int rows;
	const char *want;
} cases[] = {
	{ "lines", "a\nb\n", 24, "\x1b[1;1Ha\x1b[K\x1b[2;1Hb\x1b[K\x1b[J" },
	{ "empty line", "a\n\nb\n", 24, "\x1b[1;1Ha\x1b[K\x1b[2;1H\x1b[K\x1b[3;1Hb\x1b[K\x1b[J" },
	{ "more than fit", "a\nb\nc\n", 2, "\x1b[1;1Ha\x1b[K\x1b[2;1Hb\x1b[K\x1b[J" },
	{ "nothing", "", 24, "\x1b[1;1H\x1b[K\x1b[J" },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		terminal_frame(&out, cases[i].lines, cases[i].rows);
		CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].want);
	}
	terminal_leave(); /* without having entered: nothing happens */
	return check_result();
}
