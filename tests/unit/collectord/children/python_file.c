// SPDX-License-Identifier: Apache-2.0
/*
 * Layouts of interpreters, from their files: each installed one is asked whether its layout fits; and files made for
 * what is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "children/elf.h"
#include "tests/support/check.h"
#include "tests/support/pythons.h"

static union {
	struct parser_library library;
	uint8_t room[sizeof(struct parser_library) + PARSER_SYMBOLS_MAX * sizeof(struct parser_symbol)];
} answer; /* of the last file read */

static const struct parser_python *file_read(const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	memset(&answer, 0, sizeof(answer));
	if (fd < 0 || fstat(fd, &st) < 0) {
		CHECK_INT_EQ(path, errno, 0);
		return &answer.library.python;
	}
	CHECK_INT_EQ(path, elf_read_library(fd, (uint64_t)st.st_size, &answer.library), PARSER_OK);
	return &answer.library.python;
}

/* --- installed ones --- */

#define SIGNED(x) ((long long)(x))

static void arguments_of(const struct parser_python *p, char *arguments, size_t room)
{
	const struct python_layout *l = &p->layout;

	(void)snprintf(
		arguments, room,
		"key=%lld variable=%lld main=%lld code_type=%lld text_type=%lld bytes_type=%lld "
		"freed=%lld thread=%d start=%d instruction=%d shim=%d tag_mask=%d thread_interpreter=%d "
		"thread_start=%d thread_self=%d run_frame=%d frame_link=%d frame_code=%d frame_instruction=%d "
		"frame_owner=%d code_first_line=%d code_file=%d code_name=%d code_qualname=%d code_lines=%d "
		"code_bytecode=%d",
		SIGNED(l->key), SIGNED(l->variable), SIGNED(l->main), SIGNED(l->code_type), SIGNED(l->text_type),
		SIGNED(l->bytes_type), SIGNED(p->freed.offset), l->thread, l->start, l->instruction, l->shim,
		l->tag_mask, l->thread_interpreter, l->thread_start, l->thread_self, l->run_frame, l->frame_link,
		l->frame_code, l->frame_instruction, l->frame_owner, l->code_first_line, l->code_file, l->code_name,
		l->code_qualname, l->code_lines, l->code_bytecode);
}

static bool line_read(FILE *file, char *line, size_t room)
{
	if (!fgets(line, (int)room, file))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static void interpreter_check(const char *python)
{
	const struct parser_python *p;
	char path[4096], arguments[2048], wrong[256];
	FILE *file = pythons_run(python, "check_layout.py", "");
	bool is_known = line_read(file, path, sizeof(path));

	CHECK(python, is_known);
	CHECK_INT_EQ(python, pclose(file), 0);
	if (!is_known)
		return;
	p = file_read(path);
	CHECK_INT_EQ(python, p->state, PARSER_PYTHON_OK);
	CHECK_INT_IN(python, p->freed.n_head, 1, PARSER_HEAD_BYTES);
	if (p->state != PARSER_PYTHON_OK)
		return;
	arguments_of(p, arguments, sizeof(arguments));
	file = pythons_run(python, "check_layout.py", arguments);
	while (line_read(file, wrong, sizeof(wrong))) {
		CHECK(python, !wrong[0]);
		fprintf(stderr, "%s\n", wrong);
	}
	CHECK_INT_EQ(python, pclose(file), 0);
	printf("%s: 3.%d, %s\n", python, p->layout.minor, path);
}

/* --- files made for it --- */

static const struct {
	const char *file;
	enum parser_python_state state;
	uint32_t version;
	int minor;
} files[] = {
	{ "sample_runtime.so", PARSER_PYTHON_NONE, 0, 0 },
	{ "sample_interpreter.so", PARSER_PYTHON_OTHER, 0x03090000, 0 },
	{ "sample_python_old.so", PARSER_PYTHON_OTHER, 0, 0 },
	{ "sample_python_pypy.so", PARSER_PYTHON_OTHER, 0, 0 },
	{ "sample_python_hidden.so", PARSER_PYTHON_OTHER, 0, 0 },
	{ "sample_python.so", PARSER_PYTHON_OK, 0x030c01f0, 12 },
	{ "sample_python_no_freed.so", PARSER_PYTHON_OK, 0x030c01f0, 12 },
	{ "sample_python_3_8.so", PARSER_PYTHON_VERSION, 0x03080000, 0 },
	{ "sample_python_3_16.so", PARSER_PYTHON_VERSION, 0x03100000, 0 },
	{ "sample_python_4.so", PARSER_PYTHON_VERSION, 0x040c0000, 0 },
	{ "sample_python_debug.so", PARSER_PYTHON_DEBUG, 0x030c01f0, 0 },
	{ "sample_python_size.so", PARSER_PYTHON_OTHER, 0x030c01f0, 0 },
	{ "sample_python_member.so", PARSER_PYTHON_OTHER, 0x030c01f0, 0 },
	{ "sample_python_libc.so", PARSER_PYTHON_LIBC, 0x030c01f0, 0 },
	{ "sample_python_3_13.so", PARSER_PYTHON_OK, 0x030d0000, 13 },
	{ "sample_python_threaded.so", PARSER_PYTHON_THREADED, 0x030d0000, 0 },
	{ "sample_python_offset.so", PARSER_PYTHON_OTHER, 0x030d0000, 0 },
	{ "sample_python_two.so", PARSER_PYTHON_VERSION, 0, 0 },
	{ "sample_python_no_table.so", PARSER_PYTHON_VERSION, 0x030d0000, 0 },
};

static void files_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const struct parser_python *p = file_read(files[i].file);

		CHECK_INT_EQ(files[i].file, p->state, files[i].state);
		CHECK_INT_EQ(files[i].file, p->version, files[i].version);
		CHECK_INT_EQ(files[i].file, p->layout.minor, files[i].minor);
		CHECK_INT_EQ(files[i].file, p->freed.n_head != 0,
			     files[i].state == PARSER_PYTHON_OK && !strstr(files[i].file, "no_freed"));
	}
}

int main(void)
{
	struct pythons pythons;

	files_check();
	pythons_find(&pythons);
	for (size_t i = 0; i < pythons.n; i++)
		interpreter_check(pythons.paths[i]);
	pythons_done(&pythons);
	return check_result();
}
