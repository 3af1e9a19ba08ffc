// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon's end of a BPF ring, mapped once.
 *
 * libbpf's reader maps the data twice, one after the other, so that no record is split: with our rings 1.5 MiB more of
 * the daemon's memory. Here a record that wraps around the end is copied together first. The layout of a ring is
 * documented by the kernel: Documentation/bpf/ringbuf.rst, and linux/bpf.h for the header of a record.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* n: bytes of it. Return: 0; -errno to continue with the next one another time. */
typedef int (*ring_map_func)(void *data, const void *record, size_t n);

struct ring_map;

/**
 * ring_map_open() - map a ring
 * @fd: borrowed, until ring_map_close()
 * @bytes: size with which it was created
 * @record_bytes: maximum of a record that wraps; a longer one is cut, and reported with its length
 */
int ring_map_open(int fd, size_t bytes, size_t record_bytes, struct ring_map **ret_map);
void ring_map_close(struct ring_map *map);
/**
 * ring_map_consume() - pass all records that are there now to the function, oldest first; those that come meanwhile are
 * left, so that a producer that is faster does not keep the caller
 * Return: number of records, or a negative result of the function: that record is taken, too
 */
int ring_map_consume(struct ring_map *map, ring_map_func func, void *data);
/** ring_map_end() - position behind all records that are there now: as ring_map_taken() once they were taken */
uint64_t ring_map_end(const struct ring_map *map);
/** ring_map_consume_to() - as ring_map_consume(), of the records before an earlier ring_map_end() */
int ring_map_consume_to(struct ring_map *map, uint64_t end, ring_map_func func, void *data);
/** ring_map_taken() - bytes of all records taken since the ring was created, with their headers */
uint64_t ring_map_taken(const struct ring_map *map);
