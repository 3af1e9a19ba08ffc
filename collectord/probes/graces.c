// SPDX-License-Identifier: Apache-2.0
#include "probes/graces.h"

#include "base/grace.h"
#include "base/thread.h"

static void *period_wait(void *data)
{
	struct graces *g = data;

	(void)grace_wait();
	(void)uv_async_send(&g->over);
	return NULL;
}

/* Those that are running were all served. */
static void requests_exchange(struct graces *g)
{
	grace_requests served = g->running;

	g->running = g->next;
	g->next = served;
}

/* Return: 0 or -errno */
static int period_begin(struct graces *g)
{
	int r = thread_start(&g->thread, period_wait, g);

	if (r < 0)
		return r;
	g->is_waiting = true;
	uv_ref((uv_handle_t *)&g->over);
	g->n_periods++;
	requests_exchange(g);
	return 0;
}

static void serving_begin(struct graces *g)
{
	g->is_serving = true;
	g->n_served = 0;
}

/* Call one function, which may make requests, forget some, or close. */
static void request_serve(struct graces *g)
{
	while (g->n_served < g->running.n) {
		struct grace_request request = g->running.items[g->n_served++];

		if (!request.func)
			continue;
		request.func(request.data);
		return;
	}
}

static void serving_end(struct graces *g)
{
	g->running.n = 0;
	g->is_serving = false;
	uv_unref((uv_handle_t *)&g->over);
	if (!g->next.n || period_begin(g) == 0)
		return;
	(void)grace_wait(); /* no thread: better here than not at all */
	requests_exchange(g);
	uv_ref((uv_handle_t *)&g->over);
	serving_begin(g);
	(void)uv_async_send(&g->over);
}

static void period_over(uv_async_t *over)
{
	struct graces *g = over->data;

	if (g->is_waiting) {
		(void)pthread_join(g->thread, NULL); /* it has nothing left to do */
		g->is_waiting = false;
		serving_begin(g);
	}
	request_serve(g);
	if (!g->is_open)
		return;
	if (g->n_served < g->running.n)
		(void)uv_async_send(over); /* in the next turn: others are served between two */
	else if (g->is_serving)
		serving_end(g);
}

int graces_open(struct graces *g, uv_loop_t *loop)
{
	int r;

	*g = (struct graces){ .is_open = false };
	r = uv_async_init(loop, &g->over, period_over);
	if (r < 0)
		return r;
	g->over.data = g;
	uv_unref((uv_handle_t *)&g->over); /* it keeps the loop running as long as a request is not served */
	g->is_open = true;
	return 0;
}

void graces_close(struct graces *g)
{
	if (!g->is_open)
		return;
	g->is_open = false;
	if (g->is_waiting)
		(void)pthread_join(g->thread, NULL); /* it waits for milliseconds */
	g->is_waiting = false;
	ARRAY_DONE(&g->running);
	ARRAY_DONE(&g->next);
	uv_close((uv_handle_t *)&g->over, NULL);
}

int graces_request(struct graces *g, grace_func func, void *data)
{
	struct grace_request request = { func, data };
	int r = ARRAY_PUSH(&g->next, request);

	if (r < 0 || g->is_waiting || g->is_serving)
		return r;
	r = period_begin(g);
	if (r < 0)
		g->next.n--;
	return r;
}

static void requests_forget(grace_requests *requests, const void *data)
{
	for (size_t i = 0; i < requests->n; i++)
		if (requests->items[i].data == data)
			requests->items[i].func = NULL;
}

void graces_forget(struct graces *g, const void *data)
{
	requests_forget(&g->running, data);
	requests_forget(&g->next, data);
}
