// SPDX-License-Identifier: Apache-2.0
/*
 * The life of one finding: conditions of ticks gather until they are one, it opens, is
 * updated, is quiet, closes, and comes back.
 *
 * Lost time fills a bucket that drains at the rate of noise; a track that is drained
 * before it was full never was a finding.
 */
#pragma once

#include "base/array.h"
#include "detect/detector.h"
#include "detect/memory.h"
#include "detect/track_share.h"
#include "events/sites.h"

#define TRACK_CULPRITS_MAX 16
#define TRACK_THREADS_MAX 8

enum track_state { TRACK_GATHERING, TRACK_OPEN, TRACK_CLOSED };

/* What was lost in one operation while it was present. */
struct track_op {
	const struct op *op; /* NULL: between calls */
	uint64_t lost_ns;
	double recent_lost_ns;
	struct op_figures figures; /* of the ticks in which it was present */
};

struct track_culprit {
	struct culprit by; /* in all */
	double recent_ns;
	enum track_kin { KIN_NOT_ASKED, KIN_WORKER, KIN_OTHER } kin; /* whether it works for the waiting process */
};

/* Without room, one with more recent time replaces the one with least. */
struct track_culprits {
	struct track_culprit items[TRACK_CULPRITS_MAX];
	size_t n;
};

struct track_thread {
	uint32_t tid;
	uint64_t lost_ns; /* its own, in ticks in which another one lost more, too, where that is known */
	bool is_late;	  /* it took the place of another one: it may have lost more before */
};

struct track {
	struct track_share *share; /* NULL: not counted */
	const struct detector *detector;
	enum detector_number number;
	const struct op *key;	/* of a detector with .is_per_op */
	const struct cause *of; /* of a detector with .is_of_cause */
	double steady_ns;	/* time in which it was present, less a quarter of pauses */
	uint64_t bounded_ns;	/* time in which it was present and no more than LOW */
	enum track_state state;
	double bucket_ns;
	uint64_t from_ns;      /* where it began */
	uint64_t last_ns;      /* end of the last tick in which it was present */
	uint64_t told_ns;      /* when it was last updated */
	double recent_lost_ns; /* of the last few seconds, as are the next three */
	double recent_time_ns;
	double recent_calls_ns;
	double recent_least_ns;
	double confidence_ns; /* sum of confidence times lost time; the sum of the latter: */
	double weight_ns;
	uint64_t base_lost_ns;	/* lost_ns when it opened again, where it is told in total */
	uint64_t quiet_lost_ns; /* lost since the process's last tick with calls */
	struct detector_sums sums;
	uint64_t blame_ns[BLAME_COUNT]; /* of the accounts of threads that lost time, in calls and between them */
	ARRAY(struct track_op) ops;
	struct track_culprits culprits;
	struct track_culprits
		names;		/* the same of a detector with .has_culprits alone: processes of one name are one */
	uint32_t blamed_pid;	/* the culprit when it was found; 0: several, or nobody */
	uint64_t behind_number; /* the highest of the processes that ran: those of the next tick may be new */
	struct track_thread threads[TRACK_THREADS_MAX]; /* that lost the time */
	size_t n_threads;
	bool has_late_threads;	 /* there was no room for one */
	struct sites sites;	 /* of waits that it is about */
	uint64_t behind_ns;	 /* of all culprits, those for which there was no room included */
	double recent_behind_ns; /* the same, of the last few seconds */
	struct finding finding;
};

/* What a tick brings for one track. */
struct track_tick {
	const struct detector_view *view;
	const struct process_memory *process;
	const struct condition *condition; /* NULL: does not hold in this tick */
	double quality;			   /* what losses leave of confidence, 0...1 */
	const struct detector_facts *facts;
};

enum track_step {
	TRACK_NOTHING,
	TRACK_DRAINED, /* it never was a finding: free it */
	TRACK_OPENS,   /* track_open() it */
	TRACK_CHANGED,
	TRACK_ANOTHER, /* the same detector now blames another operation or process: close this, begin a new one */
	TRACK_CLOSES,
};

/** track_new() - Return: 0 or -ENOMEM */
int track_new(enum detector_number number, const struct op *key, const struct cause *of, uint64_t from_ns,
	      struct track **ret_track);
/** track_is_of() - whether a condition of its detector is what it follows */
static inline bool track_is_of(const struct track *track, const struct condition *condition)
{
	return track->key == condition->op && track->of == condition->of;
}
void track_free(struct track *track);
/** track_advance() - one tick further. Return: enum track_step, or -ENOMEM with something of the tick not counted */
int track_advance(struct track *track, const struct track_tick *tick);
/** track_identify() - name cause and operation, before it is opened */
void track_identify(struct track *track, const struct track_tick *tick);
/** track_culprit_pid() - the process that is part of its identity; 0: several, or nobody */
uint32_t track_culprit_pid(const struct track *track);
/** track_is_worth_telling() - whether it names somebody, or has lost much */
bool track_is_worth_telling(const struct track *track);
/** track_blames_another() - another operation or process has taken over for good */
bool track_blames_another(const struct track *track);
/** track_fill() - everything in its finding, as it is now */
void track_fill(struct track *track, const struct track_tick *tick);
/** track_tell() - title, advice and evidence again */
void track_tell(struct track *track, const struct detector_facts *facts);
/** track_op() - its figures of an operation, NULL if it has none */
struct track_op *track_op(const struct track *track, const struct op *op);
/** track_is_same() - whether it is what an earlier one was */
bool track_is_same(const struct track *track, const struct track *earlier);
/** track_open() - it is a finding from here on; @number: which one of its process, for its id */
void track_open(struct track *track, const struct track_tick *tick, uint64_t number);
/** track_reopen() - an earlier finding comes back: takes over what `again` gathered. Return: 0 or -ENOMEM */
int track_reopen(struct track *track, const struct track *again, const struct track_tick *tick);
/**
 * track_judge_run() - the process has ended: a finding of most of a short run is not LOW for want of time
 * @run_ns: time since its first call
 */
void track_judge_run(struct track *track, uint64_t run_ns);
/** track_close() - the finding's last word */
void track_close(struct track *track, uint64_t end_ns, const struct detector_facts *facts);
