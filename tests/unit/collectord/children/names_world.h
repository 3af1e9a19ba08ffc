// SPDX-License-Identifier: Apache-2.0
/*
 * Names of addresses as the parser answers them, and what the tools of the compiler say of the same file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "children/parser.h"

#define NAMED_TEXT_BYTES 512

/* One address, as it was answered. */
struct named {
	uint64_t address, offset;
	uint32_t line;
	bool is_exported;
	char symbol[NAMED_TEXT_BYTES], file[NAMED_TEXT_BYTES];
};

/* A function as nm(1) lists it. */
struct listed {
	uint64_t address, bytes;
	bool is_dynamic;
	char *name; /* as in the file */
	char *text; /* demangled, without version, part and copy */
};

struct listing {
	ARRAY(struct listed) functions;
};

#define LISTING_INIT                                                                                                   \
	{                                                                                                              \
		.functions = {.items = NULL }                                                                          \
	}

/**
 * names_ask() - ask for n addresses of a file, in as many questions as it takes; what is wrong with an answer is a
 * failure of the test
 * @change: number of the state of the file
 * @named: n
 */
struct parser_names names_ask(const char *path, uint64_t change, const uint64_t *at, size_t n, bool is_address,
			      struct named *named);
/** names_ask_descriptor() - one question; checks the answer. Return: its head */
struct parser_names names_ask_descriptor(const char *what, int fd, uint64_t bytes, const uint64_t *at, uint32_t n);
/** listing_read() - functions of a file. @is_dynamic: of its dynamic table alone */
void listing_read(struct listing *listing, const char *path, bool is_dynamic);
void listing_done(struct listing *listing);
/** listing_find() - function of that name. Return: its address; 0: none */
uint64_t listing_find(const struct listing *listing, const char *name);
/**
 * listing_names() - whether a function that begins at `start` has that text, and the address if one of those that begin
 * there has
 */
bool listing_names(const struct listing *listing, uint64_t start, uint64_t address, const char *text);
/** sections_of() - executable sections of a file, from readelf(1). Return: number; ret: start and end of each */
size_t sections_of(const char *path, uint64_t (*ret)[2], size_t room);
/** line_cut() - remove the line feed */
void line_cut(char *line);
