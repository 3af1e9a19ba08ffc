// SPDX-License-Identifier: Apache-2.0
/* Form of a packed column: shared by the file that packs and the file that unpacks. */
#pragma once

#include <stdint.h>

enum column_form { COLUMN_CONSTANT, COLUMN_DICTIONARY, COLUMN_BITS, COLUMN_VARINTS, COLUMN_RANKS };

#define COLUMN_FORM_MASK 0x0fu
#define COLUMN_ZSTD 0x10u /* its bytes are compressed (COLUMN_BITS: the length bytes alone) */

#define COLUMN_DICTIONARY_MAX 256
#define COLUMN_GROUPS_MAX 256
#define COLUMN_WORDS_MAX 1024 /* in the lists of all groups; the list of one group has up to COLUMN_DICTIONARY_MAX */
