// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/stack/profile.h"

#include <errno.h>
#include <string.h>

#include "libingero/answers/stack/place.h"

#define WITHOUT_FRAME "[no stack]"
#define INCOMPLETE_FRAME "[not complete]"
#define BEFORE_SUFFIX " before"

/* Frames of a row while it is added. */
struct layers {
	ARRAY(struct flame_frame) frames; /* outermost first */
	ARRAY(char *) names;		  /* owned: symbols without their offsets */
};

static void layers_clear(struct layers *l)
{
	for (size_t i = 0; i < l->names.n; i++)
		free(l->names.items[i]);
	l->names.n = l->frames.n = 0;
}

static void layers_done(struct layers *l)
{
	layers_clear(l);
	ARRAY_DONE(&l->names);
	ARRAY_DONE(&l->frames);
}

static int plain_add(struct layers *l, const char *name)
{
	struct flame_frame frame = { .name = name, .file = "", .module = "", .kind = FLAME_PLAIN };

	return ARRAY_PUSH(&l->frames, frame);
}

static int frame_add(struct layers *l, const Ingero__V1__StackFrame *from)
{
	struct stack_place place = stack_place_of(from);
	struct flame_frame frame = { .file = place.file,
				     .module = place.module,
				     .line = place.line,
				     .kind = place.is_python ? FLAME_PYTHON : FLAME_NATIVE };
	CLEANUP(freep) char *name = strndup(place.func, place.n_func);

	if (!name || ARRAY_PUSH(&l->names, name) < 0)
		return -ENOMEM;
	frame.name = name;
	name = NULL;
	return ARRAY_PUSH(&l->frames, frame);
}

static int layers_fill(struct layers *l, const Ingero__V1__StackRow *row)
{
	const Ingero__V1__Stack *stack = row->stack;
	int r = plain_add(l, *row->process_name ? row->process_name : "?");

	if (!stack || !stack->n_frames) {
		if (r == 0)
			r = plain_add(l, WITHOUT_FRAME);
		return r < 0 ? r : plain_add(l, row->op);
	}
	if (r == 0 && !stack->is_complete)
		r = plain_add(l, INCOMPLETE_FRAME);
	for (size_t i = stack->n_frames; i > 0 && r == 0; i--)
		r = frame_add(l, stack->frames[i - 1]);
	return r;
}

static int row_add_weights(struct flame *profile, struct layers *l, const Ingero__V1__StackRow *row,
			   const uint64_t *weights)
{
	int r = layers_fill(l, row);

	if (r == 0)
		r = flame_add(profile, l->frames.items, l->frames.n, weights);
	layers_clear(l);
	return r;
}

int stack_profile_init(const struct stack_rows *rows, struct flame *ret)
{
	struct flame_value values[FLAME_VALUES_MAX];
	size_t n = 0;

	_Static_assert(STACK_BLAME + BLAME_VIEW_COUNT <= FLAME_VALUES_MAX, "every measure has its value");
	for (enum stack_measure_kind kind = STACK_TIME; kind < STACK_BLAME; kind++)
		values[n++] = stack_measure_value(&(struct stack_measure){ .kind = kind });
	for (enum blame_view_class class = 0; class < BLAME_VIEW_COUNT; class ++) {
		struct stack_measure measure = { .kind = STACK_BLAME, .class = class };
		bool is_met = false;

		for (size_t i = 0; i < rows->rows.n && !is_met; i++)
			is_met = stack_measure_of(&measure, rows->rows.items[i]) > 0;
		if (is_met)
			values[n++] = stack_measure_value(&measure);
	}
	return flame_init(ret, values, n);
}

int stack_profile_init_change(const struct stack_measure *measure, struct flame *ret)
{
	struct flame_value values[] = { stack_measure_value(measure), stack_measure_value(measure) };

	strncat(values[1].name, BEFORE_SUFFIX, sizeof(values[1].name) - strlen(values[1].name) - 1);
	return flame_init(ret, values, ARRAY_SIZE(values));
}

size_t stack_profile_value(const struct flame *profile, const struct stack_measure *measure)
{
	struct flame_value value = stack_measure_value(measure);

	for (size_t i = 0; i < profile->n_values; i++)
		if (strcmp(profile->values[i].name, value.name) == 0)
			return i;
	return 0;
}

static int site_rows_add(struct flame *profile, const struct stack_measure *measures, const struct stack_site *site,
			 struct layers *layers)
{
	int r = 0;

	for (size_t i = 0; i < site->n_rows && r == 0; i++) {
		uint64_t weights[FLAME_VALUES_MAX];

		for (size_t k = 0; k < profile->n_values; k++)
			weights[k] = stack_measure_of(&measures[k], site->rows[i]);
		r = row_add_weights(profile, layers, site->rows[i], weights);
	}
	return r;
}

int stack_profile_add(struct flame *profile, const struct stack_sites *sites, uint64_t limit, bool takes_inner)
{
	struct stack_measure measures[FLAME_VALUES_MAX];
	CLEANUP(layers_done) struct layers layers = { .frames = { .items = NULL } };
	uint64_t n = 0;
	int r = 0;

	for (size_t i = 0; i < profile->n_values && r == 0; i++)
		r = stack_measure_parse(profile->values[i].name, &measures[i]);
	for (size_t i = 0; i < sites->sites.n && (!limit || n < limit) && r == 0; i++) {
		if (sites->sites.items[i].is_inner && !takes_inner)
			continue;
		r = site_rows_add(profile, measures, &sites->sites.items[i], &layers);
		n++;
	}
	return r;
}

int stack_profile_add_change(struct flame *profile, const struct stack_measure *measure, const struct stack_rows *rows,
			     bool takes_inner, bool is_before)
{
	CLEANUP(layers_done) struct layers layers = { .frames = { .items = NULL } };
	int r = 0;

	for (size_t i = 0; i < rows->rows.n && r == 0; i++) {
		uint64_t weights[] = { 0, 0 };

		if (rows->rows.items[i]->is_inner && !takes_inner)
			continue;
		weights[is_before] = stack_measure_of(measure, rows->rows.items[i]);
		r = row_add_weights(profile, &layers, rows->rows.items[i], weights);
	}
	return r;
}
