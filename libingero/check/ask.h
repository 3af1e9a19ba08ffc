// SPDX-License-Identifier: Apache-2.0
/* Every check, on this machine: the world is read, and the daemon asked, as the caller may. */
#pragma once

#include "libingero/check/check.h"

#define CHECKS_MAX 64
#define CHECK_ERROR_BYTES 512

struct check_answer {
	struct check_result results[CHECKS_MAX];
	size_t n;
	bool has_failed;
};

#define CHECK_ANSWER_INIT                                                                                              \
	{                                                                                                              \
		.n = 0                                                                                                 \
	}

struct check_wish {
	bool is_all;	     /* of all users' processes */
	const char *program; /* name and version of the client */
	/* As in struct check_world: */
	const char *const *files;
	const char *files_problem;
};

/**
 * check_ask() - run every check
 * @error:   CHECK_ERROR_BYTES; one sentence on failure
 * @ret:	     of CHECK_ANSWER_INIT; release with check_answer_done()
 * Return: 0, or -EPERM: the caller may not see all users' processes
 */
int check_ask(const struct check_wish *wish, char *error, struct check_answer *ret);
void check_answer_done(struct check_answer *answer);
