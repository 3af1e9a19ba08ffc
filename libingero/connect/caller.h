// SPDX-License-Identifier: Apache-2.0
/* The caller: the user of this process, or under sudo the user who typed it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct caller {
	uid_t uid;
	gid_t gid;
	bool is_sudo; /* this process is root and acts for uid */
	bool is_root; /* this process may start a daemon that captures */
};

/**
 * caller_check() - check that the environment identifies the caller: once, before any action for the caller
 * Return: 0; -EINVAL, with the reason printed
 */
int caller_check(char *error, size_t error_bytes);
/** caller_get() - the caller by the ids of the process, and if these are root's by SUDO_UID and SUDO_GID, as checked */
struct caller caller_get(void);

/**
 * caller_groups() - groups of the caller under sudo, as the group database has them
 * @ret_gids: allocated; gid alone for a user without a name
 * Return: 0 or -ENOMEM
 */
int caller_groups(const struct caller *caller, gid_t **ret_gids, size_t *ret_n);

/* Identity of this thread for access to files, and how it was before. */
struct caller_files {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int n_groups;
	bool is_changed;
};
/**
 * caller_files_begin() - under sudo: this thread reaches files as the caller, with the caller's group, until
 * caller_files_end()
 * Return: 0 or -errno, with nothing changed
 */
int caller_files_begin(const struct caller *caller, struct caller_files *ret_before);
void caller_files_end(struct caller_files *before);

/** caller_become() - under sudo, irreversibly: become the caller, with the caller's groups. Return: 0 or -errno */
int caller_become(const struct caller *caller);
