// SPDX-License-Identifier: Apache-2.0
/*
 * Operations that a library file exports.
 *
 * Runs in the parser child on files that any user may have written. A file is read in pieces by pread(2), never mapped:
 * if its owner truncates a mapped file, the reader is killed. Every number from the file is checked before use, and the
 * work is linear in sizes that have caps here.
 */
#pragma once

#include "children/parser.h"

#define ELF_SYMBOLS_MAX 200000 /* libtriton.so, the largest table seen, has 126 279 */
#define ELF_LINKED_MAX 1000000 /* symbols for linkers; libtorch_cpu.so, the largest table seen, has 393 112 */
#define ELF_SEGMENTS_MAX 512
#define ELF_DYNAMIC_MAX 4096
#define ELF_HASH_BUCKETS_MAX 1000000
#define ELF_NOTE_BYTES_MAX 65536

/**
 * elf_read_library() - find the operations of ops.def that a file exports
 * @file_bytes:  size of the file
 * @ret_library: with room for PARSER_SYMBOLS_MAX symbols; only `result` is valid unless it is PARSER_OK
 *
 * If the file exports none, its table for linkers (.symtab) is searched for operations linked into it. Operations are
 * those of the layer of the soname (bpf/layers.def); if the soname belongs to no layer and at least two exports match,
 * those of all layers. Exports without a row are included if the soname's layer counts them.
 */
enum parser_result elf_read_library(int fd, uint64_t file_bytes, struct parser_library *ret_library);
