// SPDX-License-Identifier: Apache-2.0
/* `ingero blame`: where the wall clock of each calling thread went, in a window of the recording. */
#include <errno.h>

#include "cli/command.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/window.h"
#include "libingero/answers/account/ask.h"
#include "libingero/answers/account/report.h"
#include "libingero/answers/whose.h"
#include "libingero/render/pb_json.h"

#define BLAME_SINCE_DEFAULT_NS (3600 * NSEC_PER_SEC)

struct blame_fields {
	struct option_ids pids;
	struct window_wish window;
	const char *op;
	struct option_texts dbs;
	bool is_all;
	bool is_json;
	bool no_color;
};

#define FIELDS struct blame_fields
static const struct option blame_options[] = {
	WINDOW_OPTIONS(window, "1h, with --db the whole database"),
	PIDS_OPTION(pids, "Only threads of these processes"),
	OPTION_ROW(TEXT, "op", op, "Only time in calls of this operation, such as cudaMalloc or cudaStreamSync",
		   .value = "OPERATION"),
	JSON_OPTION(is_json, "Print one JSON object (docs/schema/blame.schema.json)"),
	ALL_OPTION(is_all),
	DATABASE_READ_OPTION(dbs),
	NO_COLOR_OPTION(no_color),
};

static int accounts_report(const struct blame_fields *f, const struct ingero *ingero, const Ingero__V1__Span *span,
			   uint64_t now_unix_ns, const Ingero__V1__BlameReply *reply, struct buf *out)
{
	struct text_style style = output_style(STDOUT_FILENO, f->no_color);
	CLEANUP(buf_done) struct buf whose = BUF_INIT;
	struct account_question question = {
		.now_unix_ns = now_unix_ns,
		.from_unix_ns = span->from_unix_ns,
		.to_unix_ns = span->to_unix_ns,
		.words = f->dbs.n || window_is_given(&f->window) ? NULL : WINDOW_DEFAULT_WORDS("1h"),
		.op = f->op,
		.has_pids = f->pids.n > 0,
	};

	whose_append(ingero, f->pids.items, f->pids.n, f->dbs.n > 0, &whose);
	question.whose = buf_text(&whose);
	return account_report_append(&question, reply, &style, out);
}

static int blame_run(const void *fields, const struct options_rest *rest)
{
	const struct blame_fields *f = fields;
	const struct ingero_connect_wish wish = { .command = "blame",
						  .is_all = f->is_all,
						  .db_path = f->dbs.items[0],
						  .more_db_paths = f->dbs.n ? &f->dbs.items[1] : NULL };
	const char *sentence = window_contradicts(&f->window);
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	uint64_t now_unix_ns = clock_now_unix_ns();
	Ingero__V1__BlameReply *reply = NULL;
	struct ingero *ingero;
	Ingero__V1__Span span;
	int r;

	(void)rest;
	if (sentence)
		return command_refuse(sentence);
	r = connect_open(&wish, &ingero, NULL);
	if (r < 0)
		return COMMAND_FAILED; /* it has printed the error */

	span = window_resolve(&f->window, f->dbs.n ? 0 : BLAME_SINCE_DEFAULT_NS, now_unix_ns);
	r = account_ask(ingero, &span, f->pids.items, f->pids.n, f->op, 0, &reply);
	if (r < 0)
		output_error("%s", ingero_why(ingero, r));
	else if (f->is_json)
		r = pb_json_line(&out.buf, "blame", &reply->base, NULL);
	else
		r = accounts_report(f, ingero, &span, now_unix_ns, reply, &out.buf);
	if (reply)
		ingero__v1__blame_reply__free_unpacked(reply, NULL);
	ingero_close(ingero);
	return r < 0 || output_flush(&out) < 0 ? COMMAND_FAILED : COMMAND_OK;
}

static const char *const blame_paragraphs[] = {
	"Where the time of each thread that makes CUDA calls went: in calls, by operation; between calls, by what the "
	"thread waited for and which thread ended the wait; ready without a CPU, and behind which process. The parts "
	"sum to the wall clock. "
	"Threads that make a fifth or more of their process's calls come first: their lost time is lost for the "
	"process.",
	WINDOW_PARAGRAPH,
	NULL,
};

const struct command command_blame = {
	.name = "blame",
	.summary = "show where the time of each thread went",
	.usage = "[options]",
	.paragraphs = blame_paragraphs,
	.options = { .command = "blame", .rows = blame_options, .n = ARRAY_SIZE(blame_options) },
	.fields_bytes = sizeof(struct blame_fields),
	.run = blame_run,
};
