// SPDX-License-Identifier: Apache-2.0
/* Callers of `ingero io` at once: one user leaves places for others, and who ends a trace has a place again. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "io/io_hub.h"
#include "tests/support/check.h"

#define USER 4294900001u
#define OTHER 4294900002u
#define ROWS 3

static struct io_hub *hub;
static uv_loop_t loop;
static struct io_lease_state *leases[IO_LEASES];

static void on_read(bool is_last, void *data)
{
	(void)is_last;
	(void)data;
}

static int join(uint32_t uid, struct io_lease_state **ret_lease, char *why, size_t why_bytes)
{
	const struct io_listener listener = { .on_read = on_read };
	const struct io_wish wish = { .lease = { .uid = uid }, .uids = &uid, .n_uids = 1 };

	return io_hub_join(&hub, &loop, &wish, &listener, why, why_bytes, ret_lease);
}

/* As many as a user gets. @n: of all so far */
static uint32_t joined(uint32_t uid, uint32_t n)
{
	uint32_t first = n;
	char why[256] = "";
	int r = 0;

	while (n < IO_LEASES && (r = join(uid, &leases[n], why, sizeof(why))) == 0)
		n++;
	CHECK_INT_EQ("the user has no more", r, -EUSERS);
	CHECK_INT_EQ("told why", strstr(why, "end a trace of yours") != NULL, 1);
	return n - first;
}

static void leave(uint32_t *n)
{
	io_hub_leave(leases[--*n]);
}

int main(void)
{
	static const struct {
		const char *name;
		uint32_t uid, leave, want;
	} rows[ROWS] = {
		{ "one user alone", USER, 0, 12 },
		{ "another one beside him", OTHER, 0, 3 },
		{ "the other one has ended one", OTHER, 1, 1 },
	};
	uint32_t n = 0;

	if (geteuid() != 0) {
		(void)fprintf(stderr, "needs root\n");
		return 77;
	}
	(void)uv_loop_init(&loop);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (uint32_t k = 0; k < rows[i].leave; k++)
			leave(&n);
		CHECK_INT_EQ(rows[i].name, joined(rows[i].uid, n), rows[i].want);
		n += rows[i].want;
	}
	while (n)
		leave(&n);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	CHECK_INT_EQ("the last one takes all with it", hub == NULL, 1);
	CHECK_INT_EQ("nothing is left", uv_loop_close(&loop), 0);
	return check_result();
}
