// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Detects libraries that a process loads, by a probe on the function that the dynamic loader calls for debuggers after
 * a change of its list of loaded objects, before any code of a new object runs. New objects are at the end of the list,
 * so each is examined once.
 *
 * Cost per load: a few reads of user memory for each new object. The attach cookie is the distance from that function
 * to the head of the list (_r_debug).
 */
#include "abi.h"
#include "file.h"
#include "hold.h"
#include "policy.h"
#include "repeat.h"
#include "shares.h"
#include "stack_maps.h"

#define LINKS_MAX 8192	    /* objects in one process; a longer list is damaged */
#define LINKS_FOLLOWED 2048 /* objects per change, before 5.17; the next change continues after them */
#define NAME_PIECE 64
#define NAME_PIECES 64 /* 4096 bytes, PATH_MAX */
#define NAME_START 16  /* bytes of a name that are compared with the names of layers.def */

/* Source: link.h; the layout is the debuggers' interface. */
struct loader_debug {
	__s32 version;
	__u32 pad;
	__u64 map;
	__u64 brk;
	__u32 state;
};
enum loader_state { LOADER_CONSISTENT, LOADER_ADD, LOADER_DELETE };

struct loader_link {
	__u64 addr;
	__u64 name;
	__u64 ld;
	__u64 next;
	__u64 prev;
};

struct name_walk {
	__u64 at;   /* address of the next piece in the process */
	__u64 base; /* address after the last '/'; 0: the name cannot be read */
	__u32 is_done;
	__u32 pad;
	char piece[NAME_PIECE];
};

/* Return: 1 at the end of the name. */
VERIFIED_ALONE int character_look(__u32 i, struct name_walk *walk)
{
	char c;

	if (!walk)
		return 1;
	c = walk->piece[i & (NAME_PIECE - 1)];
	if (c == '/')
		walk->base = walk->at + i + 1;
	if (!c)
		walk->is_done = 1;
	return !c;
}

static long character_step(__u32 i, struct name_walk *walk)
{
	return character_look(i, walk) ? 1 : 0;
}

static long name_step(__u32 i, struct name_walk *walk)
{
	(void)i;
	if (bpf_probe_read_user_str(walk->piece, sizeof(walk->piece), (void *)walk->at) <= 0) {
		walk->base = 0;
		return 1;
	}
	repeat(NAME_PIECE - 1, NAME_PIECE - 1, character_step, walk);
	walk->at += NAME_PIECE - 1;
	return walk->is_done ? 1 : 0;
}

/* @prefix: a constant; no name begins with an empty one */
static __always_inline bool begins_with(const char *name, const char *prefix)
{
	__u32 i;

	_Pragma("clang loop unroll(full)") for (i = 0; i < NAME_START; i++)
	{
		if (!prefix[i])
			return i > 0;
		if (name[i] != prefix[i])
			return false;
	}
	return false;
}

enum link_kind {
	LINK_NONE,
	LINK_WANTED, /* a library in layers.def: libcuda.so.1, libcudart-abcd.so ... */
	LINK_PYTHON, /* an interpreter, which is told of, so that it is known before the first call */
};

/* What a library is by its name. Return: enum link_kind */
VERIFIED_ALONE int link_kind_of(__u64 name)
{
	struct name_walk walk = {
		.at = name,
		.base = name + READ_ONCE(zero_unknown),
		.is_done = (__u32)READ_ONCE(zero_unknown),
	};
	char start[NAME_START] = {};

	repeat(NAME_PIECES, NAME_PIECES, name_step, &walk);
	if (!walk.is_done || !walk.base || bpf_probe_read_user_str(start, sizeof(start), (void *)walk.base) <= 0)
		return LINK_NONE;
#define LAYER(layer, source, library, ...)                                                                             \
	_Static_assert(sizeof(library) <= NAME_START, "a name is compared as far as NAME_START");                      \
	if (begins_with(start, library))                                                                               \
		return LINK_WANTED;
#include "layers.def"
#undef LAYER
	return begins_with(start, "libpython3") ? LINK_PYTHON : LINK_NONE;
}

/* Source: elf.h. */
struct dynamic_entry {
	__s64 tag;
	__u64 value;
};
#define DT_NULL 0
#define DT_STRTAB 5
#define DT_SONAME 14
#define DYNAMIC_MAX 128 /* entries; linkers write about 30 */

struct dynamic_walk {
	__u64 next;
	__u64 strings; /* address of the string table, relocated by the loader */
	__u64 soname;  /* offset in the string table */
};

static long dynamic_step(__u32 i, struct dynamic_walk *walk)
{
	struct dynamic_entry entry = {};

	(void)i;
	if (bpf_probe_read_user(&entry, sizeof(entry), (void *)walk->next) || entry.tag == DT_NULL)
		return 1;
	if (entry.tag == DT_STRTAB)
		walk->strings = entry.value;
	if (entry.tag == DT_SONAME)
		walk->soname = entry.value;
	walk->next += sizeof(entry);
	return walk->strings && walk->soname;
}

/* What a library is by its soname, whatever its file name. Costs 3 us per loaded object. Return: enum link_kind */
VERIFIED_ALONE int link_kind_of_soname(__u64 dynamic)
{
	struct dynamic_walk walk = {
		.next = dynamic,
		.strings = READ_ONCE(zero_unknown),
		.soname = READ_ONCE(zero_unknown),
	};

	repeat(DYNAMIC_MAX, DYNAMIC_MAX, dynamic_step, &walk);
	return walk.strings && walk.soname ? link_kind_of(walk.strings + walk.soname) : LINK_NONE;
}

struct link_walk {
	__u64 next; /* next object to examine */
	__u64 tail; /* last object seen */
	__u32 tgid;
	__u32 is_silent;
};

static long library_vma(struct task_struct *task, struct vm_area_struct *vma, struct file_identity *file)
{
	(void)task;
	file_identity_fill(vma, file);
	return 0;
}

/* @kind: enum link_kind. A process is stopped for a library that may be attached, not for an interpreter. */
VERIFIED_ALONE int library_tell(__u64 base, __u32 tgid, __u32 kind)
{
	struct task_struct *task = bpf_get_current_task_btf(), *leader = task->group_leader;
	const struct target_entry *target = bpf_map_lookup_elem(&targets, &tgid);
	const struct cred *cred = task->cred;
	struct process_entry *entry;
	struct file_identity file = {};
	__u32 guardian = 0, hold_uid = 0, uid = cred ? cred->uid.val : 0, guarded = 0, share;
	struct life_record *r;

	entry = bpf_map_lookup_elem(&processes, &tgid);
	if (entry)
		guarded = entry->is_guarded ? LIFE_GUARDED : 0;
	share = share_take_life(uid, guarded, 0);
	if (!share)
		return 0;
	if (kind == LINK_WANTED && target && target->wish.flags & WISH_HOLD) {
		guardian = target->wish.guardian;
		hold_uid = target->wish.hold_uid;
	}
	/* Fails while another thread changes the mappings; then the daemon finds the file itself. */
	if (has_find_vma)
		(void)bpf_find_vma(task, base, library_vma, &file, 0);
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		share_lose_life(uid, share);
		return 0;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->time_ns = bpf_ktime_get_ns();
	r->share = share;
	r->start_boot_ns = leader ? leader->start_boottime : 0;
	r->library.base = base;
	r->library.file = file;
	r->tgid = tgid;
	r->tid = task->pid;
	r->uid = uid;
	if (entry) {
		r->slot = entry->slot;
		r->exec_gen = entry->exec_gen;
	}
	r->type = RECORD_LIBRARY;
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), leader ? leader->comm : task->comm);
	/* The process stops when it returns from this probe. Without the record the daemon would not resume it. */
	if (guardian && bpf_map_lookup_elem(&guardians, &guardian) && hold_is_guarded(hold_uid, guardian))
		r->library.is_held = bpf_send_signal(SIGSTOP) == 0;
	if (r->library.is_held && entry)
		entry->held_ns = r->time_ns;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* Return: 1 at the end of the list. */
VERIFIED_ALONE int link_look(struct link_walk *walk)
{
	struct loader_link link = {};
	int kind = LINK_NONE;

	if (!walk || !walk->next || bpf_probe_read_user(&link, sizeof(link), (void *)walk->next))
		return 1;
	walk->tail = walk->next;
	walk->next = link.next;
	if (walk->is_silent)
		return 0;
	if (link.name)
		kind = link_kind_of(link.name);
	if (kind == LINK_NONE && link.ld)
		kind = link_kind_of_soname(link.ld);
	if (kind != LINK_NONE)
		library_tell(link.addr, walk->tgid, kind);
	return 0;
}

static long link_step(__u32 i, struct link_walk *walk)
{
	(void)i;
	return link_look(walk) ? 1 : 0;
}

SEC("kprobe")
int loader_changed(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct cred *cred = task->real_cred;
	struct process_entry *entry;
	struct loader_debug debug = {};
	struct stack_maps *maps;
	struct link_walk walk = {};
	__u64 next;
	__u32 tgid = task->tgid;

	if (is_inert || !cred || !is_traced(task, tgid))
		return 0;
	if (bpf_probe_read_user(&debug, sizeof(debug), (void *)(regs_ip(ctx) + bpf_get_attach_cookie(ctx))))
		return 0;
	entry = bpf_map_lookup_elem(&processes, &tgid);
	if (!entry) {
		process_add(tgid, cred->uid.val, credentials_are_own(task) ? 0 : PROCESS_GUARDED);
		entry = bpf_map_lookup_elem(&processes, &tgid);
		if (!entry) {
			(void)slot_lose((__u32)bpf_get_current_uid_gid());
			return 0;
		}
	}
	/* Before objects are mapped or unmapped, and after it. In this order: see stack_maps_prove(). */
	__sync_fetch_and_add(&entry->loader_changes, 1);
	maps = bpf_map_lookup_elem(&stack_maps, &tgid);
	if (maps)
		WRITE_ONCE(maps->tag, 0);
	if (debug.state == LOADER_DELETE) {
		entry->is_link_stale = 1;
		return 0;
	}
	if (debug.state != LOADER_CONSISTENT)
		return 0;
	walk.tgid = tgid;
	walk.next = debug.map;
	if (entry->link_tail && entry->is_link_stale) {
		walk.is_silent = 1; /* an unload adds no object */
	} else if (entry->link_tail) {
		if (bpf_probe_read_user(&next, sizeof(next),
					(void *)(entry->link_tail + OFFSET_OF(struct loader_link, next))) == 0) {
			walk.next = next;
			walk.tail = entry->link_tail;
		}
	}
	repeat(LINKS_MAX, LINKS_FOLLOWED, link_step, &walk);
	entry->link_tail = walk.tail;
	entry->is_link_stale = 0;
	return 0;
}
