// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/io/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define FRAMES_MOST 512 /* components of a path beyond are one frame */
#define NO_FILE "[no file]"
#define WORD_BYTES 16

static const char *const dimension_names[IO_BY_COUNT] = {
	[IO_BY_PATH] = "path", [IO_BY_OP] = "op", [IO_BY_COMM] = "comm", [IO_BY_PID] = "pid"
};
const char *const io_weights[] = { "count", "duration", "gap", "bytes", NULL };
static const struct flame_value weight_values[] = { { "count", FLAME_COUNT },
						    { "duration", FLAME_NANOSECONDS },
						    { "gap", FLAME_NANOSECONDS },
						    { "bytes", FLAME_BYTES } };

static int dimension_add(struct io_dimensions *by, const char *word, size_t n)
{
	for (enum io_dimension i = 0; i < IO_BY_COUNT; i++) {
		if (strlen(dimension_names[i]) != n || memcmp(dimension_names[i], word, n) != 0)
			continue;
		for (size_t k = 0; k < by->n; k++)
			if (by->items[k] == i)
				return -EINVAL;
		by->items[by->n++] = i;
		return 0;
	}
	return -EINVAL;
}

int io_dimensions_parse(const char *text, struct io_dimensions *ret)
{
	int r = 0;

	*ret = (struct io_dimensions){ .n = 0 };
	for (const char *word = text; r == 0; word++) {
		size_t n = strcspn(word, ",");

		r = dimension_add(ret, word, n);
		word += n;
		if (!*word)
			break;
	}
	return r;
}

size_t io_profile_value(const char *weight)
{
	for (size_t i = 0; io_weights[i]; i++)
		if (strcmp(io_weights[i], weight) == 0)
			return i;
	return 0;
}

/* One stack while it is put together. */
struct io_stack {
	struct flame_frame frames[FRAMES_MOST];
	size_t n;
	char *path; /* a copy with NULs, which the frames borrow */
	char pid[WORD_BYTES];
};

static void frame_push(struct io_stack *s, const char *name)
{
	if (s->n < FRAMES_MOST)
		s->frames[s->n++] = (struct flame_frame){ .name = name, .file = "", .module = "" };
}

/*
 * "/srv/a/b" is the frames "/srv", "/a" and "/b"; what is no path is one. @s: its path has room for a slash and a NUL
 * more for each component
 */
static void path_push(struct io_stack *s, const char *path)
{
	char *out = s->path;

	if (*path != '/') {
		frame_push(s, *path ? path : NO_FILE);
		return;
	}
	while (*path && s->n < FRAMES_MOST - IO_BY_COUNT) {
		size_t n = 1 + strcspn(path + 1, "/");

		memcpy(out, path, n);
		out[n] = '\0';
		frame_push(s, out);
		out += n + 1;
		path += n;
	}
	if (*path)
		frame_push(s, path);
}

static int file_stack_add(const Ingero__V1__IoFile *file, const struct io_dimensions *by, struct flame *ret)
{
	CLEANUP(freep) struct io_stack *s = calloc(1, sizeof(*s));
	CLEANUP(freep) char *path = calloc(2, strlen(file->path) + 1);
	const uint64_t weights[] = { file->count, file->total_ns, file->gap_ns, file->bytes };

	if (!s || !path)
		return -ENOMEM;
	s->path = path;
	(void)snprintf(s->pid, sizeof(s->pid), "%u", file->pid);
	for (size_t i = 0; i < by->n; i++)
		switch (by->items[i]) {
		case IO_BY_PATH:
			path_push(s, file->path);
			break;
		case IO_BY_OP:
			frame_push(s, file->op);
			break;
		case IO_BY_COMM:
			frame_push(s, file->process_name);
			break;
		case IO_BY_PID:
		case IO_BY_COUNT:
			frame_push(s, s->pid);
			break;
		}
	return flame_add(ret, s->frames, s->n, weights);
}

int io_profile_fill(const Ingero__V1__IoFigures *figures, const struct io_dimensions *by, struct flame *ret)
{
	int r = flame_init(ret, weight_values, ARRAY_SIZE(weight_values));

	for (size_t i = 0; i < figures->n_files && r == 0; i++)
		r = file_stack_add(figures->files[i], by, ret);
	return r;
}
