// SPDX-License-Identifier: Apache-2.0
/* Unpacking of what ELF files hold compressed. Output and memory have caps; nothing is trusted of the packed bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNPACK_XZ_MEMORY_BYTES (80u << 20) /* of the decoder: the largest preset of xz takes 65 MiB */

/** unpack_zlib() - unpack into exactly n_to bytes. Return: false if it is damaged or of another size */
bool unpack_zlib(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to);
bool unpack_zstd(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to);
/**
 * unpack_xz() - unpack a file of the format .xz
 * @n_max: maximum bytes of the result
 * Return: result, owned by the caller; NULL if it is damaged, too large, or without memory
 */
uint8_t *unpack_xz(const uint8_t *from, size_t n_from, size_t n_max, size_t *ret_n);
