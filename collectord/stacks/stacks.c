// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "stacks"
#include "stacks/stacks.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "children/child.h"
#include "clock.h"
#include "probes/probe_stacks.h"
#include "procs/loop_time.h"
#include "procs/procfs.h"
#include "procs/subordinate.h"
#include "stacks/codes.h"
#include "stacks/process_maps.h"
#include "stacks/process_stacks.h"
#include "stacks/stack_file.h"
#include "stacks/work.h"

#define LOOKS_AHEAD 32	      /* stacks that come in one turn of the loop: more of them point to the same code */
#define TRIM_BYTES (4u << 20) /* of records that were on their way: their memory is given back to the system */
/* Names of a large library need 12 bytes for each of its functions. Those that were found are kept (names.c, codes.c). */
#define NAMER_IDLE_NS (30 * NSEC_PER_SEC) /* reading the functions again takes 0.1 s */
#define LOOK_MS 100	      /* how often stacks that wait too long are looked for */
#define SECOND_LOOKS 10
#define DONE_BYTES_MAX (8u << 20) /* of the names of stacks that are told at once */
/* Works that wait are looked at in one of so many nanoseconds: each answer may be for one of them. */
#define KICK_PART 4

struct stacks {
	struct stacks_events events;
	struct stack_readers readers;
	struct stack_files *files;
	struct codes *codes;
	struct process_stacks *processes;
	struct probe_set *probes;
	struct loop_times *times;
	struct work *works; /* newest first */
	struct work *done;  /* ready, to be told */
	size_t n_works, n_bytes;
	size_t n_bytes_most;   /* since memory was given back */
	size_t n_ahead;	       /* stacks that came since the last turn of the loop */
	uv_timer_t kick_timer; /* what is known now lets some works go on */
	uint64_t kick_next_ns; /* not before then */
	uv_timer_t look_timer;
	uint32_t n_looks;
	int n_handles; /* closing the last frees */
	bool is_closing;
};

/* ---- time ---- */

/* That stacks of a user may take at once; guess: the start of a large program takes less. */
#define TIME_MOST_NS (500 * NSEC_PER_MSEC)

static bool time_is_left(const struct stacks *s, uint32_t uid, uint64_t now_ns)
{
	return loop_time_ahead_ns(s->times, uid, LOOP_STACKS, now_ns) < LOOP_TIME_PART * TIME_MOST_NS;
}

static void time_take(struct stacks *s, uint32_t uid, uint64_t spent_ns, uint64_t now_ns)
{
	loop_time_take(s->times, uid, LOOP_STACKS, spent_ns, UINT64_MAX - now_ns, now_ns);
}

/* Work that follows one another for the same user. Zeroed: none yet. */
struct spell {
	uint32_t uid;
	uint64_t from_ns; /* CPU time */
};

static void spell_end(struct stacks *s, const struct spell *spell)
{
	if (spell->from_ns)
		time_take(s, spell->uid, clock_spent_ns() - spell->from_ns, clock_now_ns());
}

static void spell_next(struct stacks *s, struct spell *spell, uint32_t uid)
{
	if (spell->from_ns && spell->uid == uid)
		return;
	spell_end(s, spell);
	*spell = (struct spell){ .uid = uid, .from_ns = clock_spent_ns() };
}

/* Time since then. Waits count: for mappings that the user's threads change meanwhile. */
static void time_took(struct stacks *s, uint32_t uid, uint64_t from_ns)
{
	uint64_t now_ns = clock_now_ns();

	time_take(s, uid, now_ns - from_ns, now_ns);
}

/* ---- works ---- */

static void kick_fired(uv_timer_t *timer);

static void kick(struct stacks *s)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = s->kick_next_ns > now_ns ? s->kick_next_ns - now_ns : 0;

	if (!s->is_closing && !uv_is_active((uv_handle_t *)&s->kick_timer))
		(void)uv_timer_start(&s->kick_timer, kick_fired, (left_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC, 0);
}

static void file_told(struct stack_file *file, void *data)
{
	(void)file;
	kick(data);
}

static void code_told(void *data)
{
	kick(data);
}

/*
 * The kernel half sends a stack again whose names were not known in time, when it is met the next time: those of all
 * later calls would be missing.
 */
static void unnamed_forget(struct stacks *s, const struct work *work)
{
	const struct stack_record *r = work->record;

	if ((work->state != WORK_DONE || (r->n_memory && !work->maps)) && !(r->id & STACK_ID_ONCE))
		probe_stacks_forget(s->probes, r->tgid, r->exec_gen, r->id);
}

/* @at: where the list has it */
static void work_settle(struct stacks *s, struct work **at)
{
	struct work *work = *at;

	work_finish(work);
	process_stacks_ready(s->processes, work->record, work->stack);
	unnamed_forget(s, work);
	*at = work->next;
	work->next = s->done;
	s->done = work;
	s->n_works--;
	s->n_bytes -= work->n_bytes;
}

static void done_tell(struct stacks *s)
{
	struct spell spell = { .from_ns = 0 };

	while (s->done) {
		struct work *work = s->done;

		spell_next(s, &spell, work->record->uid);
		s->done = work->next;
		s->events.ready(work->stack, s->events.data);
		work_free(work);
	}
	spell_end(s, &spell);
}

/* Return: whether some were left for the next time, since so many were done */
static bool works_advance(struct stacks *s)
{
	uint64_t now_ns = clock_now_ns();
	struct spell spell = { .from_ns = 0 };
	struct work **at = &s->works;
	size_t n_done_bytes = 0;

	s->n_ahead = 0;
	while (*at && n_done_bytes < DONE_BYTES_MAX) {
		struct work *work = *at;
		size_t n_bytes = work->n_bytes;
		bool is_done;

		spell_next(s, &spell, work->record->uid);
		is_done = work_advance(work);
		s->n_bytes -= n_bytes - work->n_bytes;
		if (is_done || now_ns - work->since_ns > STACK_READY_NS) {
			work_settle(s, at);
			n_done_bytes += stack_bytes(work->stack);
		} else {
			at = &work->next;
		}
	}
	spell_end(s, &spell);
	stack_files_pump(s->files, file_told, s);
	done_tell(s);
	return n_done_bytes >= DONE_BYTES_MAX;
}

static void kick_fired(uv_timer_t *timer)
{
	struct stacks *s = timer->data;
	uint64_t from_ns = clock_now_ns(), now_ns;
	bool has_more = works_advance(s);

	now_ns = clock_now_ns();
	s->kick_next_ns = now_ns + (KICK_PART - 1) * (now_ns - from_ns);
	if (has_more)
		kick(s);
}

/* After a flood of copies, whose memory would be the daemon's for ever. */
static void memory_give_back(struct stacks *s)
{
	if (s->n_works || s->n_bytes_most < TRIM_BYTES)
		return;
	s->n_bytes_most = 0;
	(void)malloc_trim(0);
}

static void look_fired(uv_timer_t *timer)
{
	struct stacks *s = timer->data;
	uint64_t now_ns = clock_now_ns();

	kick(s);
	if (++s->n_looks % SECOND_LOOKS == 0) {
		process_stacks_second(s->processes, now_ns);
		if (stack_files_second(s->files, now_ns))
			process_stacks_reset(s->processes);
		codes_second(s->codes, now_ns);
		loop_times_forget(s->times, now_ns);
		memory_give_back(s);
		for (size_t i = 0; i < STACK_READERS_COUNT; i++)
			child_renew(s->readers.namer[i], NAMER_IDLE_NS);
	}
}

void stacks_finish(struct stacks *s)
{
	while (s->works)
		work_settle(s, &s->works);
	done_tell(s);
}

size_t stacks_waiting(const struct stacks *s)
{
	return s->n_works;
}

/* ---- records ---- */

/* Of a user's records on their way. Counted only where there is little room. */
static size_t works_bytes(const struct stacks *s, uint32_t uid)
{
	uint32_t share = loop_time_user(s->times, uid);
	size_t n = 0;

	if (works_have_room(s->n_bytes, s->n_bytes, /* is_copy= */ true))
		return s->n_bytes;
	for (const struct work *work = s->works; work; work = work->next)
		n += loop_time_user(s->times, work->record->uid) == share ? work->n_bytes : 0;
	return n;
}

static void work_add(struct stacks *s, const struct stack_record *record)
{
	struct process_maps *maps = NULL;
	struct stack *stack = process_stacks_note(s->processes, record, &maps);
	struct work *work;

	if (!stack)
		return;
	work = work_new(record, stack, maps, s->codes, record->n_memory && s->n_ahead++ < LOOKS_AHEAD);
	process_maps_unref(maps);
	if (!work) {
		(void)stack_name(stack, NULL, 0, false, "memory was short when it was read");
		return;
	}
	work->next = s->works;
	s->works = work;
	s->n_works++;
	s->n_bytes += work->n_bytes;
	s->n_bytes_most = MAX(s->n_bytes_most, s->n_bytes);
	/* A stack without room is named with what is known at once. */
	if (!works_have_room(works_bytes(s, record->uid), s->n_bytes, record->n_memory != 0)) {
		work->is_crowded_out = true;
		work_settle(s, &s->works);
	}
	kick(s);
}

/* The stack has no frames. It is sent again when it is met the next time. */
static void stack_pass_over(struct stacks *s, const struct stack_record *record)
{
	struct stack *stack = process_stacks_note(s->processes, record, NULL);

	if (stack)
		(void)stack_name(stack, NULL, 0, false, "this user's programs had too many new stacks at once");
	if (stack && !(record->id & STACK_ID_ONCE))
		probe_stacks_forget(s->probes, record->tgid, record->exec_gen, record->id);
}

void stacks_take(struct stacks *s, const struct stack_record *record)
{
	uint64_t from_ns = clock_now_ns();

	if (time_is_left(s, record->uid, from_ns))
		work_add(s, record);
	else
		stack_pass_over(s, record);
	time_took(s, record->uid, from_ns);
}

void stacks_take_mappings(struct stacks *s, const struct mappings_record *record)
{
	uint64_t from_ns = clock_now_ns();

	if (!time_is_left(s, record->uid, from_ns))
		return;
	process_stacks_mappings(s->processes, record);
	kick(s);
	time_took(s, record->uid, from_ns);
}

/* The kernel half sends it once: it is taken in any case. */
void stacks_take_code(struct stacks *s, const struct code_record *record)
{
	uint64_t from_ns = clock_now_ns();

	codes_take(s->codes, record);
	time_took(s, record->uid, from_ns);
}

struct stack *stacks_find(struct stacks *s, const struct record_header *of, uint64_t id)
{
	return process_stacks_find(s->processes, of, id);
}

void stacks_look(struct stacks *s, uint32_t tgid, uint32_t exec_gen, uint32_t uid)
{
	uint64_t from_ns = clock_now_ns();

	/* Processes that start while a call waits would be told as what it waited for. */
	for (size_t i = 0; i < STACK_READERS_COUNT; i++)
		if (i == STACK_READERS_ROOT || uid) {
			child_begin(s->readers.parser[i]);
			child_begin(s->readers.namer[i]);
		}
	if (!time_is_left(s, uid, from_ns))
		return;
	process_stacks_look(s->processes, tgid, exec_gen, uid);
	kick(s);
	time_took(s, uid, from_ns);
}

void stacks_exec(struct stacks *s, uint32_t tgid, uint32_t exec_gen)
{
	if (exec_gen)
		process_stacks_gone(s->processes, tgid, exec_gen - 1);
}

void stacks_exit(struct stacks *s, uint32_t tgid)
{
	process_stacks_gone(s->processes, tgid, UINT32_MAX);
	codes_exit(s->codes, tgid);
}

/* ---- opening and closing ---- */

static int readers_open(uv_loop_t *loop, struct stack_readers *readers)
{
	int r = 0;

	for (size_t i = 0; i < STACK_READERS_COUNT && r == 0; i++) {
		r = child_open(loop, "parser", &readers->parser[i]);
		if (r == 0)
			r = child_open(loop, "parser", &readers->namer[i]);
	}
	return r;
}

static void readers_close(struct stack_readers *readers)
{
	for (size_t i = 0; i < STACK_READERS_COUNT; i++) {
		child_close(readers->parser[i]);
		child_close(readers->namer[i]);
	}
}

static void stacks_free(struct stacks *s)
{
	while (s->works) {
		struct work *work = s->works;

		s->works = work->next;
		work_free(work);
	}
	process_stacks_free(s->processes);
	codes_free(s->codes);
	stack_files_free(s->files);
	free(s);
}

static void stacks_handle_closed(uv_handle_t *handle)
{
	struct stacks *s = handle->data;

	if (--s->n_handles == 0)
		stacks_free(s);
}

void stacks_close(struct stacks *s)
{
	if (!s)
		return;
	s->is_closing = true;
	readers_close(&s->readers); /* open questions end within */
	uv_close((uv_handle_t *)&s->kick_timer, stacks_handle_closed);
	uv_close((uv_handle_t *)&s->look_timer, stacks_handle_closed);
}

int stacks_open(uv_loop_t *loop, struct probe_set *probes, struct loop_times *times, const struct stacks_events *events,
		struct stacks **ret_stacks)
{
	struct stacks *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->events = *events;
	s->probes = probes;
	s->times = times;
	r = readers_open(loop, &s->readers);
	if (r == 0)
		r = stack_files_new(&s->readers, probes, &s->files);
	if (r == 0)
		r = codes_new(s->readers.namer[STACK_READERS_OWN], code_told, s, &s->codes);
	if (r == 0)
		r = process_stacks_new(s->files, probes, &s->processes);
	if (r < 0) {
		readers_close(&s->readers);
		stacks_free(s);
		return r;
	}
	(void)uv_timer_init(loop, &s->kick_timer);
	(void)uv_timer_init(loop, &s->look_timer);
	s->kick_timer.data = s->look_timer.data = s;
	s->n_handles = 2;
	(void)uv_timer_start(&s->look_timer, look_fired, LOOK_MS, LOOK_MS);
	*ret_stacks = s;
	return 0;
}
