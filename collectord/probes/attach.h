// SPDX-License-Identifier: Apache-2.0
/*
 * All code that attaches probes to a file: as session link, pair of uprobe_multi links, or perf events. It gets offsets
 * and cookies and reads nothing of the file. libbpf 1.1 supports neither kind of link, so they are created with bpf(2)
 * directly.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/probe_set.h"

struct attach;
struct attach_closing;

/* Source: enum bpf_attach_type, include/uapi/linux/bpf.h of 6.13 */
#define ATTACH_TYPE_UPROBE_MULTI 48
#define ATTACH_TYPE_UPROBE_SESSION 57

/* Descriptors of loaded programs; the back end ignores those that it does not use. */
struct attach_programs {
	int session_fd;
	int entry_fd;
	int return_fd; /* -1: attach entries only */
};

/**
 * attach_try_kind() - ask the kernel for the kind of link of a back end
 * @back_end: not AUTO
 *
 * A link of a program that does nothing, to a directory: a kernel that has the kind refuses the directory. Nothing is
 * attached. This takes a millisecond; loading the programs of a back end takes up to a second before the kernel refuses
 * the link.
 *
 * Return: 0: worth loading; -EOPNOTSUPP: this kernel has not that kind; -errno: no program can be loaded
 */
int attach_try_kind(enum probe_back_end back_end);
/**
 * attach_open() - attach all sites of one file, or none
 * @back_end: not AUTO; SESSION falls back to a uprobe_multi link when session_fd is -1
 * @path_fd:  O_PATH descriptor, borrowed for the call
 *
 * A site whose cookie has COOKIE_ENTRY_ONLY gets no return probe. Returns are attached before entries, so that a call
 * which begins in between is not counted, instead of counted without an end.
 *
 * Return: 0 or -errno
 */
int attach_open(enum probe_back_end back_end, const struct attach_programs *programs, int path_fd,
		const struct probe_site *sites, size_t n_sites, struct attach **ret_attach);
/**
 * attach_close() - detach and release; NULL is allowed
 *
 * A link closes in 60 ms at most. Perf events and their links take 0.1 s each, one after the other
 * (docs/measurements/attach.md): a separate process closes them (closer.h). Until then they run their programs, so the
 * caller switches the programs off first (COOKIE_ATTACH).
 */
void attach_close(struct attach *attach);
void attach_closep(struct attach **attach);

/**
 * attach_close_aside() - detach and release in a thread; the last trap comes after 8 ms (session) or 40 ms (multi)
 * Return: to be passed to attach_closing_end(); NULL: no thread could be started, and it was closed here
 */
struct attach_closing *attach_close_aside(struct attach *attach);
/** attach_closing_is_over() - whether it is detached, so that attach_closing_end() does not block. NULL: yes */
bool attach_closing_is_over(const struct attach_closing *closing);
/** attach_closing_end() - wait until it is detached; NULL is allowed */
void attach_closing_end(struct attach_closing *closing);
