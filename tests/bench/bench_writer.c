// SPDX-License-Identifier: Apache-2.0
/*
 * Cost of the store while it records: CPU time of the writing thread and of the loop, bytes written, the longest
 * commit. Events come at 926 a second of a simulated clock, with a commit for each 930 events, on a real disk.
 *
 *   bench_writer FILE [EVENTS [OPERATIONS]]   OPERATIONS of each process, default 30; 0: no figures
 *
 * Events are less compressible than real ones: 50 processes of 5 users, 254 threads, 30 operations in bursts;
 * durations, gaps and blame are random. Prints JSON.
 */
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "events/op.h"
#include "figures/tick.h"
#include "archive/write/store.h"

#define PROCESSES 50
#define USERS 5
#define PER_TICK 930
#define OPS 30 /* maximum */

struct load {
	uint64_t seed;
	uint64_t now_ns;
	uint64_t calls;
	uint32_t process; /* process of the present burst */
	uint32_t left;
	uint32_t n_ops;
	bool has_figures;
	struct process processes[PROCESSES];
	struct op_figures figures[PROCESSES][OPS];
};

static uint64_t random_u64(struct load *load)
{
	load->seed ^= load->seed << 13;
	load->seed ^= load->seed >> 7;
	load->seed ^= load->seed << 17;
	return load->seed;
}

/* Random number with a uniformly distributed number of bits, so that each power of two is equally frequent. */
static uint64_t random_scale(struct load *load, unsigned int low, unsigned int bits)
{
	unsigned int n = low + (unsigned int)(random_u64(load) % (bits - low));

	return (1ull << n) + random_u64(load) % (1ull << n);
}

static uint64_t load_now_ns(void *data)
{
	return ((struct load *)data)->now_ns;
}

static uint64_t load_to_unix_ns(uint64_t monotonic_ns, void *data)
{
	(void)data;
	return monotonic_ns + 1700000000ull * NSEC_PER_SEC;
}

static void call_make(struct load *load, struct call_record *call, uint32_t *ret_process)
{
	bool is_slow = random_u64(load) % 2;
	uint32_t parts = (uint32_t)(random_u64(load) % 2) + (is_slow ? 2 : 1);
	uint64_t left_ns;

	if (!load->left--) {
		load->process = (uint32_t)(random_u64(load) % PROCESSES * (random_u64(load) % PROCESSES) / PROCESSES);
		load->left = (uint32_t)(random_u64(load) % 40);
	}
	load->now_ns += random_u64(load) % (2 * NSEC_PER_SEC / 926);
	*ret_process = load->process;
	*call = (struct call_record){ .start_ns = load->now_ns,
				      .duration_ns = random_scale(load, is_slow ? 15 : 10, is_slow ? 28 : 18),
				      .args = { 256 * (1 + random_u64(load) % 200), random_u64(load) % 5 },
				      .tgid = load->processes[load->process].identity.tgid,
				      .uid = load->processes[load->process].identity.uid,
				      .ret = random_u64(load) % 100 ? 0 : 2,
				      .type = RECORD_CALL };
	call->tid = call->tgid + (uint32_t)(random_u64(load) % 5);
	call->op = (uint8_t)(1 + random_u64(load) % load->n_ops);
	call->reason = is_slow ? RECORD_REASON_SLOW : RECORD_REASON_SAMPLE;
	call->raw_ns = left_ns = call->duration_ns + 700 + call->op * 13 + 260 * (random_u64(load) % 4);
	while (--parts) {
		uint64_t ns = random_u64(load) % left_ns;

		call->blame_ns[1 + random_u64(load) % (BLAME_COUNT - 1)] += ns;
		left_ns -= ns;
	}
}

static void call_count(struct op_figures *f, const struct call_record *call)
{
	f->total_ns += call->duration_ns;
	f->raw_ns += call->raw_ns;
	f->max_ns = MAX(f->max_ns, call->duration_ns);
	for (int i = 1; i < BLAME_COUNT; i++)
		f->blame_ns[i] += call->blame_ns[i];
	if (histogram_add(&f->durations, histogram_bucket_of(call->duration_ns), 1) < 0)
		abort();
}

static void tick(struct load *load, struct store *store, uint64_t from_ns)
{
	struct tick t = { .from_ns = from_ns, .to_ns = load->now_ns, .measured = (1u << BLAME_COUNT) - 1 };

	for (uint32_t p = 0; p < PROCESSES; p++) {
		struct tick_process process = { .process = &load->processes[p], .first_call_ns = 1 };

		for (uint32_t o = 0; load->has_figures && o < OPS; o++) {
			struct tick_op op = { .op = op_get(1 + o), .figures = load->figures[p][o] };

			if (!op_figures_count(&op.figures))
				continue;
			load->figures[p][o] = (struct op_figures){ 0 };
			if (ARRAY_PUSH(&process.ops, op) < 0)
				abort();
		}
		if (process.ops.n && ARRAY_PUSH(&t.processes, process) < 0)
			abort();
	}
	store_tick(store, &t);
	tick_done(&t);
}

static double cpu_s(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Bytes written by this process, as counted by the kernel. */
static uint64_t written_bytes(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	unsigned long long bytes = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "write_bytes: %llu", &bytes);
	if (f)
		(void)fclose(f);
	return bytes;
}

int main(int argc, char **argv)
{
	struct load load = { .seed = 88172645463325252ull, .now_ns = 1000 * NSEC_PER_SEC };
	struct store_clock clock = { .now_ns = load_now_ns, .to_unix_ns = load_to_unix_ns, .data = &load };
	struct store_options options = { .path = argc > 1 ? argv[1] : "", .is_own_place = true, .clock = &clock };
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000, ticked_ns = load.now_ns,
		 written = written_bytes();
	double begin_s, worst_s = 0, loop_s = 0, all_s;
	struct store_state state;
	struct store *store;
	struct stat st = { 0 };
	char why[512];

	load.n_ops = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : OPS;
	load.has_figures = load.n_ops > 0;
	load.n_ops = MIN(MAX(load.n_ops, 1), OPS);
	for (uint32_t p = 0; p < PROCESSES; p++)
		load.processes[p].identity = (struct process_identity){
			.start_boot_ns = 1 + p, .tgid = 1000 + p * 10, .uid = 1000 + p % USERS, .comm = "python3"
		};
	if (store_open(&options, why, sizeof(why), &store) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	begin_s = cpu_s(CLOCK_MONOTONIC);
	for (uint64_t done = 0; done < n; done += PER_TICK) {
		double before_s, now_s;

		for (int i = 0; i < PER_TICK; i++) {
			struct call_record call;
			uint32_t process;
			struct event event = { .call = &call, .measured = (1u << BLAME_COUNT) - 1 };

			call_make(&load, &call, &process);
			event.process = &load.processes[process];
			event.op = op_get(call.op);
			call_count(&load.figures[process][call.op - 1], &call);
			before_s = cpu_s(CLOCK_THREAD_CPUTIME_ID);
			store_call(store, &event);
			loop_s += cpu_s(CLOCK_THREAD_CPUTIME_ID) - before_s;
		}
		before_s = cpu_s(CLOCK_THREAD_CPUTIME_ID);
		tick(&load, store, ticked_ns);
		loop_s += cpu_s(CLOCK_THREAD_CPUTIME_ID) - before_s;
		ticked_ns = load.now_ns;
		before_s = cpu_s(CLOCK_MONOTONIC);
		if (store_flush(store) < 0)
			return 1;
		now_s = cpu_s(CLOCK_MONOTONIC);
		worst_s = MAX(worst_s, now_s - before_s);
	}
	store_state(store, &state);
	all_s = cpu_s(CLOCK_MONOTONIC) - begin_s;
	store_close(store);
	(void)stat(options.path, &st);
	printf("{\"events\": %llu, \"writer_cpu_s_per_million\": %.3f, \"loop_cpu_s_per_million\": %.3f,"
	       " \"worst_commit_ms\": %.1f, \"wall_s\": %.1f, \"file_bytes_per_event\": %.2f,"
	       " \"written_bytes_per_event\": %.1f}\n",
	       (unsigned long long)state.events, (double)state.cpu_ns / 1e3 / (double)state.events,
	       loop_s * 1e6 / (double)state.events, worst_s * 1e3, all_s, (double)st.st_size / (double)state.events,
	       (double)(written_bytes() - written) / (double)state.events);
	return 0;
}
