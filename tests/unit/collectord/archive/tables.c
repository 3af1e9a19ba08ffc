// SPDX-License-Identifier: Apache-2.0
/*
 * tables DOCS/sql.md [--rewrite]: the page says of every table, column and function what the
 * tables themselves say, and the columns that Ingero's users know come first, in their order.
 */
#include "archive/tables/tables.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "archive/tables/gate.h"
#include "tests/support/check.h"

/* As in the files that Ingero records (release 0.17). */
static const struct {
	const char *table;
	const char *columns;
} ingero[] = {
	{ "events", "id timestamp pid tid source op duration gpu_id arg0 arg1 ret_code stack_hash cgroup_id node rank "
		    "local_rank world_size comm " },
	{ "stack_traces", "hash ips frames " },
	{ "causal_chains", "id detected_at severity summary root_cause explanation recommendations cuda_op cuda_p99_us "
			   "cuda_p50_us tail_ratio timeline node " },
	{ "system_snapshots", "id timestamp cpu_pct mem_pct mem_avail swap_mb load_avg " },
	{ "sessions", "id started_at stopped_at gpu_model gpu_driver cpu_model cpu_cores mem_total kernel os_release "
		      "cuda_ver python_ver ingero_ver pid_filter flags node rank local_rank world_size " },
	{ "process_names", "pid name seen_at " },
	{ "event_aggregates", "bucket source op pid count stored sum_dur min_dur max_dur sum_arg0 " },
	{ "sources", "id name description " },
	{ "ops", "source_id op_id name description " },
};

static void names_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(ingero); i++) {
		CLEANUP(buf_done) struct buf names = BUF_INIT;
		bool is_there = false;

		for (size_t k = 0; tables[k]; k++) {
			if (strcmp(tables[k]->name, ingero[i].table) != 0)
				continue;
			is_there = true;
			for (size_t c = 0; c < tables[k]->n_columns; c++)
				buf_printf(&names, "%s ", tables[k]->columns[c].name);
		}
		CHECK(ingero[i].table, is_there);
		CHECK_INT_EQ(ingero[i].table, strncmp(buf_text(&names), ingero[i].columns, strlen(ingero[i].columns)),
			     0);
	}
	for (size_t k = 0; tables[k]; k++)
		for (size_t c = 0; c < tables[k]->n_columns; c++)
			for (size_t d = 0; d < c; d++)
				CHECK(tables[k]->name,
				      strcmp(tables[k]->columns[c].name, tables[k]->columns[d].name) != 0);
}

static void functions_write(struct buf *out)
{
	for (size_t i = 0; gate_function(i); i++)
		buf_printf(out, "%s`%s`", i ? " " : "\n", gate_function(i));
	buf_append_text(out, "\n");
}

static void tables_write(struct buf *out)
{
	for (size_t k = 0; tables[k]; k++) {
		buf_printf(out, "\n### %s\n\n%c%s.\n\n| column | type | |\n| --- | --- | --- |\n", tables[k]->name,
			   tables[k]->what[0] - 'a' + 'A', tables[k]->what + 1);
		for (size_t c = 0; c < tables[k]->n_columns; c++)
			buf_printf(out, "| `%s` | %s | %s |\n", tables[k]->columns[c].name, tables[k]->columns[c].type,
				   tables[k]->columns[c].what);
	}
	buf_append_text(out, "\n");
}

/* The page with what stands between a mark and the next end written anew. */
static bool section_put(struct buf *page, const char *mark, void (*write)(struct buf *out))
{
	CLEANUP(buf_done) struct buf fresh = BUF_INIT;
	const char *text = buf_text(page);
	const char *begin = strstr(text, mark), *end = begin ? strstr(begin, "<!-- end -->") : NULL;

	if (!end)
		return false;
	buf_append(&fresh, text, (size_t)(begin - text) + strlen(mark));
	write(&fresh);
	buf_append_text(&fresh, end);
	buf_done(page);
	buf_append(page, fresh.data, fresh.n);
	return !page->failed;
}

static bool file_read(const char *path, struct buf *out)
{
	CLEANUP(fclosep) FILE *file = fopen(path, "r");
	char bytes[4096];
	size_t n;

	while (file && (n = fread(bytes, 1, sizeof(bytes), file)))
		buf_append(out, bytes, n);
	return out->n > 0;
}

int main(int argc, char **argv)
{
	CLEANUP(buf_done) struct buf page = BUF_INIT, want = BUF_INIT;
	const char *path = argc > 1 ? argv[1] : "docs/sql.md";

	names_test();
	CHECK(path, file_read(path, &page) && file_read(path, &want));
	CHECK(path, section_put(&want, "<!-- functions -->", functions_write));
	CHECK(path, section_put(&want, "<!-- tables -->", tables_write));
	if (argc > 2 && strcmp(argv[2], "--rewrite") == 0) {
		CLEANUP(fclosep) FILE *file = fopen(path, "w");

		CHECK("written", file && fwrite(want.data, 1, want.n, file) == want.n);
	} else if (strcmp(buf_text(&page), buf_text(&want)) != 0) {
		CHECK("docs/sql.md is as the tables are: run this test with its path and --rewrite", false);
	}
	return check_result();
}
