// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon's side of a child.
 *
 * A child and its current process are two objects: a killed process exists until it is reaped, while the child may
 * already use the next one. Nothing here blocks.
 */
#include "children/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "children/child_role.h"
#include "children/process.h"

#define LOG_TOPIC "children"
#include "base/log.h"

struct question {
	struct question *next;
	child_answer_func func;
	void *data;
	uint64_t limit_ns;
	uint32_t owner;
	int fd;	       /* owned; -1: none */
	bool is_again; /* its first process died of an earlier question */
	size_t n;
	uint8_t bytes[];
};

struct child {
	uv_loop_t *loop;
	const char *role;
	struct child_process *process; /* NULL while none runs */
	uint32_t owner;		       /* owner of the bytes that the process has seen */
	uint32_t n_answered;	       /* questions answered by the process */
	struct question *first;	       /* the question being answered when is_asked */
	struct question **last;	       /* link for the next question */
	size_t n_questions;
	uint32_t n_turn;  /* questions of the owner that were sent in a row */
	uint64_t turn_ns; /* that these took */
	uint64_t asked_ns;
	bool is_turn_over; /* one of them had no answer */
	bool is_asked;
	bool is_closing;
	uv_timer_t timer;
	_Alignas(max_align_t) uint8_t answer[CHILD_ANSWER_MAX];
};

static void child_pump(struct child *child);
static void on_answer_readable(int status, void *data);

static void question_free(struct question *q)
{
	if (q) {
		closep(&q->fd);
		free(q);
	}
}

static void question_freep(struct question **q)
{
	question_free(*q);
}

static struct question *question_take(struct child *child)
{
	struct question *q = child->first;

	assert(q && child->n_questions);
	child->first = q->next;
	if (!child->first)
		child->last = &child->first;
	child->n_questions--;
	return q;
}

static void asked_question_answer(struct question *q, int r, const void *answer, size_t n)
{
	q->func(r, answer, n, q->data);
	question_free(q);
}

/* --- turns --- */

/* Each change of owner costs a fresh process. After one of these, owners who wait have their turn. */
#define TURN_QUESTIONS_MAX 64
#define TURN_NS_MAX NSEC_PER_SEC

/* The question was answered, or had its time. */
static void turn_count(struct child *child, bool is_answered)
{
	child->turn_ns += uv_hrtime() - child->asked_ns;
	child->is_turn_over |= !is_answered;
}

/* Moves the first questions, all of one owner, behind those of others. */
static void turn_pass(struct child *child)
{
	struct question *first = child->first, *last = first;

	while (last->next && last->next->owner == first->owner)
		last = last->next;
	if (!last->next)
		return;
	child->first = last->next;
	*child->last = first;
	last->next = NULL;
	child->last = &last->next;
}

/* Decides whose question is sent next. */
static void turn_begin(struct child *child)
{
	bool is_over = child->is_turn_over || child->n_turn >= TURN_QUESTIONS_MAX || child->turn_ns >= TURN_NS_MAX;

	if (is_over && child->first->owner == child->owner)
		turn_pass(child);
	if (is_over || child->first->owner != child->owner) {
		child->n_turn = 0;
		child->turn_ns = 0;
		child->is_turn_over = false;
	}
	child->n_turn++;
	child->asked_ns = uv_hrtime();
}

/* --- asking --- */

static void child_end_process(struct child *child)
{
	process_end(child->process);
	child->process = NULL;
}

/* The deadline of the question being answered; or, when there is none, a turn of the loop to ask in. */
static void on_deadline(uv_timer_t *timer)
{
	struct child *child = timer->data;

	if (child->is_asked) {
		child->is_asked = false;
		turn_count(child, false);
		child_end_process(child);
		asked_question_answer(question_take(child), -ETIMEDOUT, NULL, 0);
	}
	child_pump(child);
}

/*
 * The process is no longer usable. If it had answered other questions, the current question is sent to a fresh process:
 * an earlier question may have caused its death (a process ends by itself when it has used much time).
 */
static void child_lose_process(struct child *child)
{
	bool is_used = child->n_answered > 0;

	child_end_process(child);
	if (!child->is_asked)
		return;

	child->is_asked = false;
	(void)uv_timer_stop(&child->timer);
	if (is_used && !child->first->is_again) {
		child->first->is_again = true;
	} else {
		turn_count(child, false);
		asked_question_answer(question_take(child), -EPIPE, NULL, 0);
	}
	child_pump(child);
}

static void on_answer_readable(int status, void *data)
{
	struct child *child = data;
	int fds[FD_PASS_MAX];
	size_t n_fds = 0;
	ssize_t n;

	n = status < 0 ? status
		       : fd_receive(process_socket(child->process), child->answer, sizeof(child->answer), fds, &n_fds);
	if (n == -EAGAIN)
		return;
	for (size_t i = 0; n >= 0 && i < n_fds; i++)
		(void)close(fds[i]);		   /* an answer without a question */
	if (n <= 0 || n_fds || !child->is_asked) { /* the process has ended, or broke the protocol */
		child_lose_process(child);
		return;
	}

	child->is_asked = false;
	turn_count(child, true);
	child->n_answered++;
	(void)uv_timer_stop(&child->timer);
	asked_question_answer(question_take(child), 0, child->answer, (size_t)n);
	child_pump(child);
}

static int child_start(struct child *child)
{
	int r = process_start(child->loop, child->role, NULL, 0, on_answer_readable, child, &child->process);

	child->n_answered = 0;
	return r < 0 ? log_err(r, "cannot start the %s process", child->role) : 0;
}

void child_begin(struct child *child)
{
	if (!child->process && !child->is_closing)
		(void)child_start(child);
}

void child_renew(struct child *child, uint64_t idle_ns)
{
	if (!child->process || child->first || !child->n_answered || uv_hrtime() - child->asked_ns < idle_ns)
		return;
	child_end_process(child);
	child_begin(child);
}

/* Sends the first question, to a fresh process if none runs or if it served another owner. */
static int question_send(struct child *child, struct question *q)
{
	int r;

	if (child->process && child->n_answered && child->owner != q->owner)
		child_end_process(child);
	for (int tries = 0; tries < 2; tries++) { /* the end of the old process may not be noticed yet */
		if (!child->process) {
			r = child_start(child);
			if (r < 0)
				return r;
		}
		r = fd_send(process_socket(child->process), q->bytes, q->n, &q->fd, q->fd >= 0);
		if (r == 0)
			return 0;
		child_end_process(child);
	}
	return r;
}

static void child_pump(struct child *child)
{
	while (child->first && !child->is_asked && !child->is_closing) {
		struct question *q;
		uint64_t limit_ms;

		turn_begin(child);
		q = child->first;
		limit_ms = (q->limit_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
		if (question_send(child, q) == 0) {
			child->is_asked = true;
			child->owner = q->owner;
			uv_update_time(child->loop); /* starting a process took time that is not the child's */
			(void)uv_timer_start(&child->timer, on_deadline, limit_ms,
					     0); /* fails only on a closing timer */
			return;
		}
		asked_question_answer(question_take(child), -EPIPE, NULL, 0);
	}
}

/* Inserts after the last question of the same owner. */
static void question_queue(struct child *child, struct question *q)
{
	struct question **at = child->last;

	for (struct question *other = child->first; other; other = other->next)
		if (other->owner == q->owner)
			at = &other->next;
	q->next = *at;
	*at = q;
	if (!q->next)
		child->last = &q->next;
}

static bool queue_has_room(const struct child *child, uint32_t owner)
{
	size_t n_own = 0;

	for (const struct question *q = child->first; q; q = q->next)
		n_own += q->owner == owner;
	return child->n_questions < CHILD_QUEUE_MAX && n_own < CHILD_QUEUE_OWNER_MAX;
}

int child_ask(struct child *child, const void *question, size_t n, int fd, uint32_t owner, uint64_t limit_ns,
	      child_answer_func func, void *data)
{
	CLEANUP(question_freep) struct question *q = NULL;

	if (child->is_closing)
		return -ECANCELED;
	if (n == 0 || n > CHILD_QUESTION_MAX)
		return -EMSGSIZE;
	if (!queue_has_room(child, owner))
		return -ENOBUFS;

	q = calloc(1, sizeof(*q) + n);
	if (!q)
		return -ENOMEM;
	q->fd = -1;
	q->func = func;
	q->data = data;
	q->owner = owner;
	q->limit_ns = limit_ns;
	q->n = n;
	memcpy(q->bytes, question, n);
	if (fd >= 0) {
		q->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (q->fd < 0)
			return -errno;
	}

	question_queue(child, q);
	child->n_questions++;
	q = NULL; /* owned by the queue */
	if (child->n_questions == 1)
		(void)uv_timer_start(&child->timer, on_deadline, 0, 0);
	return 0;
}

int child_open(uv_loop_t *loop, const char *role, struct child **ret_child)
{
	CLEANUP(freep) struct child *child = calloc(1, sizeof(*child));
	int r;

	if (!child)
		return -ENOMEM;
	r = uv_timer_init(loop, &child->timer);
	if (r < 0)
		return r;

	child->timer.data = child;
	child->loop = loop;
	child->role = role;
	child->last = &child->first;
	*ret_child = TAKE_PTR(child);
	return 0;
}

static void on_child_handle_close(uv_handle_t *handle)
{
	free(handle->data);
}

void child_close(struct child *child)
{
	if (!child || child->is_closing)
		return;
	child->is_closing = true;
	child->is_asked = false;
	if (child->process)
		child_end_process(child);
	while (child->first)
		asked_question_answer(question_take(child), -ECANCELED, NULL, 0);
	uv_close((uv_handle_t *)&child->timer, on_child_handle_close);
}

uint32_t child_pid(const struct child *child)
{
	return child->process ? process_pid(child->process) : 0;
}
