// SPDX-License-Identifier: Apache-2.0
/*
 * A connection for a command: to the service, or where none serves and we are
 * root, to a private daemon.
 */
#pragma once

#include "cli/caller.h"
#include "ingero/ingero.h"

struct connect_wish {
	const char *command;		/* in sentences: "trace" */
	bool acts_as_root;		/* under sudo: not for the caller but as root */
	bool needs_private;		/* the service cannot do it, only a daemon of our own */
	const char *needs_private_why;	/* the option that asks for it: "--back-end" */
	const char *const *daemon_args; /* of a private daemon, NULL-terminated; NULL: none */
};

/**
 * connect_open() - connect, saying on stderr why not
 * @ret_is_private: whether the daemon is our own; may be NULL
 * Return: 0, or -errno after one sentence on stderr
 */
int connect_open(const struct connect_wish *wish, const struct caller *caller, struct ingero **ret_ingero,
		 bool *ret_is_private);
