// SPDX-License-Identifier: Apache-2.0
/*
 * Every attach of a probe to a file: session link, pair of uprobe_multi links, or perf
 * events. Offsets and cookies come in, nothing of the file is read. libbpf 1.1 knows
 * neither kind of link, so they are made by bpf(2) itself.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "probes/probe_set.h"

struct attach;

/* Source: enum bpf_attach_type, include/uapi/linux/bpf.h of 6.13 */
#define ATTACH_TYPE_UPROBE_MULTI 48
#define ATTACH_TYPE_UPROBE_SESSION 57

/* Descriptors of loaded programs; those that the back end does not use are ignored. */
struct attach_programs {
	int session_fd;
	int entry_fd;
	int return_fd; /* -1: entries alone are wanted */
};

/**
 * attach_open() - attach all sites of one file, all or nothing
 * @back_end: not AUTO; SESSION falls back to a uprobe_multi link when session_fd is -1
 * @path_fd:  O_PATH descriptor, borrowed for the call
 *
 * A site whose cookie has COOKIE_ENTRY_ONLY gets no return trap. Returns are attached before
 * entries: a call that begins in between is not counted, rather than never ending.
 *
 * Return: 0 or -errno
 */
int attach_open(enum probe_back_end back_end, const struct attach_programs *programs, int path_fd,
		const struct probe_site *sites, size_t n_sites, struct attach **ret_attach);
/**
 * attach_close() - NULL is fine
 *
 * A link goes in 60 ms at most. A perf event and its link take 0.1 s each, one after the other
 * (docs/measurements/attach.md), which is left to a process that ends when it is done (closer.h). Until then
 * they call their programs: the caller switches these off first (COOKIE_ATTACH).
 */
void attach_close(struct attach *attach);
void attach_closep(struct attach **attach);
