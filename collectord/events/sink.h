// SPDX-License-Identifier: Apache-2.0
/* Receivers of a source's data: an ordered list. Each part starts and stops its own sink. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct event;
struct finding;
struct process_figures;
struct stack;
struct tick;

/* Functions of a part; missing ones are skipped. Pointers in arguments are borrowed. */
struct sink_ops {
	void (*event)(const struct event *event, void *data); /* a call; or an event of the host: .life is set */
	void (*stack)(struct stack *stack, void *data); /* of an earlier event: its frames are known now */
	void (*drained)(void *data);			      /* after each turn that delivered records */
	void (*second)(void *data); /* figures were collected, and their recent maxima are about to be taken */
	/* @is_last: no lease is left: open findings are closed, and stored with the rest of the second */
	void (*tick)(const struct tick *tick, bool is_last, void *data);
	void (*finding)(const struct finding *finding, void *data);	   /* opened, changed or closed */
	void (*gone)(const struct process_figures *process, void *data);   /* it ended outside of a tick */
	void (*forget)(const struct process_figures *process, void *data); /* no later answer has it */
};

struct sink {
	const struct sink_ops *ops;
	void *data;
};
