// SPDX-License-Identifier: Apache-2.0
/*
 * `ingero stacks`: where recorded calls were made, as a table of call sites, or as a profile for flame graphs and other
 * programs.
 */
#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/save.h"
#include "cli/window.h"
#include "libingero/answers/recorded.h"
#include "libingero/answers/stack/profile.h"
#include "libingero/answers/stack/report.h"
#include "libingero/render/units.h"

#define STACKS_SINCE_DEFAULT_NS (3600 * NSEC_PER_SEC)
#define TABLE_SITES 20u /* lines that a person reads */
#define LIMIT_DEFAULT UINT64_MAX
#define FILE_COLUMNS 80u

enum stacks_format { FORMAT_TEXT, FORMAT_FOLDED, FORMAT_SVG, FORMAT_SPEEDSCOPE, FORMAT_PPROF, FORMAT_COUNT };

struct stacks_fields {
	struct option_ids pids;
	struct window_wish window;
	struct window_wish before;
	const char *by;
	const char *measure;
	const char *op;
	const char *format; /* NULL: not given */
	const char *path;
	const char *before_db;
	struct option_texts dbs;
	uint64_t limit;
	bool is_forced;
	bool is_all;
	bool is_json;
	bool no_color;
};

static const struct stacks_fields stacks_defaults = { .by = "site", .measure = "time", .limit = LIMIT_DEFAULT };
static const char *const by_choices[] = { "site", "stack", NULL };
static const char *const stacks_formats[] = { [FORMAT_TEXT] = "text",	[FORMAT_FOLDED] = "folded",
					      [FORMAT_SVG] = "svg",	[FORMAT_SPEEDSCOPE] = "speedscope",
					      [FORMAT_PPROF] = "pprof", NULL };

#define FIELDS struct stacks_fields
static const struct option stacks_options[] = {
	WINDOW_OPTIONS(window, "1h, with --db the whole database"),
	OPTION_ROW(
		CHOICE, "by", by,
		"What a row is: site, a line of a program and an operation, of all processes; or stack, one stack of "
		"one process; default: site",
		.value = "site|stack", .choices = by_choices),
	OPTION_ROW(
		CHOICE, "measure", measure,
		"What rows are sorted by, and how wide boxes are: time, count, bytes, or blame: and a class, such as "
		"blame:runnable; default: time",
		.value = "MEASURE", .choices = stack_measure_names),
	PIDS_OPTION(pids, "Only calls of these processes"),
	OPTION_ROW(TEXT, "op", op, "Only this operation, such as cudaMalloc or cudaStreamSync, in any case",
		   .value = "OPERATION"),
	OPTION_ROW(NUMBER, "limit", limit, "Maximum number of rows, 0: all; default: 20, in other formats all",
		   .value = "N"),
	OPTION_ROW(CHOICE, "format", format,
		   "text: a table; folded: lines for FlameGraph and Inferno; svg: a flame graph for a browser; "
		   "speedscope: a file for speedscope.app; pprof: a profile for 'go tool pprof'; default: text",
		   .value = "FORMAT", .choices = stacks_formats),
	OUTPUT_OPTIONS(path, is_forced, "the default"),
	OPTION_ROW(TIME, "before-from", before.from,
		   "With folded and svg: compare with an earlier time, from this clock time on", .value = "WHEN",
		   .parse = option_time_parse),
	OPTION_ROW(TIME, "before-to", before.to, "End of the earlier time", .value = "WHEN",
		   .parse = option_time_parse),
	OPTION_ROW(TEXT, "before-db", before_db,
		   "Compare with this database; all of it unless --before-from and --before-to say a time",
		   .value = "FILE"),
	JSON_OPTION(is_json, "Print one JSON object (docs/schema/stacks.schema.json)"),
	ALL_OPTION(is_all),
	DATABASE_READ_OPTION(dbs),
	NO_COLOR_OPTION(no_color),
};

/* What was asked for, and what came. */
struct stacks {
	const struct stacks_fields *fields;
	enum stacks_format format;
	struct stack_question question;
	struct stack_rows rows;
	struct stack_rows before;
	struct stack_sites sites;
};

static void stacks_done(struct stacks *s)
{
	stack_sites_done(&s->sites);
	stack_rows_done(&s->before);
	stack_rows_done(&s->rows);
}

static enum stacks_format format_of(const struct stacks_fields *f)
{
	for (enum stacks_format i = 0; f->format && i < FORMAT_COUNT; i++)
		if (strcmp(f->format, stacks_formats[i]) == 0)
			return i;
	return FORMAT_TEXT;
}

static bool is_comparison(const struct stacks_fields *f)
{
	return f->before_db || window_is_given(&f->before);
}

static bool is_to_stdout(const struct stacks_fields *f)
{
	return !f->path || strcmp(f->path, "-") == 0;
}

/* Return: NULL, or a sentence */
static const char *before_contradicts(const struct stacks_fields *f)
{
	enum stacks_format format = format_of(f);

	if (!is_comparison(f))
		return NULL;
	if (format != FORMAT_FOLDED && format != FORMAT_SVG)
		return "flame graphs are compared: '--before-from' and '--before-db' belong to '--format svg' and "
		       "'--format folded'";
	if (!f->before_db && (!f->before.from.unix_ns || !f->before.to.unix_ns))
		return "the earlier time has two ends: '--before-from' and '--before-to'";
	if (f->before.from.unix_ns && f->before.to.unix_ns && f->before.from.unix_ns >= f->before.to.unix_ns)
		return "'--before-from' is not before '--before-to': the earlier time is empty";
	if (f->limit != LIMIT_DEFAULT)
		return "all stacks of two times are compared; leave out '--limit'";
	return NULL;
}

/* Return: NULL, or a sentence */
static const char *contradiction(const struct stacks_fields *f)
{
	if (f->is_json && f->format)
		return "take either '--json' or '--format'";
	if (f->is_forced && is_to_stdout(f))
		return "'--force' belongs to '--output FILE'";
	if (format_of(f) == FORMAT_PPROF && is_to_stdout(f) && isatty(STDOUT_FILENO))
		return "a profile for pprof is binary data, not for a terminal; name a file with '-o FILE'";
	if (before_contradicts(f))
		return before_contradicts(f);
	return window_contradicts(&f->window);
}

/* ---- asking ---- */

static int rows_ask(const struct stacks_fields *f, struct ingero *ingero, Ingero__V1__Span span, struct stack_rows *ret)
{
	struct stack_wish wish = { .span = span, .pids = f->pids.items, .n_pids = f->pids.n, .op = f->op };
	int r = stack_ask(ingero, &wish, ret);

	if (r < 0)
		output_error("%s", ingero_why(ingero, r));
	return r;
}

/* The earlier rows: of another time of the same recording, or of another file. Prints errors. */
static int before_ask(struct stacks *s, struct ingero *ingero)
{
	const struct stacks_fields *f = s->fields;
	const struct ingero_connect_wish wish = { .command = "stacks", .is_all = f->is_all, .db_path = f->before_db };
	struct ingero *other = NULL;
	Ingero__V1__Span span = INGERO__V1__SPAN__INIT;
	int r = f->before_db ? connect_open(&wish, &other, NULL) : 0;

	if (r < 0)
		return r;
	span.from_unix_ns = f->before.from.unix_ns;
	span.to_unix_ns = f->before.to.unix_ns;
	r = rows_ask(f, other ? other : ingero, span, &s->before);
	ingero_close(other);
	return r;
}

/* ---- output ---- */

/* Of one operation every call is asked for; else what is within another call is a part of it. */
static bool takes_inner(const struct stacks *s)
{
	return s->question.op != NULL;
}

/* "14:02:51 to 14:07:51 · 12 411 recorded calls, 6 200 of them within others" */
static void subtitle_append(const struct stacks *s, struct buf *out)
{
	const Ingero__V1__StacksEnd *end = s->rows.end;

	stack_window_append(&s->question, &s->rows, out);
	if (!end)
		return;
	(void)buf_printf(out, " · %s", units_things(end->calls, "recorded call", "recorded calls").text);
	if (!takes_inner(s) && stack_inner(&s->rows))
		(void)buf_printf(out, ", %s of them within others, not counted again",
				 units_count(stack_inner(&s->rows)).text);
	if (end->is_sampled && s->question.measure.kind <= STACK_COUNT)
		(void)buf_append_text(out, ", estimates for all calls");
}

static int format_append(enum stacks_format format, const struct flame *profile, const struct flame_head *head,
			 struct buf *out)
{
	switch (format) {
	case FORMAT_FOLDED:
		return flame_folded_append(profile, head, out);
	case FORMAT_SVG:
		return flame_svg_append(profile, head, out);
	case FORMAT_SPEEDSCOPE:
		return flame_speedscope_append(profile, head, out);
	case FORMAT_PPROF:
		return flame_pprof_append(profile, head, out);
	case FORMAT_TEXT:
	case FORMAT_COUNT:
		break;
	}
	return -EINVAL;
}

static int change_fill(const struct stacks *s, struct flame *profile)
{
	int r = stack_profile_init_change(&s->question.measure, profile);

	if (r == 0)
		r = stack_profile_add_change(profile, &s->question.measure, &s->rows, takes_inner(s),
					     /* is_before= */ false);
	if (r == 0)
		r = stack_profile_add_change(profile, &s->question.measure, &s->before, takes_inner(s),
					     /* is_before= */ true);
	return r;
}

static int profile_fill(const struct stacks *s, struct flame *profile)
{
	int r = stack_profile_init(&s->rows, profile);

	return r < 0 ? r : stack_profile_add(profile, &s->sites, s->question.limit, takes_inner(s));
}

static int profile_append(const struct stacks *s, struct buf *out)
{
	CLEANUP(flame_done) struct flame profile = FLAME_INIT;
	CLEANUP(buf_done) struct buf title = BUF_INIT, subtitle = BUF_INIT;
	const Ingero__V1__Window *window = s->rows.end ? s->rows.end->window : NULL;
	bool is_change = is_comparison(s->fields);
	struct flame_head head = { .before = is_change ? 1 : FLAME_NONE };
	int r = is_change ? change_fill(s, &profile) : profile_fill(s, &profile);

	if (r < 0)
		return r;
	(void)buf_printf(&title, "calls by stack, %s", stack_measure_value(&s->question.measure).name);
	subtitle_append(s, &subtitle);
	head.title = buf_text(&title);
	head.subtitle = buf_text(&subtitle);
	head.value = is_change ? 0 : stack_profile_value(&profile, &s->question.measure);
	head.from_unix_ns = window ? window->from_unix_ns : 0;
	head.to_unix_ns = window ? window->to_unix_ns : 0;
	return format_append(s->format, &profile, &head, out);
}

/* There is nothing to draw: why, on stderr. Return: exit status */
static int nothing_say(const struct stacks *s)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	stack_nothing_append(&s->question, &s->rows, &text);
	output_error("%s", buf_text(&text));
	return COMMAND_FAILED;
}

static int answer_append(const struct stacks *s, struct buf *out)
{
	const struct text_style file_style = { .is_utf8 = true, .columns = FILE_COLUMNS };
	struct text_style style =
		is_to_stdout(s->fields) ? output_style(STDOUT_FILENO, s->fields->no_color) : file_style;

	if (s->fields->is_json)
		return stack_json_append(&s->question, &s->rows, &s->sites, out);
	if (s->format == FORMAT_TEXT)
		return stack_report_append(&s->question, &s->rows, &s->sites, &style, out);
	return profile_append(s, out);
}

static int answer_write(const struct stacks *s)
{
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	int r;

	if (s->format != FORMAT_TEXT && !stack_has_any(&s->rows))
		return nothing_say(s);
	r = answer_append(s, &out.buf);
	if (r < 0) {
		output_error("the answer could not be written: %s", strerror(-r));
		return COMMAND_FAILED;
	}
	if (is_to_stdout(s->fields))
		return output_flush(&out) < 0 ? COMMAND_FAILED : COMMAND_OK;
	r = save_file(s->fields->path, s->fields->is_forced, "the stacks", &out.buf);
	return r < 0 ? COMMAND_FAILED : COMMAND_OK;
}

static void question_fill(struct stacks *s, const Ingero__V1__Span *span)
{
	const struct stacks_fields *f = s->fields;
	bool is_table = s->format == FORMAT_TEXT && !f->is_json;

	s->question.from_unix_ns = span->from_unix_ns;
	s->question.to_unix_ns = span->to_unix_ns;
	s->question.is_chosen = window_is_given(&f->window);
	s->question.words = f->dbs.n || s->question.is_chosen ? NULL : WINDOW_DEFAULT_WORDS("1h");
	s->question.pids = f->pids.items;
	s->question.n_pids = f->pids.n;
	s->question.op = f->op;
	s->question.by = strcmp(f->by, "site") == 0 ? STACK_BY_SITE : STACK_BY_STACK;
	s->question.limit = f->limit != LIMIT_DEFAULT ? f->limit : is_table ? TABLE_SITES : 0;
	(void)stack_measure_parse(f->measure, &s->question.measure); /* one of the choices */
}

static int stacks_run(const void *fields, const struct options_rest *rest)
{
	const struct stacks_fields *f = fields;
	const struct ingero_connect_wish wish = { .command = "stacks",
						  .is_all = f->is_all,
						  .db_path = f->dbs.items[0],
						  .more_db_paths = f->dbs.n ? &f->dbs.items[1] : NULL };
	CLEANUP(ingero_explanation_done) struct ingero_explanation whole = { .reply = NULL };
	CLEANUP(stacks_done)
	struct stacks s = { .fields = f, .format = format_of(f), .question = { .now_unix_ns = clock_now_unix_ns() } };
	const char *sentence = contradiction(f);
	struct ingero *ingero;
	Ingero__V1__Span span;
	int r;

	(void)rest;
	if (sentence)
		return command_refuse(sentence);
	if (connect_open(&wish, &ingero, NULL) < 0)
		return COMMAND_FAILED; /* it has printed the error */
	span = window_resolve(&f->window, f->dbs.n ? 0 : STACKS_SINCE_DEFAULT_NS, s.question.now_unix_ns);
	question_fill(&s, &span);
	r = rows_ask(f, ingero, span, &s.rows);
	if (r == 0 && is_comparison(f))
		r = before_ask(&s, ingero);
	/* Not knowing what else there is takes nothing from the answer. */
	if (r == 0 && !s.rows.rows.n && recorded_ask(ingero, &whole) == 0)
		s.question.whole = whole.reply;
	ingero_close(ingero);
	if (r < 0)
		return COMMAND_FAILED;
	if (stack_sites_build(&s.rows, s.question.by, &s.question.measure, &s.sites) < 0) {
		output_error("no memory for the answer");
		return COMMAND_FAILED;
	}
	return answer_write(&s);
}

static const char *const stacks_paragraphs[] = {
	"Where recorded calls were made, those with most time first: time and number of calls, p99, what most of the "
	"time went to, the operation, and the line of the program: the innermost frame of Python, or else the "
	"innermost "
	"native one that is not of a CUDA library. Figures after ~ are estimates for all calls, where not every call "
	"was "
	"recorded.",
	"Flame graphs have the process on top and the called function at the bottom. A comparison colours red what "
	"takes "
	"a larger share than before, and blue what takes a smaller one. A call within another traced call is a part of "
	"it and not counted again, unless '--op' asks for its operation.",
	WINDOW_PARAGRAPH,
	NULL,
};

const struct command command_stacks = {
	.name = "stacks",
	.summary = "show which lines of a program make its calls; flame graphs",
	.usage = "[options]",
	.paragraphs = stacks_paragraphs,
	.options = { .command = "stacks", .rows = stacks_options, .n = ARRAY_SIZE(stacks_options) },
	.fields_bytes = sizeof(struct stacks_fields),
	.defaults = &stacks_defaults,
	.run = stacks_run,
};
