// SPDX-License-Identifier: Apache-2.0
/*
 * Who asks: the user of this process, or under sudo the one who typed it.
 */
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
 * caller_check() - whether the environment says who asks: once, before anything is done for anybody
 * Return: 0; -EINVAL: said why in one sentence
 */
int caller_check(char *error, size_t error_bytes);
/** caller_get() - from the process's ids, and where those are root's from SUDO_UID and SUDO_GID, as checked */
struct caller caller_get(void);

/**
 * caller_groups() - groups of the user whom sudo acts for, as the list of groups has them
 * @ret_gids: allocated; gid alone for a user without a name
 * Return: 0 or -ENOMEM
 */
int caller_groups(const struct caller *caller, gid_t **ret_gids, size_t *ret_n);

/** caller_become() - under sudo, for good: whoever asked, with his groups and nothing of root's. Return: 0 or -errno */
int caller_become(const struct caller *caller);
