// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

/* Alternate screen (1049) and hidden cursor (25), as xterm and all its heirs have them. */
#define SCREEN_BORROW "\x1b[?1049h\x1b[?25l\x1b[2J"
#define SCREEN_RETURN "\x1b[0m\x1b[?25h\x1b[?1049l"

static struct {
	volatile sig_atomic_t is_borrowed;
	bool has_keys;
	int in_fd;
	int out_fd;
	struct termios before;
} terminal;

static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE };

/* All of this may run in a signal handler. */
static void give_back(void)
{
	if (!terminal.is_borrowed)
		return;
	terminal.is_borrowed = 0;
	(void)!write(terminal.out_fd, SCREEN_RETURN,
		     sizeof(SCREEN_RETURN) - 1); /* a closed terminal needs no restoring */
	if (terminal.has_keys)
		(void)tcsetattr(terminal.in_fd, TCSANOW, &terminal.before);
}

static void on_crash(int signal_number)
{
	give_back();
	(void)raise(signal_number); /* the signal's default action is restored */
}

int terminal_enter(int in_fd, int out_fd)
{
	struct sigaction action = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };
	struct termios keys;
	int r;

	terminal.in_fd = in_fd;
	terminal.out_fd = out_fd;
	/* Stops a background job by SIGTTOU, as writing the settings does; reading them does not. */
	terminal.has_keys = tcgetattr(in_fd, &terminal.before) == 0;
	r = fd_write_full(out_fd, SCREEN_BORROW, sizeof(SCREEN_BORROW) - 1);
	if (r < 0)
		return r;
	terminal.is_borrowed = 1;

	if (terminal.has_keys) {
		keys = terminal.before;
		keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* ISIG stays: Ctrl-C and Ctrl-Z are signals */
		keys.c_cc[VMIN] = 0;
		keys.c_cc[VTIME] = 0;
		(void)tcsetattr(in_fd, TCSANOW, &keys); /* without ICANON off, keys arrive line by line */
	}
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		(void)sigaction(crashes[i], &action, NULL);
	return 0;
}

void terminal_leave(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	if (!terminal.is_borrowed)
		return;
	give_back();
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		(void)sigaction(crashes[i], &action, NULL);
}

void terminal_frame(struct buf *out, const char *lines, unsigned int rows)
{
	for (unsigned int row = 1; row <= rows; row++) {
		size_t n = strcspn(lines, "\n");

		/* Overwriting and then clearing the rest does not flicker; clearing first does. */
		(void)buf_printf(out, "\x1b[%u;1H", row);
		(void)buf_append(out, lines, n);
		(void)buf_append_text(out, "\x1b[K");
		lines += n;
		if (*lines)
			lines++;
		if (!*lines)
			break;
	}
	(void)buf_append_text(out, "\x1b[J");
}
