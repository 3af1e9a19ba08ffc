// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Iterator over tasks: writes the account of each thread that has one, with the call or wait in progress, when the
 * daemon reads. A thread without an account costs one failed lookup.
 *
 * The thread may run meanwhile. The record is consistent if `changes` in the account, which is written last, is the
 * number that was read first; otherwise the record is written again.
 */
#include "collection.h"
#include "going_on.h"
#include "guard.h"
#include "resource.h"
#include "run_time.h"

#define ACCOUNT_READS 4
#define ACCOUNT_HEAD_BYTES OFFSET_OF(struct account_record, account)

/* Data that does not fit on the stack; one reader uses it at a time. */
struct account_room {
	__u64 head[ACCOUNT_HEAD_BYTES / sizeof(__u64)]; /* of struct account_record */
	struct thread_wait what;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct account_room);
} account_rooms SEC(".maps");

/*
 * Notes the resource of a wait in progress. The thread's registers belong to the wait unless the thread arrived on a
 * CPU meanwhile.
 */
static __always_inline void account_wait(struct account_room *room, struct thread_state *t,
					 const struct wait_parts *wait, struct task_struct *task, __u64 pcount)
{
	struct account_record *r = (struct account_record *)room->head;
	struct thread_wait *what = &room->what;

	if (wait->is_over || wait->ns[1] < WAIT_OPEN_NS || wait->class[1] == BLAME_RUNNABLE ||
	    wait->class[1] == BLAME_QUOTA)
		return;
	__builtin_memset(what, 0, sizeof(*what));
	what->stop = t->wait.stop;
	what->disk = t->wait.disk;
	what->disk_pcount = t->wait.disk_pcount;
	r->wait_stack = READ_ONCE(t->depth) ? 0 : t->away_stack;
	resource_note(t->slot, what, task, wait->class[1], PATH_PLACE_ACCOUNT);
	barrier();
	if (READ_ONCE(task->sched_info.pcount) != pcount)
		return;
	r->wait_since_ns = wait->out_ns;
	r->wait_ns = wait->ns[1];
	r->wait_class = wait->class[1];
	r->wait_resource = what->resource;
	r->wait_device = what->device;
	r->wait_kind = what->kind;
	r->wait_name_hash = what->name_hash;
	__builtin_memcpy(r->wait_name, what->name, sizeof(r->wait_name));
}

static __always_inline void account_going_on(struct account_room *room, struct thread_state *t,
					     struct task_struct *task)
{
	struct account_record *r = (struct account_record *)room->head;
	struct wait_noted noted = {};
	struct wait_parts wait = {};
	struct call_frame *f = &t->frames[0];
	__u64 pcount = task->sched_info.pcount;
	bool is_in_call = READ_ONCE(t->depth);
	__u32 k;

	r->open_since_ns = 0;
	r->open_op = 0;
	r->wait_since_ns = 0;
	for (k = 0; k < BLAME_COUNT; k++)
		r->open_ns[k] = 0;
	if (is_in_call) {
		noted.clock = READ_ONCE(t->out_clock);
		noted.out_ns = t->out_ns;
		noted.run_delay = t->out_run_delay;
		noted.class = t->out_class;
		r->open_since_ns = READ_ONCE(f->start_ns);
		if (!r->open_since_ns)
			return; /* the call is just beginning, or its library was detached */
		r->open_op = f->op;
		for (k = 1; k < BLAME_COUNT; k++)
			r->open_ns[k] = f->blame_ns[k];
	} else {
		noted.clock = READ_ONCE(t->away_clock);
		noted.out_ns = t->away_out_ns;
		noted.run_delay = t->away_run_delay;
		noted.class = t->away_class;
		if (pcount - t->away_pcount > 1)
			noted.clock = 0; /* off the CPU more than once since: unknown, as in away_end() */
	}
	wait_now(&noted, task, r->now_ns, &wait);
	if (!noted.clock || wait.out_ns < r->open_since_ns)
		return;
	if (!is_in_call)
		r->open_since_ns = wait.out_ns;
	wait_add(r->open_ns, &wait);
	account_wait(room, t, &wait, task, pcount);
}

/* Counts a garbage collection in progress up to now. */
static __always_inline void account_collection(const struct account_record *r, struct thread_state *t,
					       struct task_struct *task)
{
	struct collection *c = bpf_task_storage_get(&collections, task, 0, 0);
	__u64 off_ns = 0;
	__u32 k;

	if (!c || !collection_is_open(c, t) || c->seq != collection_seq(t))
		return;
	for (k = 0; k < BLAME_COUNT; k++)
		off_ns += r->open_ns[k];
	collection_move(t, c, collection_clock(t, r->now_ns, off_ns) + 1, /* is_over= */ false);
}

SEC("iter/task")
int accounts(struct bpf_iter__task *ctx)
{
	struct account_room *room;
	struct account_record *r;
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	struct thread_state *t;
	__u32 changes, i, zero = 0;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t || !t->account.since_ns || !away_is_wanted(t, task))
		return 0;
	guard_review(t, task);
	room = bpf_map_lookup_elem(&account_rooms, &zero);
	if (!room)
		return 0;
	r = (struct account_record *)room->head;
	r->tgid = t->tgid;
	r->tid = t->tid;
	r->slot = t->slot;
	__builtin_memcpy(r->comm, t->comm, sizeof(r->comm));
	for (i = 0; i < ACCOUNT_READS; i++) {
		changes = READ_ONCE(t->account.changes);
		if (changes & ACCOUNT_CHANGING && i + 1 < ACCOUNT_READS)
			continue;
		/*
		 * The last try writes an inconsistent record, so that the daemon sees that the thread exists: its
		 * number differs from the account's.
		 */
		r->changes = changes & ACCOUNT_CHANGING ? ~changes : changes;
		barrier();
		r->now_ns = bpf_ktime_get_ns();
		r->runtime_ns = run_time(task, r->now_ns);
		r->user_ns = task->utime;
		r->kernel_ns = task->stime;
		account_going_on(room, t, task);
		bpf_seq_write(seq, room->head, sizeof(room->head));
		bpf_seq_write(seq, &t->account, sizeof(t->account));
		if (READ_ONCE(t->account.changes) == changes) {
			account_collection(r, t, task);
			break;
		}
	}
	return 0;
}
