// SPDX-License-Identifier: Apache-2.0
/*
 * The choice of the daemon: the service, or a private one where no service runs or the service cannot do it; and the
 * database that a private daemon reads or writes. Under sudo everything is done for the user who typed it.
 */
#pragma once

#include "ingero/ingero.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ingero_connect_kind {
	INGERO_CONNECT_READ,	/* read a recording: a private daemon opens the file as the caller */
	INGERO_CONNECT_CAPTURE, /* live: a private daemon needs root; it records to the caller's database */
	INGERO_CONNECT_LOOK,	/* live, without a recording: a private daemon needs root */
	INGERO_CONNECT_DEMO,	/* always a private daemon, as the caller */
};

/* All zero: read the recording of the service, or the caller's own database. */
struct ingero_connect_wish {
	enum ingero_connect_kind kind;
	/*
	 * a database, which only a private daemon opens; NULL: INGERO_DB, else the service's, else ~/.ingero/ingero.db;
	 * "none", for CAPTURE: no recording
	 */
	const char *db_path;
	const char *const *more_db_paths; /* to READ as one with db_path, at most 15, NULL-terminated; NULL: none */
	bool acts_as_root;		  /* under sudo: not for the caller but as root */
	bool is_all;			  /* likewise, and whoever may not see everybody's is refused */
	bool needs_private;		  /* the service cannot do it, only a daemon of our own */
	const char *needs_private_why;	  /* the option that asks for it, for a refusal: "--back-end"; may be NULL */
	const char *command;		  /* of `ingero`, for what a refusal advises; NULL: "explain" */
	const char *const *daemon_args;	  /* of a private daemon, NULL-terminated; NULL: none */
	const char *program; /* name and version of the client, for the daemon's log; NULL: this library's */
};

/**
 * ingero_connect() - connect to the daemon that can answer
 * @error: at least 512 bytes; one sentence for people on failure, with the way out
 * @ret_is_private: whether the daemon is a private one; may be NULL
 * Return: 0; -ENOENT (no daemon, or no such database), -EPERM (needs root, or may not see all users' data), -EISDIR,
 * -ENAMETOOLONG, -EINVAL (root's SUDO_UID and SUDO_GID do not identify the user who typed sudo); else as ingero_open()
 */
INGERO_PUBLIC int ingero_connect(const struct ingero_connect_wish *wish, char *error, size_t error_bytes,
				 struct ingero **ret_ingero, bool *ret_is_private);

#ifdef __cplusplus
}
#endif
