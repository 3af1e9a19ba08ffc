// SPDX-License-Identifier: Apache-2.0
/* What a character looks like to a reader, for whoever has to find imitations of a word in brackets. */
#pragma once

#include <stdint.h>

/* In place of a letter, for what is none. */
#define LOOK_ALIKE_FILLER ' ' /* spaces, hyphens, signs, accents: a word is read over them */
#define LOOK_ALIKE_DIGIT '0'
#define LOOK_ALIKE_UNKNOWN '?' /* beyond ASCII, and not in a table: it may be like any letter */

/** look_alike_fold() - the small letter of ASCII that it looks like, '[' or ']' for brackets, or one of the above */
char look_alike_fold(uint32_t code);
