// SPDX-License-Identifier: Apache-2.0
/*
 * What may stand outside the frame of an answer: arguments of the call that could come next, and values that
 * completion offers. A recording may have been written by anybody, so only what has the form that we give it is
 * offered.
 */
#pragma once

#include <stdbool.h>

#define OFFER_WORD_BYTES_MAX 128

/** offer_is_word() - whether a text is short and of letters, digits and "_.:-" of ASCII alone */
bool offer_is_word(const char *text);
/** offer_is_id() - whether a text has the form of a finding's id or a call's (BOOT.START.TID), with or without NODE: */
bool offer_is_id(const char *text);
