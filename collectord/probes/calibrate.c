// SPDX-License-Identifier: Apache-2.0
#include "probes/calibrate.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

/* 2 000 calls of 1 us each keep the start short and the median within 10 ns (capture-core.md). */
#define CALLS 2000
#define CALLS_STEPPED 200 /* single-stepped calls cost ten times as much */
#define CHUNKS 40	  /* intervals that are timed: so many that few of them are interrupted */

/*
 * A program that works between its calls evicts the kernel's code and data from the caches: the same call costs half as
 * much again. 4 MiB are more than the second-level cache of one CPU; 60 calls take 30 ms.
 */
#define COLD_CALLS 60
#define COLD_BYTES (4u << 20)
#define COLD_LINE 64
/* Real programs paid up to 1.2 times the cost of such a call (PyTorch 2). */
#define COLD_MOST_PERCENT 120

/* Function heads as in the real libraries (place.h); the probe is placed on the marked instruction. */
#if defined(__x86_64__)
#define JUMP_DELTA 10 /* behind `cmpl imm32, disp32(%rip)` */
__asm__(".pushsection .text\n"
	".p2align 4\n"
	".globl calibrate_plain, calibrate_jump, calibrate_stepped, calibrate_outer\n"
	".hidden calibrate_plain, calibrate_jump, calibrate_stepped, calibrate_outer\n"
	"calibrate_plain: .cfi_startproc\n"
	"	push %rbp\n" /* probe */
	"	xor %eax, %eax\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".p2align 4\n"
	"calibrate_jump: .cfi_startproc\n"
	"	.byte 0x81, 0x3d\n" /* cmpl $-1, disp32(%rip), always in the long form */
	"	.long calibrate_word - . - 8, 0xffffffff\n"
	"	je 1f\n" /* probe */
	"	xor %eax, %eax\n"
	"1:	ret\n"
	"	.cfi_endproc\n"
	".p2align 4\n"
	"calibrate_stepped: .cfi_startproc\n"
	"	sub $8, %rsp\n" /* probe */
	"	xor %eax, %eax\n"
	"	add $8, %rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".p2align 4\n"
	"calibrate_outer: .cfi_startproc\n"
	"	push %rbp\n" /* probe */
	"	call calibrate_plain\n"
	"	xor %eax, %eax\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"calibrate_word: .long 0\n"
	".popsection\n");
#elif defined(__aarch64__)
#define JUMP_DELTA 4 /* behind `cmp` */
__asm__(".pushsection .text\n"
	".p2align 4\n"
	".globl calibrate_plain, calibrate_jump, calibrate_stepped, calibrate_outer\n"
	".hidden calibrate_plain, calibrate_jump, calibrate_stepped, calibrate_outer\n"
	"calibrate_plain: nop\n"
	"	mov w0, #0\n"
	"	ret\n"
	"calibrate_jump: cmp w0, w0\n"
	"	b.ne 1f\n"
	"	mov w0, #0\n"
	"1:	ret\n"
	"calibrate_stepped: mov w0, #0\n"
	"	ret\n"
	"calibrate_outer: nop\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	bl calibrate_plain\n"
	"	ldp x29, x30, [sp], #16\n"
	"	mov w0, #0\n"
	"	ret\n"
	".popsection\n");
#else
#error "calibration functions for this machine are not written yet"
#endif

int calibrate_plain(void);
int calibrate_jump(void);
int calibrate_stepped(void);
int calibrate_outer(void);

#define ROW(op) (CALIBRATE_OP_##op - CALIBRATE_OP_PLAIN)

static const struct calibrate_row {
	int (*call)(void);
	uint32_t delta;
	enum call_head head;
	unsigned int n_calls;
} rows[CALIBRATE_SITES] = {
	[ROW(PLAIN)] = { calibrate_plain, 0, CALL_HEAD_PLAIN, CALLS },
	[ROW(JUMP)] = { calibrate_jump, JUMP_DELTA, CALL_HEAD_JUMP, CALLS },
	[ROW(STEPPED)] = { calibrate_stepped, 0, CALL_HEAD_STEPPED, CALLS_STEPPED },
	[ROW(OUTER)] = { calibrate_outer, 0, CALL_HEAD_PLAIN, CALLS },
};

/* Time of one untraced call, nanoseconds, as measured by calibrate_run_untraced(). */
static uint64_t untraced_ns;
/* Time of one untraced call after the caches were swept, and of reading the clock; 0: without memory */
static uint64_t untraced_cold_ns;
/* Time that tracing adds to one call, by its head, as measured by calibrate_run_traced(). */
static uint64_t added_ns[CALL_HEAD_COUNT];
/* What it adds beyond that after the caches were swept. */
static uint64_t cold_ns;

struct own_search {
	uintptr_t address;
	uint64_t offset;
};

/* Our own program headers, as the loader mapped them: no file is read. */
static int own_segment(struct dl_phdr_info *info, size_t size, void *data)
{
	struct own_search *search = data;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || search->address < begin || search->address >= begin + p->p_memsz)
			continue;
		search->offset = search->address - begin + p->p_offset;
		return info->dlpi_name && *info->dlpi_name ? 2 : 1;
	}
	return 0;
}

int calibrate_sites(struct probe_site ret_sites[CALIBRATE_SITES], int *ret_path_fd)
{
	struct probe_site sites[CALIBRATE_SITES];
	CLEANUP(closep) int fd = -1;
	size_t i;

	for (i = 0; i < CALIBRATE_SITES; i++) {
		struct own_search search = { .address = (uintptr_t)rows[i].call };

		if (dl_iterate_phdr(own_segment, &search) != 1)
			return -ENOENT; /* not in the executable itself */
		sites[i] = (struct probe_site){ .offset = search.offset + rows[i].delta,
						.cookie = COOKIE(CALIBRATE_OP_PLAIN + i, rows[i].head) };
	}
	fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	memcpy(ret_sites, sites, sizeof(sites));
	*ret_path_fd = TAKE_FD(fd);
	return 0;
}

static uint64_t calibrate_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

/* Median over chunks of the time of one call: an interrupt affects only its chunk. */
static uint64_t time_calls(int (*call)(void), unsigned int n_calls)
{
	uint64_t chunks[CHUNKS], begin;
	unsigned int i, k, n = n_calls / CHUNKS;

	for (i = 0; i < CHUNKS; i++) {
		begin = calibrate_now_ns();
		for (k = 0; k < n; k++)
			(void)call();
		chunks[i] = calibrate_now_ns() - begin;
	}
	qsort(chunks, CHUNKS, sizeof(chunks[0]), compare_u64);
	return chunks[CHUNKS / 2] / n;
}

/* Median time of one call after the caches were swept, and of reading the clock. Return: 0 without memory */
static uint64_t time_cold(int (*call)(void))
{
	CLEANUP(freep) volatile char *swept = malloc(COLD_BYTES);
	uint64_t times[COLD_CALLS], begin;

	if (!swept)
		return 0;
	for (unsigned int i = 0; i < COLD_CALLS; i++) {
		for (size_t k = 0; k < COLD_BYTES; k += COLD_LINE)
			swept[k] = (char)i;
		begin = calibrate_now_ns();
		(void)call();
		times[i] = calibrate_now_ns() - begin;
	}
	qsort(times, COLD_CALLS, sizeof(times[0]), compare_u64);
	return times[COLD_CALLS / 2];
}

/* Percentile of the durations, interpolated linearly inside its bucket. */
static uint64_t cell_quantile(const struct figure_cell *cell, unsigned int percent)
{
	uint64_t n = 0, seen = 0, want;
	unsigned int i;

	for (i = 0; i < HISTOGRAM_BUCKETS; i++)
		n += cell->buckets[i];
	want = (n * percent + 99) / 100;
	for (i = 0; i < HISTOGRAM_BUCKETS; i++) {
		unsigned int octave = i >> HISTOGRAM_SUB_BITS;
		uint64_t width = 1ull << (octave + HISTOGRAM_FIRST_OCTAVE - HISTOGRAM_SUB_BITS);
		uint64_t low =
			(1ull << (octave + HISTOGRAM_FIRST_OCTAVE)) + width * (i & ((1u << HISTOGRAM_SUB_BITS) - 1));

		if (cell->buckets[i] && seen + cell->buckets[i] >= want)
			return low + width * (want - seen) / cell->buckets[i];
		seen += cell->buckets[i];
	}
	return 0;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * An empty function like the others, but never probed. The others may still have probes of another daemon that runs the
 * same file, or of an ended one whose perf events the kernel has not closed yet.
 */
static __attribute__((noinline)) int calibrate_untouched(void)
{
	__asm__ volatile("" ::: "memory");
	return 0;
}

void calibrate_run_untraced(void)
{
	untraced_ns = time_calls(calibrate_untouched, CALLS);
	untraced_cold_ns = time_cold(calibrate_untouched);
}

int calibrate_run_traced(const struct figure_cell *(*cell_of)(unsigned int op, void *data), void *data,
			 struct calibrate_shares *ret_shares, struct probe_cost *ret_cost)
{
	struct calibrate_shares shares = {};
	struct probe_cost cost = {};
	const struct figure_cell *cell;
	uint64_t outside, outer;
	size_t i;

	/* Single calls first: the nested calls below use the cell of the plain one, too. */
	for (i = 0; i < CALIBRATE_SITES; i++) {
		uint64_t call_ns = time_calls(rows[i].call, rows[i].n_calls);

		cell = cell_of(CALIBRATE_OP_PLAIN + (unsigned int)i, data);
		if (!cell)
			return -ENODATA;
		if (CALIBRATE_OP_PLAIN + i == CALIBRATE_OP_OUTER)
			break;
		shares.share_ns[rows[i].head] = cell_quantile(cell, 50);
		added_ns[rows[i].head] = minus(call_ns, untraced_ns);
		if (rows[i].head == CALL_HEAD_PLAIN) {
			cost.per_call_ns = added_ns[CALL_HEAD_PLAIN];
			cost.share_ns = shares.share_ns[CALL_HEAD_PLAIN];
			cost.share_spread_ns = minus(cell_quantile(cell, 90), cell_quantile(cell, 10));
		}
	}
	/* All of these include the time of the empty function itself, 1 ns. */
	outer = cell_quantile(cell, 50);
	cost.nested_ns = minus(outer, shares.share_ns[CALL_HEAD_PLAIN]);
	outside = minus(cost.nested_ns, shares.share_ns[CALL_HEAD_PLAIN]);
	for (i = 0; i < CALL_HEAD_COUNT; i++)
		shares.nested_ns[i] = shares.share_ns[i] + outside;
	/* Last: these calls are in the cell of the plain ones, too. */
	cold_ns = minus(minus(time_cold(calibrate_plain), untraced_cold_ns), added_ns[CALL_HEAD_PLAIN]);
	*ret_shares = shares;
	*ret_cost = cost;
	return 0;
}

uint64_t calibrate_added_ns(enum call_head head)
{
	return added_ns[head];
}

uint64_t calibrate_added_most_ns(enum call_head head)
{
	return (added_ns[head] + cold_ns) * COLD_MOST_PERCENT / 100;
}

uint64_t calibrate_run_bystander(void)
{
	return minus(time_calls(calibrate_plain, CALLS), untraced_ns);
}
