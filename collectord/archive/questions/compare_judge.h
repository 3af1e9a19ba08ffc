// SPDX-License-Identifier: Apache-2.0
/*
 * The judgement on one program: what a unit of its work takes on each side, and whether the difference is more than
 * both sides vary.
 *
 * Each side is cut into at most RANK_MOST samples of about as much work; of each the time of a unit of work is one
 * value. The two samples are compared by ranks (compare_rank.h). A difference is told if its bounds exclude 0 and it is
 * JUDGE_FLOOR_RATIO or more: what differs between two runs and not within one, such as where memory lies, is less.
 */
#pragma once

#include "archive/questions/compare_program.h"
#include "archive/questions/compare_rank.h"

#define JUDGE_CONFIDENCE 0.99
#define JUDGE_FLOOR_RATIO 0.01
#define JUDGE_ERROR_RATIO 0.10 /* with larger errors, what is not told may be there: it cannot be judged */
#define JUDGE_WHY_BYTES 256

enum judge_verdict { JUDGE_SAME, JUDGE_SLOWER, JUDGE_FASTER, JUDGE_UNKNOWN };

/* The unit of work. */
struct judge_unit {
	const struct read_op *op; /* calls of this one; NULL: all calls */
};

struct judge_side {
	const struct compared_program *program;
	uint64_t units;
	size_t n;			  /* samples */
	uint8_t sample_of[SERIES_PIECES]; /* of each piece of time */
	double unit_values[RANK_MOST];	  /* units of work in each sample */
	uint64_t sample_ns;		  /* length of a sample, about */
};

struct judgement {
	struct judge_unit unit;
	struct judge_side a, b;
	enum judge_verdict verdict;
	char why[JUDGE_WHY_BYTES]; /* of JUDGE_UNKNOWN: the reason */
	bool is_without_runnable;  /* change and error are of time without that in which threads were ready */
	bool has_change;
	double change_ratio, error_ratio;
	double unit_ns; /* typical time of a unit in a, as change_ratio counts it; 0: not known */
};

/** judge_unit_choose() - the synchronising operation with most time of those on both sides, else all calls */
struct judge_unit judge_unit_choose(const struct compared_program *a, const struct compared_program *b);
/** judge_program() - judge one program by a unit of its work */
void judge_program(const struct compared_program *a, const struct compared_program *b, struct judge_unit unit,
		   struct judgement *ret);
/**
 * judge_values() - compare what samples take of something: ns by piece of time, of a unit of work
 * @a, @b: SERIES_PIECES; NULL: none
 * Return: 0; -ENODATA: there are too few samples
 */
int judge_values(const struct judgement *judgement, const uint64_t *a, const uint64_t *b, struct rank_shift *ret);
