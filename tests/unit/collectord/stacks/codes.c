// SPDX-License-Identifier: Apache-2.0
/*
 * The book of code objects: which object is at an address, when it is ready, how much is kept. The parser is called
 * here, when the test says so.
 */
#include "stacks/codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "bpf/stack_record.h"
#include "children/child.h"
#include "children/python_code.h"
#include "clock.h"
#include "tests/support/check.h"

/* --- a parser --- */

struct question {
	void *bytes;
	size_t n;
	uint32_t owner;
	child_answer_func func;
	void *data;
};

static struct {
	struct question waiting[64];
	size_t n, n_told;
	int refuses; /* what child_ask() returns instead */
} parser;

int child_ask(struct child *child, const void *question, size_t n, int fd, uint32_t owner, uint64_t limit_ns,
	      child_answer_func func, void *data)
{
	struct question *q = &parser.waiting[parser.n];

	(void)child;
	CHECK_INT_EQ("no descriptor", fd, -1);
	CHECK("limit", limit_ns > 0);
	if (parser.refuses)
		return parser.refuses;
	*q = (struct question){ malloc(n), n, owner, func, data };
	memcpy(q->bytes, question, n);
	parser.n++;
	return 0;
}

static void told(void *data)
{
	CHECK("data", data == &parser);
	parser.n_told++;
}

/* Answers the question asked first. @r: what the child says; @is_lie: the answer is damaged */
static void parser_answer(int r, bool is_lie)
{
	static union {
		struct parser_code code;
		char room[PYTHON_CODE_ANSWER_MAX];
	} answer;
	struct question q = parser.waiting[0];
	const struct parser_code_question *head = q.bytes;
	size_t n;

	memmove(parser.waiting, parser.waiting + 1, --parser.n * sizeof(q));
	CHECK_INT_EQ("kind", head->kind, PARSER_ASK_CODE);
	CHECK_INT_EQ("size", q.n, sizeof(*head) + head->n_record);
	n = python_code_read(head + 1, head->n_record, &answer, sizeof(answer));
	if (is_lie)
		answer.code.file = answer.code.n_text;
	q.func(r, r < 0 ? NULL : &answer, r < 0 ? 0 : n, q.data);
	free(q.bytes);
}

/* --- records --- */

static union {
	struct code_record record;
	char room[sizeof(struct code_record) + CODE_TEXT_MAX + CODE_LINES_MAX];
} buffer;

/* A code object of 3.12 with a name and `n_lines` units of code, one line each, from line 10 on. */
static const struct code_record *code_record_of(uint32_t tgid, uint64_t address, const char *name, uint32_t n_lines)
{
	struct code_record *r = &buffer.record;
	uint64_t length = strlen(name);
	uint32_t state = 1 << 2 | 1 << 5 | 1 << 6;
	uint8_t *lines;

	memset(&buffer, 0, sizeof(buffer));
	*r = (struct code_record){ .tgid = tgid, .uid = tgid / 100, .exec_gen = 1, .code = address, .minor = 12 };
	r->first_line = 10;
	r->traceable = 4;
	r->n_name = (uint16_t)(40 + length);
	r->n_lines = r->n_lines_all = 3 * n_lines;
	memcpy(r->bytes + PYTHON_TEXT_LENGTH, &length, sizeof(length));
	memcpy(r->bytes + PYTHON_TEXT_STATE, &state, sizeof(state));
	memcpy(r->bytes + 40, name, length);
	lines = r->bytes + r->n_name;
	for (uint32_t i = 0; i < n_lines; i++)
		lines[3 * i] = i ? 0xd8 : 0xd0; /* the next line, the same line */
	return r;
}

static void name_check(const char *what, struct codes *codes, uint32_t tgid, uint64_t address, const char *name)
{
	struct python_code *code = codes_find(codes, tgid, 1, tgid / 100, address);

	CHECK(what, (code != NULL) == (name != NULL));
	if (code && name)
		CHECK_STR_EQ(what, python_code_name(code), name);
	python_code_unref(code);
}

static struct codes *codes_start(void)
{
	struct codes *codes = NULL;

	memset(&parser, 0, sizeof(parser));
	CHECK_INT_EQ("new", codes_new(NULL, told, &parser, &codes), 0);
	return codes;
}

/* As the daemon does: the child ends its questions first. */
static void codes_end(struct codes *codes)
{
	while (parser.n)
		parser_answer(-ECANCELED, false);
	codes_free(codes);
}

/* --- cases --- */

static void lines_check(void)
{
	static const struct {
		int64_t instruction;
		uint32_t line;
	} cases[] = { { -2, 10 }, { 0, 10 }, { 1, 10 }, { 2, 11 },	 { 3, 11 },
		      { 8, 14 },  { 9, 14 }, { 10, 0 }, { INT64_MAX, 0 } };
	struct codes *codes = codes_start();
	struct python_code *code;

	codes_take(codes, code_record_of(100, 0x1000, "f", 5));
	code = codes_find(codes, 100, 1, 1, 0x1000);
	CHECK("found at once", code && !python_code_is_ready(code));
	CHECK_STR_EQ("not known yet", python_code_name(code), "");
	CHECK_INT_EQ("not known yet", python_code_line(code, 2), 0);
	CHECK_INT_EQ("owner", parser.waiting[0].owner, 1);
	parser_answer(0, false);
	CHECK("ready", python_code_is_ready(code));
	CHECK_INT_EQ("told", parser.n_told, 1);
	CHECK_STR_EQ("name", python_code_name(code), "f");
	CHECK_STR_EQ("no qualified name", python_code_qualname(code), "");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_INT_EQ("line", python_code_line(code, (uint64_t)cases[i].instruction), cases[i].line);
	CHECK("not begun", !python_code_is_shown(code, (uint64_t)-2));
	CHECK("not begun", !python_code_is_shown(code, 2));
	CHECK("begun", python_code_is_shown(code, 4));
	CHECK("damaged instruction", python_code_is_shown(code, (uint64_t)-4));
	name_check("another process", codes, 101, 0x1000, NULL);
	CHECK("another program", codes_find(codes, 100, 2, 1, 0x1000) == NULL);
	CHECK("another user's program with this number", codes_find(codes, 100, 1, 2, 0x1000) == NULL);
	codes_end(codes);
	CHECK_STR_EQ("after the book", python_code_name(code), "f");
	python_code_unref(code);
}

/* Up to 3.10 hooks of a call see its frame before it has begun. */
static void unbegun_check(void)
{
	static const struct {
		uint8_t minor;
		bool is_shown;
	} cases[] = { { 9, true }, { 10, true }, { 11, false }, { 13, false } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct codes *codes = codes_start();
		struct python_code *code;

		(void)code_record_of(100, 0x1000, "f", 1);
		buffer.record.minor = cases[i].minor;
		buffer.record.traceable = 0;
		codes_take(codes, &buffer.record);
		code = codes_find(codes, 100, 1, 1, 0x1000);
		CHECK_INT_EQ("not begun", python_code_is_shown(code, (uint64_t)-2), cases[i].is_shown);
		CHECK("begun", python_code_is_shown(code, 0));
		python_code_unref(code);
		buffer.record.traceable = UINT32_MAX; /* damaged */
		codes_take(codes, &buffer.record);
		while (parser.n)
			parser_answer(0, false);
		code = codes_find(codes, 100, 1, 1, 0x1000);
		CHECK("damaged object", code && python_code_is_shown(code, 0));
		python_code_unref(code);
		codes_end(codes);
	}
}

/* Another object at the same address: each stack keeps its own, whatever the order of the answers. */
static void reuse_check(void)
{
	struct codes *codes = codes_start();
	struct python_code *first, *second;

	codes_take(codes, code_record_of(100, 0x1000, "first", 1));
	first = codes_find(codes, 100, 1, 1, 0x1000);
	codes_take(codes, code_record_of(100, 0x1000, "second", 1));
	second = codes_find(codes, 100, 1, 1, 0x1000);
	CHECK("not the same", first != second);
	parser_answer(0, false);
	parser_answer(0, false);
	CHECK_STR_EQ("first", python_code_name(first), "first");
	CHECK_STR_EQ("second", python_code_name(second), "second");
	python_code_unref(first);
	python_code_unref(second);
	name_check("now", codes, 100, 0x1000, "second");
	codes_end(codes);
}

/* A question without an answer is asked a second time. */
static void failures_check(void)
{
	static const struct {
		const char *name;
		struct {
			int r;
			bool is_lie;
		} answers[2];
		size_t n;
		const char *code_name;
	} cases[] = {
		{ "killed once", { { -ETIMEDOUT, false }, { 0, false } }, 2, "f" },
		{ "died once", { { -EPIPE, false }, { 0, false } }, 2, "f" },
		{ "killed twice", { { -ETIMEDOUT, false }, { -ETIMEDOUT, false } }, 2, "" },
		{ "died, then lies", { { -EPIPE, false }, { 0, true } }, 2, "" },
		{ "lies", { { 0, true } }, 1, "" },
		{ "closed", { { -ECANCELED, false } }, 1, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct codes *codes = codes_start();
		struct python_code *code;

		codes_take(codes, code_record_of(100, 0x1000, "f", 1));
		code = codes_find(codes, 100, 1, 1, 0x1000);
		for (size_t k = 0; k < cases[i].n; k++) {
			CHECK(cases[i].name, !python_code_is_ready(code) && parser.n == 1);
			parser_answer(cases[i].answers[k].r, cases[i].answers[k].is_lie);
		}
		CHECK(cases[i].name, python_code_is_ready(code) && !parser.n);
		CHECK_STR_EQ(cases[i].name, python_code_name(code), cases[i].code_name);
		python_code_unref(code);
		codes_end(codes);
	}
}

/* One that was evicted meanwhile is not asked again. */
static void evicted_check(void)
{
	struct codes *codes = codes_start();
	struct python_code *code;

	codes_take(codes, code_record_of(100, 0x10, "f", 4000));
	code = codes_find(codes, 100, 1, 1, 0x10);
	parser.refuses = -ENOBUFS;
	for (uint64_t i = 0; i < 6000; i++)
		codes_take(codes, code_record_of(100, 0x1000 * (i + 1), "f", 4000));
	name_check("evicted", codes, 100, 0x10, NULL);
	parser_answer(-ETIMEDOUT, false);
	CHECK("ready", python_code_is_ready(code));
	CHECK_STR_EQ("ready", python_code_name(code), "");
	python_code_unref(code);
	codes_end(codes);
}

/* A busy parser is asked again; few questions wait with it at a time. */
static void queue_check(void)
{
	struct codes *codes = codes_start();

	parser.refuses = -ENOBUFS;
	for (uint64_t i = 0; i < 40; i++)
		codes_take(codes, code_record_of(100, 0x1000 * (i + 1), "f", 1));
	CHECK_INT_EQ("refused", parser.n, 0);
	parser.refuses = 0;
	codes_second(codes, clock_now_ns());
	CHECK_INT_EQ("at a time", parser.n, 16);
	while (parser.n)
		parser_answer(0, false);
	CHECK_INT_EQ("all", parser.n_told, 40);
	name_check("first", codes, 100, 0x1000, "f");
	name_check("last", codes, 100, 0x1000 * 40, "f");
	codes_end(codes);
}

static void exit_check(void)
{
	struct codes *codes = codes_start();
	struct python_code *kept;
	uint64_t now_ns = clock_now_ns();

	codes_take(codes, code_record_of(100, 0x1000, "a", 1));
	codes_take(codes, code_record_of(100, 0x2000, "b", 1));
	codes_take(codes, code_record_of(200, 0x1000, "c", 1));
	while (parser.n)
		parser_answer(0, false);
	kept = codes_find(codes, 100, 1, 1, 0x2000);
	codes_exit(codes, 100);
	codes_exit(codes, 300);
	codes_second(codes, now_ns + NSEC_PER_SEC);
	name_check("soon after", codes, 100, 0x1000, "a");
	codes_second(codes, now_ns + 20 * NSEC_PER_SEC);
	name_check("gone", codes, 100, 0x1000, NULL);
	name_check("gone", codes, 100, 0x2000, NULL);
	name_check("another", codes, 200, 0x1000, "c");
	CHECK_STR_EQ("kept", python_code_name(kept), "b");
	python_code_unref(kept);
	codes_end(codes);
}

/* One user's objects take half of the room: those found longest ago go. Another user's stay. */
static void room_check(void)
{
	struct codes *codes = codes_start();
	uint64_t n = 0;

	codes_take(codes, code_record_of(200, 0x1000, "other", 1));
	codes_take(codes, code_record_of(100, 0x10, "used", 1));
	while (parser.n)
		parser_answer(0, false);
	for (; n < 3000; n++) {
		codes_take(codes, code_record_of(100, 0x1000 * (n + 1), "f", 4000));
		while (parser.n)
			parser_answer(0, false);
		name_check("used", codes, 100, 0x10, "used");
	}
	name_check("oldest", codes, 100, 0x1000, NULL);
	name_check("newest", codes, 100, 0x1000 * n, "f");
	name_check("other", codes, 200, 0x1000, "other");
	/* With a parser that never answers, what waits is given up. */
	parser.refuses = -ENOBUFS;
	for (; n < 6000; n++)
		codes_take(codes, code_record_of(100, 0x1000 * (n + 1), "f", 4000));
	name_check("newest", codes, 100, 0x1000 * n, "");
	name_check("given up", codes, 100, 0x1000 * 3001, NULL);
	codes_end(codes);
}

int main(void)
{
	lines_check();
	unbegun_check();
	reuse_check();
	failures_check();
	evicted_check();
	queue_check();
	exit_check();
	room_check();
	return check_result();
}
