// SPDX-License-Identifier: Apache-2.0
#include "base/cuda_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define CUDA_ERROR(code, runtime, driver) { code, "cudaError" #runtime, "CUDA_ERROR_" #driver },
#define CUDA_ERROR_RUNTIME(code, runtime) { code, "cudaError" #runtime, NULL },
#define CUDA_ERROR_DRIVER(code, driver) { code, NULL, "CUDA_ERROR_" #driver },

static const struct {
	int32_t code;
	const char *runtime, *driver;
} errors[] = {
#include "base/cuda_errors.def"
};

const char *cuda_error_name(const char *source, int32_t code)
{
	bool is_driver = strcmp(source, "driver") == 0;

	if (!is_driver && strcmp(source, "cuda") != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == code)
			return is_driver ? errors[i].driver : errors[i].runtime;
	return NULL;
}
