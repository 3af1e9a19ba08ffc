// SPDX-License-Identifier: Apache-2.0
/*
 * `ingero explain`: what went wrong in a window of time and why, from what was kept.
 *
 * Without a time it is the last five minutes; where nobody records any more, the last
 * five of the recording, so that the answer after a trace is the one during it.
 */
#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/connect.h"
#include "cli/database.h"
#include "cli/explain/json.h"
#include "cli/explain/report.h"
#include "cli/output.h"
#include "cli/window.h"
#include "libingero/render/units.h"

#define SINCE_DEFAULT_NS (300 * NSEC_PER_SEC)
#define DEADLINE_MS 60000 /* a large file on a slow disk */
#define ID_CHARACTERS "0123456789abcdefABCDEF."

struct explain_fields {
	struct option_ids pids;
	struct window_wish window;
	uint64_t last_calls;
	const char *db_path;
	bool is_per_process;
	bool is_list;
	bool is_all;
	bool is_json;
	bool no_color;
};

#define FIELD(member) .field = offsetof(struct explain_fields, member)
static const struct option explain_options[] = {
	WINDOW_OPTIONS(struct explain_fields, window,
		       "5m; where nobody records any more, the last 5m that were recorded"),
	{ .name = "last",
	  .kind = OPTION_NUMBER,
	  .value = "N",
	  FIELD(last_calls),
	  .min = 1,
	  .help = "Instead of a time: since the N-th last call that was kept" },
	{ .name = "pid",
	  .letter = 'p',
	  .kind = OPTION_PIDS,
	  .value = "PID[,PID...]",
	  FIELD(pids),
	  .help = "Only these processes" },
	{ .name = "per-process",
	  .kind = OPTION_FLAG,
	  FIELD(is_per_process),
	  .help = "With the table of every process's operations" },
	{ .name = "chains",
	  .kind = OPTION_FLAG,
	  FIELD(is_list),
	  .help = "A line for each finding that is kept; without a time: of all times" },
	{ .name = "json",
	  .kind = OPTION_FLAG,
	  FIELD(is_json),
	  .help = "Print one JSON object (docs/schema/explain.schema.json)" },
	ALL_OPTION(struct explain_fields, is_all),
	DATABASE_READ_OPTION(struct explain_fields, db_path),
	NO_COLOR_OPTION(struct explain_fields, no_color),
};
#undef FIELD

struct explain {
	const struct explain_fields *fields;
	const char *id; /* NULL: a window */
	struct ingero *ingero;
	uint64_t now_unix_ns;
};

static const char *contradiction(const struct explain_fields *f, const char *id)
{
	const char *sentence = window_contradicts(&f->window);
	static char no_id[OPTIONS_ERROR_BYTES];

	if (sentence)
		return sentence;
	if (f->last_calls && window_is_given(&f->window))
		return "take either '--last' or a time, not both";
	if (id && (window_is_given(&f->window) || f->last_calls || f->pids.n || f->is_list || f->is_per_process))
		return "an id names one finding or call; leave out the time, '--last', '--pid', '--chains' and "
		       "'--per-process'";
	if (!id || (*id && strspn(id, ID_CHARACTERS) == strlen(id)))
		return NULL;
	(void)snprintf(no_id, sizeof(no_id),
		       "%s is no id: ids are hexadecimal, such as 8f3a2c; 'ingero explain --chains' lists them",
		       option_quote(id).text);
	return no_id;
}

static int ask(struct explain *e, Ingero__V1__Span *span, uint64_t last_calls, Ingero__V1__ExplainReply **ret_reply)
{
	Ingero__V1__ExplainRequest request = INGERO__V1__EXPLAIN_REQUEST__INIT;
	ProtobufCMessage *reply = NULL;
	int r;

	request.span = span;
	request.n_pids = e->fields->pids.n;
	request.pids = e->fields->pids.items;
	request.last_calls = last_calls;
	request.per_process = e->fields->is_per_process;
	if (e->id)
		request.id = (char *)(uintptr_t)e->id; /* the message only lends it */
	r = ingero_call(e->ingero, "ingero.v1.Query.Explain", &request.base, DEADLINE_MS, &reply);
	if (r == 0)
		*ret_reply = (Ingero__V1__ExplainReply *)reply;
	return r;
}

static void reply_freep(Ingero__V1__ExplainReply **reply)
{
	if (*reply)
		ingero__v1__explain_reply__free_unpacked(*reply, NULL);
}

static bool is_empty(const Ingero__V1__ExplainReply *reply)
{
	return reply->n_findings == 0 && (!reply->window || reply->window->calls == 0);
}

/* What is kept at all, and where that ends; both 0 when there is nothing. */
static void kept_ask(struct explain *e, struct explain_question *question)
{
	CLEANUP(reply_freep) Ingero__V1__ExplainReply *all = NULL;

	if (ask(e, NULL, 0, &all) < 0 || !all->window || is_empty(all))
		return; /* not knowing it takes nothing from the answer */
	question->kept_from_unix_ns = all->window->from_unix_ns;
	question->kept_to_unix_ns = all->window->to_unix_ns;
}

/*
 * The answer for the window that was asked for; where that is empty, for the last that was recorded.
 * Return: as ingero_call()
 */
static int answer(struct explain *e, struct explain_question *question, Ingero__V1__ExplainReply **ret_reply)
{
	const struct explain_fields *f = e->fields;
	CLEANUP(reply_freep) Ingero__V1__ExplainReply *reply = NULL, *earlier = NULL;
	Ingero__V1__Span span =
		window_resolve(&f->window, f->is_list || e->id || f->last_calls ? 0 : SINCE_DEFAULT_NS, e->now_unix_ns);
	bool has_span = span.from_unix_ns || span.to_unix_ns;
	int r = ask(e, has_span ? &span : NULL, f->last_calls, &reply);

	if (r < 0)
		return r;
	question->from_unix_ns = span.from_unix_ns;
	question->to_unix_ns = span.to_unix_ns;

	if (!e->id && is_empty(reply) && !reply->is_recording)
		kept_ask(e, question);
	if (question->kept_to_unix_ns && !window_is_given(&f->window) && !f->last_calls) {
		span.to_unix_ns = question->kept_to_unix_ns + 1;
		span.from_unix_ns = span.to_unix_ns > SINCE_DEFAULT_NS ? span.to_unix_ns - SINCE_DEFAULT_NS : 0;
		r = ask(e, &span, 0, &earlier);
		if (r < 0)
			return r;
		question->from_unix_ns = span.from_unix_ns;
		question->to_unix_ns = span.to_unix_ns;
		question->words = "the last that was recorded";
		*ret_reply = TAKE_PTR(earlier);
		return 0;
	}
	*ret_reply = TAKE_PTR(reply);
	return 0;
}

static void whose_set(const struct explain_fields *f, const struct ingero *ingero, struct buf *out)
{
	const Ingero__V1__HelloReply *hello = ingero_hello(ingero);

	if (f->pids.n) {
		(void)buf_printf(out, "of pid%s ", f->pids.n > 1 ? "s" : "");
		for (size_t i = 0; i < f->pids.n; i++)
			(void)buf_printf(out, "%s%u", i ? ", " : "", f->pids.items[i]);
	} else if (f->db_path || hello->can_read_all) {
		(void)buf_append_text(out, "of any user");
	} else {
		(void)buf_printf(out, "of %s", user_name(hello->caller_uid).text);
	}
}

static int explain_run(const void *fields, const struct options_rest *rest)
{
	struct explain e = { .fields = fields,
			     .id = rest->argc ? rest->argv[0] : NULL,
			     .now_unix_ns = clock_now_unix_ns() };
	struct connect_wish wish = {
		.command = "explain", .kind = CONNECT_READ, .is_all = e.fields->is_all, .db_path = e.fields->db_path
	};
	struct explain_question question = { .now_unix_ns = e.now_unix_ns, .is_one = e.id, .db = e.fields->db_path };
	const char *sentence = contradiction(e.fields, e.id);
	struct caller caller = caller_get();
	CLEANUP(reply_freep) Ingero__V1__ExplainReply *reply = NULL;
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	CLEANUP(buf_done) struct buf whose = BUF_INIT;
	struct text_style style = output_style(STDOUT_FILENO, e.fields->no_color);
	int r;

	if (sentence)
		return command_refuse(sentence);
	r = connect_open(&wish, &caller, &e.ingero, NULL);
	if (r < 0)
		return COMMAND_FAILED; /* it said why */

	r = answer(&e, &question, &reply);
	if (r < 0) {
		output_error("%s", *ingero_last_error(e.ingero) ? ingero_last_error(e.ingero) : strerror(-r));
	} else if (e.fields->is_json) {
		r = explain_json_append(&out.buf, reply);
	} else {
		whose_set(e.fields, e.ingero, &whose);
		question.whose = buf_text(&whose);
		question.is_chosen = window_is_given(&e.fields->window) || e.fields->last_calls;
		question.is_list = e.fields->is_list;
		question.is_per_process = e.fields->is_per_process;
		r = explain_report_append(&question, reply, &style, &out.buf);
	}
	ingero_close(e.ingero);
	if (r < 0 || output_flush(&out) < 0)
		return COMMAND_FAILED;
	return COMMAND_OK;
}

static const char *const explain_paragraphs[] = {
	"What went wrong, worst first: who lost how much, where that time went and behind whom, what to do about it, "
	"and "
	"how sure that is. With an ID, everything about one finding, or one call with its time to the nanosecond.",
	WINDOW_PARAGRAPH,
	"Exits with 0 also when nothing was found.",
	NULL,
};

const struct command command_explain = {
	.name = "explain",
	.summary = "say what went wrong, through whom, and what to do",
	.usage = "[options] [ID]",
	.paragraphs = explain_paragraphs,
	.options = { .command = "explain", .rows = explain_options, .n = ARRAY_SIZE(explain_options), .takes = "ID" },
	.fields_bytes = sizeof(struct explain_fields),
	.run = explain_run,
};
