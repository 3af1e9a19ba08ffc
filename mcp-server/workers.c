// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/workers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct job {
	struct rpc_message message;
	struct workers_asker asker;
	struct workers *workers;
	struct rpc_call call;
	struct job *next;
	bool is_running;
};

struct workers {
	const struct server *server;

	pthread_mutex_t mutex; /* of all below */
	pthread_cond_t changed;
	struct job *jobs; /* running and waiting, the oldest first */
	size_t n_jobs;
	pthread_t threads[WORKERS_MAX];
	size_t n_threads;
	size_t n_idle;
	bool is_ending;
};

static void job_free(struct job *job)
{
	rpc_message_done(&job->message);
	buf_done(&job->call.error_data);
	free(job);
}

static struct job *waiting_find(const struct workers *w)
{
	for (struct job *job = w->jobs; job; job = job->next)
		if (!job->is_running)
			return job;
	return NULL;
}

static size_t waiting_count(const struct workers *w)
{
	size_t n = 0;

	for (const struct job *job = w->jobs; job; job = job->next)
		n += !job->is_running;
	return n;
}

static void job_remove(struct workers *w, struct job *job)
{
	struct job **link = &w->jobs;

	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	w->n_jobs--;
}

static void progress_send(struct rpc_call *call, const char *json, size_t n)
{
	const struct job *job = call->transport;

	/* With the lock held: whoever has cancelled hears no more of it. */
	(void)pthread_mutex_lock(&job->workers->mutex);
	if (!atomic_load(&call->is_cancelled))
		job->asker.send(json, n, /* is_answer= */ false, 0, job->asker.data);
	(void)pthread_mutex_unlock(&job->workers->mutex);
}

/* A request is answered once, by its thread or at the end, or was cancelled. Return: whether the caller answers it */
static bool answer_claim(struct job *job)
{
	return !atomic_exchange(&job->call.is_cancelled, true);
}

static void job_run(struct job *job, struct asker *asker)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	job->call.asker = asker;
	if (!atomic_load(&job->call.is_cancelled))
		rpc_run(&job->call, &out);
	if (answer_claim(job))
		job->asker.send(buf_text(&out), out.n, /* is_answer= */ true, job->call.code, job->asker.data);
}

static struct timespec seconds_from_now(unsigned int seconds)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)seconds;
	return until;
}

/* With the lock held. Waits for a request; an idle thread gives its daemon back. */
static void worker_wait(struct workers *w, struct asker *asker)
{
	const struct timespec until = seconds_from_now(WORKERS_IDLE_S);
	int r = 0;

	w->n_idle++;
	if (asker->ingero)
		r = pthread_cond_timedwait(&w->changed, &w->mutex, &until);
	else
		(void)pthread_cond_wait(&w->changed, &w->mutex);
	w->n_idle--;
	if (r != ETIMEDOUT || waiting_find(w))
		return;
	(void)pthread_mutex_unlock(&w->mutex);
	asker_done(asker); /* waits for the end of a private daemon */
	(void)pthread_mutex_lock(&w->mutex);
}

static void *worker_run(void *data)
{
	struct workers *w = data;
	struct asker asker = { .server = w->server };
	struct job *job;

	(void)pthread_mutex_lock(&w->mutex);
	for (;;) {
		job = waiting_find(w);
		if (job) {
			job->is_running = true;
			(void)pthread_mutex_unlock(&w->mutex);
			job_run(job, &asker);
			(void)pthread_mutex_lock(&w->mutex);
			job_remove(w, job);
			job_free(job);
			(void)pthread_cond_broadcast(&w->changed);
			continue;
		}
		if (w->is_ending)
			break;
		worker_wait(w, &asker);
	}
	(void)pthread_mutex_unlock(&w->mutex);
	asker_done(&asker);
	return NULL;
}

int workers_new(const struct server *server, struct workers **ret)
{
	struct workers *w = calloc(1, sizeof(*w));
	pthread_condattr_t monotonic;

	if (!w)
		return -ENOMEM;
	w->server = server;
	(void)pthread_mutex_init(&w->mutex, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&w->changed, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	*ret = w;
	return 0;
}

static void job_refuse(const struct workers_asker *asker, const struct rpc_message *message, const char *sentence)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	rpc_error_append(&out, message->id, RPC_INTERNAL, sentence, "");
	asker->send(buf_text(&out), out.n, /* is_answer= */ true, RPC_INTERNAL, asker->data);
}

/*
 * With the lock held. Starts a thread for one more request unless an idle one takes it: an idle thread that was woken
 * counts as idle until it runs, and so the requests that wait already are counted, too. Return: whether a thread runs
 */
static bool worker_start(struct workers *w)
{
	if (w->n_idle <= waiting_count(w) && w->n_threads < WORKERS_MAX &&
	    pthread_create(&w->threads[w->n_threads], NULL, worker_run, w) == 0)
		w->n_threads++;
	return w->n_threads > 0;
}

/*
 * The request of an asker that is still to be answered. One that was cancelled or is being answered is over for its
 * asker, whose place in memory, and ids, may be another's by now.
 */
static struct job *job_find(const struct workers *w, const struct workers_asker *asker, const char *id)
{
	for (struct job *job = w->jobs; job; job = job->next)
		if (job->asker.data == asker->data && !atomic_load(&job->call.is_cancelled) &&
		    strcmp(job->message.id, id) == 0)
			return job;
	return NULL;
}

void workers_add(struct workers *w, struct rpc_message *message, const struct workers_asker *asker)
{
	struct job *job = calloc(1, sizeof(*job)), **link = &w->jobs;
	const char *problem = NULL;

	(void)pthread_mutex_lock(&w->mutex);
	if (!job)
		problem = "no memory for this request";
	else if (job_find(w, asker, message->id))
		problem = "a request with this id is still running";
	else if (w->n_jobs == WORKERS_JOBS_MAX)
		problem = "64 requests are running or waiting: wait for an answer, then ask again";
	else if (!worker_start(w))
		problem = "no thread can be started";
	if (!problem) {
		job->message = *message;
		job->asker = *asker;
		job->workers = w;
		job->call.message = &job->message;
		job->call.notify = progress_send;
		job->call.transport = job;
		while (*link)
			link = &(*link)->next;
		*link = job;
		w->n_jobs++;
		(void)pthread_cond_signal(&w->changed);
	}
	(void)pthread_mutex_unlock(&w->mutex);
	if (problem) {
		job_refuse(asker, message, problem);
		rpc_message_done(message);
		free(job);
	}
	*message = (struct rpc_message)RPC_MESSAGE_INIT;
}

bool workers_cancel(struct workers *w, const struct workers_asker *asker, const char *id)
{
	struct job *job;
	bool is_ours;

	(void)pthread_mutex_lock(&w->mutex);
	job = job_find(w, asker, id);
	is_ours = job && answer_claim(job);
	(void)pthread_mutex_unlock(&w->mutex);
	return is_ours;
}

void workers_cancel_all(struct workers *w)
{
	(void)pthread_mutex_lock(&w->mutex);
	for (struct job *job = w->jobs; job; job = job->next)
		(void)answer_claim(job);
	(void)pthread_mutex_unlock(&w->mutex);
}

/* With the lock held. What was asked gets its answer, also where that is a refusal. */
static void rest_refuse(struct workers *w)
{
	for (struct job *job = w->jobs; job; job = job->next)
		if (answer_claim(job))
			job_refuse(&job->asker, &job->message, "the input ended before this was done");
}

void workers_free(struct workers *w)
{
	const struct timespec until = seconds_from_now(WORKERS_END_S);

	(void)pthread_mutex_lock(&w->mutex);
	w->is_ending = true;
	(void)pthread_cond_broadcast(&w->changed);
	while (w->jobs && pthread_cond_timedwait(&w->changed, &w->mutex, &until) != ETIMEDOUT)
		;
	rest_refuse(w);
	(void)pthread_mutex_unlock(&w->mutex);
	for (size_t i = 0; i < w->n_threads; i++)
		(void)pthread_join(w->threads[i], NULL);
	(void)pthread_cond_destroy(&w->changed);
	(void)pthread_mutex_destroy(&w->mutex);
	free(w);
}
