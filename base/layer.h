// SPDX-License-Identifier: Apache-2.0
/*
 * What clients know of the layers of bpf/layers.def.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * layer_error_name() - name of an error code as the library that returned it has it
 * @source: of the call, as layers.def names it: "cuda", "driver" ...
 * Return: a text such as "cudaErrorMemoryAllocation"; NULL for success, other sources and codes without a known name
 */
const char *layer_error_name(const char *source, int32_t code);
/** layer_library() - name of a traced library without its ending, such as "libcudart"; NULL behind the last */
const char *layer_library(size_t i);
/**
 * layer_names_library() - whether a file is called as a traced library: libcuda.so.1, or libcudart-80664282.so.10.2 as
 * in wheels; a plugin, libcudart-NAME.so, is none
 * @name: without its directory
 */
bool layer_names_library(const char *name);
