// SPDX-License-Identifier: Apache-2.0
/*
 * The files whose code appears in stacks, by the kernel's identity: a place in the kernel half's table of pages, and a
 * descriptor that is handed to the parser, unread.
 *
 * A file that nobody but root can write is one for all users. Any other file is one for each user, whose own parser
 * process reads it: what one user's file does to its parser concerns nobody else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "bpf/record.h"
#include "stacks/names.h"
#include "stacks/rules.h"

struct child;
struct probe_set;
struct stack_file;
struct stack_files;

#define STACK_FILES_MAX 4096	     /* of all users; each keeps a descriptor */
#define STACK_FILES_OF_USER_MAX 1024 /* that processes of a user other than root mapped first */

/* Code of a file that processes map in one piece. */
struct stack_segment {
	uint32_t page; /* first page of the file, in units of UNWIND_PAGE */
	uint32_t n_pages;
	uint32_t first_page; /* its place in the table of pages */
	uint32_t uid;	     /* whose process mapped it so first */
};

/*
 * Parser children. Names of a large file take a second, and rules must not wait for them. A process that has read a
 * user's own file is replaced before it reads anybody else's, and forgets what it knew: so root's files have their own.
 */
enum { STACK_READERS_ROOT, STACK_READERS_OWN, STACK_READERS_COUNT };
struct stack_readers {
	struct child *parser[STACK_READERS_COUNT]; /* borrowed; they outlive the files */
	struct child *namer[STACK_READERS_COUNT];
};

struct stack_file {
	struct stack_file *next; /* in its bucket */
	struct stack_files *files;
	struct file_identity id;
	uint32_t owner; /* of the parser process that reads it: 0 for a file of root */
	uint32_t uid;	/* whose process mapped it first */
	uint64_t n_bytes;
	int path_fd; /* O_PATH, or of memory; -1: it cannot be opened */
	uint32_t n_references;
	uint64_t used_ns; /* when the last reference was given back */
	char *path;	  /* as the first process with it sees it */
	ARRAY(struct stack_segment) segments;
	bool is_dirty;		   /* something was asked of it since the last stack_files_pump() */
	struct rules_wanted rules; /* pages that are being read */
	struct names names;
};

/**
 * stack_files_new() - @readers: copied; @probes: borrowed, it outlives it
 * Return: 0 or -errno
 */
int stack_files_new(const struct stack_readers *readers, struct probe_set *probes, struct stack_files **ret_files);
/** stack_files_free() - every reference was given back. NULL is allowed */
void stack_files_free(struct stack_files *files);
/** stack_files_parser(), stack_files_namer() - who reads files of an owner: rules, and names */
struct child *stack_files_parser(const struct stack_files *files, uint32_t owner);
struct child *stack_files_namer(const struct stack_files *files, uint32_t owner);
struct probe_set *stack_files_probes(const struct stack_files *files);
/** stack_files_proc_fd() - handle of /proc */
int stack_files_proc_fd(const struct stack_files *files);
struct rules_table *stack_files_rules(struct stack_files *files);

/* A mapping whose file is looked for. */
struct stack_sight {
	int process_fd; /* handle of the process in /proc, borrowed */
	uint32_t uid;	/* owner of the process */
	uint64_t start, end, inode, device;
	struct file_identity file; /* inode 0: not known */
	const char *path;
	bool is_deleted;
	bool is_vdso; /* the kernel's own code, which every process maps */
};

/**
 * stack_file_get() - find the file of a mapping, opened if it is new
 * Return: 0 with a reference; -errno: it cannot be opened, or there are too many
 */
int stack_file_get(struct stack_files *files, const struct stack_sight *sight, struct stack_file **ret_file);
struct stack_file *stack_file_ref(struct stack_file *file);
/** stack_file_unref() - NULL is allowed. A file without references is forgotten later */
void stack_file_unref(struct stack_file *file);
/**
 * stack_file_place() - place of pages of the file in the table of pages, the same for each process
 * @uid: owner of the process that maps them; all but root have a part of the table
 * @page: first page of the file; @n_pages: number of pages, of UNWIND_PAGE bytes
 * Return: the index; 0: no room
 */
uint32_t stack_file_place(struct stack_file *file, uint32_t uid, uint32_t page, uint32_t n_pages);
/** stack_file_open() - open for the parser. Return: descriptor, owned by the caller; -errno */
int stack_file_open(const struct stack_file *file);
/** stack_file_asked() - something is wanted of the file: stack_files_pump() sends it */
void stack_file_asked(struct stack_file *file);
typedef void (*stack_files_told_func)(struct stack_file *file, void *data);
/**
 * stack_files_pump() - send what is wanted of all files
 * @told: called later, on the loop, never from within: some of it is known now
 */
void stack_files_pump(struct stack_files *files, stack_files_told_func told, void *data);
/**
 * stack_files_second() - to be called once a second: forget files that nobody uses
 * Return: whether a table was full, so that all places and rules were taken back, and all lists of mappings are over
 */
bool stack_files_second(struct stack_files *files, uint64_t now_ns);
/** stack_files_count() - number of files */
size_t stack_files_count(const struct stack_files *files);
