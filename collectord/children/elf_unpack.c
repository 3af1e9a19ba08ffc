// SPDX-License-Identifier: Apache-2.0
#include "children/elf_unpack.h"

#include <limits.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define XZ_STEP_BYTES (1u << 20)

bool unpack_zlib(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to)
{
	z_stream z = { .next_in = (Bytef *)from, .next_out = to };
	int r;

	if (n_from > UINT_MAX || n_to > UINT_MAX || inflateInit(&z) != Z_OK)
		return false;
	z.avail_in = (uInt)n_from;
	z.avail_out = (uInt)n_to;
	r = inflate(&z, Z_FINISH);
	(void)inflateEnd(&z);
	return r == Z_STREAM_END && z.total_out == n_to;
}

bool unpack_zstd(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to)
{
	size_t n = ZSTD_decompress(to, n_to, from, n_from);

	return !ZSTD_isError(n) && n == n_to;
}

static void lzma_endp(lzma_stream *z)
{
	lzma_end(z);
}

uint8_t *unpack_xz(const uint8_t *from, size_t n_from, size_t n_max, size_t *ret_n)
{
	CLEANUP(lzma_endp) lzma_stream z = LZMA_STREAM_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT_CAP(n_max);
	lzma_ret r = lzma_stream_decoder(&z, UNPACK_XZ_MEMORY_BYTES, 0);

	z.next_in = from;
	z.avail_in = n_from;
	while (r == LZMA_OK) {
		size_t room = MIN((size_t)XZ_STEP_BYTES, n_max - out.n);

		z.next_out = room ? buf_reserve(&out, room) : NULL;
		if (!z.next_out)
			return NULL;
		z.avail_out = room;
		r = lzma_code(&z, LZMA_FINISH);
		out.n += room - z.avail_out;
	}
	if (r != LZMA_STREAM_END || out.n == 0)
		return NULL;
	*ret_n = out.n;
	return TAKE_PTR(out.data);
}
