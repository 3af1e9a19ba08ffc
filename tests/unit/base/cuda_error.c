// SPDX-License-Identifier: Apache-2.0
/* An error code has the name that the library which returned it gives it, and each code has one row. */
#include "base/cuda_error.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

static const struct {
	const char *name;
	int32_t code;
	const char *runtime, *driver; /* NULL: has none */
} cases[] = {
	{ "success is no error", 0, NULL, NULL },
	{ "memory", 2, "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY" },
	{ "the runtime's alone", 35, "cudaErrorInsufficientDriver", NULL },
	{ "the driver's alone", 202, NULL, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT" },
	{ "the two do not agree", 201, "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT" },
	{ "a kernel that failed", 719, "cudaErrorLaunchFailure", "CUDA_ERROR_LAUNCH_FAILED" },
	{ "the last", 999, "cudaErrorUnknown", "CUDA_ERROR_UNKNOWN" },
	{ "not given", 11, NULL, NULL },
	{ "none of CUDA's", -1, NULL, NULL },
	{ "far out", INT32_MAX, NULL, NULL },
};

#define CUDA_ERROR(code, runtime, driver) code,
#define CUDA_ERROR_RUNTIME(code, runtime) code,
#define CUDA_ERROR_DRIVER(code, driver) code,
static const int32_t codes[] = {
#include "base/cuda_errors.def"
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *runtime = cuda_error_name("cuda", cases[i].code);
		const char *driver = cuda_error_name("driver", cases[i].code);

		CHECK_STR_EQ(cases[i].name, runtime ? runtime : "", cases[i].runtime ? cases[i].runtime : "");
		CHECK_STR_EQ(cases[i].name, driver ? driver : "", cases[i].driver ? cases[i].driver : "");
	}
	CHECK("a number of another kind", cuda_error_name("net", 2) == NULL);
	for (size_t i = 1; i < ARRAY_SIZE(codes); i++)
		CHECK("in order, each once", codes[i - 1] < codes[i]);
	return check_result();
}
