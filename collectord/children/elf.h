// SPDX-License-Identifier: Apache-2.0
/*
 * What a library file says of the operations it exports.
 *
 * Runs in the parser child on files that anybody may have written. A file is read
 * piece by piece through pread(2), never mapped: a mapped file that its owner cuts
 * short kills the reader. Every number out of the file is checked before it is used,
 * and work is linear in sizes that have caps here.
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
 * @ret_library: with room for PARSER_SYMBOLS_MAX symbols; only `result` is valid unless that is PARSER_OK
 *
 * A file that exports none of them may have them inside: those in its table for linkers (.symtab) are found then.
 * The operations kept are those of the layer that the soname tells (bpf/layers.def); of all layers when it tells none
 * and at least two exports match. Exports without a row are among them where the soname tells a layer that counts
 * these.
 */
enum parser_result elf_read_library(int fd, uint64_t file_bytes, struct parser_library *ret_library);
