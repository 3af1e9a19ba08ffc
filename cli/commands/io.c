// SPDX-License-Identifier: Apache-2.0
/* `ingero io`: system calls on files, by process, call and file, while this command runs. */
#include "base/array.h"
#include "cli/command.h"
#include "cli/io/choice.h"
#include "cli/output.h"

struct io_fields {
	struct io_choice choice;
	bool is_json;
	bool has_events;
	bool no_color;
};

#define FIELDS struct io_fields
static const struct option io_options[] = {
	IO_CHOICE_OPTIONS(choice),
	JSON_OPTION(is_json, "Print one JSON object a line (docs/io.md); a program's output then goes to stderr"),
	OPTION_ROW(FLAG, "events", has_events, "With --json print each call as a line, too"),
	NO_COLOR_OPTION(no_color),
};

static int io_run(const void *fields, const struct options_rest *rest)
{
	const struct io_fields *f = fields;
	struct io_wish wish = { .is_json = f->is_json, .has_events = f->has_events, .no_color = f->no_color };

	if (f->has_events && !f->is_json)
		return command_refuse("'--events' prints lines of JSON: add '--json'");
	return io_choice_run(&f->choice, rest, "io", &wish);
}

static const char *const io_paragraphs[] = {
	"Counts system calls on files while it runs: exact counts, failures, bytes and durations by process, call and "
	"file. On a terminal the table is live; q or Ctrl-C ends it with the summary. Files are named by the path "
	"that the process sees; pipes, sockets and memory files by their kind. Calls that name a path (stat, unlink, "
	"an open that fails) have the path as it was passed.",
	"A program after -- starts once the probes are in place, as yourself also under sudo; its own calls count from "
	"its start on. The summary comes on stderr, and its exit status is passed on.",
	"While it runs, every system call of the machine takes some 0.1 µs longer, a traced one some 0.4 µs.",
	NULL,
};

const struct command command_io = {
	.name = "io",
	.summary = "watch system calls on files: counts, bytes and durations by file",
	.usage = "[options] [-- PROGRAM [ARGUMENT...]]",
	.paragraphs = io_paragraphs,
	.options = { .command = "io", .rows = io_options, .n = ARRAY_SIZE(io_options), .takes_program = true },
	.fields_bytes = sizeof(struct io_fields),
	.run = io_run,
};
