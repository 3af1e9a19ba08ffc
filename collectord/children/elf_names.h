// SPDX-License-Identifier: Apache-2.0
/*
 * Names of native addresses: function, source file and line.
 *
 * Runs in the parser child on files that any user may have written. What was read of a file is kept for its next
 * addresses: an index of functions and one of lines (names and paths are read from the file when they are asked for),
 * and the names that were found. The least used files are forgotten.
 *
 * Of several names of a function people know best: a function's rather than that of a place in assembler; a global one;
 * one with fewer underscores in front; the shorter one. A function that other files provide, reached by way of the
 * procedure linkage table, is `function@plt`.
 */
#pragma once

#include <sys/types.h>

#include "children/parser.h"

#define ELF_NAMES_FILES_MAX 128 /* kept at once; a process with PyTorch maps 67 */
/* Of all of them. The child has 512 MiB, and needs three times as much to read the largest file. */
#define ELF_NAMES_KEPT_BYTES_MAX (128u << 20)

/**
 * elf_names_answer() - answer one question
 * @question: n bytes, any
 * @answer: `room` bytes, aligned for any type
 *
 * Return: bytes of the answer; negative for an invalid question
 */
ssize_t elf_names_answer(const void *question, size_t n, int fd, void *answer, size_t room);
/** elf_names_forget() - forget all files, as at the start */
void elf_names_forget(void);
