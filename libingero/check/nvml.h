// SPDX-License-Identifier: Apache-2.0
/* NVIDIA's management library, if the driver has installed it: loaded at run time, never linked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVML_GPUS_MAX 64

struct nvml_gpu {
	char model[96];
	uint64_t memory_bytes; /* 0: unknown */
};

struct nvml_report {
	char problem[128]; /* the library's error message; empty: no error */
	char driver[80];   /* version */
	struct nvml_gpu gpus[NVML_GPUS_MAX];
	size_t n_gpus; /* number of GPUs described above */
	size_t n_more; /* number of GPUs that found no room above */
};

/**
 * nvml_read() - read driver version and GPUs from the library
 * @library: name or path, for dlopen()
 * Return: 0, also with an error message in the result; -ENOENT: no such library
 */
int nvml_read(const char *library, struct nvml_report *ret_report);
