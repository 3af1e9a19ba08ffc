// SPDX-License-Identifier: Apache-2.0
#include "cli/io/choice.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/connect.h"
#include "cli/trace/child.h"
#include "libingero/render/user.h"

#define CALLS_MOST 128
#define PERIOD_NS 1000000000ull
#define SENTENCE_BYTES 256

/* Return: whether options contradict each other; `sentence` says how */
static bool choice_contradicts(const struct io_choice *c, const struct options_rest *rest, const char *command,
			       char sentence[SENTENCE_BYTES])
{
	const char *what = NULL;

	if (rest->argc && c->pids.n)
		what = "'--pid' or a program after '--', not both";
	else if (rest->argc && (c->uids.n || c->is_all))
		what = "'--user' or '--all', or a program after '--', not both; a program runs as yourself";
	else if (c->pids.n && c->uids.n)
		what = "'--pid' or '--user', not both";
	if (what)
		(void)snprintf(sentence, SENTENCE_BYTES, "%s takes either %s", command, what);
	return what;
}

/* Splits a list in place. Return: number of names; CALLS_MOST + 1: too many */
static size_t calls_split(char *text, char *ret[CALLS_MOST])
{
	size_t n = 0;

	for (char *rest, *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		if (n == CALLS_MOST)
			return CALLS_MOST + 1;
		ret[n++] = name;
	}
	return n;
}

static void scope_name(const struct io_choice *c, const struct options_rest *rest, const struct caller *caller,
		       char *ret, size_t room)
{
	if (rest->argc)
		(void)snprintf(ret, room, "of %s", option_quote(trace_child_name(rest->argv)).text);
	else if (c->pids.n == 1)
		(void)snprintf(ret, room, "from pid %u", c->pids.items[0]);
	else if (c->pids.n)
		(void)snprintf(ret, room, "from %zu pids", c->pids.n);
	else if (c->uids.n)
		(void)snprintf(ret, room, "of %s%s", user_name(c->uids.items[0]).text,
			       c->uids.n > 1 ? " and others" : "");
	else
		(void)snprintf(ret, room, "of %s", c->is_all ? "any user" : user_name(caller->uid).text);
}

static void io_request_fill(const struct io_choice *c, const uint32_t *own, Ingero__V1__IoRequest *request)
{
	bool has_scope = c->pids.n || c->uids.n || c->is_all;

	request->pids = c->pids.items;
	request->n_pids = c->pids.n;
	request->uids = has_scope ? c->uids.items : (uint32_t *)(uintptr_t)own;
	request->n_uids = has_scope ? c->uids.n : 1;
	request->all = c->is_all && !c->pids.n && !c->uids.n;
	request->comm = (char *)(uintptr_t)(c->comm ? c->comm : "");
	request->path = (char *)(uintptr_t)(c->path ? c->path : "");
	request->min_duration_ns = c->min_ns;
	request->period_ns = PERIOD_NS;
	request->duration_ns = c->duration_ns;
}

int io_choice_run(const struct io_choice *c, const struct options_rest *rest, const char *command, struct io_wish *wish)
{
	static const char *const daemon_args[] = { "--late-probes", NULL };
	const struct caller caller = caller_get();
	CLEANUP(freep) char *list = c->calls ? strdup(c->calls) : NULL;
	char *calls[CALLS_MOST], scope[160], sentence[SENTENCE_BYTES];
	Ingero__V1__IoRequest request = INGERO__V1__IO_REQUEST__INIT;
	struct ingero_connect_wish connect = { .command = command,
					       .kind = INGERO_CONNECT_LOOK,
					       .daemon_args = daemon_args,
					       .acts_as_root = c->uids.n > 0 || c->pids.n > 0,
					       .is_all = c->is_all };
	uint32_t own = caller.uid;
	struct ingero *ingero;
	int status;

	if (choice_contradicts(c, rest, command, sentence))
		return command_refuse(sentence);
	request.n_calls = list ? calls_split(list, calls) : 0;
	request.calls = calls;
	if (list && (!request.n_calls || request.n_calls > CALLS_MOST))
		return command_refuse("'--call' takes names of system calls with commas between, such as read,openat");
	scope_name(c, rest, &caller, scope, sizeof(scope));
	if (connect_open(&connect, &ingero, NULL) < 0)
		return COMMAND_FAILED; /* connect_open() printed the error */
	io_request_fill(c, &own, &request);
	request.events = wish->has_events;
	wish->caller = &caller;
	wish->request = &request;
	wish->scope = scope;
	wish->program = rest->argc ? rest->argv : NULL;
	status = io_session_run(&ingero, wish);
	ingero_close(ingero);
	return status;
}
