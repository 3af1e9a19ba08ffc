// SPDX-License-Identifier: Apache-2.0
/*
 * Lines of addresses against addr2line(1), for every byte of code: of all versions of DWARF, of several compilers,
 * compressed and in separate files. And damaged lines, which end in no line.
 *
 * addr2line of binutils 2.40 reads no DWARF 5 with offsets of 64 bits, and in debug files of Debian it takes the file
 * of an inlined function for that of its caller: there llvm-symbolizer says what is right.
 */
#include "children/dwarf_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "names_world.h"
#include "tests/support/check.h"

#define ADDRESSES_MAX 60000

static uint64_t addresses[ADDRESSES_MAX];
static struct named named[ADDRESSES_MAX];

/* "FILE:LINE (discriminator 2)", cut to the file. Return: line; 0: the tool knows none */
static uint32_t told_cut(char *told)
{
	char *colon;
	uint32_t line;

	line_cut(told);
	told[strcspn(told, "(")] = 0;
	colon = strrchr(told, ':');
	if (!colon || told[0] == '?')
		return 0;
	line = (uint32_t)strtoul(colon + 1, NULL, 10);
	*colon = 0;
	return line;
}

/* Asks a tool for the addresses. Return: its answer, to be read and closed */
static FILE *tool_ask(const char *tool, const char *path, size_t n)
{
	char list[64], command[512];
	CLEANUP(fclosep) FILE *file = NULL;
	FILE *answer;

	(void)snprintf(list, sizeof(list), "lines-%d.txt", (int)getpid());
	file = fopen(list, "we");
	if (!file)
		abort();
	for (size_t i = 0; i < n; i++)
		(void)fprintf(file, "0x%" PRIx64 "\n", addresses[i]);
	if (fflush(file))
		abort();
	(void)snprintf(command, sizeof(command), "%s '%s' <%s; rm %s", tool, path, list, list);
	answer = popen(command, "re");
	if (!answer)
		abort();
	return answer;
}

static const char *end_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * @told_path: file of the same code, of which the tool is asked
 * @is_whole: the paths are compared, not their last components alone: the tools put a relative directory where the
 * compiler ran twice before a path
 * Return: number of addresses with a line
 */
static size_t lines_check(const char *path, const char *tool, const char *told_path, size_t n, bool is_whole)
{
	struct parser_names head = names_ask(path, 1, addresses, n, /* is_address= */ true, named);
	FILE *answer = tool_ask(tool, told_path, n);
	size_t n_lines = 0, n_wrong = 0;
	char told[4096];

	CHECK_INT_EQ(path, head.has_lines, 1);
	for (size_t i = 0; i < n && fgets(told, sizeof(told), answer); i++) {
		uint32_t line = told_cut(told);

		n_lines += line > 0;
		if (!is_whole && !line && !named[i].symbol[0]) /* padding behind a function: its line or none */
			continue;
		if (named[i].line == line && (!line || strcmp(is_whole ? named[i].file : end_of(named[i].file),
							      is_whole ? told : end_of(told)) == 0))
			continue;
		if (n_wrong++ < 5)
			fprintf(stderr, "%s: %" PRIx64 " is %s:%u, want %s:%u\n", path, addresses[i], named[i].file,
				named[i].line, told, line);
	}
	CHECK_INT_EQ(path, n_wrong, 0);
	CHECK_INT_EQ(path, pclose(answer), 0);
	return n_lines;
}

/* Every byte, and some that are no code. */
static size_t addresses_of(const char *path, uint64_t step)
{
	uint64_t sections[64][2];
	size_t n = 0, n_sections = sections_of(path, sections, ARRAY_SIZE(sections));

	for (size_t i = 0; i < n_sections; i++)
		for (uint64_t at = sections[i][0]; at < sections[i][1] && n < ADDRESSES_MAX; at += step)
			addresses[n++] = at;
	return n;
}

static const struct {
	const char *file;
	const char *told; /* file of the same code; NULL: the same file */
	bool is_optional; /* not made with each compiler and each version of its tools */
} files[] = {
	{ .file = "named_2.so" },
	{ .file = "named_3.so" },
	{ .file = "named_4.so" },
	{ .file = "named_5.so" },
	{ .file = "named_64.so", .told = "named_5.so" },
	{ .file = "named_dropped.so", .told = "named_5.so" },
	{ .file = "named_zlib.so" },
	{ .file = "named_zstd.so", .told = "named_5.so", .is_optional = true },
	{ .file = "named_debug.so" },
	{ .file = "named_debug_old.so" },
	{ .file = "named_relative_2.so" },
	{ .file = "named_relative_4.so" },
	{ .file = "named_relative_5.so" },
	{ .file = "named_clang_4.so", .is_optional = true },
	{ .file = "named_clang_5.so", .is_optional = true },
};

static void files_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *file = files[i].file;
		size_t n_lines;

		if (files[i].is_optional && access(file, R_OK) < 0)
			continue;
		n_lines = lines_check(file, "addr2line -e", files[i].told ? files[i].told : file, addresses_of(file, 1),
				      /* is_whole= */ true);
		CHECK_INT_IN(file, n_lines, 150, ADDRESSES_MAX);
	}
}

/* A header's lines are of the header. */
static void header_check(void)
{
	size_t n = addresses_of("named_5.so", 1), n_header = 0;

	(void)names_ask("named_5.so", 1, addresses, n, /* is_address= */ true, named);
	for (size_t i = 0; i < n; i++)
		n_header += strstr(named[i].file, "/names_sample.h") != NULL;
	CHECK_INT_IN("header", n_header, 1, n);
}

/* Debug data of the C library, where that is installed. */
static void real_check(void)
{
	static const char tool[] = "llvm-symbolizer --functions=none --no-inlines --output-style=GNU --obj";
	glob_t found;
	size_t n_files = 0;

	if (system("command -v llvm-symbolizer >/dev/null") != 0 ||
	    glob("/usr/lib/debug/.build-id/*/*.debug", 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc && n_files < 2; i++) {
		const char *path = found.gl_pathv[i];
		struct stat st;

		if (stat(path, &st) < 0 || st.st_size < 1 << 20)
			continue;
		n_files++;
		CHECK_INT_IN(path, lines_check(path, tool, path, addresses_of(path, 97), /* is_whole= */ false), 1000,
			     ADDRESSES_MAX);
	}
	globfree(&found);
}

/* ---- programs made by hand ---- */

#define CODE 0x1000
#define CODE_END 0x9000
#define SET(low, high) "\x00\x09\x02" low high "\0\0\0\0\0\0"
#define COPY "\x01"
#define ADVANCE(n) "\x02" n
#define LINE(n) "\x03" n /* by so many */
#define END "\x00\x01\x01"

/* A unit of DWARF 4 with one directory and one file. Return: bytes */
static size_t unit_make(uint8_t *unit, const char *directory, const char *file, const void *program, size_t n_program)
{
	static const uint8_t after_lengths[] = { 1, 1, 1, (uint8_t)-5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
	size_t n = 10, n_head;
	uint32_t length;

	memcpy(unit + n, after_lengths, sizeof(after_lengths));
	n += sizeof(after_lengths);
	n += (size_t)sprintf((char *)unit + n, "%s", directory) + 1;
	if (*directory)
		unit[n++] = 0; /* the last directory */
	n += (size_t)sprintf((char *)unit + n, "%s", file) + 1;
	unit[n++] = *directory != 0; /* number of its directory */
	memset(unit + n, 0, 3);	     /* time, size, and the last file */
	n += 3;
	n_head = n - 10;
	memcpy(unit + n, program, n_program);
	n += n_program;
	length = (uint32_t)n - 4;
	memcpy(unit, &length, 4);
	memcpy(unit + 4, "\x04\x00", 2);
	length = (uint32_t)n_head;
	memcpy(unit + 6, &length, 4);
	return n;
}

/* Reads sections of lines alone. The result borrows all. */
static void lines_of(struct dwarf_lines *lines, struct elf_file *file, struct elf_parts *parts, const uint8_t *bytes,
		     size_t n)
{
	*file = (struct elf_file){ .fd = -1, .image = bytes, .bytes = n };
	*parts = (struct elf_parts){ .n_code = 1, .code = { { .start = CODE, .end = CODE_END } } };
	parts->line = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_size = n };
	*lines = (struct dwarf_lines)DWARF_LINES_INIT;
	dwarf_lines_read(lines, file, parts);
}

static const struct {
	const char *name, *program;
	size_t n;
	struct {
		uint64_t at;
		uint32_t line; /* 0: none */
	} asks[4];
} programs[] = {
#define PROGRAM(text) text, sizeof(text) - 1
	{ "one row",
	  PROGRAM(SET("\x00", "\x10") LINE("\x09") COPY ADVANCE("\x0a") END),
	  { { 0x1000, 10 }, { 0x1009, 10 }, { 0x100a, 0 }, { 0xfff, 0 } } },
	{ "two rows at one address: the last one counts",
	  PROGRAM(SET("\x00", "\x10") LINE("\x09") COPY LINE("\x01") COPY ADVANCE("\x0a") END),
	  { { 0x1000, 11 } } },
	{ "no line",
	  PROGRAM(SET("\x00", "\x10") LINE("\x7f") COPY ADVANCE("\x0a") LINE("\x09") COPY ADVANCE("\x02") END),
	  { { 0x1001, 0 }, { 0x100a, 9 } } },
	{ "no end",
	  PROGRAM(SET("\x00", "\x10") LINE("\x09") COPY ADVANCE("\x0a") LINE("\x01") COPY),
	  { { 0x1009, 10 }, { 0x100a, 0 } } },
	{ "rows that descend",
	  PROGRAM(SET("\x10", "\x10") LINE("\x09") COPY SET("\x00", "\x10") LINE("\x01") COPY ADVANCE("\x20") END),
	  { { 0x1000, 0 }, { 0x1010, 0 }, { 0x1011, 0 } } },
	{ "outside of the code",
	  PROGRAM(SET("\x00", "\x00") LINE("\x09") COPY ADVANCE("\x80\x40") END),
	  { { 0, 0 }, { 0x1000, 0 }, { 0x1fff, 0 } } },
	{ "an empty sequence before",
	  PROGRAM(SET("\x00", "\x10") LINE("\x09") COPY END SET("\x00", "\x10") LINE("\x04") COPY ADVANCE("\x05") END),
	  { { 0x1000, 5 }, { 0x1004, 5 } } },
	{ "an empty sequence behind",
	  PROGRAM(SET("\x00", "\x10") LINE("\x04") COPY ADVANCE("\x05") END SET("\x00", "\x10") LINE("\x09") COPY END),
	  { { 0x1000, 5 }, { 0x1004, 5 } } },
	{ "sequences out of order",
	  PROGRAM(SET("\x00", "\x20") LINE("\x04") COPY ADVANCE("\x05") END SET("\x00", "\x10") LINE("\x09")
			  COPY ADVANCE("\x05") END),
	  { { 0x1000, 10 }, { 0x2000, 5 }, { 0x1005, 0 } } },
	{ "an unknown operation",
	  PROGRAM(SET("\x00", "\x10") "\x00\x03\x80xx" LINE("\x04") COPY ADVANCE("\x05") END),
	  { { 0x1000, 5 } } },
	{ "an operation beyond the end",
	  PROGRAM(SET("\x00", "\x10") LINE("\x04") COPY ADVANCE("\x05") "\x00\x7f\x01"),
	  { { 0x1000, 0 } } },
	{ "a number without end",
	  PROGRAM(SET("\x00", "\x10") LINE("\x04") COPY "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
	  { { 0x1000, 0 } } },
	{ "a constant advance",
	  PROGRAM(SET("\x00", "\x10") LINE("\x04") COPY "\x08" LINE("\x01") COPY ADVANCE("\x05") END),
	  { { 0x1010, 5 }, { 0x1011, 6 } } },
	{ "a fixed advance",
	  PROGRAM(SET("\x00", "\x10") LINE("\x04") COPY "\x09\x00\x02" LINE("\x01") COPY ADVANCE("\x05") END),
	  { { 0x11ff, 5 }, { 0x1200, 6 } } },
	{ "operands to be passed",
	  PROGRAM(SET("\x00", "\x10") "\x05\x81\x01\x0c\x02\x06\x07\x0a\x0b" LINE("\x04") COPY ADVANCE("\x05") END),
	  { { 0x1000, 5 } } },
};

static void programs_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		char file[DWARF_FILE_BYTES];
		struct dwarf_lines lines;
		struct elf_parts parts;
		struct elf_file elf;
		uint8_t unit[512];
		size_t n = unit_make(unit, "/src", "f.c", programs[i].program, programs[i].n);

		lines_of(&lines, &elf, &parts, unit, n);
		for (size_t k = 0; k < ARRAY_SIZE(programs[i].asks) && programs[i].asks[k].at; k++) {
			CHECK_INT_EQ(programs[i].name, dwarf_lines_find(&lines, programs[i].asks[k].at, file),
				     programs[i].asks[k].line);
			CHECK_STR_EQ(programs[i].name, file, programs[i].asks[k].line ? "/src/f.c" : "");
		}
		dwarf_lines_done(&lines);
	}
}

/* A program that is run in pieces: each byte of code a row. */
static void long_program_check(void)
{
	static uint8_t program[CODE_END - CODE + 16], unit[sizeof(program) + 256];
	size_t n = sizeof(SET("\x00", "\x10")) - 1, n_rows = CODE_END - CODE, n_wrong = 0;
	char file[DWARF_FILE_BYTES];
	struct dwarf_lines lines;
	struct elf_parts parts;
	struct elf_file elf;

	memcpy(program, SET("\x00", "\x10"), n);
	for (size_t i = 0; i < n_rows; i++)
		program[n++] = (uint8_t)(13 + 14 * (i > 0) + 5 + 1); /* one line, and after the first row one byte */
	memcpy(program + n, "\x00\x01\x01", 3);
	lines_of(&lines, &elf, &parts, unit, unit_make(unit, "/src", "f.c", program, n + 3));
	CHECK_INT_IN("long program", lines.marks.n, 10, 100);
	for (size_t i = 0; i + 1 < n_rows; i++)
		n_wrong += dwarf_lines_find(&lines, CODE + i, file) != i + 2;
	CHECK_INT_EQ("long program", n_wrong, 0);
	CHECK_INT_EQ("its end", dwarf_lines_find(&lines, CODE_END - 1, file), 0);
	dwarf_lines_done(&lines);
}

/* ---- directories of units before DWARF 5 ---- */

/* A form that the attribute before the directory has, and so many bytes of it. */
static const struct {
	const char *name;
	uint16_t form;
	const char *bytes;
	size_t n;
} forms[] = {
#define FORM(form, text) #form, form, text, sizeof(text) - 1
	{ FORM(0x01, "abcdefgh") },
	{ FORM(0x03, "\x02\x00xx") },
	{ FORM(0x04, "\x02\x00\x00\x00xx") },
	{ FORM(0x05, "xx") },
	{ FORM(0x06, "xxxx") },
	{ FORM(0x07, "xxxxxxxx") },
	{ FORM(0x08, "text\0") },
	{ FORM(0x09, "\x03xxx") },
	{ FORM(0x0a, "\x03xxx") },
	{ FORM(0x0b, "x") },
	{ FORM(0x0c, "x") },
	{ FORM(0x0d, "\x81\x7f") },
	{ FORM(0x0e, "xxxx") },
	{ FORM(0x0f, "\x81\x01") },
	{ FORM(0x10, "xxxx") },
	{ FORM(0x11, "x") },
	{ FORM(0x12, "xx") },
	{ FORM(0x13, "xxxx") },
	{ FORM(0x14, "xxxxxxxx") },
	{ FORM(0x15, "\x81\x01") },
	{ FORM(0x16, "\x05xx") },
	{ FORM(0x17, "xxxx") },
	{ FORM(0x18, "\x02xx") },
	{ FORM(0x19, "") },
	{ FORM(0x1a, "\x05") },
	{ FORM(0x1b, "\x05") },
	{ FORM(0x1c, "xxxx") },
	{ FORM(0x1d, "xxxx") },
	{ FORM(0x1e, "0123456789abcdef") },
	{ FORM(0x1f, "xxxx") },
	{ FORM(0x20, "xxxxxxxx") },
	{ FORM(0x22, "\x05") },
	{ FORM(0x23, "\x05") },
	{ FORM(0x24, "xxxxxxxx") },
	{ FORM(0x25, "x") },
	{ FORM(0x26, "xx") },
	{ FORM(0x27, "xxx") },
	{ FORM(0x28, "xxxx") },
	{ FORM(0x29, "x") },
	{ FORM(0x2a, "xx") },
	{ FORM(0x2b, "xxx") },
	{ FORM(0x2c, "xxxx") },
	{ FORM(0x1f01, "\x05") },
	{ FORM(0x1f02, "\x05") },
	{ FORM(0x1f20, "xxxx") },
	{ FORM(0x1f21, "xxxx") },
};

/* How a unit of .debug_info begins, after its length. */
static const struct {
	const char *name, *head;
	size_t n;
	bool is_read;
} heads[] = {
#define HEAD(text) text, sizeof(text) - 1
	{ "2", HEAD("\x02\x00\x05\x00\x00\x00\x08"), true },
	{ "4", HEAD("\x04\x00\x05\x00\x00\x00\x08"), true },
	{ "5", HEAD("\x05\x00\x01\x08\x05\x00\x00\x00"), true },
	{ "5, a part", HEAD("\x05\x00\x03\x08\x05\x00\x00\x00"), true },
	{ "5, without its content",
	  HEAD("\x05\x00\x04\x08\x05\x00\x00\x00"
	       "12345678"),
	  true },
	{ "5, of types",
	  HEAD("\x05\x00\x02\x08\x05\x00\x00\x00"
	       "12345678xxxx"),
	  false },
	{ "6", HEAD("\x06\x00\x05\x00\x00\x00\x08"), false },
	{ "4, addresses of 9 bytes", HEAD("\x04\x00\x05\x00\x00\x00\x09"), false },
	{ "4, descriptions elsewhere", HEAD("\x04\x00\x55\x55\x00\x00\x08"), false },
};

static size_t leb_put(uint8_t *to, uint32_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		to[n++] = (uint8_t)(value | 0x80);
	to[n++] = (uint8_t)value;
	return n;
}

/* Two descriptions of entries: another one first. Return: bytes */
static size_t descriptions_make(uint8_t *to, uint16_t form)
{
	static const uint8_t before[] = { 9,	9,    9,    9,	  9, 1, 0x24, 0,    3, 8,
					  0x49, 0x21, 0x85, 0x7f, 0, 0, 2,    0x11, 1, 0x13 },
			     after[] = { 0x10, 0x17, 0x1b, 8, 0, 0, 0 };
	size_t n = sizeof(before);

	memcpy(to, before, n); /* the first five bytes belong to nobody */
	n += leb_put(to + n, form);
	memcpy(to + n, after, sizeof(after));
	return n + sizeof(after);
}

/* Two units: the first one has other lines. Return: bytes */
static size_t units_make(uint8_t *to, size_t head, size_t form)
{
	size_t n = 0;

	for (uint32_t lines = 7; lines <= 7; lines -= 7) {
		size_t start = n;
		uint32_t length;

		memcpy(to + n + 4, heads[head].head, heads[head].n);
		n += 4 + heads[head].n;
		to[n++] = 2;
		memcpy(to + n, forms[form].bytes, forms[form].n);
		n += forms[form].n;
		memcpy(to + n, &lines, sizeof(lines));
		n += sizeof(lines);
		n += (size_t)sprintf((char *)to + n, "%s", lines ? "/other" : "/where") + 1;
		length = (uint32_t)(n - start - 4);
		memcpy(to + start, &length, sizeof(length));
		if (!lines)
			break;
	}
	return n;
}

static void directory_check(size_t head, size_t form)
{
	static const char program[] = SET("\x00", "\x10") LINE("\x09") COPY ADVANCE("\x0a") END;
	char name[64], file[DWARF_FILE_BYTES];
	struct dwarf_lines lines;
	struct elf_parts parts;
	struct elf_file elf;
	uint8_t bytes[2048];
	size_t n = unit_make(bytes, "more", "x.c", program, sizeof(program) - 1), n_units, n_descriptions;

	(void)snprintf(name, sizeof(name), "version %s, form %s", heads[head].name, forms[form].name);
	lines_of(&lines, &elf, &parts, bytes, n);
	n_units = units_make(bytes + n, head, form);
	parts.units = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_offset = n, .sh_size = n_units };
	n_descriptions = descriptions_make(bytes + n + n_units, forms[form].form);
	parts.unit_forms = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_offset = n + n_units, .sh_size = n_descriptions };
	elf.bytes = n + n_units + n_descriptions;
	CHECK_INT_EQ(name, dwarf_lines_find(&lines, CODE, file), 10);
	CHECK_STR_EQ(name, file, heads[head].is_read ? "/where/more/x.c" : "more/x.c");
	dwarf_lines_done(&lines);
}

static void directories_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		directory_check(1, i);
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		directory_check(i, 3);
}

static void paths_check(void)
{
	static char longest[600], odd[] = "odd\033[2J\xff.c";
	static const struct {
		const char *name, *directory, *file, *want;
	} paths[] = {
		{ "absolute", "/src", "/usr/include/x.h", "/usr/include/x.h" },
		{ "in a directory", "/src/more", "x.c", "/src/more/x.c" },
		{ "in a directory that ends in a slash", "/src/", "x.c", "/src/x.c" },
		{ "in a relative directory", "more", "x.c", "more/x.c" },
		{ "in no directory", "", "x.c", "x.c" },
		{ "no text for people", "/src", odd, "/src/odd?[2J?.c" },
		{ "too long", longest, "x.c", ".../dddddddd/x.c" },
	};
	static const char program[] = SET("\x00", "\x10") LINE("\x09") COPY ADVANCE("\x0a") END;

	memset(longest, 'd', sizeof(longest) - 1);
	longest[0] = longest[50] = longest[590] = '/';
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char file[DWARF_FILE_BYTES];
		struct dwarf_lines lines;
		struct elf_parts parts;
		struct elf_file elf;
		uint8_t unit[2048];

		lines_of(&lines, &elf, &parts, unit,
			 unit_make(unit, paths[i].directory, paths[i].file, program, sizeof(program) - 1));
		CHECK_INT_EQ(paths[i].name, dwarf_lines_find(&lines, CODE, file), 10);
		CHECK_STR_EQ(paths[i].name, file, paths[i].want);
		dwarf_lines_done(&lines);
	}
}

/* ---- damaged ---- */

static struct {
	uint8_t *bytes;
	size_t n;
	int fd; /* a copy in memory */
} sample = { .fd = -1 };

static void sample_load(const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		abort();
	free(sample.bytes);
	closep(&sample.fd);
	sample.n = (size_t)st.st_size;
	sample.bytes = malloc(sample.n);
	sample.fd = memfd_create("lines", MFD_CLOEXEC);
	if (!sample.bytes || sample.fd < 0 || fd_read_full(fd, sample.bytes, sample.n) < 0 ||
	    fd_write_full(sample.fd, sample.bytes, sample.n) < 0)
		abort();
}

/* Where a section is in the sample. */
static bool section_find(const char *name, size_t *ret_at, size_t *ret_n)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)sample.bytes;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(sample.bytes + header->e_shoff);
	const char *names = (const char *)sample.bytes + sections[header->e_shstrndx].sh_offset;

	for (size_t i = 0; i < header->e_shnum; i++) {
		if (strcmp(names + sections[i].sh_name, name) != 0)
			continue;
		*ret_at = sections[i].sh_offset;
		*ret_n = sections[i].sh_size;
		return true;
	}
	return false;
}

/* A section that says that it has more bytes than come out: the rest would be anything. */
static void unpacked_check(void)
{
	size_t at = 0, n;

	sample_load("named_zlib.so");
	CHECK("unpacked", section_find(".debug_line", &at, &n));
	addresses[0] = CODE;
	CHECK_INT_EQ("unpacked", names_ask_descriptor("unpacked", sample.fd, sample.n, addresses, 1).has_lines, 1);
	for (int more = -1; more <= 1; more += 2) {
		Elf64_Chdr head;

		memcpy(&head, sample.bytes + at, sizeof(head));
		head.ch_size += (uint64_t)(int64_t)more;
		if (pwrite(sample.fd, &head, sizeof(head), (off_t)at) != sizeof(head))
			abort();
		CHECK_INT_EQ("unpacked", names_ask_descriptor("unpacked", sample.fd, sample.n, addresses, 1).has_lines,
			     0);
	}
}

/* Every byte of the sections that are read, set to what breaks most. */
static void bytes_check(const char *path)
{
	static const char *const sections[] = { ".debug_line", ".debug_line_str", ".debug_info", ".debug_abbrev" };
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	size_t n_asked = MIN(addresses_of(path, 61), (size_t)PARSER_NAMES_MAX);

	sample_load(path);
	for (size_t k = 0; k < ARRAY_SIZE(sections); k++) {
		size_t at, n;

		if (!section_find(sections[k], &at, &n))
			continue;
		for (size_t i = at; i < at + MIN(n, (size_t)512); i++) {
			uint8_t value = values[i % ARRAY_SIZE(values)];

			if (pwrite(sample.fd, &value, 1, (off_t)i) != 1)
				abort();
			(void)names_ask_descriptor(sections[k], sample.fd, sample.n, addresses, (uint32_t)n_asked);
			if (pwrite(sample.fd, &sample.bytes[i], 1, (off_t)i) != 1)
				abort();
		}
	}
}

/* The file ends earlier than it says, and earlier than it did. */
static void cuts_check(const char *path)
{
	size_t n_asked = MIN(addresses_of(path, 61), (size_t)PARSER_NAMES_MAX);

	sample_load(path);
	for (size_t n = sample.n / 512 * 512; n; n -= 512) {
		if (ftruncate(sample.fd, (off_t)n) < 0)
			abort();
		(void)names_ask_descriptor("cut", sample.fd, n, addresses, (uint32_t)n_asked);
		(void)names_ask_descriptor("cut behind our back", sample.fd, sample.n, addresses, (uint32_t)n_asked);
	}
}

int main(void)
{
	files_check();
	header_check();
	real_check();
	programs_check();
	long_program_check();
	paths_check();
	directories_check();
	unpacked_check();
	bytes_check("named_5.so");
	bytes_check("named_4.so");
	bytes_check("named_zlib.so");
	cuts_check("named_4.so");
	free(sample.bytes);
	closep(&sample.fd);
	return check_result();
}
