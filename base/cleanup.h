// SPDX-License-Identifier: Apache-2.0
/*
 * Locals that release their resource at the end of their scope.
 *
 * An owning local has the attribute CLEANUP(x_freep) and is initialised where it is declared. TAKE_PTR or TAKE_FD
 * passes the resource on: the local is then empty and its destructor does nothing.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h> /* MIN, MAX */
#include <unistd.h>

#ifdef NDEBUG
#error "promises are checked in a release, too: cmake/Flags.cmake"
#endif

#define CLEANUP(func) __attribute__((cleanup(func), unused)) /* some are there for their end alone */

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_USEC 1000ull

/** FORMAT_INTO() - format into text, cut to the room: `fmt` and its arguments, in a function with "..." after fmt */
#define FORMAT_INTO(text, room, fmt)                                                                                   \
	do {                                                                                                           \
		va_list format_args_;                                                                                  \
		va_start(format_args_, fmt);                                                                           \
		(void)vsnprintf(text, room, fmt, format_args_);                                                        \
		va_end(format_args_);                                                                                  \
	} while (0)

/** TAKE_PTR() - value of an owning pointer; the pointer itself becomes NULL */
#define TAKE_PTR(p)                                                                                                    \
	({                                                                                                             \
		__typeof__(p) *take_from_ = &(p);                                                                      \
		__typeof__(p) take_value_ = *take_from_;                                                               \
		*take_from_ = NULL;                                                                                    \
		take_value_;                                                                                           \
	})

/** TAKE_FD() - value of an owning descriptor; the descriptor itself becomes -1 */
#define TAKE_FD(fd)                                                                                                    \
	({                                                                                                             \
		int *take_from_ = &(fd);                                                                               \
		int take_value_ = *take_from_;                                                                         \
		*take_from_ = -1;                                                                                      \
		take_value_;                                                                                           \
	})

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* a failed close of a read-only descriptor has no remedy */
	errno = saved;
}

static inline void fclosep(FILE **f)
{
	if (*f)
		(void)fclose(*f);
}

static inline void closedirp(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}
