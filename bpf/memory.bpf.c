// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory of processes: page allocations, memory reclaims that a process waits for, and out-of-memory kills.
 *
 * Page allocations and reclaims are figures of the process, never records. A page allocation costs a process that is
 * not traced one failed lookup, a traced process two atomic adds. A kill is a record on the ring `life`.
 */
#include "life.h"

/* Counted for the current process: the page is for the process, for the kernel on its behalf, or for an interrupt. */
SEC("tp_btf/mm_page_alloc")
int page_alloc(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = task->tgid, order = ctx[1];
	struct process_entry *entry;
	struct figure_cell *cell;

	entry = bpf_map_lookup_elem(&processes, &tgid);
	if (!entry || !entry->slot || !ctx[0])
		return 0;
	cell = cell_of_event(entry->slot, OP_EVENT_mm_page_alloc);
	if (!cell) {
		__sync_fetch_and_add(&share_losses_of(entry->slot)->memory, 1);
		return 0;
	}
	__sync_fetch_and_add(&cell->untimed, 1);
	__sync_fetch_and_add(&cell->bytes, 1ull << ((order + page_shift) & 63));
	return 0;
}

/* Notes the scope of the last reclaim of every thread: it gives the scope of a later kill. */
static __always_inline void reclaim_begin(__u32 scope)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = bpf_task_storage_get(&threads, task, 0, 0);
	struct reclaim_entry entry = { .start_ns = bpf_ktime_get_ns(), .scope = scope };
	__u32 tid = task->pid;

	if (t)
		WRITE_ONCE(t->is_reclaiming, 1);
	(void)bpf_map_update_elem(&reclaims, &tid, &entry, BPF_ANY);
}

static __always_inline int reclaim_end(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *t = bpf_task_storage_get(&threads, task, 0, 0);
	__u32 tid = task->pid, tgid = task->tgid;
	struct process_entry *process;
	struct reclaim_entry *entry;
	struct figure_cell *cell;
	__u64 start_ns, ns;

	if (t)
		WRITE_ONCE(t->is_reclaiming, 0);
	entry = bpf_map_lookup_elem(&reclaims, &tid);
	process = bpf_map_lookup_elem(&processes, &tgid);
	start_ns = entry ? entry->start_ns : 0;
	if (entry)
		entry->start_ns = 0;
	if (!process || !process->slot)
		return 0;
	if (!start_ns) {
		__sync_fetch_and_add(&share_losses_of(process->slot)->memory, 1);
		return 0;
	}
	cell = cell_of_event(process->slot, OP_EVENT_mm_reclaim);
	if (!cell) {
		__sync_fetch_and_add(&share_losses_of(process->slot)->memory, 1);
		return 0;
	}
	ns = bpf_ktime_get_ns() - start_ns;
	cell_add(cell, ns, ns);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int reclaim_machine_begin(__u64 *ctx)
{
	(void)ctx;
	reclaim_begin(OOM_SCOPE_MACHINE);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int reclaim_machine_end(__u64 *ctx)
{
	(void)ctx;
	return reclaim_end();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int reclaim_group_begin(__u64 *ctx)
{
	(void)ctx;
	reclaim_begin(OOM_SCOPE_GROUP);
	return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int reclaim_group_end(__u64 *ctx)
{
	(void)ctx;
	return reclaim_end();
}

/* Resident pages, as in the kernel's log line for a victim: counts that each CPU has not added up yet are missing. */
static __always_inline __u64 rss_pages(struct task_struct *task)
{
	__s64 file, anon, shmem;

	if (bpf_core_field_exists(((struct mm_struct___atomic *)0)->rss_stat.count)) {
		struct mm_struct___atomic *mm = (struct mm_struct___atomic *)BPF_CORE_READ(task, mm);

		file = BPF_CORE_READ(mm, rss_stat.count[RSS_FILE].counter);
		anon = BPF_CORE_READ(mm, rss_stat.count[RSS_ANON].counter);
		shmem = BPF_CORE_READ(mm, rss_stat.count[RSS_SHMEM].counter);
	} else {
		file = BPF_CORE_READ(task, mm, rss_stat[RSS_FILE].count);
		anon = BPF_CORE_READ(task, mm, rss_stat[RSS_ANON].count);
		shmem = BPF_CORE_READ(task, mm, rss_stat[RSS_SHMEM].count);
	}
	return (file > 0 ? file : 0) + (anon > 0 ? anon : 0) + (shmem > 0 ? shmem : 0);
}

/*
 * Whether this is the first marked thread of the process: a kill is reported once.
 * @uid, @flags: as of process_add()
 */
static __always_inline bool oom_is_first(__u32 tgid, __u32 uid, __u32 flags)
{
	struct process_entry *entry;

	entry = bpf_map_lookup_elem(&processes, &tgid);
	if (!entry) {
		process_add(tgid, uid, flags);
		entry = bpf_map_lookup_elem(&processes, &tgid);
	}
	/* Without room for an entry the kill is reported, possibly more than once: it must not be lost. */
	return !entry || !__sync_val_compare_and_swap(&entry->was_oom_told, 0, 1);
}

static __always_inline void oom_surroundings(struct life_record *r, __u32 tgid)
{
	struct task_struct *by = bpf_get_current_task_btf();
	struct process_entry *process = bpf_map_lookup_elem(&processes, &tgid);
	struct reclaim_entry *reclaim;
	const struct cred *cred = by->cred;
	__u32 tid = by->pid;

	if (process) {
		r->slot = process->slot;
		r->exec_gen = process->exec_gen;
		r->flags |= process->is_guarded ? LIFE_GUARDED : 0;
	}
	if (bpf_map_lookup_elem(&targets, &tgid))
		r->flags |= LIFE_NAMED;
	reclaim = bpf_map_lookup_elem(&reclaims, &tid);
	if (reclaim)
		r->oom.scope = reclaim->scope;
	if (by->tgid == (int)tgid)
		return;
	r->oom.by_tgid = by->tgid;
	r->oom.by_uid = cred ? cred->uid.val : 0;
	r->oom.is_by_guarded = credentials_are_guarded(by, r->oom.by_uid);
	bpf_probe_read_kernel(r->oom.by_comm, sizeof(r->oom.by_comm), by->comm);
}

SEC("tp_btf/mark_victim")
int oom_kill(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	const struct cred *cred = task->real_cred;
	struct life_record *r;
	__u32 tgid = task->tgid;
	__u64 pages;

	if (!cred || !is_traced(task, tgid) ||
	    !oom_is_first(tgid, cred->uid.val, credentials_are_own(task) ? 0 : PROCESS_GUARDED))
		return 0;
	pages = rss_pages(task);
	r = life_new(task, RECORD_OOM, true);
	if (!r)
		return 0;
	r->oom.rss_bytes = pages << page_shift;
	oom_surroundings(r, tgid);
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/*
 * Before 6.8 the tracepoint gives only the process id. The daemon checks whether a wish for a user or for all covers
 * the process.
 */
SEC("tp_btf/mark_victim")
int oom_kill_by_id(__u64 *ctx)
{
	__u32 tgid = ctx[0];
	struct life_record *r;

	if (!everyone.flags && !n_users && !bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	if (is_tracer(tgid) || !oom_is_first(tgid, 0, PROCESS_GUARDED))
		return 0;
	r = bpf_ringbuf_reserve(&life, sizeof(*r), 0);
	if (!r) {
		counter_add(LOSS_LIFE_FULL, 1);
		return 0;
	}
	__builtin_memset(r, 0, sizeof(*r));
	r->time_ns = bpf_ktime_get_ns();
	r->tgid = tgid;
	r->tid = tgid;
	r->type = RECORD_OOM;
	r->flags = LIFE_UNKNOWN;
	oom_surroundings(r, tgid);
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return 0;
}
