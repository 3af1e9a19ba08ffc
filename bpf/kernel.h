// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Kernel types that the programs read, with only the fields that they use; fields are
 * found by name at load time (CO-RE). Also the few constants of the kernel's interface.
 *
 * Fields that only some kernels have are read behind a switch that the daemon sets
 * from the running kernel's own type information (maps.h: has_*).
 */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

/* Source: include/uapi/linux/bpf.h */
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_LRU_HASH 9
#define BPF_MAP_TYPE_QUEUE 22
#define BPF_MAP_TYPE_STACK 23
#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_MAP_TYPE_TASK_STORAGE 29
#define BPF_F_NO_PREALLOC (1u << 0)
#define BPF_F_MMAPABLE (1u << 10)
#define BPF_ANY 0
#define BPF_NOEXIST 1
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_RB_NO_WAKEUP 1
#define BPF_RB_FORCE_WAKEUP 2
#define BPF_RB_AVAIL_DATA 0
#define BPF_RB_CONS_POS 2
#define BPF_RB_PROD_POS 3
#define BPF_RINGBUF_HDR_SZ 8 /* in front of each record */

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define SIGCONT 18
#define SIGSTOP 19
#define SIGNAL_GROUP_EXIT 0x4u /* include/linux/sched/signal.h */
#define TASK_STOPPED 0x4u      /* include/linux/sched.h, as the next */
#define TASK_TRACED 0x8u
#define TASK_STOPPED_OR_TRACED (TASK_STOPPED | TASK_TRACED)
#define TASK_FROZEN 0x8000u /* from 6.1 */
#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFBLK 0060000
#define S_IFCHR 0020000
#define S_IFIFO 0010000
#define AF_INET 2
#define AF_INET6 10
#define P_PID 1	   /* include/uapi/linux/wait.h */
#define F_SETLKW 7 /* include/uapi/asm-generic/fcntl.h, as the next */
#define F_OFD_SETLKW 38
#define JOBCTL_TRAP_FREEZE (1ul << 23) /* include/linux/sched/jobctl.h: its group freezes */
#define PF_IO_WORKER 0x00000010u       /* include/linux/sched.h, as the next two */
#define PF_EXITING 0x00000004u
#define PF_KTHREAD 0x00200000u
#define THREAD_STACK_BYTES 16384
#define MINOR_BITS 20
#define VM_EXEC 0x4u /* include/linux/mm.h */
#define EBUSY 16     /* include/uapi/asm-generic/errno-base.h */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_info {
	unsigned long pcount;	      /* number of arrivals on a CPU */
	unsigned long long run_delay; /* run-queue clock, ns: time spent ready */
	unsigned long long last_arrival;
	unsigned long long last_queued; /* 0 while it does not wait */
};

struct rq {
	__u64 clock;
};

struct cfs_rq {
	struct rq *rq;
	int throttle_count;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
	__u64 exec_start; /* run-queue task clock when sum_exec_runtime was brought up to date */
	__u64 sum_exec_runtime;
	__u64 nr_migrations;
};

typedef struct {
	__u32 val;
} kuid_t;

struct user_namespace {
	struct user_namespace *parent;
	int level; /* 0: the initial one */
	kuid_t owner;
};

typedef struct {
	__u64 val;
} kernel_cap_t;

struct cred {
	kuid_t uid, euid, suid;
	kernel_cap_t cap_permitted;
	struct user_namespace *user_ns;
};

/* Capabilities until 6.2. */
typedef struct {
	__u32 cap[2];
} kernel_cap_words_t;

struct cred___words {
	kernel_cap_words_t cap_permitted;
};

struct qstr {
	__u64 hash_len;
	const unsigned char *name;
};

typedef struct seqcount {
	unsigned int sequence;
} seqcount_t;

typedef struct seqcount_spinlock {
	seqcount_t seqcount;
} seqcount_spinlock_t;

struct hlist_bl_node {
	struct hlist_bl_node **pprev; /* NULL: in no list */
};

struct dentry {
	seqcount_spinlock_t d_seq;
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct fs_struct {
	struct path root;
};

struct super_block {
	__u32 s_dev;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

struct inode {
	__u16 i_mode;
	__u32 i_rdev;
	struct super_block *i_sb;
	unsigned long i_ino;
	__s64 i_size;
};

/* The member of the change time was renamed in 6.6 and 6.11. */
struct inode___plain {
	struct timespec64 i_ctime;
};

struct inode___hidden {
	struct timespec64 __i_ctime;
};

struct inode___split {
	__s64 i_ctime_sec;
	__u32 i_ctime_nsec;
};

struct block_device {
	__u32 bd_dev;
};

struct bio {
	struct block_device *bi_bdev;
};

struct bio_list;
struct bpf_local_storage;

struct file {
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
};

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

typedef struct {
	void *net;
} possible_net_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
};

struct socket {
	struct sock *sk;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct xol_area {
	unsigned long vaddr; /* the return trampoline is at its start */
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct percpu_counter {
	__s64 count;
};

/* Kinds of pages of a process: file, anonymous, swapped out, shared. */
#define RSS_FILE 0
#define RSS_ANON 1
#define RSS_SHMEM 3

typedef struct {
	__s64 counter;
} atomic64_t;

typedef atomic64_t atomic_long_t;

/* Of x86-64 and arm64. */
typedef struct {
	void *vdso;
} mm_context_t;

struct mm_struct {
	mm_context_t context;
	unsigned long exec_vm; /* pages that are mapped executable */
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
	struct percpu_counter rss_stat[4]; /* from 6.2 */
};

/* Number of changes to the mappings: from 6.4 on, with locks of single mappings. From 6.13 on it is odd during one. */
struct mm_struct___number {
	int mm_lock_seq;
};

struct mm_struct___seqcount {
	seqcount_t mm_lock_seq;
};

/* Until 6.1. Debian's 6.1 needs it: its mark_victim passes the task. */
struct mm_rss_stat {
	atomic_long_t count[4];
};

struct mm_struct___atomic {
	struct mm_rss_stat rss_stat;
};

/* Flags of an address space: a word until 6.17. */
struct mm_struct___word {
	unsigned long flags;
};

typedef struct {
	unsigned long __mm_flags[1];
} mm_flags_t;

struct mm_struct___bitmap {
	mm_flags_t flags;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	unsigned int flags;
	int group_exit_code;
	unsigned int is_child_subreaper : 1;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
	struct mm_struct *vm_mm;
};

struct return_instance {
	unsigned long stack; /* the stack pointer when the function was entered */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct thread_struct {
	unsigned long fsbase; /* x86-64 */
	struct {
		unsigned long tp_value;
	} uw; /* arm64 */
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct cfs_bandwidth {
	__u64 quota; /* all bits set: none */
};

struct task_group {
	struct cgroup_subsys_state css;
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};

struct list_head {
	struct list_head *next, *prev;
};

/* A process has a number in each of its namespaces, the outermost first. */
struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct thread_info {
	__u32 cpu;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags; /* PF_* */
	int on_cpu;
	struct sched_entity se;
	struct task_group *sched_task_group;
	struct sched_info sched_info;
	struct mm_struct *mm;
	int exit_code;
	int pdeath_signal;
	unsigned long jobctl;
	__u64 utime, stime;
	unsigned in_iowait : 1;
	unsigned user_dumpable : 1; /* what its memory said of that, kept when it is given up at the exit */
	unsigned frozen : 1;	    /* for control groups version 2: in the freezer, stopped or in vfork(2) */
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct list_head children, sibling;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 start_boottime;
	const struct cred *real_cred;
	const struct cred *cred;
	char comm[16];
	struct fs_struct *fs;
	struct files_struct *files;
	struct signal_struct *signal;
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	struct bpf_local_storage *bpf_storage; /* NULL: no map has anything of this task */
	struct bio_list *bio_list;	       /* NULL: it is in no driver of a disk */
	struct uprobe_task *utask;
	struct thread_struct thread;
};

/* Throttling of a single task came with 6.18. */
struct task_struct___throttled {
	bool throttled;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

#pragma clang attribute pop

/* From 6.13; on older kernels the program that calls them is not loaded. */
/* Source: kernel/bpf/task_iter.c. */
struct bpf_iter_task_vma {
	__u64 __opaque[1];
} __attribute__((aligned(8)));
extern int bpf_iter_task_vma_new(struct bpf_iter_task_vma *it, struct task_struct *task, __u64 addr) __weak __ksym;
extern struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it) __weak __ksym;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it) __weak __ksym;

extern bool bpf_session_is_return(void) __weak __ksym;
extern __u64 *bpf_session_cookie(void) __weak __ksym;

#define barrier() asm volatile("" ::: "memory")
/* Keeps a value in one register: the compiler neither folds it into a comparison nor loads it twice. */
#define keep(x) asm volatile("" : "+r"(x))
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))
/*
 * A function that the verifier checks once, by itself, instead of along every path that calls it: loading
 * takes a twentieth of the time. Its arguments are numbers and memory, which may be NULL; several objects may
 * bring the same one.
 */
#define VERIFIED_ALONE __weak __attribute__((noinline))
#define OFFSET_OF(type, member) __builtin_offsetof(type, member)
