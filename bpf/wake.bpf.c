// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Wake-ups: finds the waker and the resource of waits of threads that make calls.
 *
 * Runs at every wake-up of the machine; costs a thread without traced calls two comparisons. Attached only while
 * libraries are attached.
 */
#include "abi.h"
#include "chain.h"
#include "guard.h"
#include "policy.h"
#include "resource.h"
#include "syscalls.h"
#include "waits.h"

/* Shorter waits are skipped. Less than WAIT_LEAST_NS, since the hook measures a little less than the scheduler. */
#define LOOK_LEAST_NS (WAIT_LEAST_NS * 3 / 4)
#define CPUS_MOST 8192 /* maximum of CONFIG_NR_CPUS */

/*
 * Whether the current task itself causes the wake-up, not an interrupt on its CPU or a kernel thread. A worker of
 * io_uring is a thread of the process for which it works.
 */
static __always_inline bool is_own_wish(struct task_struct *waker, const void *ctx)
{
	int nr;

	if (!is_on_own_stack(waker, ctx))
		return false;
	if (waker->flags & (PF_EXITING | PF_IO_WORKER))
		return true;
	nr = user_syscall((const struct pt_regs *)bpf_task_pt_regs(waker));
	return nr >= 0 && syscall_has(nr, WAKES);
}

/*
 * Data sent over the loopback device is delivered in a soft interrupt on top of the sending system call. So the current
 * task is the waker if its system call is on the other end of the connection that the thread waits for. A delivery by
 * ksoftirqd is not recognised.
 */
static __always_inline bool is_peers_wish(struct task_struct *waker, struct task_struct *task)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(waker);
	const struct pt_regs *waiting = (const struct pt_regs *)bpf_task_pt_regs(task);
	int nr;

	if (waker->flags & PF_KTHREAD || !waker->pid)
		return false;
	nr = user_syscall(regs);
	if (nr < 0 || !syscall_has(nr, WAKES) || syscall_object(nr) != OBJECT_DESCRIPTOR ||
	    syscall_object(user_syscall(waiting)) != OBJECT_DESCRIPTOR)
		return false;
	return are_peers(descriptor_file((__u64)waker, (__u32)user_argument(regs, 0)),
			 descriptor_file((__u64)task, (__u32)user_argument(waiting, 0)));
}

static __always_inline void waker_note(struct thread_wait *wait, struct task_struct *task, const void *ctx)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	const struct cred *cred;
	__u32 tgid = waker->tgid;

	if (!is_own_wish(waker, ctx) && !(resource_is_socket(wait->kind) && is_peers_wish(waker, task)))
		return;
	if (is_tracer(tgid))
		return;
	cred = waker->cred;
	wait->waker_tgid = tgid;
	wait->waker_tid = waker->pid;
	wait->waker_uid = cred ? cred->uid.val : 0;
	wait->is_waker_guarded = credentials_are_guarded(waker, wait->waker_uid);
	bpf_probe_read_kernel(wait->waker_comm, sizeof(wait->waker_comm), waker->comm);
}

struct holder_search {
	__u32 tgid, but; /* the process, and its waiting thread */
	__u32 n;
	__u32 tid, cpu, at; /* the last one found: its thread, its CPU, its entry in the ring of that CPU */
};

static long holder_step(__u32 cpu, void *data)
{
	struct holder_search *search = data;
	const struct ran_head *head;
	__u32 zero = 0;

	head = bpf_map_lookup_percpu_elem(&ran_head, &zero, cpu);
	if (!head)
		return 1;
	if (head->tgid != search->tgid || head->tid == search->but)
		return 0;
	search->n++;
	search->tid = head->tid;
	search->cpu = cpu;
	search->at = head->n - 1;
	return 0;
}

/*
 * A wait for the GIL that a timer ends has no waker. The holder of the GIL usually computes, and only one thread can
 * compute in Python: so if exactly one other thread of the process is on a CPU, it is taken as the holder.
 */
VERIFIED_ALONE int holder_note(struct thread_state *t)
{
	struct holder_search search = {};
	const struct ran_entry *entry;
	__u32 at;

	if (!t || !has_percpu_lookup)
		return 0;
	search.tgid = t->tgid;
	search.but = t->tid;
	bpf_loop(CPUS_MOST, holder_step, &search, 0);
	at = search.at & (ran_entries - 1);
	if (search.n != 1)
		return 0;
	entry = bpf_map_lookup_percpu_elem(&ran, &at, search.cpu);
	if (!entry)
		return 0;
	__builtin_memcpy(t->wait.waker_comm, entry->comm, sizeof(t->wait.waker_comm));
	barrier();
	/* That CPU may have gone round its ring since: the name would be another process's. */
	if (entry->tgid != search.tgid) {
		__builtin_memset(t->wait.waker_comm, 0, sizeof(t->wait.waker_comm));
		return 0;
	}
	t->wait.holder_tid = search.tid;
	return 0;
}

/* @slot: process whose owner is told paths */
static __noinline int cause_note(__u64 slot, struct thread_wait *wait, struct task_struct *task, const void *ctx,
				 __u64 class)
{
	__builtin_memset(&wait->resource, 0, sizeof(*wait) - OFFSET_OF(struct thread_wait, resource));
	resource_note(slot, wait, task, class, PATH_PLACE_WAKE);
	if (class != BLAME_SLEEP && wait->stop != STOP_HOLD)
		waker_note(wait, task, ctx);
	return 0;
}

/*
 * A wait of a waker is over. If the user of the process that it served may no longer inspect it, all that was noted is
 * dropped: nobody is told what it did before it ends the next long wait.
 */
static __always_inline void waker_woken(struct task_struct *task, const void *ctx)
{
	__u32 tid = task->pid;
	struct waker_state *w = waker_of(tid);
	__u64 now_ns;

	if (!w || !w->pcount || w->pcount != task->sched_info.pcount)
		return;
	w->pcount = 0;
	if (!may_be_waker(task, w->slot, w->tgid)) {
		waker_remove(tid);
		return;
	}
	now_ns = bpf_ktime_get_ns();
	if (now_ns - w->out_ns < LOOK_LEAST_NS) {
		waker_short_add(w, w->class, now_ns - w->out_ns);
		return;
	}
	cause_note(w->slot, &w->now, task, ctx, w->class);
	waker_wait_add(w, now_ns);
	if (w->now.waker_tid && w->now.kind != RESOURCE_GIL && !w->now.stop)
		chain_serve(w->slot, w->tgid, w->out_ns, w->hop + 1);
}

/* Runs once per wait, before the thread can run again: nothing else writes its state meanwhile. */
SEC("tp_btf/sched_waking")
int sched_waking(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct thread_state *t = thread_of(task);
	struct thread_wait *wait;
	__u64 out_ns, now_ns;
	__u32 class;

	if (!t) {
		waker_woken(task, ctx);
		return 0;
	}
	wait = &t->wait;
	/* The thread ran since the wait was noted. */
	if (!wait->pcount || wait->pcount != task->sched_info.pcount)
		return 0;
	now_ns = bpf_ktime_get_ns();
	out_ns = t->depth ? t->out_ns : t->away_out_ns;
	if (out_ns > now_ns)
		out_ns = now_ns; /* between calls it may be some microseconds off */
	/* A wait after waits that were kept back is examined even if short: its waker ended them all. */
	if (!wait->carried_ns && now_ns - out_ns < LOOK_LEAST_NS)
		return 0;
	guard_review(t, task);
	class = t->depth ? t->out_class : t->away_class;
	cause_note(t->slot, wait, task, ctx, class);
	if (wait->kind == RESOURCE_GIL && !wait->waker_tid)
		holder_note(t);
	WRITE_ONCE(wait->woken_pcount, wait->pcount);
	/* Not for the GIL: its holder computes. Nor for who continues a stopped thread: it was not waited for. */
	if (wait->waker_tid && wait->kind != RESOURCE_GIL && !wait->stop)
		chain_serve(t->slot, t->tgid, out_ns, /* hop= */ 1);
	return 0;
}
