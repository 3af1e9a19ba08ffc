// SPDX-License-Identifier: Apache-2.0
/*
 * Reading libraries: right ones against what the dynamic loader says of them, and wrong
 * ones made from a right one. A wrong file has to end in a named result, never in a read
 * outside it (the sanitizers watch) or in symbols that do not lie in it.
 */
#include "children/elf.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/support/check.h"

static union {
	struct parser_library library;
	uint8_t room[sizeof(struct parser_library) + PARSER_SYMBOLS_MAX * sizeof(struct parser_symbol)];
} answer; /* of the last file read */

static enum parser_result read_descriptor(int fd, uint64_t bytes)
{
	memset(&answer, 0xa5, sizeof(answer));
	return elf_read_library(fd, bytes, &answer.library);
}

/* --- right files --- */

static const struct {
	const char *file;
	const char *soname;
	const char *symbols[8]; /* by name */
} libraries[] = {
	{ "sample_runtime.so",
	  "libcudart.so.12",
	  { "cudaFree", "cudaFree_v2", "cudaLaunchKernel", "cudaLaunchKernel_ptsz", "cudaMalloc",
	    "cudaMemcpyAsync_v3_ptds", "cudaStreamSynchronize_spt" } },
	{ "sample_runtime_sysv.so",
	  "libcudart.so.11.0",
	  { "cudaFree", "cudaFree_v2", "cudaLaunchKernel", "cudaLaunchKernel_ptsz", "cudaMalloc",
	    "cudaMemcpyAsync_v3_ptds", "cudaStreamSynchronize_spt" } },
	{ "sample_runtime_renamed.so",
	  "libcudart-80664282.so.10.2",
	  { "cudaFree", "cudaFree_v2", "cudaLaunchKernel", "cudaLaunchKernel_ptsz", "cudaMalloc",
	    "cudaMemcpyAsync_v3_ptds", "cudaStreamSynchronize_spt" } },
	{ "sample_driver.so",
	  "libcuda.so.1",
	  { "cuLaunchKernel", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize_ptsz" } },
	{ "sample_driver_nameless.so",
	  "",
	  { "cuLaunchKernel", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize_ptsz" } },
	{ "sample_driver_as_runtime.so", "libcudart.so.12", { NULL } },
	{ "sample_one.so", "", { NULL } },
	{ "sample_one_named.so", "libcuda.so.1", { "cuLaunchKernel" } },
	{ "sample_folded.so", "libcuda.so.1", { "cuMemAlloc_v2", "cuMemFree_v2" } },
	{ "sample_collectives.so", "libnccl.so.2", { "ncclAllReduce", "ncclAllReducer", "ncclBroadcast", "ncclSend" } },
	{ "sample_collectives_inside.so", "libtorch_cuda.so", { "ncclAllReduce", "ncclBroadcast" } },
	{ "sample_interpreter.so", "libpython-sample.so.1", { NULL } },
	{ "sample_loader.so", "ld-sample.so.2", { NULL } },
};

/* Of a library whose other exports are counted by their names. */
static bool is_without_row(const char *name)
{
	return strcmp(name, "ncclAllReducer") == 0 || strcmp(name, "ncclSend") == 0;
}

static bool list_has(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n && names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* The bytes of a function as the dynamic loader put them into memory are those at its offset in the file. */
static void library_check(size_t row)
{
	const char *file = libraries[row].file;
	CLEANUP(closep) int fd = open(file, O_RDONLY | O_CLOEXEC);
	static const uint8_t build_id[] = { 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef };
	char path[256];
	size_t n_want = 0;
	struct stat st;
	void *handle;

	(void)snprintf(path, sizeof(path), "./%s", file);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CHECK(file, handle && fd >= 0 && fstat(fd, &st) == 0);
	if (!handle || fd < 0)
		return;

	CHECK_INT_EQ(file, read_descriptor(fd, (uint64_t)st.st_size), PARSER_OK);
	CHECK_INT_EQ(file, answer.library.result, PARSER_OK);
	CHECK_STR_EQ(file, answer.library.soname, libraries[row].soname);
	CHECK_INT_EQ(file, answer.library.n_build_id, sizeof(build_id));
	CHECK(file, memcmp(answer.library.build_id, build_id, sizeof(build_id)) == 0);
	while (n_want < 8 && libraries[row].symbols[n_want])
		n_want++;
	CHECK_INT_EQ(file, answer.library.n_symbols, n_want);

	for (uint32_t i = 0; i < answer.library.n_symbols; i++) {
		const struct parser_symbol *s = &answer.library.symbols[i];
		const uint8_t *loaded = dlsym(handle, s->name);
		uint8_t in_file[PARSER_HEAD_BYTES];

		CHECK(s->name, list_has(libraries[row].symbols, 8, s->name));
		CHECK_INT_EQ(s->name, s->op == 0, is_without_row(s->name));
		CHECK(s->name, loaded && s->n_head > 0 && (s->n_head <= s->size_bytes || s->size_bytes == 0));
		CHECK(s->name, loaded && memcmp(loaded, s->head, s->n_head) == 0);
		CHECK_INT_EQ(s->name, pread(fd, in_file, s->n_head, (off_t)s->offset), s->n_head);
		CHECK(s->name, memcmp(in_file, s->head, s->n_head) == 0);
		CHECK(s->name, i == 0 || s->offset > answer.library.symbols[i - 1].offset);
	}
	(void)dlclose(handle);
}

static void loader_check(void)
{
	CLEANUP(closep) int fd = open("sample_loader.so", O_RDONLY | O_CLOEXEC);
	void *handle = dlopen("./sample_loader.so", RTLD_NOW | RTLD_LOCAL);
	uint8_t head[6];
	char *state, *debug;

	CHECK_INT_EQ("loader", read_descriptor(fd, (uint64_t)lseek(fd, 0, SEEK_END)), PARSER_OK);
	CHECK_INT_EQ("loader", answer.library.is_loader, 1);
	CHECK_INT_EQ("loader", answer.library.interpreter_bytes, 0);
	state = dlsym(handle, "_dl_debug_state");
	debug = dlsym(handle, "_r_debug");
	CHECK_INT_EQ("loader", answer.library.r_debug_delta, debug - state);
	CHECK_INT_EQ("loader", pread(fd, head, sizeof(head), (off_t)answer.library.debug_state_offset), sizeof(head));
	CHECK("loader", memcmp(head, state, sizeof(head)) == 0);
	(void)dlclose(handle);
}

struct loaded {
	const char *state;
	const char *executable; /* first page that is executed, of the object with the state */
};

static int on_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *lowest = NULL, *base = (const char *)info->dlpi_addr;
	struct loaded *loaded = data;
	bool is_inside = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *start = base + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		is_inside |= loaded->state >= start && loaded->state < start + p->p_memsz;
		if (p->p_flags & PF_X && (!lowest || start < lowest))
			lowest = start;
	}
	if (is_inside && lowest)
		loaded->executable = lowest - (uintptr_t)lowest % (uintptr_t)sysconf(_SC_PAGESIZE);
	return 0;
}

/* The state of an interpreter is where the dynamic loader put it, though it has no bytes in the file. */
static void interpreter_check(void)
{
	CLEANUP(closep) int fd = open("sample_interpreter.so", O_RDONLY | O_CLOEXEC);
	void *handle = dlopen("./sample_interpreter.so", RTLD_NOW | RTLD_LOCAL);
	struct loaded loaded = {};

	CHECK_INT_EQ("interpreter", read_descriptor(fd, (uint64_t)lseek(fd, 0, SEEK_END)), PARSER_OK);
	CHECK_INT_EQ("interpreter", answer.library.interpreter_bytes, 656);
	loaded.state = dlsym(handle, "_PyRuntime");
	(void)dl_iterate_phdr(on_loaded, &loaded);
	CHECK("interpreter", loaded.state && loaded.executable);
	CHECK_INT_EQ("interpreter", answer.library.interpreter_delta, loaded.state - loaded.executable);
	(void)dlclose(handle);
}

/* ---- where an interpreter collects ---- */

static const struct {
	const char *file;
	uint32_t n_begins, n_ends;
} collectors[] = {
	{ "sample_interpreter.so", 0, 0 },     { "sample_collector.so", 1, 0 },
	{ "sample_collector_plain.so", 1, 0 }, { "sample_collector_other.so", 0, 0 },
	{ "sample_collector_alone.so", 0, 0 }, { "sample_collector_stripped.so", 0, 0 },
#ifdef __x86_64__
	{ "sample_collector_marks.so", 1, 1 },
#endif
};

/* What is told of a site is in the file there. */
static void site_check(const char *file, int fd, const struct parser_collector_site *site)
{
	uint8_t in_file[PARSER_HEAD_BYTES];

	CHECK_INT_IN(file, site->n_head, 1, PARSER_HEAD_BYTES);
	CHECK_INT_EQ(file, pread(fd, in_file, site->n_head, (off_t)site->offset), site->n_head);
	CHECK(file, memcmp(in_file, site->head, site->n_head) == 0);
}

static void collectors_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(collectors); i++) {
		const char *file = collectors[i].file;
		CLEANUP(closep) int fd = open(file, O_RDONLY | O_CLOEXEC);
		const struct parser_collector *c = &answer.library.collector;

		CHECK_INT_EQ(file, read_descriptor(fd, (uint64_t)lseek(fd, 0, SEEK_END)), PARSER_OK);
		CHECK_INT_EQ(file, c->n_begins, collectors[i].n_begins);
		CHECK_INT_EQ(file, c->n_ends, collectors[i].n_ends);
		for (uint32_t k = 0; k < c->n_begins; k++)
			site_check(file, fd, &c->begins[k]);
		for (uint32_t k = 0; k < c->n_ends; k++) {
			site_check(file, fd, &c->ends[k]);
			CHECK_INT_EQ(file, c->begins[k].head[0], 0x90);
			CHECK_INT_EQ(file, c->ends[k].offset - c->begins[k].offset, 4);
			CHECK_INT_EQ(file, c->ends[k].semaphore, 0);
		}
	}
}

#ifdef __x86_64__
/* The note of a mark, in a copy of the file. */
struct note {
	Elf64_Nhdr head;
	char owner[8];
	uint64_t address, base, semaphore;
	char text[24];
} __attribute__((packed));

/* It is not aligned. Return: its first byte */
static uint8_t *note_find(uint8_t *copy, size_t n, const char *name, struct note *ret)
{
	for (size_t i = 0; i + sizeof(*ret) < n; i += 4) {
		memcpy(ret, copy + i, offsetof(struct note, text) + sizeof(ret->text));
		if (memcmp(ret->owner, "stapsdt", sizeof(ret->owner)) == 0 && ret->head.n_type == 3 &&
		    strncmp(ret->text + sizeof("python"), name, sizeof(ret->text) - sizeof("python")) == 0)
			return copy + i;
	}
	abort();
}

static void mark_outside(struct note *note)
{
	note->address = 1ull << 40;
}
static void mark_in_data(struct note *note)
{
	note->address = note->address + 0x100000;
}
static void mark_on_code(struct note *note)
{
	note->address += 1; /* no nop */
}
static void mark_semaphore_outside(struct note *note)
{
	note->semaphore = UINT64_MAX - 1;
}
static void mark_semaphore_in_code(struct note *note)
{
	note->semaphore = note->address;
}
static void mark_text_unended(struct note *note)
{
	memset(note->text, 'x', 8);
}
static void mark_description_long(struct note *note)
{
	note->head.n_descsz = UINT32_MAX;
}
static void mark_description_short(struct note *note)
{
	note->head.n_descsz = 20;
}
static void mark_owner_long(struct note *note)
{
	note->head.n_namesz = UINT32_MAX;
}
static void mark_of_another_type(struct note *note)
{
	note->head.n_type = 4;
}

static void (*const mark_spoils[])(struct note *) = {
	mark_outside,		mark_in_data,	      mark_on_code,	     mark_semaphore_outside,
	mark_semaphore_in_code, mark_text_unended,    mark_description_long, mark_description_short,
	mark_owner_long,	mark_of_another_type,
};

/* Marks that make no sense are left out, and the function is taken; nothing of the file is believed. */
static void marks_spoiled_check(void)
{
	static const char *const names[] = { "gc__start", "gc__done" };
	CLEANUP(closep) int fd = open("sample_collector_marks.so", O_RDONLY | O_CLOEXEC);
	CLEANUP(closep) int spoiled = memfd_create("spoiled", MFD_CLOEXEC);
	size_t n = (size_t)lseek(fd, 0, SEEK_END);

	for (size_t i = 0; i < 2 * ARRAY_SIZE(mark_spoils); i++) {
		CLEANUP(freep) uint8_t *copy = malloc(n);
		const struct parser_collector *c = &answer.library.collector;
		struct note note;
		uint8_t *at;

		if (!copy || pread(fd, copy, n, 0) != (ssize_t)n)
			abort();
		at = note_find(copy, n, names[i % 2], &note);
		mark_spoils[i / 2](&note);
		memcpy(at, &note, sizeof(note));
		CHECK_INT_EQ("spoiled", pwrite(spoiled, copy, n, 0), n);
		CHECK_INT_EQ(names[i % 2], read_descriptor(spoiled, n), PARSER_OK);
		CHECK_INT_EQ(names[i % 2], c->n_begins, 1);
		CHECK_INT_EQ(names[i % 2], c->n_ends, 0);
		site_check("spoiled", spoiled, &c->begins[0]);
	}
}
#endif

/* The interpreters that are installed. */
static void real_interpreter_check(void)
{
	static const char path[] = "/usr/bin/python3";
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct parser_collector *c = &answer.library.collector;

	if (fd < 0 || read_descriptor(fd, (uint64_t)lseek(fd, 0, SEEK_END)) != PARSER_OK || !c->n_ends)
		return; /* one with a library of its own, or without marks */
	CHECK_INT_EQ(path, c->n_begins, 1);
	CHECK_INT_EQ(path, c->n_ends, 1);
	CHECK(path, c->begins[0].semaphore && c->ends[0].semaphore && c->begins[0].semaphore != c->ends[0].semaphore);
	site_check(path, fd, &c->begins[0]);
	site_check(path, fd, &c->ends[0]);
}

static int on_object(struct dl_phdr_info *info, size_t size, void *data)
{
	char *path = data;

	(void)size;
	if (strstr(info->dlpi_name, "/ld"))
		(void)snprintf(path, 4096, "%s", info->dlpi_name);
	return 0;
}

/* The loader that really runs on this machine. */
static void real_loader_check(void)
{
	CLEANUP(closep) int fd = -1;
	char path[4096] = "";

	(void)dl_iterate_phdr(on_object, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK("real loader", fd >= 0);
	CHECK_INT_EQ("real loader", read_descriptor(fd, (uint64_t)lseek(fd, 0, SEEK_END)), PARSER_OK);
	CHECK_INT_EQ("real loader", answer.library.n_symbols, 0);
	CHECK_INT_EQ("real loader", answer.library.is_loader, 1);
	CHECK("real loader", answer.library.debug_state_offset != 0 && answer.library.r_debug_delta != 0);
}

/* --- wrong files --- */

static struct {
	uint8_t *bytes; /* of a right file */
	size_t n;
	uint8_t *copy; /* to spoil */
} sample;

static void sample_load(const char *file)
{
	CLEANUP(closep) int fd = open(file, O_RDONLY | O_CLOEXEC);

	free(sample.bytes);
	free(sample.copy);
	sample.n = (size_t)lseek(fd, 0, SEEK_END);
	sample.bytes = malloc(sample.n);
	sample.copy = malloc(sample.n);
	if (!sample.bytes || !sample.copy || lseek(fd, 0, SEEK_SET) < 0 || fd_read_full(fd, sample.bytes, sample.n) < 0)
		abort();
}

static Elf64_Ehdr *header(void)
{
	return (Elf64_Ehdr *)sample.copy;
}

static Elf64_Phdr *segment(uint32_t type)
{
	Elf64_Phdr *p = (Elf64_Phdr *)(sample.copy + header()->e_phoff);

	for (size_t i = 0; i < header()->e_phnum; i++)
		if (p[i].p_type == type)
			return &p[i];
	abort();
}

static Elf64_Dyn *dynamic(int64_t tag)
{
	for (Elf64_Dyn *d = (Elf64_Dyn *)(sample.copy + segment(PT_DYNAMIC)->p_offset); d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d;
	abort();
}

/* These small files have their tables in the first segment, where address and offset are one. */
static void *table(int64_t tag)
{
	return sample.copy + dynamic(tag)->d_un.d_ptr;
}

static Elf64_Sym *symbol(const char *name)
{
	Elf64_Sym *s = table(DT_SYMTAB);
	const char *strings = table(DT_STRTAB);

	for (;; s++)
		if (strcmp(strings + s->st_name, name) == 0)
			return s;
}

static void spoil_nothing(void)
{
}
static void spoil_magic(void)
{
	header()->e_ident[3] = 'f';
}
static void spoil_class(void)
{
	header()->e_ident[EI_CLASS] = ELFCLASS32;
}
static void spoil_order(void)
{
	header()->e_ident[EI_DATA] = ELFDATA2MSB;
}
static void spoil_machine(void)
{
	header()->e_machine = EM_RISCV;
}
static void spoil_type(void)
{
	header()->e_type = ET_REL;
}
static void spoil_no_segments(void)
{
	header()->e_phnum = 0;
}
static void spoil_many_segments(void)
{
	header()->e_phnum = PN_XNUM;
}
static void spoil_segment_size(void)
{
	header()->e_phentsize = 1;
}
static void spoil_segments_outside(void)
{
	header()->e_phoff = UINT64_MAX - 8;
}
static void spoil_dynamic_long(void)
{
	segment(PT_DYNAMIC)->p_filesz = UINT64_MAX;
}
static void spoil_dynamic_outside(void)
{
	segment(PT_DYNAMIC)->p_offset = UINT64_MAX - 15;
}
static void spoil_no_dynamic(void)
{
	segment(PT_DYNAMIC)->p_type = PT_NULL;
}
static void spoil_strings_outside(void)
{
	dynamic(DT_STRTAB)->d_un.d_ptr = 1ull << 62;
}
static void spoil_strings_long(void)
{
	dynamic(DT_STRSZ)->d_un.d_val = UINT64_MAX;
}
static void spoil_strings_short(void)
{
	dynamic(DT_STRSZ)->d_un.d_val = 1;
}
static void spoil_symbols_outside(void)
{
	dynamic(DT_SYMTAB)->d_un.d_ptr = UINT64_MAX;
}
static void spoil_symbol_size(void)
{
	dynamic(DT_SYMENT)->d_un.d_val = 0;
}
static void spoil_hash_outside(void)
{
	dynamic(DT_GNU_HASH)->d_un.d_ptr = sample.n * 2;
}
static void spoil_hash_buckets(void)
{
	((uint32_t *)table(DT_GNU_HASH))[0] = UINT32_MAX;
}
static void spoil_hash_buckets_many(void)
{
	((uint32_t *)table(DT_GNU_HASH))[0] = ELF_HASH_BUCKETS_MAX;
}
static void spoil_hash_bloom(void)
{
	((uint32_t *)table(DT_GNU_HASH))[2] = UINT32_MAX;
}
static void spoil_hash_first(void)
{
	((uint32_t *)table(DT_GNU_HASH))[1] = UINT32_MAX;
}
static void spoil_hash_bucket(void)
{
	uint32_t *hash = table(DT_GNU_HASH);

	hash[4 + 2 * hash[2]] = ELF_SYMBOLS_MAX + 1;
}
static void spoil_hash_no_end(void)
{
	uint32_t *hash = table(DT_GNU_HASH), *chain = hash + 4 + 2 * hash[2] + hash[0];

	for (; (uint8_t *)(chain + 1) <= sample.copy + segment(PT_LOAD)->p_filesz; chain++)
		*chain &= ~1u;
}
static void spoil_hash_empty(void)
{
	uint32_t *hash = table(DT_GNU_HASH);

	memset(hash + 4 + 2 * hash[2], 0, hash[0] * sizeof(uint32_t));
}
static void spoil_sysv_count(void)
{
	((uint32_t *)table(DT_HASH))[1] = UINT32_MAX;
}
static void spoil_sysv_count_plausible(void)
{
	((uint32_t *)table(DT_HASH))[1] = ELF_SYMBOLS_MAX;
}
static void spoil_name(void)
{
	symbol("cudaFree")->st_name = UINT32_MAX;
}
static void spoil_soname(void)
{
	dynamic(DT_SONAME)->d_un.d_val = UINT64_MAX - 100;
}
static void spoil_value(void)
{
	symbol("cudaFree")->st_value = UINT64_MAX - 4;
}
static void spoil_value_to_data(void)
{
	symbol("cudaFree")->st_value = symbol("cudaFree_v3")->st_value;
}
static void spoil_type_to_ifunc(void)
{
	symbol("cudaFree")->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
}
static void spoil_to_import(void)
{
	symbol("cudaFree")->st_shndx = SHN_UNDEF;
}
static void spoil_to_local(void)
{
	symbol("cudaFree")->st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
}
static void spoil_segment_wraps(void)
{
	Elf64_Phdr *p = (Elf64_Phdr *)(sample.copy + header()->e_phoff);

	for (size_t i = 0; i < header()->e_phnum; i++) {
		if (p[i].p_type == PT_LOAD && (p[i].p_flags & PF_X)) {
			p[i].p_filesz = UINT64_MAX;
			p[i].p_offset = sample.n - 2;
		}
	}
}
static void spoil_note_long(void)
{
	segment(PT_NOTE)->p_filesz = 60000;
	segment(PT_NOTE)->p_offset = sample.n - 100;
}
static void spoil_note_sizes(void)
{
	Elf64_Nhdr *note = (Elf64_Nhdr *)(sample.copy + segment(PT_NOTE)->p_offset);

	note->n_namesz = note->n_descsz = UINT32_MAX;
}

#define ANY UINT32_MAX

static const struct {
	const char *name;
	const char *file;
	void (*spoil)(void);
	enum parser_result result;
	uint32_t n_symbols; /* when PARSER_OK */
} spoils[] = {
	{ "as it was", "sample_runtime.so", spoil_nothing, PARSER_OK, 7 },
	{ "magic", "sample_runtime.so", spoil_magic, PARSER_NOT_ELF, 0 },
	{ "32 bits", "sample_runtime.so", spoil_class, PARSER_NOT_ELF, 0 },
	{ "big-endian", "sample_runtime.so", spoil_order, PARSER_NOT_ELF, 0 },
	{ "another machine", "sample_runtime.so", spoil_machine, PARSER_NOT_ELF, 0 },
	{ "an object file", "sample_runtime.so", spoil_type, PARSER_NOT_ELF, 0 },
	{ "no segments", "sample_runtime.so", spoil_no_segments, PARSER_DAMAGED, 0 },
	{ "65 535 segments", "sample_runtime.so", spoil_many_segments, PARSER_TOO_LARGE, 0 },
	{ "size of a segment header", "sample_runtime.so", spoil_segment_size, PARSER_DAMAGED, 0 },
	{ "segment headers outside", "sample_runtime.so", spoil_segments_outside, PARSER_DAMAGED, 0 },
	{ "dynamic segment without end", "sample_runtime.so", spoil_dynamic_long, PARSER_TOO_LARGE, 0 },
	{ "dynamic segment outside", "sample_runtime.so", spoil_dynamic_outside, PARSER_DAMAGED, 0 },
	{ "no dynamic segment: what linkers know", "sample_runtime.so", spoil_no_dynamic, PARSER_OK, 7 },
	{ "names outside", "sample_runtime.so", spoil_strings_outside, PARSER_DAMAGED, 0 },
	{ "names without end", "sample_runtime.so", spoil_strings_long, PARSER_DAMAGED, 0 },
	{ "names of one byte", "sample_runtime.so", spoil_strings_short, PARSER_DAMAGED, 0 },
	{ "symbols outside", "sample_runtime.so", spoil_symbols_outside, PARSER_DAMAGED, 0 },
	{ "size of a symbol", "sample_runtime.so", spoil_symbol_size, PARSER_DAMAGED, 0 },
	{ "hash table outside", "sample_runtime.so", spoil_hash_outside, PARSER_DAMAGED, 0 },
	{ "4 billion hash buckets", "sample_runtime.so", spoil_hash_buckets, PARSER_TOO_LARGE, 0 },
	{ "a million hash buckets", "sample_runtime.so", spoil_hash_buckets_many, PARSER_DAMAGED, 0 },
	{ "4 billion bloom words", "sample_runtime.so", spoil_hash_bloom, PARSER_TOO_LARGE, 0 },
	{ "4 billion unhashed symbols", "sample_runtime.so", spoil_hash_first, PARSER_TOO_LARGE, 0 },
	{ "bucket beyond all symbols", "sample_runtime.so", spoil_hash_bucket, PARSER_TOO_LARGE, 0 },
	{ "hash chain without end", "sample_runtime.so", spoil_hash_no_end, PARSER_DAMAGED, 0 },
	{ "empty hash table: what linkers know", "sample_runtime.so", spoil_hash_empty, PARSER_OK, 7 },
	{ "4 billion symbols", "sample_runtime_sysv.so", spoil_sysv_count, PARSER_TOO_LARGE, 0 },
	{ "200 000 symbols in a small file", "sample_runtime_sysv.so", spoil_sysv_count_plausible, PARSER_DAMAGED, 0 },
	{ "name of a symbol outside", "sample_runtime.so", spoil_name, PARSER_DAMAGED, 0 },
	{ "soname outside", "sample_runtime.so", spoil_soname, PARSER_DAMAGED, 0 },
	{ "function at no segment", "sample_runtime.so", spoil_value, PARSER_OK, 6 },
	{ "function in data", "sample_runtime.so", spoil_value_to_data, PARSER_OK, 6 },
	{ "indirect function", "sample_runtime.so", spoil_type_to_ifunc, PARSER_OK, 6 },
	{ "import", "sample_runtime.so", spoil_to_import, PARSER_OK, 6 },
	{ "local function", "sample_runtime.so", spoil_to_local, PARSER_OK, 6 },
	{ "code segment wraps around", "sample_runtime.so", spoil_segment_wraps, PARSER_OK, ANY },
	{ "notes outside", "sample_runtime.so", spoil_note_long, PARSER_DAMAGED, 0 },
	{ "note of 4 GB", "sample_runtime.so", spoil_note_sizes, PARSER_OK, 7 },
};

static int memory_file(const void *data, size_t n)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (fd < 0 || fd_write_full(fd, data, n) < 0)
		abort();
	return fd;
}

/* What holds of every answer, however wrong the file. */
static void answer_check(const char *name, enum parser_result r, uint64_t bytes)
{
	CHECK(name, r < PARSER_RESULT_COUNT);
	CHECK_INT_EQ(name, answer.library.result, r);
	if (r != PARSER_OK)
		return;
	CHECK(name, answer.library.n_symbols <= PARSER_SYMBOLS_MAX);
	CHECK(name, memchr(answer.library.soname, 0, sizeof(answer.library.soname)));
	for (uint32_t i = 0; i < MIN(answer.library.n_symbols, (uint32_t)PARSER_SYMBOLS_MAX); i++) {
		const struct parser_symbol *s = &answer.library.symbols[i];

		CHECK(name, s->offset < bytes && s->n_head <= bytes - s->offset);
		CHECK(name, memchr(s->name, 0, sizeof(s->name)));
		CHECK(name, i == 0 || s->offset > answer.library.symbols[i - 1].offset);
	}
}

static void spoils_check(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(spoils); i++) {
		CLEANUP(closep) int fd = -1;
		enum parser_result r;

		sample_load(spoils[i].file);
		memcpy(sample.copy, sample.bytes, sample.n);
		spoils[i].spoil();
		fd = memory_file(sample.copy, sample.n);
		r = read_descriptor(fd, sample.n);
		CHECK_INT_EQ(spoils[i].name, r, spoils[i].result);
		if (r == PARSER_OK && spoils[i].n_symbols != ANY)
			CHECK_INT_EQ(spoils[i].name, answer.library.n_symbols, spoils[i].n_symbols);
		answer_check(spoils[i].name, r, sample.n);
	}
}

/* Cut at every 64 bytes: once known to be short, once cut behind our back. */
static void cuts_check(void)
{
	CLEANUP(closep) int fd = -1;

	sample_load("sample_runtime.so");
	fd = memory_file(sample.bytes, sample.n);
	for (size_t n = sample.n / 64 * 64; n; n -= 64) {
		char name[32];
		enum parser_result r;

		(void)snprintf(name, sizeof(name), "cut at %zu", n);
		if (ftruncate(fd, (off_t)n) < 0)
			abort();
		r = read_descriptor(fd, n);
		answer_check(name, r, n);
		r = read_descriptor(fd, sample.n);
		answer_check(name, r, sample.n);
		CHECK(name, r == PARSER_OK || r == PARSER_UNREADABLE || r == PARSER_DAMAGED);
	}
	CHECK_INT_EQ("empty", read_descriptor(fd, 0), PARSER_NOT_ELF);
}

/* Every byte of the parts that are read, set to what breaks most. */
static void bytes_check(void)
{
	static const uint8_t values[] = { 0x00, 0x7f, 0xff };
	CLEANUP(closep) int fd = -1;
	size_t end;

	sample_load("sample_runtime.so");
	memcpy(sample.copy, sample.bytes, sample.n);
	end = dynamic(DT_STRTAB)->d_un.d_ptr + dynamic(DT_STRSZ)->d_un.d_val; /* headers, hash, symbols, names */
	fd = memory_file(sample.bytes, sample.n);
	for (size_t at = 0; at < sample.n; at++) {
		size_t dynamic_at = segment(PT_DYNAMIC)->p_offset;
		char name[32];

		if (at == end)
			at = dynamic_at;
		if (at >= dynamic_at + segment(PT_DYNAMIC)->p_filesz)
			break;
		(void)snprintf(name, sizeof(name), "byte %zu", at);
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			if (pwrite(fd, &values[i], 1, (off_t)at) != 1)
				abort();
			answer_check(name, read_descriptor(fd, sample.n), sample.n);
		}
		if (pwrite(fd, &sample.bytes[at], 1, (off_t)at) != 1)
			abort();
	}
	CHECK_INT_EQ("restored", read_descriptor(fd, sample.n), PARSER_OK);
	CHECK_INT_EQ("restored", answer.library.n_symbols, 7);
}

/* Descriptors that are no regular files: the daemon sends none, and nothing hangs if it did. */
static void descriptors_check(void)
{
	CLEANUP(closep) int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(closep) int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) < 0)
		abort();
	CHECK_INT_EQ("directory", read_descriptor(directory, 4096), PARSER_UNREADABLE);
	CHECK_INT_EQ("pipe", read_descriptor(pipes[0], 4096), PARSER_UNREADABLE);
	CHECK_INT_EQ("device", read_descriptor(zero, UINT64_MAX), PARSER_NOT_ELF);
	CHECK_INT_EQ("none", read_descriptor(-1, 4096), PARSER_UNREADABLE);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		library_check(i);
	loader_check();
	interpreter_check();
	collectors_check();
#ifdef __x86_64__
	marks_spoiled_check();
#endif
	real_interpreter_check();
	real_loader_check();
	spoils_check();
	cuts_check();
	bytes_check();
	descriptors_check();
	free(sample.bytes);
	free(sample.copy);
	return check_result();
}
