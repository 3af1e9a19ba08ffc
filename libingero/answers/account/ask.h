// SPDX-License-Identifier: Apache-2.0
/* Asks where the wall clock of threads went. */
#pragma once

#include "ingero/ingero.h"

/**
 * account_ask() - ask for the accounts of a window
 * @span: 0 and 0: the whole recording
 * @op:   only time in calls of this operation; NULL: all
 * @ret:  release with ingero__v1__blame_reply__free_unpacked()
 * Return: as ingero_call()
 */
int account_ask(struct ingero *ingero, Ingero__V1__Span *span, const uint32_t *pids, size_t n_pids, const char *op,
		uint32_t accounts_max, Ingero__V1__BlameReply **ret);
