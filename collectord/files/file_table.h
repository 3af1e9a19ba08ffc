// SPDX-License-Identifier: Apache-2.0
/*
 * Paths of the files that processes waited for, each as its process sees it and for that process only.
 *
 * The table is bounded: a process with too many paths loses the one that was not looked up for longest; if the table is
 * full, the user with most paths loses one, of the process that has most of them. Users with one share are one user
 * (bpf/shares.h). A file without a path is named by its last component.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

#define FILES_MOST 4096	       /* paths of all processes */
#define FILES_PROCESS_MOST 512 /* paths of one process */
#define FILES_BYTES_MOST (4u << 20)

struct file_table;

struct file_table *file_table_new(void);
void file_table_free(struct file_table *table);
/** file_table_note() - add or replace a path. Return: 0 or -ENOMEM */
int file_table_note(struct file_table *table, const struct file_record *record);
/**
 * file_table_path() - look a path up. Return: in the form of file_path_format(), valid until the next
 * file_table_note(); NULL: unknown
 */
const char *file_table_path(struct file_table *table, const struct file_key *key);
/** file_table_forget() - drop the paths of a slot whose process is gone */
void file_table_forget(struct file_table *table, uint32_t slot);
size_t file_table_count(const struct file_table *table);
/** file_table_lost() - number of paths dropped for lack of room while their process was running */
uint64_t file_table_lost(const struct file_table *table);
