// SPDX-License-Identifier: Apache-2.0
/*
 * Profiles with whatever texts and weights: folded lines are frames and whole numbers, the picture is XML with one
 * script, speedscope's file is JSON that says the sums, and the profile for pprof is one message in one gzip stream.
 */
#include "libingero/render/flame.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

#define FRAMES_MAX 8
#define INFLATED_MAX (4u << 20)

/* A stack is: number of frames, two weights of a byte; a frame: kind, line, and three texts that end in a zero byte. */
struct input {
	const uint8_t *data;
	size_t n;
	ARRAY(char *) texts;
};

static unsigned int byte_take(struct input *in)
{
	if (!in->n)
		return 0;
	in->n--;
	return *in->data++;
}

static const char *text_take(struct input *in)
{
	size_t n = in->n ? strnlen((const char *)in->data, in->n) : 0;
	char *text = strndup(n ? (const char *)in->data : "", n);

	REQUIRE(text && ARRAY_PUSH(&in->texts, text) == 0);
	in->data += MIN(n + 1, in->n);
	in->n -= MIN(n + 1, in->n);
	return text;
}

static void profile_read(struct input *in, struct flame *flame)
{
	while (in->n) {
		struct flame_frame frames[FRAMES_MAX];
		size_t n = byte_take(in) % FRAMES_MAX + 1;
		uint64_t weights[] = { byte_take(in), byte_take(in) };

		weights[0] = weights[0] == 255 ? UINT64_MAX : weights[0];
		for (size_t i = 0; i < n; i++) {
			frames[i].kind = byte_take(in) % FLAME_KIND_COUNT;
			frames[i].line = byte_take(in);
			frames[i].name = text_take(in);
			frames[i].file = text_take(in);
			frames[i].module = text_take(in);
		}
		REQUIRE(flame_add(flame, frames, n, weights) == 0);
	}
}

static void folded_check(const struct flame *flame, struct flame_head *head, struct buf *out)
{
	char *rest = NULL;

	buf_consume(out, out->n);
	REQUIRE(flame_folded_append(flame, head, out) == 0);
	for (char *line = strtok_r((char *)(uintptr_t)buf_text(out), "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *number = strrchr(line, ' ');

		REQUIRE(number && number > line && number[1] && strspn(number + 1, "0123456789") == strlen(number + 1));
		*number = 0;
		if (head->before ==
		    FLAME_NONE) { /* what is left does not end in a number that could be another weight */
			number = strrchr(line, ' ');
			REQUIRE(!number || !number[1] || strspn(number + 1, "0123456789.") < strlen(number + 1));
		}
	}
}

/* Every '<' begins an element of ours, and texts have none. */
static void svg_check(const struct flame *flame, struct flame_head *head, struct buf *out)
{
	static const char *const elements[] = { "?xml",	  "svg",  "/svg", "title",  "/title",	     "style",
						"/style", "rect", "text", "/text",  "foreignObject", "/foreignObject",
						"input",  "g",	  "/g",	  "script", "/script",	     "![CDATA[" };
	const char *script, *at;
	size_t n_scripts = 0;

	buf_consume(out, out->n);
	REQUIRE(flame_svg_append(flame, head, out) == 0);
	at = buf_text(out);
	REQUIRE(strlen(at) == out->n);
	script = strstr(at, "<script>");
	REQUIRE(script);
	for (; (at = strchr(at, '<')) && at < script; at++) {
		bool is_ours = false;

		for (size_t i = 0; i < ARRAY_SIZE(elements); i++)
			is_ours |= strncmp(at + 1, elements[i], strlen(elements[i])) == 0;
		REQUIRE(is_ours);
	}
	for (at = buf_text(out); (at = strstr(at, "<script")); at++)
		n_scripts++;
	REQUIRE(n_scripts == 1);
}

static void speedscope_check(const struct flame *flame, struct flame_head *head, struct buf *out)
{
	json_t *file, *profile;

	buf_consume(out, out->n);
	REQUIRE(flame_speedscope_append(flame, head, out) == 0);
	file = json_loadb(buf_text(out), out->n, JSON_DECODE_INT_AS_REAL, NULL);
	REQUIRE(file);
	profile = json_array_get(json_object_get(file, "profiles"), 1);
	REQUIRE(json_array_size(json_object_get(profile, "samples")) ==
		json_array_size(json_object_get(profile, "weights")));
	REQUIRE(json_real_value(json_object_get(profile, "endValue")) == (double)flame_total(flame, 1));
	json_decref(file);
}

static void pprof_check(const struct flame *flame, struct flame_head *head, struct buf *out)
{
	CLEANUP(freep) uint8_t *room = malloc(INFLATED_MAX);
	z_stream stream = { .next_out = room, .avail_out = INFLATED_MAX };
	size_t at = 0;

	buf_consume(out, out->n);
	REQUIRE(flame_pprof_append(flame, head, out) == 0);
	stream.next_in = out->data;
	stream.avail_in = (uInt)out->n;
	REQUIRE(room && inflateInit2(&stream, 15 + 16) == Z_OK);
	REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0);
	while (at < stream.total_out) { /* the outer message: fields that end where it does */
		uint64_t value = 0;
		unsigned int wire = room[at++] & 7, shift = 0;

		do {
			REQUIRE(at < stream.total_out && shift < 64);
			value |= (uint64_t)(room[at] & 0x7f) << shift;
			shift += 7;
		} while (room[at++] & 0x80);
		REQUIRE(wire == 0 || (wire == 2 && value <= stream.total_out - at));
		at += wire == 2 ? value : 0;
	}
	(void)inflateEnd(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct flame_value values[] = { { "time", FLAME_NANOSECONDS }, { "bytes", FLAME_BYTES } };
	CLEANUP(flame_done) struct flame flame = FLAME_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct input in = { .data = data, .n = MIN(n, 65536) };
	struct flame_head head = { .before = FLAME_NONE };

	REQUIRE(flame_init(&flame, values, ARRAY_SIZE(values)) == 0);
	head.title = text_take(&in);
	head.subtitle = text_take(&in);
	profile_read(&in, &flame);
	folded_check(&flame, &head, &out);
	svg_check(&flame, &head, &out);
	speedscope_check(&flame, &head, &out);
	pprof_check(&flame, &head, &out);
	head.before = 1;
	folded_check(&flame, &head, &out);
	svg_check(&flame, &head, &out);
	for (size_t i = 0; i < in.texts.n; i++)
		free(in.texts.items[i]);
	ARRAY_DONE(&in.texts);
	return 0;
}
