// SPDX-License-Identifier: Apache-2.0
#include "children/spare.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "children/process.h"

struct spare {
	uv_timer_t timer; /* until a process is started, or, where one waits, until it is ended */
	const char *role;
	uint64_t idle_ms;
	struct child_process *process; /* NULL: none waits */
	uint64_t asked_ms;	       /* of the loop's clock, when the last question was asked */
	bool is_asked;		       /* there was a question */
	bool is_often;		       /* the last two came one after another */
};

static void spare_end(struct spare *spare)
{
	if (spare->process)
		process_end(TAKE_PTR(spare->process));
}

/* Nothing is to be read from a process without a question: it has ended. */
static void on_spare_readable(int status, void *data)
{
	(void)status;
	spare_end(data);
}

static void on_spare_timer(uv_timer_t *timer)
{
	struct spare *spare = timer->data;

	if (spare->process) {
		spare_end(spare);
		return;
	}
	if (process_start(timer->loop, spare->role, NULL, 0, on_spare_readable, spare, &spare->process) == 0)
		(void)uv_timer_start(timer, on_spare_timer, spare->idle_ms, 0);
}

int spare_new(uv_loop_t *loop, const char *role, uint64_t idle_ms, struct spare **ret_spare)
{
	struct spare *spare = calloc(1, sizeof(*spare));

	if (!spare)
		return -ENOMEM;
	(void)uv_timer_init(loop, &spare->timer); /* cannot fail */
	spare->timer.data = spare;
	spare->role = role;
	spare->idle_ms = idle_ms;
	*ret_spare = spare;
	return 0;
}

struct child_process *spare_take(struct spare *spare)
{
	uint64_t now_ms = spare ? uv_now(spare->timer.loop) : 0;

	if (!spare)
		return NULL;
	spare->is_often = spare->is_asked && now_ms - spare->asked_ms < spare->idle_ms;
	spare->is_asked = true;
	spare->asked_ms = now_ms;
	(void)uv_timer_stop(&spare->timer);
	return TAKE_PTR(spare->process);
}

void spare_wish(struct spare *spare)
{
	if (spare && spare->is_often && !spare->process)
		(void)uv_timer_start(&spare->timer, on_spare_timer, 0, 0);
}

static void on_spare_close(uv_handle_t *handle)
{
	free(handle->data);
}

void spare_close(struct spare *spare)
{
	if (!spare)
		return;
	spare_end(spare);
	uv_close((uv_handle_t *)&spare->timer, on_spare_close);
}
