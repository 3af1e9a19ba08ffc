// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/libraries.h"

#include <string.h>

#include "libingero/render/user.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/units.h"

#define CLOSE_MS 700		 /* most that a perf event takes */
#define OWNERS_NAMED ((size_t)3) /* of processes that are left out */

/* protobuf-c never leaves a string of an unpacked message NULL, but messages built by hand may. */
static const char *text_or(const char *text, const char *otherwise)
{
	return text && *text ? text : otherwise;
}

/* The name for a file that could not be read. */
static const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *library_name(const Ingero__V1__Library *library)
{
	return text_or(library->soname, path_name(text_or(library->path, "a library")));
}

void library_append(struct buf *out, const struct text_style *style, const char *first,
		    const Ingero__V1__Library *library)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	(void)buf_append_text(&text, library_name(library));
	if (*text_or(library->layer, ""))
		(void)buf_printf(&text, " (%s)", library->layer);
	if (*text_or(library->reason, "")) {
		(void)buf_printf(&text, " is not traced: %s", library->reason);
	} else {
		(void)buf_printf(&text, " %zu operations, %u exports, %s, attached in %s", library->n_operations,
				 library->symbols, text_or(library->back_end, "no back end"),
				 units_ns(library->attach_ns, 0).text);
		if (library->stepped)
			(void)buf_printf(&text, ", %u of them single-stepped (slower)", library->stepped);
		if (library->n_missing)
			(void)buf_printf(
				&text, ", %s",
				units_things(library->n_missing, "operation missing", "operations missing").text);
		if (library->n_not_traced)
			(void)buf_printf(&text, ", %s with '--calls all'",
					 units_things(library->n_not_traced, "more operation", "more operations").text);
		if (library->left_out)
			(void)buf_printf(&text, ", %u more functions not counted", library->left_out);
	}
	if (library->processes)
		(void)buf_printf(&text, ", in %s", units_things(library->processes, "process", "processes").text);
	if (*text_or(library->path, ""))
		(void)buf_printf(&text, ": %s", library->path);
	text_paragraph(out, style, first, buf_text(&text));
}

static bool names_operation(const Ingero__V1__Library *library, const char *name)
{
	for (size_t i = 0; i < library->n_not_traced; i++)
		if (strcmp(library->not_traced[i], name) == 0)
			return true;
	return false;
}

void not_traced_append(struct buf *out, Ingero__V1__Library *const *libraries, size_t n)
{
	uint64_t n_not_traced = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < libraries[i]->n_not_traced; k++) {
			size_t j = 0;

			while (j < i && !names_operation(libraries[j], libraries[i]->not_traced[k]))
				j++;
			n_not_traced += j == i;
		}
	}
	if (n_not_traced)
		(void)buf_printf(out, " · %s not traced with this kernel's probes ('--calls all' traces them)",
				 units_things(n_not_traced, "operation", "operations").text);
}

void not_shown_append(struct buf *out, const struct text_style *style, const char *first,
		      Ingero__V1__NotShown *const *items, size_t n)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	size_t n_named = n > OWNERS_NAMED ? OWNERS_NAMED : n;
	uint64_t n_processes = 0;

	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		n_processes += items[i]->processes;
	(void)buf_printf(&text, "%s of ", units_things(n_processes, "CUDA process", "CUDA processes").text);
	for (size_t i = 0; i < n_named; i++)
		(void)buf_printf(&text, "%s%s",
				 i == 0				  ? ""
				 : i + 1 < n_named || n > n_named ? ", "
								  : " and ",
				 user_name(items[i]->uid).text);
	if (n > n_named)
		(void)buf_printf(&text, " and %s", units_things(n - n_named, "more user", "more users").text);
	(void)buf_printf(&text, " %s not shown: '--all'", n_processes == 1 ? "is" : "are");
	text_paragraph(out, style, first, buf_text(&text));
}

struct closing_words closing_words(uint32_t n_probes)
{
	uint64_t most_s = ((uint64_t)n_probes * CLOSE_MS + 999) / 1000;
	struct closing_words words;

	(void)snprintf(words.text, sizeof(words.text), "closing %s of an earlier trace, for up to %s s",
		       units_things(n_probes, "probe", "probes").text, units_count(most_s).text);
	return words;
}

void coverage_append(struct buf *out, const struct text_style *style, const char *first,
		     const Ingero__V1__CudaProcess *process)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	size_t n_attached = 0;

	for (size_t i = 0; i < process->n_libraries; i++)
		n_attached += process->libraries[i]->is_attached;
	(void)buf_printf(&text, "%s (pid %u): ",
			 trace_process_name(text_or(process->process_name, "a process"), process->program).text,
			 process->pid);
	if (strcmp(text_or(process->coverage, ""), "full") == 0)
		(void)buf_printf(&text, "fully traced, %s",
				 units_things(n_attached, "CUDA library", "CUDA libraries").text);
	else if (strcmp(text_or(process->coverage, ""), "partial") == 0)
		(void)buf_printf(&text, "traced in part, %zu of %zu CUDA libraries: %s", n_attached,
				 process->n_libraries, text_or(process->reason, "no reason given"));
	else /* nobody asked for it here; another daemon may trace it */
		(void)buf_printf(&text, "%s%s", process->is_traced ? "not traced: " : "",
				 text_or(process->reason, "no reason given"));
	text_paragraph(out, style, first, buf_text(&text));
}
