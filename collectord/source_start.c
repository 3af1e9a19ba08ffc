// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "daemon"
#include "source_start.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "capture.h"
#include "clock.h"
#include "events/source.h"
#include "notify.h"
#include "privilege.h"
#include "recording.h"
#include "start_report.h"
#include "tracers.h"

static int tracer_add(uint32_t pid, void *data)
{
	return probe_set_tracer_add(data, pid);
}

static int tracer_remove(uint32_t pid, void *data)
{
	return probe_set_tracer_remove(data, pid);
}

static int tracer_hidden(uint32_t pid, uint64_t *ret_ns, void *data)
{
	return probe_set_tracer_hidden(data, pid, ret_ns);
}

static uint64_t store_unix_ns(uint64_t monotonic_ns, void *data)
{
	(void)data;
	return clock_to_unix_ns(monotonic_ns);
}

bool source_start_must_keep(const struct source_start *s)
{
	const struct store_options *db = &s->options->db;

	return s->is_private && db->path && !db->is_own_place;
}

/*
 * Whatever is wrong with the file at a default path, capture and the live view go on, and say so. The thread of a
 * private daemon starts before privilege is given up: it takes one user's identity and keeps no capability.
 */
static void keep_start(struct source_start *s, const char *back_end)
{
	struct store_options store = s->options->db;
	struct store_clock clock = { capture_now_ns, store_unix_ns, s->capture };
	struct utsname names = { .release = "" };
	int r;

	if (!store.path)
		return;
	(void)uname(&names);
	store.kernel = names.release;
	store.back_end = back_end;
	store.together = subordinate_read();
	if (s->is_private && !store.has_owner) {
		store.has_owner = true;
		store.owner_uid = geteuid();
		store.owner_gid = getegid();
	}
	if (s->capture->source)
		store.clock = &clock;
	r = store_open(&store, s->store_problem, sizeof(s->store_problem), &s->store);
	if (r < 0)
		s->store = NULL;
	if (s->store_problem[0] && !s->is_private) /* a private one's client says it */
		(void)log_warning(r, "%s", s->store_problem);
}

static int privilege_give_up(struct source_start *s, const struct privilege_need *need)
{
	int r = privilege_seal(need);

	return r < 0 ? start_failed(s->report, r, "cannot give up privilege") : 0;
}

static int capture_seal(struct source_start *s, bool late_perf)
{
	return privilege_give_up(s, &(struct privilege_need){ .late_perf = late_perf, .continues = s->is_private });
}

/* Where the probes cannot be had the daemon serves all the same and says why. Return: whether they can */
static bool probes_load(struct source_start *s)
{
	const struct probe_set_options options = { .back_end = s->options->back_end,
						   .ring_bytes = s->options->ring_bytes,
						   .all_operations = s->options->all_operations,
						   .is_thinned = s->options->budget > 0 };
	struct capture *c = s->capture;
	int r = capture_load(c, &options);

	if (r < 0) {
		if (!s->is_private) /* a private one's client says it */
			(void)log_warning(r, "%s; serving without capture", c->probes_reason);
		return false;
	}
	tracers_begin(s->tracers, &(struct tracers_sink){ tracer_add, tracer_remove, tracer_hidden, c->probes });
	return true;
}

static uint64_t stored_ns(void *data)
{
	struct store_state state;

	store_state(data, &state);
	return state.records_ns;
}

/* The store is open by then, if it is at all. */
static struct capture_wish capture_wish_of(const struct source_start *s)
{
	struct capture_wish wish = { .budget = s->options->budget,
				     .own_cpu = s->is_private ? 0 : s->options->own_cpu,
				     .ring_bytes = s->ring_bytes,
				     .behind = { store_sink(s->store) } };

	if (s->store)
		wish.stored = (struct own_cpu_store){ stored_ns, s->store };
	memcpy(wish.before, s->before, sizeof(wish.before));
	return wish;
}

static int parts_start(struct source_start *s)
{
	const struct store_options *db = &s->options->db;
	struct capture_wish wish = capture_wish_of(s);
	CLEANUP(freep) char *libraries = NULL;
	int r = 0;

	/* A service's database has its list of libraries beside it; a private daemon's place is its user's, and has
	 * none. */
	if (!s->is_private && !db->has_owner && db->path)
		r = asprintf(&libraries, "%s.libraries", db->path) < 0 ? -ENOMEM : 0;
	wish.libraries = libraries;
	if (r == 0)
		r = capture_start(s->capture, &wish);
	return r < 0 ? start_failed(s->report, r, "cannot start to capture") : 0;
}

int source_start_record(struct source_start *s)
{
	int r = 0;

	if (!s->recording->lease && !s->is_stopped && s->capture->leases)
		r = recording_apply(s->recording, s->capture->leases, s->capture->targets);
	return r < 0 ? start_failed(s->report, r, "cannot start to capture") : 0;
}

/* Before anybody is served: where one daemon is for one client, who waits for just that. */
static int capture_start_first(struct source_start *s)
{
	bool is_loaded;
	int r;

	/* Before the seal: the file's owner may be another user. Before the probes: a file that cannot be recorded to
	 * is refused at once. */
	keep_start(s, "none");
	is_loaded = (s->store || !source_start_must_keep(s)) && probes_load(s);
	if (is_loaded && s->store)
		store_back_end(s->store, capture_back_end(s->capture));
	if (is_loaded)
		discover_prepare(&s->capture->discover, s->loop);
	r = capture_seal(s, capture_uses_perf(s->capture));
	if (r < 0 || !is_loaded)
		return r;
	r = parts_start(s);
	return r < 0 ? r : source_start_record(s);
}

/* Links to several uprobes at once came with Linux 6.6; without them only perf events are left. */
static bool may_need_perf(enum probe_back_end back_end)
{
	struct utsname names;
	int major = 0, minor = 0;

	if (back_end != PROBE_BACK_END_AUTO)
		return back_end == PROBE_BACK_END_PERF;
	if (uname(&names) < 0 || sscanf(names.release, "%d.%d", &major, &minor) != 2)
		return true;
	return major < 6 || (major == 6 && minor < 6);
}

/*
 * Loading takes longer than whoever comes should wait: what needs no probes is answered before. What
 * the probes do not need is given up by then all the same.
 */
static int capture_start_later(struct source_start *s)
{
	int r;

	discover_prepare(&s->capture->discover, s->loop);
	r = capture_seal(s, may_need_perf(s->options->back_end));
	if (r < 0)
		return r;
	keep_start(s, "none"); /* as long as none are there */
	s->capture->is_loading = true;
	return 0;
}

int source_start_load(struct source_start *s)
{
	bool is_loaded;
	int r = 0;

	if (!s->capture->is_loading)
		return 0;
	(void)uv_timer_stop(&s->load_timer);
	/* the kernel checks programs for long where the CPU is slow, or not to be had */
	notify_slow(/* is_slow= */ true);
	is_loaded = probes_load(s);
	notify_slow(/* is_slow= */ false);
	if (is_loaded) {
		if (may_need_perf(s->options->back_end) && !capture_uses_perf(s->capture))
			r = capture_seal(s, /* late_perf= */ false);
		r = r == 0 ? parts_start(s) : r;
	}
	if (r < 0)
		return r;
	s->capture->is_loading = false;
	if (s->store)
		store_back_end(s->store, capture_back_end(s->capture));
	s->events.loaded(s->data);
	return 0;
}

/* For what fails while the loop runs. */
static void failed_tell(const struct source_start *s, int r)
{
	if (r < 0)
		s->events.failed(r, s->data);
}

static void recording_fired(uv_timer_t *timer)
{
	failed_tell(timer->data, source_start_record(timer->data));
}

static void load_fired(uv_timer_t *timer)
{
	struct source_start *s = timer->data;
	int r = source_start_load(s);

	if (r == 0)
		(void)uv_timer_start(timer, recording_fired, 0, 0); /* behind the answers of who waited */
	failed_tell(s, r);
}

void source_start_load_soon(struct source_start *s)
{
	if (s->capture->is_loading && !s->is_stopped)
		(void)uv_timer_start(&s->load_timer, load_fired, 0, 0);
}

/* A demo needs neither the kernel half nor any privilege. */
static int demo_start(struct source_start *s)
{
	const struct source_options *options = s->options;
	struct capture_wish wish;
	int r = capture_demo_open(s->capture, options->demo, options->demo_speed);

	if (r < 0)
		return start_failed(s->report, r, "cannot play '%s'", options->demo);
	keep_start(s, s->capture->source->ops->name(s->capture->source));
	r = privilege_give_up(s, &(struct privilege_need){ .nothing = true });
	if (r < 0)
		return r;
	wish = capture_wish_of(s);
	r = capture_demo_start(s->capture, &wish);
	return r < 0 ? start_failed(s->report, r, "cannot play '%s'", options->demo) : 0;
}

/* Answers from a file that was recorded before, or says what is wrong: that does not go away by starting again. */
static int nothing_start(struct source_start *s)
{
	const struct source_options *options = s->options;
	struct capture *c = s->capture;

	if (options->fault) {
		(void)snprintf(c->probes_reason, sizeof(c->probes_reason), "%s", options->fault);
		(void)snprintf(s->store_problem, sizeof(s->store_problem), "%s", options->fault);
	} else {
		(void)snprintf(c->probes_reason, sizeof(c->probes_reason), "this daemon only reads '%s'%s",
			       options->read_path,
			       options->read_path_bytes > strlen(options->read_path) ? " and other files" : "");
	}
	return privilege_give_up(s, &(struct privilege_need){ .nothing = true });
}

int source_start_begin(struct source_start *s)
{
	const struct source_options *options = s->options;

	if (options->fault || options->read_path)
		return nothing_start(s);
	if (options->demo)
		return demo_start(s);
	if (options->is_late || (!s->is_private && !options->db.has_owner))
		return capture_start_later(s);
	return capture_start_first(s);
}

void source_start_init(struct source_start *s)
{
	(void)uv_timer_init(s->loop, &s->load_timer);
	s->load_timer.data = s;
}

void source_start_stop(struct source_start *s)
{
	s->is_stopped = true;
	uv_close((uv_handle_t *)&s->load_timer, NULL);
}
