// SPDX-License-Identifier: Apache-2.0
#include "rig.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "tests/support/check.h"

#if defined(__x86_64__)
#define JUMP_DELTA 10
#else
#define JUMP_DELTA 4
#endif

static const struct {
	void (*function)(void);
	uint32_t delta;
	enum call_head head;
	enum rig_op op;
} sites[] = {
	{ (void (*)(void))subject_empty, 0, CALL_HEAD_PLAIN, RIG_EMPTY },
	{ (void (*)(void))subject_jump_head, JUMP_DELTA, CALL_HEAD_JUMP, RIG_JUMP_HEAD },
	{ (void (*)(void))subject_arguments, 0, CALL_HEAD_PLAIN, RIG_COPY },
	{ (void (*)(void))subject_fail, 0, CALL_HEAD_PLAIN, RIG_FAIL },
	{ (void (*)(void))subject_call, 0, CALL_HEAD_PLAIN, RIG_CALL },
	{ (void (*)(void))subject_driver, 0, CALL_HEAD_PLAIN, RIG_DRIVER },
	{ (void (*)(void))subject_runtime, 0, CALL_HEAD_PLAIN, RIG_RUNTIME },
	{ (void (*)(void))subject_tail, 0, CALL_HEAD_PLAIN, RIG_TAIL },
	{ (void (*)(void))subject_tail_variant, 0, CALL_HEAD_PLAIN, RIG_CALL },
	{ (void (*)(void))subject_variant, 0, CALL_HEAD_PLAIN, RIG_CALL },
	{ (void (*)(void))subject_alloc, 0, CALL_HEAD_PLAIN, RIG_ALLOC },
};

_Noreturn static void rig_die(const char *what, int r)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-r));
	exit(1);
}

enum probe_back_end rig_back_end(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : INGERO_BACK_END;
	enum probe_back_end back_end;

	if (probe_back_end_parse(name, &back_end) < 0)
		rig_die(name, -EINVAL);
	return back_end;
}

uint64_t rig_offset(const void *function)
{
	struct link_map *map;
	const ElfW(Ehdr) * header;
	const ElfW(Phdr) * p;
	Dl_info info;
	unsigned int i;

	if (!dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP))
		rig_die("dladdr1", -ENOENT);
	header = info.dli_fbase;
	p = (const ElfW(Phdr) *)((const char *)header + header->e_phoff);
	for (i = 0; i < header->e_phnum; i++, p++) {
		uintptr_t at = (uintptr_t)function - map->l_addr;

		if (p->p_type == PT_LOAD && at >= p->p_vaddr && at < p->p_vaddr + p->p_filesz)
			return at - p->p_vaddr + p->p_offset;
	}
	rig_die("program headers", -ENOENT);
}

int rig_path_fd(void)
{
	Dl_info info;
	int fd;

	if (!dladdr((const void *)subject_empty, &info))
		rig_die("dladdr", -ENOENT);
	fd = open(info.dli_fname, O_PATH | O_CLOEXEC);
	if (fd < 0)
		rig_die(info.dli_fname, -errno);
	return fd;
}

size_t rig_sites(struct probe_site ret_sites[RIG_SITES_MAX])
{
	size_t i;

	_Static_assert(ARRAY_SIZE(sites) <= RIG_SITES_MAX, "room for all");
	for (i = 0; i < ARRAY_SIZE(sites); i++) {
		ret_sites[i] = (struct probe_site){
			.offset = rig_offset((const void *)sites[i].function) + sites[i].delta,
			.cookie = COOKIE(sites[i].op, sites[i].head),
		};
	}
	return ARRAY_SIZE(sites);
}

bool rig_loader(int *ret_fd, uint64_t *ret_offset, int64_t *ret_delta)
{
	void *hook = dlsym(RTLD_DEFAULT, "_dl_debug_state");
	const ElfW(Dyn) *dynamic = _DYNAMIC;
	Dl_info info;

	if (!hook || !dladdr(hook, &info))
		return false;
	/* Where the loader told our program that its _r_debug is; that symbol here may be a copy. */
	while (dynamic->d_tag != DT_NULL && dynamic->d_tag != DT_DEBUG)
		dynamic++;
	if (dynamic->d_tag != DT_DEBUG)
		return false;
	*ret_fd = open(info.dli_fname, O_PATH | O_CLOEXEC);
	*ret_offset = rig_offset(hook);
	*ret_delta = (int64_t)(dynamic->d_un.d_ptr - (uintptr_t)hook);
	return *ret_fd >= 0;
}

void rig_open_bare(struct rig *rig, enum probe_back_end back_end, uint64_t ring_bytes)
{
	const struct probe_set_options options = {
		.back_end = back_end,
		.ring_bytes = ring_bytes,
		.checks_stacks = getenv("RIG_CHECK_STACKS"),
		.is_oldest = getenv("RIG_OLDEST"),
		.is_blind = getenv("RIG_BLIND"),
	};
	char why[256];
	int r;

	log_init("test", LOG_STYLE_PLAIN, getenv("RIG_DEBUG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING);
	memset(rig, 0, sizeof(*rig));
	if (geteuid() != 0)
		CHECK_SKIP("loading BPF programs needs root");
	r = probe_set_open(&options, why, sizeof(why), &rig->set);
	if (r < 0) {
		if (back_end != PROBE_BACK_END_AUTO)
			CHECK_SKIP("this machine cannot do it: %s", why);
		fprintf(stderr, "%s\n", why);
		rig_die("probe_set_open", r);
	}
}

void rig_open_cookie(struct rig *rig, enum probe_back_end back_end, uint64_t ring_bytes, uint64_t bits)
{
	struct probe_site probes[RIG_SITES_MAX];
	CLEANUP(closep) int fd = -1;
	size_t i, n;
	int r;

	rig_open_bare(rig, back_end, ring_bytes);
	fd = rig_path_fd();
	n = rig_sites(probes);
	for (i = 0; i < n; i++)
		probes[i].cookie |= bits;
	r = probe_set_attach_library(rig->set, fd, probes, n, &rig->library);
	if (r < 0)
		rig_die("probe_set_attach_library", r);
}

void rig_open(struct rig *rig, enum probe_back_end back_end, uint64_t ring_bytes)
{
	rig_open_cookie(rig, back_end, ring_bytes, 0);
}

void rig_close(struct rig *rig)
{
	probe_set_detach_library(rig->set, rig->library);
	probe_set_close(rig->set);
}

void rig_target(struct rig *rig, pid_t pid, struct process_wish wish)
{
	int r = probe_set_target_add(rig->set, (uint32_t)(pid ? pid : getpid()), wish);

	if (r < 0)
		rig_die("probe_set_target_add", r);
}

struct rig_figures rig_figures(const struct rig *rig, pid_t pid, unsigned int op)
{
	const struct figure_cell *cells = probe_set_cells(rig->set);
	const struct process_slot *slots = probe_set_slots(rig->set);
	uint32_t i, k, n = probe_set_cells_used(rig->set);
	struct rig_figures sum = {};

	for (i = 1; i < n; i++) {
		const struct figure_cell *c = &cells[i];

		if (c->slot == 0 || c->op != op || (pid && slots[c->slot].tgid != (uint32_t)pid))
			continue;
		for (k = 0; k < HISTOGRAM_BUCKETS; k++)
			sum.timed += c->buckets[k];
		sum.untimed += c->untimed;
		sum.abandoned += c->abandoned;
		sum.errors += c->errors;
		sum.bytes += c->bytes;
		sum.total_ns += c->total_ns;
		sum.raw_ns += c->raw_ns;
		sum.max_ns = MAX(sum.max_ns, c->max_ns);
		for (k = 1; k < BLAME_COUNT; k++)
			sum.blame_ns[k] += c->blame_ns[k - 1];
	}
	sum.count = sum.timed + sum.untimed;
	return sum;
}

uint64_t rig_loss(const struct rig *rig, enum loss_reason reason)
{
	uint64_t losses[LOSS_COUNT];

	probe_set_losses(rig->set, losses);
	probe_set_user_losses(rig->set, UINT32_MAX, losses);
	return losses[reason];
}

uint32_t rig_slot(const struct rig *rig, pid_t pid)
{
	const struct process_slot *slots = probe_set_slots(rig->set);
	uint32_t i, best = 0;

	for (i = 1; i < PROCESS_SLOTS; i++)
		if (slots[i].state != PROCESS_SLOT_FREE && slots[i].tgid == (uint32_t)pid &&
		    (!best || slots[i].exec_gen > slots[best].exec_gen))
			best = i;
	return best;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

uint64_t rig_thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t rig_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void rig_byte_take(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(2);
}

void rig_byte_give(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(2);
}

int rig_child(struct rig *rig, int (*func)(void *data), void *data, pid_t *ret_pid)
{
	int gate[2], status = -1;
	pid_t pid;
	char go = 0;

	if (pipe2(gate, O_CLOEXEC) < 0)
		rig_die("pipe2", -errno);
	(void)fflush(NULL);
	pid = fork();
	if (pid < 0)
		rig_die("fork", -errno);
	if (pid == 0) {
		(void)close(gate[1]);
		if (read(gate[0], &go, 1) != 1)
			_exit(99);
		_exit(func(data));
	}
	(void)close(gate[0]);
	rig_target(rig, pid, rig->wish);
	if (write(gate[1], &go, 1) != 1)
		rig_die("write", -errno);
	(void)close(gate[1]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (ret_pid)
		*ret_pid = pid;
	return status;
}
