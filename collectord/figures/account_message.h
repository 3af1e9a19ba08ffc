// SPDX-License-Identifier: Apache-2.0
/*
 * A thread's account as clients get it, the same from live figures and from a file: message ingero.v1.Account.
 *
 * Its parts are split here, and only here, by what was waited for and by who ended the wait or had the CPU meanwhile.
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
/** typedef account_may_name_func - whether the reader may know processes of that user */
typedef bool (*account_may_name_func)(uint32_t uid, void *data);

/* A process in a window of time. All borrowed, texts too: they must outlive the message. */
struct account_process {
	uint32_t pid;
	uint32_t uid;
	const char *name;
	const struct program *program;
	const struct account *accounts; /* of all its threads */
	size_t n_accounts;
	const struct account_wait *waits;
	size_t n_waits;
	const struct tick_behind *behind; /* who had the CPU while its threads were ready */
	size_t n_behind;
	account_op_name_func op_name;
	account_may_name_func may_name;
	void *data; /* of both functions */
};

/* Into which one part is split. Of more, the smaller are summed by the name of the waker, then by kind of resource. */
#define ACCOUNT_SLICES_MOST 8

/**
 * account_to_message() - one account, its parts split, the longest first
 * @account: one of @process->accounts
 *
 * The parts of the message sum to the account's wall_ns as the account's own parts do. Who had the CPU is known of the
 * process alone: each thread has its share of that.
 *
 * Return: the message, or NULL without memory
 */
Ingero__V1__Account *account_to_message(const struct account_process *process, const struct account *account,
					struct arena *arena);
