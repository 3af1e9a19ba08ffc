// SPDX-License-Identifier: Apache-2.0
/* Names of functions as people know them: of C++ and Rust demangled, without what compilers and linkers append. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SYMBOL_TEXT_BYTES 512  /* of a text, with its NUL */
#define SYMBOL_NAME_BYTES 8192 /* of a name as it is in the file: a longer one is cut. Of C++, 4 KiB were seen */

/**
 * symbol_text_write() - write the text of a symbol: UTF-8 without control characters
 * @name: NUL-terminated, of any bytes; is changed
 * @text: SYMBOL_TEXT_BYTES; a longer text ends in "..."
 *
 * Parts of a function that a compiler moved away (".cold", ".part.0") and copies that it made (".isra.0",
 * ".constprop.0") have the name of the function. So have versions ("@@GLIBC_2.14").
 */
void symbol_text_write(char *name, char *text);
/**
 * symbol_name_is_better() - whether people rather know this one of two names of a function
 *
 * One with fewer underscores in front, then the shorter one, then the first one in order. A mangled name has none in
 * front.
 */
bool symbol_name_is_better(const char *name, const char *than);
