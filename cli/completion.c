// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <string.h>

#include "cli/command.h"

/* Kinds of values that a shell can complete. */
enum value_kind { VALUE_NONE, VALUE_ANY, VALUE_WORDS, VALUE_FILE, VALUE_PIDS, VALUE_USERS, VALUE_OPS };

static enum value_kind value_kind(const struct option *row)
{
	switch (row->kind) {
	case OPTION_FLAG:
	case OPTION_CONSTANT:
		return VALUE_NONE;
	case OPTION_CHOICE:
		return VALUE_WORDS;
	case OPTION_PIDS:
		return VALUE_PIDS;
	case OPTION_USERS:
		return VALUE_USERS;
	case OPTION_TEXT:
	case OPTION_TEXTS:
		if (row->value && strcmp(row->value, "OPERATION") == 0)
			return VALUE_OPS;
		return row->value && strcmp(row->value, "FILE") == 0 ? VALUE_FILE : VALUE_ANY;
	case OPTION_NUMBER:
	case OPTION_DURATION:
	case OPTION_SIZE:
	case OPTION_TIME:
	case OPTION_WHOM:
		return VALUE_ANY;
	}
	return VALUE_ANY;
}

/* Name of the list that the program prints for this value; NULL: none. */
static const char *candidates_of(enum value_kind kind)
{
	return kind == VALUE_OPS ? "ops" : "pids";
}

/* Description beside a candidate: the help up to its first full stop. */
static size_t brief_bytes(const char *text)
{
	return strcspn(text, ":;(\n");
}

/* Appends text for single quotes of a shell. */
static void quoted_append(struct buf *out, const char *text)
{
	(void)buf_append_text(out, "'");
	for (const char *p = text; p < text + brief_bytes(text); p++) {
		if (*p == '\'')
			(void)buf_append_text(out, "'\\''");
		else
			(void)buf_append(out, p, 1);
	}
	(void)buf_append_text(out, "'");
}

static void choices_append(struct buf *out, const struct option *row)
{
	for (size_t i = 0; row->choices[i]; i++)
		(void)buf_printf(out, "%s%s", i ? " " : "", row->choices[i]);
}

static void commands_append(struct buf *out)
{
	for (size_t i = 0; command_get(i); i++)
		(void)buf_printf(out, "%s%s", i ? " " : "", command_get(i)->name);
}

static void words_append(struct buf *out, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		(void)buf_printf(out, "%s%s", i ? " " : "", words[i]);
}

/* Candidates for an argument that is no option. */
static bool takes_command(const struct command *command)
{
	return command->options.takes && strcmp(command->options.takes, "command") == 0;
}

/* ---- bash ---- */

static void bash_value_append(struct buf *out, const struct command *command, const struct option *row)
{
	enum value_kind kind = value_kind(row);

	if (kind == VALUE_NONE)
		return;
	(void)buf_printf(out, "\t%s:--%s", command->name, row->name);
	if (row->letter)
		(void)buf_printf(out, " | %s:-%c", command->name, row->letter);
	(void)buf_append_text(out, ") ");
	switch (kind) {
	case VALUE_WORDS:
		(void)buf_append_text(out, "COMPREPLY=($(compgen -W '");
		choices_append(out, row);
		(void)buf_append_text(out, "' -- \"$cur\")) ;;\n");
		break;
	case VALUE_FILE:
		(void)buf_append_text(out, "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n");
		break;
	case VALUE_PIDS:
	case VALUE_OPS:
		(void)buf_printf(out, "COMPREPLY=($(compgen -W \"$(_ingero_list %s)\" -- \"$cur\")) ;;\n",
				 candidates_of(kind));
		break;
	case VALUE_USERS:
		(void)buf_append_text(out, "COMPREPLY=($(compgen -u -- \"$cur\")) ;;\n");
		break;
	case VALUE_ANY:
	case VALUE_NONE:
		(void)buf_append_text(out, "COMPREPLY=() ;;\n");
		break;
	}
}

static void bash_options_append(struct buf *out, const struct command *command)
{
	(void)buf_printf(out, "\t%s) words='", command->name);
	for (size_t i = 0; i < command->options.n; i++)
		(void)buf_printf(out, "--%s ", command->options.rows[i].name);
	(void)buf_append_text(out, "--help");
	if (command->options.takes_program)
		(void)buf_append_text(out, " --");
	(void)buf_append_text(out, "' ");
	if (takes_command(command))
		(void)buf_append_text(out, "names=$commands ");
	if (command->options.words) {
		(void)buf_append_text(out, "names='");
		words_append(out, command->options.words);
		(void)buf_append_text(out, "' ");
	}
	if (command->options.takes_most > 1)
		(void)buf_printf(out, "files_from=%d ", command->options.words ? 3 : 2);
	(void)buf_append_text(out, ";;\n");
}

static void bash_append(struct buf *out)
{
	(void)buf_append_text(out, "# bash completion for ingero: ingero completion bash > "
				   "/etc/bash_completion.d/ingero, or source it\n"
				   "_ingero_list()\n{\n"
				   "\t\"${COMP_WORDS[0]}\" completion \"$1\" 2>/dev/null | cut -f 1\n"
				   "}\n"
				   "_ingero()\n{\n"
				   "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command i "
				   "words= names= files_from=99 "
				   "commands='");
	commands_append(out);
	(void)buf_append_text(out, "'\n"
				   "\tCOMPREPLY=()\n"
				   "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
				   "\t\tCOMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
				   "\t\treturn\n"
				   "\tfi\n"
				   "\tcommand=${COMP_WORDS[1]}\n"
				   "\t# after -- comes the command line of another program\n"
				   "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
				   "\t\t[ \"${COMP_WORDS[i]}\" = -- ] || continue\n"
				   "\t\tif [ \"$COMP_CWORD\" -eq $((i + 1)) ]; then\n"
				   "\t\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
				   "\t\telse\n"
				   "\t\t\tcompopt -o filenames\n"
				   "\t\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
				   "\t\tfi\n"
				   "\t\treturn\n"
				   "\tdone\n"
				   "\t# --option=value arrives as three words\n"
				   "\tif [ \"$cur\" = = ]; then\n"
				   "\t\tcur=\n"
				   "\telif [ \"$prev\" = = ]; then\n"
				   "\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
				   "\tfi\n"
				   "\tcase $command:$prev in\n");
	for (size_t i = 0; command_get(i); i++)
		for (size_t k = 0; k < command_get(i)->options.n; k++)
			bash_value_append(out, command_get(i), &command_get(i)->options.rows[k]);
	(void)buf_append_text(out, "\t*)\n\tcase $command in\n");
	for (size_t i = 0; command_get(i); i++)
		bash_options_append(out, command_get(i));
	(void)buf_append_text(out, "\tesac\n"
				   "\tcase $cur in\n"
				   "\t-*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
				   "\t*) if [ \"$COMP_CWORD\" -ge \"$files_from\" ]; then\n"
				   "\t\tcompopt -o filenames\n"
				   "\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
				   "\t\treturn\n"
				   "\tfi ;;&\n"
				   "\t*) COMPREPLY=($(compgen -W \"${names:-$words}\" -- \"$cur\")) ;;\n"
				   "\tesac ;;\n"
				   "\tesac\n"
				   "}\n"
				   "complete -F _ingero ingero ingero-cli\n");
}

/* ---- zsh ---- */

/* Appends a description within [...] of _arguments, within single quotes. */
static void zsh_description_append(struct buf *out, const char *text)
{
	for (const char *p = text; p < text + brief_bytes(text); p++) {
		if (strchr("[]\\", *p))
			(void)buf_append_text(out, "\\");
		if (*p == '\'')
			(void)buf_append_text(out, "'\\''");
		else
			(void)buf_append(out, p, 1);
	}
}

static void zsh_option_append(struct buf *out, const struct option *row)
{
	static const char *const actions[] = { [VALUE_ANY] = " ", [VALUE_FILE] = "_files", [VALUE_USERS] = "_users" };
	enum value_kind kind = value_kind(row);
	const char *equals = kind == VALUE_NONE ? "" : "=";

	if (row->letter)
		(void)buf_printf(out, "\t\t'*'{-%c%s,--%s%s}'[", row->letter, kind == VALUE_NONE ? "" : "+", row->name,
				 equals);
	else
		(void)buf_printf(out, "\t\t'*--%s%s[", row->name, equals);
	zsh_description_append(out, row->help);
	(void)buf_append_text(out, "]");
	if (kind == VALUE_WORDS) {
		(void)buf_append_text(out, ":value:(");
		choices_append(out, row);
		(void)buf_append_text(out, ")");
	} else if (kind == VALUE_PIDS || kind == VALUE_OPS) {
		(void)buf_printf(out, ":value: _ingero_list %s", candidates_of(kind));
	} else if (kind != VALUE_NONE) {
		(void)buf_printf(out, ":value:%s", actions[kind]);
	}
	(void)buf_append_text(out, "' \\\n");
}

static void zsh_append(struct buf *out)
{
	(void)buf_append_text(out,
			      "#compdef ingero ingero-cli\n"
			      "# zsh completion for ingero: ingero completion zsh > a directory of $fpath/_ingero\n"
			      "_ingero_list()\n{\n"
			      "\tlocal -a found\n"
			      "\tfound=(${(f)\"$($program completion $1 2>/dev/null)\"})\n"
			      "\tfound=(${found//$'\\t'/:})\n"
			      "\t_describe value found\n"
			      "}\n"
			      "_ingero()\n{\n"
			      "\tlocal curcontext=$curcontext state line program=$words[1]\n"
			      "\tlocal -a commands\n"
			      "\tcommands=(\n");
	for (size_t i = 0; command_get(i); i++) {
		(void)buf_printf(out, "\t\t'%s:", command_get(i)->name);
		zsh_description_append(out, command_get(i)->summary);
		(void)buf_append_text(out, "'\n");
	}
	(void)buf_append_text(out, "\t)\n"
				   "\t_arguments -C '1:command:->command' '*::argument:->argument'\n"
				   "\tcase $state in\n"
				   "\tcommand) _describe command commands ;;\n"
				   "\targument)\n"
				   "\t\tcase $words[1] in\n");
	for (size_t i = 0; command_get(i); i++) {
		const struct command *command = command_get(i);

		(void)buf_printf(out, "\t\t%s) _arguments -s \\\n", command->name);
		for (size_t k = 0; k < command->options.n; k++)
			zsh_option_append(out, &command->options.rows[k]);
		(void)buf_append_text(out, "\t\t'(-)'{-h,--help}'[Show this text]'");
		if (command->options.takes_program)
			(void)buf_append_text(out, " \\\n\t\t'*::program:_normal'");
		if (takes_command(command))
			(void)buf_append_text(out, " \\\n\t\t'1:command:->help'");
		if (command->options.words) {
			(void)buf_append_text(out, " \\\n\t\t'1:word:(");
			words_append(out, command->options.words);
			(void)buf_append_text(out, ")'");
		}
		if (command->options.takes_most > 1)
			(void)buf_printf(out, " \\\n\t\t'%s:file:_files'", command->options.words ? "2" : "*");
		(void)buf_append_text(out, " ;;\n");
	}
	(void)buf_append_text(out, "\t\tesac\n"
				   "\t\t[ \"$state\" != help ] || _describe command commands ;;\n"
				   "\tesac\n"
				   "}\n"
				   "if [ \"$funcstack[1]\" = _ingero ]; then\n"
				   "\t_ingero \"$@\"\n"
				   "else\n"
				   "\tcompdef _ingero ingero ingero-cli\n"
				   "fi\n");
}

/* ---- fish ---- */

static void fish_option_append(struct buf *out, const struct command *command, const struct option *row)
{
	(void)buf_printf(out, "complete -c ingero -n '__fish_seen_subcommand_from %s' -l %s", command->name, row->name);
	if (row->letter)
		(void)buf_printf(out, " -s %c", row->letter);
	switch (value_kind(row)) {
	case VALUE_NONE:
		break;
	case VALUE_ANY:
		(void)buf_append_text(out, " -x");
		break;
	case VALUE_WORDS:
		(void)buf_append_text(out, " -x -a '");
		choices_append(out, row);
		(void)buf_append_text(out, "'");
		break;
	case VALUE_FILE:
		(void)buf_append_text(out, " -r -F");
		break;
	case VALUE_PIDS:
	case VALUE_OPS:
		(void)buf_printf(out, " -x -a '(ingero completion %s 2>/dev/null)'", candidates_of(value_kind(row)));
		break;
	case VALUE_USERS:
		(void)buf_append_text(out, " -x -a '(__fish_complete_users)'");
		break;
	}
	(void)buf_append_text(out, " -d ");
	quoted_append(out, row->help);
	(void)buf_append_text(out, "\n");
}

static void fish_append(struct buf *out)
{
	(void)buf_append_text(
		out, "# fish completion for ingero: ingero completion fish > ~/.config/fish/completions/ingero.fish\n"
		     "complete -c ingero -f\n"
		     "complete -c ingero-cli -w ingero\n");
	for (size_t i = 0; command_get(i); i++) {
		const struct command *command = command_get(i);

		(void)buf_printf(out, "complete -c ingero -n __fish_use_subcommand -a %s -d ", command->name);
		quoted_append(out, command->summary);
		(void)buf_append_text(out, "\n");
		for (size_t k = 0; k < command->options.n; k++)
			fish_option_append(out, command, &command->options.rows[k]);
		if (takes_command(command)) {
			(void)buf_printf(out, "complete -c ingero -n '__fish_seen_subcommand_from %s' -a '",
					 command->name);
			commands_append(out);
			(void)buf_append_text(out, "'\n");
		}
		if (!command->options.words && command->options.takes_most > 1)
			(void)buf_printf(out, "complete -c ingero -n '__fish_seen_subcommand_from %s' -F\n",
					 command->name);
		if (command->options.words) {
			(void)buf_printf(out, "complete -c ingero -n '__fish_seen_subcommand_from %s'%s -a '",
					 command->name, command->options.takes_most > 1 ? " -F" : "");
			words_append(out, command->options.words);
			(void)buf_append_text(out, "'\n");
		}
	}
	(void)buf_append_text(out, "complete -c ingero -l help -s h -d 'Show this text'\n");
}

/* ---- all ---- */

const char *const completion_shells[] = { "bash", "zsh", "fish", NULL };

void completion_append(const char *shell, struct buf *out)
{
	static void (*const append[])(struct buf *) = { bash_append, zsh_append, fish_append };

	_Static_assert(ARRAY_SIZE(append) + 1 == ARRAY_SIZE(completion_shells), "one for each shell");
	for (size_t i = 0; i < ARRAY_SIZE(append); i++)
		if (strcmp(completion_shells[i], shell) == 0)
			append[i](out);
}
