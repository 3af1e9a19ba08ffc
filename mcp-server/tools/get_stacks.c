// SPDX-License-Identifier: Apache-2.0
/* get_stacks: where in the program recorded calls were made, by stack. */
#include <errno.h>
#include <string.h>

#include "libingero/answers/stack/report.h"
#include "libingero/render/pb_json.h"
#include "mcp-server/frames.h"
#include "mcp-server/nothing.h"

#define STACKS_DEFAULT 10
#define STACKS_MOST 100
#define STACKS_SINCE_NS (3600 * NSEC_PER_SEC)

struct stacks_arguments {
	struct window_wish window;
	struct param_pids pids;
	const char *source, *op, *measure;
	uint64_t limit;
};

#define ARGUMENTS struct stacks_arguments
static const struct param stacks_params[] = {
	WINDOW_PARAMS(window, "1h, of a file the whole recording"),
	PIDS_PARAMS(pids),
	PARAM_ROW(TEXT, "source", source, "Only calls of this layer: cuda, driver, nccl"),
	PARAM_ROW(TEXT, "op", op, "Only this operation, such as cudaStreamSynchronize, in any case"),
	PARAM_ROW(TEXT, "measure", measure, "What they are sorted by; default: time", .choices = stack_measure_names),
	PARAM_ROW(NUMBER, "limit", limit, "Most stacks; default: 10", .min = 1, .max = STACKS_MOST),
};

static const struct tool_member stacks_members[] = {
	NOTHING_MEMBER,
	{ "stacks", "array",
	  "Stacks, those with most of the measure first, each of one process and operation: from (the line of the "
	  "program), "
	  "count and sums of the recorded calls, p99_ns, blame_ns; counted and counted_ns: estimates for all calls, "
	  "absent "
	  "where all were recorded; is_inner: made within another traced call, whose time has theirs: do not add both; "
	  "frames: innermost first; stack_why: why the stack is not complete" },
	{ "more_stacks", "integer", "Number of stacks beyond these" },
	{ "calls", "integer", "Recorded calls that match" },
	{ "without", "integer", "Of these, calls without a stack" },
	{ "incomplete", "integer", "Calls whose stack is not complete" },
	{ "is_sampled", "boolean", "Not every call was recorded" },
	{ "merged", "integer", "Calls with a stack that are counted among those without one (details)" },
	{ "rows", "integer", "Stacks that match (details)" },
	{ "gaps", "array", "Times of which something is missing" },
	{ "window", "object", "The time that the answer covers" },
	{ "lost", "object", "What was lost in it, by reason; {}: nothing" },
};

static const struct answer_list stacks_lists[] = {
	{ "gaps", "narrow since or from and to", .more = NULL },
	{ "stacks", "raise limit and max_tokens, or ask for one pid or op", .more = "more_stacks", .inner = "frames" },
};

static const char *const stacks_details[] = { "source", "max_ns", "stack_id", "module", "/rows", "/merged", NULL };

static const struct answer_shape stacks_shape = {
	.lists = stacks_lists,
	.n_lists = ARRAY_SIZE(stacks_lists),
	.details = stacks_details,
	.details_how = "ask with details: true",
};

/* ---- what is written ---- */

static void count_write(struct writer *w, const char *key, uint64_t value)
{
	writer_integer(w, key, (int64_t)MIN(value, (uint64_t)INT64_MAX));
}

static void stack_write(struct writer *w, const struct stack_site *site)
{
	const Ingero__V1__StackRow *row = site->most;
	CLEANUP(buf_done) struct buf blame = BUF_INIT;

	writer_open(w, NULL, '{');
	writer_text(w, "op", row->op);
	writer_text(w, "source", row->source);
	writer_integer(w, "pid", row->pid);
	writer_text(w, "process_name", row->process_name);
	if (row->node_told_case)
		writer_text(w, "node", row->node);
	if (site->has_place)
		frames_place_write(w, &site->place);
	count_write(w, "count", site->count);
	count_write(w, "total_ns", site->total_ns);
	if (site->count) {
		count_write(w, "p99_ns", site->p99_ns);
		count_write(w, "max_ns", site->max_ns);
	}
	count_write(w, "bytes", site->bytes);
	count_write(w, "errors", site->errors);
	if (row->blame_ns) {
		pb_json_append(&blame, &row->blame_ns->base);
		writer_raw(w, "blame_ns", buf_text(&blame), blame.n);
	}
	if (site->is_estimate) {
		count_write(w, "counted", site->counted);
		count_write(w, "counted_ns", site->counted_ns);
	}
	if (site->is_inner)
		writer_boolean(w, "is_inner", true);
	if (row->stack)
		frames_write(w, row->stack);
	writer_close(w, '}');
	w->out->failed |= blame.failed;
}

/* @n_unsent: stacks that match and that the daemon did not send */
static void stacks_write(const struct stack_rows *rows, const struct stack_sites *sites, uint64_t limit,
			 uint64_t n_unsent, struct answer *answer)
{
	Ingero__V1__StacksEnd none = INGERO__V1__STACKS_END__INIT;
	const Ingero__V1__StacksEnd *end = rows->end ? rows->end : &none;
	size_t n = MIN(limit, sites->sites.n);
	CLEANUP(buf_done) struct buf rest = BUF_INIT;
	struct writer w = { .out = &answer->body };

	writer_open(&w, NULL, '{');
	writer_open(&w, "stacks", '[');
	for (size_t i = 0; i < n; i++)
		stack_write(&w, &sites->sites.items[i]);
	writer_close(&w, ']');
	count_write(&w, "more_stacks", sites->sites.n - n + n_unsent);
	pb_json_append(&rest, &end->base);
	(void)buf_append_text(&answer->body, ",");
	(void)buf_append(&answer->body, rest.data + 1, rest.n - 1); /* without its opening brace */
	answer->body.failed |= rest.failed;
}

/* ---- asking ---- */

static uint64_t rows_unsent(const struct stack_rows *rows)
{
	return rows->end && rows->end->rows > rows->rows.n ? rows->end->rows - rows->rows.n : 0;
}

static void rows_of_source(struct stack_rows *rows, const char *source)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->rows.n; i++)
		if (!source || strcmp(rows->rows.items[i]->source, source) == 0)
			rows->rows.items[n++] = rows->rows.items[i];
	rows->rows.n = n;
}

/* Of the process with most: what is judged of it, and its figures. */
static void stacks_next(const struct stack_rows *rows, const struct stack_sites *sites, struct answer *answer)
{
	CLEANUP(buf_done) struct buf arguments = BUF_INIT;

	window_arguments(&arguments, rows->end ? rows->end->window : NULL, sites->sites.items[0].most->pid);
	answer_next_arguments(answer, "explain", "what is judged of this process: findings, causes and remedies",
			      buf_text(&arguments));
	answer_next_arguments(answer, "blame", "where the time of its threads went, also between calls",
			      buf_text(&arguments));
}

/* Why no stack is told. Return: 0 or -ENOMEM */
static int stacks_nothing(struct ingero *ingero, const struct stack_rows *rows, const struct nothing *nothing,
			  struct answer *answer)
{
	const struct stack_question question = { .now_unix_ns = clock_now_unix_ns(),
						 .from_unix_ns = nothing->from_unix_ns,
						 .to_unix_ns = nothing->to_unix_ns };
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!rows->rows.n)
		return nothing_write(ingero, nothing, answer);
	stack_nothing_append(&question, rows, &text);
	answer_put_first(answer, "notice", buf_text(&text));
	return text.failed ? -ENOMEM : 0;
}

static int stacks_tool_run(const struct tool_call *call, struct answer *answer)
{
	const struct stacks_arguments *a = call->arguments;
	bool is_of_file = call->rpc->asker->server->db_paths;
	struct stack_measure measure = { .kind = STACK_TIME };
	struct stack_wish wish = {
		.span = window_span(&a->window, is_of_file ? 0 : STACKS_SINCE_NS, clock_now_unix_ns()),
		.pids = a->pids.items,
		.n_pids = a->pids.n,
		.op = a->op,
	};
	const struct nothing nothing = { .tool = "get_stacks",
					 .from_unix_ns = wish.span.from_unix_ns,
					 .to_unix_ns = wish.span.to_unix_ns,
					 .pids = &a->pids,
					 .op = a->op,
					 .is_of_file = is_of_file };
	Ingero__V1__StacksRequest request = stack_request(&wish);
	CLEANUP(stack_rows_done) struct stack_rows rows = STACK_ROWS_INIT;
	CLEANUP(stack_sites_done) struct stack_sites sites = STACK_SITES_INIT;
	struct ingero *ingero;
	uint64_t n_unsent;
	int r = window_refuse(&a->window, answer);

	if (r < 0)
		return r;
	ingero = tool_connect(call, answer);
	if (!ingero)
		return -EINVAL;
	r = tool_asked(
		ingero,
		asker_read(ingero, STACK_METHOD, &request.base, stack_rows_take, &rows, &call->rpc->is_cancelled),
		answer);
	if (r < 0)
		return r;
	n_unsent = rows_unsent(&rows);
	rows_of_source(&rows, a->source);
	if (a->measure)
		(void)stack_measure_parse(a->measure, &measure); /* one of the choices */
	if (stack_sites_build(&rows, STACK_BY_STACK, &measure, &sites) < 0)
		return -ENOMEM;
	stacks_write(&rows, &sites, answer->cursor_at + (a->limit ? a->limit : STACKS_DEFAULT), n_unsent, answer);
	if (stack_has_any(&rows))
		stacks_next(&rows, &sites, answer);
	else
		r = stacks_nothing(ingero, &rows, &nothing, answer);
	return r < 0 || answer->body.failed ? -ENOMEM : 0;
}

const struct tool tool_get_stacks = {
	.name = "get_stacks",
	.title = "Where calls are made",
	.description = "Stacks of recorded calls, Python and native frames, with counts, times and blame: which lines "
		       "of a program "
		       "make the calls that take most time. For the place of a problem that explain has named; not for "
		       "causes.",
	.params = stacks_params,
	.n_params = ARRAY_SIZE(stacks_params),
	.arguments_bytes = sizeof(struct stacks_arguments),
	.members = stacks_members,
	.n_members = ARRAY_SIZE(stacks_members),
	.shape = &stacks_shape,
	.run = stacks_tool_run,
};
