// SPDX-License-Identifier: Apache-2.0
/*
 * Grace periods of the kernel half, waited for by a thread: the loop goes on meanwhile. One period serves all requests
 * made before it began, one in each turn of the loop.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/array.h"

/** typedef grace_func - the programs that ran at the request have ended. Runs on the loop; may make requests */
typedef void (*grace_func)(void *data);

struct grace_request {
	grace_func func; /* NULL: forgotten */
	void *data;
};

typedef ARRAY(struct grace_request) grace_requests;

struct graces {
	bool is_open;
	bool is_waiting; /* the thread exists */
	bool is_serving; /* functions of `running` are being called */
	size_t n_served; /* of `running` */
	pthread_t thread;
	uv_async_t over;	/* the thread has waited */
	grace_requests running; /* served by the period in progress */
	grace_requests next;
	uint64_t n_periods; /* so far */
};

/** graces_open() - Return: 0 or -errno */
int graces_open(struct graces *graces, uv_loop_t *loop);
/** graces_close() - drop all requests; the loop releases its handle in its last turns. Allowed if it was never opened
 */
void graces_close(struct graces *graces);
/**
 * graces_request() - call a function after a grace period that begins from now on
 * Return: 0; -errno: no thread could be started, and the caller has to wait itself
 */
int graces_request(struct graces *graces, grace_func func, void *data);
/** graces_forget() - drop the requests with this data */
void graces_forget(struct graces *graces, const void *data);
