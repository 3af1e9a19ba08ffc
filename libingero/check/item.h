// SPDX-License-Identifier: Apache-2.0
/* Helpers of the checks in libingero/check/list.h: reading the world, filling the result. */
#pragma once

#include <stdarg.h>

#include "libingero/check/check.h"

#define CHECK_ITEM(name, need) void check_##name(const struct check_world *world, struct check_result *result);
#include "libingero/check/list.h"

/** check_say() - set the result: its level, the action (NULL: none) and the value as with printf() */
void check_say(struct check_result *result, enum check_level level, const char *way_out, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/**
 * check_read_line() - read the first line of a small file, without its end and trailing blanks
 * @path: path below world->root, without a leading slash
 * Return: 0 or -errno
 */
int check_read_line(const struct check_world *world, const char *path, char *line, size_t room);
/** check_read() - read a whole file, up to CHECK_FILE_BYTES. Return: 0 or -errno */
int check_read(const struct check_world *world, const char *path, struct buf *text);
#define CHECK_FILE_BYTES (8u << 20)

/** typedef check_maps_func - called for a process; @maps: its mappings as in /proc/PID/maps, may be written */
typedef void (*check_maps_func)(const char *pid, const char *comm, char *maps, void *data);
/**
 * check_maps_look() - visit each process whose mappings the caller may read
 * @ret_closed: number of processes whose mappings the caller may not read
 * Return: 0, or -ENOENT: no /proc
 */
int check_maps_look(const struct check_world *world, check_maps_func func, void *data, size_t *ret_closed);

/**
 * typedef check_cuda_func - called for a process that maps CUDA libraries; @libraries: their names, separated by commas
 */
typedef void (*check_cuda_func)(const char *pid, const char *comm, const char *libraries, void *data);
/**
 * check_cuda_look() - visit each process whose mappings the caller may read and that maps a CUDA library
 * @ret_closed: number of processes whose mappings the caller may not read
 * Return: 0, or -ENOENT: no /proc
 */
int check_cuda_look(const struct check_world *world, check_cuda_func func, void *data, size_t *ret_closed);
