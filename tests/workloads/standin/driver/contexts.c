// SPDX-License-Identifier: Apache-2.0
/*
 * Contexts: each thread has a stack of them, and the device its primary one.
 */
#include <stdlib.h>

#include "driver.h"

#define INTERFACE_VERSION 3020u
#define STACK_MAX 16u
#define LIMIT_DEFAULT 1024u

/* Contexts under the current one. */
static __thread struct {
	struct context *contexts[STACK_MAX];
	unsigned int n;
} stack;

int driver_primary_context_retain(struct context **ret_context, int ordinal)
{
	if (ordinal != 0)
		return INVALID_DEVICE;
	device.primary.version = INTERFACE_VERSION;
	__atomic_add_fetch(&device.primary_uses, 1, __ATOMIC_RELAXED);
	*ret_context = &device.primary;
	return SUCCESS;
}

int driver_primary_context_release(int ordinal)
{
	unsigned int old = __atomic_load_n(&device.primary_uses, __ATOMIC_RELAXED);

	if (ordinal != 0)
		return INVALID_DEVICE;
	do {
		if (old == 0)
			return INVALID_CONTEXT;
	} while (!__atomic_compare_exchange_n(&device.primary_uses, &old, old - 1, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return SUCCESS;
}

int driver_primary_context_get_state(int ordinal, unsigned int *ret_flags, int *ret_is_active)
{
	if (ordinal != 0)
		return INVALID_DEVICE;
	*ret_flags = device.primary.flags;
	*ret_is_active = __atomic_load_n(&device.primary_uses, __ATOMIC_RELAXED) > 0;
	return SUCCESS;
}

int driver_primary_context_set_flags(int ordinal, unsigned int flags)
{
	if (ordinal != 0)
		return INVALID_DEVICE;
	device.primary.flags = flags;
	return SUCCESS;
}

int driver_context_push(struct context *context)
{
	if (!context)
		return INVALID_CONTEXT;
	if (stack.n == STACK_MAX)
		return OUT_OF_MEMORY;
	stack.contexts[stack.n++] = current;
	current = context;
	return SUCCESS;
}

int driver_context_pop(struct context **ret_context)
{
	if (!current)
		return INVALID_CONTEXT;
	if (ret_context)
		*ret_context = current;
	current = stack.n ? stack.contexts[--stack.n] : NULL;
	return SUCCESS;
}

int driver_context_create(struct context **ret_context, unsigned int flags, int ordinal)
{
	struct context *context;
	int r;

	if (ordinal != 0)
		return INVALID_DEVICE;
	context = calloc(1, sizeof(*context));
	if (!context)
		return OUT_OF_MEMORY;
	context->flags = flags;
	context->version = INTERFACE_VERSION;
	r = driver_context_push(context);
	if (r != SUCCESS) {
		free(context);
		return r;
	}
	*ret_context = context;
	return SUCCESS;
}

int driver_context_destroy(struct context *context)
{
	if (!context)
		return INVALID_CONTEXT;
	if (current == context)
		(void)driver_context_pop(NULL);
	if (context != &device.primary)
		free(context);
	return SUCCESS;
}

int driver_context_set_current(struct context *context)
{
	current = context;
	return SUCCESS;
}

int driver_context_get_current(struct context **ret_context)
{
	*ret_context = current;
	return SUCCESS;
}

int driver_context_get_device(int *ret_device)
{
	*ret_device = 0;
	return current ? SUCCESS : INVALID_CONTEXT;
}

int driver_context_get_flags(unsigned int *ret_flags)
{
	*ret_flags = current ? current->flags : 0;
	return current ? SUCCESS : INVALID_CONTEXT;
}

int driver_context_get_version(struct context *context, unsigned int *ret_version)
{
	const struct context *asked = context ? context : current;

	*ret_version = asked ? asked->version : 0;
	return asked ? SUCCESS : INVALID_CONTEXT;
}

int driver_context_get_limit(size_t *ret_value, unsigned int limit)
{
	(void)limit;
	*ret_value = LIMIT_DEFAULT;
	return current ? SUCCESS : INVALID_CONTEXT;
}

int driver_context_synchronize(void)
{
	if (!current)
		return INVALID_CONTEXT;
	wait_for(&device.finish_ns, false);
	return SUCCESS;
}
