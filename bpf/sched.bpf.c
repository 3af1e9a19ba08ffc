// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Task switches: the class of each wait of a thread that makes traced calls, and the tasks that run on each CPU.
 *
 * A task without state of ours costs an entry in this CPU's ring and two comparisons. Attached only while libraries are
 * attached.
 */
#include "away.h"
#include "blame.h"
#include "run_time.h"
#include "syscalls.h"
#include "wait_stack.h"

#define TASK_RUNNING 0
#define NVIDIA_MAJOR 195
#define HOLD_BEGINS_NS 10000000	    /* the tracer's own stop begins this soon */
#define CLOCK_LEAD_KEPT_NS 10000000 /* both clocks drift apart by less than a microsecond in this time */

static __always_inline bool is_throttled(struct task_struct *task)
{
	if (has_task_throttled)
		return ((struct task_struct___throttled *)task)->throttled;
	if (has_throttle_count) {
		struct cfs_rq *cfs_rq = task->se.cfs_rq;

		return cfs_rq && cfs_rq->throttle_count > 0;
	}
	return false;
}

static __always_inline bool starts_with_nvidia(const char *name)
{
	return name[0] == 'n' && name[1] == 'v' && name[2] == 'i' && name[3] == 'd' && name[4] == 'i' && name[5] == 'a';
}

static __always_inline enum blame_class file_class(struct task_struct *task, __u64 fd)
{
	struct files_struct *files = task->files;
	struct fdtable *fdt = files ? files->fdt : NULL;
	struct file *file = NULL;
	struct inode *inode;
	__u16 mode;
	char name[8] = {};

	if (!fdt || fd >= fdt->max_fds)
		return BLAME_OTHER;
	/* Direct reads cost a fraction of a helper's. From the table on, the verifier does not know the type. */
	if (bpf_probe_read_kernel(&file, sizeof(file), &fdt->fd[fd]) || !file)
		return BLAME_OTHER;
	inode = BPF_CORE_READ(file, f_inode);
	mode = BPF_CORE_READ(inode, i_mode);
	if ((mode & S_IFMT) == S_IFSOCK)
		return BLAME_NETWORK;
	if ((mode & S_IFMT) != S_IFCHR)
		return BLAME_OTHER;
	if (BPF_CORE_READ(inode, i_rdev) >> MINOR_BITS == NVIDIA_MAJOR)
		return BLAME_DEVICE;
	/* nvidia-uvm and nvidia-caps have other major numbers, assigned at boot. */
	bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	return starts_with_nvidia(name) ? BLAME_DEVICE : BLAME_OTHER;
}

/* A stop by a signal is the tracer's if it begins so soon after that one: the thread is on its way out of a probe. */
static __always_inline enum stop_kind signal_stop_kind(struct task_struct *task)
{
	__u32 tgid = task->tgid;
	const struct process_entry *entry = bpf_map_lookup_elem(&processes, &tgid);

	return entry && entry->held_ns && bpf_ktime_get_ns() - entry->held_ns < HOLD_BEGINS_NS ? STOP_HOLD
											       : STOP_SIGNAL;
}

/*
 * Whether the thread is stopped or frozen, instead of waiting: by its state at the switch. A thread that the freezer of
 * version 1 finds asleep stays in its wait, and is not switched again.
 */
static __always_inline enum stop_kind stop_kind(struct task_struct *task, __u32 state)
{
	if (state & TASK_STOPPED)
		return signal_stop_kind(task);
	if (state & TASK_TRACED)
		return STOP_DEBUGGER;
	if (state & TASK_FROZEN)
		return STOP_FREEZER;
	if (bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD(task, frozen) &&
	    task->jobctl & JOBCTL_TRAP_FREEZE)
		return STOP_FREEZER;
	return STOP_NONE;
}

/* Class of a wait that begins. Order of the checks: ready, reclaim, page fault, disk, then the system call. */
static __noinline int wait_class(struct task_struct *task, __u64 is_ready, __u64 is_reclaiming, __u64 is_in_call)
{
	/* A poll inside a traced call waits for the device. */
	enum blame_class polled = is_in_call ? BLAME_DEVICE : BLAME_OTHER;
	const struct pt_regs *regs;
	int nr;

	if (is_ready)
		return is_throttled(task) ? BLAME_QUOTA : BLAME_RUNNABLE;
	if (is_reclaiming)
		return BLAME_MEMORY;
	regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	nr = user_syscall(regs);
	if (nr == -1)
		return BLAME_MEMORY;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return BLAME_BLOCK_IO;
	switch (syscall_waits(nr)) {
	case WAIT_OTHER:
		return BLAME_OTHER;
	case WAIT_LOCK:
		return BLAME_LOCK;
	case WAIT_FCNTL:
		return fcntl_locks(user_argument(regs, 1)) ? BLAME_LOCK : BLAME_OTHER;
	case WAIT_SLEEP:
		return BLAME_SLEEP;
	case WAIT_NETWORK:
		return BLAME_NETWORK;
	case WAIT_POLL_A: /* the first argument is the number of descriptors */
		return user_argument(regs, 0) ? polled : BLAME_SLEEP;
	case WAIT_POLL_B: /* the second argument is the number of descriptors */
		return user_argument(regs, 1) ? polled : BLAME_SLEEP;
	case WAIT_EPOLL:
		return polled;
	case WAIT_FILE:
		return file_class(task, user_argument(regs, 0));
	}
	return BLAME_OTHER;
}

static __always_inline void ran_add(struct task_struct *next, __u64 clock)
{
	const struct cred *cred;
	struct ran_entry *entry;
	struct ran_head *head;
	__u32 zero = 0, at, tgid;

	head = bpf_map_lookup_elem(&ran_head, &zero);
	if (!head)
		return;
	at = head->n & (ran_entries - 1);
	entry = bpf_map_lookup_elem(&ran, &at);
	if (!entry)
		return;
	tgid = next->tgid;
	entry->clock = clock;
	entry->tgid = tgid;
	if (tgid) { /* of an idle CPU nobody is told */
		cred = next->cred;
		entry->uid = cred ? cred->uid.val : 0;
		entry->is_guarded = credentials_are_guarded(next, entry->uid);
		__builtin_memcpy(entry->comm, next->comm, sizeof(entry->comm));
	}
	head->tgid = tgid;
	head->tid = next->pid;
	head->n++;
}

/* A thread that leaves the CPU ready to run has not waited for its last disk request yet. */
static __always_inline void disk_carry(struct thread_wait *wait, __u64 pcount)
{
	if (wait->disk_pcount == pcount)
		wait->disk_pcount = pcount + 1;
}

/* A waker leaves the CPU: notes the class of its wait (chain.h). */
static __always_inline void waker_leave(struct task_struct *task, bool is_ready, __u32 state)
{
	__u32 tid = task->pid;
	struct waker_state *w = waker_of(tid);

	if (!w)
		return;
	w->pcount = 0;
	if (is_ready) {
		disk_carry(&w->now, task->sched_info.pcount);
		return;
	}
	w->out_ns = bpf_ktime_get_ns();
	if (w->out_ns / NS_IN_SECOND > w->last_s + WAKER_QUIET_S) {
		waker_remove(tid);
		return;
	}
	w->now.stop = stop_kind(task, state);
	w->class = w->now.stop ? BLAME_OTHER
			       : wait_class(task, /* is_ready= */ 0, /* is_reclaiming= */ 0, /* is_in_call= */ 0);
	WRITE_ONCE(w->pcount, task->sched_info.pcount);
}

/*
 * CLOCK_MONOTONIC at a run-queue clock of now, to some microseconds. Reading it costs a third of this hook: its lead is
 * kept for a while.
 */
static __always_inline __u64 monotonic_at(struct thread_state *t, __u64 clock)
{
	if (clock - t->clock_read >= CLOCK_LEAD_KEPT_NS) {
		t->clock_lead = bpf_ktime_get_ns() - clock;
		t->clock_read = clock;
	}
	return clock + t->clock_lead;
}

SEC("tp_btf/sched_switch")
int sched_switch(__u64 *ctx)
{
	bool is_preempted = ctx[0];
	struct task_struct *prev = (struct task_struct *)ctx[1], *next = (struct task_struct *)ctx[2];
	__u64 clock = rq_clock(prev);
	struct thread_state *t;
	__u32 state, class;
	bool is_in_call, is_ready;

	ran_add(next, clock);
	cpu_lead_note(next);
	t = thread_of(prev);
	if (!t) {
		state = has_switch_state ? (__u32)ctx[3] : prev->__state;
		waker_leave(prev, is_preempted || state == TASK_RUNNING, state);
		return 0;
	}
	if (t->away_clock)
		away_end(t, prev->sched_info.last_arrival, prev->sched_info.run_delay, prev->sched_info.pcount);
	is_in_call = t->depth;
	if (is_in_call)
		settle(t, prev->sched_info.last_arrival, prev->sched_info.run_delay, 0);
	else if (!away_is_wanted(t, prev))
		return 0;
	/* Another CPU may have woken the thread meanwhile; the tracepoint's argument has the state at the switch. */
	state = has_switch_state ? (__u32)ctx[3] : prev->__state;
	is_ready = is_preempted || state == TASK_RUNNING;
	if (is_ready)
		disk_carry(&t->wait, prev->sched_info.pcount);
	t->wait.stop = is_ready ? STOP_NONE : stop_kind(prev, state);
	class = t->wait.stop ? BLAME_OTHER : wait_class(prev, is_ready, t->is_reclaiming, is_in_call);
	t->wait.pcount = prev->sched_info.pcount;
	if (!is_in_call) {
		t->away_class = class;
		t->away_place = 0;
		t->away_stack = 0;
		if (t->wants & WISH_STACKS && !is_ready && !t->wait.stop)
			wait_stack(t);
		t->away_run_delay = prev->sched_info.run_delay;
		t->away_pcount = prev->sched_info.pcount;
		t->away_out_ns = monotonic_at(t, clock);
		WRITE_ONCE(t->away_clock, clock);
		return 0;
	}
	t->switches++;
	t->out_class = class;
	t->out_run_delay = prev->sched_info.run_delay;
	t->out_ns = bpf_ktime_get_ns();
	WRITE_ONCE(t->out_clock, clock);
	return 0;
}
