// SPDX-License-Identifier: Apache-2.0
/*
 * See modules.h. A function, variable or reference is made when it is first asked
 * for by name, and is the same at every further asking.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "driver.h"
#include "modules.h"

/* A variable's size is the device code's business, which nobody reads: what there is for each, and said to be. */
#define VARIABLE_SAID 8u
#define VARIABLE_ROOM 65536u

enum what { WHAT_FUNCTION, WHAT_VARIABLE, WHAT_REFERENCE };

/* A member of a module; its address is the handle. */
struct function {
	struct function *next; /* of its bucket */
	enum what what;
	struct module *module;
	void *memory; /* of a variable */
	int attributes[16];
	char name[];
};

struct module {
	struct module *next;
	const void *image; /* never looked at */
	size_t n_functions;
	size_t n_buckets;
	struct function **buckets;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct module *newest; /* under the lock */

enum { ATTRIBUTE_THREADS = 0, ATTRIBUTE_REGISTERS = 4, ATTRIBUTE_PTX = 5, ATTRIBUTE_BINARY = 6 };
#define REGISTERS 32

static size_t hash_of(const char *name)
{
	size_t hash = 14695981039346656037u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 1099511628211u;
	return hash;
}

/* Twice the buckets when there are as many members: libraries of thousands of kernels ask for each at first touch. */
static int grow(struct module *module)
{
	size_t n = module->n_buckets ? 2 * module->n_buckets : 64;
	struct function **buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		return OUT_OF_MEMORY;
	for (size_t i = 0; i < module->n_buckets; i++) {
		struct function *next;

		for (struct function *f = module->buckets[i]; f; f = next) {
			struct function **bucket = &buckets[hash_of(f->name) % n];

			next = f->next;
			f->next = *bucket;
			*bucket = f;
		}
	}
	free(module->buckets);
	module->buckets = buckets;
	module->n_buckets = n;
	return SUCCESS;
}

static void *variable_room(void)
{
	void *room =
		mmap(NULL, VARIABLE_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return room == MAP_FAILED ? NULL : room;
}

static int member_locked(struct module *module, const char *name, enum what what, struct function **ret_member)
{
	struct function **bucket, *member;

	if (module->n_functions >= module->n_buckets && grow(module) != SUCCESS)
		return OUT_OF_MEMORY;
	bucket = &module->buckets[hash_of(name) % module->n_buckets];
	for (member = *bucket; member; member = member->next) {
		if (member->what == what && strcmp(member->name, name) == 0) {
			*ret_member = member;
			return SUCCESS;
		}
	}
	member = calloc(1, sizeof(*member) + strlen(name) + 1);
	if (!member)
		return OUT_OF_MEMORY;
	member->what = what;
	member->module = module;
	memcpy(member->name, name, strlen(name) + 1);
	if (what == WHAT_VARIABLE) {
		member->memory = variable_room();
		if (!member->memory) {
			free(member);
			return OUT_OF_MEMORY;
		}
	}
	member->next = *bucket;
	*bucket = member;
	module->n_functions++;
	*ret_member = member;
	return SUCCESS;
}

static int member_of(struct module *module, const char *name, enum what what, struct function **ret_member)
{
	int r;

	if (!module)
		return INVALID_HANDLE;
	if (!name || !ret_member)
		return INVALID_VALUE;
	pthread_mutex_lock(&lock);
	r = member_locked(module, name, what, ret_member);
	pthread_mutex_unlock(&lock);
	return r;
}

int driver_module_load_data(struct module **ret_module, const void *image)
{
	struct module *module;

	if (!ret_module || !image)
		return INVALID_VALUE;
	module = calloc(1, sizeof(*module));
	if (!module)
		return OUT_OF_MEMORY;
	module->image = image;
	pthread_mutex_lock(&lock);
	module->next = newest;
	newest = module;
	pthread_mutex_unlock(&lock);
	*ret_module = module;
	return SUCCESS;
}

struct module *module_of_image(const void *image)
{
	struct module *module;

	pthread_mutex_lock(&lock);
	for (module = newest; module && module->image != image; module = module->next)
		;
	pthread_mutex_unlock(&lock);
	return module;
}

int driver_module_load_data_ex(struct module **ret_module, const void *image, unsigned int n, void *options,
			       void **values)
{
	(void)n, (void)options, (void)values;
	return driver_module_load_data(ret_module, image);
}

/* A library has more arguments, and is a module in everything else. */
int driver_library_load_data(struct module **ret_library, const void *image, void *jit_options, void **jit_values,
			     unsigned int n_jit, void *options, void **values, unsigned int n)
{
	(void)jit_options, (void)jit_values, (void)n_jit, (void)options, (void)values, (void)n;
	return driver_module_load_data(ret_library, image);
}

int driver_library_get_module(struct module **ret_module, struct module *library)
{
	if (!library)
		return INVALID_HANDLE;
	*ret_module = library;
	return SUCCESS;
}

int driver_module_unload(struct module *module)
{
	struct module **at;

	pthread_mutex_lock(&lock);
	for (at = &newest; *at && *at != module; at = &(*at)->next)
		;
	if (*at)
		*at = (*at)->next;
	else
		module = NULL; /* none of ours, or gone */
	pthread_mutex_unlock(&lock);
	if (!module)
		return INVALID_HANDLE;
	for (size_t i = 0; i < module->n_buckets; i++) {
		struct function *next;

		for (struct function *f = module->buckets[i]; f; f = next) {
			next = f->next;
			if (f->memory)
				(void)munmap(f->memory, VARIABLE_ROOM);
			free(f);
		}
	}
	free(module->buckets);
	free(module);
	return SUCCESS;
}

int driver_module_get_function(struct function **ret_function, struct module *module, const char *name)
{
	return member_of(module, name, WHAT_FUNCTION, ret_function);
}

int driver_module_get_reference(struct function **ret_reference, struct module *module, const char *name)
{
	return member_of(module, name, WHAT_REFERENCE, ret_reference);
}

int driver_module_get_global(device_ptr *ret_ptr, size_t *ret_n, struct module *module, const char *name)
{
	struct function *variable;
	int r = member_of(module, name, WHAT_VARIABLE, &variable);

	if (r != SUCCESS)
		return r;
	if (ret_ptr)
		*ret_ptr = (device_ptr)variable->memory;
	if (ret_n)
		*ret_n = VARIABLE_SAID;
	return SUCCESS;
}

/* A kernel of a library is a function already. */
int driver_kernel_get_function(struct function **ret_function, struct function *kernel)
{
	if (!kernel)
		return INVALID_HANDLE;
	*ret_function = kernel;
	return SUCCESS;
}

int driver_function_get_module(struct module **ret_module, struct function *function)
{
	if (!function)
		return INVALID_HANDLE;
	*ret_module = function->module;
	return SUCCESS;
}

int driver_function_get_name(const char **ret_name, struct function *function)
{
	if (!function)
		return INVALID_HANDLE;
	*ret_name = function->name;
	return SUCCESS;
}

int driver_function_get_attribute(int *ret_value, unsigned int attribute, const struct function *function)
{
	if (!function)
		return INVALID_HANDLE;
	if (attribute >= ARRAY_SIZE(function->attributes))
		return INVALID_VALUE;
	*ret_value = function->attributes[attribute];
	if (attribute == ATTRIBUTE_THREADS)
		*ret_value = 1024;
	if (attribute == ATTRIBUTE_REGISTERS)
		*ret_value = REGISTERS;
	if (attribute == ATTRIBUTE_PTX || attribute == ATTRIBUTE_BINARY)
		*ret_value = device.capability;
	return SUCCESS;
}

int driver_function_set_attribute(struct function *function, unsigned int attribute, int value)
{
	if (!function)
		return INVALID_HANDLE;
	if (attribute >= ARRAY_SIZE(function->attributes))
		return INVALID_VALUE;
	function->attributes[attribute] = value;
	return SUCCESS;
}

/* How many blocks fit on a multiprocessor: its threads over theirs. */
int driver_occupancy(int *ret_n, const struct function *function, int block_threads, size_t shared_bytes)
{
	(void)shared_bytes;
	if (!function)
		return INVALID_HANDLE;
	if (block_threads <= 0 || !ret_n)
		return INVALID_VALUE;
	*ret_n = block_threads > 1024 ? 0 : MIN(2048 / block_threads, 32);
	return SUCCESS;
}

/* The same with flags, which change nothing here. */
int driver_occupancy_with_flags(int *ret_n, const struct function *function, int block_threads, size_t shared_bytes,
				unsigned int flags)
{
	(void)flags;
	return driver_occupancy(ret_n, function, block_threads, shared_bytes);
}
