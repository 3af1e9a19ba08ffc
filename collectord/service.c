// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "service"
#include "service.h"

#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "notify.h"

#define STATUS_NS (5 * NSEC_PER_SEC) /* maximum age of the status line, with a supervisor */

static void status_tell(struct service *s)
{
	char text[sizeof(s->status)] = "";

	s->events.describe(text, sizeof(text), s->data);
	if (strcmp(text, s->status) == 0)
		return;
	memcpy(s->status, text, sizeof(s->status));
	notify_status(s->status);
}

/* Reports from the main loop: when that hangs, no report is sent. */
static void on_alive(uv_timer_t *timer)
{
	struct service *s = timer->data;

	if (s->is_watched)
		notify_alive();
	status_tell(s);
}

static void on_idle(uv_timer_t *timer)
{
	struct service *s = timer->data;

	s->events.admit(s->data);
	if (!s->events.is_idle(s->data))
		return; /* a client has just connected: the time counts from its end */
	notify_stopping();
	s->events.leave(s->data);
}

static void on_reload(uv_signal_t *signal, int number)
{
	struct service *s = signal->data;

	(void)number;
	notify_reloading();
	s->events.reload(s->data);
	s->events.describe(s->status, sizeof(s->status), s->data);
	notify_ready(s->status);
	service_changed(s);
}

int service_start(uv_loop_t *loop, const struct service_events *events, void *data, struct service *s)
{
	*s = (struct service){ .events = *events, .data = data };
	(void)uv_timer_init(loop, &s->idle_timer); /* the three cannot fail */
	(void)uv_timer_init(loop, &s->alive_timer);
	(void)uv_signal_init(loop, &s->reload_signal);
	s->idle_timer.data = s->alive_timer.data = s->reload_signal.data = s;
	return uv_signal_start(&s->reload_signal, on_reload, SIGHUP);
}

void service_changed(struct service *s)
{
	bool waits = s->idle_ns && s->events.is_idle(s->data);

	if (!waits)
		(void)uv_timer_stop(&s->idle_timer);
	else if (!uv_is_active((uv_handle_t *)&s->idle_timer))
		(void)uv_timer_start(&s->idle_timer, on_idle, (s->idle_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC, 0);
}

void service_idle_after(struct service *s, uint64_t idle_ns)
{
	(void)uv_timer_stop(&s->idle_timer);
	s->idle_ns = idle_ns;
}

void service_ready(struct service *s)
{
	uint64_t watchdog_ns = notify_watchdog_ns(),
		 period_ms = (watchdog_ns ? MIN(watchdog_ns / 2, STATUS_NS) : STATUS_NS) / NSEC_PER_MSEC;

	s->is_watched = watchdog_ns > 0;
	s->events.describe(s->status, sizeof(s->status), s->data);
	notify_ready(s->status);
	if (notify_is_supervised())
		(void)uv_timer_start(&s->alive_timer, on_alive, period_ms, period_ms);
	uv_update_time(s->idle_timer.loop); /* no client could connect during the start */
	service_changed(s);
}

void service_stop(struct service *s)
{
	if (!s->data)
		return;
	notify_stopping();
	uv_close((uv_handle_t *)&s->idle_timer, NULL);
	uv_close((uv_handle_t *)&s->alive_timer, NULL);
	uv_close((uv_handle_t *)&s->reload_signal, NULL);
	s->data = NULL;
}
