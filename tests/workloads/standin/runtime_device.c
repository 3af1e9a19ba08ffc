// SPDX-License-Identifier: Apache-2.0
/*
 * The runtime's view of the device, of pointers and of functions: what it tells by
 * structures of its own, filled with what the driver answers.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

#ifndef RUNTIME_VERSION
#error "say which version this library reports, as 12090"
#endif

/*
 * Offset in struct cudaDeviceProp from version 13 on, offset before, what cuDeviceGetAttribute calls it.
 * (Source: the public headers of 11.8, 12.9 and 13.2.) What is not here is 0.
 */
#define PROPERTIES(INT, SIZE)                                                                                          \
	SIZE(296, 296, 8)                                                                                              \
	INT(304, 304, 12)                                                                                              \
	INT(308, 308, 10)                                                                                              \
	SIZE(312, 312, 11)                                                                                             \
	INT(320, 320, 1)                                                                                               \
	INT(324, 324, 2)                                                                                               \
	INT(328, 328, 3)                                                                                               \
	INT(332, 332, 4)                                                                                               \
	INT(336, 336, 5)                                                                                               \
	INT(340, 340, 6)                                                                                               \
	INT(344, 344, 7)                                                                                               \
	SIZE(352, 352, 9)                                                                                              \
	INT(360, 360, 75)                                                                                              \
	INT(364, 364, 76)                                                                                              \
	SIZE(368, 368, 14)                                                                                             \
	INT(384, 388, 16)                                                                                              \
	INT(392, 400, 19)                                                                                              \
	INT(560, 576, 31)                                                                                              \
	INT(584, 600, 40)                                                                                              \
	INT(588, 604, 41)                                                                                              \
	INT(592, 612, 37)                                                                                              \
	INT(596, 616, 38)                                                                                              \
	INT(604, 624, 39)                                                                                              \
	INT(608, 628, 78)                                                                                              \
	SIZE(624, 640, 81)                                                                                             \
	INT(632, 648, 82)                                                                                              \
	INT(636, 652, 83)                                                                                              \
	INT(668, 688, 95)                                                                                              \
	SIZE(672, 696, 97)                                                                                             \
	INT(688, 712, 106)                                                                                             \
	SIZE(696, 720, 111)

#define OFFSET(from_13, before) (RUNTIME_VERSION >= 13000 ? (from_13) : (before))
#define ROW_INT(from_13, before, attribute) { OFFSET(from_13, before), attribute, false },
#define ROW_SIZE(from_13, before, attribute) { OFFSET(from_13, before), attribute, true },

enum {
	NAME_BYTES = 256,
	UUID_AT = 256,
	MEMORY_AT = 288,
	PROPERTIES_BYTES = RUNTIME_VERSION >= 13000 ? 1008 : 1032,
	PROPERTIES_BYTES_11 = 728, /* of the form without a suffix that 12 still has */
};

static const struct {
	unsigned short at;
	unsigned char attribute;
	bool is_size;
} properties[] = { PROPERTIES(ROW_INT, ROW_SIZE) };

static int get_properties(char *to, size_t n, int device)
{
	size_t memory;
	int r = ready();

	if (r == SUCCESS && device != 0)
		return keep_error(INVALID_DEVICE);
	if (r != SUCCESS)
		return r;
	memset(to, 0, n);
	r = driver.device_get_name(to, NAME_BYTES, device);
	if (r == SUCCESS)
		r = driver.device_get_uuid((unsigned char *)to + UUID_AT, device);
	if (r == SUCCESS)
		r = driver.device_total_mem(&memory, device);
	if (r != SUCCESS)
		return keep_error(r);
	memcpy(to + MEMORY_AT, &memory, sizeof(memory));
	for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++) {
		int value;
		size_t size;

		r = driver.device_get_attribute(&value, properties[i].attribute, device);
		if (r != SUCCESS)
			return keep_error(r);
		size = (size_t)value;
		memcpy(to + properties[i].at, properties[i].is_size ? (void *)&size : (void *)&value,
		       properties[i].is_size ? sizeof(size) : sizeof(value));
	}
	return SUCCESS;
}

int runtime_get_device_properties(char *to, int device)
{
	return get_properties(to, RUNTIME_VERSION >= 13000 ? PROPERTIES_BYTES : PROPERTIES_BYTES_11, device);
}

int runtime_get_device_properties_v2(char *to, int device)
{
	return get_properties(to, PROPERTIES_BYTES, device);
}

/* The runtime numbers attributes as the driver does. */
int runtime_device_get_attribute(int *ret_value, int attribute, int device)
{
	FORWARD(device_get_attribute(ret_value, attribute, device));
}

int runtime_device_get_bus_id(char *text, int room, int device)
{
	FORWARD(device_get_bus_id(text, room, device));
}

/* There is one device: it has no peer. */
int runtime_device_can_access_peer(int *ret_is_able, int device, int peer)
{
	(void)device, (void)peer;
	*ret_is_able = 0;
	return ready();
}

/* Pointers */

struct pointer_attributes {
	int type; /* 0: none of CUDA's, 1: host, 2: device, 3: managed */
	int device;
	const void *on_device, *on_host;
	long reserved[RUNTIME_VERSION >= 13000 ? 8 : 0];
};
_Static_assert(sizeof(struct pointer_attributes) == (RUNTIME_VERSION >= 13000 ? 88 : 24), "as in the public header");

int runtime_pointer_get_attributes(struct pointer_attributes *ret, const void *at)
{
	enum { MEMORY_TYPE = 2 };
	unsigned int type;
	int r = ready();

	if (r != SUCCESS)
		return r;
	*ret = (struct pointer_attributes){ .device = -1 };
	if (driver.pointer_get_attribute(&type, MEMORY_TYPE, at) != SUCCESS)
		ret->on_host = at;
	else
		*ret = (struct pointer_attributes){ .type = (int)type,
						    .on_device = at,
						    .on_host = type == 1 ? at : NULL };
	return SUCCESS;
}

/* Of a variable on the device; all are one, as nothing is ever in them. */
int runtime_get_symbol_address(void **ret_ptr, const void *symbol)
{
	static char nothing[1 << 16];

	(void)symbol;
	*ret_ptr = nothing;
	return ready();
}

/* Functions */

struct function_attributes {
	size_t shared_bytes, const_bytes, local_bytes;
	int threads_max, registers, ptx_version, binary_version, caches, dynamic_shared_bytes_max, carveout;
	int cluster[5];
	int reserved[17];
};

int runtime_function_get_attributes(struct function_attributes *ret, const void *function)
{
	enum { THREADS_MAX = 0, REGISTERS = 4 };
	enum { SHARED_BYTES = 49152, MAJOR = 75, MINOR = 76 };
	int major, minor;
	int r = ready();

	if (r != SUCCESS)
		return r;
	*ret = (struct function_attributes){ .dynamic_shared_bytes_max = SHARED_BYTES };
	r = driver.function_get_attribute(&ret->threads_max, THREADS_MAX, function);
	if (r == SUCCESS)
		r = driver.function_get_attribute(&ret->registers, REGISTERS, function);
	if (r == SUCCESS)
		r = driver.device_get_attribute(&major, MAJOR, 0);
	if (r == SUCCESS)
		r = driver.device_get_attribute(&minor, MINOR, 0);
	if (r == SUCCESS)
		ret->ptx_version = ret->binary_version = 10 * major + minor;
	return keep_error(r);
}

int runtime_occupancy(int *ret_n, const void *function, int threads, size_t shared_bytes)
{
	FORWARD(occupancy(ret_n, function, threads, shared_bytes));
}

int runtime_occupancy_with_flags(int *ret_n, const void *function, int threads, size_t shared_bytes, unsigned int flags)
{
	(void)flags;
	return runtime_occupancy(ret_n, function, threads, shared_bytes);
}

/* The driver's own functions, by name */

static int get_entry_point(const char *name, void **ret_address, int version, uint64_t flags, int *ret_status)
{
	enum { NO_SUCH_SYMBOL = 1 };
	int status = 0, r = ready();

	if (r != SUCCESS)
		return r;
	if (driver.proc_address(name, ret_address, version, flags, &status) != SUCCESS) {
		*ret_address = NULL;
		status = NO_SUCH_SYMBOL;
	}
	if (ret_status)
		*ret_status = status;
	return SUCCESS;
}

int runtime_get_entry_point(const char *name, void **ret_address, uint64_t flags, int *ret_status)
{
	return get_entry_point(name, ret_address, RUNTIME_VERSION, flags, ret_status);
}

int runtime_get_entry_point_by_version(const char *name, void **ret_address, unsigned int version, uint64_t flags,
				       int *ret_status)
{
	return get_entry_point(name, ret_address, (int)version, flags, ret_status);
}
