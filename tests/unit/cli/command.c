// SPDX-License-Identifier: Apache-2.0
/* The list of commands: each row whole, each option documented, no two alike, help that fits. */
#include "cli/command.h"

#include <locale.h>

#include "base/cleanup.h"
#include "cli/absent.h"
#include "cli/manual.h"
#include "tests/support/check.h"

static void options_test(const struct command *command, struct buf *manual)
{
	for (size_t i = 0; i < command->options.n; i++) {
		const struct option *row = &command->options.rows[i];
		bool has_value = row->kind != OPTION_FLAG && row->kind != OPTION_CONSTANT;
		const char *last = row->help + strlen(row->help) - 1;
		char dashed[64];

		CHECK(row->name, row->field < command->fields_bytes);
		CHECK(row->name, has_value == (row->value != NULL));
		CHECK(row->name, (row->kind == OPTION_CHOICE) == (row->choices != NULL));
		CHECK(row->name, *last != '.' && *last != ' ');
		/* What 0 does is no guess: it is refused, or the help says it. */
		CHECK(row->name,
		      row->kind != OPTION_DURATION || row->parse || row->zero_way_out || strstr(row->help, "0: "));
		CHECK(row->name, !option_absent(command->name, row->name, strlen(row->name)));
		for (size_t k = 0; k < i; k++) {
			CHECK(row->name, strcmp(row->name, command->options.rows[k].name) != 0);
			CHECK(row->name, !row->letter || row->letter != command->options.rows[k].letter);
		}
		/* In the manual dashes are escaped: look for the first word only. */
		(void)snprintf(dashed, sizeof(dashed), "\\-\\-%.*s", (int)strcspn(row->name, "-"), row->name);
		CHECK(row->name, strstr(buf_text(manual), dashed));
	}
}

static const struct option *row_of(const struct command *command, const char *name)
{
	for (size_t i = 0; command && i < command->options.n; i++)
		if (strcmp(command->options.rows[i].name, name) == 0)
			return &command->options.rows[i];
	return NULL;
}

/* A file is written alike by each command: the first one with '--output' has the words for all. */
static void output_test(void)
{
	const struct option *first = NULL;
	unsigned int n = 0;

	for (size_t i = 0; command_get(i); i++) {
		const struct command *command = command_get(i);
		const struct option *output = row_of(command, "output"), *force = row_of(command, "force");

		if (!output)
			continue;
		n++;
		CHECK(command->name, force == output + 1);
		first = first ? first : force;
		CHECK_STR_EQ(command->name, force ? force->help : "", first ? first->help : "");
		CHECK_INT_EQ(command->name, output->letter, 'o');
		CHECK(command->name, strstr(output->help, "Write to FILE; - is standard output, ") == output->help);
	}
	CHECK_INT_IN("commands that write a file", n, 3, 99);
}

static void help_test(const struct command *command, unsigned int columns)
{
	struct text_style style = { .is_utf8 = true, .columns = columns };
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	char *rest, *line;

	command_help_append(command, &style, &out);
	rest = (char *)(uintptr_t)buf_text(&out);
	while ((line = strsep(&rest, "\n")))
		CHECK_INT_IN(command->name, text_columns(line), 0, columns);
}

int main(void)
{
	static const char *const known[] = { "check",	   "trace",   "explain", "query",      "mcp",
					     "dashboard",  "merge",   "export",	 "demo",       "annotate",
					     "fleet-push", "migrate", "rates",	 "completion", "version" };
	static const char *const meant[][2] = {
		{ "account", "blame" }, { "accounts", "blame" }, { "waits", "query" },	    { "sql", "query" },
		{ "calls", "query" },	{ "events", "query" },	 { "top", "trace" },	    { "watch", "trace" },
		{ "record", "trace" },	{ "report", "explain" }, { "findings", "explain" }, { "diagnose", "explain" },
		{ "doctor", "check" },	{ "diff", "compare" },
	};
	CLEANUP(buf_done) struct buf manual = BUF_INIT;

	(void)setlocale(LC_CTYPE, "C.UTF-8");
	manual_append(&manual);
	CHECK("no command reads the service's file", !strstr(buf_text(&manual), "In the file:"));
	for (size_t i = 0; command_get(i); i++) {
		const struct command *command = command_get(i);

		CHECK(command->name, command_find(command->name) == command);
		CHECK(command->name, !command_absent(command->name));
		CHECK_STR_EQ(command->name, command->options.command, command->name);
		CHECK(command->name, !command->run == !!command->program && *command->summary && command->usage);
		CHECK(command->name, strstr(buf_text(&manual), command->summary));
		options_test(command, &manual);
		help_test(command, 80);
	}
	output_test();
	/* Ingero's commands are here, or known by name as those that this version lacks. */
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		CHECK(known[i], !command_absent(known[i]) != !command_find(known[i]));
	CHECK("nonsense", !command_find("nonsense") && !command_absent("nonsense") && !command_meant("nonsense"));
	for (size_t i = 0; i < ARRAY_SIZE(meant); i++) {
		const char *way_out = command_meant(meant[i][0]);
		char want[64];

		(void)snprintf(want, sizeof(want), "ingero %s", meant[i][1]);
		CHECK(meant[i][0], !command_find(meant[i][0]) && !command_absent(meant[i][0]));
		CHECK(meant[i][0], way_out && strstr(way_out, want) && command_find(meant[i][1]));
	}
	return check_result();
}
