// SPDX-License-Identifier: Apache-2.0
/* One Io call from its request to its summary: a live table, lines or JSON. */
#pragma once

#include <stdbool.h>

#include "ingero/ingero.h"
#include "libingero/answers/io/figures.h"
#include "libingero/connect/caller.h"

/* All borrowed. */
struct io_wish {
	const struct caller *caller;
	const Ingero__V1__IoRequest *request; /* everything but the program's process */
	const char *scope;		      /* whose calls: "of alice" */
	char **program;			      /* NULL: none */
	bool is_json;
	bool has_events; /* single calls, too */
	bool no_color;
	struct io_figures *ret_figures; /* NULL: the summary is shown; else it comes here, and nothing is shown */
};

/**
 * io_session_run() - trace until the daemon, the program or the user ends it
 * @ingero: closed and set to NULL when its daemon cannot answer any more
 * Return: exit status
 */
int io_session_run(struct ingero **ingero, const struct io_wish *wish);
