// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/trace/summary.h"

#include <errno.h>
#include <string.h>

#define PIECES_MAX 1024 /* maximum pieces of up to 1 MiB each: far beyond the cells of a daemon */

static void view_done(struct trace_summary *s)
{
	free(s->view.operations);
	free(s->view.in_flight);
	free(s->view.behind);
	free(s->view.libraries);
	free(s->view.findings);
	free(s->view.accounts);
	s->view = (Ingero__V1__Summary)INGERO__V1__SUMMARY__INIT;
	s->is_whole = false;
}

void trace_summary_done(struct trace_summary *s)
{
	view_done(s);
	for (size_t i = 0; i < s->pieces.n; i++)
		ingero__v1__summary__free_unpacked(s->pieces.items[i], NULL);
	ARRAY_DONE(&s->pieces);
}

/* Messages of a stream are released after the callback: keeping one means copying it. */
static int piece_copy(const Ingero__V1__Summary *piece, Ingero__V1__Summary **ret_copy)
{
	size_t n = ingero__v1__summary__get_packed_size(piece);
	CLEANUP(freep) uint8_t *packed = malloc(n + 1);
	Ingero__V1__Summary *copy;

	if (!packed)
		return -ENOMEM;
	(void)ingero__v1__summary__pack(piece, packed);
	copy = ingero__v1__summary__unpack(NULL, n, packed);
	if (!copy)
		return -ENOMEM;

	*ret_copy = copy;
	return 0;
}

/* Joins one list of all pieces. */
#define JOIN(s, list)                                                                                                  \
	({                                                                                                             \
		size_t total_ = 0, at_ = 0;                                                                            \
		for (size_t i = 0; i < (s)->pieces.n; i++)                                                             \
			total_ += (s)->pieces.items[i]->n_##list;                                                      \
		(s)->view.list = calloc(total_ + 1, sizeof(*(s)->view.list));                                          \
		for (size_t i = 0; (s)->view.list && i < (s)->pieces.n; i++)                                           \
			for (size_t k = 0; k < (s)->pieces.items[i]->n_##list; k++)                                    \
				(s)->view.list[at_++] = (s)->pieces.items[i]->list[k];                                 \
		(s)->view.n_##list = at_;                                                                              \
		(s)->view.list ? 0 : -ENOMEM;                                                                          \
	})

static int view_build(struct trace_summary *s)
{
	view_done(s);
	if (JOIN(s, operations) < 0 || JOIN(s, in_flight) < 0 || JOIN(s, behind) < 0 || JOIN(s, libraries) < 0 ||
	    JOIN(s, findings) < 0 || JOIN(s, accounts) < 0)
		return -ENOMEM;

	for (size_t i = 0; i < s->pieces.n; i++) {
		const Ingero__V1__Summary *piece = s->pieces.items[i];

		if (piece->timestamp_unix_ns)
			s->view.timestamp_unix_ns = piece->timestamp_unix_ns;
		if (piece->window_ns)
			s->view.window_ns = piece->window_ns;
		if (piece->lost)
			s->view.lost = piece->lost;
		if (piece->cost)
			s->view.cost = piece->cost;
		if (piece->from_told_case) {
			s->view.from_told_case = piece->from_told_case;
			s->view.from_unix_ns = piece->from_unix_ns;
		}
		if (piece->to_told_case) {
			s->view.to_told_case = piece->to_told_case;
			s->view.to_unix_ns = piece->to_unix_ns;
		}
		if (piece->delay)
			s->view.delay = piece->delay;
		if (piece->life)
			s->view.life = piece->life;
		if (piece->store)
			s->view.store = piece->store;
	}
	s->is_whole = true;
	return 0;
}

int trace_summary_add(struct trace_summary *s, const Ingero__V1__Summary *piece)
{
	Ingero__V1__Summary *copy = NULL;
	int r;

	if (s->is_whole)
		trace_summary_done(s);

	r = s->pieces.n < PIECES_MAX ? piece_copy(piece, &copy) : -E2BIG;
	if (r == 0 && ARRAY_PUSH(&s->pieces, copy) < 0) {
		ingero__v1__summary__free_unpacked(copy, NULL);
		r = -ENOMEM;
	}
	if (r == 0 && !piece->more)
		r = view_build(s);
	if (r < 0)
		trace_summary_done(s);
	return r;
}

void trace_summary_take(struct trace_summary *to, struct trace_summary *from)
{
	trace_summary_done(to);
	*to = *from;
	*from = (struct trace_summary)TRACE_SUMMARY_INIT;
}
