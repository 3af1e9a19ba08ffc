// SPDX-License-Identifier: Apache-2.0
/*
 * A thread's account as message ingero.v1.Account, the same from live figures and from a file.
 *
 * Only this file splits its parts: by the resource waited for, and by the thread that ended the wait or had the CPU
 * meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "figures/account.h"
#include "figures/tick.h"
#include "ingero/v1/ingero.pb-c.h"

/** typedef account_op_name_func - name of an operation of a part. Return: NULL when it is not known */
typedef const char *(*account_op_name_func)(uint32_t op, void *data);
/**
 * typedef account_may_name_func - whether the reader may see a process
 * @is_guarded: its own user may not inspect it
 */
typedef bool (*account_may_name_func)(uint32_t uid, bool is_guarded, void *data);

/* A process in a window of time. All borrowed, texts too: they must outlive the message. */
struct account_process {
	uint32_t pid;
	uint32_t uid;
	const char *name;
	const struct program *program;
	const struct account *accounts; /* of all threads of the process */
	size_t n_accounts;
	const struct account_wait *waits;
	size_t n_waits;
	const struct account_wait *all_waits; /* since the first call, open ones among them; NULL: unknown */
	size_t n_all_waits;
	const struct wait_sites *wait_sites; /* where its threads waited; NULL: unknown */
	const struct behind_figures *behind; /* processes that had the CPU while its threads were ready */
	size_t n_behind;
	account_op_name_func op_name;
	account_may_name_func may_name;
	void *data; /* passed to both functions */
};

/*
 * Slices of one part, at most. If there are more, the smaller are summed by name of the waker, then by kind of
 * resource.
 */
#define ACCOUNT_SLICES_MOST 8

/** account_resource_message() - @device: name of the block device; "": not known. Return: NULL without memory */
Ingero__V1__Resource *account_resource_message(uint8_t kind, const char *name, const char *device, struct arena *arena);

/**
 * account_to_message() - make the message of one account, with its parts split, longest first
 * @account: one of @process->accounts
 *
 * The parts of the message sum to wall_ns, as the account's own parts do. Which processes had the CPU is known per
 * process only: each thread gets its share of that.
 *
 * Return: the message, or NULL without memory
 */
Ingero__V1__Account *account_to_message(const struct account_process *process, const struct account *account,
					struct arena *arena);
