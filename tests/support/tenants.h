// SPDX-License-Identifier: Apache-2.0
/*
 * Several users on one machine: the daemon, as a service, and a traced program of each user, with secrets in data that
 * others might see: the program's name, the path of its libraries, an argument of its calls.
 *
 * Everything is private to the test, in a mount namespace of its own: the group ingero-read, and a /proc that either
 * hides other users' processes, so that answers must not name them, or shows all processes.
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
	uid_t uid; /* not used on this machine, except for root */
	gid_t gid; /* supplementary group, 0: none */
	bool reads_all;
	const char *variable; /* additional environment variable of its program, NULL: none; set before the start */
	/* of its program, while it runs */
	pid_t pid;
	char comm[16];	     /* the name is the secret */
	char path[256];	     /* path of its libraries; a part of it is the secret */
	char path_part[32];  /* that part; "": it uses common libraries */
	uint64_t size_bytes; /* an argument of calls, the secret */
};

struct tenants {
	char directory[64]; /* private, owned by root, readable by all */
	char socket[96];
	pid_t daemon;
	struct tenant of[TENANT_COUNT];
};

enum tenants_proc { TENANTS_PROC_HIDES, TENANTS_PROC_SHOWS };

/**
 * tenants_open() - set up the group file and /proc; skips the test without root or namespaces
 *
 * @proc: whether /proc is mounted with hidepid
 *
 * No program runs yet. Only one for each process.
 */
void tenants_open(struct tenants *tenants, enum tenants_proc proc);
/** tenants_close() - end all programs and remove the directory */
void tenants_close(struct tenants *tenants);

/**
 * tenants_start_daemon() - start ingero-collectord on tenants->socket with further arguments, NULL-terminated
 * Returns when it accepts connections; if it does not, the test fails with the reason.
 */
void tenants_start_daemon(struct tenants *tenants, const char *const *arguments);
/** tenants_stop_daemon() - stop the daemon. Return: its exit status as from waitpid(2) */
int tenants_stop_daemon(struct tenants *tenants);
/** tenants_daemon_lives() - whether the daemon is still running */
bool tenants_daemon_lives(const struct tenants *tenants);
/** tenants_daemon_rss_bytes() - resident memory of the daemon, without its children */
uint64_t tenants_daemon_rss_bytes(const struct tenants *tenants);

/** tenants_start_program() - start a program that calls CUDA at a low rate until it is ended */
void tenants_start_program(struct tenants *tenants, enum tenant_id id);

/** tenants_become() - change this process to that user and its groups, for good. Return: whether it worked */
bool tenants_become(const struct tenant *tenant);
/**
 * tenants_connect() - get a socket that was connected by a process of that user
 * @ret_took_ns: duration of connect(2), or NULL
 * Return: descriptor, or -1
 */
int tenants_connect(const struct tenants *tenants, enum tenant_id id, uint64_t *ret_took_ns);
/** tenants_greet() - connect, and exchange Hello; the test fails if that fails */
void tenants_greet(const struct tenants *tenants, enum tenant_id id, struct wire *ret_wire);

/** tenants_may_see() - whether the daemon must show data of one user to another */
bool tenants_may_see(const struct tenants *tenants, enum tenant_id caller, enum tenant_id owner);

/**
 * tenants_find_secret() - search bytes from the daemon for secrets of a tenant
 * Return: description of the first secret found; NULL: none
 */
const char *tenants_find_secret(const struct tenant *owner, const void *data, size_t n);
