// SPDX-License-Identifier: Apache-2.0
#include "probes/attach.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/thread.h"
#include "probes/closer.h"

#define PERF_UPROBE "/sys/bus/event_source/devices/uprobe/"
#define PERF_SEMAPHORE_SHIFT 32 /* format/ref_ctr_offset of the uprobe event source, since 4.20: config:32-63 */
#define MULTI_RETURN 1u		/* BPF_F_UPROBE_MULTI_RETURN */

/* Arguments of bpf(2) BPF_LINK_CREATE for a uprobe_multi link: part of union bpf_attr since 6.6. */
struct multi_link_attr {
	uint32_t prog_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t ref_ctr_offsets;
	uint64_t cookies;
	uint32_t count;
	uint32_t multi_flags;
	uint32_t pid;
	uint32_t pad;
};

/* Descriptors; closing the last reference to each detaches. */
struct attach {
	ARRAY(int) fds;
	bool is_slow; /* perf: 0.1 s to close each */
};

static void attach_path(char text[32], int path_fd)
{
	(void)snprintf(text, 32, "/proc/self/fd/%d", path_fd);
}

static bool has_return(const struct probe_site *site)
{
	return !(site->cookie & COOKIE_ENTRY_ONLY);
}

static int multi_link(struct attach *a, int prog_fd, uint32_t type, uint32_t multi_flags, int path_fd,
		      const struct probe_site *sites, size_t n_sites)
{
	CLEANUP(freep) uint64_t *offsets = calloc(n_sites + 1, sizeof(*offsets));
	CLEANUP(freep) uint64_t *cookies = calloc(n_sites + 1, sizeof(*cookies));
	CLEANUP(freep) uint64_t *semaphores = calloc(n_sites + 1, sizeof(*semaphores));
	bool has_semaphores = false;
	CLEANUP(closep) int fd = -1;
	struct multi_link_attr attr;
	char path[32];
	size_t i;
	uint32_t n = 0;
	int r;

	if (!offsets || !cookies || !semaphores)
		return -ENOMEM;
	for (i = 0; i < n_sites; i++) {
		if ((multi_flags & MULTI_RETURN) && !has_return(&sites[i]))
			continue;
		offsets[n] = sites[i].offset;
		semaphores[n] = sites[i].semaphore;
		has_semaphores |= sites[i].semaphore != 0;
		cookies[n++] = sites[i].cookie;
	}
	if (n == 0)
		return 0;

	attach_path(path, path_fd);
	memset(&attr, 0, sizeof(attr));
	attr.prog_fd = (uint32_t)prog_fd;
	attr.attach_type = type;
	attr.path = (uintptr_t)path;
	attr.offsets = (uintptr_t)offsets;
	attr.ref_ctr_offsets = has_semaphores ? (uintptr_t)semaphores : 0;
	attr.cookies = (uintptr_t)cookies;
	attr.count = n;
	attr.multi_flags = multi_flags;
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return -errno;
	r = ARRAY_PUSH(&a->fds, fd);
	if (r < 0)
		return r;
	(void)TAKE_FD(fd);
	return 0;
}

static int perf_number(const char *name, const char *prefix, uint64_t *ret_value)
{
	char text[64];
	size_t n = strlen(prefix);
	ssize_t r = fd_read_file_at(AT_FDCWD, name, text, sizeof(text));

	if (r < 0)
		return (int)r;
	text[strcspn(text, "\n")] = '\0';
	if (strncmp(text, prefix, n) != 0)
		return -ENODATA;
	return parse_u64(text + n, 1u << 30, ret_value);
}

static int perf_event(struct attach *a, int prog_fd, uint64_t type, uint64_t config, const char *path,
		      const struct probe_site *site)
{
	struct perf_event_attr attr = {
		.type = (uint32_t)type,
		.size = sizeof(attr),
		.config = config | site->semaphore << PERF_SEMAPHORE_SHIFT,
		.config1 = (uintptr_t)path,
		.config2 = site->offset,
	};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = site->cookie);
	CLEANUP(closep) int event = -1;
	CLEANUP(closep) int link = -1;
	int r;

	/* CPU 0 and no process: a uprobe fires on all CPUs nevertheless. */
	event = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	link = bpf_link_create(prog_fd, event, BPF_PERF_EVENT, &opts);
	if (link < 0)
		return -errno;
	r = ARRAY_PUSH(&a->fds, event);
	if (r < 0)
		return r;
	(void)TAKE_FD(event);
	r = ARRAY_PUSH(&a->fds, link);
	if (r < 0)
		return r;
	(void)TAKE_FD(link);
	return 0;
}

static int perf_events(struct attach *a, const struct attach_programs *programs, int path_fd,
		       const struct probe_site *sites, size_t n_sites)
{
	CLEANUP(closep) int hold_fd = closer_hold();
	uint64_t type, return_bit;
	char path[32];
	size_t i;
	int r;

	(void)hold_fd; /* released at the end */
	r = perf_number(PERF_UPROBE "type", "", &type);
	if (r < 0)
		return r;
	r = perf_number(PERF_UPROBE "format/retprobe", "config:", &return_bit);
	if (r < 0)
		return r;
	attach_path(path, path_fd);
	for (i = 0; programs->return_fd >= 0 && i < n_sites; i++) {
		if (!has_return(&sites[i]))
			continue;
		r = perf_event(a, programs->return_fd, type, 1ull << return_bit, path, &sites[i]);
		if (r < 0)
			return r;
	}
	for (i = 0; i < n_sites; i++) {
		r = perf_event(a, programs->entry_fd, type, 0, path, &sites[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int attach_try_kind(enum probe_back_end back_end)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	bool is_session = back_end == PROBE_BACK_END_SESSION;
	enum bpf_attach_type type =
		(enum bpf_attach_type)(is_session ? ATTACH_TYPE_UPROBE_SESSION : ATTACH_TYPE_UPROBE_MULTI);
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = type);
	const struct probe_site site = { .offset = 0 };
	CLEANUP(attach_closep) struct attach *attach = NULL;
	CLEANUP(closep) int program_fd = -1;
	CLEANUP(closep) int path_fd = -1;
	int r;

	if (back_end == PROBE_BACK_END_PERF)
		return 0;
	program_fd =
		bpf_prog_load(BPF_PROG_TYPE_KPROBE, "kind", "Dual BSD/GPL", nothing, ARRAY_SIZE(nothing), &options);
	if (program_fd < 0)
		return -errno;
	path_fd = open("/", O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return -errno;
	r = attach_open(back_end, &(struct attach_programs){ is_session ? program_fd : -1, program_fd, -1 }, path_fd,
			&site, 1, &attach);
	return r == -EINVAL || r == -E2BIG ? -EOPNOTSUPP : 0;
}

int attach_open(enum probe_back_end back_end, const struct attach_programs *programs, int path_fd,
		const struct probe_site *sites, size_t n_sites, struct attach **ret_attach)
{
	CLEANUP(attach_closep) struct attach *a = calloc(1, sizeof(*a));
	int r = -EINVAL;

	if (!a)
		return -ENOMEM;
	if (n_sites == 0)
		return -EINVAL;
	switch (back_end) {
	case PROBE_BACK_END_SESSION:
		if (programs->session_fd >= 0) {
			r = multi_link(a, programs->session_fd, ATTACH_TYPE_UPROBE_SESSION, 0, path_fd, sites, n_sites);
			break;
		}
		/* fall through */
	case PROBE_BACK_END_MULTI:
		r = 0;
		if (programs->return_fd >= 0)
			r = multi_link(a, programs->return_fd, ATTACH_TYPE_UPROBE_MULTI, MULTI_RETURN, path_fd, sites,
				       n_sites);
		if (r == 0)
			r = multi_link(a, programs->entry_fd, ATTACH_TYPE_UPROBE_MULTI, 0, path_fd, sites, n_sites);
		break;
	case PROBE_BACK_END_PERF:
		a->is_slow = true;
		r = perf_events(a, programs, path_fd, sites, n_sites);
		break;
	case PROBE_BACK_END_AUTO:
	case PROBE_BACK_END_COUNT:
		break;
	}
	if (r < 0)
		return r;
	*ret_attach = TAKE_PTR(a);
	return 0;
}

void attach_close(struct attach *a)
{
	size_t i;

	if (!a)
		return;
	if (a->is_slow)
		closer_start(a->fds.items, a->fds.n);
	else
		for (i = 0; i < a->fds.n; i++)
			(void)close(a->fds.items[i]);
	ARRAY_DONE(&a->fds);
	free(a);
}

struct attach_closing {
	pthread_t thread;
	struct attach *attach;
	bool is_over; /* atomic */
};

static void *closing_run(void *data)
{
	struct attach_closing *closing = data;

	attach_close(closing->attach);
	__atomic_store_n(&closing->is_over, true, __ATOMIC_RELEASE);
	return NULL;
}

struct attach_closing *attach_close_aside(struct attach *a)
{
	struct attach_closing *closing = a && !a->is_slow ? calloc(1, sizeof(*closing)) : NULL;

	if (closing) {
		closing->attach = a;
		if (thread_start(&closing->thread, closing_run, closing) == 0)
			return closing;
	}
	free(closing);
	attach_close(a);
	return NULL;
}

bool attach_closing_is_over(const struct attach_closing *closing)
{
	return !closing || __atomic_load_n(&closing->is_over, __ATOMIC_ACQUIRE);
}

void attach_closing_end(struct attach_closing *closing)
{
	if (!closing)
		return;
	(void)pthread_join(closing->thread, NULL);
	free(closing);
}

void attach_closep(struct attach **a)
{
	attach_close(*a);
}
