// SPDX-License-Identifier: Apache-2.0
/*
 * A whole connection: bytes of a client that has said Hello, handed over in two pieces, to the
 * real server with the services of tests/rpc. Time passes between them, then the client goes.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "raw.h"
#include "rpc/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct toy toy;
	struct raw raw;
	size_t first;

	if (n < 2 || n > 8192)
		return 0;
	first = data[0] % n;
	toy_open(&toy);
	toy.does_not_die = true;
	raw_open(&raw, &toy);
	raw_send_hello(&raw, FRAME_PROTOCOL_MAJOR);
	raw_settle(&raw);
	raw_send(&raw, data + 1, first);
	raw_settle(&raw);
	raw_now_ns += 100 * NSEC_PER_MSEC;
	server_check(toy.server);
	if (first < n - 1)
		raw_send(&raw, data + 1 + first, n - 1 - first);
	raw_settle(&raw);
	raw_close(&raw);
	for (int i = 0; i < 4; i++)
		(void)uv_run(&toy.loop, UV_RUN_NOWAIT);
	if (toy.n_peers_opened != toy.n_peers_closed)
		abort();
	if (toy.later)
		toy_answer_later(&toy);
	toy_close(&toy);
	return 0;
}
