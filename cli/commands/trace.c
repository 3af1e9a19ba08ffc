// SPDX-License-Identifier: Apache-2.0
/*
 * `ingero trace`: a lease on the daemon for as long as this runs, and what it
 * sends shown as a live screen, as plain lines or as JSON.
 *
 * One loop waits for the daemon, signals, keys, and for stdout's reader to go
 * away. However it ends, the daemon is asked to finish first, so that the
 * summary is the last thing that comes.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/connect.h"
#include "cli/libraries.h"
#include "cli/machine.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/trace/child.h"
#include "cli/trace/json.h"
#include "cli/trace/report.h"
#include "cli/trace/screen.h"
#include "cli/trace/summary.h"
#include "libingero/render/units.h"

#define FIGURES_PERIOD_NS NSEC_PER_SEC /* a screen that changes more often cannot be read */
#define SAMPLE_EVERY_DEFAULT 64	       /* the daemon's, ingero.proto */
#define RINGBUF_LEAST 4096ull	       /* a page: the kernel's own limit */
#define RINGBUF_MOST (1ull << 30)
#define STATUS_SIGINT (128 + SIGINT)

struct trace_fields {
	struct option_ids pids;
	struct option_ids uids;
	uint64_t duration_ns;
	uint64_t sample_every;
	uint64_t ringbuf_bytes;
	const char *record;
	const char *back_end;
	bool is_all;
	bool is_json;
	bool no_color;
};

static const struct trace_fields trace_defaults = { .record = "slow", .back_end = "auto" };

static const char *const record_choices[] = { "slow", "all", "none", NULL };
static const char *const back_end_choices[] = { "auto", "session", "multi", "perf", NULL };

#define FIELD(member) .field = offsetof(struct trace_fields, member)
static const struct option trace_options[] = {
	{ .name = "pid",
	  .letter = 'p',
	  .kind = OPTION_PIDS,
	  .value = "PID[,PID...]",
	  FIELD(pids),
	  .help = "Only these processes and their children" },
	{ .name = "user",
	  .letter = 'u',
	  .kind = OPTION_USERS,
	  .value = "NAME[,NAME...]",
	  FIELD(uids),
	  .help = "Processes of these users (others than yourself: root only)" },
	{ .name = "all",
	  .kind = OPTION_FLAG,
	  FIELD(is_all),
	  .help = "Everybody's processes, not only your own; beside --pid: these, whosever they are" },
	{ .name = "duration",
	  .letter = 'd',
	  .kind = OPTION_DURATION,
	  .value = "TIME",
	  FIELD(duration_ns),
	  .help = "Stop after this long, such as 30s or 5m; default: until Ctrl-C" },
	{ .name = "json",
	  .kind = OPTION_FLAG,
	  FIELD(is_json),
	  .help = "Print one JSON object a line (docs/schema/trace-*.schema.json); a program's output goes to stderr "
		  "then" },
	{ .name = "record",
	  .kind = OPTION_CHOICE,
	  .value = "slow|all|none",
	  FIELD(record),
	  .choices = record_choices,
	  .help = "Which single calls are kept besides the exact figures: those that matter (slow, failed, waiting, "
		  "allocating, and a sample), all, or none; default: slow" },
	{ .name = "record-all",
	  .kind = OPTION_CONSTANT,
	  FIELD(record),
	  .constant = "all",
	  .help = "The same as --record all" },
	{ .name = "sampling-rate",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  FIELD(sample_every),
	  .max = UINT32_MAX,
	  .help = "Of the other calls keep one in N of each thread; default: 64" },
	{ .name = "ringbuf-size",
	  .kind = OPTION_SIZE,
	  .value = "SIZE",
	  FIELD(ringbuf_bytes),
	  .min = RINGBUF_LEAST,
	  .max = RINGBUF_MOST,
	  .help = "Room for kept calls in the kernel, a power of two such as 8m (administrators only)" },
	{ .name = "back-end",
	  .kind = OPTION_CHOICE,
	  .value = "auto|session|multi|perf",
	  FIELD(back_end),
	  .choices = back_end_choices,
	  .help = "How calls are intercepted; auto takes the best that the kernel has. Another needs a daemon of its "
		  "own (root)" },
	{ .name = "no-color", .kind = OPTION_FLAG, FIELD(no_color), .help = "No colours, as with NO_COLOR set" },
};
#undef FIELD

enum trace_view { TRACE_VIEW_JSON, TRACE_VIEW_LINES, TRACE_VIEW_SCREEN, TRACE_VIEW_PROGRAM };

struct trace {
	const struct trace_fields *fields;
	struct caller caller;
	enum trace_view view;

	/* The daemon. */
	struct ingero *ingero;
	struct ingero_stream *stream; /* NULL before the start and after the end */
	bool has_ended;
	int end_r; /* why, once it has */

	/* What it said. */
	Ingero__V1__Start *start; /* owned copy */
	struct trace_summary arriving;
	struct trace_summary figures;
	struct trace_summary previous;
	struct trace_summary summary;
	size_t n_libraries;

	/* Everything else that the loop waits for. */
	struct trace_child child;
	int signal_fd;
	sigset_t mask_before;
	bool is_stopping; /* the daemon was asked to finish */
	bool gave_up;	  /* asked to end while it was finishing */

	/* Output. */
	struct output out;
	struct text_style style;
	struct trace_setting setting;
	char scope[96];
	char kept[64];
	char host[64];
	int proc_fd;
	struct machine_sample machine_before;
	struct machine_load machine;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* ---- what is asked for ---- */

static void ids_append(struct buf *out, const struct option_ids *ids, bool are_users)
{
	for (size_t i = 0; i < ids->n; i++) {
		(void)buf_append_text(out, i ? ", " : "");
		if (are_users)
			(void)buf_append_text(out, user_name(ids->items[i]).text);
		else
			(void)buf_printf(out, "%u", ids->items[i]);
	}
}

static void words_set(struct trace *t, const struct options_rest *rest)
{
	const struct trace_fields *f = t->fields;
	CLEANUP(buf_done) struct buf scope = BUF_INIT;

	if (rest->argc) {
		(void)buf_printf(&scope, "of %s", option_quote(rest->argv[0]).text);
	} else if (f->pids.n) {
		(void)buf_printf(&scope, "from pid%s ", f->pids.n > 1 ? "s" : "");
		ids_append(&scope, &f->pids, /* are_users= */ false);
	} else if (f->uids.n) {
		(void)buf_append_text(&scope, "of ");
		ids_append(&scope, &f->uids, /* are_users= */ true);
	} else {
		(void)buf_printf(&scope, "of %s", f->is_all ? "any user" : user_name(t->caller.uid).text);
	}
	(void)snprintf(t->scope, sizeof(t->scope), "%s", buf_text(&scope));

	if (strcmp(f->record, "slow") == 0)
		(void)snprintf(t->kept, sizeof(t->kept), "slow calls and 1 in %" PRIu64,
			       f->sample_every ? f->sample_every : SAMPLE_EVERY_DEFAULT);
	else
		(void)snprintf(t->kept, sizeof(t->kept), "%s",
			       strcmp(f->record, "all") == 0 ? "every call" : "no single calls");

	t->setting.scope = t->scope;
	t->setting.kept = t->kept;
	if (gethostname(t->host, sizeof(t->host)) < 0)
		t->host[0] = 0;
	t->host[sizeof(t->host) - 1] = 0;
	t->host[strcspn(t->host, ".")] = 0;
}

/* What options say together. Return: NULL, or a sentence */
static const char *contradiction(const struct trace_fields *f, const struct options_rest *rest)
{
	if (rest->argc && f->pids.n)
		return "trace takes either '--pid' or a program behind '--', not both";
	if (rest->argc && f->uids.n)
		return "trace takes either '--user' or a program behind '--', not both; a program runs as yourself";
	if (rest->argc && f->is_all)
		return "trace takes either '--all' or a program behind '--', not both";
	if (f->pids.n && f->uids.n)
		return "trace takes either '--pid' or '--user', not both";
	if (f->ringbuf_bytes & (f->ringbuf_bytes - 1))
		return "'--ringbuf-size' takes a power of two, such as 256k, 8m or 64m";
	return NULL;
}

static int daemon_open(struct trace *t)
{
	const struct trace_fields *f = t->fields;
	char bytes[24];
	const char *args[5] = { NULL };
	bool is_forced = strcmp(f->back_end, "auto") != 0;
	struct connect_wish wish = {
		.command = "trace",
		.acts_as_root = f->is_all || f->uids.n > 0,
		.needs_private = is_forced,
		.needs_private_why = "--back-end",
		.daemon_args = args,
	};
	size_t n = 0;

	if (is_forced) {
		args[n++] = "--back-end";
		args[n++] = f->back_end;
	}
	if (f->ringbuf_bytes) {
		(void)snprintf(bytes, sizeof(bytes), "%" PRIu64, f->ringbuf_bytes);
		args[n++] = "--ringbuf-size";
		args[n++] = bytes;
	}
	return connect_open(&wish, &t->caller, &t->ingero, NULL);
}

/* ---- what comes ---- */

static struct trace_screen screen_of(struct trace *t, char *clock, size_t room)
{
	time_t seconds = time(NULL);
	struct tm local;

	if (!localtime_r(&seconds, &local) || strftime(clock, room, "%H:%M:%S", &local) == 0)
		clock[0] = 0;
	return (struct trace_screen){
		.setting = &t->setting,
		.figures = t->figures.is_whole ? &t->figures.view : NULL,
		.previous = t->previous.is_whole ? &t->previous.view : NULL,
		.machine = &t->machine,
		.host = t->host,
		.clock = clock,
	};
}

static void screen_draw(struct trace *t)
{
	CLEANUP(buf_done) struct buf lines = BUF_INIT;
	struct trace_screen screen;
	char clock[16];

	if (t->view != TRACE_VIEW_SCREEN)
		return;
	screen = screen_of(t, clock, sizeof(clock));
	if (trace_screen_append(&screen, &t->style, &lines) < 0)
		return; /* no memory for a frame: the one before stays */
	terminal_frame(&t->out.buf, buf_text(&lines), t->style.rows ? t->style.rows : 24);
	(void)output_flush(&t->out); /* a reader that is gone is seen by the loop */
}

static void machine_update(struct trace *t)
{
	struct machine_sample sample = machine_sample_read(t->proc_fd, now_ns());

	t->machine = machine_load_between(&t->machine_before, &sample);
	t->machine_before = sample;
}

static int start_keep(struct trace *t, const Ingero__V1__Start *start)
{
	size_t n = ingero__v1__start__get_packed_size(start);
	CLEANUP(freep) uint8_t *packed = malloc(n + 1);

	if (!packed || t->start)
		return packed ? 0 : -ENOMEM;
	(void)ingero__v1__start__pack(start, packed);
	t->start = ingero__v1__start__unpack(NULL, n, packed);
	if (!t->start)
		return -ENOMEM;
	t->setting.start = t->start;
	return 0;
}

static void library_count(struct trace *t, const Ingero__V1__Library *library)
{
	t->n_libraries += !library->reason || !*library->reason;
	t->setting.n_libraries = t->n_libraries;
}

static int start_take(struct trace *t, const Ingero__V1__Start *start)
{
	int r = start_keep(t, start);

	if (r < 0)
		return r;
	for (size_t i = 0; i < start->n_libraries; i++)
		library_count(t, start->libraries[i]);
	if (t->view == TRACE_VIEW_LINES)
		trace_report_start(&t->setting, &t->style, &t->out.buf);

	if (t->child.pid && !t->child.is_released && !t->is_stopping) {
		r = trace_child_release(&t->child);
		if (r < 0)
			output_error("cannot run %s: %s", t->scope + sizeof("of"), strerror(-r));
	}
	return 0;
}

static int summary_take(struct trace *t, const Ingero__V1__Summary *piece, bool is_last)
{
	int r = trace_summary_add(&t->arriving, piece);

	if (r < 0 || !t->arriving.is_whole)
		return r;
	if (is_last) {
		trace_summary_take(&t->summary, &t->arriving);
		return 0;
	}
	trace_summary_take(&t->previous, &t->figures);
	trace_summary_take(&t->figures, &t->arriving);
	machine_update(t);
	screen_draw(t);
	return 0;
}

static int reply_take(struct trace *t, const Ingero__V1__TraceReply *reply)
{
	switch (reply->body_case) {
	case INGERO__V1__TRACE_REPLY__BODY_START:
		return start_take(t, reply->start);
	case INGERO__V1__TRACE_REPLY__BODY_LIBRARY:
		library_count(t, reply->library);
		if (t->view == TRACE_VIEW_LINES)
			library_append(&t->out.buf, &t->style, "  ", reply->library);
		return 0;
	case INGERO__V1__TRACE_REPLY__BODY_FIGURES:
		return summary_take(t, reply->figures, /* is_last= */ false);
	case INGERO__V1__TRACE_REPLY__BODY_SUMMARY:
		return summary_take(t, reply->summary, /* is_last= */ true);
	case INGERO__V1__TRACE_REPLY__BODY_RESUME:
		trace_child_resume(&t->child, (pid_t)reply->resume->pid);
		return 0;
	case INGERO__V1__TRACE_REPLY__BODY_EVENTS: /* lines of their own only as JSON */
	case INGERO__V1__TRACE_REPLY__BODY_FINDING:
	case INGERO__V1__TRACE_REPLY__BODY_LOSS: /* in the footer, from the summary */
	case INGERO__V1__TRACE_REPLY__BODY__NOT_SET:
	default: /* bodies of later versions */
		return 0;
	}
}

static void on_reply(struct ingero_stream *stream, const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__TraceReply *reply = (const Ingero__V1__TraceReply *)message;
	struct trace *t = data;
	int r = 0;

	(void)stream;
	if (t->view == TRACE_VIEW_JSON)
		r = trace_json_reply(&t->out.buf, reply);
	if (r == 0)
		r = output_flush(&t->out); /* before the program starts, so that `start` is the first line */
	if (r == 0 || r == -EPIPE || r == -EINTR)
		r = reply_take(t, reply);
	if (r == 0 && !t->out.is_stuck)
		r = output_flush(&t->out);
	if (r < 0 && r != -EPIPE && r != -EINTR)
		output_error("an answer could not be shown: %s", strerror(-r));
}

static void on_end(struct ingero_stream *stream, int r, void *data)
{
	struct trace *t = data;

	(void)stream;
	t->stream = NULL;
	t->has_ended = true;
	t->end_r = r;
	if (r < 0)
		trace_child_resume(&t->child, 0); /* whoever held it may be gone */
}

static int stream_open(struct trace *t)
{
	const struct trace_fields *f = t->fields;
	bool has_scope = f->pids.n || f->uids.n || f->is_all || t->child.pid;
	uint32_t child = (uint32_t)t->child.pid, own = t->caller.uid;
	static char record_none[] = "none";
	Ingero__V1__TraceRequest request = INGERO__V1__TRACE_REQUEST__INIT;

	request.n_pids = t->child.pid ? 1 : f->pids.n;
	request.pids = t->child.pid ? &child : f->pids.items;
	request.n_uids = has_scope ? f->uids.n : 1;
	request.uids = has_scope ? f->uids.items : &own;
	request.all = f->is_all && !f->pids.n && !f->uids.n;
	request.hold = t->child.pid != 0;
	request.events = t->view == TRACE_VIEW_JSON && strcmp(f->record, record_none) != 0;
	request.record = (char *)(uintptr_t)f->record; /* the message only lends it */
	request.sample_every = (uint32_t)f->sample_every;
	/* Also where no screen shows them: should the daemon die, the last figures are what is left. */
	request.figures_period_ns = t->view == TRACE_VIEW_JSON ? 0 : FIGURES_PERIOD_NS;
	request.duration_ns = f->duration_ns;
	request.ringbuf_bytes = f->ringbuf_bytes;
	return ingero_stream_start(t->ingero, "ingero.v1.Trace.Trace", &request.base, on_reply, on_end, t, &t->stream);
}

/* ---- signals, keys, readers that leave ---- */

static void stop(struct trace *t)
{
	if (t->is_stopping && !t->has_ended) {
		t->gave_up = true;
		return;
	}
	t->is_stopping = true;
	if (t->stream && ingero_stream_stop(t->stream) < 0)
		t->gave_up = true; /* the connection is over: nothing more will come */
}

static void screen_enter(struct trace *t)
{
	t->style = output_style(STDOUT_FILENO, t->fields->no_color);
	if (terminal_enter(STDIN_FILENO, STDOUT_FILENO) < 0)
		t->view = TRACE_VIEW_LINES; /* a terminal that takes no text takes no screen either */
	screen_draw(t);
}

/* Ctrl-Z: the shell gets its terminal as it was; the rest happens when we are continued. */
static void screen_suspend(struct trace *t)
{
	terminal_leave();
	(void)raise(SIGSTOP);
	screen_enter(t);
}

static void signal_take(struct trace *t, const struct signalfd_siginfo *info)
{
	bool has_program = t->child.pid && !t->child.has_ended;

	switch (info->ssi_signo) {
	case SIGCHLD:
		trace_child_reap(&t->child);
		if (t->child.has_ended && !t->is_stopping)
			stop(t);
		break;
	case SIGWINCH:
		t->style = output_style(STDOUT_FILENO, t->fields->no_color);
		screen_draw(t);
		break;
	case SIGTSTP:
		screen_suspend(t);
		break;
	default:
		if (has_program && t->child.is_released)
			trace_child_signal(&t->child, (int)info->ssi_signo, info->ssi_code);
		else
			stop(t); /* once: finish, however slow the reader; twice: nobody takes what we still have */
		break;
	}
}

static void keys_take(struct trace *t)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	for (ssize_t i = 0; i < n; i++)
		if (keys[i] == 'q' || keys[i] == 'Q')
			stop(t);
}

/* Blocked, and read in the loop: those that end us, those that are passed on, those that change the screen. */
static int signals_open(struct trace *t)
{
	static const int always[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD };
	sigset_t mask;

	(void)sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		(void)sigaddset(&mask, always[i]);
	if (t->view == TRACE_VIEW_PROGRAM || t->view == TRACE_VIEW_JSON) {
		(void)sigaddset(&mask, SIGUSR1);
		(void)sigaddset(&mask, SIGUSR2);
	}
	if (t->view == TRACE_VIEW_SCREEN) {
		(void)sigaddset(&mask, SIGWINCH);
		(void)sigaddset(&mask, SIGTSTP);
	}
	if (sigprocmask(SIG_BLOCK, &mask, &t->mask_before) < 0)
		return -errno;
	t->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	t->out.wake_fd = t->signal_fd;
	return t->signal_fd < 0 ? -errno : 0;
}

/* A pipe or socket whose reader leaves is an error on our end, seen without writing. */
static bool stdout_has_reader_to_lose(void)
{
	struct stat st;

	return fstat(STDOUT_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static bool is_done(const struct trace *t)
{
	bool has_program = t->child.pid && t->child.is_released && !t->child.has_ended;

	/* A program that we started is never left behind, whatever became of the trace. */
	return !has_program && (t->has_ended || t->gave_up);
}

static void loop(struct trace *t)
{
	enum { DAEMON, SIGNALS, KEYS, READER, COUNT };
	bool watches_reader = t->view != TRACE_VIEW_PROGRAM && stdout_has_reader_to_lose();

	while (!is_done(t)) {
		bool has_daemon = !t->has_ended && !t->gave_up;
		struct pollfd fds[COUNT] = {
			[DAEMON] = { .fd = has_daemon ? ingero_fd(t->ingero) : -1,
				     .events = has_daemon ? ingero_events(t->ingero) : 0 },
			[SIGNALS] = { .fd = t->signal_fd, .events = POLLIN },
			[KEYS] = { .fd = t->view == TRACE_VIEW_SCREEN ? STDIN_FILENO : -1, .events = POLLIN },
			[READER] = { .fd = watches_reader && !t->out.is_gone ? STDOUT_FILENO : -1 },
		};
		struct signalfd_siginfo info;

		if (poll(fds, COUNT, -1) < 0 && errno != EINTR) {
			t->gave_up = true;
			break;
		}
		while (read(t->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
			signal_take(t, &info);
		if (fds[KEYS].revents & POLLIN)
			keys_take(t);
		if (fds[READER].revents & POLLERR)
			t->out.is_gone = true;
		if (t->out.is_gone && !t->is_stopping)
			stop(t);
		if (has_daemon && fds[DAEMON].revents && ingero_process(t->ingero) < 0 && !t->has_ended)
			on_end(NULL, -EPIPE, t);
	}
}

/* ---- the way through ---- */

static enum trace_view view_choose(const struct trace_fields *f, const struct options_rest *rest)
{
	if (f->is_json)
		return TRACE_VIEW_JSON;
	if (rest->argc)
		return TRACE_VIEW_PROGRAM; /* the program has the terminal */
	return output_is_terminal(STDOUT_FILENO) ? TRACE_VIEW_SCREEN : TRACE_VIEW_LINES;
}

/* After the loop: the summary, or why there is none. Return: exit status as far as tracing goes */
static int finish(struct trace *t)
{
	const Ingero__V1__Summary *last = NULL;
	int r = 0;

	if (t->summary.is_whole)
		last = &t->summary.view;
	else if (t->figures.is_whole && !t->out.is_gone)
		last = &t->figures.view;

	if (t->view == TRACE_VIEW_PROGRAM) {
		t->out.fd = STDERR_FILENO;
		t->style = output_style(STDERR_FILENO, t->fields->no_color);
	}
	if (t->view == TRACE_VIEW_PROGRAM && t->child.has_failed)
		return COMMAND_FAILED; /* start_take() said why; figures of nothing say nothing */
	if (t->out.is_stuck && t->gave_up)
		return STATUS_SIGINT;
	if (last && t->view == TRACE_VIEW_JSON)
		r = t->summary.is_whole ? trace_json_summary(&t->out.buf, last) : 0;
	else if (last)
		r = trace_report_summary(&t->setting, last, /* is_cut= */ !t->summary.is_whole, &t->style, &t->out.buf);
	if (r == 0)
		r = output_flush(&t->out);
	if (r == -EINTR)
		return STATUS_SIGINT;
	if (r < 0 && r != -EPIPE)
		output_error("the summary could not be written: %s", strerror(-r));

	if (t->summary.is_whole || t->out.is_gone)
		return r < 0 && r != -EPIPE ? COMMAND_FAILED : COMMAND_OK;
	if (t->gave_up)
		return STATUS_SIGINT;
	if (t->end_r == -EREMOTEIO || *ingero_last_error(t->ingero))
		output_error("%s", ingero_last_error(t->ingero));
	else
		output_error("ingero-collectord ended before its summary; its messages say why");
	return COMMAND_FAILED;
}

static int trace_session(struct trace *t, const struct options_rest *rest)
{
	int r = daemon_open(t);

	if (r < 0)
		return COMMAND_FAILED; /* connect_open() said why */

	r = signals_open(t);
	if (r == 0 && rest->argc)
		r = trace_child_start(&t->child, rest->argv, &t->caller, t->view == TRACE_VIEW_JSON, &t->mask_before);
	if (r < 0) {
		output_error("cannot start %s: %s", rest->argc ? t->scope + sizeof("of") : "tracing", strerror(-r));
		return COMMAND_FAILED;
	}
	r = stream_open(t);
	if (r < 0) {
		output_error("cannot trace: %s",
			     *ingero_last_error(t->ingero) ? ingero_last_error(t->ingero) : strerror(-r));
		return COMMAND_FAILED;
	}

	if (t->view == TRACE_VIEW_SCREEN)
		screen_enter(t);
	loop(t);
	terminal_leave();
	return finish(t);
}

static int trace_run(const void *fields, const struct options_rest *rest)
{
	struct trace t = {
		.fields = fields,
		.caller = caller_get(),
		.signal_fd = -1,
		.proc_fd = -1,
		.child = TRACE_CHILD_INIT,
		.out = OUTPUT_INIT(STDOUT_FILENO),
		.machine = { -1, -1, -1, -1 },
	};
	const char *sentence = contradiction(t.fields, rest);
	bool is_gone;
	int status;

	if (sentence)
		return command_refuse(sentence);
	t.view = view_choose(t.fields, rest);
	t.style = output_style(STDOUT_FILENO, t.fields->no_color);
	t.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	words_set(&t, rest);
	machine_update(&t);
	(void)signal(SIGPIPE, SIG_IGN); /* who writes to whom is known here: seen as -EPIPE, after which we clean up */

	status = trace_session(&t, rest);
	trace_child_done(&t.child);
	ingero_close(t.ingero);

	trace_summary_done(&t.arriving);
	trace_summary_done(&t.figures);
	trace_summary_done(&t.previous);
	trace_summary_done(&t.summary);
	if (t.start)
		ingero__v1__start__free_unpacked(t.start, NULL);
	if (t.signal_fd >= 0)
		(void)close(t.signal_fd);
	if (t.proc_fd >= 0)
		(void)close(t.proc_fd);
	is_gone = t.out.is_gone;
	output_done(&t.out);

	if (t.child.has_ended && t.child.is_released)
		return t.child.exit_status;
	if (is_gone) {
		/* As `cat | head` ends: quietly, by the signal that we held off to clean up. */
		(void)signal(SIGPIPE, SIG_DFL);
		(void)raise(SIGPIPE);
	}
	return status;
}

static const char *const trace_paragraphs[] = {
	"Watches the CUDA calls of your own processes: with exact counts, percentiles and where each call's time went. "
	"On a "
	"terminal the table is live; q or Ctrl-C ends it with the summary. Without a terminal there are plain lines.",
	"A program behind -- is started once everything is in place, as yourself also under sudo. It keeps the "
	"terminal; the "
	"summary comes on stderr when it has ended, and its exit status is passed on (128 and the signal's number when "
	"a signal "
	"killed it, 127 not found, 126 not started). sudo drops variables such as LD_LIBRARY_PATH: give those behind "
	"--, as in "
	"'sudo ingero trace -- env LD_LIBRARY_PATH=DIR PROGRAM'.",
	"Where no service runs, sudo starts a private daemon that ends with the command.",
	NULL,
};

const struct command command_trace = {
	.name = "trace",
	.summary = "watch CUDA calls live: how many, how long, and why",
	.usage = "[options] [-- PROGRAM [ARGUMENT...]]",
	.paragraphs = trace_paragraphs,
	.options = { .command = "trace", .rows = trace_options, .n = ARRAY_SIZE(trace_options), .takes_program = true },
	.fields_bytes = sizeof(struct trace_fields),
	.defaults = &trace_defaults,
	.run = trace_run,
};
