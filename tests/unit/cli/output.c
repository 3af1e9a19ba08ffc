// SPDX-License-Identifier: Apache-2.0
/*
 * Lines between what a program writes to the same place: begun on a line of their own, and none where the program
 * arranges the screen by itself or nobody reads.
 */
#include "cli/output.h"

#include <fcntl.h>
#include <limits.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "tests/support/check.h"

#define COLUMNS 20

static const struct {
	const char *name, *term;
	bool takes_keys;
	bool can_offer;
	const char *want;
} terminals[] = {
	{ "as wide as the terminal in spaces", "xterm", false, true, "                    \rprogress\r\n" },
	{ "wrapping not known", "dumb", false, true, "\r\nprogress\r\n" },
	{ "an editor has the screen", "xterm", true, false, "" },
};

static void terminals_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(terminals); i++) {
		struct winsize size = { .ws_row = 24, .ws_col = COLUMNS };
		CLEANUP(closep) int outer = -1, inner = -1;
		CLEANUP(buf_done) struct buf lines = BUF_INIT;
		struct termios modes;
		char got[256] = "";

		if (openpty(&outer, &inner, NULL, NULL, &size) < 0)
			CHECK_SKIP("no pseudo terminal");
		(void)setenv("TERM", terminals[i].term, 1);
		(void)tcgetattr(inner, &modes);
		if (terminals[i].takes_keys)
			modes.c_lflag &= ~(tcflag_t)ICANON;
		(void)tcsetattr(inner, TCSANOW, &modes);
		CHECK_INT_EQ(terminals[i].name, output_can_offer(inner), terminals[i].can_offer);
		if (terminals[i].can_offer) {
			(void)buf_append_text(&lines, "progress\n");
			output_offer(inner, &lines);
		}
		(void)fcntl(outer, F_SETFL, O_NONBLOCK);
		(void)!read(outer, got, sizeof(got) - 1);
		CHECK_STR_EQ(terminals[i].name, got, terminals[i].want);
	}
}

/* A pipe takes whole lines, as many as it takes without waiting; and none when it is full or has no reader. */
static void pipes_test(void)
{
	CLEANUP(buf_done) struct buf lines = BUF_INIT;
	int ends[2];
	char got[2 * PIPE_BUF];
	ssize_t n;

	CHECK_INT_EQ("pipe", pipe2(ends, O_NONBLOCK), 0);
	for (int i = 0; i < PIPE_BUF / 8; i++)
		(void)buf_append_text(&lines, "0123456789\n");
	CHECK("empty", output_can_offer(ends[1]));
	output_offer(ends[1], &lines);
	n = read(ends[0], got, sizeof(got));
	CHECK_INT_EQ("whole lines", n % 11, 0);
	CHECK_INT_IN("at once", n, PIPE_BUF - 11, PIPE_BUF);
	while (write(ends[1], got, PIPE_BUF) > 0)
		;
	CHECK("full", !output_can_offer(ends[1]));
	(void)close(ends[0]);
	CHECK("no reader", !output_can_offer(ends[1]));
	(void)close(ends[1]);
}

int main(void)
{
	terminals_test();
	pipes_test();
	return check_result();
}
