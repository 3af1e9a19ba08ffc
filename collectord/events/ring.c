// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "events"
#include "events/ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "clock.h"
#include "events/decode.h"
#include "events/ring_map.h"

/*
 * Timer periods and the fill level at which the short one starts: at 100 ms the reader costs 0.06 % of a CPU for 2 000
 * records a second, 20 ms suffice for most of what the default recording produces; a ring that fills faster wakes us
 * (measured with a prototype).
 */
#define DRAIN_SLOW_MS 100
#define DRAIN_FAST_MS 20
#define DRAIN_FAST_RATIO 0.05
/*
 * Maximum records of one turn, so that clients have their share: about 5 ms of work. A record of life takes from 2 us
 * to 100 us or more, for an exec, whose libraries are looked for.
 */
#define TURN_CALLS 50000
#define TURN_LIVES 250
#define TURN_NS (20 * NSEC_PER_MSEC) /* beyond, what came meanwhile waits for the next turn: stacks take more */

/* The largest record of each ring. */
#define CALLS_RECORD_MAX MAX(sizeof(struct call_record), sizeof(struct file_record))
#define STACKS_RECORD_MAX                                                                                              \
	MAX(sizeof(struct stack_record) + STACK_COPY_MAX, CODE_RECORD_HEAD + 3 * CODE_TEXT_MAX + CODE_LINES_MAX)

struct ring {
	struct ring_map *calls;
	struct ring_map *stacks;
	struct ring_map *life;
	uv_poll_t calls_poll;
	uv_poll_t stacks_poll;
	uv_poll_t life_poll;
	uv_timer_t timer;
	struct ring_sinks sinks;
	void *data;
	/*
	 * A ring is level-triggered: once woken for a fill level, a plain poll would fire again for every record that
	 * follows. Edge-triggered it fires once per wake-up.
	 */
	int calls_edge_fd;
	int stacks_edge_fd;
	int life_level_fd; /* valid as long as its poll, unlike the map's own descriptor */
	uint64_t ring_bytes;
	uint64_t n_refused;
	uint32_t calls_left; /* records that this turn may still take */
	uint32_t lives_left; /* the same, of life */
	uint32_t n_copies; /* stacks with a copy in this turn: they go on when the loop has read the parser's answers */
	uint32_t period_ms;
	int n_handles; /* open loop handles: closing the last frees */
};

static int calls_sample(void *data, const void *record, size_t n)
{
	struct ring *ring = data;
	const struct file_record *file;
	const struct wait_record *wait;
	struct call_record call;

	if (decode_call(record, n, &call) == DECODE_OK) {
		ring->sinks.on_call(&call, ring->data);
	} else if (decode_file(record, n, &file) == DECODE_OK) {
		if (ring->sinks.on_file)
			ring->sinks.on_file(file, ring->data);
	} else if (decode_wait(record, n, &wait) == DECODE_OK) {
		if (ring->sinks.on_wait)
			ring->sinks.on_wait(wait, ring->data);
	} else {
		ring->n_refused++;
	}
	return --ring->calls_left == 0 ? -EAGAIN : 0; /* the record is taken; the rest waits for the next turn */
}

static int stacks_sample(void *data, const void *record, size_t n)
{
	struct ring *ring = data;
	const struct stack_record *stack;
	const struct code_record *code;
	const struct mappings_record *mappings;

	if (decode_stack(record, n, &stack) == DECODE_OK) {
		ring->n_copies += stack->n_memory != 0;
		if (ring->sinks.on_stack)
			ring->sinks.on_stack(stack, n, ring->data);
	} else if (decode_code(record, n, &code) == DECODE_OK) {
		if (ring->sinks.on_code)
			ring->sinks.on_code(code, n, ring->data);
	} else if (decode_mappings(record, n, &mappings) == DECODE_OK) {
		if (ring->sinks.on_mappings)
			ring->sinks.on_mappings(mappings, ring->data);
	} else {
		ring->n_refused++;
	}
	return 0;
}

static int life_sample(void *data, const void *record, size_t n)
{
	struct ring *ring = data;
	const struct life_record *life;

	if (decode_life(record, n, &life) == DECODE_OK)
		ring->sinks.on_life(life, ring->data);
	else
		ring->n_refused++;
	return --ring->lives_left == 0 ? -EAGAIN : 0; /* its descriptor stays readable */
}

void ring_drain_stacks(struct ring *ring)
{
	(void)ring_map_consume(ring->stacks, stacks_sample, ring);
}

static void period_set(struct ring *ring, uint32_t ms);

/* @has_more: records are there that are to be taken when the loop has done other work */
static void fetched(struct ring *ring, uint64_t calls_before, bool has_more)
{
	uint64_t bytes = ring_map_taken(ring->calls) - calls_before;

	period_set(ring, has_more						       ? 1
			 : (double)bytes > DRAIN_FAST_RATIO * (double)ring->ring_bytes ? DRAIN_FAST_MS
										       : DRAIN_SLOW_MS);
	ring->sinks.on_drained(ring->data);
}

/*
 * The calls that are there now, and before them the lives of processes and the stacks that are older than these calls:
 * the first call of a child may come at once.
 * Return: as ring_map_consume()
 */
static int calls_take(struct ring *ring)
{
	uint64_t end = ring_map_end(ring->calls);

	if (ring->lives_left)
		(void)ring_map_consume(ring->life, life_sample, ring);
	ring_drain_stacks(ring);
	return ring_map_consume_to(ring->calls, end, calls_sample, ring);
}

static void turn(struct ring *ring)
{
	uint64_t before = ring_map_taken(ring->calls), from_ns = clock_now_ns();
	int r;

	ring->lives_left = TURN_LIVES;
	ring->calls_left = TURN_CALLS;
	ring->n_copies = 0;
	do {
		r = calls_take(ring); /* with those that came meanwhile, as long as no other work is waited for */
	} while (r > 0 && !ring->n_copies && clock_now_ns() - from_ns < TURN_NS);
	fetched(ring, before, r != 0 || ring->n_copies);
}

static void ring_timer_fired(uv_timer_t *timer)
{
	turn(timer->data);
}

static void period_set(struct ring *ring, uint32_t ms)
{
	if (ring->period_ms == ms)
		return;
	ring->period_ms = ms;
	(void)uv_timer_start(&ring->timer, ring_timer_fired, ms, ms);
}

static void life_fired(uv_poll_t *poll, int status, int events)
{
	(void)events;
	if (status == 0)
		turn(poll->data);
}

static void edge_clear(int fd)
{
	struct epoll_event edge;

	(void)epoll_wait(fd, &edge, 1, 0);
}

static void calls_fired(uv_poll_t *poll, int status, int events)
{
	struct ring *ring = poll->data;

	(void)events;
	edge_clear(ring->calls_edge_fd);
	if (status == 0)
		turn(ring);
}

static void stacks_fired(uv_poll_t *poll, int status, int events)
{
	struct ring *ring = poll->data;

	(void)events;
	edge_clear(ring->stacks_edge_fd);
	if (status == 0)
		ring_drain_stacks(ring);
}

void ring_drain(struct ring *ring)
{
	uint64_t before = ring_map_taken(ring->calls);

	ring->lives_left = ring->calls_left = UINT32_MAX;
	(void)calls_take(ring);
	fetched(ring, before, ring->n_copies);
}

uint64_t ring_refused(const struct ring *ring)
{
	return ring->n_refused;
}

static void ring_free(struct ring *ring)
{
	ring_map_close(ring->calls);
	ring_map_close(ring->stacks);
	ring_map_close(ring->life);
	closep(&ring->calls_edge_fd);
	closep(&ring->stacks_edge_fd);
	closep(&ring->life_level_fd);
	free(ring);
}

static void handle_closed(uv_handle_t *handle)
{
	struct ring *ring = handle->data;

	if (--ring->n_handles)
		return;
	ring_free(ring);
}

static void handle_close(struct ring *ring, void *handle)
{
	ring->n_handles++;
	uv_close(handle, handle_closed);
}

void ring_close(struct ring *ring)
{
	if (!ring)
		return;
	handle_close(ring, &ring->timer);
	handle_close(ring, &ring->calls_poll);
	handle_close(ring, &ring->stacks_poll);
	handle_close(ring, &ring->life_poll);
}

/* Maps a ring, and makes a descriptor that is readable according to `events`. Return: 0 or -errno */
static int map_open(int fd, uint32_t events, size_t record_bytes, struct ring_map **ret_map, int *ret_epoll_fd)
{
	struct epoll_event event = { .events = events };
	struct bpf_map_info info = { 0 };
	uint32_t n = sizeof(info);

	*ret_epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (*ret_epoll_fd < 0 || epoll_ctl(*ret_epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ||
	    bpf_obj_get_info_by_fd(fd, &info, &n) < 0)
		return -errno;
	return ring_map_open(fd, info.max_entries, record_bytes, ret_map);
}

int ring_open(uv_loop_t *loop, const struct ring_fds *fds, uint64_t ring_bytes, const struct ring_sinks *sinks,
	      void *data, struct ring **ret_ring)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	int r;

	if (!ring)
		return -ENOMEM;
	ring->sinks = *sinks;
	ring->data = data;
	ring->ring_bytes = ring_bytes;
	ring->calls_edge_fd = ring->stacks_edge_fd = ring->life_level_fd = -1;

	r = map_open(fds->calls, EPOLLIN | EPOLLET, CALLS_RECORD_MAX, &ring->calls, &ring->calls_edge_fd);
	if (r == 0)
		r = map_open(fds->stacks, EPOLLIN | EPOLLET, STACKS_RECORD_MAX, &ring->stacks, &ring->stacks_edge_fd);
	if (r == 0)
		r = map_open(fds->life, EPOLLIN, sizeof(struct life_record), &ring->life, &ring->life_level_fd);
	if (r < 0) {
		ring_free(ring);
		return log_err(r, "cannot map the rings");
	}

	/* Initialising handles cannot fail for descriptors that epoll accepts, such as ring epolls. */
	(void)uv_timer_init(loop, &ring->timer);
	(void)uv_poll_init(loop, &ring->calls_poll, ring->calls_edge_fd);
	(void)uv_poll_init(loop, &ring->stacks_poll, ring->stacks_edge_fd);
	(void)uv_poll_init(loop, &ring->life_poll, ring->life_level_fd);
	ring->timer.data = ring->calls_poll.data = ring->stacks_poll.data = ring->life_poll.data = ring;
	period_set(ring, DRAIN_SLOW_MS);
	(void)uv_poll_start(&ring->calls_poll, UV_READABLE, calls_fired);
	(void)uv_poll_start(&ring->stacks_poll, UV_READABLE, stacks_fired);
	(void)uv_poll_start(&ring->life_poll, UV_READABLE, life_fired);
	*ret_ring = ring;
	return 0;
}
