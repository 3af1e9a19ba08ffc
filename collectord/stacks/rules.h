// SPDX-License-Identifier: Apache-2.0
/*
 * Rules of unwinding for pages of a file, asked of the parser, checked and put into the kernel half's tables.
 *
 * The answer comes from a process that a file may have taken over. Rules of a user's own file are used for addresses in
 * that file alone, in processes of that user; a wrong one gives that user a wrong stack.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "stacks/id_map.h"

struct stack_file;
struct unwind_side;

/* What of the kernel half's tables is used. One user's own files get a part of them. */
struct rules_owner {
	uint32_t owner;
	uint32_t n_pages; /* of the table of pages, by who mapped them first: stack_file_place() */
	uint32_t n_rows;
	uint32_t n_sides;
};
struct rules_table {
	uint32_t n_rows; /* used, row 0 included */
	ARRAY(struct unwind_side) sides;
	ARRAY(struct rules_owner) owners; /* but root */
	bool is_short;			  /* some code has no rules, for want of room */
	bool is_full_told;
};

#define RULES_WANTED_MAX 65536 /* pages of one file that wait; guess: libtorch_cpu.so has 90 000 of code */

/* Pages of one file that are wanted or asked for. */
struct rules_wanted {
	ARRAY(uint32_t) pages; /* of the file, not asked for yet */
	ARRAY(uint32_t) asked; /* of the question in progress, ascending */
	struct id_map known;   /* both, by page: a stack full of addresses names thousands */
	bool is_asking;
	uint32_t n_failed; /* questions that the parser did not answer */
};

/**
 * typedef rules_told_func - rules of pages of this file were read, or cannot be had: those pages are bare then
 */
typedef void (*rules_told_func)(struct stack_file *file, void *data);

/**
 * rules_want() - a page is wanted, unless it is known or asked for, or too many are
 * @page: of the file, inside a placed segment
 */
void rules_want(struct stack_file *file, uint32_t page);
/** rules_unwant() - what was not asked for yet is wanted no more */
void rules_unwant(struct rules_wanted *wanted);
/** rules_pump() - send what is wanted. @told: called later, on the loop, never from within */
void rules_pump(struct stack_file *file, rules_told_func told, void *data);
/** rules_page() - entry of a page in the table of pages. Return: UNWIND_PAGE_UNKNOWN for a page that has no place */
uint32_t rules_page(const struct stack_file *file, uint32_t page);
/** rules_owner_find() - what a user has of the tables. Return: valid until the next call; NULL without memory */
struct rules_owner *rules_owner_find(struct rules_table *table, uint32_t owner);
/** rules_table_reset() - nothing of the kernel half's tables is used any more */
void rules_table_reset(struct rules_table *table);
void rules_table_done(struct rules_table *table);
void rules_wanted_done(struct rules_wanted *wanted);
