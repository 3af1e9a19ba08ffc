// SPDX-License-Identifier: Apache-2.0
/*
 * Frames of many shapes, compiled twice: without frame pointers and with them.
 */
#pragma once

typedef int (*deep_func)(void *data);

/** deep_omit() - n frames of its own, then func. Return: what func returns */
int deep_omit(unsigned int n, deep_func func, void *data);
int deep_keep(unsigned int n, deep_func func, void *data);
