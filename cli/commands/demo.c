// SPDX-License-Identifier: Apache-2.0
/*
 * `ingero demo`: a simulated process. A private daemon plays its calls through the same path as real calls, and they
 * are shown as `ingero trace` shows them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/demo.h"
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/connect.h"
#include "libingero/answers/explain/finding.h"
#include "libingero/answers/explain/report.h"
#include "cli/output.h"
#include "libingero/answers/time.h"
#include "cli/trace/session.h"
#include "libingero/connect/demo.h"

#define EXPLAIN_DEADLINE_MS 60000

struct demo_fields {
	const char *speed;
	const char *db_path;
	bool is_json;
	bool no_color;
};

static const struct demo_fields demo_defaults = { .speed = "1" };

#define FIELDS struct demo_fields
static const struct option demo_options[] = {
	OPTION_ROW(TEXT, "speed", speed, "Speed factor, such as 5 or 0.5; the findings stay the same", .value = "X"),
	JSON_OPTION(is_json, "Print one JSON object a line, as 'ingero trace --json' does"),
	OPTION_ROW(TEXT, "db", db_path,
		   "Keep the recording in this database, to try explain and query on; default: a temporary file that "
		   "is removed at the end",
		   .value = "FILE"),
	NO_COLOR_OPTION(no_color),
};

/* ---- the scenarios ---- */

/* "incident, cold-start and cpu-contention" */
static void names_append(struct buf *out)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; demo_get(i); i++)
		n += demo_get(i)->sentence != NULL;
	for (size_t i = 0; demo_get(i); i++)
		if (demo_get(i)->sentence && ++at)
			(void)buf_printf(out, "%s%s", at == 1 ? "" : at == n ? " and " : ", ", demo_get(i)->name);
}

static int refuse_name(const char *name, const struct demo_row *row)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	const char *names[DEMOS_MAX], *near;
	size_t n = 0;

	if (row) {
		(void)buf_printf(&text, "the demo %s is not supported; there are ", option_quote(name).text);
	} else {
		for (; n < DEMOS_MAX && demo_get(n); n++)
			names[n] = demo_get(n)->sentence ? demo_get(n)->name : NULL;
		near = name_nearest(name, names, n);
		(void)buf_printf(&text, "there is no demo %s", option_quote(name).text);
		if (near)
			(void)buf_printf(&text, "; did you mean '%s'?", near);
		(void)buf_append_text(&text, near ? " There are " : "; there are ");
	}
	names_append(&text);
	return command_refuse(buf_text(&text));
}

static int list_show(bool no_color)
{
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	struct text_style style = output_style(STDOUT_FILENO, no_color);

	text_paragraph(&out.buf, &style, "",
		       "Simulated processes, played through all of ingero like real ones: no GPU, no root.");
	text_line(&out.buf, &style, TEXT_PLAIN, "%s", "");
	for (size_t i = 0; demo_get(i); i++)
		if (demo_get(i)->sentence)
			text_line(&out.buf, &style, TEXT_PLAIN, "  %-18s %s", demo_get(i)->name, demo_get(i)->sentence);
	text_line(&out.buf, &style, TEXT_PLAIN, "%s", "");
	text_paragraph(
		&out.buf, &style, "",
		"'ingero demo incident' plays one, 'ingero demo all' plays all, one after the other; '--speed 5' plays "
		"faster.");
	return output_flush(&out) < 0 ? COMMAND_FAILED : COMMAND_OK;
}

/* ---- one scenario ---- */

/* Prints what `ingero explain` prints of the database. Return: exit status */
static int explain(struct ingero *ingero, const struct trace_result *result, const char *db_path, bool no_color)
{
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	struct text_style style = output_style(STDOUT_FILENO, no_color);
	Ingero__V1__ExplainRequest request = INGERO__V1__EXPLAIN_REQUEST__INIT;
	Ingero__V1__Span span = INGERO__V1__SPAN__INIT;
	struct explain_question question = {
		.now_unix_ns = clock_now_unix_ns(), .whose = "of this demo", .db = db_path, .is_forgotten = !db_path
	};
	ProtobufCMessage *reply = NULL;

	span.from_unix_ns = result->start_unix_ns;
	request.span = &span;
	if (ingero_call(ingero, "ingero.v1.Query.Explain", &request.base, EXPLAIN_DEADLINE_MS, &reply) < 0) {
		output_error("cannot explain the demo: %s", ingero_last_error(ingero));
		return COMMAND_FAILED;
	}
	text_line(&out.buf, &style, TEXT_PLAIN, "%s", "");
	(void)explain_report_append(&question, (Ingero__V1__ExplainReply *)reply, &style, &out.buf);
	ingero__v1__explain_reply__free_unpacked((Ingero__V1__ExplainReply *)reply, NULL);
	return output_flush(&out) < 0 ? COMMAND_FAILED : COMMAND_OK;
}

static struct trace_result play(const struct demo_fields *f, const struct demo_row *row, const struct caller *caller)
{
	static char record[] = "slow";
	CLEANUP(demo_file_done) struct demo_file file = DEMO_FILE_INIT;
	struct explain_command command = explain_command(f->db_path);
	char scenario[64];
	const char *args[] = { "--demo", scenario, NULL, NULL, NULL };
	struct ingero_connect_wish connect = {
		.command = "demo", .kind = INGERO_CONNECT_DEMO, .db_path = f->db_path, .daemon_args = args
	};
	Ingero__V1__TraceRequest request = INGERO__V1__TRACE_REQUEST__INIT;
	uint32_t own = caller->uid;
	struct trace_wish wish = {
		.caller = caller,
		.request = &request,
		.view = trace_view_choose(f->is_json, /* has_program= */ false),
		.no_color = f->no_color,
		.pace = TRACE_PACE_DEFAULT,
		.setting = { .scope = "of this demo",
			     .kept = "slow calls and 1 in 64",
			     .demo = row->name,
			     .explain = f->db_path ? command.text : NULL },
	};
	struct trace_result result = { .status = COMMAND_FAILED, .is_interrupted = true };
	struct ingero *ingero;

	(void)snprintf(scenario, sizeof(scenario), "%s:%s", row->name, f->speed);
	if (!f->db_path) {
		int r = demo_file_make(&file, caller);

		if (r < 0) {
			output_error("cannot make a temporary file in '%s': %s", file.directory, strerror(-r));
			return result;
		}
		args[2] = "--db";
		args[3] = file.path;
	}
	if (connect_open(&connect, &ingero, NULL) < 0)
		return result; /* it has printed the error */

	request.uids = &own;
	request.n_uids = 1;
	request.events = f->is_json;
	request.record = record;
	request.figures_period_ns = TRACE_FIGURES_PERIOD_NS;
	request.recent_ns = wish.view == TRACE_VIEW_SCREEN ? TRACE_RECENT_NS : 0;
	request.each_second = f->is_json;
	result = trace_session_run(&ingero, &wish);
	if (ingero && !f->is_json && !result.is_gone && explain(ingero, &result, f->db_path, f->no_color) != COMMAND_OK)
		result.status = COMMAND_FAILED;
	ingero_close(ingero);
	return result;
}

static void farewell(const struct demo_fields *f)
{
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	struct text_style style = output_style(STDOUT_FILENO, f->no_color);
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	text_line(&out.buf, &style, TEXT_PLAIN, "%s", "");
	if (f->db_path)
		(void)buf_printf(&text, "This was a demo; its recording is kept. To query it: %s",
				 explain_command(f->db_path).text);
	else
		(void)buf_append_text(&text, "This was a demo. Its recording was a temporary file, which is "
					     "removed; '--db FILE' keeps it to try explain and query on.");
	text_paragraph(&out.buf, &style, "", buf_text(&text));
	(void)output_flush(&out);
}

static bool is_speed(const char *text)
{
	char *end;
	double speed = strtod(text, &end);

	return end != text && !*end && strlen(text) < 24 && speed >= DEMO_SPEED_MIN && speed <= DEMO_SPEED_MAX;
}

static int demo_run(const void *fields, const struct options_rest *rest)
{
	const struct demo_fields *f = fields;
	const char *name = rest->argc ? rest->argv[0] : NULL;
	bool is_all = name && strcmp(name, "all") == 0;
	const struct demo_row *row = name && !is_all ? demo_find(name) : NULL;
	struct caller caller = caller_get();
	struct trace_result result = { .status = COMMAND_OK };

	if (!is_speed(f->speed))
		return command_refuse("'--speed' takes a number from 0.1 to 1000, such as 5: the speed factor");
	if (!name && f->is_json)
		return command_refuse("'--json' needs to know which demo, such as 'ingero demo incident --json'");
	if (!name)
		return list_show(f->no_color);
	if (!is_all && (!row || !row->sentence))
		return refuse_name(name, row);

	for (size_t i = 0; demo_get(i); i++) {
		if (!demo_get(i)->sentence || (row && row != demo_get(i)))
			continue;
		result = play(f, demo_get(i), &caller);
		if (result.status != COMMAND_OK || result.is_gone || result.is_interrupted)
			break;
	}
	if (!f->is_json && result.status == COMMAND_OK && !result.is_gone)
		farewell(f);
	trace_session_leave(&result);
	return result.status;
}

static const char *const demo_words[] = {
#define DEMO(name_, ...) name_,
#include "base/demos.def"
	"all",
	NULL,
};

static const char *const demo_paragraphs[] = {
	"Plays a simulated process through the same path as real calls, and shows it as 'ingero "
	"trace' does; then prints the findings. Needs no GPU and no root, traces nothing and ends by itself. Without a "
	"name it lists the demos.",
	NULL,
};

const struct command command_demo = {
	.name = "demo",
	.summary = "simulate a scenario: no GPU, no root",
	.usage = "[options] [SCENARIO|all]",
	.paragraphs = demo_paragraphs,
	.options = { .command = "demo",
		     .rows = demo_options,
		     .n = ARRAY_SIZE(demo_options),
		     .takes = "SCENARIO",
		     .words = demo_words },
	.fields_bytes = sizeof(struct demo_fields),
	.defaults = &demo_defaults,
	.run = demo_run,
};
