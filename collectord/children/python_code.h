// SPDX-License-Identifier: Apache-2.0
/*
 * Code objects of CPython 3.9 to 3.15: names and lines, from copies of their parts as they were in the memory of a
 * process. Every byte may be anything.
 */
#pragma once

#include <stddef.h>

#include "bpf/stack_record.h"
#include "children/parser.h"

/**
 * python_code_read() - read a struct code_record with its bytes
 * @record: n bytes
 * @answer: room bytes, aligned for any type, at least PYTHON_CODE_ANSWER_MAX
 * Return: bytes of the answer
 */
size_t python_code_read(const void *record, size_t n, void *answer, size_t room);

/* A character takes three times its bytes in memory at most, as U+FFFD for one of two bytes would. */
#define PYTHON_CODE_TEXT_MAX (3 * CODE_TEXT_MAX)
#define PYTHON_CODE_ANSWER_MAX                                                                                         \
	(sizeof(struct parser_code) + PARSER_CODE_LINES_MAX * sizeof(struct parser_code_line) +                        \
	 3 * PYTHON_CODE_TEXT_MAX + 1)
