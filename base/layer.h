// SPDX-License-Identifier: Apache-2.0
/* The layers of bpf/layers.def, for clients. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * layer_error_name() - name of an error code in the library that returned it
 * @source: source of the call in layers.def: "cuda", "driver" ...
 * Return: a text such as "cudaErrorMemoryAllocation"; NULL for success, other sources and unknown codes
 */
const char *layer_error_name(const char *source, int32_t code);
/** layer_library() - name of a traced library without its suffix, such as "libcudart"; NULL after the last */
const char *layer_library(size_t i);
/**
 * layer_names_library() - whether a file name is that of a traced library: libcuda.so.1, or libcudart-80664282.so.10.2
 * as in wheels; a plugin, libcudart-NAME.so, is none
 * @name: file name without its directory
 */
bool layer_names_library(const char *name);
