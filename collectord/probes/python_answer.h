// SPDX-License-Identifier: Apache-2.0
/* What the parser says of a Python interpreter, which is not trusted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct parser_python;

/** python_answer_is_sound() - whether the kernel half can use the layout. @file_bytes: size of the file */
bool python_answer_is_sound(const struct parser_python *python, uint64_t file_bytes);
