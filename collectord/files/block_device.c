// SPDX-License-Identifier: Apache-2.0
#include "files/block_device.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void block_device_name_in(const char *directory, uint32_t device, char ret[BLOCK_DEVICE_NAME_BYTES])
{
	char link[PATH_MAX], target[PATH_MAX];
	const char *name;
	ssize_t n;

	ret[0] = '\0';
	if (!(device >> 20))
		return; /* the file system has no block device */
	(void)snprintf(link, sizeof(link), "%s%u:%u", directory, device >> 20, device & 0xfffff);
	n = readlink(link, target, sizeof(target) - 1);
	if (n <= 0)
		return;
	target[n] = '\0';
	name = strrchr(target, '/');
	name = name ? name + 1 : target;
	if (strlen(name) < BLOCK_DEVICE_NAME_BYTES)
		memcpy(ret, name, strlen(name) + 1);
}

void block_device_name(uint32_t device, char ret[BLOCK_DEVICE_NAME_BYTES])
{
	block_device_name_in("/sys/dev/block/", device, ret);
}
