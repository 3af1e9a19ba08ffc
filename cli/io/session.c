// SPDX-License-Identifier: Apache-2.0
#include "cli/io/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/trace/child.h"
#include "libingero/answers/io/figures.h"
#include "libingero/answers/io/report.h"

#define STATUS_SIGINT (128 + SIGINT)
#define ROWS_DEFAULT 24u

struct io_session {
	const struct io_wish *wish;
	struct ingero *ingero;
	struct ingero_stream *stream; /* NULL before the start and after the end */
	struct output out;
	struct text_style style;
	bool has_screen;
	bool has_keys;
	bool has_ended;
	int end_r;
	bool is_stopping;
	bool gave_up;
	struct io_figures live, summary;
	struct trace_child child;
	int signal_fd;
	sigset_t mask_before;
};

/* ---- replies ---- */

static void frame_draw(struct io_session *s)
{
	CLEANUP(buf_done) struct buf lines = BUF_INIT;
	unsigned int rows = s->style.rows ? s->style.rows : ROWS_DEFAULT;

	if (!s->has_screen || !s->live.is_whole)
		return;
	if (io_report_append(&s->live.view, s->wish->scope, rows, &s->style, &lines) < 0)
		return; /* the previous frame stays */
	terminal_frame(&s->out.buf, buf_text(&lines), rows);
}

static int figures_take(struct io_session *s, const Ingero__V1__IoFigures *piece, bool is_last)
{
	struct io_figures *figures = is_last ? &s->summary : &s->live;
	int r = io_figures_add(figures, piece);

	if (r < 0 || !figures->is_whole)
		return r;
	if (s->wish->is_json)
		return io_json_figures(&s->out.buf, is_last ? "summary" : "figures", &figures->view);
	if (!is_last)
		frame_draw(s);
	return 0;
}

static void program_start(struct io_session *s)
{
	int r;

	if (!s->child.pid || s->child.is_released || s->is_stopping)
		return;
	r = trace_child_release(&s->child);
	if (r < 0)
		output_error("cannot run %s: %s", option_quote(s->wish->program[0]).text, strerror(-r));
}

static void on_io_reply(struct ingero_stream *stream, const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__IoReply *reply = (const Ingero__V1__IoReply *)message;
	struct io_session *s = data;
	int r = s->wish->is_json ? io_json_reply(&s->out.buf, reply) : 0;

	(void)stream;
	if (r == 0 && reply->body_case == INGERO__V1__IO_REPLY__BODY_FIGURES)
		r = figures_take(s, reply->figures, /* is_last= */ false);
	else if (r == 0 && reply->body_case == INGERO__V1__IO_REPLY__BODY_SUMMARY)
		r = figures_take(s, reply->summary, /* is_last= */ true);
	if (r == 0)
		r = output_flush(&s->out);
	if (reply->body_case == INGERO__V1__IO_REPLY__BODY_START)
		program_start(s);
	if (r < 0 && r != -EPIPE && r != -EINTR && !s->out.has_failed)
		output_error("an answer could not be shown: %s", strerror(-r));
}

static void on_io_end(struct ingero_stream *stream, int r, void *data)
{
	struct io_session *s = data;

	(void)stream;
	s->stream = NULL;
	s->has_ended = true;
	s->end_r = r;
}

static int io_stream_open(struct io_session *s)
{
	Ingero__V1__IoRequest request = *s->wish->request;
	uint32_t child = (uint32_t)s->child.pid;

	if (child) {
		request.pids = &child;
		request.n_pids = 1;
		request.n_uids = 0;
		request.program = true;
	}
	return ingero_stream_start(s->ingero, "ingero.v1.Trace.Io", &request.base, on_io_reply, on_io_end, s,
				   &s->stream);
}

/* ---- signals and keys ---- */

static void io_stop(struct io_session *s)
{
	if (s->is_stopping && !s->has_ended) {
		s->gave_up = true;
		return;
	}
	s->is_stopping = true;
	if (s->stream && ingero_stream_stop(s->stream) < 0)
		s->gave_up = true;
}

static void child_reap(struct io_session *s)
{
	trace_child_reap(&s->child);
	if (s->child.has_ended && !s->is_stopping)
		io_stop(s);
}

static void io_signal_take(struct io_session *s, const struct signalfd_siginfo *info)
{
	bool has_program = s->child.pid && !s->child.has_ended;

	if (info->ssi_signo == SIGCHLD)
		child_reap(s);
	else if (info->ssi_signo == SIGWINCH)
		s->style = output_style(STDOUT_FILENO, s->wish->no_color);
	else if (has_program && s->child.is_released)
		trace_child_signal(&s->child, (int)info->ssi_signo, info->ssi_code);
	else
		io_stop(s);
}

static void io_keys_take(struct io_session *s, short revents)
{
	char keys[64];
	ssize_t n = revents & POLLIN ? read(STDIN_FILENO, keys, sizeof(keys)) : 0;

	if ((revents & ~POLLIN) || (n < 0 && errno != EINTR && errno != EAGAIN))
		s->has_keys = false;
	for (ssize_t i = 0; i < n; i++)
		if (keys[i] == 'q' || keys[i] == 'Q')
			io_stop(s);
}

static int io_signals_open(struct io_session *s)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGWINCH };
	sigset_t mask;

	(void)sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		(void)sigaddset(&mask, numbers[i]);
	if (sigprocmask(SIG_BLOCK, &mask, &s->mask_before) < 0)
		return -errno;
	s->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	s->out.wake_fd = s->signal_fd;
	return s->signal_fd < 0 ? -errno : 0;
}

static bool io_is_done(const struct io_session *s)
{
	bool has_program = s->child.pid && s->child.is_released && !s->child.has_ended;

	return !has_program && (s->has_ended || s->gave_up);
}

static void io_loop(struct io_session *s)
{
	enum { DAEMON, SIGNALS, KEYS, PROGRAM, COUNT };

	while (!io_is_done(s)) {
		bool has_daemon = !s->has_ended && !s->gave_up;
		struct pollfd fds[COUNT] = {
			[DAEMON] = { .fd = has_daemon ? ingero_fd(s->ingero) : -1,
				     .events = has_daemon ? ingero_events(s->ingero) : 0 },
			[SIGNALS] = { .fd = s->signal_fd, .events = POLLIN },
			[KEYS] = { .fd = s->has_keys ? STDIN_FILENO : -1, .events = POLLIN },
			[PROGRAM] = { .fd = s->child.has_ended ? -1 : s->child.guardian_fd, .events = POLLIN },
		};
		struct signalfd_siginfo info;

		if (poll(fds, COUNT, -1) < 0 && errno != EINTR) {
			s->gave_up = true;
			break;
		}
		while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
			io_signal_take(s, &info);
		if (fds[PROGRAM].revents)
			child_reap(s);
		if (fds[KEYS].revents)
			io_keys_take(s, fds[KEYS].revents);
		if (s->out.is_gone && !s->is_stopping)
			io_stop(s);
		if (has_daemon && fds[DAEMON].revents && ingero_process(s->ingero) < 0 && !s->has_ended)
			on_io_end(NULL, -EPIPE, s);
	}
}

/* ---- the stages ---- */

/* After the loop: the summary, or why there is none. Return: exit status as far as tracing goes */
static int io_session_finish(struct io_session *s)
{
	int r = 0;

	if (s->child.has_failed)
		return COMMAND_FAILED; /* the reason was printed */
	if (s->wish->program && !s->wish->is_json && !s->wish->ret_figures) {
		s->out.fd = STDERR_FILENO;
		s->style = output_style(STDERR_FILENO, s->wish->no_color);
		output_line_begin(&s->out.buf, STDERR_FILENO);
	}
	if (s->wish->ret_figures) {
		*s->wish->ret_figures = s->summary;
		s->summary = (struct io_figures){ .is_whole = s->summary.is_whole };
	} else if (s->summary.is_whole && !s->wish->is_json) {
		struct text_style style = s->style;

		style.rows = 0;
		r = io_report_append(&s->summary.view, s->wish->scope, 0, &style, &s->out.buf);
	}
	if (r == 0)
		r = output_flush(&s->out);
	if (r < 0 && r != -EPIPE && !s->out.has_failed)
		output_error("the summary could not be written: %s", strerror(-r));
	if (s->summary.is_whole || s->out.is_gone)
		return r < 0 && r != -EPIPE ? COMMAND_FAILED : COMMAND_OK;
	if (s->gave_up)
		return STATUS_SIGINT;
	if (s->end_r == -EREMOTEIO || *ingero_last_error(s->ingero))
		output_error("%s", ingero_last_error(s->ingero));
	else
		output_error("ingero-collectord ended before its summary; its messages say why");
	return COMMAND_FAILED;
}

static int io_session(struct io_session *s)
{
	char **program = s->wish->program;
	int r = io_signals_open(s);

	if (r == 0 && program)
		r = trace_child_start(&s->child, program, s->wish->caller, s->wish->is_json || s->wish->ret_figures,
				      &s->mask_before, ingero_daemon_pid(s->ingero));
	if (r < 0) {
		output_error("cannot start %s: %s", program ? option_quote(program[0]).text : "tracing", strerror(-r));
		return COMMAND_FAILED;
	}
	r = io_stream_open(s);
	if (r < 0) {
		output_error("cannot trace: %s", ingero_why(s->ingero, r));
		return COMMAND_FAILED;
	}
	s->has_screen = !s->wish->is_json && !s->wish->ret_figures && !program && output_is_terminal(STDOUT_FILENO) &&
			terminal_enter(STDIN_FILENO, STDOUT_FILENO) == 0;
	s->has_keys = s->has_screen && isatty(STDIN_FILENO);
	io_loop(s);
	terminal_leave();
	s->has_screen = false;
	return io_session_finish(s);
}

int io_session_run(struct ingero **ingero, const struct io_wish *wish)
{
	struct io_session s = { .wish = wish,
				.ingero = *ingero,
				.out = OUTPUT_INIT(STDOUT_FILENO),
				.style = output_style(STDOUT_FILENO, wish->no_color),
				.signal_fd = -1,
				.child = TRACE_CHILD_INIT };
	int status;

	(void)signal(SIGPIPE, SIG_IGN);
	status = io_session(&s);
	trace_child_done(&s.child, s.has_ended && s.end_r == 0);
	if (s.child.has_ended && s.child.is_released)
		status = s.child.exit_status;
	if (!s.has_ended || s.end_r < 0) {
		ingero_close(*ingero); /* here, because the data of its callbacks still lives */
		*ingero = NULL;
	}
	if (s.signal_fd >= 0)
		(void)close(s.signal_fd);
	io_figures_done(&s.live);
	io_figures_done(&s.summary);
	output_done(&s.out);
	return status;
}
