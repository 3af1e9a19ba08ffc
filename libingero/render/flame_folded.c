// SPDX-License-Identifier: Apache-2.0
/* Folded stacks: a line for each stack. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "libingero/render/flame.h"

static void folded_name_append(const struct flame *flame, uint32_t frame, struct buf *line)
{
	size_t start = line->n;

	flame_label_append(flame, frame, line);
	for (size_t i = start; i < line->n; i++)
		if (line->data[i] == ';')
			line->data[i] = ':';
}

/* "f 12" with its weight, "f 12 34", would be read as f with two weights. */
static void digits_guard(struct buf *line)
{
	size_t i = line->n;

	while (i > 0 && strchr("0123456789.", line->data[i - 1]))
		i--;
	if (i > 0 && i < line->n && line->data[i - 1] == ' ')
		line->data[i - 1] = '_';
}

static void folded_line_append(const struct flame *flame, const struct flame_head *head, size_t i, struct buf *line)
{
	const struct flame_stack *stack = &flame->stacks.items[i];

	for (uint32_t k = 0; k < stack->n; k++) {
		if (k)
			(void)buf_append_text(line, ";");
		folded_name_append(flame, flame->places.items[stack->first + k], line);
	}
	digits_guard(line);
	if (head->before != FLAME_NONE)
		(void)buf_printf(line, " %" PRIu64, flame_weight(flame, i, head->before));
	(void)buf_printf(line, " %" PRIu64 "\n", flame_weight(flame, i, head->value));
}

static int folded_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int flame_folded_append(const struct flame *flame, const struct flame_head *head, struct buf *out)
{
	CLEANUP(buf_done) struct buf line = BUF_INIT;
	ARRAY(char *) lines = { .items = NULL };
	int r = 0;

	for (size_t i = 0; i < flame->stacks.n && r == 0; i++) {
		bool was = head->before != FLAME_NONE && flame_weight(flame, i, head->before);
		char *copy;

		if (!flame_weight(flame, i, head->value) && !was)
			continue;
		buf_consume(&line, line.n);
		folded_line_append(flame, head, i, &line);
		copy = line.failed ? NULL : strdup(buf_text(&line));
		r = copy ? ARRAY_PUSH(&lines, copy) : -ENOMEM;
		if (r < 0)
			free(copy);
	}
	if (lines.n)
		qsort(lines.items, lines.n, sizeof(*lines.items), folded_compare);
	for (size_t i = 0; i < lines.n; i++) {
		(void)buf_append_text(out, lines.items[i]);
		free(lines.items[i]);
	}
	ARRAY_DONE(&lines);
	return r < 0 || out->failed ? -ENOMEM : 0;
}
