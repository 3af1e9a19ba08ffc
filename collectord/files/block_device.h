// SPDX-License-Identifier: Apache-2.0
/*
 * Names of block devices by their numbers, as the kernel lists them.
 */
#pragma once

#include <stdint.h>

#define BLOCK_DEVICE_NAME_BYTES 16

/**
 * block_device_name() - name such as "sda", "nvme0n1p2"; "": not a block device, or unknown
 * @device: major << 20 | minor, as in struct wait_key
 */
void block_device_name(uint32_t device, char ret[BLOCK_DEVICE_NAME_BYTES]);
/**
 * block_device_name_in() - the same from the links in a directory; @directory: ends in a slash, such as
 * "/sys/dev/block/"
 */
void block_device_name_in(const char *directory, uint32_t device, char ret[BLOCK_DEVICE_NAME_BYTES]);
