// SPDX-License-Identifier: Apache-2.0
/*
 * Chains of wakers from waits written by hand: the waker, its main activity, and its own waker.
 */
#include "figures/wait_chain.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "tests/support/check.h"

#define MS NSEC_PER_MSEC
#define MAIN 4711

/* What main waited for comes first: 100 ms, ended by thread 1. */
#define ENDED_BY(thread, k)                                                                                            \
	{                                                                                                              \
		.ns = 100 * MS, .tid = MAIN, .class = BLAME_OTHER, .kind = RESOURCE_##k, .waker_tid = (thread)         \
	}
#define DID(thread, ms, c, k, by)                                                                                      \
	{                                                                                                              \
		.ns = (ms)*MS, .tid = (thread), .class = BLAME_##c, .kind = RESOURCE_##k, .waker_tid = (by),           \
		.is_meanwhile = true                                                                                   \
	}
#define WAITED(thread, ms, c, k, by)                                                                                   \
	{                                                                                                              \
		.ns = (ms)*MS, .tid = (thread), .class = BLAME_##c, .kind = RESOURCE_##k, .waker_tid = (by)            \
	}

static const struct {
	const char *name;
	struct account_wait waits[8];
	const char *text; /* of each hop: thread, class, kind, milliseconds */
} cases[] = {
	{ "nobody", { ENDED_BY(0, PIPE) }, "" },
	{ "nothing known", { ENDED_BY(1, PIPE) }, "1 ?; " },
	{ "it reads",
	  { ENDED_BY(1, PIPE), DID(1, 70, BLOCK_IO, INODE, 0), DID(1, 25, ON_CPU, NONE, 0) },
	  "1 block_io inode 73; " },
	{ "it computes",
	  { ENDED_BY(1, PIPE), DID(1, 20, BLOCK_IO, INODE, 0), DID(1, 80, ON_CPU, NONE, 0) },
	  "1 on_cpu  80; " },
	{ "many files are one way",
	  { ENDED_BY(1, PIPE),
	    DID(1, 40, ON_CPU, NONE, 0),
	    DID(1, 30, BLOCK_IO, INODE, 0),
	    DID(1, 30, BLOCK_IO, INODE, 0),
	    { .ns = 0 } },
	  "1 block_io inode 60; " },
	{ "short waits for a disk are for the file of the long ones",
	  { ENDED_BY(1, PIPE), DID(1, 30, BLOCK_IO, WRITTEN, 0), DID(1, 50, BLOCK_IO, NONE, 0),
	    DID(1, 20, ON_CPU, NONE, 0) },
	  "1 block_io written 80; " },
	{ "short waits for a disk, no long one",
	  { ENDED_BY(1, PIPE), DID(1, 80, BLOCK_IO, NONE, 0), DID(1, 20, ON_CPU, NONE, 0) },
	  "1 block_io  80; " },
	{ "four",
	  { ENDED_BY(1, FUTEX), DID(1, 100, LOCK, FUTEX, 2), DID(2, 90, OTHER, PIPE, 3), DID(2, 10, ON_CPU, NONE, 0),
	    DID(3, 50, LOCK, FUTEX, 4), DID(4, 80, BLOCK_IO, INODE, 0), DID(4, 20, ON_CPU, NONE, 0) },
	  "1 lock futex 100; 2 other pipe 90; 3 lock futex 90; 4 block_io inode 72; " },
	{ "no more than four",
	  { ENDED_BY(1, PIPE), DID(1, 9, OTHER, PIPE, 2), DID(2, 9, OTHER, PIPE, 3), DID(3, 9, OTHER, PIPE, 4),
	    DID(4, 9, OTHER, PIPE, 5), DID(5, 9, OTHER, PIPE, 6) },
	  "1 other pipe 100; 2 other pipe 100; 3 other pipe 100; 4 other pipe 100; " },
	{ "a circle",
	  { ENDED_BY(1, PIPE), DID(1, 9, OTHER, PIPE, 2), DID(2, 9, OTHER, PIPE, 1) },
	  "1 other pipe 100; 2 other pipe 100; " },
	{ "back to main", { ENDED_BY(1, PIPE), DID(1, 9, OTHER, PIPE, MAIN) }, "1 other pipe 100; " },
	{ "the GIL is no chain", { ENDED_BY(1, GIL), DID(1, 9, OTHER, PIPE, 2) }, "" },
	{ "a thread with an account, of which long waits are known",
	  { ENDED_BY(1, FUTEX), WAITED(1, 60, OTHER, PIPE, 2) },
	  "1 other pipe 60; 2 ?; " },
	{ "a thread with an account that mostly did something else",
	  { ENDED_BY(1, FUTEX), WAITED(1, 40, OTHER, PIPE, 2) },
	  "1 ?; " },
	{ "what a thread did meanwhile counts, not all its waits",
	  { ENDED_BY(1, FUTEX), WAITED(1, 90, OTHER, PIPE, 2), DID(1, 10, ON_CPU, NONE, 0) },
	  "1 on_cpu  100; " },
};

int main(void)
{
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		CLEANUP(buf_done) struct buf text = BUF_INIT;
		struct wait_hop hops[WAIT_HOPS_MOST];
		size_t n = 0, n_hops;

		while (n < ARRAY_SIZE(cases[c].waits) && cases[c].waits[n].ns)
			n++;
		n_hops = wait_chain(cases[c].waits, n, &cases[c].waits[0], hops);
		for (size_t i = 0; i < n_hops; i++) {
			(void)buf_printf(&text, "%u ", hops[i].ended->waker_tid);
			if (hops[i].did)
				(void)buf_printf(&text, "%s %s %u; ", account_class_name(hops[i].did->class),
						 account_resource_name(hops[i].did->kind),
						 (unsigned int)(hops[i].ns / MS));
			else
				(void)buf_append_text(&text, "?; ");
		}
		CHECK_STR_EQ(cases[c].name, buf_text(&text), cases[c].text);
	}
	return check_result();
}
