// SPDX-License-Identifier: Apache-2.0
#include "base/layer.h"

#include <string.h>

#include "base/cleanup.h"

enum layer {
#define LAYER(layer, ...) LAYER_##layer,
#include "bpf/layers.def"
#undef LAYER
};

static const struct {
	const char *source, *library;
} layers[] = {
#define LAYER(layer, source, library, ...) { source, library },
#include "bpf/layers.def"
#undef LAYER
};

#define CALL_ERROR(layer, code, name) { LAYER_##layer, code, #name },
#define CUDA_ERROR(code, runtime, driver)                                                                              \
	CALL_ERROR(RUNTIME, code, cudaError##runtime) CALL_ERROR(DRIVER, code, CUDA_ERROR_##driver)

static const struct {
	enum layer layer;
	int32_t code;
	const char *name;
} errors[] = {
#include "base/call_errors.def"
};

const char *layer_error_name(const char *source, int32_t code)
{
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].code == code && strcmp(layers[errors[i].layer].source, source) == 0)
			return errors[i].name;
	return NULL;
}

const char *layer_library(size_t i)
{
	return i < ARRAY_SIZE(layers) && *layers[i].library ? layers[i].library : NULL;
}

/* After a library's name comes ".so", or the suffix of wheels: '-' and a hash. */
static bool is_end_of_name(const char *end)
{
	if (*end == '-')
		end += 1 + strspn(end + 1, "0123456789abcdef");
	return strncmp(end, ".so", 3) == 0;
}

bool layer_names_library(const char *name)
{
	const char *library, *at;

	for (size_t i = 0; (library = layer_library(i)); i++) {
		at = strstr(name, library);
		if (at && is_end_of_name(at + strlen(library)))
			return true;
	}
	return false;
}
