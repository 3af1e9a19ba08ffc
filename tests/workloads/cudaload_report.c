// SPDX-License-Identifier: Apache-2.0
/*
 * cudaload's report: calls, times and errors by operation, accounts by thread, slow
 * calls one by one, and the stand-in's books.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cudaload.h"

static int by_wall(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return (x->wall_ns > y->wall_ns) - (x->wall_ns < y->wall_ns);
}

/* Of all threads' samples of one row, sorted: the smallest value with at least that share at or below it. */
static void print_percentiles(FILE *out, const struct worker *workers, uint32_t row)
{
	static const unsigned int asked[] = { 50, 95, 99 };
	CLEANUP(freep) struct sample *all = NULL;
	size_t n = 0, room = 0;

	for (unsigned int i = 0; i < options.n_threads; i++)
		room += workers[i].n_samples;
	all = calloc(room ? room : 1, sizeof(*all));
	if (!all)
		return;
	for (unsigned int i = 0; i < options.n_threads; i++) {
		for (uint32_t k = 0; k < workers[i].n_samples; k++) {
			if (workers[i].samples[k].row == row)
				all[n++] = workers[i].samples[k];
		}
	}
	if (n == 0)
		return;
	qsort(all, n, sizeof(*all), by_wall);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		fprintf(out, ",\"p%u_ns\":%u", asked[i], all[(n * asked[i] + 99) / 100 - 1].wall_ns);
}

static void print_ops(FILE *out, const struct worker *workers)
{
	const char *comma = "";

	fprintf(out, "\"ops\":[");
	for (size_t row = 0; row < n_calls; row++) {
		struct tally sum = { 0 };

		for (unsigned int i = 0; i < options.n_threads; i++) {
			const struct tally *t = &workers[i].tallies[row];

			sum.n += t->n;
			sum.n_errors += t->n_errors;
			sum.bytes += t->bytes;
			sum.wall_ns += t->wall_ns;
			sum.cpu_ns += t->cpu_ns;
			sum.max_ns = MAX(sum.max_ns, t->max_ns);
		}
		if (sum.n == 0)
			continue;
		fprintf(out, "%s\n  {\"op\":\"%s\",\"count\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"bytes\":%" PRIu64,
			comma, calls[row].name, sum.n, sum.n_errors, sum.bytes);
		if (options.measure != MEASURE_NONE) {
			fprintf(out, ",\"wall_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64, sum.wall_ns, sum.max_ns);
			print_percentiles(out, workers, (uint32_t)row);
		}
		if (options.measure == MEASURE_CPU)
			fprintf(out, ",\"cpu_ns\":%" PRIu64, sum.cpu_ns);
		fprintf(out, "}");
		comma = ",";
	}
	fprintf(out, "],\n");
}

static void print_threads(FILE *out, const struct worker *workers)
{
	fprintf(out, "\"threads\":[");
	for (unsigned int i = 0; i < options.n_threads; i++) {
		const struct worker *w = &workers[i];

		fprintf(out,
			"%s\n  {\"tid\":%d,\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 ",\"cpu_ns\":%" PRIu64
			",\"run_delay_ns\":%" PRIu64 ",\"throttled_ns\":%" PRIu64 ",\"voluntary\":%" PRId64
			",\"involuntary\":%" PRId64 ",\"slow_not_kept\":%" PRIu64 "}",
			i ? "," : "", w->tid, w->before.at_ns, w->after.at_ns, w->after.cpu_ns - w->before.cpu_ns,
			w->after.run_delay_ns - w->before.run_delay_ns, w->after.throttled_ns - w->before.throttled_ns,
			w->after.n_voluntary - w->before.n_voluntary, w->after.n_involuntary - w->before.n_involuntary,
			w->n_not_kept);
	}
	fprintf(out, "],\n\"slow\":[");
	for (unsigned int i = 0, n = 0; i < options.n_threads; i++) {
		for (uint64_t k = 0; k < workers[i].n_kept; k++) {
			const struct kept *kept = &workers[i].kept[k];

			fprintf(out,
				"%s\n  {\"tid\":%d,\"op\":\"%s\",\"start_ns\":%" PRIu64 ",\"wall_ns\":%" PRIu64
				",\"cpu_ns\":%" PRIu64 "}",
				n++ ? "," : "", workers[i].tid, kept->call->name, kept->start_ns, kept->wall_ns,
				kept->cpu_ns);
		}
	}
	fprintf(out, "],\n");
}

static void print_books(FILE *out)
{
	__typeof__(ingero_standin_next) *next = load_control("ingero_standin_next");
	__typeof__(ingero_standin_count) *count = load_control("ingero_standin_count");
	unsigned int n = 0;

	fprintf(out, "\"books\":[");
	for (const char *name = next ? next(NULL) : NULL; name && count; name = next(name)) {
		uint64_t entries = 0, returns = 0;

		(void)count(name, &entries, &returns); /* it just named the function */
		fprintf(out, "%s\n  {\"function\":\"%s\",\"entries\":%" PRIu64 ",\"returns\":%" PRIu64 "}",
			n++ ? "," : "", name, entries, returns);
	}
	fprintf(out, "]");
}

int load_report(const struct worker *workers)
{
	CLEANUP(fclosep) FILE *out = NULL;

	if (!options.report)
		return 0;
	out = strcmp(options.report, "-") == 0 ? fdopen(dup(STDOUT_FILENO), "w") : fopen(options.report, "we");
	if (!out) {
		fprintf(stderr, "cudaload: cannot write '%s': %s\n", options.report, strerror(errno));
		return 1;
	}
	fprintf(out, "{\"program\":\"cudaload\",\"pid\":%d,\n", getpid());
	print_ops(out, workers);
	print_threads(out, workers);
	print_books(out);
	fprintf(out, "}\n");
	return ferror(out) ? 1 : 0;
}
