// SPDX-License-Identifier: Apache-2.0
/*
 * A connection for a command: to the service, or to a private daemon where none
 * serves or the service cannot do it.
 */
#pragma once

#include "cli/caller.h"
#include "ingero/ingero.h"

enum connect_kind {
	CONNECT_CAPTURE, /* live: a private daemon needs root; it keeps what it sees in the caller's database */
	CONNECT_LOOK,	 /* live, and nothing is kept: a private daemon needs root */
	CONNECT_READ,	 /* what was kept: a private daemon only opens the file, as the caller */
	CONNECT_DEMO,	 /* a private daemon always, as the caller */
};

/* The option of commands that show what belongs to somebody. */
#define ALL_OPTION(fields, member)                                                                                     \
	{                                                                                                              \
		.name = "all", .kind = OPTION_FLAG, .field = offsetof(fields, member),                                 \
		.help = "Everybody's, also under sudo; without it your own (members of ingero-read always see all)"    \
	}

struct connect_wish {
	const char *command; /* in sentences: "trace" */
	enum connect_kind kind;
	bool acts_as_root;		/* under sudo: not for the caller but as root */
	bool is_all;			/* likewise, and whoever may not see everybody's is refused */
	bool needs_private;		/* the service cannot do it, only a daemon of our own */
	const char *needs_private_why;	/* the option that asks for it: "--back-end" */
	const char *db_path;		/* value of --db, which asks for a daemon of our own, too; NULL: not given */
	const char *const *daemon_args; /* of a private daemon, NULL-terminated; NULL: none */
};

/**
 * connect_look() - connect to whoever can tell of this machine, without a word on stderr
 *
 * The service; where none runs and the caller is root, a daemon of our own that keeps nothing.
 *
 * @error: one sentence on failure
 * Return: 0; -ENOENT (nobody to ask); -EPERM (may not see everybody's); else as ingero_open()
 */
int connect_look(const char *command, const struct caller *caller, bool is_all, char *error, size_t error_bytes,
		 struct ingero **ret_ingero, bool *ret_is_private);

/**
 * connect_open() - connect, saying on stderr why not
 * @ret_is_private: whether the daemon is our own; may be NULL
 * Return: 0, or -errno after one sentence on stderr
 */
int connect_open(const struct connect_wish *wish, const struct caller *caller, struct ingero **ret_ingero,
		 bool *ret_is_private);
