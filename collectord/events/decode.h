// SPDX-License-Identifier: Apache-2.0
/*
 * Bytes from a ring to a checked record, or a named refusal. The kernel half is ours, but after a failed upgrade its
 * bytes may come from another build, and no later code checks them again.
 */
#pragma once

#include <stddef.h>

#include "bpf/stack_record.h"

enum decode_result {
	DECODE_OK,
	DECODE_SHORT,
	DECODE_UNKNOWN_TYPE,
	DECODE_UNKNOWN_OP,
	DECODE_NOT_TEXT,
	DECODE_RANGE, /* a number in it is larger than it may be */
};

/** decode_call() - decode a record. @data is 8-byte aligned. @ret_call: on DECODE_OK a copy; missing arguments are 0 */
enum decode_result decode_call(const void *data, size_t n, struct call_record *ret_call);
/** decode_file() - decode the path of a file. On DECODE_OK *ret_file points into data; of its text there are n_bytes,
 * the last a NUL */
enum decode_result decode_file(const void *data, size_t n, const struct file_record **ret_file);
/** decode_wait() - decode a wait with its stack. On DECODE_OK *ret_wait points into data */
enum decode_result decode_wait(const void *data, size_t n, const struct wait_record **ret_wait);
/** decode_life() - decode a record of the ring of process life. On DECODE_OK *ret_life points into data */
enum decode_result decode_life(const void *data, size_t n, const struct life_record **ret_life);
/** decode_stack() - decode a stack. On DECODE_OK *ret_stack points into data, with n_memory bytes of the stack's memory
 */
enum decode_result decode_stack(const void *data, size_t n, const struct stack_record **ret_stack);
/** decode_mappings() - decode mappings. On DECODE_OK *ret_mappings points into data, with n of them, ascending */
enum decode_result decode_mappings(const void *data, size_t n, const struct mappings_record **ret_mappings);
/** decode_code() - decode a code object. On DECODE_OK *ret_code points into data, with all bytes that it counts */
enum decode_result decode_code(const void *data, size_t n, const struct code_record **ret_code);
