// SPDX-License-Identifier: Apache-2.0
/*
 * A call with everything the daemon knows of it, as sinks get it.
 *
 * Sources make events; the store keeps them, detectors look at them, streams show
 * them. The call itself is the kernel half's record, untouched.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"

struct op;

/* One incarnation of a process: no two share all of boot, start_boot_ns, tgid and exec_gen. */
struct process_identity {
	uint64_t start_boot_ns; /* CLOCK_BOOTTIME; 0 where the source cannot tell */
	uint64_t start_unix_ns; /* the same by the wall clock when first seen; never mapped again */
	uint32_t tgid;
	uint32_t uid; /* owner: real user id */
	uint32_t exec_gen;
	uint32_t flags; /* PROCESS_GUARDED */
	char comm[RECORD_COMM_BYTES];
};

/** process_identity_equal() - whether both are the same incarnation, of one boot */
bool process_identity_equal(const struct process_identity *a, const struct process_identity *b);

#define MEASURED(class) ((uint16_t)(1u << (class)))

struct event {
	const struct call_record *call; /* .slot and .pad mean nothing behind the source */
	const struct process_identity *process;
	const struct op *op;
	uint16_t measured;		/* MEASURED(class): what this source can tell; absent is not zero */
	const struct life_record *life; /* of an event of the host; NULL: a call */
};

/* Why a call was kept, by the bit of enum record_reason: the lowest first. */
#define EVENT_REASONS 6
extern const char *const event_reason_names[EVENT_REASONS];
