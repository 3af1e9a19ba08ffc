// SPDX-License-Identifier: Apache-2.0
/*
 * Call sites: rows of the daemon's answer put together by the line of the program that made the calls. A site has
 * exact sums of the recorded calls, and estimates of all calls where not every one was recorded.
 */
#pragma once

#include "libingero/answers/stack/measure.h"
#include "libingero/answers/stack/place.h"
#include "libingero/answers/stack/rows.h"

enum stack_by {
	STACK_BY_SITE,	/* one for each line and operation, of all processes; calls within other calls apart */
	STACK_BY_STACK, /* one for each stack, process and operation */
};

struct stack_site {
	struct stack_place place;
	bool has_place;				 /* the calls have a stack */
	bool is_inner;				 /* made within other calls, whose sites have their time, too */
	const Ingero__V1__StackRow *most;	 /* its row with most of the measure */
	const Ingero__V1__StackRow *const *rows; /* of `order` below, n_rows */
	size_t n_rows;
	size_t n_processes;
	uint64_t measure;
	uint64_t count, total_ns; /* of the recorded calls, as the next */
	uint64_t bytes, errors, max_ns;
	uint64_t p99_ns; /* at most: exact of one row, a bound where several are put together */
	struct blame_view blame;
	uint64_t counted, counted_ns; /* of all calls */
	bool is_estimate;	      /* not every call was recorded */
};

struct stack_sites {
	ARRAY(struct stack_site) sites;		   /* most of the measure first */
	ARRAY(const Ingero__V1__StackRow *) order; /* rows in groups */
};

#define STACK_SITES_INIT                                                                                               \
	{                                                                                                              \
		.sites = {.items = NULL }                                                                              \
	}

void stack_sites_done(struct stack_sites *sites);
/**
 * stack_sites_build() - put rows together
 * @rows: lives as long as the sites
 * Return: 0 or -ENOMEM
 */
int stack_sites_build(const struct stack_rows *rows, enum stack_by by, const struct stack_measure *measure,
		      struct stack_sites *ret);
