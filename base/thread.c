// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret_thread, void *(*func)(void *data), void *data)
{
	sigset_t all, before;
	int r;

	(void)sigfillset(&all); /* cannot fail */
	r = pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r == 0) {
		r = pthread_create(ret_thread, NULL, func, data);
		(void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* the mask set before */
	}
	return -r;
}
