// SPDX-License-Identifier: Apache-2.0
/*
 * The public id of a recorded call: BOOT.START.TID. It is made of the call's own data, so that it is the same in the
 * tail and in a block, and reveals nothing about other calls. BOOT is the row of table boot, START the monotonic entry
 * time in hexadecimal.
 */
#pragma once

#include <stdint.h>

#define CALL_ID_BYTES 40 /* with its NUL */

struct call_id {
	uint32_t boot;
	uint32_t tid;
	uint64_t start_ns;
};

/** call_id_format() - format an id. @ret_text: CALL_ID_BYTES */
void call_id_format(const struct call_id *id, char *ret_text);
/** call_id_parse() - parse an id. Return: 0, or -EINVAL for anything that call_id_format() does not write */
int call_id_parse(const char *text, struct call_id *ret_id);
