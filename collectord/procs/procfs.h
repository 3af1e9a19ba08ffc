// SPDX-License-Identifier: Apache-2.0
/*
 * Files of /proc of one process, from text to struct.
 *
 * Everything is read relative to a directory handle of the process, which belongs to this process alone: after its end
 * reads fail, so a successor with the same pid is never read by mistake. The kernel writes the text, but names and
 * paths in it come from the user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct statx;

#define PROCFS_COMM_BYTES 64 /* names of kernel threads may exceed 15 characters */
#define PROCFS_UID_COUNT 3
#define PROCFS_MOUNT_TYPE_BYTES 32

/* One line of /proc/PID/maps. */
struct procfs_mapping {
	uint64_t start;
	uint64_t end; /* exclusive */
	uint64_t offset_bytes;
	uint64_t inode; /* 0: no file */
	uint32_t dev_major;
	uint32_t dev_minor;
	bool is_executable;
	bool is_deleted;  /* the file was deleted; path is its former path */
	bool is_writable;
	const char *path; /* borrowed; "" for anonymous memory, "[...]" for the kernel's own */
};

struct procfs_stat {
	uint64_t start_ticks; /* clock ticks after boot */
	uint32_t pid;
	uint32_t ppid;
	char state;
	char comm[PROCFS_COMM_BYTES];
};

struct procfs_status {
	uint32_t uids[PROCFS_UID_COUNT]; /* real, effective, saved */
	uint32_t tgid;
	uint32_t ns_pid; /* pid in the innermost namespace */
	uint32_t ppid;
	uint64_t permitted; /* capabilities, a bit each */
	bool has_memory;    /* absent while it exits */
	bool has_ended;	    /* all its threads have ended, but its parent has not waited for it yet */
};

/* One line of /proc/PID/mountinfo. */
struct procfs_mount {
	uint64_t id;
	char type[PROCFS_MOUNT_TYPE_BYTES]; /* "ext4", "overlay", "fuse.sshfs" */
	uint32_t owner_uid;		    /* of a FUSE file system: the user who serves it, user_id= */
};

/** procfs_open() - directory handle of /proc. Return: descriptor, or -errno */
int procfs_open(void);
/** procfs_find() - directory handle of one process below /proc. Return: descriptor, or -errno */
int procfs_find(uint32_t pid);
/** procfs_open_process() - directory handle of one process below a handle of /proc. Return: descriptor, or -errno */
int procfs_open_process(int proc_fd, uint32_t pid);

/**
 * procfs_mapping_parse() - parse one line of maps, without its line end
 * @line: changed in place; ret_mapping->path points into it
 * Return: 0 or -EINVAL
 */
int procfs_mapping_parse(char *line, struct procfs_mapping *ret_mapping);
/** procfs_stat_parse() - parse the text of stat. Return: 0 or -EINVAL */
int procfs_stat_parse(const char *text, struct procfs_stat *ret_stat);
/** procfs_status_parse() - parse the text of status. Return: 0 or -EINVAL */
int procfs_status_parse(const char *text, struct procfs_status *ret_status);

/** procfs_mount_parse() - parse one line of mountinfo, without its line end; changed in place. Return: 0 or -EINVAL */
int procfs_mount_parse(char *line, struct procfs_mount *ret_mount);

/** typedef procfs_mapping_func - Return: 0 to continue, else the result of procfs_maps_read() */
typedef int (*procfs_mapping_func)(const struct procfs_mapping *mapping, void *data);
/**
 * procfs_maps_read() - call func for each mapping, in order of address
 * Return: 0; the result of func if not 0; -errno; -EINVAL for an invalid line
 */
int procfs_maps_read(int process_fd, procfs_mapping_func func, void *data);
/**
 * procfs_program() - inode, device, type, mode and owner of the executable of a process
 * Nothing is read or opened, and no file system is asked. Return: 0 or -errno
 */
int procfs_program(uint32_t pid, struct statx *ret_file);
/**
 * procfs_is_elsewhere() - whether it is in another pid namespace than ours, or this is unknown (it has ended, for
 * example)
 */
bool procfs_is_elsewhere(uint32_t pid);
/** procfs_stat_read(), procfs_status_read() - Return: 0 or -errno */
int procfs_stat_read(int process_fd, struct procfs_stat *ret_stat);
/** procfs_tick_ns() - convert start_ticks */
uint64_t procfs_tick_ns(void);
int procfs_status_read(int process_fd, struct procfs_status *ret_status);
/**
 * procfs_mount_find() - find a mount of the process's own namespace, below its root
 * Return: 0, -ENOENT when it has none of that id, -E2BIG when it has too many to search, -errno
 */
int procfs_mount_find(int process_fd, uint64_t id, struct procfs_mount *ret_mount);
/** procfs_mount_id() - id of the mount of one of our descriptors; asks no file system. Return: 0 or -errno */
int procfs_mount_id(int proc_fd, int fd, uint64_t *ret_id);
