// SPDX-License-Identifier: Apache-2.0
/*
 * What a test may ask of the stand-in libraries, beside the environment
 * (README.md one level up lists both). Exported by libingero-standin.so, which
 * every stand-in library loads; programs link it or look the names up.
 *
 * `function` is an exported name with its suffix ("cuMemAlloc_v2"); where several
 * stand-in libraries export it, all are meant. Settings count from the moment they
 * are made and hold for all threads; the books are never changed by them.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How time passes: computing, or waiting in one of the ways the kernel tells apart. */
enum ingero_standin_how {
	INGERO_STANDIN_SPIN,  /* reads the clock until it is time */
	INGERO_STANDIN_BLOCK, /* futex */
	INGERO_STANDIN_POLL,  /* ppoll on a timer */
	INGERO_STANDIN_SLEEP, /* clock_nanosleep */
	INGERO_STANDIN_YIELD, /* reads the clock, sched_yield between */
	INGERO_STANDIN_HOW_COUNT
};

#define INGERO_STANDIN_FOR_EVER UINT64_MAX

/** ingero_standin_inside() - spend time in every call, before it does its work
 * @ns: 0 ends it; INGERO_STANDIN_FOR_EVER never comes back
 * Return: 0, or -ENOENT when no stand-in exports the function */
int ingero_standin_inside(const char *function, uint64_t ns, enum ingero_standin_how how);
/** ingero_standin_fail() - let calls return a code instead of doing their work
 * @nth: this call from now on fails, 1 being the next; 0 for none
 * @every: every so many calls from now on fail; 0 for none
 * Return: as above */
int ingero_standin_fail(const char *function, uint64_t nth, uint64_t every, int code);
/** ingero_standin_callback() - run a function inside every call, before it does its work; NULL ends it.
 * It may leave by any way C or C++ knows. Return: as above */
int ingero_standin_callback(const char *function, void (*callback)(void *argument), void *argument);
/** ingero_standin_no_hooks() - forget all of the above */
void ingero_standin_no_hooks(void);

/** ingero_standin_device() - the modelled device from now on
 * @kernel_ns: time one kernel takes
 * @bytes_per_us: speed of copies
 * @how: how a synchronise waits, unless its context asked for something */
void ingero_standin_device(uint64_t kernel_ns, uint64_t bytes_per_us, enum ingero_standin_how how);

/** ingero_standin_check_pid() - ask the kernel for the process id at every call, so that calls of a vfork(2) child,
 * which shares its parent's memory, come into a book of its own */
void ingero_standin_check_pid(int is_on);

/** ingero_standin_count() - what this process's books say of a function, all threads summed. Return: as above */
int ingero_standin_count(const char *function, uint64_t *ret_entries, uint64_t *ret_returns);
/** ingero_standin_thread_count() - the same for the calling thread */
int ingero_standin_thread_count(const char *function, uint64_t *ret_entries, uint64_t *ret_returns);
/** ingero_standin_next() - the first function after this one with an entry or return in the books; NULL starts
 * Return: its name, or NULL at the end */
const char *ingero_standin_next(const char *function);

#ifdef __cplusplus
}
#endif
