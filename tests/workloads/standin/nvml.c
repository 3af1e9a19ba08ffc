// SPDX-License-Identifier: Apache-2.0
/*
 * Plays NVIDIA's management library on a machine without a GPU: two of them, one that
 * shares the machine's memory. INGERO_STANDIN_NVML: what nvmlInit_v2() answers.
 */
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, NOT_SUPPORTED = 3, MISMATCH = 18 };

struct memory {
	unsigned long long total, free, used;
};

static const struct gpu {
	const char *name;
	unsigned long long bytes;
} gpus[] = { { "NVIDIA Stand-in 9000", 80ull << 30 }, { "NVIDIA Stand-in Shared", 0 } };

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int result);
EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned int room);
EXPORT int nvmlDeviceGetCount_v2(unsigned int *count);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, const struct gpu **device);
EXPORT int nvmlDeviceGetName(const struct gpu *device, char *name, unsigned int room);
EXPORT int nvmlDeviceGetMemoryInfo(const struct gpu *device, struct memory *memory);

int nvmlInit_v2(void)
{
	const char *result = getenv("INGERO_STANDIN_NVML");

	return result ? atoi(result) : SUCCESS;
}

int nvmlShutdown(void)
{
	return SUCCESS;
}

const char *nvmlErrorString(int result)
{
	return result == MISMATCH ? "Driver/library version mismatch" : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char *version, unsigned int room)
{
	(void)snprintf(version, room, "550.54.15");
	return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = sizeof(gpus) / sizeof(gpus[0]);
	return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, const struct gpu **device)
{
	*device = &gpus[index];
	return SUCCESS;
}

int nvmlDeviceGetName(const struct gpu *device, char *name, unsigned int room)
{
	(void)snprintf(name, room, "%s", device->name);
	return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(const struct gpu *device, struct memory *memory)
{
	if (!device->bytes)
		return NOT_SUPPORTED;
	*memory = (struct memory){ .total = device->bytes, .free = device->bytes };
	return SUCCESS;
}
