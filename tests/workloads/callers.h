// SPDX-License-Identifier: Apache-2.0
/*
 * Calls from many places, and the stack of each as the program itself knows it.
 *
 * A place calls a function twice by one instruction: first the witness, which notes the stack by backtrace(3), then the
 * CUDA function. Each call has a number of bytes that no other call of the process has. The report has a line of JSON
 * for each:
 *
 *   {"shape":"plain","pid":7,"tid":7,"bytes":65537,"op":"cudaMalloc","rule":"complete","least":0,
 *    "frames":[{"ip":"0x55..","module":"/path","at":"0x1234"}, ...]}
 *
 * frames: return addresses from the caller of the CUDA function on, innermost first; at: the address as linked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/whole.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CALLERS_FRAMES_MAX 1024

/* What a tracer has to say of the stack. */
enum callers_rule {
	CALLERS_COMPLETE, /* every frame, up to the start of the thread */
	CALLERS_PREFIX,	  /* the beginning of the frames, and why it ends there */
	CALLERS_SOME,	  /* every frame; or some, in order, and that others may be missing */
	CALLERS_EITHER,	  /* every frame; or the beginning, and why it ends there */
};

typedef int callers_fn(void **pointer, size_t bytes);

/** callers_open() - the report of this process
 * @path: lines are appended; "-": stdout
 * @is_checked: the stack inside each CUDA call is compared with the witness's; only where nobody traces
 */
void callers_open(const char *path, bool is_checked);
/** callers_shape() - name and rule of the calls of this thread from now on
 * @least: number of frames that a tracer has to show at least */
void callers_shape(const char *name, enum callers_rule rule, unsigned int least);
/** callers_turn() - what to call. Return: of turn 0 the witness, of turn 1 the CUDA function */
callers_fn *callers_turn(unsigned int turn);
/** callers_bytes() - number of the call that is being made */
size_t callers_bytes(void);
/** callers_extra() - frames between the witness's caller and the CUDA function, innermost first, for one call
 * @frames: copied */
void callers_extra(void *const *frames, size_t n);
/** callers_driver() - calls of this thread go to the driver's function instead of the runtime's */
void callers_driver(bool is_driver);
/** callers_inside() - the calls of this thread are made inside of another CUDA call, whose frames are those of the
 * last witness. A probe has replaced the return address on the stack between: backtrace(3) ends there */
void callers_inside(bool is_inside);
/** callers_alias() - from now on, what is at these addresses is told as this file, linked at address 0
 * @file: must stay valid; NULL ends it */
void callers_alias(const void *start, size_t n, const char *file);
/** callers_name() - likewise code that is in no file, by the name that the program gave it */
void callers_name(const void *start, size_t n, const char *name);
/** callers_failed() - something in the program is not as it must be; said on stderr */
void callers_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** callers_end() - exit status: 0, or 1 after callers_failed() */
int callers_end(void);

extern volatile unsigned int callers_n_turns; /* 2, which no compiler knows */

/* The call, from this very place. */
#define CALLERS_CALL()                                                                                                 \
	do {                                                                                                           \
		void *pointer_ = NULL;                                                                                 \
		for (unsigned int turn_ = 0; turn_ < callers_n_turns; turn_++)                                         \
			(void)callers_turn(turn_)(&pointer_, callers_bytes());                                         \
	} while (0)

/* Keeps a call from becoming a jump, and a frame from being shared. */
#define CALLERS_STAYS() __asm__ volatile("" ::: "memory")
#define CALLERS_NOINLINE WHOLE

struct callers_row {
	const char *name;
	void (*run)(void);
	enum callers_rule rule;
	unsigned int least;
};

/* Rows of one file each; an entry without a name is the last. */
extern const struct callers_row callers_plain_kept[];	 /* compiled with frame pointers */
extern const struct callers_row callers_plain_omitted[]; /* without */
extern const struct callers_row callers_signals[];
extern const struct callers_row callers_stacks[];
extern const struct callers_row callers_processes[];
extern const struct callers_row callers_libraries[];
extern const struct callers_row callers_debian[];
extern const struct callers_row callers_cxx[];

/** callers_place() - directory of this program and of the libraries that it loads. Return: static */
const char *callers_place(void);
/** callers_is_checked() - as given to callers_open() */
bool callers_is_checked(void);
/** callers_number() - number of the next call; for a program that follows another one in its process */
void callers_number(unsigned int first);
/** callers_report() - as given to callers_open() */
const char *callers_report(void);

#ifdef __cplusplus
}
#endif
