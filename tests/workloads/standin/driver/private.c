// SPDX-License-Identifier: Apache-2.0
/*
 * The tables that a runtime library asks of the driver beside the exports, by
 * cuGetExportTable(): those that CUDA 10.2's needs to work at all, from private.def.
 *
 * One table is left out on purpose: by it, newer runtimes (11.7 and later) check
 * that driver and runtime are the vendor's own. They stop here with error 103.
 */
#include <string.h>

#include "driver.h"
#include "modules.h"

#define WORDS 65u
#define NO_VALUE INVALID_HANDLE /* any error is taken for "there is none yet" */

static int answer_zero(void)
{
	return SUCCESS;
}

/* A context's values: a runtime asks for its own at every call, and puts it once. */

static struct context *context_or_current(struct context *context)
{
	return context ? context : current;
}

static struct context_value *find_value(struct context *context, const void *key)
{
	for (size_t i = 0; context && i < CONTEXT_VALUES; i++) {
		if (__atomic_load_n(&context->values[i].key, __ATOMIC_ACQUIRE) == key)
			return &context->values[i];
	}
	return NULL;
}

static int value_put(struct context *context, const void *key, void *value, void *destructor)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct context_value *free_value;
	int r = OUT_OF_MEMORY;

	(void)destructor; /* contexts that are destroyed end with their program here */
	context = context_or_current(context);
	if (!context)
		return INVALID_CONTEXT;
	pthread_mutex_lock(&lock);
	free_value = find_value(context, key);
	if (!free_value)
		free_value = find_value(context, NULL);
	if (free_value) {
		free_value->value = value;
		__atomic_store_n(&free_value->key, key, __ATOMIC_RELEASE);
		r = SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

static int value_delete(struct context *context, const void *key)
{
	struct context_value *value = find_value(context_or_current(context), key);

	if (!value)
		return NO_VALUE;
	__atomic_store_n(&value->key, NULL, __ATOMIC_RELEASE);
	return SUCCESS;
}

static int value_get(void **ret_value, struct context *context, const void *key)
{
	const struct context_value *value = find_value(context_or_current(context), key);

	if (!value)
		return NO_VALUE;
	*ret_value = value->value;
	return SUCCESS;
}

static int primary_context(struct context **ret_context, int ordinal)
{
	if (ordinal != 0)
		return INVALID_DEVICE;
	*ret_context = &device.primary;
	return SUCCESS;
}

static int load_fat_binary(struct module **ret_module, const void *wrapper)
{
	return driver_module_load_data(ret_module, wrapper);
}

/* By what it was loaded from, not by its handle. */
static int unload_fat_binary(const void *wrapper)
{
	return driver_module_unload(module_of_image(wrapper));
}

static int scratch_2(void **ret_memory, size_t *ret_n)
{
	static char memory[1024];

	*ret_memory = memory;
	*ret_n = sizeof(memory);
	return SUCCESS;
}

static int scratch_6(void **ret_memory, size_t *ret_n)
{
	static char memory[14];

	*ret_memory = memory;
	*ret_n = sizeof(memory);
	return SUCCESS;
}

#define TABLE(name, bytes, has_size) TABLE_##name,
#define ENTRY(name, word, function)
enum {
#include "private.def"
	TABLE_COUNT
};
#undef TABLE
#undef ENTRY

static const struct {
	unsigned char identity[16];
	bool has_size;
} tables[] = {
#define TABLE(name, bytes, has_size) [TABLE_##name] = { bytes, has_size },
#define ENTRY(name, word, function)
#include "private.def"
#undef TABLE
#undef ENTRY
};

static const struct {
	unsigned int table;
	unsigned int word;
	void *function;
} entries[] = {
#define TABLE(name, bytes, has_size)
#define ENTRY(name, word, function) { TABLE_##name, word, (void *)(function) },
#include "private.def"
#undef TABLE
#undef ENTRY
};

static uintptr_t words[TABLE_COUNT][WORDS];

__attribute__((constructor)) static void fill_tables(void)
{
	for (size_t t = 0; t < TABLE_COUNT; t++) {
		for (size_t i = 0; i < WORDS; i++)
			words[t][i] = (uintptr_t)answer_zero;
		if (tables[t].has_size)
			words[t][0] = sizeof(words[t]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
		words[entries[i].table][entries[i].word] = (uintptr_t)entries[i].function;
}

int driver_get_export_table(const void **ret_table, const unsigned char identity[16])
{
	if (!ret_table || !identity)
		return INVALID_VALUE;
	*ret_table = NULL;
	for (size_t t = 0; t < TABLE_COUNT; t++) {
		if (memcmp(identity, tables[t].identity, sizeof(tables[t].identity)) == 0)
			*ret_table = words[t];
	}
	return *ret_table ? SUCCESS : INVALID_VALUE;
}
