// SPDX-License-Identifier: Apache-2.0
#include "children/names_file.h"

#include <string.h>

#include "children/elf_starts.h"

#define PLT_MARK "@plt"

/* ---- reading ---- */

/* A name, zeros up to a multiple of four, a checksum of the file. */
static void debug_link_read(struct names_file *file)
{
	uint8_t bytes[PARSER_DEBUG_LINK_BYTES + sizeof(uint32_t)] = { 0 };
	struct elf_bytes section;
	size_t n, n_name;

	if (elf_bytes_open(&file->elf, &file->parts.debug_link, &section) != PARSER_OK)
		return;
	n = elf_bytes_read_some(&section, 0, bytes, sizeof(bytes));
	elf_bytes_close(&section);
	n_name = strnlen((const char *)bytes, n);
	if (!n_name || n_name >= PARSER_DEBUG_LINK_BYTES || memchr(bytes, '/', n_name))
		return;
	n_name = (n_name + 1 + 3) / 4 * 4; /* with what follows the name */
	if (n_name + sizeof(file->about.debug_crc) > n)
		return;
	memcpy(file->about.debug_link, bytes, strlen((const char *)bytes));
	memcpy(&file->about.debug_crc, bytes + n_name, sizeof(file->about.debug_crc));
}

static bool debug_data_read(struct names_file *file)
{
	struct elf_file *elf = &file->debug_elf;
	uint16_t machine;

	if (elf_bytes_open_xz(&file->elf, &file->parts.debug_data, &file->debug_data) != PARSER_OK)
		return false;
	elf->image = file->debug_data.unpacked;
	elf->bytes = file->debug_data.n;
	if (elf_file_read_header(elf, &machine) != PARSER_OK)
		return false;
	elf_parts_read(elf, &file->debug_parts);
	return elf_symbols_add(&file->symbols, ELF_TABLE_DEBUG_DATA, &file->parts, elf, &file->debug_parts.symbols,
			       &file->debug_parts.symbol_names) == PARSER_OK;
}

enum parser_result names_file_read(struct names_file *file, int fd, uint64_t file_bytes)
{
	struct elf_parts *parts = &file->parts;
	enum parser_result r;
	uint16_t machine;

	file->lines = (struct dwarf_lines)DWARF_LINES_INIT;
	file->memo = (struct names_memo)NAMES_MEMO_INIT;
	file->elf.fd = fd;
	file->elf.bytes = MIN(file_bytes, (uint64_t)INT64_MAX);
	r = elf_file_read_header(&file->elf, &machine);
	if (r != PARSER_OK)
		return r;
	elf_parts_read(&file->elf, parts);
	(void)elf_file_read_build_id(&file->elf, file->about.build_id, &file->about.n_build_id);
	debug_link_read(file);

	file->symbols.base = elf_parts_lowest(parts);
	(void)elf_symbols_add(&file->symbols, ELF_TABLE_DYNAMIC, parts, &file->elf, &parts->dynamic,
			      &parts->dynamic_names);
	file->about.has_symbols = elf_symbols_add(&file->symbols, ELF_TABLE_FULL, parts, &file->elf, &parts->symbols,
						  &parts->symbol_names) == PARSER_OK;
	if (!file->about.has_symbols)
		file->about.has_symbols = debug_data_read(file);
	if (!elf_symbols_sort(&file->symbols))
		return PARSER_TOO_LARGE;
	dwarf_lines_read(&file->lines, &file->elf, parts);
	file->about.has_lines = file->lines.marks.n > 0;
	return PARSER_OK;
}

uint64_t names_file_address(const struct names_file *file, uint64_t offset)
{
	for (size_t i = 0; i < file->elf.n_segments; i++) {
		const Elf64_Phdr *p = &file->elf.segments[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && offset >= p->p_offset &&
		    offset - p->p_offset < p->p_filesz)
			return p->p_vaddr + (offset - p->p_offset);
	}
	return 0;
}

/* ---- naming ---- */

struct candidate {
	bool is_function, is_global;
	uint64_t start;
	char name[SYMBOL_NAME_BYTES];
};

static bool candidate_is_better(const struct candidate *a, const struct candidate *b)
{
	if (a->is_function != b->is_function)
		return a->is_function;
	if (a->is_global != b->is_global)
		return a->is_global;
	return symbol_name_is_better(a->name, b->name);
}

/* Marks of assemblers and compilers, not names. */
static bool is_mark(const char *name)
{
	return name[0] == '$' || strncmp(name, ".L", 2) == 0;
}

/* Reads one of the functions at an address. Return: false: it has no name */
static bool candidate_read(const struct names_file *file, size_t i, struct candidate *c)
{
	Elf64_Sym symbol;

	if (!elf_symbols_read(&file->symbols, i, &symbol, c->name, sizeof(c->name)) || is_mark(c->name))
		return false;
	c->is_function = ELF64_ST_TYPE(symbol.st_info) != STT_NOTYPE;
	c->is_global = ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
	c->start = elf_symbols_start(&file->symbols, i);
	return true;
}

/*
 * Without a size a function ends where the next one starts, also one without a symbol.
 * Return: whether the address is behind that
 */
static bool is_behind_unsized(const struct names_file *file, uint64_t function, uint64_t address)
{
	uint64_t start;

	return elf_starts_find(&file->elf, &file->parts, address, &start) && start > function;
}

/* Return: the best name of the address's function; NULL: none is known. Valid until the next call */
static struct candidate *function_find(const struct names_file *file, const struct elf_code *code, uint64_t address)
{
	static struct candidate candidates[2]; /* the process has one thread */
	struct candidate *best = NULL, *next = &candidates[0];
	size_t first = 0, n = elf_symbols_find(&file->symbols, address, code->start, &first);
	bool is_sized = false;

	if (!n)
		return NULL;
	for (size_t i = 0; i < n; i++)
		is_sized |= elf_symbols_has(&file->symbols, first + i, address);
	if (!is_sized && is_behind_unsized(file, elf_symbols_start(&file->symbols, first), address))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		/* A function without a size that begins where another one does may be an empty one. */
		if (is_sized && !elf_symbols_has(&file->symbols, first + i, address))
			continue;
		if (!candidate_read(file, first + i, next) || (best && !candidate_is_better(next, best)))
			continue;
		best = next;
		next = best == &candidates[0] ? &candidates[1] : &candidates[0];
	}
	return best;
}

static void mark_append(char *text, const char *mark)
{
	size_t n = MIN(strlen(text), SYMBOL_TEXT_BYTES - 1 - strlen(mark));

	memcpy(text + n, mark, strlen(mark) + 1);
}

/* Return: whether the address is in an entry whose target has a name */
static bool plt_find(struct names_file *file, const struct elf_code *code, uint64_t address, struct memo_name *name,
		     char *text)
{
	static char dynamic[SYMBOL_NAME_BYTES];
	const struct elf_code *target_code;
	struct elf_plt_target target;
	struct candidate *function;
	uint64_t start;

	if (!elf_plt_find(&file->plt, &file->elf, code, address, &target, &start))
		return false;
	if (target.symbol) {
		if (!elf_symbols_read_dynamic(&file->symbols, target.symbol, dynamic, sizeof(dynamic)))
			return false;
		symbol_text_write(dynamic, text);
	} else {
		target_code = elf_parts_find_code(&file->parts, target.resolver);
		function = target_code ? function_find(file, target_code, target.resolver) : NULL;
		if (!function)
			return false;
		symbol_text_write(function->name, text);
	}
	mark_append(text, PLT_MARK);
	name->offset = address - start;
	return true;
}

const struct memo_name *names_file_find(struct names_file *file, uint64_t address)
{
	const struct elf_code *code = elf_parts_find_code(&file->parts, address);
	const struct memo_name *known = names_memo_find(&file->memo, address);
	struct memo_name name = { .address = address };
	char symbol[SYMBOL_TEXT_BYTES] = "", path[DWARF_FILE_BYTES];
	struct candidate *function;

	if (known || !code || !address)
		return known;
	function = function_find(file, code, address);
	if (function) {
		name.offset = address - function->start;
		name.is_exported = !file->about.has_symbols;
		symbol_text_write(function->name, symbol);
	} else {
		(void)plt_find(file, code, address, &name, symbol);
	}
	name.line = dwarf_lines_find(&file->lines, address, path);
	return names_memo_add(&file->memo, &name, symbol, path);
}

size_t names_file_bytes(const struct names_file *file)
{
	return sizeof(*file) + elf_symbols_bytes(&file->symbols) + elf_plt_bytes(&file->plt) +
	       dwarf_lines_bytes(&file->lines) + names_memo_bytes(&file->memo) + (size_t)file->debug_data.n;
}

void names_file_done(struct names_file *file)
{
	elf_symbols_done(&file->symbols);
	elf_plt_done(&file->plt);
	dwarf_lines_done(&file->lines);
	names_memo_done(&file->memo);
	elf_bytes_close(&file->debug_data);
}
