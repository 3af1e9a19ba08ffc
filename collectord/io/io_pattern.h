// SPDX-License-Identifier: Apache-2.0
/* Patterns of paths, as --path takes them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define IO_PATTERN_MOST 255 /* characters beside '*' */
#define IO_PATTERN_WORDS 4

/*
 * A bit for each character: those that may come next. So a match takes the same few steps for each byte of a path,
 * whatever a caller asks for.
 */
struct io_pattern {
	uint64_t takes[256][IO_PATTERN_WORDS]; /* by byte */
	uint64_t stays[IO_PATTERN_WORDS];      /* a '*' stands before */
	unsigned int n;
};

/**
 * io_pattern_parse() - "*": any bytes, also slashes; "?": any byte; "[a-z]", "[!a-z]": one of a set, or none; "\*": the
 * byte itself
 * Return: 0; -E2BIG: more than IO_PATTERN_MOST characters beside '*'
 */
int io_pattern_parse(struct io_pattern *pattern, const char *text);
/** io_pattern_takes() - whether a whole path matches */
bool io_pattern_takes(const struct io_pattern *pattern, const char *path);
