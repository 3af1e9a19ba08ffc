// SPDX-License-Identifier: Apache-2.0
/*
 * Which daemon answers: the service, or a private one where no service runs or the service cannot do it, and which
 * database that one reads or keeps. Under sudo everything is done for the user who typed it.
 */
#pragma once

#include "ingero/ingero.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ingero_connect_kind {
	INGERO_CONNECT_READ,	/* what was kept: a private daemon only opens the file, as the caller */
	INGERO_CONNECT_CAPTURE, /* live: a private daemon needs root; it keeps what it sees in the caller's database */
	INGERO_CONNECT_LOOK,	/* live, and nothing is kept: a private daemon needs root */
	INGERO_CONNECT_DEMO,	/* a private daemon always, as the caller */
};

/* All zero: read what was kept, from the service or the caller's own database. */
struct ingero_connect_wish {
	enum ingero_connect_kind kind;
	/* a database, which only a daemon of our own opens; NULL: INGERO_DB, else the service's, else
	 * ~/.ingero/ingero.db; "none", to CAPTURE: nothing is kept */
	const char *db_path;
	bool acts_as_root;		/* under sudo: not for the caller but as root */
	bool is_all;			/* likewise, and whoever may not see everybody's is refused */
	bool needs_private;		/* the service cannot do it, only a daemon of our own */
	const char *needs_private_why;	/* the option that asks for it, for a refusal: "--back-end"; may be NULL */
	const char *command;		/* of `ingero`, for what a refusal advises; NULL: "explain" */
	const char *const *daemon_args; /* of a private daemon, NULL-terminated; NULL: none */
	const char *program;		/* name and version of the client, for the daemon's log; NULL: this library's */
};

/**
 * ingero_connect() - connect to whoever can answer
 * @error: at least 512 bytes; one sentence for people on failure, with the way out
 * @ret_is_private: whether the daemon is our own; may be NULL
 * Return: 0; -ENOENT (nobody to ask, or no such database), -EPERM (needs root, or may not see everybody's), -EISDIR,
 * -ENAMETOOLONG, -EINVAL (root's SUDO_UID and SUDO_GID do not say who typed sudo); else as ingero_open()
 */
INGERO_PUBLIC int ingero_connect(const struct ingero_connect_wish *wish, char *error, size_t error_bytes,
				 struct ingero **ret_ingero, bool *ret_is_private);

#ifdef __cplusplus
}
#endif
