// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/session.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/trace/child.h"

#define STATUS_SIGINT (128 + SIGINT)

struct trace {
	const struct trace_wish *wish;

	/* The daemon. */
	struct ingero *ingero;
	struct ingero_stream *stream; /* NULL before the start and after the end */
	bool has_ended;
	int end_r; /* the reason, once it has ended */
	struct trace_show show;

	/* Other descriptors of the loop. */
	struct trace_child child;
	int signal_fd;
	sigset_t mask_before;
	bool has_keys;	  /* stdin if it is a terminal that can still be read */
	bool is_stopping; /* the daemon was asked to finish */
	bool gave_up;	  /* asked to end while it was finishing */
};

/* ---- replies ---- */

static void program_hear(struct trace *t, const Ingero__V1__TraceReply *reply)
{
	if (reply->body_case == INGERO__V1__TRACE_REPLY__BODY_RESUME)
		trace_child_resume(&t->child, (pid_t)reply->resume->pid);
	if (reply->body_case != INGERO__V1__TRACE_REPLY__BODY_START || !t->child.pid || t->child.is_released ||
	    t->is_stopping)
		return;
	int r = trace_child_release(&t->child);

	if (r < 0)
		output_error("cannot run %s: %s", option_quote(t->wish->program[0]).text, strerror(-r));
}

static void on_trace_reply(struct ingero_stream *stream, const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__TraceReply *reply = (const Ingero__V1__TraceReply *)message;
	struct trace *t = data;
	int r = trace_show_reply(&t->show, reply);

	(void)stream;
	if (r == 0)
		r = output_flush(&t->show.out); /* before the program starts: `start` must be the first line */
	if (r == 0 || r == -EPIPE || r == -EINTR)
		program_hear(t, reply);
	if (r < 0 && r != -EPIPE && r != -EINTR && !t->show.out.has_failed)
		output_error("an answer could not be shown: %s", strerror(-r));
}

static void on_trace_end(struct ingero_stream *stream, int r, void *data)
{
	struct trace *t = data;

	(void)stream;
	t->stream = NULL;
	t->has_ended = true;
	t->end_r = r;
	if (r < 0)
		trace_child_let_go(&t->child); /* otherwise the daemon has ended it */
}

static int stream_open(struct trace *t)
{
	Ingero__V1__TraceRequest request = *t->wish->request;
	uint32_t child = (uint32_t)t->child.pid;

	if (child) {
		request.pids = &child;
		request.n_pids = 1;
		request.n_uids = 0;
		request.hold = t->child.is_guarded;
		request.guardian = (uint32_t)t->child.guardian;
	}
	return ingero_stream_start(t->ingero, "ingero.v1.Trace.Trace", &request.base, on_trace_reply, on_trace_end, t,
				   &t->stream);
}

/* ---- signals, keys, readers that go away ---- */

static void stop(struct trace *t)
{
	if (t->is_stopping && !t->has_ended) {
		t->gave_up = true;
		return;
	}
	t->is_stopping = true;
	if (t->stream && ingero_stream_stop(t->stream) < 0)
		t->gave_up = true; /* the connection has ended: no more replies */
}

/* Ctrl-Z: restores the shell's terminal; the rest happens at SIGCONT. */
static void screen_suspend(struct trace *t)
{
	terminal_leave();
	(void)raise(SIGSTOP);
	trace_show_terminal(&t->show);
}

static void program_reap(struct trace *t)
{
	trace_child_reap(&t->child);
	if (t->child.has_ended && !t->is_stopping)
		stop(t);
}

static void signal_take(struct trace *t, const struct signalfd_siginfo *info)
{
	bool has_program = t->child.pid && !t->child.has_ended;

	switch (info->ssi_signo) {
	case SIGCHLD:
		program_reap(t);
		break;
	case SIGWINCH:
		trace_show_resize(&t->show);
		break;
	case SIGTSTP:
		screen_suspend(t);
		break;
	default:
		if (has_program && t->child.is_released)
			trace_child_signal(&t->child, (int)info->ssi_signo, info->ssi_code);
		else
			stop(t); /* first request: finish, however slow the reader; second: drop the rest */
		break;
	}
}

/* A descriptor that hung up, or may not be read, is always ready: poll() would never wait again. */
static void keys_take(struct trace *t, short revents)
{
	char keys[64];
	ssize_t n = revents & POLLIN ? read(STDIN_FILENO, keys, sizeof(keys)) : 0;

	if ((revents & ~POLLIN) || (n < 0 && errno != EINTR && errno != EAGAIN))
		t->has_keys = false;
	for (ssize_t i = 0; i < n; i++)
		if (trace_show_key(&t->show, keys[i]))
			stop(t);
}

/* Blocked, and read in the loop: those that end us, those that are passed on, those that change the screen. */
static int session_signals_open(struct trace *t)
{
	static const int always[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD };
	sigset_t mask;

	(void)sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		(void)sigaddset(&mask, always[i]);
	if (t->show.view == TRACE_VIEW_PROGRAM || t->show.view == TRACE_VIEW_JSON) {
		(void)sigaddset(&mask, SIGUSR1);
		(void)sigaddset(&mask, SIGUSR2);
	}
	if (t->show.view == TRACE_VIEW_SCREEN) {
		(void)sigaddset(&mask, SIGWINCH);
		(void)sigaddset(&mask, SIGTSTP);
	}
	if (sigprocmask(SIG_BLOCK, &mask, &t->mask_before) < 0)
		return -errno;
	t->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	t->show.out.wake_fd = t->signal_fd;
	return t->signal_fd < 0 ? -errno : 0;
}

/* When the reader of a pipe or socket goes away, poll() reports an error without a write. */
static bool stdout_has_reader_to_lose(void)
{
	struct stat st;

	return fstat(STDOUT_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static bool is_done(const struct trace *t)
{
	bool has_program = t->child.pid && t->child.is_released && !t->child.has_ended;

	/* A program that we started is never left behind, however the trace ended. */
	return !has_program && (t->has_ended || t->gave_up);
}

static void loop(struct trace *t)
{
	enum { DAEMON, SIGNALS, KEYS, READER, PROGRAM, COUNT };
	bool watches_reader = t->show.view != TRACE_VIEW_PROGRAM && stdout_has_reader_to_lose();

	while (!is_done(t)) {
		bool has_daemon = !t->has_ended && !t->gave_up;
		struct pollfd fds[COUNT] = {
			[DAEMON] = { .fd = has_daemon ? ingero_fd(t->ingero) : -1,
				     .events = has_daemon ? ingero_events(t->ingero) : 0 },
			[SIGNALS] = { .fd = t->signal_fd, .events = POLLIN },
			[KEYS] = { .fd = t->has_keys ? STDIN_FILENO : -1, .events = POLLIN },
			[READER] = { .fd = watches_reader && !t->show.out.is_gone ? STDOUT_FILENO : -1 },
			[PROGRAM] = { .fd = t->child.has_ended ? -1 : t->child.guardian_fd, .events = POLLIN },
		};
		struct signalfd_siginfo info;

		if (poll(fds, COUNT, -1) < 0 && errno != EINTR) {
			t->gave_up = true;
			break;
		}
		while (read(t->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
			signal_take(t, &info);
		if (fds[PROGRAM].revents)
			program_reap(t);
		if (fds[KEYS].revents)
			keys_take(t, fds[KEYS].revents);
		if (fds[READER].revents & POLLERR)
			t->show.out.is_gone = true;
		if (t->show.out.is_gone && !t->is_stopping)
			stop(t);
		if (has_daemon && fds[DAEMON].revents && ingero_process(t->ingero) < 0 && !t->has_ended)
			on_trace_end(NULL, -EPIPE, t);
	}
}

/* ---- the stages ---- */

enum trace_view trace_view_choose(bool is_json, bool has_program)
{
	if (is_json)
		return TRACE_VIEW_JSON;
	if (has_program)
		return TRACE_VIEW_PROGRAM; /* the program has the terminal */
	return output_is_terminal(STDOUT_FILENO) ? TRACE_VIEW_SCREEN : TRACE_VIEW_LINES;
}

/* After the loop: the summary, or why there is none. Return: exit status as far as tracing goes */
static int session_finish(struct trace *t)
{
	struct trace_show *show = &t->show;
	int r;

	if (show->view == TRACE_VIEW_PROGRAM) {
		show->out.fd = STDERR_FILENO;
		show->style = output_style(STDERR_FILENO, show->no_color);
	}
	if (show->view == TRACE_VIEW_PROGRAM && t->child.has_failed)
		return COMMAND_FAILED; /* program_hear() printed the reason; a summary of nothing is useless */
	if (show->out.is_stuck && t->gave_up)
		return STATUS_SIGINT;
	if (show->view == TRACE_VIEW_PROGRAM)
		output_line_begin(&show->out.buf, STDERR_FILENO);
	r = trace_show_end(show);
	if (r == 0)
		r = output_flush(&show->out);
	if (r == -EINTR)
		return STATUS_SIGINT;
	if (r < 0 && r != -EPIPE && !show->out.has_failed)
		output_error("the summary could not be written: %s", strerror(-r));

	if (show->summary.is_whole || show->out.is_gone)
		return r < 0 && r != -EPIPE ? COMMAND_FAILED : COMMAND_OK;
	if (t->gave_up)
		return STATUS_SIGINT;
	if (t->end_r == -EREMOTEIO || *ingero_last_error(t->ingero))
		output_error("%s", ingero_last_error(t->ingero));
	else
		output_error("ingero-collectord ended before its summary; its messages say why");
	return COMMAND_FAILED;
}

static int session(struct trace *t)
{
	char **program = t->wish->program;
	int r = session_signals_open(t);

	if (r == 0 && program)
		r = trace_child_start(&t->child, program, t->wish->caller, t->show.view == TRACE_VIEW_JSON,
				      &t->mask_before, ingero_daemon_pid(t->ingero));
	if (r < 0) {
		output_error("cannot start %s: %s", program ? option_quote(program[0]).text : "tracing", strerror(-r));
		return COMMAND_FAILED;
	}
	if (program && !t->child.is_guarded)
		output_error("calls before the attach are missed: the program is not stopped meanwhile, because this "
			     "machine's /proc or kernel does not allow to guarantee that it continues");
	r = stream_open(t);
	if (r < 0) {
		output_error("cannot trace: %s", ingero_why(t->ingero, r));
		return COMMAND_FAILED;
	}

	if (t->show.view == TRACE_VIEW_SCREEN)
		trace_show_terminal(&t->show);
	t->has_keys = t->show.view == TRACE_VIEW_SCREEN && isatty(STDIN_FILENO);
	loop(t);
	terminal_leave();
	return session_finish(t);
}

struct trace_result trace_session_run(struct ingero **ingero, const struct trace_wish *wish)
{
	struct trace t = { .wish = wish, .ingero = *ingero, .signal_fd = -1, .child = TRACE_CHILD_INIT };
	struct trace_result result = { .status = COMMAND_OK };

	trace_show_init(&t.show, wish->view, wish->no_color, &wish->setting, &wish->pace);
	t.show.has_debug = wish->has_debug;
	(void)signal(
		SIGPIPE,
		SIG_IGN); /* both ends of every pipe are known here: a lost reader is seen as -EPIPE, and we clean up */
	result.status = session(&t);
	trace_child_done(&t.child, t.has_ended && t.end_r == 0);
	if (t.child.has_ended && t.child.is_released)
		result.status = t.child.exit_status;
	else
		result.is_gone = t.show.out.is_gone;
	result.is_interrupted = t.is_stopping;
	result.start_unix_ns = t.show.start ? t.show.start->timestamp_unix_ns : 0;

	if (!t.has_ended || t.end_r < 0) {
		ingero_close(*ingero); /* here, because the data of its callbacks still lives */
		*ingero = NULL;
	}
	if (t.signal_fd >= 0) {
		(void)close(t.signal_fd);
		/* A signal that asked for the end, or arrives now, must not kill us during the clean-up. */
		if (!t.is_stopping && !t.has_ended)
			(void)sigprocmask(SIG_SETMASK, &t.mask_before, NULL);
	}
	trace_show_done(&t.show);
	return result;
}

void trace_session_leave(const struct trace_result *result)
{
	if (!result->is_gone)
		return;
	/* Ends quietly, by the signal that was blocked for the clean-up. */
	(void)signal(SIGPIPE, SIG_DFL);
	(void)raise(SIGPIPE);
}
