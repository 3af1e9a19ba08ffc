// SPDX-License-Identifier: Apache-2.0
/*
 * The device that is counted and described: one, from attributes.def.
 */
#include <stdio.h>
#include <string.h>

#include "driver.h"

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };

static const struct {
	int attribute;
	int value;
} attributes[] = {
#define ATTRIBUTE(attribute, value, what) { attribute, value },
#include "attributes.def"
#undef ATTRIBUTE
};

int driver_device_get(int *ret_device, int ordinal)
{
	if (ordinal != 0)
		return INVALID_DEVICE;
	*ret_device = 0;
	return SUCCESS;
}

int driver_device_get_count(int *ret_n)
{
	*ret_n = 1;
	return SUCCESS;
}

int driver_device_get_name(char *text, int room, int ordinal)
{
	if (ordinal != 0)
		return INVALID_DEVICE;
	if (room <= 0)
		return INVALID_VALUE;
	snprintf(text, (size_t)room, "Ingero stand-in");
	return SUCCESS;
}

int driver_device_get_uuid(unsigned char uuid[16], int ordinal)
{
	if (ordinal != 0)
		return INVALID_DEVICE;
	memcpy(uuid, "ingero stand-in", 16);
	return SUCCESS;
}

int driver_device_get_bus_id(char *text, int room, int ordinal)
{
	if (ordinal != 0)
		return INVALID_DEVICE;
	if (room <= 0)
		return INVALID_VALUE;
	snprintf(text, (size_t)room, "0000:00:00.0");
	return SUCCESS;
}

int driver_device_total_mem(size_t *ret_bytes, int ordinal)
{
	if (ordinal != 0)
		return INVALID_DEVICE;
	*ret_bytes = device.memory_bytes;
	return SUCCESS;
}

int driver_device_get_attribute(int *ret_value, int attribute, int ordinal)
{
	if (ordinal != 0)
		return INVALID_DEVICE;
	*ret_value = 0;
	if (attribute == CAPABILITY_MAJOR)
		*ret_value = device.capability / 10;
	if (attribute == CAPABILITY_MINOR)
		*ret_value = device.capability % 10;
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		if (attributes[i].attribute == attribute)
			*ret_value = attributes[i].value;
	}
	return SUCCESS;
}

int driver_device_get_compute_capability(int *ret_major, int *ret_minor, int ordinal)
{
	if (ordinal != 0)
		return INVALID_DEVICE;
	*ret_major = device.capability / 10;
	*ret_minor = device.capability % 10;
	return SUCCESS;
}
