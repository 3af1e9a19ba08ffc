// SPDX-License-Identifier: Apache-2.0
/* Bytes of a connection: what passes the gate is the beginning of what came, and the same in whatever pieces it comes.
 */
#include "web/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

static const char *const methods[] = { "POST", "GET", NULL };
static const char *const hosts[] = { "localhost", "[::1]", NULL };

static bool is_guest(const char *authorization, const void *data)
{
	REQUIRE(strlen(authorization) <= GATE_AUTHORIZATION_BYTES_MAX);
	return strcmp(authorization, data) == 0;
}

static const struct gate_rules rules = {
	.methods = methods, .hosts = hosts, .body_bytes_max = 1000, .is_guest = is_guest, .data = "Bearer a"
};

static int feed(const char *bytes, size_t n, size_t piece, struct buf *out)
{
	struct gate gate = GATE_INIT(&rules);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i += piece)
		r = gate_feed(&gate, bytes + i, MIN(piece, n - i), out);
	REQUIRE(r >= 0);
	gate_done(&gate);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(buf_done) struct buf whole = BUF_INIT, pieces = BUF_INIT;
	int r;

	if (n < 1)
		return 0;
	r = feed((const char *)data + 1, n - 1, n, &whole);
	REQUIRE(feed((const char *)data + 1, n - 1, 1 + data[0] % 16, &pieces) == r);
	REQUIRE(whole.n == pieces.n && (!whole.n || memcmp(whole.data, pieces.data, whole.n) == 0));
	REQUIRE(whole.n <= n - 1 && (!whole.n || memcmp(whole.data, data + 1, whole.n) == 0));
	return 0;
}
