// SPDX-License-Identifier: Apache-2.0
/* Asks what got slower. */
#pragma once

#include "ingero/ingero.h"
#include "libingero/answers/compare/side.h"

/**
 * compare_ask() - ask what differs between two sides
 * @per: unit of work: an operation, or "call"; NULL: chosen by the daemon
 * @ret: release with ingero__v1__compare_reply__free_unpacked()
 * Return: as ingero_call()
 */
int compare_ask(struct ingero *ingero, const struct compare_side *a, const struct compare_side *b, const char *per,
		Ingero__V1__CompareReply **ret);
