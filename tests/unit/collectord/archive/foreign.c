// SPDX-License-Identifier: Apache-2.0
/*
 * Databases recorded by Ingero itself are read whole: rows, names, incarnations, stacks, chains, figures.
 */
#include "archive/foreign/foreign.h"
#include "archive/read/order.h"

#include <errno.h>

#include "imported.h"
#include "tests/support/ingero_db.h"

/* What a walk over rows adds up to. */
struct sums {
	uint64_t n, total_ns, args, with_stack, errors;
	bool is_in_order;
};

static struct sums rows_sum(const char *name, struct store_reader *reader, const struct read_filter *filter)
{
	struct sums sums = { .is_in_order = true };
	struct read_order *order = NULL;
	struct read_event event;
	uint64_t last = filter->newest_first ? UINT64_MAX : 0;
	int r = read_order_open(reader, filter, &order);

	while (r >= 0 && ((r = read_order_next(order, &event)) > 0 || r == -EAGAIN)) {
		const struct stored_event *e = event.event;

		if (r < 0)
			continue;
		sums.n++;
		sums.total_ns += e->call.duration_ns;
		sums.args += e->call.args[0] & 0xffff;
		sums.with_stack += e->stack != 0;
		sums.errors += e->call.ret != 0;
		sums.is_in_order = sums.is_in_order &&
				   (filter->newest_first ? e->call.start_ns <= last : e->call.start_ns >= last);
		last = e->call.start_ns;
		CHECK(name, store_reader_process(reader, e->process) == event.process);
		CHECK(name, store_reader_op(reader, e->op) != NULL);
	}
	CHECK_INT_EQ(name, r, 0);
	read_order_close(order);
	return sums;
}

struct counts {
	uint64_t n, frames, python_frames, complete;
	uint64_t calls, untimed, total_ns;
	char text[256];
};

static int count_process(const struct read_process *process, void *data)
{
	struct counts *counts = data;

	counts->n++;
	CHECK("process", process->uid == FOREIGN_UID && process->first_unix_ns > 0);
	return 0;
}

static int count_stack(const struct read_stack *stack, void *data)
{
	struct counts *counts = data;

	counts->n++;
	counts->frames += stack->n_frames;
	for (size_t i = 0; i < stack->n_frames; i++)
		counts->python_frames += stack->frames[i].is_python;
	return 0;
}

static int count_finding(const Ingero__V1__Finding *finding, void *data)
{
	struct counts *counts = data;

	counts->n++;
	counts->calls += (uint64_t)finding->evidence[finding->n_evidence - 1]->value;
	CHECK_INT_EQ("finding id", strlen(finding->id), 16);
	CHECK("confidence is low", finding->confidence < 0.5);
	CHECK_STR_EQ("labelled", finding->cause->kind, "coincidence");
	return 0;
}

static int count_snapshot(const Ingero__V1__SystemSample *sample, void *data)
{
	struct counts *counts = data;

	counts->n++;
	CHECK("snapshot", sample->cpu_ratio >= 0 && sample->cpu_ratio <= 1 && sample->memory_bytes > 0 &&
				  sample->available_bytes <= sample->memory_bytes);
	return 0;
}

static int count_session(const Ingero__V1__Session *session, void *data)
{
	struct counts *counts = data;

	counts->n++;
	snprintf(counts->text, sizeof(counts->text), "%s, %s, %u CPUs", session->kernel, session->node, session->cpus);
	return 0;
}

static int count_bucket(const struct read_bucket *bucket, void *data)
{
	struct counts *counts = data;

	counts->n++;
	for (size_t i = 0; i < bucket->n_figures; i++) {
		const struct op_figures *figures = &bucket->figures[i].figures;

		counts->calls += figures->durations.sum;
		counts->untimed += figures->untimed;
		counts->total_ns += figures->total_ns;
	}
	return 0;
}

static int count_gap(const Ingero__V1__Gap *gap, void *data)
{
	struct counts *counts = data;
	size_t used = strlen(counts->text);

	counts->n++;
	snprintf(counts->text + used, sizeof(counts->text) - used, "%s %" PRIu64 ";", gap->reason, gap->count);
	return 0;
}

/* Wanted figures were taken from the files with the sqlite3 shell. */
static const struct {
	const char *name;
	uint64_t rows, total_ns, args, with_stack;
	uint64_t processes, stacks, chains, findings, snapshots;
	const char *session, *gaps;
	uint64_t buckets, untimed;
} recordings[] = {
	{ "pytorch-dataloader-starvation.db", 3807, 2053383606, 2103128, 115, 15, 19, 316, 4, 40,
	  "5.15.0-173-generic, , 4 CPUs", "not_kept 55;", 2, 1619689 },
	{ "sample-gpu-node-01.db", 200, 152891760, 12944, 0, 3, 8, 4, 3, 1, "6.17.0-1007-aws, gpu-node-01, 4 CPUs",
	  "retention 3537;", 1, 0 },
	{ "sample-gpu-node-02.db", 200, 3208134906, 4024, 40, 3, 1, 1, 1, 2, "6.17.0-1007-aws, gpu-node-02, 4 CPUs",
	  "retention 353;", 4, 0 },
};

static void recordings_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		const char *name = recordings[i].name;
		struct imported imported = imported_open(name, ingero_db_open(name, false));
		struct store_reader *reader = imported.reader;
		struct read_filter all = { .columns = BLOCK_ALL_COLUMNS };
		struct counts counts;
		struct sums sums;
		uint64_t n, from, to;

		if (!reader) {
			imported_close(&imported);
			continue;
		}
		sums = rows_sum(name, reader, &all);
		CHECK_INT_EQ(name, sums.n, recordings[i].rows);
		CHECK_INT_EQ(name, sums.total_ns, recordings[i].total_ns);
		CHECK_INT_EQ(name, sums.args, recordings[i].args);
		CHECK_INT_EQ(name, sums.with_stack, recordings[i].with_stack);
		CHECK_INT_EQ(name, sums.errors, 0);
		CHECK(name, sums.is_in_order);
		all.newest_first = true;
		sums = rows_sum(name, reader, &all);
		CHECK_INT_EQ(name, sums.total_ns, recordings[i].total_ns);
		CHECK(name, sums.is_in_order);
		CHECK_INT_EQ(name, store_reader_count(reader, &all, &n), 0);
		CHECK_INT_EQ(name, n, recordings[i].rows);

		counts = (struct counts){ 0 };
		CHECK_INT_EQ(name, store_reader_processes(reader, count_process, &counts), 0);
		CHECK_INT_EQ(name, counts.n, recordings[i].processes);
		counts = (struct counts){ 0 };
		CHECK_INT_EQ(name, store_reader_stacks(reader, 0, count_stack, &counts), 0);
		CHECK_INT_EQ(name, counts.n, recordings[i].stacks);
		CHECK(name, counts.frames > counts.n);
		counts = (struct counts){ 0 };
		CHECK_INT_EQ(name, store_reader_findings(reader, 0, 0, count_finding, &counts), 0);
		CHECK_INT_EQ(name, counts.n, recordings[i].findings);
		CHECK_INT_EQ(name, counts.calls, recordings[i].chains);
		counts = (struct counts){ 0 };
		CHECK_INT_EQ(name, store_reader_snapshots(reader, 0, 0, count_snapshot, &counts), 0);
		CHECK_INT_EQ(name, counts.n, recordings[i].snapshots);
		counts = (struct counts){ 0 };
		CHECK_INT_EQ(name, store_reader_sessions(reader, count_session, &counts), 0);
		CHECK_STR_EQ(name, counts.text, recordings[i].session);
		counts = (struct counts){ 0 };
		CHECK_INT_EQ(name, store_reader_gaps(reader, 0, 0, count_gap, &counts), 0);
		CHECK_STR_EQ(name, counts.text, recordings[i].gaps);

		CHECK_INT_EQ(name, store_reader_span(reader, &from, &to), 0);
		counts = (struct counts){ 0 };
		CHECK_INT_EQ(name, store_reader_buckets(reader, from, to, count_bucket, &counts), 0);
		CHECK_INT_EQ(name, counts.n, recordings[i].buckets);
		CHECK_INT_EQ(name, counts.calls, recordings[i].rows);
		CHECK_INT_EQ(name, counts.untimed, recordings[i].untimed);
		imported_close(&imported);
	}
}

struct slow {
	const char *source, *op;
	struct histogram durations;
	uint64_t max_ns, p99_ns, usual_ns;
	uint32_t pid;
	double ratio;
};

static int slow_bucket(const struct read_bucket *bucket, void *data)
{
	struct slow *slow = data;

	for (size_t i = 0; i < bucket->n_figures; i++) {
		const struct histogram *h = &bucket->figures[i].figures.durations;

		if (strcmp(bucket->figures[i].op->name, slow->op) ||
		    strcmp(bucket->figures[i].op->source, slow->source))
			continue;
		for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++)
			if (histogram_count(h, b) && histogram_add(&slow->durations, b, histogram_count(h, b)) < 0)
				return -ENOMEM;
		slow->max_ns = MAX(slow->max_ns, bucket->figures[i].figures.max_ns);
	}
	return 0;
}

static int slow_finding(const Ingero__V1__Finding *finding, void *data)
{
	struct slow *slow = data;

	if (!strcmp(finding->op, slow->op) && !strcmp(finding->source, slow->source) &&
	    !strcmp(finding->kind, "tail_latency")) {
		slow->pid = finding->pid;
		slow->p99_ns = finding->p99_ns;
		slow->usual_ns = finding->usual_ns;
		for (size_t i = 0; i < finding->n_evidence; i++)
			if (!strcmp(finding->evidence[i]->name, "tail_ratio"))
				slow->ratio = finding->evidence[i]->value;
	}
	return 0;
}

/* What the owners of the files say of them. From rows where these are still there, else from the stored chain. */
static const struct {
	const char *name, *source, *op;
	bool has_rows;
	uint64_t p99_low_ns, p99_high_ns;
	double ratio_low, ratio_high;
	uint32_t pid; /* of the finding */
} said[] = {
	{ "pytorch-dataloader-starvation.db", "driver", "cuLaunchKernel", true, 288000, 294000, 10.4, 11.1, 2233 },
	{ "pytorch-dataloader-starvation.db", "cuda", "cudaLaunchKernel", true, 24500000, 25800000, 330, 360, 2233 },
	{ "sample-gpu-node-02.db", "driver", "cuMemAlloc", false, 51000000, 52000000, 400, 420, 4599 },
	{ "sample-gpu-node-01.db", "driver", "cuLaunchKernel", false, 734000, 735000, 45, 46, 1887 },
};

static void said_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		const char *name = said[i].name;
		struct imported imported = imported_open(name, ingero_db_open(name, false));
		struct store_reader *reader = imported.reader;
		struct slow slow = { .source = said[i].source, .op = said[i].op };

		if (!reader) {
			imported_close(&imported);
			continue;
		}
		CHECK_INT_EQ(name, store_reader_findings(reader, 0, 0, slow_finding, &slow), 0);
		CHECK_INT_EQ(name, slow.pid, said[i].pid);
		if (said[i].has_rows) {
			CHECK_INT_EQ(name, store_reader_buckets(reader, 0, 0, slow_bucket, &slow), 0);
			slow.p99_ns = histogram_quantile(&slow.durations, 0.99, slow.max_ns);
			slow.usual_ns = histogram_quantile(&slow.durations, 0.5, slow.max_ns);
			CHECK(name, slow.usual_ns > 0);
			slow.ratio = (double)slow.p99_ns / (double)MAX(slow.usual_ns, 1);
		}
		CHECK_INT_IN(name, slow.p99_ns, said[i].p99_low_ns, said[i].p99_high_ns);
		CHECK_INT_IN(name, slow.ratio * 10, said[i].ratio_low * 10, said[i].ratio_high * 10);
		histogram_done(&slow.durations);
		imported_close(&imported);
	}
}

int main(void)
{
	recordings_check();
	said_check();
	return check_result();
}
