// SPDX-License-Identifier: Apache-2.0
/*
 * Names of the error codes that CUDA's libraries return.
 */
#pragma once

#include <stdint.h>

/**
 * cuda_error_name() - as the library that returned it calls a code
 * @source: of the call: "cuda" (libcudart) or "driver" (libcuda), whose names differ
 * Return: a text such as "cudaErrorMemoryAllocation"; NULL for success, other sources and codes without a known name
 */
const char *cuda_error_name(const char *source, int32_t code);
