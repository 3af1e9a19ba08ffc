// SPDX-License-Identifier: Apache-2.0
/*
 * A process of a role that is started before its question, where questions come one after another: then an answer does
 * not wait for a start. It waits for its first message, which is read before it is sealed.
 */
#pragma once

#include <stdint.h>
#include <uv.h>

struct child_process;
struct spare;

/**
 * spare_new() - none is started yet
 * @role:    name of a role, borrowed for ever
 * @idle_ms: a process is ended when no question comes for so long; questions that are closer together come often
 * Return: 0 or -ENOMEM
 */
int spare_new(uv_loop_t *loop, const char *role, uint64_t idle_ms, struct spare **ret_spare);
/* The functions below take NULL as a spare that is closed. */

/**
 * spare_take() - take the process that waits, for a question that is asked now
 * Return: owned by the caller, who sends its messages by process_ask(); NULL: there is none
 */
struct child_process *spare_take(struct spare *spare);
/** spare_wish() - a question was sent: if they come often, start one for the next in another turn of the loop */
void spare_wish(struct spare *spare);
/** spare_close() - end it; memory is released in a turn of the loop */
void spare_close(struct spare *spare);
