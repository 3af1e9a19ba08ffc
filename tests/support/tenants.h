// SPDX-License-Identifier: Apache-2.0
/*
 * One machine and several users: the daemon, as a service, and a traced program of each user, with
 * secrets planted in whatever others might come to see: its name, the path of its libraries, an
 * argument of its calls.
 *
 * Everything is private to the test, in a mount namespace of its own: the group ingero-read,
 * and a /proc that shows nobody another user's processes, so that no name may be told, or everybody's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/support/wire.h"

enum tenant_id { TENANT_ALICE, TENANT_BOB, TENANT_READER, TENANT_ROOT, TENANT_COUNT };

struct tenant {
	const char *name;
	uid_t uid; /* nobody of this machine, but for root */
	gid_t gid; /* the one group besides its own, 0: none */
	bool reads_all;
	const char *variable; /* one more of its program's environment, NULL: none; set before that starts */
	/* of its program, while that runs */
	pid_t pid;
	char comm[16];	     /* the name is the secret */
	char path[256];	     /* of its libraries; a part of it is the secret */
	char path_part[32];  /* that part; "" where it uses everybody's */
	uint64_t size_bytes; /* an argument of calls, the secret */
};

struct tenants {
	char directory[64]; /* private, of root, everybody may look in */
	char socket[96];
	pid_t daemon;
	struct tenant of[TENANT_COUNT];
};

enum tenants_proc { TENANTS_PROC_HIDES, TENANTS_PROC_SHOWS };

/**
 * tenants_open() - ends the test as skipped where this cannot be had: without root, or without namespaces
 *
 * @proc: whether /proc is mounted with hidepid
 *
 * The group file and /proc are in place, nothing runs yet. One in a process.
 */
void tenants_open(struct tenants *tenants, enum tenants_proc proc);
/** tenants_close() - end whatever runs and remove the directory */
void tenants_close(struct tenants *tenants);

/**
 * tenants_start_daemon() - ingero-collectord on tenants->socket with further arguments, NULL-terminated
 * Returns when it takes connections; a daemon that does not ends the test as failed, saying why.
 */
void tenants_start_daemon(struct tenants *tenants, const char *const *arguments);
/** tenants_stop_daemon() - Return: its exit status as waitpid(2) tells it */
int tenants_stop_daemon(struct tenants *tenants);
/** tenants_daemon_lives() - whether it has not ended by itself */
bool tenants_daemon_lives(const struct tenants *tenants);
/** tenants_daemon_rss_bytes() - of it alone, without its children */
uint64_t tenants_daemon_rss_bytes(const struct tenants *tenants);

/** tenants_start_program() - a program that calls CUDA at a low rate until it is ended */
void tenants_start_program(struct tenants *tenants, enum tenant_id id);

/** tenants_become() - this process is that user from now on, with his groups, for good. Return: whether it worked */
bool tenants_become(const struct tenant *tenant);
/**
 * tenants_connect() - a socket that was connected by a process of that user
 * @ret_took_ns: how long connect(2) took him, or NULL
 * Return: descriptor, or -1
 */
int tenants_connect(const struct tenants *tenants, enum tenant_id id, uint64_t *ret_took_ns);
/** tenants_greet() - the same with Hello answered; else the test ends as failed */
void tenants_greet(const struct tenants *tenants, enum tenant_id id, struct wire *ret_wire);

/** tenants_may_see() - what the daemon should decide */
bool tenants_may_see(const struct tenants *tenants, enum tenant_id caller, enum tenant_id owner);

/**
 * tenants_find_secret() - look for what belongs to a tenant in bytes from the daemon
 * Return: the first secret that is there, in words; NULL: none
 */
const char *tenants_find_secret(const struct tenant *owner, const void *data, size_t n);
