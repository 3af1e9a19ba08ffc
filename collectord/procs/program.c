// SPDX-License-Identifier: Apache-2.0
#include "procs/program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/parse.h"
#include "procs/owner.h"

#define ARGS_BYTES 4096	    /* an interpreter's own options come first */
#define ENVIRON_BYTES 65536 /* later bytes are not searched */
#define CONTAINER_DIGITS 64 /* hexadecimal digits of an id, SHA-256 */
#define CONTAINER_DIGITS_SHOWN 12

/*
 * Interpreters, by the start of their file's name, and the letters of their options: options without a file, and
 * options with a value in the next word.
 */
static const struct interpreter {
	const char *name;
	const char *no_file; /* the program text is in the option */
	const char *module;  /* a module instead of a file */
	const char *takes_word;
} interpreters[] = {
	{ "python", "c", "m", "WX" }, { "pypy", "c", "m", "WX" },   { "bash", "c", "", "oO" },
	{ "sh", "c", "", "o" },	      { "perl", "eE", "", "I" },    { "ruby", "e", "", "rIC" },
	{ "node", "ep", "", "rC" },   { "julia", "eE", "", "ptL" },
};

/* In order of priority: a manual start sets the first. */
static const struct {
	const char *name;
	size_t place;
} numbers[] = {
	{ "RANK", offsetof(struct program, rank) },
	{ "OMPI_COMM_WORLD_RANK", offsetof(struct program, rank) },
	{ "PMI_RANK", offsetof(struct program, rank) },
	{ "SLURM_PROCID", offsetof(struct program, rank) },
	{ "LOCAL_RANK", offsetof(struct program, local_rank) },
	{ "OMPI_COMM_WORLD_LOCAL_RANK", offsetof(struct program, local_rank) },
	{ "SLURM_LOCALID", offsetof(struct program, local_rank) },
	{ "WORLD_SIZE", offsetof(struct program, world_size) },
	{ "OMPI_COMM_WORLD_SIZE", offsetof(struct program, world_size) },
	{ "PMI_SIZE", offsetof(struct program, world_size) },
	{ "SLURM_NTASKS", offsetof(struct program, world_size) },
};

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The name without its version: python3.12, bash. */
static const struct interpreter *interpreter_find(const char *executable)
{
	for (size_t i = 0; i < ARRAY_SIZE(interpreters); i++) {
		size_t n = strlen(interpreters[i].name);

		if (strncmp(executable, interpreters[i].name, n) == 0 &&
		    executable[n + strspn(executable + n, "0123456789.t")] == '\0')
			return &interpreters[i];
	}
	return NULL;
}

/* The next complete word, or NULL. */
static const char *word_take(const char **args, const char *end)
{
	const char *word = *args, *nul = memchr(word, 0, (size_t)(end - word));

	if (!nul)
		return NULL;
	*args = nul + 1;
	return word;
}

void program_script(const char *executable, const char *args, size_t n, char ret_script[PROGRAM_SCRIPT_BYTES])
{
	const struct interpreter *interpreter = interpreter_find(executable);
	const char *end = args + n, *word;

	ret_script[0] = '\0';
	if (!interpreter || !word_take(&args, end)) /* name of the interpreter */
		return;
	while ((word = word_take(&args, end)) && word[0] == '-' && word[1]) {
		bool is_end = strcmp(word, "--") == 0;

		/* The next word may be its value, which may be program text. */
		if (word[1] == '-' && !is_end && !strchr(word, '='))
			return;
		for (const char *c = word + 1; *c && word[1] != '-'; c++) {
			if (strchr(interpreter->no_file, *c))
				return;
			if (!strchr(interpreter->module, *c) && !strchr(interpreter->takes_word, *c))
				continue;
			if (!c[1])
				word = word_take(&args, end);
			if (strchr(interpreter->module, *c)) {
				(void)snprintf(ret_script, PROGRAM_SCRIPT_BYTES, "%s", c[1] ? c + 1 : word ? word : "");
				return;
			}
			if (!word)
				return;
			break;
		}
		if (is_end) {
			word = word_take(&args, end);
			break;
		}
	}
	if (word && strcmp(word, "-") != 0)
		(void)snprintf(ret_script, PROGRAM_SCRIPT_BYTES, "%s", file_name(word));
}

void program_ranks(const char *environment, size_t n, struct program *program)
{
	size_t found[ARRAY_SIZE(numbers)]; /* position of the value; 0: absent */
	const char *text = environment, *end = environment + n, *word;

	memset(found, 0, sizeof(found));
	while ((word = word_take(&text, end)))
		for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
			size_t n_name = strlen(numbers[i].name);

			if (strncmp(word, numbers[i].name, n_name) == 0 && word[n_name] == '=')
				found[i] = (size_t)(word - environment) + n_name + 1;
		}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct program_number *number = (struct program_number *)((char *)program + numbers[i].place);
		uint64_t value;

		if (!found[i] || number->is_known || parse_u64(environment + found[i], INT32_MAX, &value) < 0)
			continue;
		*number = (struct program_number){ .value = (uint32_t)value, .is_known = true };
	}
}

void program_container(const char *path, char ret_container[PROGRAM_CONTAINER_BYTES])
{
	ret_container[0] = '\0';
	for (const char *p = path; *p;) {
		size_t n = strspn(p, "0123456789abcdef");

		if (n == CONTAINER_DIGITS)
			(void)snprintf(ret_container, PROGRAM_CONTAINER_BYTES, "%.*s", CONTAINER_DIGITS_SHOWN, p);
		p += n + (p[n] != '\0');
	}
}

/* Its cgroup in the tree of version 2; if only version 1 has controllers, any group of that. */
static void cgroup_read(int process_fd, struct program *program)
{
	char text[8192], path[PATH_MAX + 32], *group, *line_end;
	struct stat st;

	if (fd_read_file_at(process_fd, "cgroup", text, sizeof(text)) < 0)
		return;
	group = strstr(text, "0::/");
	program_container(group ? group : text, program->container);
	if (!group)
		return;
	group += strlen("0::");
	line_end = strchr(group, '\n');
	if (line_end)
		*line_end = '\0';
	(void)snprintf(path, sizeof(path), "/sys/fs/cgroup%s", group);
	if (!strstr(group, "/..") && lstat(path, &st) == 0)
		program->cgroup_id = st.st_ino;
}

static bool is_of(int process_fd, uint32_t uid)
{
	struct owner owner;

	return owner_read(process_fd, &owner) == 0 && !owner.is_guarded && owner.uid == uid;
}

void program_read(int process_fd, uint32_t uid, struct program *ret_program)
{
	char path[PATH_MAX], args[ARGS_BYTES], environment[ENVIRON_BYTES];
	ssize_t n;

	*ret_program = (struct program){ .script = "" };
	if (!is_of(process_fd, uid))
		return;
	n = readlinkat(process_fd, "exe", path, sizeof(path) - 1);
	path[MAX(n, 0)] = '\0';
	(void)snprintf(ret_program->executable, sizeof(ret_program->executable), "%.*s",
		       (int)sizeof(ret_program->executable) - 1, file_name(path));
	n = fd_read_file_at(process_fd, "cmdline", args, sizeof(args));
	if (n > 0)
		program_script(file_name(path), args, (size_t)n, ret_program->script);
	n = fd_read_file_at(process_fd, "environ", environment, sizeof(environment));
	if (n > 0)
		program_ranks(environment, (size_t)n, ret_program);
	cgroup_read(process_fd, ret_program);
	if (!is_of(process_fd, uid)) /* exec by another program meanwhile */
		*ret_program = (struct program){ .script = "" };
}
