// SPDX-License-Identifier: Apache-2.0
/*
 * Names of addresses against nm(1), for every byte of code of small files and for every function of real ones; entries
 * of linkage tables against objdump(1). Damaged files, also in a sealed process.
 */
#include "children/elf_names.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "children/child.h"
#include "children/child_role.h"
#include "names_world.h"
#include "tests/support/check.h"

#define ADDRESSES_MAX 60000

const struct child_role *const child_roles[] = { &parser_role, NULL };

static uint64_t addresses[ADDRESSES_MAX];
static struct named named[ADDRESSES_MAX];

static int copy_in_memory(const char *path, size_t *ret_n)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(freep) void *bytes = NULL;
	int copy = memfd_create("named", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || copy < 0 || fstat(fd, &st) < 0)
		abort();
	bytes = malloc((size_t)st.st_size);
	if (!bytes || fd_read_full(fd, bytes, (size_t)st.st_size) < 0 ||
	    fd_write_full(copy, bytes, (size_t)st.st_size) < 0)
		abort();
	*ret_n = (size_t)st.st_size;
	return copy;
}

/* ---- against nm ---- */

static bool has(const struct listed *f, uint64_t address)
{
	return f->address <= address && address - f->address < f->bytes;
}

/*
 * Start of the innermost function whose size has the address; without one, of the last one before it, if it has no
 * size.
 * @ended: a function without a size that has two bytes, as unwinding data say
 */
static uint64_t start_want(const struct listing *listing, uint64_t address, uint64_t section_start, uint64_t ended)
{
	uint64_t inner = 0, before = 0;
	bool is_sized = false;

	for (size_t i = 0; i < listing->functions.n; i++) {
		const struct listed *f = &listing->functions.items[i];

		if (has(f, address))
			inner = MAX(inner, f->address);
		if (f->address > address || f->address < section_start || f->address < before)
			continue;
		is_sized = f->bytes || (f->address == before && is_sized);
		before = f->address;
	}
	if (inner)
		return inner;
	return is_sized || (before == ended && address - before >= 2) ? 0 : before;
}

static void name_check(const char *path, const struct listing *listing, uint64_t address, uint64_t section_start,
		       const struct named *got)
{
	static unsigned int n_told;
	/* A separate debug file has no unwinding data. */
	uint64_t ended = strcmp(path, "named_debug.so") == 0 ? 0 : listing_find(listing, "no_size_alone");
	uint64_t want = start_want(listing, address, section_start, ended);
	size_t n = strlen(got->symbol);
	bool is_ok, is_cut = n > 3 && strcmp(got->symbol + n - 3, "...") == 0;

	/* These have their own checks. Names with control characters nm(1) shows in another way. */
	if (strstr(got->symbol, "@plt") || strncmp(got->symbol, "odd", 3) == 0)
		return;
	is_ok = want == (got->symbol[0] ? got->address - got->offset : 0) && (got->address == address || !got->address);
	if (is_ok && want && !is_cut)
		is_ok = listing_names(listing, want, address, got->symbol);
	CHECK(path, is_ok);
	if (!is_ok && n_told++ < 10)
		fprintf(stderr, "%s: %" PRIx64 " is '%s' + %" PRIx64 ", want the function at %" PRIx64 "\n", path,
			address, got->symbol, got->offset, want);
}

/* Every byte of code. */
static void bytes_named_check(const char *path, const char *listed_path, bool is_dynamic)
{
	uint64_t sections[64][2];
	size_t n_sections = sections_of(listed_path, sections, ARRAY_SIZE(sections));
	struct listing listing = LISTING_INIT;

	listing_read(&listing, listed_path, is_dynamic);
	for (size_t i = 0; i < n_sections; i++) {
		size_t n = (size_t)MIN(sections[i][1] - sections[i][0], (uint64_t)ADDRESSES_MAX);

		for (size_t k = 0; k < n; k++)
			addresses[k] = sections[i][0] + k;
		(void)names_ask(path, 1, addresses, n, /* is_address= */ true, named);
		for (size_t k = 0; k < n; k++)
			name_check(path, &listing, addresses[k], sections[i][0], &named[k]);
	}
	listing_done(&listing);
}

static uint64_t section_start(uint64_t (*sections)[2], size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (address >= sections[i][0] && address < sections[i][1])
			return sections[i][0];
	return 0;
}

/* Of a large file the first, a middle and the last byte of each function, and the byte behind it. */
static void functions_named_check(const char *path)
{
	uint64_t sections[64][2];
	size_t n_sections = sections_of(path, sections, ARRAY_SIZE(sections)), n = 0;
	struct listing listing = LISTING_INIT;

	listing_read(&listing, path, /* is_dynamic= */ true);
	listing_read(&listing, path, /* is_dynamic= */ false);
	for (size_t i = 0; i < listing.functions.n && n + 4 <= ADDRESSES_MAX; i++) {
		const struct listed *f = &listing.functions.items[i];
		const uint64_t offsets[] = { 0, f->bytes / 2, f->bytes ? f->bytes - 1 : 0, f->bytes };

		for (size_t k = 0; k < ARRAY_SIZE(offsets); k++)
			if (section_start(sections, n_sections, f->address + offsets[k]))
				addresses[n++] = f->address + offsets[k];
	}
	(void)names_ask(path, 1, addresses, n, /* is_address= */ true, named);
	for (size_t i = 0; i < n; i++)
		name_check(path, &listing, addresses[i], section_start(sections, n_sections, addresses[i]), &named[i]);
	CHECK_INT_IN(path, n, 1000, ADDRESSES_MAX);
	listing_done(&listing);
}

/* Libraries of the system have the dynamic table alone. */
static void real_check(void)
{
	static const char *const patterns[] = { "/lib/*-linux-gnu/libc.so.6", "/usr/lib/*-linux-gnu/libpython3*.so.1.0",
						"/usr/lib/*-linux-gnu/libstdc++.so.6" };

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		glob_t found;

		if (glob(patterns[i], 0, NULL, &found) != 0)
			continue;
		functions_named_check(found.gl_pathv[0]);
		globfree(&found);
	}
}

/* ---- names that people know ---- */

static const struct {
	const char *name; /* in the file */
	uint64_t at;	  /* from its start */
	const char *want;
	uint64_t offset; /* from the start of that */
	const char *want_dynamic;
} texts[] = {
	{ "__sample_alias", 0, "sample_alias", 0, "sample_alias" },
	{ "__sample_alias", 2, "sample_alias", 2, "sample_alias" },
	{ "sample_local", 1, "sample_local", 1, "" },
	{ "part_of.cold", 0, "part_of", 0, "" },
	{ "part_of.part.0", 1, "part_of", 1, "" },
	{ "part_of.isra.0.cold", 1, "part_of", 1, "" },
	{ "part_of.constprop.12", 0, "part_of", 0, "" },
	{ "part_of.lto_priv.3", 0, "part_of", 0, "" },
	{ "part_of.llvm.1234567", 0, "part_of", 0, "" },
	{ "not_void.cold", 0, "not_void", 0, "" },
	{ "not_void.cold", 2, "not_void", 2, "" },
	{ "dotted.name", 0, "dotted.name", 0, "" },
	{ "dotted.part", 0, "dotted.part", 0, "" },
	{ "_RNvNtC7mycrate3foo3bar", 0, "mycrate::foo::bar", 0, "mycrate::foo::bar" },
	{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", 2, "core::fmt::Write::write_fmt", 2,
	  "core::fmt::Write::write_fmt" },
	{ "_ZNoName", 0, "_ZNoName", 0, "_ZNoName" },
	{ "no_size", 2, "no_size", 2, "no_size" },
	{ "no_size", 4, "inside_label", 1, "no_size" },
	{ "outer", 0, "outer", 0, "outer" },
	{ "outer", 1, "inner", 0, "inner" },
	{ "outer", 4, "outer", 4, "outer" },
	{ "outer", 5, "", 0, "" },
	{ "outer", 8, "", 0, "" },
	{ "no_size_alone", 1, "no_size_alone", 1, "no_size_alone" },
	{ "no_size_alone", 2, "", 0, "" },
	{ "no_size_alone", 4, "", 0, "" },
	{ "odd\033[2Jname", 0, "odd?[2Jname", 0, "" },
	{ "odd\377\376name", 0, "odd??name", 0, "" },
	{ "_ZN6sample5shapepLERKS0_", 0, "sample::shape::operator+=(sample::shape const&)", 0,
	  "sample::shape::operator+=(sample::shape const&)" },
	{ "_ZN6sample12_GLOBAL__N_16hiddenEi", 0, "sample::(anonymous namespace)::hidden(int)", 0, "" },
	{ "_ZN6sample7largestIiEET_RKSt6vectorIS1_SaIS1_EE", 0,
	  "int sample::largest<int>(std::vector<int, std::allocator<int> > const&)", 0,
	  "int sample::largest<int>(std::vector<int, std::allocator<int> > const&)" },
};

/* nm(1) shows control characters in a way of its own: those names are looked for by their beginning. */
static uint64_t address_of(const struct listing *listing, const char *name)
{
	size_t n = strcspn(name, "\033\377");

	for (size_t i = 0; i < listing->functions.n; i++)
		if (name[n] && strncmp(listing->functions.items[i].name, name, n) == 0 &&
		    (strstr(listing->functions.items[i].name, "2J") != NULL) == (strstr(name, "2J") != NULL))
			return listing->functions.items[i].address;
	return listing_find(listing, name);
}

static void texts_check(void)
{
	struct listing listing = LISTING_INIT;
	struct parser_names head;

	listing_read(&listing, "named_none.so", /* is_dynamic= */ false);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		uint64_t start = address_of(&listing, texts[i].name), at = start + texts[i].at;

		CHECK(texts[i].name, start);
		head = names_ask("named_none.so", 1, &at, 1, /* is_address= */ true, named);
		CHECK_INT_EQ(texts[i].name, head.has_symbols, 1);
		CHECK_STR_EQ(texts[i].name, named[0].symbol, texts[i].want);
		CHECK_INT_EQ(texts[i].name, named[0].offset, texts[i].offset);
		CHECK_INT_EQ(texts[i].name, named[0].address, at);
		CHECK(texts[i].name, !named[0].is_exported);
	}
	listing_done(&listing);

	listing_read(&listing, "named_5.so", /* is_dynamic= */ false);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		uint64_t at = address_of(&listing, texts[i].name) + texts[i].at;

		head = names_ask("named_stripped.so", 1, &at, 1, /* is_address= */ true, named);
		CHECK_INT_EQ(texts[i].name, head.has_symbols, 0);
		CHECK_STR_EQ(texts[i].name, named[0].symbol, texts[i].want_dynamic);
		CHECK_INT_EQ(texts[i].name, named[0].is_exported, texts[i].want_dynamic[0] != 0);
	}
	listing_done(&listing);
}

/* Cut, and said so. */
static void long_name_check(void)
{
	struct listing listing = LISTING_INIT;
	uint64_t at = 0;

	listing_read(&listing, "named_none.so", /* is_dynamic= */ false);
	for (size_t i = 0; i < listing.functions.n; i++)
		if (strstr(listing.functions.items[i].name, "long_name"))
			at = listing.functions.items[i].address;
	(void)names_ask("named_none.so", 1, &at, 1, /* is_address= */ true, named);
	CHECK_INT_EQ("long", strlen(named[0].symbol), NAMED_TEXT_BYTES - 1);
	CHECK_STR_EQ("long", named[0].symbol + NAMED_TEXT_BYTES - 4, "...");
	CHECK_INT_EQ("long", strncmp(named[0].symbol, "int long_name<std::map<", 23), 0);
	listing_done(&listing);
}

/* ---- linkage tables ---- */

/* "0000000000001030 <puts@plt>:" Return: the name; NULL: another line, or the head of the table */
static char *plt_parse(char *line, uint64_t *ret_at)
{
	char *end, *name;

	line_cut(line);
	*ret_at = strtoull(line, &name, 16);
	end = strstr(name, "@plt>:");
	if (name == line || strncmp(name, " <", 2) != 0 || !end || name[2] == '*')
		return NULL;
	end[strlen("@plt")] = 0;
	return name + 2;
}

/* Return: number of entries */
static size_t plt_check(const char *path)
{
	char command[512], line[4096];
	size_t n = 0;
	FILE *tool;

	(void)snprintf(command, sizeof(command),
		       "LC_ALL=C objdump -C -d -j .plt -j .plt.sec -j .plt.got '%s' 2>/dev/null", path);
	tool = popen(command, "re");
	while (tool && fgets(line, sizeof(line), tool)) {
		uint64_t at[2];
		char *name = plt_parse(line, &at[0]);

		if (!name)
			continue;
		at[1] = at[0] + 5;
		(void)names_ask(path, 2, at, 2, /* is_address= */ true, named);
		CHECK_STR_EQ(path, named[0].symbol, name);
		CHECK_INT_EQ(path, named[0].offset, 0);
		CHECK_STR_EQ(path, named[1].symbol, name);
		CHECK_INT_EQ(path, named[1].offset, 5);
		n++;
	}
	(void)pclose(tool); /* not every file has each of these sections */
	return n;
}

#ifdef __x86_64__
static uint64_t section_at(const char *path, const char *name, uint64_t *ret_offset, uint64_t *ret_bytes)
{
	char command[512];
	uint64_t at = 0;
	FILE *tool;

	*ret_offset = *ret_bytes = 0;
	(void)snprintf(command, sizeof(command),
		       "LC_ALL=C readelf -SW '%s' | sed -n 's/^  \\[ *[0-9]*\\] %s  *PROGBITS//p'", path, name);
	tool = popen(command, "re");
	if (!tool || fscanf(tool, "%" SCNx64 " %" SCNx64 " %" SCNx64, &at, ret_offset, ret_bytes) != 3)
		at = 0;
	CHECK(name, tool && pclose(tool) == 0 && at);
	return at;
}

/*
 * The table for lazy binding has an entry more than the one that is called, and then the same ones, which push numbers
 * of relocations. Older tools put a prefix before the jumps of the second.
 */
static void lazy_check(void)
{
	static const uint8_t older[] = { 0xf2, 0xff, 0x25 };
	size_t n;
	CLEANUP(closep) int fd = copy_in_memory("named_lazy.so", &n);
	uint64_t offset, n_lazy, n_called, lazy = section_at("named_lazy.so", ".plt", &offset, &n_lazy),
					   called = section_at("named_lazy.so", ".plt.sec", &offset, &n_called);
	char path[64];

	CHECK_INT_EQ("lazy", n_lazy, n_called + 16);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (uint64_t at = 0; at < n_called; at += 16) {
		const uint64_t both[] = { called + at, lazy + 16 + at };
		int32_t target;

		(void)names_ask(path, 5, both, 2, /* is_address= */ true, named);
		CHECK("lazy", strstr(named[0].symbol, "@plt"));
		CHECK_STR_EQ("lazy", named[1].symbol, named[0].symbol);
		if (pread(fd, &target, sizeof(target), (off_t)(offset + at + 6)) != sizeof(target))
			abort();
		target--; /* counts from the end of the jump */
		if (pwrite(fd, older, sizeof(older), (off_t)(offset + at + 4)) != sizeof(older) ||
		    pwrite(fd, &target, sizeof(target), (off_t)(offset + at + 7)) != sizeof(target))
			abort();
		(void)names_ask(path, 6, both, 1, /* is_address= */ true, &named[1]);
		CHECK_STR_EQ("older", named[1].symbol, named[0].symbol);
	}
	(void)names_ask(path, 6, &lazy, 1, /* is_address= */ true, named);
	CHECK_STR_EQ("the head of the table", named[0].symbol, "");
}
#endif

static void plts_check(void)
{
#ifdef __x86_64__
	lazy_check();
	CHECK_INT_IN("calls", plt_check("named_none.so"), 3, 100);
	CHECK_INT_IN("lazy", plt_check("named_lazy.so"), 3, 200);
	CHECK_INT_IN("stripped", plt_check("named_stripped.so"), 3, 100);
	(void)plt_check("/usr/bin/env");
#endif
}

/* ---- kinds of files ---- */

static const struct {
	const char *file;
	bool has_symbols, has_lines;
	const char *link;
} files[] = {
	{ "named_none.so", true, false, "" },	   { "named_5.so", true, true, "" },
	{ "named_stripped.so", false, false, "" }, { "named_linked.so", false, false, "named_debug.so" },
	{ "named_debug.so", true, true, "" },	   { "named_debug_old.so", true, true, "" },
	{ "named_mini.so", true, false, "" },	   { "named_zlib.so", true, true, "" },
};

/* The checksum that the tools wrote is that of the file. */
static uint32_t crc_of(const char *path)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint32_t crc = UINT32_MAX;
	uint8_t byte;

	while (fd >= 0 && read(fd, &byte, 1) == 1) {
		crc ^= byte;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
	}
	return ~crc;
}

static void files_check(void)
{
	struct parser_names first = { .n = 0 };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		uint64_t at = 0x1000;
		struct parser_names head = names_ask(files[i].file, 3, &at, 1, /* is_address= */ true, named);

		CHECK_INT_EQ(files[i].file, head.has_symbols, files[i].has_symbols);
		CHECK_INT_EQ(files[i].file, head.has_lines, files[i].has_lines);
		CHECK_STR_EQ(files[i].file, head.debug_link, files[i].link);
		CHECK_INT_EQ(files[i].file, head.debug_crc, files[i].link[0] ? crc_of(files[i].link) : 0);
		CHECK_INT_EQ(files[i].file, head.n_build_id, 20);
		if (strcmp(files[i].file, "named_5.so") == 0)
			first = head;
		if (strcmp(files[i].file, "named_debug.so") == 0)
			CHECK_INT_EQ("its debug file", memcmp(head.build_id, first.build_id, 20), 0);
	}
}

/* Offsets in the file are those that the program headers say. */
static void offsets_check(void)
{
	CLEANUP(closep) int fd = open("named_lazy.so", O_RDONLY | O_CLOEXEC);
	struct listing listing = LISTING_INIT;
	Elf64_Ehdr header;
	uint64_t at = 0;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != sizeof(header))
		abort();
	listing_read(&listing, "named_lazy.so", /* is_dynamic= */ false);
	for (size_t i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr p;
		uint64_t address = listing_find(&listing, "sample_global");

		if (pread(fd, &p, sizeof(p), (off_t)(header.e_phoff + i * sizeof(p))) != sizeof(p))
			abort();
		if (p.p_type == PT_LOAD && (p.p_flags & PF_X))
			at = address - p.p_vaddr + p.p_offset;
	}
	(void)names_ask("named_lazy.so", 4, &at, 1, /* is_address= */ false, named);
	CHECK_STR_EQ("offset", named[0].symbol, "sample_global");
	CHECK_INT_EQ("offset", named[0].address, listing_find(&listing, "sample_global"));
	at = 0; /* of the file's header */
	(void)names_ask("named_lazy.so", 4, &at, 1, /* is_address= */ false, named);
	CHECK_INT_EQ("no code", named[0].address, 0);
	at = UINT64_MAX;
	(void)names_ask("named_lazy.so", 4, &at, 1, /* is_address= */ false, named);
	CHECK_INT_EQ("far outside", named[0].address, 0);
	listing_done(&listing);
}

/* ---- what is kept ---- */

/* Another state of a file is another file, and many files push out the oldest. */
static void kept_check(void)
{
	struct listing listing = LISTING_INIT;
	uint64_t at;

	listing_read(&listing, "named_none.so", /* is_dynamic= */ false);
	at = listing_find(&listing, "outer");
	for (uint64_t change = 100; change < 100 + 3 * ELF_NAMES_FILES_MAX; change++) {
		for (size_t again = 0; again < 2; again++) {
			named[0].symbol[0] = 0;
			(void)names_ask("named_none.so", change, &at, 1, /* is_address= */ true, named);
			CHECK_STR_EQ("kept", named[0].symbol, "outer");
		}
	}
	elf_names_forget();
	(void)names_ask("named_none.so", 100, &at, 1, /* is_address= */ true, named);
	CHECK_STR_EQ("after all are forgotten", named[0].symbol, "outer");
	listing_done(&listing);
}

/* A file that was written to: the same inode and size, another change. */
static void changed_check(void)
{
	struct listing listing = LISTING_INIT;
	CLEANUP(closep) int fd = -1;
	CLEANUP(closep) int other = -1;
	size_t n, n_other;
	char path[64];
	uint64_t at;

	listing_read(&listing, "named_none.so", /* is_dynamic= */ false);
	fd = copy_in_memory("named_none.so", &n);
	other = copy_in_memory("named_stripped.so", &n_other);
	at = listing_find(&listing, "sample_local");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)names_ask(path, 1, &at, 1, /* is_address= */ true, named);
	CHECK_STR_EQ("before", named[0].symbol, "sample_local");
	for (size_t i = 0; i < n; i++) {
		uint8_t byte = 0;

		if (i < n_other && pread(other, &byte, 1, (off_t)i) != 1)
			abort();
		if (pwrite(fd, &byte, 1, (off_t)i) != 1)
			abort();
	}
	(void)names_ask(path, 2, &at, 1, /* is_address= */ true, named);
	CHECK_STR_EQ("after", named[0].symbol, "");
	listing_done(&listing);
}

/* More text than an answer has room for: the rest is asked for again. */
static void full_answer_check(void)
{
	struct listing listing = LISTING_INIT;
	size_t n_bytes;
	CLEANUP(closep) int fd = copy_in_memory("named_5.so", &n_bytes);
	struct parser_names_question q = { .kind = PARSER_ASK_NAMES, .file_bytes = n_bytes, .is_address = 1 };
	_Alignas(max_align_t) static uint8_t
		answer[sizeof(struct parser_names) + PARSER_NAMES_MAX * sizeof(struct parser_name) + 600];
	const struct parser_names *head = (const struct parser_names *)answer;

	listing_read(&listing, "named_5.so", /* is_dynamic= */ false);
	for (; q.n < PARSER_NAMES_MAX; q.n++)
		q.at[q.n] = listing.functions.items[q.n % listing.functions.n].address;
	CHECK_INT_IN("full", elf_names_answer(&q, sizeof(q), fd, answer, sizeof(answer)), sizeof(*head),
		     sizeof(answer));
	CHECK_INT_IN("full", head->n, 1, q.n - 1);
	CHECK_INT_IN("full", head->n_text, 100, 600);
	CHECK_INT_EQ("no room", elf_names_answer(&q, sizeof(q), fd, answer, 200), -1);
	CHECK_INT_EQ("short question", elf_names_answer(&q, sizeof(q) - 1, fd, answer, sizeof(answer)), -1);
	q.n = PARSER_NAMES_MAX + 1;
	CHECK_INT_EQ("too many", elf_names_answer(&q, sizeof(q), fd, answer, sizeof(answer)), -1);
	listing_done(&listing);
}

/* ---- damaged files ---- */

/* Each byte of the headers and of the tables of sections and symbols. */
static void bytes_check(const char *path)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	size_t n, n_asked = PARSER_NAMES_MAX;
	CLEANUP(closep) int fd = copy_in_memory(path, &n);
	uint64_t sections[64][2];
	size_t n_sections = sections_of(path, sections, ARRAY_SIZE(sections));
	uint64_t at = 0;

	for (size_t i = 0; i < n_asked; i++)
		addresses[i] = sections[i % n_sections][0] + i / n_sections * 5;
	/* The sections are described at the end of the file, their names before that. */
	while (at < n) {
		uint8_t before, value = values[at / 3 % ARRAY_SIZE(values)];

		if (pread(fd, &before, 1, (off_t)at) != 1 || pwrite(fd, &value, 1, (off_t)at) != 1)
			abort();
		(void)names_ask_descriptor(path, fd, n, addresses, (uint32_t)n_asked);
		if (pwrite(fd, &before, 1, (off_t)at) != 1)
			abort();
		at += at < 128 ? 1 : n - at < 2600 ? 3 : 41;
	}
	for (at = n / 256 * 256; at; at -= 256) {
		if (ftruncate(fd, (off_t)at) < 0)
			abort();
		(void)names_ask_descriptor("cut", fd, at, addresses, (uint32_t)n_asked);
		(void)names_ask_descriptor("cut behind our back", fd, n, addresses, (uint32_t)n_asked);
	}
}

static void header_change(int fd, size_t at, uint64_t value, size_t n)
{
	if (pwrite(fd, &value, n, (off_t)at) != (ssize_t)n)
		abort();
}

/* Without sections the dynamic table is found by the segments, and the code is theirs. */
static void no_sections_check(void)
{
	struct listing listing = LISTING_INIT;
	CLEANUP(closep) int fd = -1;
	char path[64];
	size_t n;
	uint64_t at;

	listing_read(&listing, "named_none.so", /* is_dynamic= */ false);
	fd = copy_in_memory("named_none.so", &n);
	header_change(fd, offsetof(Elf64_Ehdr, e_shoff), 0, 8);
	header_change(fd, offsetof(Elf64_Ehdr, e_shnum), 0, 2);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	at = listing_find(&listing, "sample_global") + 1;
	(void)names_ask(path, 1, &at, 1, /* is_address= */ true, named);
	CHECK_STR_EQ("no sections", named[0].symbol, "sample_global");
	at = listing_find(&listing, "sample_local");
	(void)names_ask(path, 1, &at, 1, /* is_address= */ true, named);
	CHECK_STR_EQ("no sections, local", named[0].symbol, "");
	CHECK_INT_EQ("no sections, local", named[0].address, at);
	at = listing_find(&listing, "no_size_alone") + 2;
	(void)names_ask(path, 1, &at, 1, /* is_address= */ true, named);
	CHECK_STR_EQ("no sections, behind a function without a size", named[0].symbol, "");
	listing_done(&listing);
}

static void results_check(void)
{
	CLEANUP(closep) int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(closep) int text = memfd_create("text", MFD_CLOEXEC);
	uint64_t at = 1;

	CHECK_INT_EQ("text", ftruncate(text, 100), 0);
	CHECK_INT_EQ("text", names_ask_descriptor("text", text, 60, &at, 1).result, PARSER_NOT_ELF);
	CHECK_INT_EQ("more text", names_ask_descriptor("more text", text, 4096, &at, 1).result, PARSER_NOT_ELF);
	CHECK_INT_EQ("empty", names_ask_descriptor("empty", text, 0, &at, 1).result, PARSER_NOT_ELF);
	CHECK_INT_EQ("directory", names_ask_descriptor("directory", directory, 4096, &at, 1).result, PARSER_UNREADABLE);
}

/* ---- the sealed process ---- */

struct told {
	bool is_told;
	int r;
	size_t n;
	_Alignas(max_align_t) uint8_t bytes[CHILD_ANSWER_MAX];
};

static void on_told(int r, const void *answer, size_t n, void *data)
{
	struct told *told = data;

	told->is_told = true;
	told->r = r;
	told->n = n;
	if (answer)
		memcpy(told->bytes, answer, n);
}

/* Unpacking, sorting and demangling need no system call that ends the process. */
static void sealed_check(void)
{
	static const char *const paths[] = { "named_mini.so",	   "named_zlib.so",    "named_zstd.so",
					     "named_debug_old.so", "named_clang_5.so", "/proc/self/exe" };
	static struct told told;
	struct child *child;
	uv_loop_t loop;

	CHECK_INT_EQ("sealed", uv_loop_init(&loop), 0);
	CHECK_INT_EQ("sealed", child_open(&loop, "parser", &child), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		CLEANUP(closep) int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		struct parser_names_question q = { .kind = PARSER_ASK_NAMES, .inode = i + 1, .is_address = 1 };
		const struct parser_names *head = (const struct parser_names *)told.bytes;
		uint64_t sections[64][2];
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0)
			continue;
		q.n = (uint32_t)MIN(sections_of(paths[i], sections, ARRAY_SIZE(sections)), (size_t)PARSER_NAMES_MAX);
		for (uint32_t k = 0; k < q.n; k++)
			q.at[k] = sections[k][0] + 16;
		q.file_bytes = (uint64_t)st.st_size;
		told.is_told = false;
		CHECK_INT_EQ(paths[i], child_ask(child, &q, sizeof(q), fd, 1, 600 * NSEC_PER_SEC, on_told, &told), 0);
		while (!told.is_told)
			(void)uv_run(&loop, UV_RUN_ONCE);
		CHECK_INT_EQ(paths[i], told.r, 0);
		CHECK_INT_EQ(paths[i], head->result, PARSER_OK);
		CHECK_INT_EQ(paths[i], head->n, q.n);
		CHECK_INT_EQ(paths[i], head->has_symbols, 1);
	}
	child_close(child);
	while (uv_run(&loop, UV_RUN_DEFAULT))
		;
	CHECK_INT_EQ("sealed", uv_loop_close(&loop), 0);
}

int main(int argc, char **argv)
{
	char program[4096] = "";

	if (argc == 3 && strcmp(argv[1], "--child") == 0)
		return child_main(argv[2]);
	bytes_named_check("named_none.so", "named_none.so", /* is_dynamic= */ false);
	bytes_named_check("named_5.so", "named_5.so", /* is_dynamic= */ false);
	bytes_named_check("named_debug.so", "named_5.so", /* is_dynamic= */ false);
	bytes_named_check("named_mini.so", "named_none.so", /* is_dynamic= */ false);
	CHECK_INT_IN("this program", readlink("/proc/self/exe", program, sizeof(program) - 1), 1, sizeof(program) - 1);
	functions_named_check(program);
	real_check();
	texts_check();
	long_name_check();
	plts_check();
	files_check();
	offsets_check();
	kept_check();
	changed_check();
	full_answer_check();
	bytes_check("named_none.so");
	bytes_check("named_mini.so");
	no_sections_check();
	results_check();
	sealed_check();
	elf_names_forget();
	return check_result();
}
