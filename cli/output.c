// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define COLUMNS_DEFAULT 80
#define COLUMNS_MAX 400 /* maximum length of a line; longer ones are cut anywhere */

static bool is_utf8;

void output_done(struct output *out)
{
	buf_done(&out->buf);
}

/* Waits until output can be written. Return: bytes that can be written without blocking, or -errno */
static ssize_t room_wait(const struct output *out)
{
	struct pollfd fds[] = { { .fd = out->fd, .events = POLLOUT }, { .fd = out->wake_fd, .events = POLLIN } };
	struct stat st;

	while (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		if (errno != EINTR)
			return -errno;
	if (fds[0].revents == 0)
		return -EINTR;
	/* PIPE_BUF bytes fit into a writable pipe, pipe(7); a terminal gets a frame in one write. */
	return fstat(out->fd, &st) == 0 && S_ISFIFO(st.st_mode) ? PIPE_BUF : SSIZE_MAX;
}

/* Prints the error once: a full disk refuses every line of a trace. Return: r */
static int failure_tell(struct output *out, int r)
{
	static bool is_told;

	if (!is_told && out->fd != STDERR_FILENO)
		output_error("cannot write the output: %s", strerror(-r));
	is_told = is_told || out->fd != STDERR_FILENO;
	out->has_failed = true;
	return r;
}

int output_flush(struct output *out)
{
	if (out->buf.failed)
		return failure_tell(out, -ENOMEM);

	out->is_stuck = false;
	while (out->buf.n > 0 && !out->is_gone) {
		ssize_t room = room_wait(out), put;

		if (room == -EINTR)
			out->is_stuck = true;
		if (room < 0)
			return (int)room;

		put = write(out->fd, out->buf.data, MIN(out->buf.n, (size_t)room));
		if (put >= 0)
			buf_consume(&out->buf, (size_t)put);
		else if (errno == EPIPE)
			out->is_gone = true;
		else if (errno != EINTR &&
			 errno != EAGAIN) /* another process may have made the terminal non-blocking */
			return failure_tell(out, -errno);
	}
	if (out->is_gone)
		buf_consume(&out->buf, out->buf.n);
	return out->is_gone ? -EPIPE : 0;
}

bool output_can_offer(int fd)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	struct termios modes;

	/* A program that reads single keys (an editor, a prompt) controls the screen itself. */
	if (tcgetattr(fd, &modes) == 0 && !(modes.c_lflag & ICANON))
		return false;
	return poll(&room, 1, 0) == 1 && room.revents == POLLOUT; /* a stopped terminal (Ctrl-S) blocks writes */
}

/*
 * The cursor's column after a program's output is unknown. Spaces as wide as the terminal end on the next line, unless
 * the cursor was in the first column: a terminal wraps only with the next character.
 */
void output_line_begin(struct buf *out, int fd)
{
	if (!output_is_terminal(fd)) {
		if (isatty(fd))
			(void)buf_append_text(out, "\n"); /* unknown terminals may not wrap */
		return;
	}
	text_spaces(out, output_style(fd, /* no_color= */ true).columns);
	(void)buf_append_text(out, "\r");
}

void output_offer(int fd, struct buf *lines)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	size_t n;

	if (lines->n == 0)
		return;
	output_line_begin(&out, fd);
	(void)buf_append(&out, lines->data, lines->n);
	for (n = MIN(out.n, (size_t)PIPE_BUF); n > 0 && out.data[n - 1] != '\n';)
		n--;
	(void)!write(fd, out.data, n); /* stderr is closed or full: there is no second try */
}

void output_error(const char *fmt, ...)
{
	struct text_style style = { .is_utf8 = is_utf8, .columns = 2048 };
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDERR_FILENO);
	char text[2048];

	FORMAT_INTO(text, sizeof(text), fmt);

	if (isatty(STDERR_FILENO)) { /* a file gets one line: one line is one record */
		style.columns = output_style(STDERR_FILENO, /* no_color= */ true).columns;
		text_paragraph(&out.buf, &style, "ingero: ", text);
	} else {
		text_line(&out.buf, &style, TEXT_PLAIN, "ingero: %s", text);
	}
	(void)output_flush(&out); /* stderr may be closed; there is no other place for the message */
}

void output_locale(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value = NULL;

	if (setlocale(LC_CTYPE, "")) {
		is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
		return;
	}
	/* ssh passes names of locales that this machine may lack; their character set still describes the terminal. */
	for (size_t i = 0; i < ARRAY_SIZE(variables) && (!value || !*value); i++)
		value = getenv(variables[i]);
	if (value && (strcasestr(value, "utf-8") || strcasestr(value, "utf8")))
		is_utf8 = setlocale(LC_CTYPE, "C.UTF-8") != NULL;
}

static bool terminal_is_dumb(void)
{
	const char *term = getenv("TERM");

	return !term || !*term || strcmp(term, "dumb") == 0;
}

bool output_is_terminal(int fd)
{
	return isatty(fd) && !terminal_is_dumb();
}

struct text_style output_style(int fd, bool no_color)
{
	/* The convention of no-color.org: set and not empty, whatever its value. */
	const char *refused = getenv("NO_COLOR");
	struct text_style style = { .is_utf8 = is_utf8, .columns = COLUMNS_DEFAULT };
	struct winsize size;

	if (!isatty(fd))
		return style;
	style.has_color = !no_color && !(refused && *refused) && !terminal_is_dumb();
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
		style.columns = MIN(size.ws_col, COLUMNS_MAX);
		style.rows = size.ws_row;
	}
	return style;
}
