// SPDX-License-Identifier: Apache-2.0
/*
 * Rules of unwinding of a file's code: .eh_frame, found by its table for binary search, and .debug_frame for pages that
 * .eh_frame does not describe.
 *
 * Runs in the parser child on files that any user may have written. A file is read in pieces by pread(2), never mapped.
 * Every number from the file is checked before use, and the work for a question has a cap. What the tables do not say
 * for sure becomes UNWIND_GAP or UNWIND_LOST: a walk ends there, and is never wrong.
 */
#pragma once

#include "children/parser.h"

/**
 * elf_read_rows() - rules of pages of a file's code
 * @question: at most PARSER_PAGES_MAX pages, ascending
 * @room:     bytes at ret_rows, at least CHILD_ANSWER_MAX
 *
 * A page is found by its place in the file. The table of .eh_frame is not trusted: an entry that it leads to has to
 * begin where the table says. Otherwise, for pages where the table has nothing, and for files without one, all entries
 * are read one after another. On arm64 all pages have 0 rows: code keeps frame pointers there.
 *
 * Return: bytes of the answer
 */
size_t elf_read_rows(int fd, const struct parser_rows_question *question, struct parser_rows *ret_rows, size_t room);
