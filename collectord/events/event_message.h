// SPDX-License-Identifier: Apache-2.0
/*
 * An event and its blame as clients get them, the same from a live source and from a file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "bpf/record.h"
#include "ingero/v1/ingero.pb-c.h"

struct program;

/* What a message says of an event that its record does not. Texts are borrowed and must outlive the message. */
struct event_about {
	const char *process_name;
	const struct program *program;
	const char *source;
	const char *op;
	uint64_t start_unix_ns;
	uint32_t pid;
	uint32_t uid;
	uint32_t boot;	   /* number of the boot in the file that keeps it; 0: it is kept nowhere and has no id */
	uint16_t measured; /* MEASURED(class) */
	size_t n_args;	   /* arguments that were kept, 0 to OP_ARGS_MAX */
};

/** program_to_message() - Return: 0, also with NULL where nothing is known of it; -ENOMEM */
int program_to_message(const struct program *program, struct arena *arena, Ingero__V1__Program **ret);
/** event_to_message() - Return: the message, or NULL without memory */
Ingero__V1__Event *event_to_message(const struct call_record *call, const struct event_about *about,
				    struct arena *arena);
/** event_host_to_message() - the same of a record of life */
Ingero__V1__Event *event_host_to_message(const struct life_record *life, const struct event_about *about,
					 struct arena *arena);

/** blame_to_message() - how a time splits, all classes as given. Return: NULL without memory */
Ingero__V1__Blame *blame_to_message(const __u64 blame_ns[BLAME_COUNT], uint16_t measured, struct arena *arena);
/**
 * blame_to_message_of() - the same of a time of which only the waits are known: what is no wait was spent on the CPU
 * @blame_ns: its waits; [BLAME_ON_CPU] is not looked at
 */
Ingero__V1__Blame *blame_to_message_of(uint64_t whole_ns, const __u64 blame_ns[BLAME_COUNT], uint16_t measured,
				       struct arena *arena);
