// SPDX-License-Identifier: Apache-2.0
#include "deep.h"

#include <alloca.h>
#include <string.h>

#include "tests/support/whole.h"

#define STAYS(r) __asm__ volatile("" : "+r"(r) : : "memory") /* no tail call */
#define OWN static WHOLE

int DEEP(unsigned int n, deep_func func, void *data);

OWN int plain(unsigned int n, deep_func func, void *data)
{
	int r = DEEP(n, func, data);

	STAYS(r);
	return r;
}

OWN int large(unsigned int n, deep_func func, void *data)
{
	volatile char room[777];
	int r;

	room[n % sizeof(room)] = 1;
	r = DEEP(n, func, data);
	STAYS(r);
	return r + room[n % sizeof(room)] - 1;
}

/* Its frame is found by the frame pointer. */
OWN int growing(unsigned int n, deep_func func, void *data)
{
	char *room = alloca(16 + n % 32 * 8);
	int r;

	memset(room, 0, 16);
	__asm__ volatile("" : : "r"(room) : "memory");
	r = DEEP(n, func, data);
	STAYS(r);
	return r + room[3];
}

#if defined(__x86_64__)
#define SAVED "rbx", "r12", "r13", "r14", "r15"
#else
#define SAVED "x19", "x20", "x21", "x22"
#endif

/* Has all registers that are its caller's on the stack; where there are no frame pointers, that one, too. */
OWN int saving(unsigned int n, deep_func func, void *data)
{
	int r;

#ifdef DEEP_OMITS
	__asm__ volatile("mov $1, %%ebp" : : : SAVED, "rbp");
#else
	__asm__ volatile("" : : : SAVED);
#endif
	r = DEEP(n, func, data);
	STAYS(r);
	return r;
}

int DEEP(unsigned int n, deep_func func, void *data)
{
	int r;

	if (n < 2) {
		r = func(data);
		STAYS(r);
		return r;
	}
	n -= 2;
	switch (n / 2 % 4) {
	case 0:
		r = plain(n, func, data);
		break;
	case 1:
		r = large(n, func, data);
		break;
	case 2:
		r = growing(n, func, data);
		break;
	default:
		r = saving(n, func, data);
	}
	STAYS(r);
	return r;
}
