// SPDX-License-Identifier: Apache-2.0
/*
 * The exchange of batches between the loop and the writing thread: the loop fills one batch while the thread writes
 * another. While the thread is late, the loop continues to fill its batch, up to INTAKE_BYTES_MAX.
 */
#include "archive/write/store.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/thread.h"
#include "clock.h"
#include "figures/tick.h"
#include "archive/write/intake.h"
#include "archive/write/writer.h"

#define LOG_TOPIC "store"

#define BATCH_EVENTS 10000	    /* a batch with so many events is handed over before the next tick */
#define IDLE_NS (10 * NSEC_PER_SEC) /* between commits without calls */
#define RETRY_NS NSEC_PER_SEC
#define SIZE_NS (10 * NSEC_PER_SEC) /* between two measurements of the file sizes: one takes a tenth of a commit */
/* Maximum wait of store_flush(): the caller's thread serves other clients, too. */
#define FLUSH_NS (3 * NSEC_PER_SEC)

struct store {
	struct store_options options; /* texts are owned */
	char *texts[5];
	struct store_clock clock;

	/* used by the loop */
	struct intake intake;
	uint64_t handed_ns; /* time of the last batch handed over */
	bool is_failing;    /* as last seen by the loop */

	/* shared by the loop and the thread, under the lock */
	pthread_mutex_t lock;
	pthread_cond_t work;  /* signals work for the thread */
	pthread_cond_t done;  /* signals a result for the waiting loop */
	struct batch *handed; /* handed over, not yet taken by the thread; NULL: none */
	bool is_busy;	      /* the thread writes a batch */
	bool is_open;	      /* the result of store_open() is available */
	bool is_stalled;      /* store_flush() gave up waiting for the current write */
	bool stops;	      /* a failed write is not retried */
	bool ends;	      /* no further batch is handed over */
	int result;	      /* result of opening, then of the last commit */
	struct store_state state;
	uint64_t n_stopped;    /* events of owners that are not stored (stopped.c) */
	uint32_t stack_losses; /* as in struct writer */

	/* used by the thread */
	pthread_t thread;
	struct writer writer;
	struct known known;	      /* loaded by writer_open(); then moved to intake */
	uint64_t sized_ns;	      /* when the files were last measured */
	uint64_t now_ns, now_unix_ns; /* time of store_open() */
	char why[WRITER_WHY_BYTES];
};

static uint64_t machine_now_ns(void *data)
{
	(void)data;
	return clock_now_ns();
}

static uint64_t machine_to_unix_ns(uint64_t monotonic_ns, void *data)
{
	(void)data;
	return clock_to_unix_ns(monotonic_ns);
}

static const struct store_clock machine_clock = { .now_ns = machine_now_ns, .to_unix_ns = machine_to_unix_ns };

static uint64_t thread_cpu_ns(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* cannot fail for this clock */
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void describe(struct store *store, int r, const char *what)
{
	if (r == -ENOSPC)
		(void)snprintf(store->state.problem, sizeof(store->state.problem),
			       "no space left for '%.120s': the oldest calls are deleted; new calls wait in memory, "
			       "then are lost",
			       store->options.path);
	else
		(void)snprintf(store->state.problem, sizeof(store->state.problem), "cannot %s '%.120s': %s", what,
			       store->options.path, r == -EBADMSG ? "the file is damaged" : strerror(-r));
}

/* Under the lock. */
static void state_fill(struct store *store, int r, uint64_t n_events)
{
	if (r < 0 && !store->state.is_failing)
		log_warning(r, "cannot write '%s': calls wait in memory, then are lost", store->options.path);
	if (r == 0 && store->state.is_failing)
		log_notice("'%s' can be written again", store->options.path);
	store->result = r;
	store->state.is_failing = r < 0;
	if (r < 0)
		describe(store, r, "write");
	else
		store->state.problem[0] = '\0';
	store->state.events += n_events;
	store->n_stopped = store->writer.n_stopped;
	store->stack_losses = store->writer.stack_losses;
	store->state.oldest_unix_ns = store->writer.oldest_unix_ns;
	store->state.cpu_ns = thread_cpu_ns();
	store->state.records_ns = store->writer.records_ns;
}

static struct timespec time_after(uint64_t ns)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
	t.tv_sec += (time_t)(ns / NSEC_PER_SEC);
	return t;
}

static void wait_for_retry(struct store *store)
{
	struct timespec until = time_after(RETRY_NS);

	while (!store->stops && pthread_cond_timedwait(&store->work, &store->lock, &until) == 0)
		;
}

/* Writes the handed-over batch, with retries until it is in the file. Under the lock, released while it writes. */
static void batch_write(struct store *store)
{
	uint64_t n_events = store->handed->n_events;
	struct batch *batch = TAKE_PTR(store->handed);
	bool is_last, is_again = false;
	int r;

	store->is_busy = true;
	(void)pthread_mutex_unlock(&store->lock);
	(void)writer_take(&store->writer, batch); /* data lost by a failure has a gap */
	(void)pthread_mutex_lock(&store->lock);
	for (;;) {
		is_last = store->stops;
		(void)pthread_mutex_unlock(&store->lock);
		r = writer_write(&store->writer);
		if (r == -ENOSPC && is_again && writer_make_room(&store->writer) == 0)
			r = writer_write(&store->writer);
		if (r == -EBADMSG)
			r = writer_repair(&store->writer);
		(void)pthread_mutex_lock(&store->lock);
		state_fill(store, r, r == 0 ? n_events : 0);
		if (r == 0 || is_last)
			break;
		is_again = true; /* only now data may be deleted: another program may have used the space briefly */
		(void)pthread_cond_broadcast(&store->done);
		wait_for_retry(store);
	}
	if (r < 0) {
		batch_free(TAKE_PTR(store->writer.batch)); /* the file is being closed: this was the last try */
	} else {
		(void)pthread_mutex_unlock(&store->lock);
		r = writer_tidy(&store->writer);
		if (r == -EBADMSG) /* damage found by sealing, retention or a check */
			r = writer_repair(&store->writer);
		(void)pthread_mutex_lock(&store->lock);
		store->state.oldest_unix_ns = store->writer.oldest_unix_ns;
		store->stack_losses = store->writer.stack_losses;
		if (store->writer.now_ns - store->sized_ns >= SIZE_NS) {
			store->state.bytes = place_bytes(&store->writer.place);
			store->sized_ns = store->writer.now_ns;
		}
		store->state.cpu_ns = thread_cpu_ns();
		store->state.records_ns = store->writer.records_ns;
		if (r < 0)
			describe(store, r, "tidy up");
	}
	store->is_busy = store->is_stalled = false;
	(void)pthread_cond_broadcast(&store->done);
}

static void *thread_main(void *data)
{
	struct store *store = data;
	int r = writer_open(&store->writer, &store->options, store->now_ns, store->now_unix_ns, &store->known,
			    store->why);

	(void)pthread_mutex_lock(&store->lock);
	store->result = r;
	if (r == 0) {
		state_fill(store, 0, 0);
		store->state.bytes = place_bytes(&store->writer.place);
	}
	store->is_open = true;
	(void)pthread_cond_broadcast(&store->done);
	while (r == 0 && (!store->ends || store->handed)) {
		if (store->handed)
			batch_write(store);
		else
			(void)pthread_cond_wait(&store->work, &store->lock);
	}
	(void)pthread_mutex_unlock(&store->lock);

	r = writer_close(&store->writer);
	if (r < 0 && store->result == 0)
		log_warning(r, "cannot complete '%s': the next recorder completes it", store->options.path);
	return NULL;
}

static int options_copy(struct store *store, const struct store_options *options)
{
	const char **fields[ARRAY_SIZE(store->texts)] = { &store->options.path, &store->options.version,
							  &store->options.kernel, &store->options.back_end,
							  &store->options.boot_id };

	store->options = *options;
	store->clock = options->clock ? *options->clock : machine_clock;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!*fields[i])
			continue;
		store->texts[i] = strdup(*fields[i]);
		if (!store->texts[i])
			return -ENOMEM;
		*fields[i] = store->texts[i];
	}
	store->state.path = store->options.path;
	return 0;
}

static void store_free(struct store *store)
{
	intake_done(&store->intake);
	known_done(&store->known);
	batch_free(store->handed);
	for (size_t i = 0; i < ARRAY_SIZE(store->texts); i++)
		free(store->texts[i]);
	(void)pthread_mutex_destroy(&store->lock); /* nobody holds it */
	(void)pthread_cond_destroy(&store->work);  /* nobody waits */
	(void)pthread_cond_destroy(&store->done);  /* nobody waits */
	free(store);
}

static int store_new(const struct store_options *options, struct store **ret_store)
{
	struct store *store = calloc(1, sizeof(*store));
	pthread_condattr_t monotonic;
	int r;

	if (!store)
		return -ENOMEM;
	(void)pthread_mutex_init(&store->lock, NULL); /* none of these can fail on Linux */
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&store->work, &monotonic);
	(void)pthread_cond_init(&store->done, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	r = options_copy(store, options);
	if (r == 0)
		r = batch_new(&store->intake.batch);
	if (r < 0) {
		store_free(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

int store_open(const struct store_options *options, char *why, size_t why_bytes, struct store **ret_store)
{
	struct store *store;
	int r = store_new(options, &store);

	if (r == 0) {
		store->now_ns = store->clock.now_ns(store->clock.data);
		store->now_unix_ns = store->clock.to_unix_ns(store->now_ns, store->clock.data);
		r = thread_start(&store->thread, thread_main, store);
		if (r < 0)
			store_free(store);
	}
	if (r < 0) {
		(void)snprintf(why, why_bytes, "cannot start writing '%s': %s", options->path, strerror(-r));
		return r;
	}
	(void)pthread_mutex_lock(&store->lock);
	while (!store->is_open)
		(void)pthread_cond_wait(&store->done, &store->lock);
	r = store->result;
	(void)pthread_mutex_unlock(&store->lock);
	(void)snprintf(why, why_bytes, "%s", store->why);
	if (r < 0) {
		(void)pthread_join(store->thread, NULL); /* it has ended */
		store_free(store);
		return r;
	}
	store->intake.known = store->known;
	store->known = (struct known){ 0 };
	store->intake.stacks.next_id = store->writer.last_stack + 1;
	store->intake.clock = store->clock;
	store->intake.boot = (uint32_t)store->writer.boot;
	store->intake.life_shares.together = options->together;
	store->intake.batch->together = options->together;
	store->intake.skips_guarded = store->writer.options.skips_guarded;
	store->intake.offset_ns = (int64_t)(store->now_unix_ns - store->now_ns);
	store->intake.loss_reason = "store_queue";
	store->handed_ns = store->now_ns;
	*ret_store = store;
	return 0;
}

/* Hands the batch to the thread, unless the thread still has an earlier one. Under the lock. */
static void batch_hand_over(struct store *store)
{
	struct batch *next;

	store->state.not_kept = store->intake.n_lost + store->n_stopped;
	store->is_failing = store->state.is_failing;
	if (store->intake.stack_losses != store->stack_losses)
		known_stacks_forget(&store->intake.stacks);
	store->intake.stack_losses = store->stack_losses;
	store->intake.loss_reason = store->result == -ENOSPC ? "disk_full" : "store_queue";
	if (store->handed || store->is_busy || batch_new(&next) < 0)
		return;
	store->handed_ns = store->intake.batch->now_ns ? store->intake.batch->now_ns : store->handed_ns;
	next->now_ns = store->intake.batch->now_ns;
	next->together = store->intake.batch->together;
	next->now_unix_ns = store->intake.batch->now_unix_ns;
	store->handed = store->intake.batch;
	store->intake.batch = next;
	(void)pthread_cond_signal(&store->work);
}

void store_call(struct store *store, const struct event *event)
{
	intake_event(&store->intake, event);
	if (store->intake.batch->n_events < BATCH_EVENTS || store->intake.batch->n_events % 256)
		return; /* while the thread is late, try every 256 events only */
	(void)pthread_mutex_lock(&store->lock);
	batch_hand_over(store);
	(void)pthread_mutex_unlock(&store->lock);
}

void store_stack(struct store *store, const struct stack *stack)
{
	intake_stack(&store->intake, stack);
}

void store_tick(struct store *store, const struct tick *tick)
{
	intake_tick(&store->intake, tick);
	if (!batch_is_urgent(store->intake.batch) && tick->to_ns - store->handed_ns < IDLE_NS)
		return;
	(void)pthread_mutex_lock(&store->lock);
	batch_hand_over(store);
	(void)pthread_mutex_unlock(&store->lock);
}

void store_finding(struct store *store, const struct finding *finding)
{
	intake_finding(&store->intake, finding);
}

void store_cost(struct store *store, const void *message, size_t n)
{
	struct buf *cost = &store->intake.batch->cost;

	cost->n = 0;
	(void)buf_append(cost, message, n); /* without memory the last written message stays in the file */
}

void store_back_end(struct store *store, const char *name)
{
	store->intake.batch->back_end = name;
}

void store_gone(struct store *store, const struct process_identity *identity, uint64_t gone_ns)
{
	intake_gone(&store->intake, identity, gone_ns);
}

/*
 * Waits until the thread has written its batches. Under the lock. Does not wait while writing fails; after a timeout,
 * later calls do not wait for the same write.
 */
static void wait_until_written(struct store *store, const struct timespec *until)
{
	while ((store->handed || store->is_busy) && !store->state.is_failing && !store->is_stalled)
		store->is_stalled = pthread_cond_timedwait(&store->done, &store->lock, until) == ETIMEDOUT;
}

int store_flush(struct store *store)
{
	struct timespec until = time_after(FLUSH_NS);
	int r;

	(void)pthread_mutex_lock(&store->lock);
	wait_until_written(store, &until); /* the earlier batch first */
	batch_hand_over(store);
	wait_until_written(store, &until);
	r = store->is_stalled ? -ETIMEDOUT : store->result;
	(void)pthread_mutex_unlock(&store->lock);
	return r;
}

/* Under the lock. */
static void wait_until_idle(struct store *store)
{
	while (store->handed || store->is_busy)
		(void)pthread_cond_wait(&store->done, &store->lock);
}

void store_close(struct store *store)
{
	if (!store)
		return;
	(void)pthread_mutex_lock(&store->lock);
	store->stops = true;
	(void)pthread_cond_broadcast(&store->work);
	wait_until_idle(store);
	batch_hand_over(store);
	wait_until_idle(store);
	store->ends = true;
	(void)pthread_cond_broadcast(&store->work);
	(void)pthread_mutex_unlock(&store->lock);
	(void)pthread_join(store->thread, NULL); /* fails only for an invalid thread */
	store_free(store);
}

void store_state(struct store *store, struct store_state *ret_state)
{
	(void)pthread_mutex_lock(&store->lock);
	store->state.not_kept = store->intake.n_lost + store->n_stopped;
	*ret_state = store->state;
	(void)pthread_mutex_unlock(&store->lock);
}

uint32_t store_boot(const struct store *store)
{
	return store->intake.boot;
}

/* ---- as a sink ---- */

static void sink_event(const struct event *event, void *data)
{
	store_call(data, event);
}

static void sink_stack(struct stack *stack, void *data)
{
	store_stack(data, stack);
}

static void sink_tick(const struct tick *tick, bool is_last, void *data)
{
	(void)is_last;
	store_tick(data, tick);
}

static void sink_finding(const struct finding *finding, void *data)
{
	store_finding(data, finding);
}

static void sink_gone(const struct process_figures *process, void *data)
{
	store_gone(data, &process->process->identity, process->gone_ns);
}

struct sink store_sink(struct store *store)
{
	static const struct sink_ops ops = {
		.event = sink_event, .stack = sink_stack, .tick = sink_tick, .finding = sink_finding, .gone = sink_gone
	};

	return (struct sink){ store ? &ops : NULL, store };
}
