// SPDX-License-Identifier: Apache-2.0
/*
 * The account of a thread, to the character: causes as people think of them, sums of 100 %, never wider than the
 * terminal.
 */
#include "libingero/answers/account/text.h"

#include "accounts.h"
#include "tests/support/check.h"

static const struct text_style plain = { .is_utf8 = true, .columns = 80 };
static const struct text_style narrow = { .is_utf8 = true, .columns = 60 };
static struct account_made made;

static const char *block(size_t most, const struct text_style *style)
{
	static struct buf out;

	buf_consume(&out, out.n);
	CHECK_INT_EQ("block", account_append(&made.account, most, style, &out), 0);
	return buf_text(&out);
}

static const char *one_line(const struct text_style *style)
{
	static struct buf out;

	buf_consume(&out, out.n);
	CHECK_INT_EQ("one line", account_append_short(&made.account, "python3 4711: ", style, &out), 0);
	return buf_text(&out);
}

static void starved(void)
{
	static const struct part_row two_hogs[] = {
		{ .where = "between",
		  .class = "runnable",
		  .ns = 4800 * MS,
		  .by_pid = 16722,
		  .by_uid = 1000,
		  .by = "sh" },
		{ .where = "between",
		  .class = "runnable",
		  .ns = 4200 * MS,
		  .by_pid = 16721,
		  .by_uid = 1000,
		  .by = "sh" },
		{ .where = "in", .class = "on_cpu", .op = "cudaLaunchKernel", .ns = 1 * S },
	};

	static const struct part_row other_users[] = {
		{ .where = "between",
		  .class = "runnable",
		  .ns = 4800 * MS,
		  .by_pid = 180493,
		  .by_uid = 4294900000u,
		  .by = "hogbin" },
		{ .where = "between",
		  .class = "runnable",
		  .ns = 4200 * MS,
		  .by_pid = 16721,
		  .by_uid = 4294900000u,
		  .by = "(a,b" },
		{ .where = "in", .class = "on_cpu", .op = "cudaLaunchKernel", .ns = 1 * S },
	};
	static const struct part_row other_user_ends[] = {
		{ .where = "between",
		  .class = "lock",
		  .ns = 7 * S,
		  .kind = "futex",
		  .name = "0x10",
		  .by_pid = 4712,
		  .by_tid = 4712,
		  .by_uid = 4294900000u,
		  .by = "a,b" },
		{ .where = "between", .class = "sleep", .ns = 3 * S },
	};
	static const struct part_row held[] = {
		{ .where = "between",
		  .class = "lock",
		  .ns = 7 * S,
		  .kind = "futex",
		  .name = "0x10",
		  .by_pid = 4711,
		  .by_tid = 4712,
		  .by_uid = 1000,
		  .by = "python3",
		  .chain = { { "on_cpu", 7 * S, NULL, NULL, 4711, 4712 } } },
		{ .where = "between", .class = "sleep", .ns = 3 * S },
	};
	static const struct part_row hardly_attributed[] = {
		{ .where = "between", .class = "runnable", .ns = 100 * MS, .by_pid = 8821, .by_uid = 1000, .by = "sh" },
		{ .where = "between", .class = "runnable", .ns = 8900 * MS },
		{ .where = "in", .class = "on_cpu", .op = "cudaLaunchKernel", .ns = 1 * S },
	};
	static const struct part_row locked[] = {
		{ .where = "between",
		  .class = "lock",
		  .ns = 9 * S,
		  .kind = "file_lock",
		  .name = "/data/sets/2026/the.lock",
		  .by_pid = 18249,
		  .by_tid = 18249,
		  .by_uid = 1000,
		  .by = "python3",
		  .chain = { { "sleep", 9 * S, NULL, NULL, 18249, 18249 } } },
		{ .where = "in", .class = "on_cpu", .op = "cudaLaunchKernel", .ns = 1 * S },
	};
	static const struct part_row small_parts[] = {
		{ .where = "in", .class = "on_cpu", .op = "cudaLaunchKernel", .ns = 9 * S },
		{ .where = "between", .class = "runnable", .ns = 600 * MS },
		{ .where = "between", .class = "other", .ns = 400 * MS },
	};
	static const struct part_row short_waits[] = {
		{ .where = "between", .class = "block_io", .ns = 5399 * MS },
		{ .where = "between",
		  .class = "block_io",
		  .ns = 1 * MS,
		  .kind = "inode",
		  .name = "/data/sets/2026/data.bin",
		  .device = "vda" },
		{ .where = "between", .class = "on_cpu", .ns = 4600 * MS },
	};

	(void)account_make(&made, account_starved, ARRAY_SIZE(account_starved));
	CHECK_STR_EQ("block", block(ACCOUNT_LINES_MOST, &plain),
		     "python3 4711 · main thread · 1 min 0 s\n"
		     "   60 %  ▇▇▇▇▇      36.0s  waits for a pipe       from python (4720) 83 %\n"
		     "   19 %  ▇▇         11.4s  cudaStreamSynchronize  device\n"
		     "   14 %  ▇           8.4s  Python on the CPU\n"
		     "    5 %  ▇           3.0s  ready, no CPU          behind ffmpeg (8821)\n"
		     "    2 %  ▇           1.2s  other                  cudaLaunchKernel 50 %\n");
	CHECK_STR_EQ("all", block(SIZE_MAX, &narrow),
		     "python3 4711 · main thread · 1 min 0 s\n"
		     "   60 %    36.0s  waits for a pipe   from python (4720) 83 %\n"
		     "   19 %    11.4s  cudaStreamSynchronize  device\n"
		     "   14 %     8.4s  Python on the CPU\n"
		     "    5 %     3.0s  ready, no CPU         behind ffmpeg (8821)\n"
		     "    1 %    600ms  cudaLaunchKernel       cpu\n"
		     "    1 %    300ms  sleeping              the program asked to\n"
		     "   <1 %    300ms  not known\n");
	(void)account_make(&made, two_hogs, ARRAY_SIZE(two_hogs));
	CHECK_STR_EQ("both of two", block(SIZE_MAX, &plain),
		     "python3 4711 · main thread · 10.0 s\n"
		     "   90 %  ▇▇▇▇▇▇▇     9.0s  ready, no CPU behind sh (16722) 53 %, sh (16721) 47 %\n"
		     "   10 %  ▇           1.0s  cudaLaunchKernel  cpu\n");
	(void)account_make(&made, other_users, ARRAY_SIZE(other_users));
	CHECK_STR_EQ("another user's is told whole", block(SIZE_MAX, &plain),
		     "python3 4711 · main thread · 10.0 s\n"
		     "   90 %  ▇▇▇▇▇▇▇     9.0s  ready, no CPU  behind hogbin (180493, uid 4294900000)\n"
		     "                                          53 %\n"
		     "   10 %  ▇           1.0s  cudaLaunchKernel  cpu\n");
	CHECK_STR_EQ("also where it is narrow", block(SIZE_MAX, &narrow),
		     "python3 4711 · main thread · 10.0 s\n"
		     "   90 %     9.0s  ready, no CPU  behind hogbin (180493, uid\n"
		     "                                 4294900000) 53 %\n"
		     "   10 %     1.0s  cudaLaunchKernel  cpu\n");
	(void)account_make(&made, other_user_ends, ARRAY_SIZE(other_user_ends));
	CHECK_STR_EQ("who ends the wait, another user's", one_line(&(struct text_style){ .columns = 100 }),
		     "python3 4711: 70 % waits for a lock released by a,b (4712, uid 4294900000) | 30 % sleeping\n");
	(void)account_make(&made, held, ARRAY_SIZE(held));
	CHECK_STR_EQ("who ends the wait", one_line(&plain),
		     "python3 4711: 70 % waits for a lock released by thread 4712 · 30 % sleeping\n");
	CHECK_STR_EQ("where there is room", one_line(&narrow), "python3 4711: 70 % waits for a lock · 30 % sleeping\n");
	(void)account_make(&made, hardly_attributed, ARRAY_SIZE(hardly_attributed));
	CHECK_STR_EQ("behind hardly anybody known", block(SIZE_MAX, &plain),
		     "python3 4711 · main thread · 10.0 s\n"
		     "   90 %  ▇▇▇▇▇▇▇     9.0s  ready, no CPU     most unknown; behind sh (8821) 1 %\n"
		     "   10 %  ▇           1.0s  cudaLaunchKernel  cpu\n");
	CHECK_STR_EQ("and in one line", one_line(&plain), "python3 4711: 90 % ready · 10 % cudaLaunchKernel\n");
	(void)account_make(&made, locked, ARRAY_SIZE(locked));
	CHECK_STR_EQ("whom it waits for is never cut", block(SIZE_MAX, &plain),
		     "python3 4711 · main thread · 10.0 s\n"
		     "   90 %  ▇▇▇▇▇▇▇     9.0s  waits for a file lock\n"
		     "                           /data/sets/2026/the.lock released by python3 (18249)\n"
		     "                           ← sleeps\n"
		     "   10 %  ▇           1.0s  cudaLaunchKernel       cpu\n");
	CHECK_STR_EQ("nor in a narrow line", block(SIZE_MAX, &narrow),
		     "python3 4711 · main thread · 10.0 s\n"
		     "   90 %     9.0s  waits for a file lock\n"
		     "                  /data/sets/2026/the.lock released by\n"
		     "                  python3 (18249) ← sleeps\n"
		     "   10 %     1.0s  cudaLaunchKernel       cpu\n");
	(void)account_make(&made, small_parts, ARRAY_SIZE(small_parts));
	CHECK_STR_EQ("causes of the rest are cut between them alone", block(2, &narrow),
		     "python3 4711 · main thread · 10.0 s\n"
		     "   90 %     9.0s  cudaLaunchKernel  cpu\n"
		     "   10 %     1.0s  other             ready 60 %, blocked 40 %\n");
	(void)account_make(&made, short_waits, ARRAY_SIZE(short_waits));
	CHECK_STR_EQ("most has no name", block(SIZE_MAX, &plain),
		     "python3 4711 · main thread · 10.0 s\n"
		     "   54 %  ▇▇▇▇        5.4s  waits for a disk  most in waits shorter than 1 ms;\n"
		     "                                             /data/sets/2026/data.bin (vda) <1 %\n"
		     "   46 %  ▇▇▇▇        4.6s  Python on the CPU\n");
	(void)account_make(&made, account_starved, ARRAY_SIZE(account_starved));
	CHECK_STR_EQ("one line", one_line(&plain),
		     "python3 4711: 60 % waits for a pipe · 19 % cudaStreamSync · 14 % Python\n");
	CHECK_STR_EQ("one narrow line", one_line(&narrow),
		     "python3 4711: 60 % waits for a pipe · 19 % cudaStreamSync\n");
}

/* One part each, and how its line reads. */
static const struct {
	struct part_row row;
	const char *script;
	const char *process;
	const char *text;
} lines[] = {
	{ .row = { .where = "between", .class = "on_cpu", .ns = 1, .kind = "gc", .name = "" },
	  .text = "garbage collection: " },
	{ .row = { .where = "between",
		   .class = "lock",
		   .ns = 1,
		   .kind = "gil",
		   .name = "",
		   .by_pid = 4711,
		   .by_tid = 4712,
		   .by_uid = 1000,
		   .by = "python3" },
	  .text = "waits for the GIL: held by thread 4712" },
	{ .row = { .where = "between",
		   .class = "lock",
		   .ns = 1,
		   .kind = "futex",
		   .name = "0x10",
		   .by_pid = 4711,
		   .by_tid = 4712,
		   .by_uid = 1000,
		   .by = "python3" },
	  .text = "waits for a lock: released by thread 4712" },
	{ .row = { .where = "between", .class = "lock", .ns = 1 }, .text = "waits for a lock: " },
	{ .row = { .where = "between",
		   .class = "lock",
		   .ns = 1,
		   .kind = "file_lock",
		   .name = "/cache/a.lock",
		   .by_pid = 4720,
		   .by_tid = 4720,
		   .by_uid = 1000,
		   .by = "python" },
	  .text = "waits for a file lock: /cache/a.lock released by python (4720)" },
	{ .row = { .where = "between", .class = "lock", .ns = 1, .kind = "file_lock", .name = "/cache/a.lock" },
	  .text = "waits for a file lock: /cache/a.lock" },
#define FROM_PYTHON                                                                                                    \
	.where = "between", .class = "other", .ns = 100, .kind = "pipe", .name = "", .by_pid = 4720, .by_tid = 4720,   \
	.by_uid = 1000, .by = "python"
#define FROM_THREAD                                                                                                    \
	.where = "between", .class = "lock", .ns = 100, .kind = "futex", .name = "0x10", .by_pid = 4711,               \
	.by_tid = 4712, .by_uid = 1000, .by = "python3"
	{ .row = { FROM_PYTHON, .chain = { { "block_io", 71, "inode", "train.bin", 4720, 4720 } } },
	  .text = "waits for a pipe: from python (4720) ← reads train.bin 71 %" },
	{ .row = { FROM_PYTHON, .chain = { { "block_io", 71, "inode", "", 4720, 4720 } } },
	  .text = "waits for a pipe: from python (4720) ← reads files 71 %" },
	{ .row = { FROM_PYTHON,
		   .chain = { { "block_io", 71, "inode", "/data/sets/of/this/year/and/of/all/years/before/train.bin",
				4720, 4720 } } },
	  .text = "waits for a pipe: from python (4720) ← reads .../this/year/and/of/all/years/before/train.bin 71 %" },
	{ .row = { FROM_PYTHON, .chain = { { "lock", 71, "file_lock", "/cache/a.lock", 4720, 4720 } } },
	  .text = "waits for a pipe: from python (4720) ← waits for the lock of /cache/a.lock 71 %" },
	{ .row = { FROM_PYTHON, .chain = { { "other", 71, "full_pipe", "", 4720, 4720 } } },
	  .text = "waits for a pipe: from python (4720) ← waits for room in a pipe 71 %" },
	{ .row = { FROM_PYTHON, .chain = { { "other", 71, "stopped", "signal", 4720, 4720 } } },
	  .text = "waits for a pipe: from python (4720) ← stopped 71 %" },
	{ .row = { FROM_PYTHON, .chain = { { "memory", 71, "device", "sda", 4720, 4720 } } },
	  .text = "waits for a pipe: from python (4720) ← waits for the disk sda 71 %" },
	{ .row = { FROM_PYTHON, .chain = { { "device", 71, "device", "nvidia0", 4720, 4720 } } },
	  .text = "waits for a pipe: from python (4720) ← waits in the GPU driver 71 %" },
	{ .row = { FROM_PYTHON, .chain = { { "on_cpu", 99, NULL, NULL, 4720, 4720 } } },
	  .text = "waits for a pipe: from python (4720) ← computes" },
	{ .row = { FROM_PYTHON, .chain = { { "block_io", 9, NULL, NULL, 4720, 4720 } } },
	  .text = "waits for a pipe: from python (4720)" },
	/* A thread of the worker writes what its main thread has read. */
	{ .row = { FROM_PYTHON, .chain = { { "lock", 90, "futex", "0x10", 4720, 4725 },
					   { "block_io", 70, "inode", "train.bin", 4720, 4720 } } },
	  .text = "waits for a pipe: from python (4720) ← reads train.bin 70 %" },
	{ .row = { FROM_THREAD, .chain = { { "other", 98, "pipe", "", 4711, 4712 },
					   { "lock", 97, "futex", "0x10", 4720, 4725 },
					   { "sleep", 97, NULL, NULL, 4720, 4720 } } },
	  .text = "waits for a lock: released by thread 4712 ← python (4720) ← sleeps" },
	{ .row = { FROM_PYTHON,
		   .chain = { { "other", 60, "pipe", "", 4720, 4720 }, { NULL, 0, NULL, NULL, 4730, 4730 } } },
	  .text = "waits for a pipe: from python (4720) ← python (4730) 60 %" },
	{ .row = { FROM_PYTHON, .chain = { { "network", 60, "peer", "", 4720, 4720 }, { NULL, 0, NULL, NULL, 0, 1 } } },
	  .text = "waits for a pipe: from python (4720) ← another user's process 60 %" },
	{ .row = { .where = "between", .class = "block_io", .ns = 1, .kind = "inode", .name = "data_0.bin" },
	  .text = "waits for a disk: data_0.bin" },
	{ .row = { FROM_PYTHON, .line = 42, .chain = { { "on_cpu", 99, NULL, NULL, 4720, 4720 } } },
	  .text = "waits for a pipe: from python (4720) ← computes, at train.py:42 in load" },
	{ .row = { .where = "between", .class = "lock", .ns = 1, .kind = "gil", .name = "", .line = 42 },
	  .text = "waits for the GIL: at train.py:42 in load" },
	{ .row = { .where = "between", .class = "sleep", .ns = 1, .line = 42 },
	  .text = "sleeping: the program asked to, at train.py:42 in load" },
	{ .row = { .where = "between", .class = "block_io", .ns = 1, .kind = "device", .name = "8:1" },
	  .text = "waits for a disk: 8:1" },
	{ .row = { .where = "between", .class = "block_io", .ns = 1, .kind = "device", .name = "sda", .device = "sda" },
	  .text = "waits for a disk: sda" },
	{ .row = { .where = "between", .class = "device", .ns = 1, .kind = "device", .name = "nvidia0" },
	  .text = "waits in the GPU driver: nvidia0" },
	{ .row = { .where = "between", .class = "memory", .ns = 1, .kind = "device", .name = "sda", .device = "sda" },
	  .text = "waits for memory: sda" },
	{ .row = { .where = "between", .class = "other", .ns = 1, .kind = "inode", .name = "log" },
	  .text = "waits for a file: log" },
	{ .row = { .where = "between",
		   .class = "block_io",
		   .ns = 1,
		   .kind = "written",
		   .name = "/out/a.pt",
		   .device = "sda" },
	  .text = "waits for a file to be written: /out/a.pt (sda)" },
	{ .row = { .where = "between", .class = "other", .ns = 1, .kind = "written", .name = "/out/a.pt" },
	  .text = "waits for a file to be written: /out/a.pt" },
	{ .row = { .where = "between", .class = "memory", .ns = 1, .kind = "written", .name = "/out/a.pt" },
	  .text = "waits for memory: /out/a.pt" },
	{ .row = { .where = "between", .class = "memory", .ns = 1, .kind = "inode", .name = "data.mmap" },
	  .text = "waits for memory: data.mmap" },
	{ .row = { .where = "between",
		   .class = "block_io",
		   .ns = 1,
		   .kind = "inode",
		   .name = "/data/train.bin",
		   .device = "sda" },
	  .text = "waits for a disk: /data/train.bin (sda)" },
	{ .row = { .where = "between",
		   .class = "block_io",
		   .ns = 1,
		   .kind = "inode",
		   .name = "/a/path/with/more/components/than/there/is/room/for/in/a/line/of/the/screen/train.bin" },
	  .text = "waits for a disk: .../than/there/is/room/for/in/a/line/of/the/screen/train.bin" },
	/* They go on: nobody ended them. */
	{ .row = { .where = "between", .class = "other", .ns = 1, .kind = "pipe", .name = "pipe:[4026]" },
	  .text = "waits for a pipe: from pipe:[4026]" },
	{ .row = { .where = "between", .class = "network", .ns = 1, .kind = "peer", .name = "127.0.0.1:80" },
	  .text = "waits for a socket: from 127.0.0.1:80" },
	{ .row = { .where = "between", .class = "other", .ns = 1, .kind = "child", .name = "4720" },
	  .text = "waits for a child process: 4720" },
	{ .row = { .where = "between", .class = "network", .ns = 1 }, .text = "waits for a socket: " },
	{ .row = { .where = "between",
		   .class = "network",
		   .ns = 1,
		   .kind = "peer",
		   .name = "",
		   .by_pid = 5,
		   .by_tid = 5,
		   .by_uid = 1000,
		   .by = "redis" },
	  .text = "waits for a socket: from redis (5)" },
	{ .row = { .where = "between",
		   .class = "other",
		   .ns = 1,
		   .kind = "child",
		   .name = "",
		   .by_pid = 9,
		   .by_tid = 9,
		   .by_uid = 1000,
		   .by = "git" },
	  .text = "waits for a child process: git" },
	{ .row = { .where = "between", .class = "other", .ns = 1 }, .text = "blocked, reason unknown: " },
	{ .row = { .where = "between",
		   .class = "other",
		   .ns = 1,
		   .by_pid = 4720,
		   .by_tid = 4722,
		   .by_uid = 1000,
		   .by = "pt_data_worker" },
	  .text = "waits to be woken: by pt_data_worker (4720)" },
	{ .row = { .where = "between",
		   .class = "other",
		   .ns = 1,
		   .by_pid = 4711,
		   .by_tid = 4712,
		   .by_uid = 1000,
		   .by = "python3" },
	  .text = "waits to be woken: by thread 4712" },
#define BY_TEE .by_pid = 9, .by_tid = 9, .by_uid = 1000, .by = "tee"
	{ .row = { .where = "between", .class = "other", .ns = 1, .kind = "full_pipe", .name = "pipe:[4026]", BY_TEE },
	  .text = "waits for room in a pipe: read by tee (9)" },
	{ .row = { .where = "between", .class = "other", .ns = 1, .kind = "full_pipe", .name = "pipe:[4026]" },
	  .text = "waits for room in a pipe: pipe:[4026]" },
	{ .row = { .where = "between", .class = "network", .ns = 1, .kind = "full_peer", .name = "", BY_TEE },
	  .text = "waits for room in a socket: read by tee (9)" },
	{ .row = { .where = "between", .class = "other", .ns = 1, .kind = "stopped", .name = "signal", BY_TEE },
	  .text = "stopped by a signal: continued by tee (9)" },
	{ .row = { .where = "between", .class = "other", .ns = 1, .kind = "stopped", .name = "freezer" },
	  .text = "frozen by its cgroup: " },
	{ .row = { .where = "between", .class = "other", .ns = 1, .kind = "stopped", .name = "debugger", BY_TEE },
	  .text = "stopped by a debugger: continued by tee (9)" },
	{ .row = { .where = "between", .class = "other", .ns = 1, .kind = "stopped", .name = "ingero" },
	  .text = "stopped by Ingero: " },
	{ .row = { .where = "between", .class = "other", .ns = 1, .kind = "stopped", .name = "" },
	  .text = "stopped: " },
	{ .row = { .where = "in", .class = "other", .ns = 1, .kind = "stopped", .name = "signal" },
	  .text = "other calls: stopped by a signal" },
	{ .row = { .where = "between", .class = "sleep", .ns = 1 }, .text = "sleeping: the program asked to" },
	{ .row = { .where = "between", .class = "device", .ns = 1 }, .text = "waits in the GPU driver: " },
	{ .row = { .where = "between", .class = "quota", .ns = 1, .kind = "cgroup", .name = "7" },
	  .text = "out of CPU quota: " },
	{ .row = { .where = "in", .class = "quota", .op = "cudaMemcpy", .ns = 1 }, .text = "out of CPU quota: " },
	{ .row = { .where = "between", .class = "on_cpu", .ns = 1 }, .text = "Python on the CPU: " },
	{ .row = { .where = "between", .class = "on_cpu", .ns = 1 },
	  .process = "train",
	  .text = "on the CPU between calls: " },
	{ .row = { .where = "between", .class = "on_cpu", .ns = 1 },
	  .process = "pt_main_thread",
	  .script = "train.py",
	  .text = "Python on the CPU: " },
	{ .row = { .where = "in", .class = "lock", .ns = 1 }, .text = "other calls: lock" },
	{ .row = { .where = "not_known", .class = "other", .ns = 1 }, .text = "not known: " },
	{ .row = { .where = "between",
		   .class = "runnable",
		   .ns = 1,
		   .by_pid = 8821,
		   .by_tid = 0,
		   .by_uid = 4294900000u,
		   .by = "ffmpeg" },
	  .text = "ready, no CPU: behind ffmpeg (8821, uid 4294900000)" },
	{ .row = { .where = "between",
		   .class = "runnable",
		   .ns = 1,
		   .by_pid = 0,
		   .by_tid = 0,
		   .by_uid = 4294900000u,
		   .by = "" },
	  .text = "ready, no CPU: behind a process of uid 4294900000" },
	{ .row = { .where = "between",
		   .class = "runnable",
		   .ns = 1,
		   .by_pid = 4711,
		   .by_tid = 0,
		   .by_uid = 1000,
		   .by = "python3" },
	  .text = "ready, no CPU: behind its own threads" },
	{ .row = { .where = "between", .class = "a class of later", .ns = 1 }, .text = "blocked, reason unknown: " },
};

static void words(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		CLEANUP(account_view_done) struct account_view view = ACCOUNT_VIEW_INIT;
		Ingero__V1__Program program = INGERO__V1__PROGRAM__INIT;
		const struct account_line *line;
		char text[512] = "";

		(void)account_make(&made, &lines[i].row, 1);
		program.script = figures_text(lines[i].script);
		if (lines[i].process)
			made.account.process_name = figures_text(lines[i].process);
		if (lines[i].script)
			made.account.program = &program;
		CHECK_INT_EQ(lines[i].text, account_view_build(&made.account, ACCOUNT_LINES_MOST, &view), 0);
		line = view.lines.items;
		if (view.lines.n == 1)
			(void)snprintf(text, sizeof(text), "%s: %s%s%s", line->label, line->detail,
				       line->detail[0] && line->from[0] ? ", " : "", line->from);
		CHECK_STR_EQ(lines[i].text, text, lines[i].text);
	}
}

/* Whatever the parts are: lines of the view, percents and nanoseconds. */
static const struct {
	const char *name;
	uint64_t ns[7];
	unsigned int percents[5];
} sums[] = {
	{ "nothing", { 0 }, { 0 } },
	{ "one", { 7 }, { 100 } },
	{ "thirds", { 1, 1, 1 }, { 34, 33, 33 } },
	{ "remainders", { 335, 333, 332 }, { 34, 33, 33 } },
	{ "large", { UINT64_MAX / 4, UINT64_MAX / 4, UINT64_MAX / 2 }, { 50, 25, 25 } },
	{ "little", { 999999, 1 }, { 100, 0 } },
	{ "a small part is no percent", { 657, 255, 81, 3, 4 }, { 66, 26, 8, 0, 0 } },
	{ "only small parts", { 995, 3, 2 }, { 100, 0, 0 } },
	{ "six", { 30, 25, 20, 15, 6, 4 }, { 30, 25, 20, 15, 10 } },
	{ "seven", { 1, 1, 1, 1, 1, 1, 1 }, { 15, 14, 14, 14, 43 } },
};

static void percents(void)
{
	static const char *const ops[] = { "a", "b", "c", "d", "e", "f", "g" };

	for (size_t c = 0; c < ARRAY_SIZE(sums); c++) {
		CLEANUP(account_view_done) struct account_view view = ACCOUNT_VIEW_INIT;
		struct part_row rows[ARRAY_SIZE(ops)] = { 0 };
		unsigned int sum = 0;
		uint64_t sum_ns = 0;

		for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
			rows[i] = (struct part_row){
				.where = "in", .class = "on_cpu", .op = ops[i], .ns = sums[c].ns[i]
			};
		(void)account_make(&made, rows, ARRAY_SIZE(rows));
		CHECK_INT_EQ(sums[c].name, account_view_build(&made.account, ACCOUNT_LINES_MOST, &view), 0);
		for (size_t i = 0; i < view.lines.n; i++) {
			sum += view.lines.items[i].percent;
			sum_ns += view.lines.items[i].ns;
			if (i < ARRAY_SIZE(sums[c].percents))
				CHECK_INT_EQ(sums[c].name, view.lines.items[i].percent, sums[c].percents[i]);
		}
		CHECK_INT_EQ(sums[c].name, sum, view.lines.n ? 100 : 0);
		CHECK_INT_EQ(sums[c].name, sum_ns, made.account.wall_ns);
		CHECK_INT_IN(sums[c].name, view.lines.n, 0, ACCOUNT_LINES_MOST);
	}
}

static void titles(void)
{
	(void)account_make(&made, account_starved, ARRAY_SIZE(account_starved));
	made.account.tid = 4712;
	CHECK_STR_EQ("thread", account_title(&made.account).text, "python3 4711 · thread 4712 · 1 min 0 s");
	made.account.tid = 0;
	CHECK_STR_EQ("several", account_title(&made.account).text, "python3 4711 · several threads · 1 min 0 s");
}

/* Of each process the first thread that drives. */
static void processes(void)
{
	static struct account_made threads[4];
	Ingero__V1__Account *list[ARRAY_SIZE(threads)];
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		list[i] = account_make(&threads[i], account_starved, ARRAY_SIZE(account_starved));
		list[i]->pid = (uint32_t)(4711 + i / 2);
		list[i]->tid = (uint32_t)(4711 + i);
	}
	list[3]->is_driving = 0;
	CHECK_INT_EQ("one", account_append_processes(list, 2, 3, &plain, &out), 0);
	CHECK_STR_EQ("one", buf_text(&out), "60 % waits for a pipe · 19 % cudaStreamSync · 14 % Python\n");
	buf_consume(&out, out.n);
	CHECK_INT_EQ("two", account_append_processes(list, 4, 2, &plain, &out), 0);
	CHECK_STR_EQ("two", buf_text(&out),
		     "python3 4711: 60 % waits for a pipe · 19 % cudaStreamSync · 14 % Python\n"
		     "python3 4712: 60 % waits for a pipe · 19 % cudaStreamSync · 14 % Python\n");
	buf_consume(&out, out.n);
	list[1]->pid = 4713;
	CHECK_INT_EQ("more than there is room for", account_append_processes(list, 4, 2, &plain, &out), 0);
	CHECK_STR_EQ("more than there is room for", buf_text(&out),
		     "python3 4711: 60 % waits for a pipe · 19 % cudaStreamSync · 14 % Python\n"
		     "and 2 more processes\n");
}

/* Waits between calls that took most of the time. */
static void long_waits(void)
{
#define JUDGED "; waits between calls are judged from 5 s after the first call on."
	static const struct {
		struct part_row rows[2];
		bool is_other; /* it makes few calls */
		const char *text;
	} accounts[] = {
		{ { { .where = "between",
		      .class = "network",
		      .ns = 95,
		      .kind = "pipe",
		      .name = "",
		      .by_pid = 1565,
		      .by_tid = 1565,
		      .by_uid = 1000,
		      .by = "python3" },
		    { .where = "between", .class = "on_cpu", .ns = 5 } },
		  false,
		  "95 % of the time python3 4711 waited for a pipe from python3 (1565)" JUDGED },
		{ { { .where = "between",
		      .class = "block_io",
		      .ns = 60,
		      .kind = "inode",
		      .name = "/data/train.bin",
		      .device = "sda" },
		    { .where = "between", .class = "on_cpu", .ns = 40 } },
		  false,
		  "60 % of the time python3 4711 waited for a disk: /data/train.bin (sda)" JUDGED },
		{ { { .where = "between",
		      .class = "other",
		      .ns = 66,
		      .kind = "stopped",
		      .name = "signal",
		      .by_pid = 22919,
		      .by_tid = 22919,
		      .by_uid = 1000,
		      .by = "python3" },
		    { .where = "between", .class = "on_cpu", .ns = 34 } },
		  false,
		  "66 % of the time python3 4711 was stopped by a signal, continued by python3 (22919)" JUDGED },
		{ { { .where = "between", .class = "block_io", .ns = 53 },
		    { .where = "between",
		      .class = "block_io",
		      .ns = 1,
		      .kind = "inode",
		      .name = "/data/train.bin",
		      .device = "sda" } },
		  false,
		  "100 % of the time python3 4711 waited for a disk: most in waits shorter than 1 ms; "
		  "/data/train.bin (sda) 2 %" JUDGED },
		{ { { .where = "between", .class = "lock", .ns = 98 },
		    { .where = "between",
		      .class = "lock",
		      .ns = 2,
		      .kind = "futex",
		      .name = "0x10",
		      .by_pid = 4711,
		      .by_tid = 4712,
		      .by_uid = 1000,
		      .by = "python3" } },
		  false,
		  "100 % of the time python3 4711 waited for a lock: most in waits shorter than 1 ms; released by "
		  "thread "
		  "4712 2 %" JUDGED },
		{ { { .where = "between", .class = "block_io", .ns = 98, .kind = "inode", .name = "" },
		    { .where = "between", .class = "block_io", .ns = 2, .kind = "inode", .name = "/data/1.jpg" } },
		  false,
		  "100 % of the time python3 4711 waited for a disk: most in others; /data/1.jpg 2 %" JUDGED },
		{ { { .where = "between", .class = "other", .ns = 10 },
		    { .where = "between", .class = "on_cpu", .ns = 90 } },
		  false,
		  "10 % of the time python3 4711 was blocked, reason unknown" JUDGED },
		{ { { .where = "between",
		      .class = "other",
		      .ns = 57,
		      .by_pid = 648,
		      .by_tid = 650,
		      .by_uid = 1000,
		      .by = "pt_data_worker" },
		    { .where = "between", .class = "on_cpu", .ns = 43 } },
		  false,
		  "57 % of the time python3 4711 waited to be woken by pt_data_worker (648)" JUDGED },
		{ { { .where = "between", .class = "other", .ns = 10 },
		    { .where = "between", .class = "on_cpu", .ns = 90 } },
		  true,
		  "" },
		{ { { .where = "between", .class = "other", .ns = 9 },
		    { .where = "between", .class = "on_cpu", .ns = 91 } },
		  false,
		  "" },
		{ { { .where = "between", .class = "sleep", .ns = 95 },
		    { .where = "between", .class = "on_cpu", .ns = 5 } },
		  false,
		  "95 % of the time python3 4711 was sleeping: the program asked to." },
		{ { { .where = "between", .class = "sleep", .ns = 49 },
		    { .where = "between", .class = "on_cpu", .ns = 51 } },
		  false,
		  "" },
		{ { { .where = "between", .class = "sleep", .ns = 60 },
		    { .where = "between", .class = "other", .ns = 40 } },
		  true,
		  "" },
		{ { { .where = "in", .class = "lock", .op = "cudaMalloc", .ns = 95 },
		    { .where = "between", .class = "on_cpu", .ns = 5 } },
		  false,
		  "" },
	};
#undef JUDGED

	for (size_t i = 0; i < ARRAY_SIZE(accounts); i++) {
		Ingero__V1__Account *account = account_make(&made, accounts[i].rows, 2);
		CLEANUP(buf_done) struct buf text = BUF_INIT;

		account->is_driving = !accounts[i].is_other;
		CHECK_INT_EQ(accounts[i].text, account_append_waits(&account, 1, &text), 0);
		CHECK_STR_EQ(accounts[i].text, buf_text(&text), accounts[i].text);
	}
}

/* The wait that the thread is in, and how its line reads. */
static const struct {
	struct part_row row; /* .ns 0: of 14.2 s */
	const char *text;
} waits[] = {
#define WAITS(c, k, n) .where = "between", .class = (c), .kind = (k), .name = (n)
	{ { WAITS("other", "pipe", "pipe:[4026]") }, "waits 14.2 s so far for a pipe: pipe:[4026]" },
	{ { WAITS("other", "pipe", "pipe:[4026]"), .by_pid = 4720, .by_tid = 4720, .by_uid = 1000, .by = "loader" },
	  "waits 14.2 s so far for a pipe from loader (4720): pipe:[4026]" },
	{ { WAITS("network", "peer", "127.0.0.1:80"), .by_pid = 0, .by_tid = 0, .by_uid = 4294900000u, .by = "" },
	  "waits 14.2 s so far for a socket from a process of uid 4294900000: 127.0.0.1:80" },
	{ { WAITS("other", "child", "4720") }, "waits 14.2 s so far for a child process: 4720" },
	{ { WAITS("lock", "gil", "0x10") }, "waits 14.2 s so far for the GIL" },
	{ { WAITS("lock", "futex", "0x10") }, "waits 14.2 s so far for a lock: 0x10" },
	{ { WAITS("block_io", "inode", "/data/train.bin"), .device = "sda" },
	  "waits 14.2 s so far for a disk: /data/train.bin (sda)" },
	{ { WAITS("other", "full_pipe", "pipe:[4026]") }, "waits 14.2 s so far for room in a pipe: pipe:[4026]" },
	{ { WAITS("other", "full_pipe", "pipe:[4026]"), .by_pid = 4720, .by_tid = 4720, .by_uid = 1000, .by = "tee" },
	  "waits 14.2 s so far for room in a pipe read by tee (4720): pipe:[4026]" },
	{ { WAITS("other", "stopped", "signal") }, "stopped by a signal for 14.2 s so far" },
	{ { WAITS("sleep", NULL, NULL) }, "sleeping for 14.2 s so far" },
	{ { WAITS("other", NULL, NULL) }, "blocked for 14.2 s so far" },
	{ { WAITS("device", NULL, NULL) }, "waits 14.2 s so far in the GPU driver" },
#undef WAITS
	/* A call in progress has a line of its own. */
	{ { .where = "in", .class = "device", .op = "cudaFree" }, "" },
};

static void waiting(void)
{
	static struct account_made threads[3];
	Ingero__V1__Account *list[ARRAY_SIZE(threads)];
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		struct part_row row = waits[i].row;

		row.ns = 14200 * MS;
		(void)account_make(&made, account_starved, ARRAY_SIZE(account_starved));
		CHECK_STR_EQ(waits[i].text, account_waiting_of(&made.account).text, "");
		account_make_waiting(&made, &row);
		CHECK_STR_EQ(waits[i].text, account_waiting_of(&made.account).text, waits[i].text);
	}

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		list[i] = account_make(&threads[i], account_starved, ARRAY_SIZE(account_starved));
		list[i]->pid = list[i]->tid = (uint32_t)(4711 + i);
		account_make_waiting(&threads[i], &account_waits);
	}
	account_append_waiting(list, 1, S, 3, &plain, &out);
	CHECK_STR_EQ("one process", buf_text(&out),
		     "between calls: waits 14.2 s so far for a pipe from loader (4720): pipe:[4026]\n");
	buf_consume(&out, out.n);
	list[1]->waiting->ns = S - 1;
	account_append_waiting(list, 3, S, 3, &plain, &out);
	CHECK_STR_EQ("each process, long waits alone", buf_text(&out),
		     "python3 4711, between calls: waits 14.2 s so far for a pipe from loader (4720):…\n"
		     "python3 4713, between calls: waits 14.2 s so far for a pipe from loader (4720):…\n");
	buf_consume(&out, out.n);
	list[1]->waiting->ns = S;
	account_append_waiting(list, 3, S, 1, &plain, &out);
	CHECK_STR_EQ("few lines", buf_text(&out),
		     "python3 4711, between calls: waits 14.2 s so far for a pipe from loader (4720):…\n");
}

static void no_wider(void)
{
	(void)account_make(&made, account_starved, ARRAY_SIZE(account_starved));
	for (unsigned int columns = 1; columns <= 120; columns++) {
		const struct text_style style = { .is_utf8 = true, .columns = columns };
		const char *texts[] = { block(SIZE_MAX, &style), one_line(&style) };

		for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
			for (const char *line = texts[i]; *line; line += strcspn(line, "\n") + 1) {
				char copy[512];

				(void)snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(line, "\n"), line);
				CHECK_INT_IN("columns", text_columns(copy), 0, columns);
			}
	}
}

int main(void)
{
	starved();
	words();
	percents();
	titles();
	processes();
	long_waits();
	waiting();
	no_wider();
	return check_result();
}
