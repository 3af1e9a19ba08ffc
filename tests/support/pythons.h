// SPDX-License-Identifier: Apache-2.0
/* The Python interpreters of this machine, from CPython 3.9 on: of the system, of pyenv, and of INGERO_TEST_PYTHONS. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#define PYTHONS_MAX 64

struct pythons {
	char *paths[PYTHONS_MAX]; /* programs */
	size_t n;
};

void pythons_done(struct pythons *pythons);
/** pythons_find() - list them; names in INGERO_TEST_PYTHONS are separated by ':' */
void pythons_find(struct pythons *pythons);
/** pythons_run() - what a script of tests/unit/collectord/children/ writes, run by one of them; to be closed by
 * pclose(3) */
FILE *pythons_run(const char *python, const char *script, const char *arguments);
