// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon's end of a BPF ring, in its memory once.
 *
 * libbpf's reader has the data twice, one behind the other, so that no record is ever in two parts: 1.5 MiB more of
 * the daemon's own with our rings. Here a record that goes round the end is put together first. How such a ring is
 * laid out is the kernel's promise: Documentation/bpf/ringbuf.rst, and linux/bpf.h for the header of a record.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RING_MAP_RECORD_MAX 256 /* bytes of one that may go round the end; a longer one is cut, and told as so long */

/* n: bytes of it. Return: 0; -errno to go on with the next one another time. */
typedef int (*ring_map_func)(void *data, const void *record, size_t n);

struct ring_map;

/** ring_map_open() - @bytes: of the ring, as it was created. @fd: borrowed, until ring_map_close() */
int ring_map_open(int fd, size_t bytes, struct ring_map **ret_map);
void ring_map_close(struct ring_map *map);
/**
 * ring_map_consume() - hand over what is there, oldest first
 * Return: how many records there were, or what the function returned below 0: that record is taken, too
 */
int ring_map_consume(struct ring_map *map, ring_map_func func, void *data);
/** ring_map_taken() - bytes of all records that were taken since the ring was created, with their headers */
uint64_t ring_map_taken(const struct ring_map *map);
