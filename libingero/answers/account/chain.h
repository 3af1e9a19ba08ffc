// SPDX-License-Identifier: Apache-2.0
/*
 * A chain of wakers in words: what who ended a wait did meanwhile.
 */
#pragma once

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

struct chain_text {
	char text[160]; /* "reads train.bin", "python (4721) ← reads train.bin"; "": not known */
};

/**
 * chain_text() - what the first of a chain did, and through whom
 * @hops: of an account's part, or of a finding's cause
 * @pid:  of the process that waits: its threads have no name
 * Threads of one process that follow each other are told as one.
 */
struct chain_text chain_text(Ingero__V1__Hop *const *hops, size_t n, uint32_t pid);
/** chain_ns() - how long the last that is known did what the text says */
uint64_t chain_ns(Ingero__V1__Hop *const *hops, size_t n);
/** chain_append() - with its share of the wait behind it; nothing where that is small. @link: before it */
void chain_append(const struct chain_text *chain, double ratio, const char *link, struct buf *text);
