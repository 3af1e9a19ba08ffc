// SPDX-License-Identifier: Apache-2.0
/*
 * `ingero explain`: what went wrong in a window of a recording, and why.
 *
 * The default window is the last five minutes. If recording has stopped, it is the last five minutes of the recording:
 * `explain` after a trace then answers as during the trace.
 */
#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/connect.h"
#include "cli/save.h"
#include "ingero/answers.h"
#include "libingero/answers/explain/html.h"
#include "libingero/answers/explain/json.h"
#include "libingero/answers/explain/report.h"
#include "libingero/answers/recorded.h"
#include "libingero/answers/whose.h"
#include "cli/output.h"
#include "cli/window.h"

#define ID_CHARACTERS "0123456789abcdefABCDEF."

struct explain_fields {
	struct option_ids pids;
	struct window_wish window;
	uint64_t last_calls;
	struct option_texts dbs;
	bool is_per_process;
	bool is_list;
	bool is_all;
	bool is_json;
	const char *html_path;
	bool is_forced;
	bool no_color;
};

#define FIELDS struct explain_fields
static const struct option explain_options[] = {
	WINDOW_OPTIONS(window, "5m; where recording has stopped, the last 5m that were recorded"),
	OPTION_ROW(NUMBER, "last", last_calls, "Instead of a time: since the N-th last recorded call", .value = "N",
		   .min = 1),
	PIDS_OPTION(pids, "Only these processes"),
	OPTION_ROW(FLAG, "per-process", is_per_process, "Add the table of operations of every process"),
	OPTION_ROW(FLAG, "chains", is_list, "Print one line for each finding; without a time: of the whole recording"),
	JSON_OPTION(is_json, "Print one JSON object (docs/schema/explain.schema.json)"),
	OPTION_ROW(TEXT, "html", html_path, "Write the report as one HTML page to FILE; - is standard output",
		   .value = "FILE"),
	OPTION_ROW(FLAG, "force", is_forced, "With --html: overwrite FILE"),
	ALL_OPTION(is_all),
	DATABASE_READ_OPTION(dbs),
	NO_COLOR_OPTION(no_color),
};

/* Return: NULL, or a sentence */
static const char *id_check(const char *id)
{
	static char no_id[OPTIONS_ERROR_BYTES];
	const char *colon = strrchr(id, ':'), *number = colon ? colon + 1 : id; /* behind the name of a node */
	const char *file;

	if (*number && strspn(number, ID_CHARACTERS) == strlen(number))
		return NULL;
	file = option_file(id);
	if (file)
		(void)snprintf(no_id, sizeof(no_id), "%s is no id; %s", option_quote(id).text, file);
	else
		(void)snprintf(no_id, sizeof(no_id),
			       "%s is no id: ids are hexadecimal, such as 8f3a2c; 'ingero explain --chains' lists them",
			       option_quote(id).text);
	return no_id;
}

static const char *contradiction(const struct explain_fields *f, const char *id)
{
	const char *sentence = id ? id_check(id) : NULL;

	if (!sentence)
		sentence = window_contradicts(&f->window);
	if (sentence)
		return sentence;
	if (f->last_calls && window_is_given(&f->window))
		return "take either '--last' or a time, not both";
	if (id && (window_is_given(&f->window) || f->last_calls || f->pids.n || f->is_list || f->is_per_process))
		return "an id names one finding or call; leave out the time, '--last', '--pid', '--chains' and "
		       "'--per-process'";
	if (f->html_path && (id || f->is_json || f->is_list || f->is_per_process))
		return "'--html' writes the whole report; leave out the id, '--json', '--chains' and '--per-process'";
	if (f->is_forced && !f->html_path)
		return "'--force' belongs to '--html'";
	return NULL;
}

/* How the window was chosen; NULL: as asked, or the recording is shorter. */
static const char *window_words(const struct explain_fields *f, const char *id, const struct ingero_explanation *answer)
{
	switch (explain_window_of(answer, id || f->is_list || f->last_calls || window_is_given(&f->window))) {
	case EXPLAIN_WINDOW_ASKED:
		break;
	case EXPLAIN_WINDOW_DEFAULT:
		return WINDOW_DEFAULT_WORDS("5m");
	case EXPLAIN_WINDOW_LAST:
		return "the last 5m that were recorded ('--from' covers more)";
	case EXPLAIN_WINDOW_LAST_WHOLE:
		return "the last that was recorded";
	}
	return NULL;
}

/* The answer as people read it. Return: 0 or -ENOMEM */
static int report(const struct explain_fields *f, const char *id, const struct ingero *ingero,
		  const struct ingero_explanation *answer, const Ingero__V1__ExplainReply *whole, struct buf *out)
{
	struct text_style style = output_style(STDOUT_FILENO, f->no_color);
	CLEANUP(buf_done) struct buf whose = BUF_INIT, names = BUF_INIT;
	struct explain_question question = {
		.now_unix_ns = answer->asked_unix_ns,
		.from_unix_ns = answer->from_unix_ns,
		.to_unix_ns = answer->to_unix_ns,
		.words = window_words(f, id, answer),
		.kept_from_unix_ns = answer->kept_from_unix_ns,
		.kept_to_unix_ns = answer->kept_to_unix_ns,
		.whole = whole,
		.is_chosen = window_is_given(&f->window) || f->last_calls,
		.is_one = id,
		.is_list = f->is_list,
		.is_per_process = f->is_per_process,
		.db = connect_databases(&f->dbs, &names),
	};

	whose_append(ingero, f->pids.items, f->pids.n, f->dbs.n > 0, &whose);
	question.whose = buf_text(&whose);
	if (f->html_path)
		return explain_html_append(&question, answer->reply, out);
	return explain_report_append(&question, answer->reply, &style, out);
}

static int explain_run(const void *fields, const struct options_rest *rest)
{
	const struct explain_fields *f = fields;
	const char *id = rest->argc ? rest->argv[0] : NULL, *sentence = contradiction(f, id);
	const struct ingero_connect_wish connect = { .is_all = f->is_all,
						     .db_path = f->dbs.items[0],
						     .more_db_paths = f->dbs.n ? &f->dbs.items[1] : NULL };
	struct ingero_explain_wish wish = {
		.is_whole = f->is_list || window_is_given(&f->window),
		.last_calls = f->last_calls,
		.id = id,
		.pids = f->pids.items,
		.n_pids = f->pids.n,
		.per_process = f->is_per_process,
	};
	CLEANUP(ingero_explanation_done) struct ingero_explanation answer = { .reply = NULL };
	CLEANUP(ingero_explanation_done) struct ingero_explanation whole = { .reply = NULL };
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	struct ingero *ingero;
	Ingero__V1__Span span;
	int r;

	if (sentence)
		return command_refuse(sentence);
	r = connect_open(&connect, &ingero, NULL);
	if (r < 0)
		return COMMAND_FAILED; /* it has printed the error */

	span = window_resolve(&f->window, 0, clock_now_unix_ns());
	wish.from_unix_ns = span.from_unix_ns;
	wish.to_unix_ns = span.to_unix_ns;
	r = ingero_explain(ingero, &wish, &answer);
	if (r < 0)
		output_error("%s", ingero_why(ingero, r));
	else if (f->is_json)
		r = explain_json_append(&out.buf, answer.reply);
	else {
		/* Not knowing what else there is takes nothing from the answer. */
		if (f->pids.n && (!answer.reply->window || !answer.reply->window->calls))
			(void)recorded_ask(ingero, &whole);
		r = report(f, id, ingero, &answer, whole.reply, &out.buf);
	}
	ingero_close(ingero);
	if (r == 0 && f->html_path && strcmp(f->html_path, "-") != 0)
		return save_file(f->html_path, f->is_forced, "the report", &out.buf) < 0 ? COMMAND_FAILED : COMMAND_OK;
	if (r < 0 || output_flush(&out) < 0)
		return COMMAND_FAILED;
	return COMMAND_OK;
}

static const char *const explain_paragraphs[] = {
	"What went wrong, worst first: which process lost how much time, where it went and behind which process, the "
	"remedy, and the confidence. With an ID: everything about one finding, or about one call, in nanoseconds.",
	WINDOW_PARAGRAPH,
	"Exits with 0 also without findings.",
	NULL,
};

const struct command command_explain = {
	.name = "explain",
	.summary = "diagnose slow calls and their causes",
	.usage = "[options] [ID]",
	.paragraphs = explain_paragraphs,
	.options = { .command = "explain", .rows = explain_options, .n = ARRAY_SIZE(explain_options), .takes = "ID" },
	.fields_bytes = sizeof(struct explain_fields),
	.run = explain_run,
};
