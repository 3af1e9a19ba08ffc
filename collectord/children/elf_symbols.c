// SPDX-License-Identifier: Apache-2.0
#include "children/elf_symbols.h"

#include <string.h>

#include "base/cleanup.h"
#include "children/address_sort.h"

#define SYMBOLS_A_READ 2048
#define TABLE_BITS 2
_Static_assert(ELF_TABLE_COUNT <= 1 << TABLE_BITS, "the table fits");
_Static_assert(ELF_NAMES_SYMBOLS_MAX < UINT32_MAX >> TABLE_BITS, "the index fits");

/* STT_NOTYPE is what an assembler writes without a type directive, for functions and for places in them. */
static bool is_function(const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) && symbol->st_name &&
	       symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS;
}

static bool function_add(struct elf_symbols *symbols, const struct elf_code *code, const Elf64_Sym *symbol,
			 uint32_t number)
{
	uint64_t bytes = MIN(symbol->st_size, code->end - symbol->st_value), into = symbol->st_value - symbols->base;
	struct elf_function function = { .symbol = number };

	if (symbol->st_value < symbols->base || into >> (64 - ELF_FUNCTION_BYTES_BITS))
		return true;
	function.place = into << ELF_FUNCTION_BYTES_BITS | MIN(bytes, (1ull << ELF_FUNCTION_BYTES_BITS) - 1);
	return ARRAY_PUSH(&symbols->functions, function) == 0;
}

static enum parser_result functions_read_table(struct elf_symbols *symbols, enum elf_table which,
					       const struct elf_parts *parts, const struct elf_bytes *table)
{
	CLEANUP(freep) Elf64_Sym *chunk = malloc(SYMBOLS_A_READ * sizeof(*chunk));
	const struct elf_code *code = NULL;
	uint64_t n = table->n / sizeof(*chunk);

	if (!chunk || n > ELF_NAMES_SYMBOLS_MAX - symbols->functions.n)
		return PARSER_TOO_LARGE;
	for (uint64_t done = 0; done < n; done += SYMBOLS_A_READ) {
		size_t here = (size_t)MIN(n - done, (uint64_t)SYMBOLS_A_READ);

		if (!elf_bytes_read(table, done * sizeof(*chunk), chunk, here * sizeof(*chunk)))
			return PARSER_UNREADABLE;
		for (size_t i = 0; i < here; i++) {
			uint32_t number = (uint32_t)(done + i) << TABLE_BITS | which;

			if (!is_function(&chunk[i]))
				continue;
			if (!code || chunk[i].st_value < code->start || chunk[i].st_value >= code->end)
				code = elf_parts_find_code(parts, chunk[i].st_value);
			if (code && !function_add(symbols, code, &chunk[i], number))
				return PARSER_TOO_LARGE;
		}
	}
	return PARSER_OK;
}

enum parser_result elf_symbols_add(struct elf_symbols *symbols, enum elf_table which, const struct elf_parts *code,
				   const struct elf_file *f, const Elf64_Shdr *table, const Elf64_Shdr *names)
{
	size_t n_before = symbols->functions.n;
	enum parser_result r = elf_bytes_open(f, table, &symbols->tables[which]);

	if (r == PARSER_OK)
		r = elf_bytes_open(f, names, &symbols->names[which]);
	if (r == PARSER_OK)
		r = functions_read_table(symbols, which, code, &symbols->tables[which]);
	if (r != PARSER_OK) {
		symbols->functions.n = n_before;
		elf_bytes_close(&symbols->tables[which]);
		elf_bytes_close(&symbols->names[which]);
	}
	return r;
}

static bool is_of_table(const struct elf_function *function, enum elf_table which)
{
	return function->symbol % (1u << TABLE_BITS) == which;
}

/* Of one place: the full table has each name that the dynamic one has, unless it has fewer. */
static void functions_merge(struct elf_symbols *symbols)
{
	struct elf_function *functions = symbols->functions.items;
	size_t n_kept = 0;

	for (size_t i = 0, end; i < symbols->functions.n; i = end) {
		size_t n_full = 0, n_dynamic = 0;

		for (end = i; end < symbols->functions.n && functions[end].place == functions[i].place; end++) {
			n_full += is_of_table(&functions[end], ELF_TABLE_FULL);
			n_dynamic += is_of_table(&functions[end], ELF_TABLE_DYNAMIC);
		}
		for (size_t k = i; k < end; k++)
			if (n_full < n_dynamic || !is_of_table(&functions[k], ELF_TABLE_DYNAMIC))
				functions[n_kept++] = functions[k];
	}
	symbols->functions.n = n_kept;
}

bool elf_symbols_sort(struct elf_symbols *symbols)
{
	if (address_sort(symbols->functions.items, symbols->functions.n, sizeof(*symbols->functions.items)) < 0)
		return false;
	functions_merge(symbols);
	ARRAY_FIT(&symbols->functions);
	return true;
}

uint64_t elf_symbols_start(const struct elf_symbols *symbols, size_t i)
{
	return symbols->base + (symbols->functions.items[i].place >> ELF_FUNCTION_BYTES_BITS);
}

static uint64_t function_bytes(const struct elf_symbols *symbols, size_t i)
{
	return symbols->functions.items[i].place & ((1ull << ELF_FUNCTION_BYTES_BITS) - 1);
}

bool elf_symbols_has(const struct elf_symbols *symbols, size_t i, uint64_t address)
{
	return address - elf_symbols_start(symbols, i) < function_bytes(symbols, i);
}

/* Functions that begin where function i does, from *ret_first on. */
static size_t aliases_find(const struct elf_symbols *symbols, size_t i, size_t *ret_first)
{
	uint64_t start = elf_symbols_start(symbols, i);
	size_t first = i, end = i + 1;

	while (first && elf_symbols_start(symbols, first - 1) == start && end - first < ELF_ALIASES_MAX)
		first--;
	while (end < symbols->functions.n && elf_symbols_start(symbols, end) == start && end - first < ELF_ALIASES_MAX)
		end++;
	*ret_first = first;
	return end - first;
}

size_t elf_symbols_find(const struct elf_symbols *symbols, uint64_t address, uint64_t from, size_t *ret_first)
{
	size_t n = SORTED_PLACE(symbols->functions.n, i, elf_symbols_start(symbols, i) <= address), n_names;

	for (size_t i = n; i && n - i < ELF_SYMBOLS_BACK_MAX && elf_symbols_start(symbols, i - 1) >= from; i--)
		if (elf_symbols_has(symbols, i - 1, address))
			return aliases_find(symbols, i - 1, ret_first);
	if (!n || elf_symbols_start(symbols, n - 1) < from)
		return 0;
	n_names = aliases_find(symbols, n - 1, ret_first);
	for (size_t i = 0; i < n_names; i++)
		if (function_bytes(symbols, *ret_first + i)) /* which ends before the address */
			return 0;
	return n_names;
}

static bool symbol_read(const struct elf_symbols *symbols, enum elf_table which, uint64_t index, Elf64_Sym *ret_symbol,
			char *name, size_t room)
{
	return elf_bytes_read(&symbols->tables[which], index * sizeof(*ret_symbol), ret_symbol, sizeof(*ret_symbol)) &&
	       elf_bytes_read_text(&symbols->names[which], ret_symbol->st_name, name, room) > 0;
}

bool elf_symbols_read(const struct elf_symbols *symbols, size_t i, Elf64_Sym *ret_symbol, char *name, size_t room)
{
	uint32_t number = symbols->functions.items[i].symbol; /* of the table, and in it */

	return symbol_read(symbols, number % (1u << TABLE_BITS), number >> TABLE_BITS, ret_symbol, name, room);
}

bool elf_symbols_read_dynamic(const struct elf_symbols *symbols, uint32_t index, char *name, size_t room)
{
	Elf64_Sym symbol;

	return symbols->tables[ELF_TABLE_DYNAMIC].n &&
	       symbol_read(symbols, ELF_TABLE_DYNAMIC, index, &symbol, name, room);
}

size_t elf_symbols_bytes(const struct elf_symbols *symbols)
{
	size_t n = symbols->functions.room * sizeof(*symbols->functions.items);

	for (size_t i = 0; i < ELF_TABLE_COUNT; i++) {
		n += symbols->tables[i].unpacked ? (size_t)symbols->tables[i].n : 0;
		n += symbols->names[i].unpacked ? (size_t)symbols->names[i].n : 0;
	}
	return n;
}

void elf_symbols_done(struct elf_symbols *symbols)
{
	for (size_t i = 0; i < ELF_TABLE_COUNT; i++) {
		elf_bytes_close(&symbols->tables[i]);
		elf_bytes_close(&symbols->names[i]);
	}
	ARRAY_DONE(&symbols->functions);
}
