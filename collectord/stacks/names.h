// SPDX-License-Identifier: Apache-2.0
/*
 * Names of addresses in a file: symbol, source file and line, as the parser finds them in the file or in a separate
 * file of debug data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "stacks/debug_files.h"

struct stack_file;

#define NAMES_BUCKETS 1024
#define NAMES_BUILD_ID_BYTES 20
#define NAMES_OF_FILE_MAX 65536

enum name_state {
	NAME_WANTED, /* not asked for yet */
	NAME_ASKED,
	NAME_KNOWN, /* the rest is valid, and does not change any more */
};

/* The name of one address. */
struct name {
	struct name *next; /* in its bucket */
	uint64_t at;	   /* offset in the file */
	uint64_t address;  /* as linked; 0: not known */
	uint64_t offset;   /* from the start of the symbol */
	char *symbol;	   /* NULL: not known, as the next */
	char *file;
	uint32_t line; /* 0: not known */
	enum name_state state;
	bool is_exported; /* of the table of exports alone */
};

/* State of the names of a file. */
struct names {
	struct name **buckets; /* NAMES_BUCKETS, from the first name on */
	size_t n;
	size_t n_unknown; /* not NAME_KNOWN */
	ARRAY(struct name *) wanted;
	ARRAY(struct name *) asked; /* of the question in progress */
	ARRAY(struct name *) poor;  /* that the debug file may know better */
	bool is_asking;
	bool is_debug_sought;
	bool is_debug_asked;			/* the question in progress is about the debug file */
	struct debug_file debug;		/* a separate file of root's with more names; fd -1: none */
	uint8_t build_id[NAMES_BUILD_ID_BYTES]; /* of the file, and so of its debug file */
	uint8_t n_build_id;
};

typedef void (*names_told_func)(struct stack_file *file, void *data);

/**
 * name_want() - find a name, asked for if it is new
 * @at: offset in the file of one byte of the instruction
 * Return: borrowed, as long as the file is referenced; NULL: no memory, or too many names of this file
 */
struct name *name_want(struct stack_file *file, uint64_t at);
/** names_pump() - send what is wanted. @told: called later, on the loop: some names of this file are known now */
void names_pump(struct stack_file *file, names_told_func told, void *data);
/** names_are_wanted() - whether names_pump() has something to send */
bool names_are_wanted(const struct names *names);
void names_begin(struct names *names);
void names_forget(struct names *names);
