// SPDX-License-Identifier: Apache-2.0
/* `ingero flame`: system calls on files as a flame graph, traced while this command runs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "cli/command.h"
#include "cli/io/choice.h"
#include "cli/output.h"
#include "cli/save.h"
#include "libingero/answers/io/profile.h"
#include "libingero/render/units.h"

struct flame_fields {
	struct io_choice choice;
	const char *of; /* one choice so far */
	const char *by;
	const char *weight;
	const char *format;
	const char *path;
	bool is_forced;
};

static const char *const of_choices[] = { "io", NULL };
static const char *const flame_formats[] = { "folded", "svg", NULL };
static const struct flame_fields flame_defaults = {
	.of = "io", .by = "path,op", .weight = "duration", .format = "folded"
};

#define FIELDS struct flame_fields
static const struct option flame_options[] = {
	OPTION_ROW(CHOICE, "of", of, "What to draw: io, system calls on files; default: io", .value = "io",
		   .choices = of_choices),
	OPTION_ROW(
		TEXT, "by", by,
		"What is stacked, outermost first: path (a box for each directory), op (the call), comm (the name of "
		"the process), pid, in any order; default: path,op",
		.value = "NAME[,NAME...]"),
	OPTION_ROW(CHOICE, "weight", weight,
		   "How wide boxes are: count, duration, gap (time since the thread's call before) or bytes; default: "
		   "duration",
		   .value = "count|duration|gap|bytes", .choices = io_weights),
	OPTION_ROW(CHOICE, "format", format,
		   "folded: lines for FlameGraph and Inferno; svg: a flame graph for a browser; default: folded",
		   .value = "folded|svg", .choices = flame_formats),
	OUTPUT_OPTIONS(path, is_forced, "the default"),
	IO_CHOICE_OPTIONS(choice),
};

static int flame_append(const struct flame_fields *f, const struct io_dimensions *by,
			const Ingero__V1__IoFigures *figures, struct buf *out)
{
	CLEANUP(flame_done) struct flame profile = FLAME_INIT;
	struct flame_head head = { .value = io_profile_value(f->weight), .before = FLAME_NONE };
	char title[128], subtitle[128];
	int r = io_profile_fill(figures, by, &profile);

	(void)snprintf(title, sizeof(title), "system calls on files by %.64s, %s", f->by, f->weight);
	(void)snprintf(subtitle, sizeof(subtitle), "%s in %s",
		       units_things(figures->processes, "process", "processes").text,
		       units_ns(figures->window_ns, 0).text);
	head.title = title;
	head.subtitle = subtitle;
	head.from_unix_ns = figures->timestamp_unix_ns - figures->window_ns;
	head.to_unix_ns = figures->timestamp_unix_ns;
	if (r < 0)
		return r;
	return strcmp(f->format, "svg") == 0 ? flame_svg_append(&profile, &head, out)
					     : flame_folded_append(&profile, &head, out);
}

static int flame_write(const struct flame_fields *f, const struct io_dimensions *by,
		       const Ingero__V1__IoFigures *figures)
{
	CLEANUP(output_done) struct output out = OUTPUT_INIT(STDOUT_FILENO);
	int r;

	if (!figures->n_files) {
		output_error("no system call on a file was seen; nothing was written");
		return COMMAND_FAILED;
	}
	r = flame_append(f, by, figures, &out.buf);
	if (r < 0) {
		output_error("the flame graph could not be made: %s", strerror(-r));
		return COMMAND_FAILED;
	}
	if (!f->path || strcmp(f->path, "-") == 0)
		return output_flush(&out) < 0 ? COMMAND_FAILED : COMMAND_OK;
	return save_file(f->path, f->is_forced, "the flame graph", &out.buf) < 0 ? COMMAND_FAILED : COMMAND_OK;
}

static int by_refuse(const char *typed)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	(void)buf_printf(&text,
			 "'--by' takes path, op, comm and pid, each once, with commas between, such as comm,path,op, "
			 "not %s",
			 option_quote(typed).text);
	return command_refuse(buf_text(&text));
}

static int flame_run(const void *fields, const struct options_rest *rest)
{
	const struct flame_fields *f = fields;
	CLEANUP(io_figures_done) struct io_figures figures = { .is_whole = false };
	struct io_wish wish = { .ret_figures = &figures };
	struct io_dimensions by;
	int status, written;

	if (io_dimensions_parse(f->by, &by) < 0)
		return by_refuse(f->by);
	status = io_choice_run(&f->choice, rest, "flame", &wish);
	if (!figures.is_whole)
		return status; /* the reason was printed */
	written = flame_write(f, &by, &figures.view);
	return status ? status : written;
}

static const char *const flame_paragraphs[] = {
	"Traces system calls on files as 'ingero io' does, with the same filters, and at the end writes them as a "
	"flame graph: a box is a directory, a file, a call or a process, as wide as the calls in it are many or took "
	"long. Its figures are exact. The exit status of a program after -- is passed on.",
	"Flame graphs of recorded GPU calls: 'ingero stacks --format svg'.",
	NULL,
};

const struct command command_flame = {
	.name = "flame",
	.summary = "trace system calls on files and draw a flame graph",
	.usage = "[options] [-- PROGRAM [ARGUMENT...]]",
	.paragraphs = flame_paragraphs,
	.options = { .command = "flame", .rows = flame_options, .n = ARRAY_SIZE(flame_options), .takes_program = true },
	.fields_bytes = sizeof(struct flame_fields),
	.defaults = &flame_defaults,
	.run = flame_run,
};
