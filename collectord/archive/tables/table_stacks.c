// SPDX-License-Identifier: Apache-2.0
/* Tables stack_traces and call_sites: stacks of recorded calls, and sums of these calls by the line that made them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive/job.h"
#include "archive/read/call_sums.h"
#include "archive/tables/table_list.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_text.h"

/* ---- stack_traces ---- */

/* Name, type, value, comparison, description. */
#define STACKS(C)                                                                                                      \
	C(hash, INTEGER, list_i64(list, stack->id), STACK, "as in events.stack_hash")                                  \
	C(ips, TEXT, list_text(list, ""), NONE, "always empty")                                                        \
	C(frames, TEXT, list_text(list, buf_text(&frames)), NONE,                                                      \
	  "JSON array, innermost first: s symbol with the offset in it, i address, f file, l line, m library or "      \
	  "program; pfn, pq, pf, pl: name, qualified name, file, line of a Python frame")                              \
	C(is_complete, INTEGER, list_i64(list, stack->is_complete), NONE, "1: complete, up to the thread's start")     \
	C(why, TEXT, list_known_text(list, stack->why), NONE, "why it is not complete; NULL: it is")

static const struct table_column stacks_columns[] = { STACKS(LIST_COLUMN) };

static void frame_json(struct buf *out, const struct read_frame *f)
{
	char address[24] = "";

	if (f->ip)
		(void)snprintf(address, sizeof(address), "0x%" PRIx64, f->ip);
	buf_append_text(out, "{");
	json_text_member(out, f->is_python ? "pfn" : "s", f->symbol);
	json_text_member(out, "pq", f->qualname);
	json_text_member(out, "i", address);
	json_text_member(out, f->is_python ? "pf" : "f", f->file);
	if (f->line)
		buf_printf(out, "%s\"%s\":%u", out->data[out->n - 1] == '{' ? "" : ",", f->is_python ? "pl" : "l",
			   f->line);
	json_text_member(out, "m", f->module);
	buf_append_text(out, "}");
}

static int stack_add(const struct read_stack *stack, void *data)
{
	CLEANUP(buf_done) struct buf frames = BUF_INIT;
	struct table_list *list = data;

	buf_append_text(&frames, "[");
	for (size_t i = 0; i < stack->n_frames && !frames.failed; i++) {
		if (i)
			buf_append_text(&frames, ",");
		frame_json(&frames, &stack->frames[i]);
	}
	buf_append_text(&frames, "]");
	if (frames.failed)
		return -ENOMEM;
	STACKS(LIST_VALUE)
	return list_row(list);
}

static int stacks_start(struct table_cursor *c)
{
	struct table_list *list = list_new(c);

	if (!list)
		return -ENOMEM;
	if (c->limits.has_stack && !c->limits.stack)
		return 0; /* 0: no stack */
	return store_reader_stacks(c->job->reader, c->limits.has_stack ? c->limits.stack : 0, stack_add, list);
}

LIST_TABLE(stack_traces, stacks, 2000, "stacks of calls");

/* ---- call_sites ---- */

/* A row of the sums with its site, and the place for others of the same one. */
struct site {
	struct call_sum *sum;
	const struct read_op *op;	  /* NULL: not known */
	const char *file, *func, *module; /* "": not known */
	uint32_t line;
};

/* Name, type, value, comparison, description. */
#define CALL_SITES(C)                                                                                                  \
	C(pid, INTEGER, list_u64(list, p->pid), PID, "process")                                                        \
	C(start_time, INTEGER, list_u64(list, p->start_unix_ns), NONE, "start of the process, ns since 1970")          \
	C(exec_generation, INTEGER, list_u64(list, p->exec_gen), NONE, "number of earlier exec calls of the process")  \
	C(comm, TEXT, list_text(list, p->comm), NONE, "name of the process")                                           \
	C(uid, INTEGER, list_u64(list, p->uid), UID, "owner of the process")                                           \
	C(source_name, TEXT, list_known_text(list, site->op ? site->op->source : ""), NONE, "cuda, driver, ...")       \
	C(op_name, TEXT, list_known_text(list, site->op ? site->op->name : ""), OP_NAME, "name of the operation")      \
	C(is_inner, INTEGER, list_u64(list, sum->is_inner), NONE,                                                      \
	  "1: the calls were made within other traced calls, whose rows have their time, too; sums that have each "    \
	  "moment once are those WHERE is_inner = 0")                                                                  \
	C(site_file, TEXT, list_known_text(list, site->file), NONE,                                                    \
	  "source file of the innermost Python frame; without one, of the innermost native frame with a name that is " \
	  "not of a CUDA library; NULL: not known")                                                                    \
	C(site_func, TEXT, list_known_text(list, site->func), NONE, "function of that frame; NULL: no stack")          \
	C(site_line, INTEGER, list_known_u64(list, site->line), NONE, "line of that frame; NULL: not known")           \
	C(site_module, TEXT, list_known_text(list, site->module), NONE,                                                \
	  "library or program of that frame; NULL: a Python frame, or not known")                                      \
	C(count, INTEGER, list_u64(list, sum->count), NONE, "number of recorded calls, as all columns up to bytes")    \
	C(errors, INTEGER, list_u64(list, sum->errors), NONE, "calls that returned an error")                          \
	C(sum_dur, INTEGER, list_u64(list, sum->total_ns), NONE, "ns, without the tracer's own share")                 \
	C(sum_dur_raw, INTEGER, list_u64(list, sum->raw_ns), NONE, "ns, including the tracer's own share")             \
	C(max_dur, INTEGER, list_u64(list, sum->max_ns), NONE, "ns, the longest call")                                 \
	C(p50, INTEGER, list_u64(list, histogram_quantile(&sum->durations, 0.50, sum->max_ns)), NONE,                  \
	  "ns, median duration")                                                                                       \
	C(p99, INTEGER, list_u64(list, histogram_quantile(&sum->durations, 0.99, sum->max_ns)), NONE,                  \
	  "ns, 99th percentile")                                                                                       \
	C(bytes, INTEGER, list_u64(list, sum->bytes), NONE,                                                            \
	  "bytes that the calls allocated or copied; 0 for other operations")                                          \
	C(counted, INTEGER, list_u64(list, sum->counted), NONE,                                                        \
	  "estimate: number of all calls made here, recorded or not; in a row without a site also the calls that no "  \
	  "record stands for. Equal to count if all calls were recorded")                                              \
	C(counted_dur, INTEGER, list_u64(list, sum->counted_ns), NONE, "estimate: ns of these")                        \
	C(node, TEXT, list_text(list, p->node), NODE, "name of the machine")

static const struct table_column sites_columns[] = { CALL_SITES(LIST_COLUMN)
#define BLAME(id, field, label, phrase, remedy) BLAME_COLUMN(field, phrase, 0, "sum_dur_raw")
#include "bpf/blame.def"
#undef BLAME
};

static void sites_blame_add(struct table_list *list, const struct call_sum *sum)
{
	uint64_t waited_ns = 0;

	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++)
		waited_ns += sum->blame_ns[i];
	for (int i = 0; i < BLAME_COUNT; i++) {
		if (!(sum->measured & 1u << i))
			list_null(list);
		else
			list_u64(list,
				 i == BLAME_ON_CPU ? sum->raw_ns - MIN(sum->raw_ns, waited_ns) : sum->blame_ns[i]);
	}
}

static int call_site_add(struct table_list *list, const struct site *site)
{
	const struct call_sum *sum = site->sum;
	const struct read_process *p = sum->process;

	CALL_SITES(LIST_VALUE)
	sites_blame_add(list, sum);
	return list_row(list);
}

static int site_compare(const void *a, const void *b)
{
	const struct site *x = a, *y = b;
	int r;

	if (x->sum->of != y->sum->of)
		return x->sum->of < y->sum->of ? -1 : 1;
	if (x->sum->is_inner != y->sum->is_inner)
		return x->sum->is_inner - y->sum->is_inner;
	r = strcmp(x->func, y->func);
	r = r ? r : strcmp(x->file, y->file);
	r = r ? r : strcmp(x->module, y->module);
	return r ? r : (x->line > y->line) - (x->line < y->line);
}

/* Texts are copied: those of stacks are released from time to time. */
static int site_find(struct reader_job *job, struct arena *arena, struct site *site)
{
	const struct read_stack *stack = NULL;
	const struct read_frame *frame;
	char func[READ_FUNC_BYTES];
	int r;

	site->op = store_reader_op(job->reader, site->sum->op);
	site->file = site->func = site->module = "";
	store_reader_stacks_trim(job->reader);
	r = site->sum->stack ? store_reader_stack(job->reader, site->sum->stack, &stack) : 0;
	frame = r == 0 && stack ? read_stack_site(stack) : NULL;
	if (!frame)
		return r;
	site->file = arena_copy_text(arena, frame->file);
	site->func = arena_copy_text(arena, read_frame_func(frame, func));
	site->module = arena_copy_text(arena, frame->module);
	site->line = frame->line;
	return site->file && site->func && site->module ? 0 : -ENOMEM;
}

/* Adds the rows of one site to the first of them. */
static int sites_add(struct table_list *list, const struct site *sites, size_t n)
{
	int r = 0;

	for (size_t i = 0, next; i < n && r == 0; i = next) {
		for (next = i + 1; r == 0 && next < n && site_compare(&sites[i], &sites[next]) == 0; next++)
			r = call_sum_merge(sites[i].sum, sites[next].sum);
		r = r ? r : call_site_add(list, &sites[i]);
	}
	return r;
}

static int sites_start(struct table_cursor *c)
{
	const struct table_limits *limits = &c->limits;
	const struct call_sums_wish wish = { .from_unix_ns = c->job->from_unix_ns,
					     .to_unix_ns = c->job->to_unix_ns,
					     .figures_from_ns = c->job->from_unix_ns,
					     .figures_to_ns = c->job->to_unix_ns,
					     .pids = &limits->pid,
					     .n_pids = limits->has_pid,
					     .ops = limits->ops.items,
					     .n_ops = limits->has_ops ? limits->ops.n : 0 };
	CLEANUP(call_sums_done) struct call_sums sums = { .row_slots = NULL };
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	CLEANUP(freep) struct site *sites = NULL;
	struct table_list *list = list_new(c);
	int r = list ? 0 : -ENOMEM;

	if (r < 0 || (limits->has_ops && !limits->ops.n))
		return r;
	r = call_sums_read(c->job->reader, &wish, &sums);
	sites = calloc(sums.rows.n + 1, sizeof(*sites));
	if (!sites)
		return -ENOMEM;
	for (size_t i = 0; i < sums.rows.n && r == 0; i++) {
		sites[i].sum = &sums.rows.items[i];
		r = reader_is_late(c->job) ? -ETIME : site_find(c->job, &arena, &sites[i]);
	}
	if (r < 0)
		return r;
	qsort(sites, sums.rows.n, sizeof(*sites), site_compare);
	return sites_add(list, sites, sums.rows.n);
}

LIST_TABLE(call_sites, sites, 1000,
	   "recorded calls by process, operation and the line of the program that made them, over the whole recording, "
	   "with an estimate of all calls (docs/database.md)");
