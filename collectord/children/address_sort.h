// SPDX-License-Identifier: Apache-2.0
/*
 * Sorting of millions of small items by address, in linear time. qsort(3) asks for the amount of memory when it sorts
 * much, and that system call ends a sealed process.
 */
#pragma once

#include <stddef.h>

/**
 * address_sort() - sort ascending by the uint64_t that each item begins with; equal ones keep their order
 * @items: n items of `size` bytes
 * Return: 0, or -ENOMEM with the items unchanged: it needs the same amount of memory again
 */
int address_sort(void *items, size_t n, size_t size);
