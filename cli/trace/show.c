// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/show.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libingero/answers/libraries.h"
#include "libingero/answers/stack/frames.h"
#include "libingero/answers/stack/join.h"
#include "cli/terminal.h"
#include "libingero/answers/trace/json.h"
#include "cli/trace/screen.h"

#define DEBUG_FILE_COLUMNS 1024u /* nothing of a frame is cut at a terminal's width */

static uint64_t show_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static struct trace_screen screen_of(struct trace_show *s, char *clock, size_t room)
{
	time_t seconds = time(NULL);
	struct tm local;

	if (!localtime_r(&seconds, &local) || strftime(clock, room, "%H:%M:%S", &local) == 0)
		clock[0] = 0;
	return (struct trace_screen){
		.setting = &s->setting,
		.figures = s->figures.is_whole ? &s->figures.view : NULL,
		.recent = s->recent.is_whole ? &s->recent.view : NULL,
		.live = &s->live,
		.previous = s->previous.is_whole ? &s->previous.view : NULL,
		.machine = s->setting.demo ? NULL
					   : &s->machine, /* a demo's calls are not made by this machine's processes */
		.host = s->host,
		.clock = clock,
	};
}

static void screen_draw(struct trace_show *s)
{
	CLEANUP(buf_done) struct buf lines = BUF_INIT;
	struct trace_screen screen;
	char clock[16];

	if (s->view != TRACE_VIEW_SCREEN)
		return;
	screen = screen_of(s, clock, sizeof(clock));
	if (trace_screen_append(&screen, &s->style, &lines) < 0)
		return; /* no memory for a frame: the previous one stays */
	terminal_frame(&s->out.buf, buf_text(&lines), s->style.rows ? s->style.rows : 24);
	(void)output_flush(&s->out); /* the loop notices a reader that is gone */
}

static void machine_update(struct trace_show *s)
{
	struct machine_sample sample = machine_sample_read(s->proc_fd, show_now_ns());

	s->machine = machine_load_between(&s->machine_before, &sample);
	s->machine_before = sample;
}

static int start_keep(struct trace_show *s, const Ingero__V1__Start *start)
{
	size_t n = ingero__v1__start__get_packed_size(start);
	CLEANUP(freep) uint8_t *packed = malloc(n + 1);

	if (!packed || s->start)
		return packed ? 0 : -ENOMEM;
	(void)ingero__v1__start__pack(start, packed);
	s->start = ingero__v1__start__unpack(NULL, n, packed);
	if (!s->start)
		return -ENOMEM;
	s->setting.start = s->start;
	return 0;
}

static void show_library_count(struct trace_show *s, const Ingero__V1__Library *library)
{
	s->n_libraries += !library->reason || !*library->reason;
	s->setting.n_libraries = s->n_libraries;
}

static int start_take(struct trace_show *s, const Ingero__V1__Start *start)
{
	int r = start_keep(s, start);

	if (r < 0)
		return r;
	for (size_t i = 0; i < start->n_libraries; i++)
		show_library_count(s, start->libraries[i]);
	s->n_libraries += start->more_libraries;
	s->setting.n_libraries = s->n_libraries;
	if (s->view == TRACE_VIEW_LINES) {
		trace_report_start(&s->setting, &s->style, &s->out.buf);
		s->setting.told = &s->told;
		s->setting.is_start_shown = true;
	}
	return 0;
}

/* Beside a program: on stderr, with the new findings. What the terminal does not take now comes later. */
static int program_progress_show(struct trace_show *s)
{
	const Ingero__V1__Summary *before = s->previous.is_whole ? &s->previous.view : NULL, *now = &s->figures.view;
	CLEANUP(buf_done) struct buf lines = BUF_INIT;
	struct text_style style;
	int r;

	if (!output_can_offer(STDERR_FILENO))
		return 0;
	style = output_style(STDERR_FILENO, s->no_color);
	s->has_ended_interval = true;
	r = trace_progress_append(&s->progress, now, before, "ingero", &style, &lines);
	for (size_t i = 0; i < now->n_findings; i++)
		if (trace_finding_is_news(&s->told, now->findings[i]))
			trace_finding_append(now->findings[i], trace_report_explain(&s->setting), &style, &lines);
	s->setting.told = &s->told;
	output_offer(STDERR_FILENO, &lines);
	return r;
}

static int progress_show(struct trace_show *s)
{
	const Ingero__V1__Summary *before = s->previous.is_whole ? &s->previous.view : NULL;

	if (!trace_progress_is_due(&s->progress, s->figures.view.window_ns))
		return 0;
	if (s->view == TRACE_VIEW_PROGRAM)
		return program_progress_show(s);
	if (s->view != TRACE_VIEW_LINES)
		return 0;
	s->has_ended_interval = true;
	return trace_progress_append(&s->progress, &s->figures.view, before, "", &s->style, &s->out.buf);
}

static int summary_take(struct trace_show *s, const Ingero__V1__Summary *piece, bool is_last)
{
	int r = trace_summary_add(&s->arriving, piece);

	if (r < 0 || !s->arriving.is_whole)
		return r;
	if (is_last) {
		trace_summary_take(&s->summary, &s->arriving);
		return 0;
	}
	if (s->live.is_paused) {
		trace_summary_take(&s->later, &s->arriving);
		return 0;
	}
	if (s->view == TRACE_VIEW_SCREEN || s->has_ended_interval)
		trace_summary_take(&s->previous, &s->figures);
	trace_summary_take(&s->figures, &s->arriving);
	s->has_ended_interval = false;
	if (s->view == TRACE_VIEW_JSON)
		return trace_json_figures(&s->out.buf, &s->figures.view);
	machine_update(s);
	screen_draw(s);
	return progress_show(s);
}

static int recent_take(struct trace_show *s, const Ingero__V1__Summary *piece)
{
	int r = trace_summary_add(&s->recent_arriving, piece);

	if (r == 0 && s->recent_arriving.is_whole && !s->live.is_paused)
		trace_summary_take(&s->recent, &s->recent_arriving);
	return r;
}

/* Where stderr cannot be written, there is no other place for these lines. */
static void stacks_show(struct trace_show *s, const Ingero__V1__EventBatch *batch)
{
	CLEANUP(output_done) struct output err = OUTPUT_INIT(STDERR_FILENO);
	struct text_style style = output_style(STDERR_FILENO, s->no_color);

	err.wake_fd = s->out.wake_fd;
	if (style.rows == 0)
		style.columns = DEBUG_FILE_COLUMNS;
	for (size_t i = 0; i < batch->n_events; i++)
		stack_debug_append(batch->events[i], stack_of_event(batch->events[i], batch->stacks, batch->n_stacks),
				   &style, &err.buf);
	(void)output_flush(&err);
}

int trace_show_reply(struct trace_show *s, const Ingero__V1__TraceReply *reply)
{
	int r = s->view == TRACE_VIEW_JSON ? trace_json_reply(&s->out.buf, reply) : 0;

	if (r < 0)
		return r;
	switch (reply->body_case) {
	case INGERO__V1__TRACE_REPLY__BODY_START:
		return start_take(s, reply->start);
	case INGERO__V1__TRACE_REPLY__BODY_LIBRARY:
		show_library_count(s, reply->library);
		if (s->view == TRACE_VIEW_LINES)
			library_append(&s->out.buf, &s->style, "  ", reply->library);
		return 0;
	case INGERO__V1__TRACE_REPLY__BODY_FIGURES:
		return summary_take(s, reply->figures, /* is_last= */ false);
	case INGERO__V1__TRACE_REPLY__BODY_RECENT:
		return recent_take(s, reply->recent);
	case INGERO__V1__TRACE_REPLY__BODY_SUMMARY:
		return summary_take(s, reply->summary, /* is_last= */ true);
	case INGERO__V1__TRACE_REPLY__BODY_FINDING:
		if (s->view == TRACE_VIEW_LINES && trace_finding_is_news(&s->told, reply->finding))
			trace_finding_append(reply->finding, trace_report_explain(&s->setting), &s->style, &s->out.buf);
		return 0;
	case INGERO__V1__TRACE_REPLY__BODY_EVENTS: /* separate lines only as JSON, and their stacks */
		if (s->has_debug)
			stacks_show(s, reply->events);
		return 0;
	case INGERO__V1__TRACE_REPLY__BODY_LOSS: /* in the footer, from the summary */
	case INGERO__V1__TRACE_REPLY__BODY_RESUME:
	case INGERO__V1__TRACE_REPLY__BODY__NOT_SET:
	default: /* reply bodies of later versions */
		return 0;
	}
}

void trace_show_terminal(struct trace_show *s)
{
	s->style = output_style(STDOUT_FILENO, s->no_color);
	if (terminal_enter(STDIN_FILENO, STDOUT_FILENO) < 0)
		s->view = TRACE_VIEW_LINES; /* a terminal that takes no text takes no screen either */
	screen_draw(s);
}

bool trace_show_key(struct trace_show *s, char key)
{
	bool is_end = trace_live_key(&s->live, key);

	if (!s->live.is_paused && s->later.is_whole) {
		trace_summary_take(&s->previous, &s->figures);
		trace_summary_take(&s->figures, &s->later);
		if (s->recent_arriving.is_whole)
			trace_summary_take(&s->recent, &s->recent_arriving);
	}
	screen_draw(s);
	return is_end;
}

void trace_show_resize(struct trace_show *s)
{
	s->style = output_style(STDOUT_FILENO, s->no_color);
	screen_draw(s);
}

int trace_show_end(struct trace_show *s)
{
	const Ingero__V1__Summary *last = s->summary.is_whole ? &s->summary.view : NULL;

	if (!last && s->figures.is_whole && !s->out.is_gone)
		last = s->later.is_whole ? &s->later.view : &s->figures.view;
	if (!last)
		return 0;
	if (s->view == TRACE_VIEW_JSON)
		return s->summary.is_whole ? trace_json_summary(&s->out.buf, last) : 0;
	return trace_report_summary(&s->setting, last, /* is_cut= */ !s->summary.is_whole, &s->style, &s->out.buf);
}

void trace_show_init(struct trace_show *s, enum trace_view view, bool no_color, const struct trace_setting *setting,
		     const struct trace_pace *pace)
{
	*s = (struct trace_show){
		.view = view,
		.no_color = no_color,
		.out = OUTPUT_INIT(STDOUT_FILENO),
		.style = output_style(STDOUT_FILENO, no_color),
		.setting = *setting,
		.progress = { .pace = *pace },
		.machine = { -1, -1, -1, -1 },
		.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	};
	if (gethostname(s->host, sizeof(s->host)) < 0)
		s->host[0] = 0;
	s->host[sizeof(s->host) - 1] = 0;
	s->host[strcspn(s->host, ".")] = 0;
	machine_update(s);
}

void trace_show_done(struct trace_show *s)
{
	trace_summary_done(&s->arriving);
	trace_summary_done(&s->figures);
	trace_summary_done(&s->previous);
	trace_summary_done(&s->recent_arriving);
	trace_summary_done(&s->recent);
	trace_summary_done(&s->later);
	trace_live_done(&s->live);
	trace_summary_done(&s->summary);
	trace_told_done(&s->told);
	if (s->start)
		ingero__v1__start__free_unpacked(s->start, NULL);
	if (s->proc_fd >= 0)
		(void)close(s->proc_fd);
	output_done(&s->out);
}
