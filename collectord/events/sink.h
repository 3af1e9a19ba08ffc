// SPDX-License-Identifier: Apache-2.0
/*
 * Who gets what a source tells: an ordered list, each before the next. A part starts and stops its own sink.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct event;
struct finding;
struct process_figures;
struct tick;

/* What a part is told; what it has no function for it is not. What an argument points at is borrowed. */
struct sink_ops {
	void (*event)(const struct event *event, void *data); /* a call; or of the host: .life is set */
	void (*drained)(void *data);			      /* after each turn that brought something */
	void (*second)(void *data); /* figures were collected, and their recent maxima are about to be taken */
	/* @is_last: nobody watches any more: what is open is closed, and kept with the rest of the second */
	void (*tick)(const struct tick *tick, bool is_last, void *data);
	void (*finding)(const struct finding *finding, void *data);	   /* opened, changed or closed */
	void (*gone)(const struct process_figures *process, void *data);   /* it ended, and no tick tells */
	void (*forget)(const struct process_figures *process, void *data); /* no answer tells of it from now on */
};

struct sink {
	const struct sink_ops *ops;
	void *data;
};
