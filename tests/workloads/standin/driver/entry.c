// SPDX-License-Identifier: Apache-2.0
/*
 * Start, version and entry points.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

#define DRIVER_VERSION 13050 /* newer than every runtime of the export lists */
#define SYMBOL_PER_THREAD 2u /* flag of cuGetProcAddress: hand out _ptsz and _ptds forms */

int driver_init(unsigned int flags)
{
	if (!getenv("INGERO_STANDIN_QUIET") && !__atomic_exchange_n(&device.is_told, true, __ATOMIC_RELAXED))
		fprintf(stderr, "ingero stand-in: this is no GPU: device code does nothing, results mean nothing\n");
	return flags ? INVALID_VALUE : SUCCESS;
}

int driver_get_version(int *ret_version)
{
	*ret_version = DRIVER_VERSION;
	return SUCCESS;
}

static void *own_handle(void)
{
	static void *handle;
	Dl_info info;

	if (!__atomic_load_n(&handle, __ATOMIC_RELAXED) && dladdr(&device, &info))
		__atomic_store_n(&handle, dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD), __ATOMIC_RELAXED);
	return __atomic_load_n(&handle, __ATOMIC_RELAXED);
}

/* The interface version from which on a form is meant. */
static int form_since(const char *form)
{
	static const struct {
		const char *form;
		int since;
	} forms[] = {
#define FORM(form, since) { #form, since },
#include "forms.def"
#undef FORM
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (strcmp(forms[i].form, form) == 0)
			return forms[i].since;
	}
	return 0;
}

/*
 * The exported address, never an internal one: the newest form of the name that the
 * version asked for knows, per-thread where that was asked for and exists.
 * (Source: observed of driver 550.163, docs of the project's probe placement.)
 */
static void *entry_point(const char *name, int version, bool is_per_thread)
{
	static const char *const forms[] = { "WithFlags", "_v3", "_v2", "" };
	static const char *const per_thread[] = { "_ptsz", "_ptds" };
	bool has_with_flags = strcmp(name, "cuGraphInstantiate") == 0; /* whose third form is a name of its own */
	char form[128], text[160];

	for (size_t f = has_with_flags ? 0 : 1; f < ARRAY_SIZE(forms); f++) {
		void *found;

		snprintf(form, sizeof(form), "%s%s", name, forms[f]);
		if (version < form_since(form))
			continue;
		for (size_t t = 0; is_per_thread && t < ARRAY_SIZE(per_thread); t++) {
			snprintf(text, sizeof(text), "%s%s", form, per_thread[t]);
			found = dlsym(own_handle(), text);
			if (found)
				return found;
		}
		found = dlsym(own_handle(), form);
		if (found)
			return found;
	}
	return NULL;
}

int driver_get_proc_address(const char *name, void **ret_address, int version, uint64_t flags)
{
	if (!name || !ret_address)
		return INVALID_VALUE;
	*ret_address = entry_point(name, version, flags & SYMBOL_PER_THREAD);
	return *ret_address ? SUCCESS : NOT_FOUND;
}

int driver_get_proc_address_v2(const char *name, void **ret_address, int version, uint64_t flags, int *ret_status)
{
	int r = driver_get_proc_address(name, ret_address, version, flags);

	if (ret_status)
		*ret_status = r == SUCCESS ? 0 : 1; /* found, not found */
	return r;
}
