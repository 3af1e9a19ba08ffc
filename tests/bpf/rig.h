// SPDX-License-Identifier: Apache-2.0
/*
 * A probe set on the library of subject.h, as every test here begins: open, attach,
 * look at figures. Whatever cannot be had ends the test: without privilege with 77.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probes/probe_set.h"
#include "subject.h"

/* Operations under which the subject's exports are attached; ids of ops.def, for their flags and arguments. */
enum rig_op {
	RIG_ALLOC = 1,		    /* cudaMalloc: OP_ALLOC, bytes in argument 1, pointer out */
	RIG_FREE = 2,		    /* cudaFree: OP_FREE */
	RIG_RUNTIME = 3,	    /* cudaLaunchKernel: no flags */
	RIG_COPY = 4,		    /* cudaMemcpyAsync: bytes in argument 2 */
	RIG_SYNC = 5,		    /* cudaStreamSynchronize: OP_SYNC */
	RIG_DRIVER = 18,	    /* cuLaunchKernel */
	RIG_CALL = 23,		    /* cuStreamSynchronize */
	RIG_EMPTY = OP_ID_MAX - 12, /* these are not in ops.def: plain calls */
	RIG_JUMP_HEAD,
	RIG_FAIL,
	RIG_TAIL,
};

struct rig {
	struct probe_set *set;
	struct probe_library *library;
	struct process_wish wish; /* what is wanted of rig_child() besides its figures */
};

/* Sum over all slots of one process, or of all of them. */
struct rig_figures {
	uint64_t timed; /* sum of buckets */
	uint64_t count; /* timed + untimed */
	uint64_t untimed, abandoned, errors, bytes, total_ns, raw_ns, max_ns;
	uint64_t blame_ns[BLAME_COUNT];
};

/** rig_back_end() - from the test's argument; ends the test when it is none */
enum probe_back_end rig_back_end(int argc, char **argv);
/** rig_open() - with all exports of the subject attached */
void rig_open(struct rig *rig, enum probe_back_end back_end, uint64_t ring_bytes);
/** rig_open_cookie() - likewise, with bits set in every cookie */
void rig_open_cookie(struct rig *rig, enum probe_back_end back_end, uint64_t ring_bytes, uint64_t bits);
/** rig_open_bare() - with nothing attached */
void rig_open_bare(struct rig *rig, enum probe_back_end back_end, uint64_t ring_bytes);
void rig_close(struct rig *rig);
/* What becomes a record. */
#define RIG_NO_CALL ((struct process_wish){})
#define RIG_EVERY_CALL ((struct process_wish){ .flags = WISH_RECORDS | WISH_EVERY_CALL })
/** rig_target() - trace a process; 0 is our own */
void rig_target(struct rig *rig, pid_t pid, struct process_wish wish);
struct rig_figures rig_figures(const struct rig *rig, pid_t pid, unsigned int op);
uint64_t rig_loss(const struct rig *rig, enum loss_reason reason);
/** rig_slot() - the process's newest slot, 0 when it has none */
uint32_t rig_slot(const struct rig *rig, pid_t pid);
#define RIG_SITES_MAX 16
/** rig_sites() - all exports of the subject. Return: how many */
size_t rig_sites(struct probe_site ret_sites[RIG_SITES_MAX]);
/** rig_path_fd() - O_PATH descriptor of the subject, the caller's */
int rig_path_fd(void);
/** rig_offset() - file offset of a function of any library that is loaded */
uint64_t rig_offset(const void *function);
/**
 * rig_loader() - what the loader's file says, as the parser child would find it: for probe_set_attach_loader()
 * Return: false: this C library has no _dl_debug_state
 */
bool rig_loader(int *ret_fd, uint64_t *ret_offset, int64_t *ret_delta);
/** rig_thread_cpu_ns() - the independent witness of on-CPU time */
uint64_t rig_thread_cpu_ns(void);
uint64_t rig_now_ns(void);
/** rig_byte_take() - wait for a byte of another thread or process; without one the process ends with status 2 */
void rig_byte_take(int fd);
/** rig_byte_give() - the other side of rig_byte_take() */
void rig_byte_give(int fd);
/**
 * rig_child() - run func in a child that is traced from its first instruction on
 * Return: its wait(2) status
 */
int rig_child(struct rig *rig, int (*func)(void *data), void *data, pid_t *ret_pid);
