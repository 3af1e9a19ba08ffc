// SPDX-License-Identifier: Apache-2.0
#include "libingero/check/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"

#define NVML_SUCCESS 0

/* From nvml.h of CUDA 8 to 13; the structs belong to the functions without a version suffix. */
struct nvml_memory {
	unsigned long long total, free, used; /* bytes */
};
struct nvml_functions {
	int (*init)(void);
	int (*shutdown)(void);
	const char *(*error_string)(int result);
	int (*driver_version)(char *version, unsigned int room);
	int (*device_count)(unsigned int *count);
	int (*device_at)(unsigned int index, void **device);
	int (*device_name)(void *device, char *name, unsigned int room);
	int (*device_memory)(void *device, struct nvml_memory *memory);
};

static const struct {
	const char *name;
	size_t field;
} symbols[] = {
	{ "nvmlInit_v2", offsetof(struct nvml_functions, init) },
	{ "nvmlShutdown", offsetof(struct nvml_functions, shutdown) },
	{ "nvmlErrorString", offsetof(struct nvml_functions, error_string) },
	{ "nvmlSystemGetDriverVersion", offsetof(struct nvml_functions, driver_version) },
	{ "nvmlDeviceGetCount_v2", offsetof(struct nvml_functions, device_count) },
	{ "nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml_functions, device_at) },
	{ "nvmlDeviceGetName", offsetof(struct nvml_functions, device_name) },
	{ "nvmlDeviceGetMemoryInfo", offsetof(struct nvml_functions, device_memory) },
};

static int gpus_read(const struct nvml_functions *nvml, struct nvml_report *report)
{
	unsigned int n = 0;
	int r = nvml->device_count(&n);

	for (unsigned int i = 0; r == NVML_SUCCESS && i < n; i++) {
		struct nvml_gpu *gpu = &report->gpus[report->n_gpus];
		struct nvml_memory memory;
		void *device;

		if (report->n_gpus == NVML_GPUS_MAX) {
			report->n_more = n - i;
			break;
		}
		r = nvml->device_at(i, &device);
		if (r == NVML_SUCCESS)
			r = nvml->device_name(device, gpu->model, sizeof(gpu->model));
		if (r != NVML_SUCCESS)
			break;
		gpu->model[sizeof(gpu->model) - 1] = 0;
		/* Integrated GPUs share the machine's memory and report none of their own. */
		if (nvml->device_memory(device, &memory) == NVML_SUCCESS)
			gpu->memory_bytes = memory.total;
		report->n_gpus++;
	}
	return r;
}

int nvml_read(const char *library, struct nvml_report *ret_report)
{
	struct nvml_report report = { .n_gpus = 0 };
	struct nvml_functions nvml;
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	int r;

	if (!handle)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *symbol = dlsym(handle, symbols[i].name);

		if (!symbol) {
			(void)snprintf(report.problem, sizeof(report.problem), "the library has no %s",
				       symbols[i].name);
			goto out;
		}
		/* POSIX requires dlsym() to return functions as data pointers. */
		*(void **)((char *)&nvml + symbols[i].field) = symbol;
	}
	r = nvml.init();
	if (r == NVML_SUCCESS) {
		if (nvml.driver_version(report.driver, sizeof(report.driver)) != NVML_SUCCESS)
			report.driver[0] = 0;
		r = gpus_read(&nvml, &report);
		(void)nvml.shutdown();
	}
	if (r != NVML_SUCCESS)
		(void)snprintf(report.problem, sizeof(report.problem), "%s", nvml.error_string(r));
out:
	(void)dlclose(handle);
	*ret_report = report;
	return 0;
}
