// SPDX-License-Identifier: Apache-2.0
/*
 * Assertions: on failure each prints the name of the case and both values, counts the failure, and continues. A test's
 * main() ends in `return check_result();`, which also fails a test without any check. CHECK_SKIP ends the program with
 * status 77 and a reason.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One object for the whole program: weak definitions in several files are merged, static ones are not. */
__attribute__((weak)) struct check_state {
	unsigned int n_checks;
	unsigned int n_failed;
} check_state;

static inline bool check_report(bool is_ok, const char *file, int line, const char *name)
{
	check_state.n_checks++;
	if (!is_ok) {
		check_state.n_failed++;
		fprintf(stderr, "%s:%d: [%s] ", file, line, name ? name : "");
	}
	return is_ok;
}

/* name: name of the case, to find a failing row of a table */
#define CHECK(name, condition)                                                                                         \
	do {                                                                                                           \
		if (!check_report((condition), __FILE__, __LINE__, (name)))                                            \
			fprintf(stderr, "not true: %s\n", #condition);                                                 \
	} while (0)

#define CHECK_INT_EQ(name, got, want)                                                                                  \
	do {                                                                                                           \
		intmax_t got_ = (intmax_t)(got), want_ = (intmax_t)(want);                                             \
		if (!check_report(got_ == want_, __FILE__, __LINE__, (name)))                                          \
			fprintf(stderr, "%s is %" PRIdMAX ", want %" PRIdMAX "\n", #got, got_, want_);                 \
	} while (0)

/* low <= got <= high */
#define CHECK_INT_IN(name, got, low, high)                                                                             \
	do {                                                                                                           \
		intmax_t got_ = (intmax_t)(got), low_ = (intmax_t)(low), high_ = (intmax_t)(high);                     \
		if (!check_report(got_ >= low_ && got_ <= high_, __FILE__, __LINE__, (name)))                          \
			fprintf(stderr, "%s is %" PRIdMAX ", want %" PRIdMAX " to %" PRIdMAX "\n", #got, got_, low_,   \
				high_);                                                                                \
	} while (0)

#define CHECK_STR_EQ(name, got, want)                                                                                  \
	do {                                                                                                           \
		const char *got_ = (got), *want_ = (want);                                                             \
		if (!check_report(got_ && want_ && strcmp(got_, want_) == 0, __FILE__, __LINE__, (name)))              \
			fprintf(stderr, "%s is '%s', want '%s'\n", #got, got_ ? got_ : "(null)",                       \
				want_ ? want_ : "(null)");                                                             \
	} while (0)

#define CHECK_SKIP(...)                                                                                                \
	do {                                                                                                           \
		fprintf(stderr, "skipped: ");                                                                          \
		fprintf(stderr, __VA_ARGS__);                                                                          \
		fprintf(stderr, "\n");                                                                                 \
		exit(77);                                                                                              \
	} while (0)

static inline int check_result(void)
{
	if (check_state.n_checks == 0) {
		fprintf(stderr, "nothing was checked\n");
		return 1;
	}
	printf("%u checks, %u failed\n", check_state.n_checks, check_state.n_failed);
	return check_state.n_failed ? 1 : 0;
}
