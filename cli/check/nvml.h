// SPDX-License-Identifier: Apache-2.0
/* NVIDIA's management library, where a driver has brought one: loaded when asked, never linked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVML_GPUS_MAX 64

struct nvml_gpu {
	char model[96];
	uint64_t memory_bytes; /* 0: not told */
};

struct nvml_report {
	char problem[128]; /* what the library says is wrong; empty: nothing */
	char driver[80];   /* version */
	struct nvml_gpu gpus[NVML_GPUS_MAX];
	size_t n_gpus; /* that are described above */
	size_t n_more; /* for which there was no room */
};

/**
 * nvml_read() - what the library knows
 * @library: name or path, as dlopen() takes it
 * Return: 0, also when it found something wrong; -ENOENT when there is no such library
 */
int nvml_read(const char *library, struct nvml_report *ret_report);
