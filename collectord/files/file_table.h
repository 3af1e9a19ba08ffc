// SPDX-License-Identifier: Apache-2.0
/*
 * Paths of the files that processes waited for: each belongs to the process that sees it so, and to nobody else.
 *
 * Bounded: a process that has too many loses the one that was not asked for longest; where all have too many, the
 * process with most of them does. What is lost is known by its last component, as before its path came.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define FILES_MOST 4096	       /* of all processes */
#define FILES_PROCESS_MOST 512 /* of one */
#define FILES_BYTES_MOST (4u << 20)

struct file_table;

struct file_table *file_table_new(void);
void file_table_free(struct file_table *table);
/** file_table_note() - a path, new or again. Return: 0 or -ENOMEM */
int file_table_note(struct file_table *table, const struct file_record *record);
/** file_table_path() - Return: as file_path_format() has it, valid until the next is noted; NULL: not known */
const char *file_table_path(struct file_table *table, const struct file_key *key);
/** file_table_forget() - the process in a slot is gone */
void file_table_forget(struct file_table *table, uint32_t slot);
size_t file_table_count(const struct file_table *table);
/** file_table_lost() - paths that gave way to others while their process was there */
uint64_t file_table_lost(const struct file_table *table);
