// SPDX-License-Identifier: Apache-2.0
/*
 * `ingero trace`: hold a lease on the daemon while this command runs, and show what the daemon sends as a live screen,
 * as plain lines or as JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/parse.h"
#include "cli/command.h"
#include "cli/connect.h"
#include "libingero/answers/explain/finding.h"
#include "cli/output.h"
#include "cli/trace/child.h"
#include "cli/trace/session.h"
#include "libingero/render/user.h"
#include "libingero/connect/caller.h"

#define PERCENT_MOST 1000000

/* Options of the daemon that this command passes to a private daemon. */
enum handed {
#define OPTION(...)
#define CLIENT_OPTION(ID, ...) HANDED_##ID,
#include "base/daemon_options.def"
	HANDED_COUNT
};

struct trace_fields {
	struct option_ids pids;
	struct option_ids uids;
	uint64_t duration_ns;
	uint64_t sample_every;
	struct trace_pace pace;
	const char *record;
	const char *stacks;
	const char *py_walker; /* both of its values mean the same: there is one walker */
	const char *db_path;
	const char *handed[HANDED_COUNT]; /* as typed; NULL: not given */
	bool is_all;
	bool is_json;
	bool is_debug;
	bool no_color;
};

static const struct trace_fields trace_defaults = { .record = "slow", .stacks = "auto", .pace = TRACE_PACE_DEFAULT };

static const char *const record_choices[] = { "slow", "all", "none", NULL };
static const char *const stack_choices[] = { "all", "auto", "none", "true", "false", NULL };
static const char *const walker_choices[] = { "auto", "ebpf", NULL };

#define FIELDS struct trace_fields
static const struct option trace_options[] = {
	PIDS_OPTION(pids,
		    "Only these processes and their children, under sudo of any user; ends with the last of them"),
	OPTION_ROW(USERS, "user", uids,
		   "Processes of these users (other users than yourself: root and members of ingero-read)",
		   .letter = 'u', .value = "NAME[,NAME...]"),
	OPTION_ROW(FLAG, "all", is_all, "Processes of all users, not only your own"),
	OPTION_ROW(DURATION, "duration", duration_ns,
		   "Stop after this time, such as 30s or 5m, from when the probes are in place; default: at Ctrl-C, or "
		   "at the end of all processes of --pid",
		   .letter = 'd', .value = "TIME", .zero_way_out = "leave it out to trace until Ctrl-C"),
	JSON_OPTION(is_json,
		    "Print one JSON object a line (docs/schema/trace-*.schema.json); a program's output then goes "
		    "to stderr"),
	OPTION_ROW(DURATION, "interval", pace.interval_ns,
		   "Without a live screen or --json print a progress line each interval, on stderr beside a "
		   "program; 0: none; default: 10s",
		   .value = "TIME"),
	OPTION_ROW(NUMBER, "deadband", pace.deadband_percent,
		   "Leave out progress lines while rate, share of time and processes change by at most this many "
		   "percent; default: leave out only lines without calls",
		   .value = "PERCENT", .max = PERCENT_MOST),
	OPTION_ROW(DURATION, "heartbeat", pace.heartbeat_ns,
		   "Print a progress line at least this often, despite --deadband and intervals without calls; 0: no "
		   "such limit; "
		   "default: 1m",
		   .value = "TIME"),
	OPTION_ROW(CHOICE, "record", record,
		   "Which calls to record besides the exact figures: slow (slow, failed, waiting, "
		   "allocating, and a sample), all, or none; default: slow",
		   .value = "slow|all|none", .choices = record_choices),
	OPTION_ROW(CONSTANT, "record-all", record, "The same as --record all", .constant = "all"),
	OPTION_ROW(NUMBER, "sampling-rate", sample_every,
		   "Of the other calls record one in N of each thread; 1: every one; 0: the default, 64", .value = "N",
		   .max = UINT32_MAX),
	OPTION_ROW(
		CHOICE, "stack", stacks,
		"Which of the recorded calls have the call stack that made them: all and auto: every one; none; alone "
		"or true: all; false: none; default: auto",
		.value = "[all|auto|none]", .choices = stack_choices, .bare = "all"),
	OPTION_ROW(CHOICE, "py-walker", py_walker,
		   "How frames of Python are read: ebpf, in the kernel at the call, which is what auto takes, too",
		   .value = "auto|ebpf", .choices = walker_choices),
	OPTION_ROW(FLAG, "debug", is_debug,
		   "Print the stack of each recorded call on stderr; instead of a live screen there are plain lines"),
	OPTION_ROW(TEXT, "db", db_path,
		   "Record to this database; needs a private daemon (root). Default: the service's, else "
		   "INGERO_DB, else ~/.ingero/ingero.db; 'none': record nothing",
		   .value = "FILE"),
#define OPTION(...)
#define CLIENT_OPTION(ID, client_help, daemon_help, ...)                                                               \
	{ .help = client_help, .keeps_text = true, .field = offsetof(FIELDS, handed[HANDED_##ID]), __VA_ARGS__ },
#include "base/daemon_options.def"
	NO_COLOR_OPTION(no_color),
};

/* names of the daemon's record policies */
static const struct option handed_options[] = {
#define OPTION(...)
#define CLIENT_OPTION(ID, client_help, daemon_help, ...) [HANDED_##ID] = { __VA_ARGS__ },
#include "base/daemon_options.def"
};

struct trace {
	const struct trace_fields *fields;
	struct caller caller;
	char scope[96];
	char kept[64];
	char explain[sizeof(struct explain_command)];
};

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
		(void)buf_printf(&scope, "of %s", option_quote(trace_child_name(rest->argv)).text);
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
			       f->sample_every ? f->sample_every : TRACE_SAMPLE_EVERY);
	else
		(void)snprintf(t->kept, sizeof(t->kept), "%s",
			       strcmp(f->record, "all") == 0 ? "every call" : "no single calls");
}

/* Checks combinations of options. Return: NULL, or a sentence */
static const char *contradiction(const struct trace_fields *f, const struct options_rest *rest)
{
	if (rest->argc && f->pids.n)
		return "trace takes either '--pid' or a program after '--', not both";
	if (rest->argc && f->uids.n)
		return "trace takes either '--user' or a program after '--', not both; a program runs as yourself";
	if (rest->argc && f->is_all)
		return "trace takes either '--all' or a program after '--', not both";
	if (f->pids.n && f->uids.n)
		return "trace takes either '--pid' or '--user', not both";
	if (f->pace.interval_ns && f->pace.interval_ns < TRACE_FIGURES_PERIOD_NS)
		return "'--interval' takes 1s or more, or 0 for no progress lines";
	return NULL;
}

static bool is_process_of_user(const struct trace *t, uint32_t pid)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) < 0 || st.st_uid == t->caller.uid;
}

static bool is_of_others(const struct trace *t)
{
	const struct trace_fields *f = t->fields;
	bool is_any = f->is_all;

	for (size_t i = 0; i < f->uids.n; i++)
		is_any |= f->uids.items[i] != t->caller.uid;
	for (size_t i = 0; i < f->pids.n; i++)
		is_any |= !is_process_of_user(t, f->pids.items[i]);
	return is_any && t->caller.is_sudo;
}

/* The command that shows the recording: all of one's own file; of a service's what the user behind sudo may see. */
static void explain_set(struct trace *t, bool is_private)
{
	bool needs_all = !is_private && is_of_others(t);

	(void)snprintf(t->explain, sizeof(t->explain), "%s",
		       needs_all ? "sudo ingero explain --all" : explain_command(t->fields->db_path).text);
}

static int daemon_open(const struct trace *t, struct ingero **ret_ingero, bool *ret_is_private)
{
	const struct trace_fields *f = t->fields;
	const char *args[2 * HANDED_COUNT + 1] = { NULL };
	char names[HANDED_COUNT][64];
	struct ingero_connect_wish wish = {
		.command = "trace",
		.kind = INGERO_CONNECT_CAPTURE,
		.acts_as_root =
			f->uids.n > 0 || f->pids.n > 0, /* named processes and users are traced whoever owns them */
		.is_all = f->is_all,
		.db_path = f->db_path,
		.daemon_args = args,
	};
	size_t n = 0;

	for (size_t i = 0; i < HANDED_COUNT; i++) {
		const struct option *row = &handed_options[i];

		if (!f->handed[i] || strcmp(f->handed[i], row->initial) == 0)
			continue;
		(void)snprintf(names[i], sizeof(names[i]), "--%s", row->name);
		args[n++] = names[i];
		args[n++] = f->handed[i];
		/* The request has the size of the ring, too: a service itself refuses another size. */
		if (i != HANDED_RING && !wish.needs_private) {
			wish.needs_private = true;
			wish.needs_private_why = names[i];
		}
	}
	return connect_open(&wish, ret_ingero, ret_is_private);
}

/* Words of Ingero's users, true and false, become ours. */
static const char *stacks_word(const struct trace_fields *f)
{
	if (strcmp(f->stacks, "true") == 0)
		return "all";
	return strcmp(f->stacks, "false") == 0 ? "none" : f->stacks;
}

/* The screen would be written over by lines on the same terminal. */
static enum trace_view view_of(const struct trace_fields *f, bool has_program)
{
	enum trace_view view = trace_view_choose(f->is_json, has_program);

	return view == TRACE_VIEW_SCREEN && f->is_debug ? TRACE_VIEW_LINES : view;
}

static int trace_run(const void *fields, const struct options_rest *rest)
{
	struct trace t = { .fields = fields, .caller = caller_get() };
	const struct trace_fields *f = fields;
	bool has_scope = f->pids.n || f->uids.n || f->is_all;
	uint32_t own = t.caller.uid;
	Ingero__V1__TraceRequest request = INGERO__V1__TRACE_REQUEST__INIT;
	struct trace_wish wish = {
		.caller = &t.caller,
		.request = &request,
		.view = view_of(f, rest->argc > 0),
		.has_debug = f->is_debug,
		.no_color = f->no_color,
		.pace = f->pace,
		.setting = { .scope = t.scope,
			     .kept = t.kept,
			     .explain = t.explain,
			     .names_processes = f->pids.n || rest->argc,
			     .has_program = rest->argc },
		.program = rest->argc ? rest->argv : NULL,
	};
	const char *sentence = contradiction(f, rest);
	struct trace_result result;
	struct ingero *ingero;
	bool is_private;

	if (sentence)
		return command_refuse(sentence);
	words_set(&t, rest);
	if (f->handed[HANDED_BUDGET] && strcmp(f->handed[HANDED_BUDGET], "off") == 0)
		output_error(
			"--budget off: tracing takes whatever it costs; a program that makes 100 000 calls a second "
			"loses a fifth of its speed, with more calls more");
	if (daemon_open(&t, &ingero, &is_private) < 0)
		return COMMAND_FAILED; /* connect_open() printed the error */
	explain_set(&t, is_private);

	request.n_pids = f->pids.n;
	request.pids = f->pids.items;
	request.n_uids = has_scope ? f->uids.n : 1;
	request.uids = has_scope ? f->uids.items : &own;
	request.all = f->is_all && !f->pids.n && !f->uids.n;
	request.events = (f->is_json || f->is_debug) && strcmp(f->record, "none") != 0;
	request.record = (char *)(uintptr_t)f->record; /* the message borrows it */
	request.stacks = (char *)(uintptr_t)stacks_word(f);
	request.sample_every = (uint32_t)f->sample_every;
	/* Figures are requested also where no screen shows them: if the daemon dies, the last figures remain. */
	request.figures_period_ns = TRACE_FIGURES_PERIOD_NS;
	request.recent_ns = wish.view == TRACE_VIEW_SCREEN ? TRACE_RECENT_NS : 0;
	request.each_second = f->is_json;
	request.duration_ns = f->duration_ns;
	if (f->handed[HANDED_RING])
		(void)parse_size(f->handed[HANDED_RING], &request.ringbuf_bytes); /* valid: its row has checked it */

	result = trace_session_run(&ingero, &wish);
	ingero_close(ingero);
	trace_session_leave(&result);
	return result.status;
}

static const char *const trace_paragraphs[] = {
	"Watches the CUDA calls of your own processes: exact counts, percentiles, and where each call's time went. "
	"On a "
	"terminal the table is live, of the last 10 seconds or (key t) since the start; ? shows the keys; q or Ctrl-C "
	"ends "
	"it with the summary. Without a terminal it prints plain lines, "
	"one of "
	"progress every 10 seconds (--interval); intervals without calls have a line once a minute (--heartbeat).",
	"A program after -- starts once the probes are in place, as yourself also under sudo. It keeps the "
	"terminal; progress lines "
	"and the summary come on stderr, and its exit status is passed on (128 and the signal's number when "
	"a signal "
	"killed it, 127 not found, 126 not started). sudo drops variables such as LD_LIBRARY_PATH: give them after "
	"--, as in "
	"'sudo ingero trace -- env LD_LIBRARY_PATH=DIR PROGRAM'.",
	"--json prints the start, each recorded call (event) with its stack, findings, losses, each second the figures "
	"of that second alone, and at the end the summary of all.",
	"Where no service runs, sudo starts a private daemon that ends with the command.",
	NULL,
};

const struct command command_trace = {
	.name = "trace",
	.summary = "watch CUDA calls live: counts, durations, and where the time went",
	.usage = "[options] [-- PROGRAM [ARGUMENT...]]",
	.paragraphs = trace_paragraphs,
	.options = { .command = "trace", .rows = trace_options, .n = ARRAY_SIZE(trace_options), .takes_program = true },
	.fields_bytes = sizeof(struct trace_fields),
	.defaults = &trace_defaults,
	.run = trace_run,
};
