// SPDX-License-Identifier: Apache-2.0
/*
 * Where a Python interpreter begins and ends its garbage collections: at marks for tracers (USDT: notes of SystemTap),
 * else in the function that collects, which is named for linkers only.
 */
#pragma once

#include <stdbool.h>

#include "children/elf_file.h"
#include "children/parser.h"

/* Functions that may be it, as they were met among the symbols. */
struct elf_collectors {
	struct {
		uint64_t address;
		uint64_t size_bytes;
		bool is_plain; /* called `collect`, as in CPython 3.9 and before */
	} items[PARSER_COLLECTOR_SITES];
	size_t n;
	bool is_many;	 /* more than that */
	bool has_helper; /* a function that only those before 3.10 have */
};

/** elf_collectors_look_at() - a function of the file */
void elf_collectors_look_at(struct elf_collectors *c, const Elf64_Sym *symbol, const char *name);
/** elf_collector_read() - of a file that holds an interpreter; marks that make no sense are left out */
void elf_collector_read(const struct elf_file *f, const struct elf_collectors *c, struct parser_library *library);
