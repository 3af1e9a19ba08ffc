// SPDX-License-Identifier: Apache-2.0
/*
 * A finding: what a detector says happened to one process, from when to when, how bad,
 * through what or whom, and the evidence.
 *
 * Its identity is what and whom: kind, process, operation, cause (kind and process; several are one).
 * Severity is no part of it. The same coming back soon is the same finding with a
 * higher recurrence; findings are updated and closed, never deleted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/advice.h"
#include "events/event.h"
#include "figures/account.h"

enum finding_severity { FINDING_LOW = 1, FINDING_MEDIUM, FINDING_HIGH, FINDING_CRITICAL };

/** finding_severity_to_string() - "LOW" ... "CRITICAL" */
const char *finding_severity_to_string(enum finding_severity severity);

#define FINDING_OTHERS_MAX 2

/* Another of several that are to blame. */
struct finding_other {
	uint32_t pid; /* 0: none */
	uint32_t uid;
	bool is_guarded; /* its own user may not inspect it */
	char comm[RECORD_COMM_BYTES];
	uint32_t same_name; /* so many processes of this name and user have the share; 0: one */
	double share;	    /* of lost_ns, 0...1 */
};

/* One step of a chain of wakers, figures/wait_chain.h. */
struct finding_hop {
	uint32_t pid;
	uint32_t tid;
	uint32_t uid;
	bool is_guarded; /* its own user may not inspect the process */
	bool is_known;	 /* what it did, below */
	uint8_t class;	 /* enum blame_class */
	uint8_t kind;	 /* enum resource_kind */
	char comm[RECORD_COMM_BYTES];
	char name[ACCOUNT_WAIT_NAME_BYTES]; /* of the resource */
	uint64_t ns;
};

struct finding_chain {
	uint64_t ns; /* of the wait; 0: there is no chain */
	size_t n;
	struct finding_hop hop[WAIT_HOPS_MOST];
};

/* What or who is to blame, at the side of the evidence's figures. */
struct finding_cause {
	const char *kind; /* a detector's name, or of cause.c: "cpu_contention", "loader"; static */
	uint32_t pid;	  /* 0: no process, or none that is known */
	uint32_t tid;	  /* its thread with most of it; 0: several, or not known */
	uint32_t uid;
	bool is_guarded; /* its own user may not inspect the process */
	char comm[RECORD_COMM_BYTES];
	uint32_t same_name; /* so many processes of this name and user have the share; 0: one */
	double share;	    /* of lost_ns, 0...1 */
	uint32_t processes; /* that had a twentieth of it, at least; with .same_name those are one */
	bool is_worker;	    /* it, or each of several, works for the waiting process, which started it */
	bool is_several;    /* none has most of it: .pid is the largest now, or one of the largest name */
	struct finding_other others[FINDING_OTHERS_MAX]; /* of several: the next largest, a twentieth each at least */
	struct finding_chain chain;			 /* from .pid on: what it did while it was waited for */
	struct account_wait longest;			 /* the longest wait; .ns 0: none is known */
};

enum finding_unit { FINDING_UNIT_NS, FINDING_UNIT_BYTES, FINDING_UNIT_COUNT, FINDING_UNIT_RATIO };

struct finding_evidence {
	const char *name; /* static: "runnable_ns" */
	double value;
	enum finding_unit unit;
};

#define FINDING_EVIDENCE_MAX 12
#define FINDING_ADVICE_MAX 3
#define FINDING_ADVICE_BYTES 448
#define FINDING_TITLE_BYTES 128 /* a script's name, a rank, and what happened */
#define FINDING_CALLS_MAX 3

/* A call that shows it: explain prints it under the id that these two make. */
struct finding_call {
	uint64_t start_ns;
	uint64_t duration_ns;
	uint32_t tid;
};

#define FINDING_FILE_BYTES 512
#define FINDING_FUNC_BYTES 128

/* The line of the program where the calls that lost most, or the waits, were made. */
struct finding_site {
	char file[FINDING_FILE_BYTES]; /* "": not known, as the next; longer ones are cut */
	char func[FINDING_FUNC_BYTES];
	uint32_t line; /* 0: not known */
};

struct finding {
	uint64_t id;			/* of identity and start; never 0 */
	const char *kind;		/* the detector's name, static */
	enum finding_severity severity; /* the worst so far */
	double confidence;		/* 0...1: 1 when everything was measured on each call and nothing lost */
	struct process_identity process;
	uint32_t tid;	      /* its thread that lost half of .lost_ns or more; 0: several did, or it is not known */
	uint64_t tid_lost_ns; /* what that thread lost itself: .lost_ns is of the worst one of each second; 0: not known
			       */
	const struct op *op;  /* the operation that lost most; NULL: no single one */
	uint64_t start_ns;    /* monotonic, of the boot it was seen in */
	uint64_t end_ns;      /* 0: goes on */
	uint64_t present_ns;  /* time in which it was seen: end minus start minus quiet times */
	uint32_t recurrence;  /* times it came back after a quiet time; 0: once */
	uint64_t lost_ns;     /* what it cost the process, in its calls and, where known, between them */
	uint64_t calls;	      /* of op, while it was present */
	uint64_t slow_calls;
	uint64_t usual_ns; /* median of op without it; 0: not known */
	uint64_t p99_ns;   /* of op, while it was present */
	uint64_t max_ns;
	__u64 blame_ns[BLAME_COUNT]; /* while it was present, all classes, ON_CPU too: of the calls of op, or, of what a
					thread lost in calls and between them, of its account */
	uint16_t measured;	     /* MEASURED(class) */
	struct finding_cause cause;
	struct finding_evidence evidence[FINDING_EVIDENCE_MAX];
	size_t n_evidence;
	struct finding_call call[FINDING_CALLS_MAX]; /* examples, the longest first */
	size_t n_calls;
	struct finding_site from;
	char title[FINDING_TITLE_BYTES]; /* "cudaStreamSynchronize waited for the CPU", "train.py waited for data ..."
					  */
	char advice[FINDING_ADVICE_MAX][FINDING_ADVICE_BYTES]; /* commands or steps, the most useful first */
	size_t n_advice;
};
