// SPDX-License-Identifier: Apache-2.0
/*
 * A finding as it is kept in the database and sent to clients: message ingero.v1.Finding.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "bpf/record.h"
#include "ingero/v1/finding.pb-c.h"

struct finding;

/** typedef finding_clock_func - wall-clock time of a monotonic time of the boot that the finding was seen in */
typedef uint64_t (*finding_clock_func)(uint64_t monotonic_ns, void *data);

/**
 * finding_to_message() - everything there is of a finding, with times by the wall clock
 * @boot: number of its boot in the file that keeps its calls; 0: they are kept nowhere, so examples get no id
 * @arena: holds the message and copies of every text: the finding may change afterwards
 *
 * The cause is named in full: who may not know the name is the business of who sends it.
 *
 * Return: the message, or NULL without memory
 */
Ingero__V1__Finding *finding_to_message(const struct finding *finding, uint32_t boot, finding_clock_func clock,
					void *data, struct arena *arena);
/** finding_message_is_sound() - whether ids of a message from a file have the form that finding_to_message() writes */
bool finding_message_is_sound(const Ingero__V1__Finding *message);
/** finding_class_field() - as Cause.takes has it; "" for BLAME_ON_CPU, which nothing takes */
const char *finding_class_field(enum blame_class class);
/**
 * finding_message_words() - what the cause is called and which time it takes, by its kind, in static texts
 * Of a message from a file, whoever frees it puts the texts back that were there.
 */
void finding_message_words(Ingero__V1__Cause *cause, uint32_t victim_pid);
/** finding_message_cause() - "cpu_contention: behind hog (pid 42)": the cause as programs get it, by number alone */
void finding_message_cause(const Ingero__V1__Finding *message, struct buf *out);
/**
 * typedef finding_may_name_func - whether the reader may know a process
 * @is_guarded: its own user may not inspect it
 */
typedef bool (*finding_may_name_func)(uint32_t uid, bool is_guarded, void *data);
/**
 * finding_message_hide() - take out the processes to blame that the reader may not know, and the advice, which names
 * them
 *
 * Advice is left out by its number alone: whoever has to free it remembers that number.
 */
void finding_message_hide(Ingero__V1__Finding *message, finding_may_name_func may_name, void *data);
