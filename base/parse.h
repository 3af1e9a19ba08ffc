// SPDX-License-Identifier: Apache-2.0
/*
 * Text to numbers.
 *
 * Every function parses the whole string, refuses trailing characters, meaningless signs and overflow, and leaves its
 * output unchanged on failure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Maximum of a pid_t. A kernel assigns ids up to 4 194 304; ids of demos lie above that, and can be asked for, too. */
#define PARSE_PID_MAX 2147483647u

/** parse_u64() - decimal. Return: 0, -EINVAL (not a number), -ERANGE (too large) */
int parse_u64(const char *text, uint64_t max, uint64_t *ret_value);
/** parse_u64_list() - exactly n of them, with colons between. Return: 0 or -EINVAL */
int parse_u64_list(const char *text, uint64_t max, uint64_t *ret_values, size_t n);
/** parse_u64_hex() - hexadecimal without 0x. Return: as parse_u64() */
int parse_u64_hex(const char *text, uint64_t *ret_value);
/**
 * parse_duration() - "90s", "1h30m", "1.5h", "2d", "1w", "250ms", "5us"; a unit is required, but "0" is zero
 * @ret_ns: nanoseconds
 * Return: 0, -EINVAL or -ERANGE
 */
int parse_duration(const char *text, uint64_t *ret_ns);
/** parse_size() - "65536", "64k", "10m", "2g" (binary multiples, either case, optional trailing b). Return: as above */
int parse_size(const char *text, uint64_t *ret_bytes);
