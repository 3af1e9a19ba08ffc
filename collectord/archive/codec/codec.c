// SPDX-License-Identifier: Apache-2.0
#include "archive/codec/codec.h"

#include <zlib.h>

uint32_t codec_crc(const void *data, size_t n)
{
	return (uint32_t)crc32_z(0, data, n);
}
