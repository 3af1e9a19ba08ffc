// SPDX-License-Identifier: Apache-2.0
/*
 * The books: for every thread, how often each function was entered and how often
 * it returned. Exact by construction: a thread adds to cells that no other thread
 * writes, one instruction each (so a signal handler on top adds up too), and the
 * cells lie in a shared mapping of a file, so that nothing is lost by exit, _exit,
 * exec or kill -9.
 *
 * With INGERO_STANDIN_BOOKS=PREFIX in the environment the file is
 * PREFIX.PID.GENERATION: a process that execs starts the next generation, a forked
 * child its own file at its first call. Without it the books live in memory only.
 * A call that is entered before a fork and returns in the child is an entry in one
 * book and a return in the other.
 *
 * File: struct books_header, the names (library NUL name NUL ...), then from
 * `first_block` a block of `stride` bytes for each thread, in order of first calls.
 * books.py one level up reads it.
 */
#pragma once

#include <stdint.h>

#define BOOKS_MAGIC "INGBOOK1"

struct books_header {
	char magic[8];
	uint32_t n_functions;
	uint32_t stride;
	uint32_t names_offset;
	uint32_t names_bytes;
	uint32_t first_block;
	int32_t pid;
	uint32_t generation;
	uint32_t n_blocks; /* handed out; one whose tid is 0 was never used */
	uint64_t start_ns; /* CLOCK_MONOTONIC, first call */
	char comm[16];
};

struct books_cell {
	uint64_t entries;
	uint64_t returns;
};

struct books_block {
	uint64_t start_ns; /* CLOCK_MONOTONIC, first call of the thread */
	uint32_t tid;
	uint32_t pad;
	struct books_block *next; /* within the process */
	uint64_t pad_to_cell;
	struct books_cell cells[];
};

/** books_thread() - this thread's block, made at its first call; also sets standin_cells */
struct books_block *books_thread(void);
/** books_first() - newest block of this process; follow ->next */
struct books_block *books_first(void);
/** books_of_child() - count in the book of a process that shares our memory (vfork). Return: 1 when it is one */
int books_of_child(unsigned int number, int is_return);
/** books_name() - of a function, by number; NULL past the last */
const char *books_name(unsigned int number);
/** books_library() - that exports it */
const char *books_library(unsigned int number);

/* The running thread's cells, NULL before its first call: read by the function heads. */
extern __attribute__((visibility("default"))) __thread struct books_cell *standin_cells;
