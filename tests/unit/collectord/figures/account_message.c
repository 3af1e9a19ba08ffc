// SPDX-License-Identifier: Apache-2.0
/*
 * Accounts as messages: each part split by what was waited for, the sum kept, others' names kept back.
 */
#include "figures/account_message.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "events/stack.h"
#include "figures/wait_sites.h"
#include "procs/program.h"
#include "tests/support/check.h"

#define MS 1000000ull
#define SYNC 9
#define COPY 12

enum { READER = 1000, OTHER = 2000 };

static const char *op_name(uint32_t op, void *data)
{
	(void)data;
	return op == SYNC ? "cudaStreamSynchronize" : op == COPY ? "cudaMemcpy" : NULL;
}

static bool may_name(uint32_t uid, bool is_guarded, void *data)
{
	(void)data;
	return uid == READER && !is_guarded;
}

#define BETWEEN(c, ms)                                                                                                 \
	{                                                                                                              \
		.where = ACCOUNT_BETWEEN, .class = BLAME_##c, .ns = (ms)*MS                                            \
	}
#define IN(o, c, ms)                                                                                                   \
	{                                                                                                              \
		.where = ACCOUNT_IN, .op = (o), .class = BLAME_##c, .ns = (ms)*MS                                      \
	}
#define UNKNOWN(ms)                                                                                                    \
	{                                                                                                              \
		.where = ACCOUNT_NOT_KNOWN, .class = BLAME_OTHER, .ns = (ms)*MS                                        \
	}

#define CHILD(pid, ms, name)                                                                                           \
	{                                                                                                              \
		.tid = 11, .class = BLAME_OTHER, .kind = RESOURCE_CHILD, .ns = (ms)*MS, .waker_tgid = (pid),           \
		.waker_tid = (pid), .waker_uid = READER, .waker_comm = name                                            \
	}

#define PIPE_FROM(t, ms, waker, owner)                                                                                 \
	{                                                                                                              \
		.tid = (t), .class = BLAME_OTHER, .kind = RESOURCE_PIPE, .ns = (ms)*MS, .waker_tgid = (waker),         \
		.waker_tid = (waker), .waker_uid = (owner), .waker_comm = "python"                                     \
	}
#define PIPE_OF(number, ms, waker)                                                                                     \
	{                                                                                                              \
		.tid = 11, .class = BLAME_OTHER, .kind = RESOURCE_PIPE, .ns = (ms)*MS, .count = 1,                     \
		.resource = (number), .waker_tgid = (waker), .waker_tid = (waker), .waker_uid = READER,                \
		.waker_comm = "python"                                                                                 \
	}
#define DID(t, ms, c, k, waker, owner)                                                                                 \
	{                                                                                                              \
		.is_meanwhile = true, .tid = (t), .class = BLAME_##c, .kind = RESOURCE_##k, .ns = (ms)*MS,             \
		.waker_tgid = (waker), .waker_tid = (waker), .waker_uid = (owner), .waker_comm = "python", .name = {   \
			RESOURCE_##k == RESOURCE_INODE ? 't' : 0                                                       \
		}                                                                                                      \
	}

/* The threads are 11 and 12; both have the parts. */
static const struct {
	const char *name;
	uint32_t tid; /* of the one that is told of; 0: several */
	struct account_part parts[4];
	struct account_wait waits[12];
	struct behind_figures behind[3];
	const char *text;
} cases[] = {
	{ .name = "nothing known of a wait",
	  .tid = 11,
	  .parts = { BETWEEN(NETWORK, 60), BETWEEN(ON_CPU, 40) },
	  .text = "between network 60; between on_cpu 40; " },
	{ .name = "a pipe and its writer",
	  .tid = 11,
	  .parts = { BETWEEN(NETWORK, 60), BETWEEN(ON_CPU, 40) },
	  .waits = { { .tid = 11,
		       .class = BLAME_NETWORK,
		       .kind = RESOURCE_PIPE,
		       .ns = 50 * MS,
		       .resource = 77,
		       .waker_tgid = 4720,
		       .waker_tid = 4720,
		       .waker_uid = READER,
		       .waker_comm = "python" } },
	  .text = "between network 50 pipe(pipe:[77]) by python 4720/4720; between on_cpu 40; between network 10; " },
	{ .name = "a pipe and its writer, who had not yet ended the wait when most of it was told",
	  .tid = 11,
	  .parts = { BETWEEN(OTHER, 60) },
	  .waits = { { .tid = 11, .class = BLAME_OTHER, .kind = RESOURCE_PIPE, .ns = 50 * MS, .resource = 77 },
		     { .tid = 11,
		       .class = BLAME_OTHER,
		       .kind = RESOURCE_PIPE,
		       .ns = 8 * MS,
		       .count = 1,
		       .resource = 77,
		       .waker_tgid = 4720,
		       .waker_tid = 4720,
		       .waker_uid = READER,
		       .waker_comm = "python" } },
	  .text = "between other 58 pipe(pipe:[77]) by python 4720/4720; between other 2; " },
	{ .name = "no waker where there are two writers, or where it is not known",
	  .tid = 11,
	  .parts = { BETWEEN(OTHER, 60) },
	  .waits = { { .tid = 11, .class = BLAME_OTHER, .kind = RESOURCE_PIPE, .ns = 30 * MS, .resource = 77 },
		     PIPE_OF(77, 8, 4720),
		     PIPE_OF(77, 7, 4721),
		     { .tid = 11,
		       .class = BLAME_OTHER,
		       .kind = RESOURCE_PIPE,
		       .ns = 6 * MS,
		       .count = 3,
		       .resource = 78 },
		     PIPE_OF(78, 5, 4721) },
	  .text = "between other 30 pipe(pipe:[77]); between other 8 pipe(pipe:[77]) by python 4720/4720; between "
		  "other "
		  "7 pipe(pipe:[77]) by python 4721/4721; between other 6 pipe(pipe:[78]); between other 5 "
		  "pipe(pipe:[78]) by python 4721/4721; between other 4; " },
	{ .name = "children of which only the name is known",
	  .tid = 11,
	  .parts = { BETWEEN(OTHER, 60) },
	  .waits = { { .tid = 11,
		       .class = BLAME_OTHER,
		       .kind = RESOURCE_CHILD,
		       .ns = 50 * MS,
		       .waker_uid = READER,
		       .waker_comm = "sh" },
		     CHILD(9, 10, "sh") },
	  .text = "between other 50 child() by sh 0/0 uid 1000; between other 10 child() by sh 9/9; " },
	{ .name = "waits of another thread, operation, class or place are not this part's",
	  .tid = 11,
	  .parts = { BETWEEN(LOCK, 60), IN(SYNC, LOCK, 40) },
	  .waits = { { .tid = 12, .class = BLAME_LOCK, .kind = RESOURCE_GIL, .ns = 9 * MS },
		     { .tid = 11, .class = BLAME_LOCK, .kind = RESOURCE_GIL, .ns = 9 * MS, .op = COPY },
		     { .tid = 11, .class = BLAME_BLOCK_IO, .kind = RESOURCE_GIL, .ns = 9 * MS },
		     { .tid = 11, .class = BLAME_LOCK, .kind = RESOURCE_GIL, .ns = 9 * MS, .op = SYNC } },
	  .text = "between lock 60; in cudaStreamSynchronize lock 31; in cudaStreamSynchronize lock 9 gil(); " },
	{ .name = "the same lock held by the same thread is one slice",
	  .tid = 11,
	  .parts = { BETWEEN(LOCK, 60) },
	  .waits = { { .tid = 11, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX, .resource = 0x7f10, .ns = 20 * MS },
		     { .tid = 11, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX, .resource = 0x7f20, .ns = 4 * MS },
		     { .tid = 11, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX, .resource = 0x7f10, .ns = 30 * MS } },
	  .text = "between lock 50 futex(0x7f10); between lock 6; between lock 4 futex(0x7f20); " },
	{ .name = "waits that sum to more than their part are scaled to it",
	  .tid = 11,
	  .parts = { BETWEEN(BLOCK_IO, 30) },
	  .waits = { { .tid = 11,
		       .class = BLAME_BLOCK_IO,
		       .kind = RESOURCE_INODE,
		       .name = "data_0.bin",
		       .ns = 40 * MS },
		     { .tid = 11,
		       .class = BLAME_BLOCK_IO,
		       .kind = RESOURCE_DEVICE,
		       .device = 8 << 20 | 1,
		       .ns = 20 * MS } },
	  .text = "between block_io 20 inode(data_0.bin); between block_io 10 device(8:1); " },
	{ .name = "garbage collections are time on the CPU",
	  .tid = 11,
	  .parts = { BETWEEN(ON_CPU, 60), IN(SYNC, ON_CPU, 40), BETWEEN(LOCK, 5) },
	  .waits = { { .tid = 11, .class = BLAME_ON_CPU, .kind = RESOURCE_GC, .ns = 50 * MS },
		     { .tid = 11, .class = BLAME_ON_CPU, .kind = RESOURCE_GC, .ns = 1 * MS, .op = SYNC },
		     { .tid = 12, .class = BLAME_ON_CPU, .kind = RESOURCE_GC, .ns = 9 * MS } },
	  .text = "between on_cpu 50 gc(); in cudaStreamSynchronize on_cpu 39; between on_cpu 10; "
		  "between lock 5; in cudaStreamSynchronize on_cpu 1 gc(); " },
	{ .name = "a file has its path and its device",
	  .tid = 11,
	  .parts = { BETWEEN(BLOCK_IO, 30) },
	  .waits = { { .tid = 11,
		       .class = BLAME_BLOCK_IO,
		       .kind = RESOURCE_INODE,
		       .name = "/data/train.bin",
		       .device_name = "sda",
		       .ns = 20 * MS },
		     { .tid = 11,
		       .class = BLAME_BLOCK_IO,
		       .kind = RESOURCE_INODE,
		       .name = "/data/train.bin",
		       .device_name = "sdb",
		       .ns = 10 * MS } },
	  .text = "between block_io 20 inode(/data/train.bin on sda); between block_io 10 inode(/data/train.bin on "
		  "sdb); " },
	{ .name = "another user's process has no name",
	  .tid = 11,
	  .parts = { BETWEEN(NETWORK, 60) },
	  .waits = { { .tid = 11,
		       .class = BLAME_NETWORK,
		       .kind = RESOURCE_PEER,
		       .ns = 60 * MS,
		       .waker_tgid = 5,
		       .waker_tid = 6,
		       .waker_uid = OTHER,
		       .waker_comm = "secret" } },
	  .text = "between network 60 peer() by  0/0 uid 2000; " },
	{ .name = "names of anybody's choice are printable UTF-8",
	  .tid = 11,
	  .parts = { BETWEEN(BLOCK_IO, 60) },
	  .waits = { { .tid = 11,
		       .class = BLAME_BLOCK_IO,
		       .kind = RESOURCE_INODE,
		       .name = "/a\x1b[2J\xff",
		       .ns = 60 * MS,
		       .waker_tgid = 5,
		       .waker_tid = 6,
		       .waker_uid = READER,
		       .waker_comm = "b\n\xfe" } },
	  .text = "between block_io 60 inode(/a?[2J?) by b?? 5/6; " },
	{ .name = "those of a chain, too",
	  .tid = 11,
	  .parts = { BETWEEN(OTHER, 60) },
	  .waits = { PIPE_FROM(11, 60, 4720, READER),
		     { .is_meanwhile = true,
		       .tid = 4720,
		       .class = BLAME_BLOCK_IO,
		       .kind = RESOURCE_INODE,
		       .name = "/t\x1b\xff.x",
		       .ns = 60 * MS } },
	  .text = "between other 60 pipe() by python 4720/4720 < python 4720/4720 block_io inode(/t??.x) 60; " },
	{ .name = "those of who had the CPU, too",
	  .tid = 11,
	  .parts = { BETWEEN(RUNNABLE, 60) },
	  .behind = { { .tgid = 8821, .uid = READER, .ns = 60 * MS, .is_between = true, .comm = "\x1b]\xff" } },
	  .text = "between runnable 30 by ?]? 8821/0; between runnable 30; " },
	{ .name = "who had the CPU: between by between, in by in, each thread its share",
	  .tid = 11,
	  .parts = { BETWEEN(RUNNABLE, 60), IN(SYNC, RUNNABLE, 20) },
	  .behind = { { .tgid = 8821, .uid = READER, .ns = 100 * MS, .is_between = true, .comm = "ffmpeg" },
		      { .tgid = 99, .uid = OTHER, .ns = 20 * MS, .is_between = true, .comm = "secret" },
		      { .tgid = 8821, .uid = READER, .ns = 10 * MS, .comm = "ffmpeg" } },
	  .text = "between runnable 50 by ffmpeg 8821/0; in cudaStreamSynchronize runnable 15; "
		  "between runnable 10 by  0/0 uid 2000; in cudaStreamSynchronize runnable 5 by ffmpeg 8821/0; " },
	{ .name = "threads and operations without a part of their own",
	  .tid = 0,
	  .parts = { IN(0, LOCK, 50), IN(SYNC, LOCK, 21), UNKNOWN(7) },
	  .waits = { { .tid = 77, .class = BLAME_LOCK, .kind = RESOURCE_GIL, .ns = 30 * MS, .op = COPY },
		     { .tid = 12, .class = BLAME_LOCK, .kind = RESOURCE_GIL, .ns = 30 * MS, .op = COPY } },
	  .text = "in - lock 30 gil(); in cudaStreamSynchronize lock 21; in - lock 20; not_known other 7; " },
	{ .name = "more causes than are told apart",
	  .tid = 11,
	  .parts = { BETWEEN(LOCK, 60) },
	  .waits = { { .tid = 11, .class = BLAME_LOCK, .kind = 1, .resource = 1, .ns = 1 * MS },
		     { .tid = 11, .class = BLAME_LOCK, .kind = 1, .resource = 2, .ns = 2 * MS },
		     { .tid = 11, .class = BLAME_LOCK, .kind = 1, .resource = 3, .ns = 3 * MS },
		     { .tid = 11, .class = BLAME_LOCK, .kind = 1, .resource = 4, .ns = 4 * MS },
		     { .tid = 11, .class = BLAME_LOCK, .kind = 1, .resource = 5, .ns = 5 * MS },
		     { .tid = 11, .class = BLAME_LOCK, .kind = 1, .resource = 6, .ns = 6 * MS },
		     { .tid = 11, .class = BLAME_LOCK, .kind = 1, .resource = 7, .ns = 7 * MS },
		     { .tid = 11, .class = BLAME_LOCK, .kind = 1, .resource = 8, .ns = 8 * MS },
		     { .tid = 11, .class = BLAME_LOCK, .kind = 1, .resource = 9, .ns = 9 * MS } },
	  .text = "between lock 15 futex(); between lock 15; between lock 9 futex(0x9); between lock 8 futex(0x8); "
		  "between lock 7 futex(0x7); between lock 6 futex(0x6); " },
	{ .name = "another child each time: their name is left",
	  .tid = 11,
	  .parts = { BETWEEN(OTHER, 60) },
	  .waits = { CHILD(1, 1, "nvcc"), CHILD(2, 2, "nvcc"), CHILD(3, 3, "nvcc"), CHILD(4, 4, "nvcc"),
		     CHILD(5, 5, "nvcc"), CHILD(6, 6, "nvcc"), CHILD(7, 7, "nvcc"), CHILD(8, 8, "nvcc"),
		     CHILD(9, 9, "nvcc") },
	  .text = "between other 15 child() by nvcc 0/0 uid 1000; between other 15; between other 9 child() by nvcc "
		  "9/9; "
		  "between other 8 child() by nvcc 8/8; between other 7 child() by nvcc 7/7; between other 6 child() "
		  "by nvcc 6/6; " },
	{ .name = "a chain: what the loader does, and what who it waits for does; in shares of the part",
	  .tid = 11,
	  .parts = { BETWEEN(OTHER, 60), BETWEEN(BLOCK_IO, 40) },
	  .waits = { PIPE_FROM(11, 80, 4720, READER), DID(4720, 50, OTHER, PIPE, 4730, READER),
		     DID(4720, 50, ON_CPU, NONE, 0, 0), DID(4730, 40, BLOCK_IO, INODE, 0, 0),
		     DID(4730, 10, ON_CPU, NONE, 0, 0) },
	  .text = "between other 60 pipe() by python 4720/4720 < python 4720/4720 other pipe() 30 < python 4730/4730 "
		  "block_io inode(t) 24; between block_io 40; " },
	{ .name = "another user's: who it is where that may be told, and never more",
	  .tid = 11,
	  .parts = { BETWEEN(OTHER, 60) },
	  .waits = { PIPE_FROM(11, 60, 4720, READER), DID(4720, 60, OTHER, PEER, 4730, OTHER) },
	  .text = "between other 60 pipe() by python 4720/4720 < python 4720/4720 other peer() 60 <  0/0 ? 0; " },
	{ .name = "of a waker that may not be named there is no chain",
	  .tid = 11,
	  .parts = { BETWEEN(OTHER, 60) },
	  .waits = { PIPE_FROM(11, 60, 4720, OTHER), DID(4720, 60, BLOCK_IO, INODE, 0, 0) },
	  .text = "between other 60 pipe() by  0/0 uid 2000; " },
	{ .name = "one's own that its user may not inspect",
	  .tid = 11,
	  .parts = { BETWEEN(OTHER, 60), BETWEEN(RUNNABLE, 40) },
	  .waits = { { .tid = 11,
		       .class = BLAME_OTHER,
		       .kind = RESOURCE_PIPE,
		       .ns = 60 * MS,
		       .waker_tgid = 4720,
		       .waker_tid = 4720,
		       .waker_uid = READER,
		       .is_waker_guarded = true,
		       .waker_comm = "keeper" },
		     DID(4720, 60, BLOCK_IO, INODE, 0, 0) },
	  .behind = { { .tgid = 4720,
			.uid = READER,
			.ns = 80 * MS,
			.is_between = true,
			.is_guarded = true,
			.comm = "keeper" } },
	  .text = "between other 60 pipe() by  0/0 uid 1000; between runnable 40 by  0/0 uid 1000; " },
	{ .name = "each with a name of its own: children",
	  .tid = 11,
	  .parts = { BETWEEN(OTHER, 60) },
	  .waits = { CHILD(1, 1, "a"), CHILD(2, 2, "b"), CHILD(3, 3, "c"), CHILD(4, 4, "d"), CHILD(5, 5, "e"),
		     CHILD(6, 6, "f"), CHILD(7, 7, "g"), CHILD(8, 8, "h"), CHILD(9, 9, "i") },
	  .text = "between other 15 child(); between other 15; between other 9 child() by i 9/9; "
		  "between other 8 child() by h 8/8; between other 7 child() by g 7/7; between other 6 child() by f "
		  "6/6; " },
};

static void parts_format(const Ingero__V1__Account *account, struct buf *out)
{
	for (size_t i = 0; i < account->n_parts; i++) {
		const Ingero__V1__AccountPart *p = account->parts[i];
		const Ingero__V1__Waker *by = p->by;

		(void)buf_printf(out, "%s ", p->where);
		if (strcmp(p->where, "in") == 0)
			(void)buf_printf(out, "%s ",
					 p->op_told_case == INGERO__V1__ACCOUNT_PART__OP_TOLD_OP ? p->op : "-");
		(void)buf_printf(out, "%s %llu", p->class_, (unsigned long long)(p->ns / MS));
		if (p->resource)
			(void)buf_printf(out, " %s(%s%s%s)", p->resource->kind, p->resource->name,
					 p->resource->device_told_case ? " on " : "",
					 p->resource->device_told_case ? p->resource->device : "");
		if (by)
			(void)buf_printf(out, " by %s %u/%u", by->comm, by->pid, by->tid);
		if (by && !by->pid)
			(void)buf_printf(out, " uid %u", by->uid);
		for (size_t k = 0; k < p->n_chain; k++) {
			const Ingero__V1__Hop *hop = p->chain[k];

			(void)buf_printf(out, " < %s %u/%u %s", hop->by->comm, hop->by->pid, hop->by->tid,
					 *hop->class_ ? hop->class_ : "?");
			if (hop->resource)
				(void)buf_printf(out, " %s(%s)", hop->resource->kind, hop->resource->name);
			(void)buf_printf(out, " %llu", (unsigned long long)(hop->ns / MS));
		}
		(void)buf_append_text(out, "; ");
	}
}

static void split(size_t c)
{
	static const struct program program = { .script = "t\xe2\x80\xae"
							  "yp.py" }; /* not as a terminal would turn it */
	struct account accounts[3] = { { .tid = 11 }, { .tid = 12 }, { .tid = 0 } };
	struct account_process process = {
		.pid = 4711,
		.uid = READER,
		.name = "python3",
		.program = &program,
		.accounts = accounts,
		.n_accounts = cases[c].tid ? 2 : 3,
		.waits = cases[c].waits,
		.behind = cases[c].behind,
		.op_name = op_name,
		.may_name = may_name,
	};
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	const Ingero__V1__Account *message;
	uint64_t sum_ns = 0;

	while (process.n_waits < ARRAY_SIZE(cases[c].waits) && cases[c].waits[process.n_waits].ns)
		process.n_waits++;
	while (process.n_behind < ARRAY_SIZE(cases[c].behind) && cases[c].behind[process.n_behind].ns)
		process.n_behind++;
	for (size_t i = 0; i < process.n_accounts; i++)
		for (size_t k = 0; k < ARRAY_SIZE(cases[c].parts) && cases[c].parts[k].ns; k++) {
			(void)ARRAY_PUSH(&accounts[i].parts, cases[c].parts[k]);
			accounts[i].wall_ns += cases[c].parts[k].ns;
		}

	message = account_to_message(&process, &accounts[cases[c].tid ? 0 : 2], &arena);
	CHECK(cases[c].name, message != NULL);
	if (message) {
		parts_format(message, &text);
		CHECK_STR_EQ(cases[c].name, buf_text(&text), cases[c].text);
		for (size_t i = 0; i < message->n_parts; i++)
			sum_ns += message->parts[i]->ns;
		CHECK_INT_EQ(cases[c].name, sum_ns, message->wall_ns);
		CHECK_INT_EQ(cases[c].name, message->pid, 4711);
		CHECK_STR_EQ(cases[c].name, message->program->script, "t?yp.py");
		CHECK_INT_EQ(cases[c].name, message->tid, cases[c].tid);
	}
	for (size_t i = 0; i < process.n_accounts; i++)
		ARRAY_DONE(&accounts[i].parts);
}

/* The wait that thread 11 is in, among all of its waits. */
static const struct {
	const char *name;
	struct account_wait waits[6];
	const char *text;
} waiting[] = {
#define LONG(t) .is_open = true, .tid = (t), .ns = 900 * MS, .max_ns = 14200 * MS
#define FOR(c, k, r) .class = BLAME_##c, .kind = RESOURCE_##k, .resource = (r)
#define ENDED(ms, waker, owner)                                                                                        \
	.ns = (ms)*MS, .waker_tgid = (waker), .waker_tid = (waker), .waker_uid = (owner), .waker_comm = "loader"
	{ "none", { { .tid = 11, FOR(OTHER, PIPE, 7), ENDED(90, 4720, READER) } }, "" },
	{ "another thread's", { { LONG(12), FOR(OTHER, PIPE, 7) } }, "" },
	{ "of a sum of threads", { { LONG(0), FOR(OTHER, PIPE, 7) } }, "" },
	{ "between calls, so far", { { LONG(11), FOR(OTHER, PIPE, 7) } }, "between other 14200 pipe(pipe:[7]); " },
	{ "in a call",
	  { { LONG(11), FOR(OTHER, PIPE, 7), .op = SYNC } },
	  "in cudaStreamSynchronize other 14200 pipe(pipe:[7]); " },
	{ "sleep", { { LONG(11), .class = BLAME_SLEEP } }, "between sleep 14200; " },
	{ "who wrote to it before",
	  { { LONG(11), FOR(OTHER, PIPE, 7) },
	    { .tid = 11, FOR(OTHER, PIPE, 7), ENDED(90, 4720, READER) },
	    { .tid = 11, FOR(OTHER, PIPE, 7), ENDED(10, 4721, READER) },
	    { .tid = 11, FOR(OTHER, PIPE, 8), ENDED(500, 4722, READER) },
	    { .tid = 12, FOR(OTHER, PIPE, 7), ENDED(500, 4723, READER) } },
	  "between other 14200 pipe(pipe:[7]) by loader 4720/4720; " },
	{ "another user's",
	  { { LONG(11), FOR(OTHER, PIPE, 7) }, { .tid = 11, FOR(OTHER, PIPE, 7), ENDED(90, 4720, OTHER) } },
	  "between other 14200 pipe(pipe:[7]) by  0/0 uid 2000; " },
	{ "a lock has no other end",
	  { { LONG(11), FOR(LOCK, FUTEX, 16) }, { .tid = 11, FOR(LOCK, FUTEX, 16), ENDED(90, 4711, READER) } },
	  "between lock 14200 futex(0x10); " },
#undef LONG
#undef FOR
#undef ENDED
};

static void waits(size_t c)
{
	static const struct program no_program;
	struct account_part part = BETWEEN(OTHER, 900);
	struct account account = { .tid = 11, .wall_ns = part.ns };
	struct account_process process = {
		.pid = 4711,
		.uid = READER,
		.name = "python3",
		.program = &no_program,
		.accounts = &account,
		.n_accounts = 1,
		.all_waits = waiting[c].waits,
		.op_name = op_name,
		.may_name = may_name,
	};
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	Ingero__V1__Account *message, told = INGERO__V1__ACCOUNT__INIT;

	(void)ARRAY_PUSH(&account.parts, part);
	while (process.n_all_waits < ARRAY_SIZE(waiting[c].waits) && waiting[c].waits[process.n_all_waits].ns)
		process.n_all_waits++;
	message = account_to_message(&process, &account, &arena);
	CHECK(waiting[c].name, message != NULL);
	if (message && message->waiting) {
		told.parts = &message->waiting;
		told.n_parts = 1;
		parts_format(&told, &text);
	}
	CHECK_STR_EQ(waiting[c].name, buf_text(&text), waiting[c].text);
	ARRAY_DONE(&account.parts);
}

/* Where a thread waited: of the part with that resource, and of the one without any. */
static void places(void)
{
	static const struct program no_program;
	static const struct wait_key keys[] = {
		{ .tid = 11, .class = BLAME_LOCK, .kind = RESOURCE_GIL, .resource = 16 },
		{ .tid = 11, .class = BLAME_SLEEP },
	};
	static const struct account_wait waits_of[] = {
		{ .tid = 11, .class = BLAME_LOCK, .kind = RESOURCE_GIL, .resource = 16, .ns = 5 * MS },
		{ .tid = 11, .class = BLAME_LOCK, .kind = RESOURCE_FUTEX, .resource = 32, .ns = 2 * MS },
	};
	const struct stack_frame frame = {
		.symbol = "load+0x10", .qualname = "", .file = "train.cc", .module = "", .line = 42
	};
	struct account_part parts[] = { { .where = ACCOUNT_BETWEEN, .class = BLAME_LOCK, .ns = 8 * MS },
					{ .where = ACCOUNT_BETWEEN, .class = BLAME_SLEEP, .ns = 4 * MS } };
	struct account account = { .tid = 11, .wall_ns = 12 * MS };
	struct account_process process = { .pid = 11,
					   .uid = READER,
					   .name = "python3",
					   .program = &no_program,
					   .accounts = &account,
					   .n_accounts = 1,
					   .waits = waits_of,
					   .n_waits = ARRAY_SIZE(waits_of),
					   .op_name = op_name,
					   .may_name = may_name };
	struct wait_sites *sites = wait_sites_new();
	struct stack *stack = stack_new(READER);
	CLEANUP(arena_done) struct arena arena = ARENA_INIT;
	Ingero__V1__Account *message;

	CHECK("memory", sites && stack);
	if (!sites || !stack)
		return;
	(void)stack_name(stack, &frame, 1, true, "");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		(void)ARRAY_PUSH(&account.parts, parts[i]);
		wait_sites_note(sites, &keys[i], stack, MS);
	}
	process.wait_sites = sites;
	message = account_to_message(&process, &account, &arena);
	CHECK("message", message && message->n_parts == 4);
	for (size_t i = 0; message && i < message->n_parts; i++) {
		const Ingero__V1__AccountPart *part = message->parts[i];
		bool is_known = strcmp(part->class_, "sleep") == 0 ||
				(part->resource && strcmp(part->resource->kind, "gil") == 0);

		CHECK_STR_EQ(part->class_, part->from ? part->from->func : "", is_known ? "load" : "");
		CHECK_INT_EQ(part->class_, part->from ? part->from->line : 0, is_known ? 42 : 0);
	}
	ARRAY_DONE(&account.parts);
	wait_sites_free(sites);
	(void)stack_unref(stack);
}

int main(void)
{
	places();
	for (size_t c = 0; c < ARRAY_SIZE(waiting); c++)
		waits(c);
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++)
		split(c);
	return check_result();
}
