// SPDX-License-Identifier: Apache-2.0
/*
 * The row that a detector fills in, and what it is given to look at.
 *
 * A detector is a pure function: it looks at one process in one tick and says which
 * conditions hold and what they cost. It takes no time, no files, no randomness. Whether
 * a condition is a finding, since when, how bad and whether it came back is the engine's.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "detect/cause.h"
#include "detect/driving.h"
#include "detect/failed.h"
#include "detect/finding.h"
#include "detect/longest.h"
#include "figures/tick.h"

/* Ticks with quiet calls whose medians make up what is usual. */
#define USUAL_TICKS 16
/* Ticks with calls of an operation that are remembered from its beginning. */
#define EARLY_TICKS 12

/* The first ticks in which an operation was called. */
struct early_tick {
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t calls;
	uint64_t own_ns; /* as detect_own_ns(); of OP_SYNC operations without the wait for the device */
	uint64_t bytes;
	uint64_t median_ns;
};

/* What is remembered of one operation of one process; everything before the tick that is looked at. */
struct op_memory {
	const struct op *op;
	uint64_t calls;
	uint64_t max_ns;     /* longest call that returned and was no hung one */
	uint64_t longest_ns; /* longest call that returned */
	uint64_t before_ns;  /* the longest one before that */
	uint64_t usual_ns[USUAL_TICKS];
	uint32_t n_usual;		      /* ever; index modulo USUAL_TICKS */
	double quiet_own_ns;		      /* own time per second of quiet ticks, recent ones weigh more */
	uint64_t quiet_wall_ns;		      /* how long that was watched */
	struct early_tick early[EARLY_TICKS]; /* this tick included */
	size_t n_early;
};

/** op_memory_usual() - median of the medians of its quiet ticks, 0 when not known */
uint64_t op_memory_usual(const struct op_memory *memory);

typedef ARRAY(struct op_memory) op_memories;

/* Kinds of waits of which the longest is remembered: most are too short for their file to be told. */
enum known_wait { KNOWN_READ, KNOWN_FAULTED, KNOWN_COUNT };

#define FUTEXES_MAX 16

/* How often a thread waited for a futex until another one of its process ended the wait. */
struct futex_waits {
	uint64_t futex; /* its address; 0: none */
	uint64_t count;
	uint32_t tid, waker_tid;
	bool is_meanwhile; /* as in struct account_wait */
};

/* One process in one tick. */
struct detector_view {
	uint64_t from_ns;
	uint64_t to_ns;
	uint64_t wall_ns; /* to_ns - from_ns, at least 1 */
	const struct process_identity *process;
	uint64_t first_call_ns;	   /* of the process */
	const struct tick_op *ops; /* what it called in this tick; none in a quiet one */
	size_t n_ops;
	enum op_layer layer;		/* that counts: calls of the other one are mostly inside its own */
	uint64_t calls_ns;		/* raw time of all calls of that layer */
	uint64_t calls;			/* how many */
	const struct account *accounts; /* of its threads, driving ones first */
	size_t n_accounts;
	size_t n_driving; /* of those; 0: it is not known where their time went */
	const struct account_wait *waits;
	size_t n_waits;
	const struct wait_sites *wait_sites; /* where these were; NULL: not known */
	const struct account_wait *known;    /* KNOWN_COUNT, this tick included; .ns 0: none */
	const struct futex_waits *futexes;   /* FUTEXES_MAX, the latest; this tick included */
	bool is_collected;		     /* those have its garbage collections, where it is a Python program */
	uint64_t called_ns;		     /* end of the last tick with calls, this one included */
	uint64_t gap_ns;		     /* longest time without calls between two ticks with some */
	const struct cause *stalled; /* of the finding of stalled that was open when the tick began, NULL: none: it has
					the time until then */
	uint64_t starved_ns;	     /* lost since .called_ns, in findings of starved */
	const uint32_t *children;    /* processes that it forked */
	size_t n_children;
	const op_memories *memory;
	struct condition_op *lost; /* room for one condition: operations of .memory and of an account, and none */
	const struct in_flight_record *const *in_flight; /* of this process, outermost calls alone */
	size_t n_in_flight;
	const struct failed_calls *failed;
	const struct longest_calls *longest; /* that returned in this tick */
	const struct system_sample *system;  /* NULL: not known */
	const struct life_record *oom;	     /* it was killed for want of memory; NULL: it was not */
	uint16_t measured;
	bool is_thinned;	/* calls were left out in this tick, to keep the budget */
	bool is_always_thinned; /* calls of tier 'always' of this process, too */
};

/** detector_view_is_examined() - whether the process has made calls for long enough to examine the time between them */
bool detector_view_is_examined(const struct detector_view *view);
/** detector_view_is_busy() - whether it made a call lately: otherwise it is idle, and delays cost the device nothing */
bool detector_view_is_busy(const struct detector_view *view);
/** detector_view_is_child() - whether it forked that process */
bool detector_view_is_child(const struct detector_view *view, uint32_t tgid);
/** detector_view_memory() - of an operation, NULL when it was never called */
const struct op_memory *detector_view_memory(const struct detector_view *view, const struct op *op);
/** typedef detect_op_func - whether an operation is of some kind */
typedef bool (*detect_op_func)(const struct op *op);
/** detector_view_layer() - the layer that spent more time in operations of a kind: the other's calls are inside */
enum op_layer detector_view_layer(const struct detector_view *view, detect_op_func is_kind);
/** detect_own_ns() - raw time without waits for a CPU: those are cpu_contention's and cpu_quota's, not the call's */
uint64_t detect_own_ns(const struct op_figures *figures);
/** detect_call_own_ns() - the same of one call */
uint64_t detect_call_own_ns(const struct call_record *call);

/* What one operation lost. */
struct condition_op {
	const struct op *op; /* NULL: between calls */
	uint64_t lost_ns;
};

#define CONDITION_EXTRA 4
#define CONDITION_CULPRITS 8

/* A process that is to blame, and the thread of it that is most. */
struct culprit {
	struct behind_figures who; /* .ns: of all its threads */
	uint32_t tid;		   /* 0: not known */
	uint64_t tid_ns;	   /* of who.ns, since it is the thread with most */
	uint32_t n; /* not 0: so many processes of this name and user are one culprit; who.tgid is one of the last */
};

/** culprit_is() - whether both are the same process, or of the same name where that is what counts */
static inline bool culprit_is(const struct culprit *a, const struct culprit *b)
{
	if (!a->n || !b->n)
		return a->who.tgid == b->who.tgid;
	return a->who.uid == b->who.uid && a->who.is_guarded == b->who.is_guarded &&
	       memcmp(a->who.comm, b->who.comm, sizeof(a->who.comm)) == 0;
}

/** culprit_add() - more time of the same process: `ns`, of which one thread has `tid_ns` */
static inline void culprit_add(struct culprit *c, uint64_t ns, uint32_t tid, uint64_t tid_ns)
{
	c->who.ns += ns;
	if (tid == c->tid)
		c->tid_ns += tid_ns;
	else if (tid_ns > c->tid_ns) {
		c->tid = tid;
		c->tid_ns = tid_ns;
	}
}

/* What a detector says of one tick. */
struct condition {
	const struct op *op;	       /* of detectors with .is_per_op; else NULL: that which lost most */
	uint64_t lost_ns;	       /* in this tick */
	uint64_t lost_total_ns;	       /* instead, since it began */
	const struct account *account; /* of the driving thread that lost it; NULL: all calls of the process lost it */
	uint32_t tid;		       /* thread that lost it; 0: several did, or it is not known */
	uint64_t between_ns;	       /* with .account: of lost_ns, between calls */
	uint64_t least_ns;	       /* likewise: lost_ns without what may be hidden behind the device */
	uint64_t in_calls_ns;	       /* likewise: time of that thread in calls */
	struct condition_op *ops;      /* of lost_ns, by operation: in the view's room */
	size_t n_ops;
	uint64_t start_ns;		/* 0: with this tick */
	uint64_t earlier_ns;		/* with .account: it also held so long before this tick, waits that end in it */
	enum blame_class earlier;	/* likewise: the class of that time */
	uint64_t end_ns;		/* not 0: it is over */
	enum finding_severity severity; /* 0: by the row's bands */
	double confidence;		/* beside what losses do to it */
	uint64_t extra[CONDITION_EXTRA]; /* sums that .tell gets back, or the largest value (.extras_largest) */
	struct finding_call example;	 /* start_ns 0: none but kept calls */
	__u64 blame_ns[BLAME_COUNT];	 /* with .has_blame: of the calls concerned; else that of op's figures */
	bool has_blame;
	bool is_event;		/* it happened: no time is lost that could be weighed against noise */
	const struct cause *of; /* of detectors with .is_of_cause: conditions of several stand beside each other */
	struct culprit who[CONDITION_CULPRITS]; /* likewise: who is to blame */
	size_t n_who;
	struct account_wait longest;	   /* likewise: the longest wait that it is about, .ns 0: none is known */
	struct finding_chain chain;	   /* likewise: of the wait that took most of the tick */
	const struct account_wait *waited; /* one of the view's: the finding is from where it was. NULL: none */
	enum finding_severity most;	   /* 0: no bound */
	struct finding_cause cause;	   /* of an event: .pid, .uid, .comm of who set it off; pid 0: nobody else */
};

/* Sums over the ticks in which a finding was present. */
struct detector_sums {
	uint64_t present_ns;
	uint64_t time_ns;  /* the larger of the wall clock and of calls_ns, tick by tick: several threads have more */
	uint64_t calls_ns; /* raw time of the process's calls */
	uint64_t calls;	   /* of the process */
	uint64_t lost_ns;
	bool is_accounted;    /* lost by driving threads: time_ns is their clock, and the next three are known */
	uint64_t least_ns;    /* of lost_ns, without what may be hidden behind the device */
	uint64_t between_ns;  /* of lost_ns, between calls */
	uint64_t in_calls_ns; /* time of those threads in calls */
	uint64_t op_ns;	      /* of lost_ns, in calls of the finding's operation */
	uint64_t extra[CONDITION_EXTRA];
	struct account_wait longest; /* .ns 0: none is known */
	struct finding_chain chain;  /* of the wait that took most of a tick */
	uint64_t culprit_ns;	     /* of the cause's process */
	uint32_t n_culprits;	  /* that made up a twentieth each, at least; processes of one name that ran are one */
	double machine_cpu_ratio; /* busy share of all CPUs, the highest seen; negative: not known. Coincidence, no
				     proof */
};

/* How much it takes. Severity is the highest whose both values are reached. */
struct severity_band {
	double ratio;	  /* share of the time that is being lost: see the engine */
	uint64_t lost_ns; /* in all */
};

/* What its findings say to people, as far as that is always the same; .tell says the rest. */
struct detector_words {
	const char *title; /* behind the operation's name; NULL: .tell makes the headline */
	const char
		*advice[FINDING_ADVICE_MAX]; /* behind the remedy of the class that it takes; the most useful first */
	const char *behind;		     /* before the processes to blame: "behind"; NULL: none ever is */
	const char *many;		     /* instead of .behind, where all have little; NULL: the same */
	const char *own;		     /* of the cause where no other process is concerned; NULL: nothing */
};

struct detector_facts {
	uint32_t n_cpus;				    /* 0: not known */
	int (*affinity)(uint32_t pid, cpu_set_t *ret_cpus); /* 0, or -errno; NULL: not known of any process */
	advice_parent_func parent;			    /* NULL: likewise */
	int (*priority)(uint32_t tid, struct advice_priority *ret_priority); /* likewise; sets .is_known */
	int (*quota)(uint32_t pid, struct advice_quota *ret_quota);	     /* likewise */
	bool is_ended; /* the process has ended: no command finds it any more */
};

struct detector {
	const char *name;
	struct detector_words words;
	enum blame_class takes; /* class whose time it takes; BLAME_ON_CPU: none by itself */
	uint16_t needs;		/* MEASURED(): without these classes it cannot tell */
	uint16_t sharpened_by;	/* MEASURED(): each that is missing makes it less sure */
	bool needs_all_calls;	/* it says nothing while calls are left out to keep the budget */
	bool needs_tier_always; /* the same while calls of tier 'always' are */
	bool is_per_op;		/* conditions of several operations stand beside each other */
	bool is_of_cause; /* conditions differ by the kind of their cause; processes to blame are no part of identity */
	uint32_t extras_largest; /* 1 << index: of that extra the largest value is kept, not the sum */
	bool is_once;		 /* once for each process */
	bool is_disturbing;	 /* while it goes on nothing is learned about what is usual */
	bool yields; /* it says nothing of an operation that another finding is about, but for findings of a class */
	bool has_culprits;	 /* who ran meanwhile is its cause */
	bool has_lasting_advice; /* its advice rests on facts of a running process: it stays after the end of that */
	bool is_of_thread;	 /* with accounts it is the worst driving thread that loses, in calls and between them;
				    without,        what happens in calls happens as much outside of them */
	uint64_t steady_ns;    /* nothing is worse than LOW that was not there for so long, less a quarter of pauses */
	double noise_ratio;    /* up to this share of the time is nothing */
	uint64_t open_lost_ns; /* above the noise, before it is a finding */
	uint64_t open_present_ns;			  /* and for so long, or four times as much lost */
	uint64_t quiet_ns;				  /* over when it was not seen for so long */
	struct severity_band bands[FINDING_CRITICAL + 1]; /* by enum finding_severity; ratio 0: not that bad */
	/* Return: how many conditions hold, at most room. NULL: one, what all calls lost to the class of .takes */
	size_t (*check)(const struct detector_view *view, struct condition *ret, size_t room);
	/* Nanoseconds of a kept call that this is about: those with most are its examples. NULL: of that class, if any
	 */
	uint64_t (*call_ns)(const struct event *event);
	/* Fills evidence, and what of title and advice is not in .words. */
	void (*tell)(const struct detector_sums *sums, const struct detector_facts *facts, struct finding *finding);
};

#define CONDITIONS_MAX 8 /* of one detector in one process and tick */

/** condition_lose() - an operation lost time in this tick: part of lost_ns; once for each operation */
void condition_lose(struct condition *condition, const struct detector_view *view, const struct op *op,
		    uint64_t lost_ns);
/** condition_account() - a driving thread lost that much in calls and between them */
void condition_account(struct condition *condition, const struct driving *driving, uint64_t in_ns, uint64_t between_ns);
/** detector_check() - by .check, or by the class of .takes. Return: how many conditions hold, at most room */
size_t detector_check(const struct detector *detector, const struct detector_view *view, struct condition *ret,
		      size_t room);
/** detector_call_ns() - by .call_ns, or by the class of .takes; 0: it is none of its examples */
uint64_t detector_call_ns(const struct detector *detector, const struct event *event);
/** detector_evidence() - add one figure; more than fit are left out */
void detector_evidence(struct finding *finding, const char *name, double value, enum finding_unit unit);
/**
 * detector_evidence_lost() - what was lost, its share of the time in calls, and of all time as "lost_ratio"; with an
 * account how much of it in calls of the operation, in all calls and between them, and at least
 */
void detector_evidence_lost(struct finding *finding, const struct detector_sums *sums, const char *ns_name,
			    const char *ratio_name);
/** detector_evidence_time() - the share of all time as "lost_ratio", and what was lost at least */
void detector_evidence_time(struct finding *finding, const struct detector_sums *sums);
/** detector_advise() - add one command or step; more than fit are left out */
void detector_advise(struct finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
/**
 * detector_advise_command() - add "WHAT: BEFORE PID BEHIND", a command that looks at a process
 * The process may have ended: then the command is for its next run, with PID in place of the number.
 * @pid:    the process of the finding, or one that works for it
 * @before: of the command, before the id
 * @behind: behind the id; "": nothing
 */
void detector_advise_command(struct finding *finding, const struct detector_facts *facts, const char *what,
			     const char *before, uint32_t pid, const char *behind);
/* Twice a path and a sentence fit a remedy: a command that is cut could be another one. */
#define DETECTOR_PATH_BYTES 180
/**
 * detector_path() - path of the file that a wait was for, as one word of a shell's command line
 * @ret: "": a word that does not fit; no part of it may stand in a command
 * Return: whether there is one
 */
bool detector_path(const struct account_wait *wait, char ret[DETECTOR_PATH_BYTES]);
/** detector_title() - OP and what happened to it */
void detector_title(struct finding *finding, const char *what);
/** detector_title_process() - the process by its short name, and what happened to it */
void detector_title_process(struct finding *finding, const char *what);
/** detector_title_between() - the process and what happened to it between its calls */
void detector_title_between(struct finding *finding, const char *what);

#define DETECTOR(name) extern const struct detector detector_##name;
#include "detect/list.h"
#undef DETECTOR

enum detector_number {
#define DETECTOR(name) DETECTOR_NUMBER_##name,
#include "detect/list.h"
#undef DETECTOR
	DETECTOR_COUNT
};

/** detector_get() - row by number, below DETECTOR_COUNT */
const struct detector *detector_get(enum detector_number number);
/** detector_find() - row by name; NULL: there is none */
const struct detector *detector_find(const char *name);
