// SPDX-License-Identifier: Apache-2.0
/*
 * `ingero export`: write the caller's rows as a file of another format. The daemon produces the bytes; the file is
 * complete or absent.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli/command.h"
#include "cli/connect.h"
#include "cli/export_file.h"
#include "cli/output.h"
#include "cli/window.h"
#include "libingero/render/units.h"
#include "libingero/connect/caller.h"

struct export_fields {
	struct option_ids pids;
	struct window_wish window;
	const char *format;
	const char *path;
	struct option_texts dbs;
	bool is_forced;
	bool is_all;
};

static const struct export_fields export_defaults = { .format = "db" };
static const char *const format_choices[] = { "db", NULL };

#define FIELDS struct export_fields
static const struct option export_options[] = {
	OPTION_ROW(CHOICE, "format", format,
		   "db: an SQLite file with Ingero's tables, for the sqlite3 shell and other tools; default: db",
		   .value = "db", .choices = format_choices),
	OUTPUT_OPTIONS(path, is_forced, "for a pipe"),
	WINDOW_OPTIONS(window, "everything"),
	PIDS_OPTION(pids, "Only these processes"),
	ALL_OPTION(is_all),
	DATABASE_READ_OPTION(dbs),
};

struct exporting {
	struct export_file file;
	uint64_t n_bytes;
	uint64_t n_events;
	bool is_file_at_fault; /* the daemon did not fail: writing here did */
};

/* Name that a signal handler has to remove; set while the file exists. */
static const char *volatile partial_path;

static void on_signal(int number)
{
	const char *path = partial_path;

	if (path)
		(void)unlink(path);
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

static int data_take(const ProtobufCMessage *message, void *data)
{
	const Ingero__V1__ExportReply *reply = (const Ingero__V1__ExportReply *)message;
	struct exporting *exporting = data;
	int r = export_file_write(&exporting->file, reply->data.data, reply->data.len);

	if (r < 0) {
		exporting->is_file_at_fault = true;
		return r;
	}
	exporting->n_bytes += reply->data.len;
	exporting->n_events += reply->events;
	return 0;
}

static int export_ask(struct exporting *exporting, struct ingero *ingero, const struct export_fields *f)
{
	Ingero__V1__Span span = window_resolve(&f->window, 0, clock_now_unix_ns());
	Ingero__V1__ExportRequest request = INGERO__V1__EXPORT_REQUEST__INIT;

	request.format = (char *)(uintptr_t)f->format; /* the message borrows it */
	if (span.from_unix_ns || span.to_unix_ns)
		request.span = &span;
	request.n_pids = f->pids.n;
	request.pids = f->pids.items;
	return ingero_read(ingero, "ingero.v1.Query.ExportRows", &request.base, data_take, exporting);
}

static int export_run(const void *fields, const struct options_rest *rest)
{
	const struct export_fields *f = fields;
	struct ingero_connect_wish wish = { .command = "export",
					    .kind = INGERO_CONNECT_READ,
					    .is_all = f->is_all,
					    .db_path = f->dbs.items[0],
					    .more_db_paths = f->dbs.n ? &f->dbs.items[1] : NULL };
	const char *sentence = window_contradicts(&f->window);
	struct caller caller = caller_get();
	struct exporting exporting = { .file = EXPORT_FILE_INIT };
	char error[EXPORT_FILE_ERROR_BYTES];
	struct ingero *ingero = NULL;
	int r;

	(void)rest;
	if (!f->path)
		return command_refuse("output file missing; name it with '-o FILE', or '-o -' for a pipe");
	if (sentence)
		return command_refuse(sentence);
	r = connect_open(&wish, &ingero, NULL);
	if (r < 0)
		return COMMAND_FAILED; /* it has printed the error */
	/* A file named by the user is written with the user's rights: a link could lead to a file of root's. */
	r = caller_become(&caller);
	if (r < 0)
		(void)snprintf(error, sizeof(error), "cannot write %s as uid %u: %s", option_quote(f->path).text,
			       (unsigned int)caller.uid, strerror(-r));
	else
		r = export_file_open(f->path, f->is_forced, error, &exporting.file);
	if (r < 0) {
		output_error("%s", error);
		ingero_close(ingero);
		return COMMAND_FAILED;
	}
	partial_path = exporting.file.partial;
	(void)signal(SIGINT, on_signal);
	(void)signal(SIGTERM, on_signal);
	(void)signal(SIGHUP, on_signal);

	r = export_ask(&exporting, ingero, f);
	if (r < 0 && !exporting.is_file_at_fault)
		output_error("%s", ingero_why(ingero, r));
	if (r == 0) {
		r = export_file_finish(&exporting.file);
		exporting.is_file_at_fault = r < 0;
	}
	if (exporting.is_file_at_fault)
		output_error("cannot write %s: %s", option_quote(f->path).text, strerror(-r));
	else if (r == 0)
		output_error("wrote %s (%s) to %s", units_things(exporting.n_events, "call", "calls").text,
			     units_bytes(exporting.n_bytes).text,
			     strcmp(f->path, "-") == 0 ? "standard output" : option_quote(f->path).text);
	partial_path = NULL;
	export_file_done(&exporting.file);
	ingero_close(ingero);
	return r < 0 ? COMMAND_FAILED : COMMAND_OK;
}

static const char *const export_paragraphs[] = {
	"Writes your own rows. The file grows as FILE.partial and gets its name when it is complete. It includes the "
	"exact counts of all calls, but not what was lost: 'ingero explain' of the recording itself tells that.",
	WINDOW_PARAGRAPH,
	NULL,
};

const struct command command_export = {
	.name = "export",
	.summary = "write the recording as a file for other tools",
	.usage = "[options] -o FILE",
	.paragraphs = export_paragraphs,
	.options = { .command = "export", .rows = export_options, .n = ARRAY_SIZE(export_options) },
	.fields_bytes = sizeof(struct export_fields),
	.defaults = &export_defaults,
	.run = export_run,
};
