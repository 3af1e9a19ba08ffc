// SPDX-License-Identifier: Apache-2.0
/* An event and its blame as messages, the same from a live source and from a file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "bpf/record.h"
#include "ingero/v1/ingero.pb-c.h"

struct program;
struct stack;
struct stack_frame;

/* Data of the message that the record does not have. Texts are borrowed and must outlive the message. */
struct event_about {
	const char *process_name;
	const struct program *program;
	const char *source;
	const char *op;
	uint64_t stack; /* number of its stack, which the message tells alone; 0: none */
	uint64_t start_unix_ns;
	uint32_t pid;
	uint32_t uid;
	uint32_t boot;	   /* number of the boot in the database; 0: not stored, so it has no id */
	uint16_t measured; /* MEASURED(class) */
	size_t n_args;	   /* number of recorded arguments, 0 to OP_ARGS_MAX */
};

/** program_to_message() - make the message, NULL for unknown data. Return: 0 or -ENOMEM */
int program_to_message(const struct program *program, struct arena *arena, Ingero__V1__Program **ret);
/** event_to_message() - Return: the message, or NULL without memory */
Ingero__V1__Event *event_to_message(const struct call_record *call, const struct event_about *about,
				    struct arena *arena);
/** event_host_to_message() - the same of a record of life */
Ingero__V1__Event *event_host_to_message(const struct life_record *life, const struct event_about *about,
					 struct arena *arena);

/** site_to_message() - the place of a frame, texts copied. @place: NULL: not known. Return: 0 or -ENOMEM */
int site_to_message(const struct stack_frame *place, struct arena *arena, Ingero__V1__Site **ret);
/** stack_to_message() - frames of a stack, their texts borrowed. Return: the message, or NULL without memory */
Ingero__V1__Stack *stack_to_message(const struct stack *stack, struct arena *arena);
/** blame_to_message() - make the message of a split time, all classes as given. Return: NULL without memory */
Ingero__V1__Blame *blame_to_message(const __u64 blame_ns[BLAME_COUNT], uint16_t measured, struct arena *arena);
/** error_to_message() - set the error code of an operation, whose source is set, and its name. @code: 0: not known */
void error_to_message(int32_t code, Ingero__V1__Operation *operation);
/**
 * blame_to_message_of() - the same of a time of which only the waits are known: the rest was spent on the CPU
 * @blame_ns: its waits; [BLAME_ON_CPU] is ignored
 */
Ingero__V1__Blame *blame_to_message_of(uint64_t whole_ns, const __u64 blame_ns[BLAME_COUNT], uint16_t measured,
				       struct arena *arena);
