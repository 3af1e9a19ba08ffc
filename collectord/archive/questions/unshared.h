// SPDX-License-Identifier: Apache-2.0
/*
 * Opening another program's database so that no file is left beside it.
 *
 * SQLite reads a file in WAL mode only with a log (-wal) and its index (-shm) beside it. It creates what is missing,
 * and a connection that only reads never removes it. So a file of Ingero's is opened in one of three ways:
 *
 *   log and index exist          as usual: nothing is created, and another process may have the file open
 *   no log, or an empty one      as immutable: the file is complete, and no process has it open
 *   a log without an index       with an index in memory: the log is part of the contents. The file was copied
 *                                together with its log, or the index was removed after a crash
 *
 * In the last two cases this process shares no locks with others. unshared_has_changed() tells whether a process wrote
 * the file or its log meanwhile; then what was read may be of two states of the file.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

struct unshared {
	int fd, log_fd; /* kept open until the process ends: closing them would release SQLite's locks; -1: none */
	struct stat st, log_st;
};
#define UNSHARED_INIT                                                                                                  \
	{                                                                                                              \
		.fd = -1, .log_fd = -1                                                                                 \
	}

#define UNSHARED_VFS "unshared" /* keeps the index in memory, and opens the log read-only */

/** unshared_prepare() - register UNSHARED_VFS, based on the default VFS. Return: 0 or -ENOMEM */
int unshared_prepare(void);

struct unshared_way {
	const char *vfs;  /* for sqlite3_open_v2(); NULL: the default one */
	const char *more; /* parameters of the URI */
};
/**
 * unshared_look() - find how to open a file; no connection to it may be open yet
 * @u: UNSHARED_INIT
 * Return: the way; the usual one also for files in our own format, and for whatever is not a database in WAL mode
 */
struct unshared_way unshared_look(struct unshared *u, const char *path);
/** unshared_has_changed() - whether the file was written since unshared_look(); false if it was opened as usual */
bool unshared_has_changed(const struct unshared *u);
/** unshared_has_no_log() - whether the file is complete without a log: there is none, or an empty one */
bool unshared_has_no_log(const char *path);
