// SPDX-License-Identifier: Apache-2.0
/*
 * Figures for tests, written as tables: a few rows become a whole Summary.
 */
#pragma once

#include <stdlib.h>

#include "base/cleanup.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/blame.h"

#define MS NSEC_PER_MSEC
#define US NSEC_PER_USEC
#define S NSEC_PER_SEC
#define FIGURES_MAX 64

struct figures_op {
	uint32_t pid;
	uint32_t uid;
	const char *process;
	const char *source; /* NULL: cuda */
	const char *op;
	uint64_t count, errors, abandoned, untimed;
	uint64_t p50_ns, p95_ns, p99_ns, max_ns;
	uint64_t blame_ns[BLAME_VIEW_COUNT]; /* the total is their sum */
};

struct figures_in_flight {
	uint32_t pid, tid;
	const char *process;
	const char *op;
	uint64_t age_ns, device_ns;
};

struct figures_behind {
	uint32_t victim_pid, pid, uid;
	const char *comm;
	uint64_t ns;
};

/* Everything that one Summary points at. */
struct figures {
	Ingero__V1__Summary summary;
	Ingero__V1__Operation operations[FIGURES_MAX], *operation_list[FIGURES_MAX];
	Ingero__V1__InFlight in_flight[FIGURES_MAX], *in_flight_list[FIGURES_MAX];
	Ingero__V1__Behind behind[FIGURES_MAX], *behind_list[FIGURES_MAX];
	Ingero__V1__Blame blames[2 * FIGURES_MAX];
	Ingero__V1__Lost lost;
	Ingero__V1__Cost cost;
};

static inline char *figures_text(const char *text)
{
	return (char *)(uintptr_t)(text ? text : ""); /* messages only lend what they point at here */
}

static inline Ingero__V1__Blame *figures_blame(Ingero__V1__Blame *blame, const uint64_t *ns)
{
	*blame = (Ingero__V1__Blame)INGERO__V1__BLAME__INIT;
	for (unsigned int i = 0; i < BLAME_VIEW_COUNT; i++) {
		const ProtobufCFieldDescriptor *field = &ingero__v1__blame__descriptor.fields[i];

		*(protobuf_c_boolean *)((uint8_t *)blame + field->quantifier_offset) = 1;
		*(uint64_t *)(void *)((uint8_t *)blame + field->offset) = ns[i];
	}
	return blame;
}

/* Tables end at the first row without a name; NULL: empty. */
static inline const Ingero__V1__Summary *figures_build(struct figures *f, uint64_t window_ns,
						       const struct figures_op *ops,
						       const struct figures_in_flight *calls,
						       const struct figures_behind *behind)
{
	size_t n = 0;

	f->summary = (Ingero__V1__Summary)INGERO__V1__SUMMARY__INIT;
	f->lost = (Ingero__V1__Lost)INGERO__V1__LOST__INIT;
	f->cost = (Ingero__V1__Cost)INGERO__V1__COST__INIT;
	f->cost.probe_ratio = 0.006;
	f->summary.window_ns = window_ns;
	f->summary.timestamp_unix_ns = 1;
	f->summary.lost = &f->lost;
	f->summary.cost = &f->cost;
	f->summary.operations = f->operation_list;
	f->summary.in_flight = f->in_flight_list;
	f->summary.behind = f->behind_list;

	for (; ops && ops[f->summary.n_operations].op; f->summary.n_operations++) {
		const struct figures_op *from = &ops[f->summary.n_operations];
		Ingero__V1__Operation *to = &f->operations[f->summary.n_operations];

		*to = (Ingero__V1__Operation)INGERO__V1__OPERATION__INIT;
		to->pid = from->pid;
		to->uid = from->uid;
		to->process_name = figures_text(from->process);
		to->op = figures_text(from->op);
		to->source = figures_text(from->source ? from->source : "cuda");
		to->count = from->count;
		to->errors = from->errors;
		to->abandoned = from->abandoned;
		to->untimed = from->untimed;
		to->p50_ns = from->p50_ns;
		to->p95_ns = from->p95_ns;
		to->p99_ns = from->p99_ns;
		to->max_ns = from->max_ns;
		for (size_t i = 0; i < BLAME_VIEW_COUNT; i++)
			to->total_ns += from->blame_ns[i];
		to->blame_ns = figures_blame(&f->blames[n++], from->blame_ns);
		f->operation_list[f->summary.n_operations] = to;
	}
	for (; calls && calls[f->summary.n_in_flight].op; f->summary.n_in_flight++) {
		const struct figures_in_flight *from = &calls[f->summary.n_in_flight];
		Ingero__V1__InFlight *to = &f->in_flight[f->summary.n_in_flight];
		uint64_t ns[BLAME_VIEW_COUNT] = {
			[BLAME_VIEW_ON_CPU] = from->age_ns - from->device_ns, [BLAME_VIEW_DEVICE] = from->device_ns
		};

		*to = (Ingero__V1__InFlight)INGERO__V1__IN_FLIGHT__INIT;
		to->pid = from->pid;
		to->tid = from->tid;
		to->process_name = figures_text(from->process);
		to->op = figures_text(from->op);
		to->age_ns = from->age_ns;
		to->blame_ns = figures_blame(&f->blames[n++], ns);
		f->in_flight_list[f->summary.n_in_flight] = to;
	}
	for (; behind && behind[f->summary.n_behind].comm; f->summary.n_behind++) {
		const struct figures_behind *from = &behind[f->summary.n_behind];
		Ingero__V1__Behind *to = &f->behind[f->summary.n_behind];

		*to = (Ingero__V1__Behind)INGERO__V1__BEHIND__INIT;
		to->pid = from->pid;
		to->victim_pid = from->victim_pid;
		to->uid = from->uid;
		to->comm = figures_text(from->comm);
		to->ns = from->ns;
		f->behind_list[f->summary.n_behind] = to;
	}
	return &f->summary;
}
