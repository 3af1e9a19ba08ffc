// SPDX-License-Identifier: Apache-2.0
/*
 * Functions of one or several tables of symbols, by address. The index has no names: they are read from the file when
 * they are asked for.
 */
#pragma once

#include "base/array.h"
#include "children/elf_bytes.h"
#include "children/elf_parts.h"

#define ELF_NAMES_SYMBOLS_MAX 4000000 /* of all tables of a file; 12 bytes each. libtorch_cpu.so has 550 000 */
#define ELF_SYMBOLS_BACK_MAX 256      /* functions that begin between an address and the begin of its function */
#define ELF_ALIASES_MAX 32	      /* names of one function that are compared */

enum elf_table { ELF_TABLE_FULL, ELF_TABLE_DYNAMIC, ELF_TABLE_DEBUG_DATA, ELF_TABLE_COUNT };

#define ELF_FUNCTION_BYTES_BITS 24 /* a larger function counts as one of 16 MiB */

/* Packed, since there are many. */
struct elf_function {
	uint64_t place;	 /* start - base << ELF_FUNCTION_BYTES_BITS | bytes, 0: not known */
	uint32_t symbol; /* index in its table << 2 | enum elf_table */
} __attribute__((packed));

struct elf_symbols {
	uint64_t base; /* where the code of the file begins, as linked */
	ARRAY(struct elf_function) functions;
	struct elf_bytes tables[ELF_TABLE_COUNT], names[ELF_TABLE_COUNT]; /* without bytes: missing */
};

/**
 * elf_symbols_add() - add the functions of a table
 * @code: their file's
 * Return: PARSER_OK; otherwise the table counts as missing
 */
enum parser_result elf_symbols_add(struct elf_symbols *symbols, enum elf_table which, const struct elf_parts *code,
				   const struct elf_file *f, const Elf64_Shdr *table, const Elf64_Shdr *names);
/**
 * elf_symbols_sort() - after the last table: also forgets those of the dynamic table that the full one has, too
 * Return: false without memory
 */
bool elf_symbols_sort(struct elf_symbols *symbols);
/** elf_symbols_start() - where function i begins, as linked */
uint64_t elf_symbols_start(const struct elf_symbols *symbols, size_t i);
/** elf_symbols_has() - whether the size of function i says that it has the address, which is not before its start */
bool elf_symbols_has(const struct elf_symbols *symbols, size_t i, uint64_t address);
/**
 * elf_symbols_find() - function with an address
 * @from: lowest address at which it may begin: that of its section
 *
 * The innermost one whose size says that it has the address. Without such, one whose size is not known, up to the next
 * symbol.
 *
 * Return: number of functions that begin there, from *ret_first on, ELF_ALIASES_MAX at most: its names, and shorter
 * functions; 0: none
 */
size_t elf_symbols_find(const struct elf_symbols *symbols, uint64_t address, uint64_t from, size_t *ret_first);
/**
 * elf_symbols_read() - read one symbol with its name, which is cut to room - 1 bytes
 * Return: false: it cannot be read, or has no name
 */
bool elf_symbols_read(const struct elf_symbols *symbols, size_t i, Elf64_Sym *ret_symbol, char *name, size_t room);
/** elf_symbols_read_dynamic() - the same by its index in the dynamic table */
bool elf_symbols_read_dynamic(const struct elf_symbols *symbols, uint32_t index, char *name, size_t room);
/** elf_symbols_bytes() - memory that it holds */
size_t elf_symbols_bytes(const struct elf_symbols *symbols);
void elf_symbols_done(struct elf_symbols *symbols);
