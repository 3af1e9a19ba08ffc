// SPDX-License-Identifier: Apache-2.0
/* An error code has the name that the library which returned it gives it, and each code of a layer has one row. */
#include "base/layer.h"

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

enum layer { NONE, RUNTIME, DRIVER, NCCL };

#define CALL_ERROR(layer, code, name) { layer, code },
#define CUDA_ERROR(code, runtime, driver) { RUNTIME, code }, { DRIVER, code },
static const struct {
	enum layer layer;
	int32_t code;
} codes[] = {
#include "base/call_errors.def"
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *runtime = layer_error_name("cuda", cases[i].code);
		const char *driver = layer_error_name("driver", cases[i].code);

		CHECK_STR_EQ(cases[i].name, runtime ? runtime : "", cases[i].runtime ? cases[i].runtime : "");
		CHECK_STR_EQ(cases[i].name, driver ? driver : "", cases[i].driver ? cases[i].driver : "");
	}
	CHECK_STR_EQ("a collective's", layer_error_name("nccl", 4), "ncclInvalidArgument");
	CHECK("a number of another kind", layer_error_name("net", 2) == NULL);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		for (size_t k = 0; k < i; k++)
			CHECK("in order, each once", codes[k].layer != codes[i].layer || codes[k].code < codes[i].code);
	CHECK_STR_EQ("a library", layer_library(0), "libcudart");
	for (size_t i = 0; layer_library(i); i++)
		CHECK("no end of the names", i < 100);
	return check_result();
}
