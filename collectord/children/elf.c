// SPDX-License-Identifier: Apache-2.0
#include "children/elf.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include "bpf/ops.h"
#include "children/elf_collector.h"
#include "children/elf_file.h"
#include "children/elf_python.h"

#define EXPORTS_WITHOUT_SONAME_MIN 2 /* one name may be chance; two identify a library */
#define SYMBOLS_AT_ONCE 512
#define SECTIONS_MAX 4096 /* guess: linked files have tens */
#define SECTION_NAME_BYTES 16

static const struct {
	const char *name;
	enum op_layer layer;
	uint16_t id;
} families[] = {
#define OP(id_, layer_, name_, short_name, arguments, traits, tier) { #name_, OP_LAYER_##layer_, id_ },
#include "bpf/ops.def"
#undef OP
};

static const struct {
	const char *soname, *symbols; /* prefix of their names */
	enum op_layer layer;
	enum { LEFT, COUNTED } others;
} layers[] = {
#define LAYER(layer, source, library, symbols, calls, title, others)                                                   \
	{ library ".so", symbols, OP_LAYER_##layer, others },
#include "bpf/layers.def"
#undef LAYER
};

struct elf_match {
	uint64_t offset;
	uint64_t size_bytes;
	uint64_t room_bytes; /* bytes from offset to the end of its segment in the file */
	uint16_t op;
	bool is_ambiguous; /* names of several operations at one address */
	char name[PARSER_SYMBOL_BYTES];
};

struct elf_matches {
	uint64_t debug_state_address; /* 0: not found */
	uint64_t r_debug_address;
	uint64_t interpreter_address, interpreter_bytes; /* of _PyRuntime; 0 bytes: not seen */
	struct elf_collectors collectors;
	struct elf_python python;
	struct elf_dynamic dynamic;
	const char *others; /* what names without a row begin with, where they are counted; NULL: they are not */
	size_t n_others, n_left_out;
	size_t n;
	struct elf_match items[PARSER_SYMBOLS_MAX];
};

static bool begins_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Most symbols are no operations: a filter avoids comparing them with each name. */
static bool may_be_operation(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
		if (*layers[i].symbols && begins_with(name, layers[i].symbols))
			return true;
	return false;
}

/* Whether name is one of the family: base, then at most one of _v2 ... _v9, then at most one of _ptsz _ptds _spt. */
static bool family_matches(const char *base, const char *name)
{
	static const char *const streams[] = { "_ptsz", "_ptds", "_spt" };

	if (!begins_with(name, base))
		return false;
	name += strlen(base);
	if (name[0] == '_' && name[1] == 'v' && name[2] >= '2' && name[2] <= '9')
		name += 3;
	for (size_t i = 0; i < ARRAY_SIZE(streams) && *name; i++)
		if (strcmp(name, streams[i]) == 0)
			return true;
	return *name == 0;
}

static enum parser_result match_add(struct elf_matches *m, const struct elf_file *f, const Elf64_Sym *symbol,
				    uint16_t op, const char *name)
{
	struct elf_match match = { .size_bytes = symbol->st_size, .op = op };

	/* Not in an executable segment: data, whatever the symbol's type. */
	if (!elf_file_find(f, symbol->st_value, PF_X, &match.offset, &match.room_bytes))
		return PARSER_OK;
	if (m->n == ARRAY_SIZE(m->items))
		return PARSER_TOO_LARGE;
	memcpy(match.name, name, sizeof(match.name));
	m->items[m->n++] = match;
	return PARSER_OK;
}

static enum parser_result other_add(struct elf_matches *m, const struct elf_file *f, const Elf64_Sym *symbol,
				    const char *name)
{
	if (m->n_others == PARSER_OTHERS_MAX) {
		m->n_left_out++;
		return PARSER_OK;
	}
	m->n_others++;
	return match_add(m, f, symbol, /* op= */ 0, name);
}

static enum parser_result symbol_look_at(struct elf_matches *m, struct elf_file *f, const Elf64_Sym *symbol,
					 const char *name)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	elf_python_look_at(&m->python, symbol, name);
	if (type == STT_OBJECT && strcmp(name, "_r_debug") == 0)
		m->r_debug_address = symbol->st_value;
	if (type == STT_OBJECT && strcmp(name, "_PyRuntime") == 0) {
		m->interpreter_address = symbol->st_value;
		m->interpreter_bytes = symbol->st_size;
	}
	/* STT_GNU_IFUNC is a resolver; an assembler without a type directive writes STT_NOTYPE. */
	if (type != STT_FUNC && type != STT_NOTYPE)
		return PARSER_OK;
	elf_collectors_look_at(&m->collectors, symbol, name);
	if (strcmp(name, "_dl_debug_state") == 0)
		m->debug_state_address = symbol->st_value;
	if (!may_be_operation(name))
		return PARSER_OK;
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (family_matches(families[i].name, name))
			return match_add(m, f, symbol, families[i].id, name);
	if (m->others && begins_with(name, m->others) && !name[strspn(name, OP_NAME_LETTERS)])
		return other_add(m, f, symbol, name);
	return PARSER_OK;
}

/* Walks a symbol table. Local symbols count if a runtime was linked into another file. */
static enum parser_result symbols_walk(struct elf_file *f, uint64_t symbols_offset, uint32_t n_symbols,
				       uint64_t strings_offset, uint64_t strings_bytes, bool with_local,
				       struct elf_matches *m)
{
	Elf64_Sym chunk[SYMBOLS_AT_ONCE];
	enum parser_result r;

	for (uint32_t done = 0; done < n_symbols;) {
		uint32_t n = MIN(n_symbols - done, (uint32_t)ARRAY_SIZE(chunk));

		r = elf_file_read(f, symbols_offset + (uint64_t)done * sizeof(chunk[0]), chunk, n * sizeof(chunk[0]));
		if (r != PARSER_OK)
			return r;
		for (uint32_t i = 0; i < n; i++) {
			unsigned int bind = ELF64_ST_BIND(chunk[i].st_info), type = ELF64_ST_TYPE(chunk[i].st_info);
			char name[PARSER_SYMBOL_BYTES];

			if (chunk[i].st_shndx == SHN_UNDEF || chunk[i].st_shndx >= SHN_LORESERVE)
				continue;
			if ((bind != STB_GLOBAL && bind != STB_WEAK && !(bind == STB_LOCAL && with_local)) ||
			    (type != STT_FUNC && type != STT_NOTYPE && type != STT_OBJECT))
				continue;
			if (!elf_file_read_name(f, strings_offset, strings_bytes, chunk[i].st_name, name, sizeof(name)))
				return PARSER_DAMAGED;
			r = symbol_look_at(m, f, &chunk[i], name);
			if (r != PARSER_OK)
				return r;
		}
		done += n;
	}
	return PARSER_OK;
}

static bool match_is_before(const struct elf_match *a, const struct elf_match *b)
{
	return a->offset != b->offset ? a->offset < b->offset : strcmp(a->name, b->name) < 0;
}

/* Insertion sort: qsort(3) asks for the amount of memory when it sorts much, and that system call ends the process. */
static void matches_sort(struct elf_matches *m)
{
	for (size_t i = 1; i < m->n; i++) {
		struct elf_match item = m->items[i];
		size_t at = i;

		for (; at && match_is_before(&item, &m->items[at - 1]); at--)
			m->items[at] = m->items[at - 1];
		m->items[at] = item;
	}
}

/* Of two names at one address a row of ops.def is preferred. */
static void match_join(struct elf_match *to, const struct elf_match *more)
{
	uint64_t size_bytes = MAX(to->size_bytes, more->size_bytes);

	if (!to->op && more->op)
		*to = *more;
	else
		to->is_ambiguous |= more->op && to->op != more->op;
	to->size_bytes = size_bytes;
}

/*
 * Sorts by offset and leaves one match at each. Aliases of one operation are one function. Names of different
 * operations at one address, as folded stubs have, do not identify the operation, and are left out. Of names without a
 * row the first is kept.
 */
static void matches_fold(struct elf_matches *m)
{
	size_t n = 0;

	matches_sort(m);
	for (size_t i = 0; i < m->n; i++) {
		if (n && m->items[n - 1].offset == m->items[i].offset) {
			match_join(&m->items[n - 1], &m->items[i]);
			continue;
		}
		m->items[n++] = m->items[i];
	}
	m->n = n;
}

static enum op_layer op_layer_of(uint32_t op)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (families[i].id == op)
			return families[i].layer;
	return OP_LAYER_NONE;
}

static enum op_layer soname_layer(const char *soname)
{
	for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
		if (begins_with(soname, layers[i].soname))
			return layers[i].layer;
	return OP_LAYER_NONE;
}

static const char *others_of(const char *soname)
{
	for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
		if (layers[i].others == COUNTED && begins_with(soname, layers[i].soname))
			return layers[i].symbols;
	return NULL;
}

static enum parser_result symbols_write(const struct elf_file *f, struct elf_matches *m, struct parser_library *library)
{
	enum op_layer layer = soname_layer(library->soname);
	size_t n_all = m->n;

	matches_fold(m);
	if (layer == OP_LAYER_NONE && n_all < EXPORTS_WITHOUT_SONAME_MIN)
		return PARSER_OK;

	for (size_t i = 0; i < m->n; i++) {
		const struct elf_match *from = &m->items[i];
		struct parser_symbol *to = &library->symbols[library->n_symbols];
		uint64_t n_head = MIN(from->room_bytes, (uint64_t)PARSER_HEAD_BYTES);
		enum parser_result r;

		if (from->is_ambiguous || (from->op && layer != OP_LAYER_NONE && op_layer_of(from->op) != layer))
			continue;
		if (from->size_bytes)
			n_head = MIN(n_head, from->size_bytes);

		*to = (struct parser_symbol){ .offset = from->offset, .size_bytes = from->size_bytes, .op = from->op };
		r = elf_file_read(f, from->offset, to->head, (size_t)n_head);
		if (r != PARSER_OK)
			return r;
		to->n_head = (uint8_t)n_head;
		memcpy(to->name, from->name, sizeof(to->name));
		library->n_symbols++;
	}
	return PARSER_OK;
}

static void loader_write(const struct elf_file *f, const struct elf_matches *m, struct parser_library *library)
{
	uint64_t bytes;

	if (!m->debug_state_address || !m->r_debug_address)
		return;
	if (!elf_file_find(f, m->debug_state_address, PF_X, &library->debug_state_offset, &bytes))
		return;
	library->r_debug_delta = (int64_t)(m->r_debug_address - m->debug_state_address);
	library->is_loader = 1;
}

/*
 * The kernel maps whole pages: the first executable mapping begins at the page of the lowest executable segment. The
 * state may have no bytes in the file (.bss in CPython 3.9).
 */
static void interpreter_write(const struct elf_file *f, const struct elf_matches *m, struct parser_library *library)
{
	uint64_t page_bytes = getauxval(AT_PAGESZ), lowest = UINT64_MAX;
	bool is_inside = false;

	if (library->interpreter_bytes || !m->interpreter_bytes || !page_bytes ||
	    m->interpreter_bytes > PARSER_INTERPRETER_BYTES_MAX)
		return;
	for (size_t i = 0; i < f->n_segments; i++) {
		const Elf64_Phdr *p = &f->segments[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (p->p_flags & PF_X)
			lowest = MIN(lowest, p->p_vaddr);
		is_inside |= m->interpreter_address >= p->p_vaddr && m->interpreter_bytes <= p->p_memsz &&
			     m->interpreter_address - p->p_vaddr <= p->p_memsz - m->interpreter_bytes;
	}
	if (!is_inside || lowest == UINT64_MAX)
		return;
	library->interpreter_bytes = m->interpreter_bytes;
	library->interpreter_delta = (int64_t)(m->interpreter_address - (lowest & ~(page_bytes - 1)));
}

/* Exports and soname of a file. */
static enum parser_result exports_read(struct elf_file *f, struct elf_matches *m, struct parser_library *library)
{
	uint64_t symbols_offset, symbols_bytes, strings_offset, strings_bytes;
	enum parser_result r;
	struct elf_dynamic d;
	uint32_t n_symbols;

	r = elf_file_read_dynamic(f, &m->dynamic);
	if (r != PARSER_OK)
		return r;
	d = m->dynamic;
	r = elf_file_count_symbols(f, &d, &n_symbols);
	if (r != PARSER_OK || n_symbols == 0)
		return r;

	if (!elf_file_find(f, d.symbols, 0, &symbols_offset, &symbols_bytes) ||
	    !elf_file_find(f, d.strings, 0, &strings_offset, &strings_bytes))
		return PARSER_DAMAGED;
	if ((uint64_t)n_symbols * sizeof(Elf64_Sym) > symbols_bytes || d.strings_bytes > strings_bytes)
		return PARSER_DAMAGED;
	if (d.has_soname &&
	    !elf_file_read_name(f, strings_offset, d.strings_bytes, d.soname, library->soname, sizeof(library->soname)))
		return PARSER_DAMAGED;

	m->others = others_of(library->soname);
	r = symbols_walk(f, symbols_offset, n_symbols, strings_offset, d.strings_bytes, /* with_local= */ false, m);
	m->others = NULL; /* local functions cannot be called from outside */
	library->n_left_out = (uint32_t)m->n_left_out;
	if (r == PARSER_OK)
		loader_write(f, m, library);
	return r;
}

/* All but what the exports say of an interpreter. */
static void matches_forget(struct elf_matches *m)
{
	const struct elf_dynamic dynamic = m->dynamic;
	const struct elf_python python = m->python;
	uint64_t address = m->interpreter_address;

	memset(m, 0, sizeof(*m));
	m->dynamic = dynamic;
	m->python = python;
	m->interpreter_address = address;
}

/*
 * A runtime that was linked into a program or another library has its functions as local symbols in .symtab, unless
 * that was stripped. Linkers need this table and the kernel does not: a damaged or too large table counts as missing.
 */
static void linked_read(struct elf_file *f, struct elf_matches *m)
{
	for (uint64_t i = 0; i < f->n_sections; i++) {
		Elf64_Shdr table, strings;

		if (!elf_file_read_section(f, i, &table) || table.sh_type != SHT_SYMTAB)
			continue;
		if (table.sh_size / sizeof(Elf64_Sym) > ELF_LINKED_MAX ||
		    !elf_file_read_section(f, table.sh_link, &strings) ||
		    symbols_walk(f, table.sh_offset, (uint32_t)(table.sh_size / sizeof(Elf64_Sym)), strings.sh_offset,
				 strings.sh_size, /* with_local= */ true, m) != PARSER_OK)
			matches_forget(m);
		return; /* at most one exists */
	}
}

/* Whether the state of CPython 3.10 or later has its section, and no symbol that tells where it is. */
static bool interpreter_is_hidden(struct elf_file *f)
{
	Elf64_Shdr names, section;
	char name[SECTION_NAME_BYTES];

	if (!elf_file_read_section(f, f->names_section, &names))
		return false;
	for (uint64_t i = 0; i < MIN(f->n_sections, (size_t)SECTIONS_MAX); i++)
		if (elf_file_read_section(f, i, &section) &&
		    elf_file_read_name(f, names.sh_offset, names.sh_size, section.sh_name, name, sizeof(name)) &&
		    strcmp(name, ".PyRuntime") == 0)
			return true;
	return false;
}

static enum parser_result library_read(struct elf_file *f, struct elf_matches *m, struct parser_library *library)
{
	enum parser_result r;

	r = elf_file_read_header(f, &library->machine);
	if (r != PARSER_OK)
		return r;
	r = elf_file_read_build_id(f, library->build_id, &library->n_build_id);
	if (r != PARSER_OK)
		return r;
	r = exports_read(f, m, library);
	if (r != PARSER_OK)
		return r;
	interpreter_write(f, m, library);
	if (m->n == 0 && !library->is_loader)
		linked_read(f, m);
	interpreter_write(f, m, library);
	if (library->interpreter_bytes) {
		elf_collector_read(f, &m->collectors, library);
		elf_python_read(f, &m->dynamic, &m->python, m->interpreter_address, library);
	} else if (m->python.is_interpreter || interpreter_is_hidden(f)) {
		library->python.state = PARSER_PYTHON_OTHER;
	}
	return symbols_write(f, m, library);
}

enum parser_result elf_read_library(int fd, uint64_t file_bytes, struct parser_library *ret_library)
{
	CLEANUP(freep) struct elf_file *f = calloc(1, sizeof(*f));
	CLEANUP(freep) struct elf_matches *m = calloc(1, sizeof(*m));

	memset(ret_library, 0, sizeof(*ret_library));
	if (!f || !m) {
		ret_library->result = PARSER_TOO_LARGE;
		return PARSER_TOO_LARGE;
	}

	f->fd = fd;
	f->bytes = MIN(file_bytes, (uint64_t)INT64_MAX);
	ret_library->result = library_read(f, m, ret_library);
	return ret_library->result;
}
