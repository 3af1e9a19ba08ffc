// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * `ingero io`: system calls on files, paired by thread, counted by process, call and file.
 *
 * Entry and exit of every system call of the machine run these programs. A thread that no caller traces has no state
 * here, and pays a lookup. The file of a call is read from the descriptor itself, at the entry, or for calls that
 * return a descriptor at the exit; its path is walked at the first sight of the file, and again after 10 s
 * (io_files.h).
 */
#include "credentials.h"
#include "io_files.h"
#include "regs.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PF_FORKNOEXEC 0x40 /* include/linux/sched.h */

struct io_row {
	__u8 object; /* enum io_object */
	__u8 fd;     /* index of the argument, as the next */
	__u8 path;
	__u8 bytes; /* enum io_bytes */
};

static const struct io_row io_rows[IO_CALL_IDS] = {
#define IO_CALL(name, x86, arm64, object, fd, path, bytes) [IO_CALL_##name] = { object, fd, path, bytes },
#include "io_calls.def"
};

/* ---- processes ---- */

/* Whether a lease may name the process. Nearly every thread of the machine gets no further. */
static __always_inline bool may_be_named(struct task_struct *task)
{
	const struct cred *cred = task->real_cred;

	if (io_everyone || io_pid_marks[task->tgid & (IO_PID_MARKS - 1)])
		return true;
	return cred && io_uid_marks[cred->uid.val & (IO_UID_MARKS - 1)];
}

static __always_inline __u32 leases_named(__u32 tgid, __u32 uid)
{
	const __u32 *of_process = bpf_map_lookup_elem(&io_pids, &tgid);
	const __u32 *of_user = bpf_map_lookup_elem(&io_uids, &uid);

	return io_everyone | (of_process ? *of_process : 0) | (of_user ? *of_user : 0);
}

/* What leases ask of a process. */
struct io_candidate {
	__u64 comm[2];
	__u32 tgid;
	__u32 starting; /* the process, if it has not executed anything; else 0 */
	__u32 uid;
	__u32 is_guarded;
};

/* Whether a lease covers a process that it names. */
VERIFIED_ALONE int io_lease_takes(const struct io_candidate *c, __u32 i)
{
	const struct io_lease *lease;
	const __u64 *want;

	if (!c || i >= IO_LEASES)
		return 0;
	lease = &io_leases[i];
	want = (const __u64 *)lease->comm;
	if (!(lease->flags & IO_LEASE_READ) && (c->is_guarded || c->uid != lease->uid))
		return 0;
	if (c->tgid == lease->client || c->tgid == io_daemon)
		return 0;
	if (c->starting && c->starting == lease->program)
		return 0;
	return !want[0] || (want[0] == c->comm[0] && want[1] == c->comm[1]);
}

/* Sets the bits of the leases that cover a process, of those that name it: in memory, which the verifier forgets. */
static __always_inline void leases_set(struct io_thread *t, __u32 named, const struct io_candidate *c)
{
	WRITE_ONCE(t->leases, 0);
	for (__u32 i = 0; i < IO_LEASES; i++)
		if (io_lease_takes(c, i))
			WRITE_ONCE(t->leases, READ_ONCE(t->leases) | (named & 1u << i));
}

static __always_inline bool process_send(struct task_struct *task, const struct io_process *p)
{
	struct io_process_record record = { .start_boot_ns = p->start_boot_ns, .process = p->id, .leases = p->leases };

	record.tgid = task->tgid;
	record.uid = p->uid;
	record.flags = p->is_guarded ? LIFE_GUARDED : 0;
	record.type = IO_RECORD_PROCESS;
	(void)bpf_probe_read_kernel(record.comm, sizeof(record.comm), task->group_leader->comm);
	return bpf_ringbuf_output(&io_ring, &record, sizeof(record), BPF_RB_NO_WAKEUP) == 0;
}

/* Return: number of the process, which the daemon knows; 0: the daemon has no room for its name now */
static __always_inline __u32 process_number(struct task_struct *task, struct io_process *fresh)
{
	__u32 tgid = task->tgid;
	const struct io_process *p = bpf_map_lookup_elem(&io_processes, &tgid);
	bool is_same = p && p->start_boot_ns == fresh->start_boot_ns && p->exec_id == fresh->exec_id &&
		       p->uid == fresh->uid && p->is_guarded == fresh->is_guarded;

	if (is_same && p->leases == fresh->leases)
		return p->id;
	fresh->id = is_same ? p->id : __sync_fetch_and_add(&io_last_process, 1) + 1;
	if (!process_send(task, fresh) || bpf_map_update_elem(&io_processes, &tgid, fresh, BPF_ANY))
		return 0;
	return fresh->id;
}

/*
 * Decides about the current thread: at its first call, and at the first one after a change of leases, program or user.
 * Return: whether it is traced
 */
VERIFIED_ALONE int io_decide(__u32 epoch)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct cred *cred = task->real_cred;
	struct io_process fresh = {};
	struct io_thread *t;
	struct io_candidate c = {};
	__u32 named;

	if (!cred)
		return 0;
	fresh.uid = cred->uid.val;
	named = leases_named(task->tgid, fresh.uid);
	t = bpf_task_storage_get(&io_threads, task, 0, named ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!t) {
		if (named)
			io_lose(IO_LOSS_THREADS);
		return 0;
	}
	t->uid = fresh.uid;
	t->is_guarded = fresh.is_guarded = !credentials_are_own(task);
	t->exec_id = fresh.exec_id = io_exec_id(task);
	t->last_file = 0;
	t->epoch = epoch;
	(void)bpf_probe_read_kernel_str(c.comm, sizeof(c.comm), task->group_leader->comm);
	c.starting = task->flags & PF_FORKNOEXEC ? task->tgid : 0;
	c.tgid = task->tgid;
	c.uid = fresh.uid;
	c.is_guarded = fresh.is_guarded;
	leases_set(t, named, &c);
	if (!t->leases)
		return 0;
	fresh.leases = t->leases;
	fresh.start_boot_ns = task->group_leader->start_boottime;
	t->process = process_number(task, &fresh);
	if (t->process)
		return 1;
	t->leases = 0;
	t->epoch = 0; /* undecided: the next call tries again */
	io_lose(IO_LOSS_THREADS);
	return 0;
}

static __always_inline struct io_thread *io_thread_of(struct task_struct *task)
{
	struct io_thread *t = task->bpf_storage ? bpf_task_storage_get(&io_threads, task, 0, 0) : NULL;
	__u32 epoch = io_epoch;

	if (!t && !may_be_named(task))
		return NULL;
	if (t && t->epoch == epoch && t->exec_id == io_exec_id(task) &&
	    (t->is_guarded || !credentials_have_changed(task, t->uid)))
		return t->leases ? t : NULL;
	return io_decide(epoch) ? bpf_task_storage_get(&io_threads, task, 0, 0) : NULL;
}

/* ---- files ---- */

/* A page of the path may be absent at the entry, where it cannot be brought in: then the exit reads the path. */
static __always_inline void name_begin(struct io_thread *t, const struct io_row *row, const struct pt_regs *regs)
{
	t->path = syscall_argument(regs, row->path);
	t->directory = row->fd == IO_NO_ARGUMENT ? AT_FDCWD : (__s32)syscall_argument(regs, row->fd);
	if (row->object == IO_PATH && io_name_find(t->path, t->directory, IO_PLACE_ENTER))
		t->path = 0;
}

/* ---- figures ---- */

/* Return: bits of the leases that count the call */
static __always_inline __u32 leases_accept(struct io_thread *t, __u32 call, __u64 duration_ns)
{
	if (!io_has_filters)
		return t->leases;
	t->accepting = 0; /* in memory, as in leases_set() */
	for (__u32 i = 0; i < IO_LEASES; i++) {
		const struct io_lease *lease = &io_leases[i];

		if (t->leases & 1u << i && lease->calls[call / 64 & 1] & 1ull << (call & 63) &&
		    duration_ns >= lease->min_ns)
			WRITE_ONCE(t->accepting, READ_ONCE(t->accepting) | 1u << i);
	}
	return t->accepting;
}

static __always_inline void max_raise(__u64 *max, __u64 value)
{
	__u64 before = READ_ONCE(*max);

	for (int i = 0; i < 16 && value > before; i++) {
		__u64 found = __sync_val_compare_and_swap(max, before, value);

		if (found == before)
			return;
		before = found;
	}
}

static __always_inline struct io_cell *row_get(void *rows, const struct io_key *key)
{
	struct io_cell *cell = bpf_map_lookup_elem(rows, key);
	__u32 zero = 0;
	void *empty;

	if (cell)
		return cell;
	empty = bpf_map_lookup_elem(&io_empty, &zero);
	if (empty)
		(void)bpf_map_update_elem(rows, key, empty, BPF_NOEXIST);
	return bpf_map_lookup_elem(rows, key);
}

/* A row of its own, else the one of all further files. */
static __always_inline struct io_cell *io_cell_of(struct io_key *key)
{
	bool is_second = io_which & 1;
	struct io_cell *cell = is_second ? row_get(&io_cells_b, key) : row_get(&io_cells_a, key);

	if (cell)
		return cell;
	key->file = 0;
	return is_second ? row_get(&io_rests_b, key) : row_get(&io_rests_a, key);
}

/* As histogram_bucket_of() of the daemon. */
static __always_inline __u32 io_bucket(__u64 ns)
{
	__u64 units = ns >> HISTOGRAM_FIRST_OCTAVE;
	__u32 octave = 0;

	if (!units)
		return 0;
	if (units >> HISTOGRAM_OCTAVES)
		return HISTOGRAM_BUCKETS - 1;
	for (__u32 bits = 16; bits; bits /= 2)
		if (units >> bits) {
			units >>= bits;
			octave += bits;
		}
	return (octave << HISTOGRAM_SUB_BITS) |
	       ((ns >> (octave + HISTOGRAM_FIRST_OCTAVE - HISTOGRAM_SUB_BITS)) & ((1u << HISTOGRAM_SUB_BITS) - 1));
}

static __always_inline void cell_count(struct io_cell *cell, const struct io_thread *t, __u64 duration_ns, __s64 ret,
				       __u32 bytes)
{
	__u32 bucket = io_bucket(duration_ns);

	if (bucket < HISTOGRAM_BUCKETS)
		__sync_fetch_and_add(&cell->buckets[bucket], 1);
	__sync_fetch_and_add(&cell->total_ns, duration_ns);
	__sync_fetch_and_add(&cell->gap_ns, t->gap_ns);
	if (ret < 0 && ret >= -IO_ERROR_MOST)
		__sync_fetch_and_add(&cell->errors, 1);
	else if (bytes)
		__sync_fetch_and_add(&cell->bytes, ret);
	if (duration_ns > cell->max_ns)
		max_raise(&cell->max_ns, duration_ns);
}

static __always_inline void call_send(struct task_struct *task, const struct io_thread *t, const struct io_key *key,
				      __u64 duration_ns, __s64 ret)
{
	struct io_call_record record = { .duration_ns = duration_ns,
					 .gap_ns = t->gap_ns,
					 .ret = ret,
					 .file = t->file,
					 .process = key->process,
					 .fd = t->fd,
					 .call = key->call,
					 .leases = key->leases & io_with_events };

	record.start_ns = t->enter_ns;
	record.tgid = task->tgid;
	record.tid = task->pid;
	record.type = IO_RECORD_CALL;
	(void)bpf_probe_read_kernel(record.comm, sizeof(record.comm), task->comm);
	if (bpf_ringbuf_query(&io_ring, BPF_RB_AVAIL_DATA) > IO_RING_CALLS_BYTES ||
	    bpf_ringbuf_output(&io_ring, &record, sizeof(record), BPF_RB_NO_WAKEUP))
		io_lose(IO_LOSS_EVENTS);
}

/* ---- the hooks ---- */

/* Return: enum io_call; most system calls of a machine are none */
static __always_inline __u32 call_of(__u64 number)
{
	return number < IO_NUMBERS ? io_call_of[number & (IO_NUMBERS - 1)] : IO_CALL_NONE;
}

SEC("tp_btf/sys_enter")
int io_enter(__u64 *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	__u32 call = call_of(ctx[1]);
	struct task_struct *task;
	const struct io_row *row;
	struct io_thread *t;

	if (!call || !io_wanted[call & (IO_CALL_IDS - 1)])
		return 0;
	task = bpf_get_current_task_btf();
	t = io_thread_of(task);
	if (!t)
		return 0;
	if (syscall_is_compat(task)) {
		io_lose(IO_LOSS_COMPAT);
		return 0;
	}
	row = &io_rows[call & (IO_CALL_IDS - 1)];
	t->file = 0;
	t->fd = -1;
	if (row->object == IO_FILE) {
		t->fd = (__s32)syscall_argument(regs, row->fd);
		t->file = file_find(task, t, t->fd, IO_PLACE_ENTER);
	}
	t->path = 0;
	if (row->path != IO_NO_ARGUMENT)
		name_begin(t, row, regs);
	t->call = call;
	t->enter_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int io_exit(__u64 *ctx)
{
	struct task_struct *task;
	struct io_thread *t;
	__u64 now_ns, duration_ns;
	__s64 ret = (__s64)ctx[1];
	const struct io_row *row;
	struct io_key key = {};
	struct io_cell *cell;

	if (!call_of(syscall_number((struct pt_regs *)ctx[0])))
		return 0;
	task = bpf_get_current_task_btf();
	if (!task->bpf_storage)
		return 0;
	t = bpf_task_storage_get(&io_threads, task, 0, 0);
	if (!t || !t->call)
		return 0;
	now_ns = bpf_ktime_get_ns();
	key.call = t->call;
	t->call = 0;
	/* The bit of a lease that ended may be another's by now. */
	if (t->epoch != io_epoch && !io_decide(io_epoch))
		return 0;
	row = &io_rows[key.call & (IO_CALL_IDS - 1)];
	if (row->object == IO_OPENED && ret >= 0) {
		t->fd = (__s32)ret;
		t->file = file_find(task, t, t->fd, IO_PLACE_EXIT);
	} else if (t->path) {
		(void)io_name_find(t->path, t->directory, IO_PLACE_EXIT);
	}
	duration_ns = now_ns - t->enter_ns;
	t->gap_ns = t->last_ns ? t->enter_ns - t->last_ns : 0;
	t->last_ns = now_ns;
	key.leases = leases_accept(t, key.call, duration_ns);
	if (!key.leases)
		return 0;
	key.process = t->process;
	key.file = t->file;
	cell = io_cell_of(&key);
	if (cell)
		cell_count(cell, t, duration_ns, ret, row->bytes);
	else
		io_lose(IO_LOSS_ROWS);
	if (key.leases & io_with_events)
		call_send(task, t, &key, duration_ns, ret);
	return 0;
}

/* Children of a process that a lease names are traced from their first call on. */
SEC("tp_btf/sched_process_fork")
int io_fork(__u64 *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx[0], *child = (struct task_struct *)ctx[1];
	__u32 tgid = parent->tgid, child_tgid = child->tgid;
	const __u32 *leases = bpf_map_lookup_elem(&io_pids, &tgid);

	if (tgid == child_tgid || !leases)
		return 0;
	io_pid_marks[child_tgid & (IO_PID_MARKS - 1)] = 1;
	if (bpf_map_update_elem(&io_pids, &child_tgid, leases, BPF_ANY))
		io_lose(IO_LOSS_THREADS);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int io_process_exit(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct signal_struct *signal = task->signal;
	__u32 tgid = task->tgid;

	if (!signal || signal->live.counter)
		return 0;
	(void)bpf_map_delete_elem(&io_pids, &tgid);
	(void)bpf_map_delete_elem(&io_processes, &tgid);
	return 0;
}
