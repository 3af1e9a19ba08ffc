// SPDX-License-Identifier: Apache-2.0
#include "stacks/codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "bpf/stack_record.h"
#include "children/child.h"
#include "children/parser.h"
#include "clock.h"

/* Bytes of all code objects, and of those of one user; the one found longest ago is forgotten first. */
#define CODES_BYTES_MAX (48u << 20)
#define CODES_OF_USER_BYTES_MAX (CODES_BYTES_MAX / 2)
#define CODES_BUCKETS 8192   /* a power of two */
#define CODES_PROCESSES 1024 /* a power of two: processes with the same rest share a count */
#define CODES_ASKED_MAX 16   /* at a time: others wait for the same parser */
#define CODES_LIMIT_NS (5 * NSEC_PER_SEC)
#define CODE_TRIES 2			 /* the parser may have died of another object, or have had no CPU */
#define MINOR_HIDES_UNBEGUN 11		 /* of CPython 3: it hides a frame before its first instruction from here on */
#define UNBEGUN_LEAST (-2)		 /* bytes: a new frame is one unit before the first instruction */
#define GONE_KEPT_NS (10 * NSEC_PER_SEC) /* after the end of a process */
#define GONE_LATE_NS (2 * NSEC_PER_SEC)	 /* what comes later belongs to a new process with the same number */

enum code_state { CODE_WANTED, CODE_ASKED, CODE_READY };

/* References: one of its bucket, one while it is wanted or asked for, and those of others. */
struct python_code {
	struct python_code *next;	    /* in its bucket */
	struct python_code *older, *newer;  /* of its user, by when they were last found */
	struct python_code *before, *after; /* that are wanted */
	struct codes_user *user;	    /* that it is counted for; NULL: it was evicted */
	uint32_t n_references;
	bool is_current; /* in its bucket */
	uint32_t tgid, exec_gen;
	uint64_t address;
	uint64_t taken_ns;
	size_t n_bytes; /* all that it takes */
	enum code_state state;
	uint32_t first_line;
	uint32_t traceable;
	uint32_t n_failed;		       /* questions without an answer */
	uint16_t minor;			       /* 3.minor of the interpreter */
	struct parser_code_question *question; /* with the record; NULL once it is ready */
	struct parser_code_line *lines;	       /* with the texts behind; NULL: none */
	uint32_t n_lines;
	uint32_t end; /* lines are known up to there */
	const char *name, *qualname, *file;
};

struct codes_user {
	struct codes *codes;
	uint32_t uid;
	size_t n_bytes;
	struct python_code *oldest, *newest;
};

/* A process that ended. */
struct codes_gone {
	uint32_t tgid;
	uint64_t since_ns;
};

struct codes {
	struct child *parser;
	codes_told_func told;
	void *data;
	size_t n_bytes;
	size_t n_asked;
	struct python_code *first, *last; /* wanted */
	ARRAY(struct codes_user *) users; /* with at least one object */
	ARRAY(struct codes_gone) gone;
	struct python_code *buckets[CODES_BUCKETS];
	uint32_t n_of[CODES_PROCESSES]; /* objects in the buckets, by process number */
};

/* ---- users ---- */

static struct codes_user *code_user_take(struct codes *codes, uint32_t uid)
{
	struct codes_user *user;

	for (size_t i = 0; i < codes->users.n; i++)
		if (codes->users.items[i]->uid == uid)
			return codes->users.items[i];
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->codes = codes;
	user->uid = uid;
	if (ARRAY_PUSH(&codes->users, user) < 0) {
		free(user);
		return NULL;
	}
	return user;
}

static void code_user_free(struct codes_user *user)
{
	struct codes *codes = user->codes;

	for (size_t i = codes->users.n; i-- > 0;)
		if (codes->users.items[i] == user)
			ARRAY_REMOVE_SWAP(&codes->users, i);
	free(user);
}

static void code_count(struct python_code *code, size_t n_bytes)
{
	if (code->user) {
		code->user->n_bytes += n_bytes - code->n_bytes;
		code->user->codes->n_bytes += n_bytes - code->n_bytes;
	}
	code->n_bytes = n_bytes;
}

static void code_list(struct codes_user *user, struct python_code *code)
{
	code->user = user;
	code->older = user->newest;
	code->newer = NULL;
	*(user->newest ? &user->newest->newer : &user->oldest) = code;
	user->newest = code;
}

static void code_unlist(struct python_code *code)
{
	struct codes_user *user = code->user;

	*(code->older ? &code->older->newer : &user->oldest) = code->newer;
	*(code->newer ? &code->newer->older : &user->newest) = code->older;
	code->older = code->newer = NULL;
	code->user = NULL;
}

/* It counts for nobody any more. The user may be gone, too. */
static void code_uncount(struct python_code *code)
{
	struct codes_user *user = code->user;

	if (!user)
		return;
	code_count(code, 0);
	code_unlist(code);
	if (!user->newest)
		code_user_free(user);
}

/* ---- the book ---- */

static struct python_code **code_bucket(struct codes *codes, uint32_t tgid, uint64_t address)
{
	uint64_t hash = (address ^ (uint64_t)tgid << 40) * 0x9e3779b97f4a7c15ull;

	return &codes->buckets[hash >> 32 & (CODES_BUCKETS - 1)];
}

static struct python_code *code_at(struct codes *codes, uint32_t tgid, uint64_t address)
{
	struct python_code *code = *code_bucket(codes, tgid, address);

	while (code && (code->tgid != tgid || code->address != address))
		code = code->next;
	return code;
}

static void code_release(struct python_code *code, uint32_t n_references)
{
	code->n_references -= n_references;
	if (code->n_references)
		return;
	code_uncount(code);
	free(code->question);
	free(code->lines);
	free(code);
}

void python_code_unref(struct python_code *code)
{
	if (code)
		code_release(code, 1);
}

static void code_take_out(struct codes *codes, struct python_code *code)
{
	struct python_code **at = code_bucket(codes, code->tgid, code->address);

	while (*at != code)
		at = &(*at)->next;
	*at = code->next;
	code->is_current = false;
	codes->n_of[code->tgid % CODES_PROCESSES]--;
}

/* Another object is at its address, or its process is gone. */
static void code_leave(struct codes *codes, struct python_code *code)
{
	code_take_out(codes, code);
	code_release(code, 1);
}

static void code_want(struct codes *codes, struct python_code *code)
{
	code->before = codes->last;
	code->after = NULL;
	*(codes->last ? &codes->last->after : &codes->first) = code;
	codes->last = code;
}

static void code_unwant(struct codes *codes, struct python_code *code)
{
	*(code->before ? &code->before->after : &codes->first) = code->after;
	*(code->after ? &code->after->before : &codes->last) = code->before;
	code->before = code->after = NULL;
}

static void code_become_ready(struct python_code *code)
{
	free(code->question);
	code->question = NULL;
	code->state = CODE_READY;
}

static void code_settle(struct python_code *code)
{
	code_become_ready(code);
	code_release(code, 1);
}

/* Makes room. Whoever has a reference to an object that was not read yet gets it without names. */
static void code_evict(struct codes *codes, struct python_code *code)
{
	uint32_t n_references = 0;

	code_uncount(code);
	if (code->is_current) {
		code_take_out(codes, code);
		n_references++;
	}
	if (code->state == CODE_WANTED) {
		code_unwant(codes, code);
		code_become_ready(code);
		n_references++;
	}
	if (n_references)
		code_release(code, n_references);
}

static struct codes_user *code_user_largest(const struct codes *codes)
{
	struct codes_user *largest = NULL;

	for (size_t i = 0; i < codes->users.n; i++)
		if (!largest || codes->users.items[i]->n_bytes > largest->n_bytes)
			largest = codes->users.items[i];
	return largest;
}

static void codes_make_room(struct codes *codes, size_t n_bytes)
{
	struct codes_user *user;

	while ((user = code_user_largest(codes)) &&
	       (codes->n_bytes + n_bytes > CODES_BYTES_MAX || user->n_bytes + n_bytes > CODES_OF_USER_BYTES_MAX))
		code_evict(codes, user->oldest);
}

/* ---- the answer ---- */

struct code_ask {
	struct codes *codes;
	struct python_code *code;
};

static bool code_answer_is_sound(const struct parser_code *a, size_t n)
{
	const struct parser_code_line *lines = (const struct parser_code_line *)(a + 1);

	if (n < sizeof(*a) || a->result != PARSER_OK || a->n_lines > PARSER_CODE_LINES_MAX || !a->n_text ||
	    n != sizeof(*a) + a->n_lines * sizeof(lines[0]) + a->n_text || a->name >= a->n_text ||
	    a->qualname >= a->n_text || a->file >= a->n_text)
		return false;
	for (uint32_t i = 1; i < a->n_lines; i++)
		if (lines[i].from <= lines[i - 1].from)
			return false;
	return ((const char *)a)[n - 1] == '\0' && *(const char *)(lines + a->n_lines) == '\0';
}

static void code_read(struct python_code *code, const struct parser_code *a, size_t n)
{
	size_t n_lines = a->n_lines * sizeof(code->lines[0]), n_rest = n - sizeof(*a);
	char *texts;

	code->lines = malloc(n_rest);
	if (!code->lines)
		return;
	memcpy(code->lines, a + 1, n_rest);
	texts = (char *)code->lines + n_lines;
	code->n_lines = a->n_lines;
	code->end = a->end;
	code->name = texts + a->name;
	code->qualname = texts + a->qualname;
	code->file = texts + a->file;
	(void)utf8_scrub(texts + a->name);
	(void)utf8_scrub(texts + a->qualname);
	(void)utf8_scrub(texts + a->file);
	code_count(code, code->n_bytes + n_rest);
}

static void codes_pump(struct codes *codes);

static void on_code(int r, const void *answer, size_t n, void *data)
{
	CLEANUP(freep) struct code_ask *ask = data;
	struct codes *codes = ask->codes;
	struct python_code *code = ask->code;

	codes->n_asked--;
	if (r != -ECANCELED && r < 0 && code->user && ++code->n_failed < CODE_TRIES) {
		code->state = CODE_WANTED;
		code_want(codes, code);
	} else {
		code_count(code, sizeof(*code));
		if (r == 0 && code_answer_is_sound(answer, n))
			code_read(code, answer, n);
		code_settle(code);
	}
	if (r == -ECANCELED) /* the parser is being closed */
		return;
	codes_pump(codes);
	codes->told(codes->data);
}

/* ---- the question ---- */

/* Return: 0; -ENOBUFS, -ENOMEM: to be tried again; -errno */
static int code_ask(struct codes *codes, struct python_code *code)
{
	CLEANUP(freep) struct code_ask *ask = calloc(1, sizeof(*ask));
	size_t n = sizeof(*code->question) + code->question->n_record;
	uint32_t uid = code->user->uid;
	int r;

	if (!ask)
		return -ENOMEM;
	*ask = (struct code_ask){ codes, code };
	r = child_ask(codes->parser, code->question, n, -1, uid, CODES_LIMIT_NS, on_code, ask);
	if (r < 0)
		return r;
	(void)TAKE_PTR(ask);
	code->state = CODE_ASKED;
	codes->n_asked++;
	return 0;
}

static void codes_pump(struct codes *codes)
{
	while (codes->first && codes->n_asked < CODES_ASKED_MAX) {
		struct python_code *code = codes->first;
		int r = code_ask(codes, code);

		if (r == -ENOBUFS || r == -ENOMEM)
			return;
		code_unwant(codes, code);
		if (r < 0)
			code_settle(code);
	}
}

/* ---- records ---- */

static size_t record_bytes(const struct code_record *r)
{
	return sizeof(*r) + r->n_name + r->n_qualname + r->n_file + r->n_lines;
}

static struct python_code *code_new(const struct code_record *record)
{
	size_t n_record = record_bytes(record);
	struct python_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	code->question = malloc(sizeof(*code->question) + n_record);
	if (!code->question) {
		free(code);
		return NULL;
	}
	*code->question = (struct parser_code_question){ .kind = PARSER_ASK_CODE, .n_record = (uint32_t)n_record };
	memcpy(code->question + 1, record, n_record);
	code->tgid = record->tgid;
	code->exec_gen = record->exec_gen;
	code->address = record->code;
	code->first_line = record->first_line;
	code->traceable = record->traceable;
	code->minor = record->minor;
	code->taken_ns = clock_now_ns();
	code->name = code->qualname = code->file = "";
	return code;
}

void codes_take(struct codes *codes, const struct code_record *record)
{
	struct python_code *code = code_at(codes, record->tgid, record->code), **bucket;
	size_t n_bytes = sizeof(*code) + sizeof(*code->question) + record_bytes(record);
	struct codes_user *user;

	/* Even without room for the new one: a stack must not get the old one. */
	if (code)
		code_leave(codes, code);
	codes_make_room(codes, n_bytes);
	user = code_user_take(codes, record->uid);
	code = user ? code_new(record) : NULL;
	if (!code) {
		if (user && !user->newest)
			code_user_free(user);
		return;
	}
	bucket = code_bucket(codes, code->tgid, code->address);
	code->next = *bucket;
	*bucket = code;
	code->is_current = true;
	codes->n_of[code->tgid % CODES_PROCESSES]++;
	code->n_references = 2;
	code_list(user, code);
	code_count(code, n_bytes);
	code_want(codes, code);
	codes_pump(codes);
}

struct python_code *codes_find(struct codes *codes, uint32_t tgid, uint32_t exec_gen, uint32_t uid, uint64_t address)
{
	struct python_code *code = code_at(codes, tgid, address);
	struct codes_user *user = code ? code->user : NULL;

	if (!code || code->exec_gen != exec_gen || !user || user->uid != uid)
		return NULL;
	code_unlist(code);
	code_list(user, code);
	code->n_references++;
	return code;
}

/* ---- the end of processes ---- */

void codes_exit(struct codes *codes, uint32_t tgid)
{
	struct codes_gone gone = { tgid, clock_now_ns() };

	if (codes->n_of[tgid % CODES_PROCESSES])
		(void)ARRAY_PUSH(&codes->gone, gone); /* without memory they stay until others need the room */
}

static int gone_compare(const void *a, const void *b)
{
	const struct codes_gone *one = a, *other = b;

	return (one->tgid > other->tgid) - (one->tgid < other->tgid);
}

/* `gone` is sorted. */
static bool code_is_gone(const struct codes *codes, const struct python_code *code, uint64_t now_ns)
{
	const struct codes_gone key = { .tgid = code->tgid };
	const struct codes_gone *gone =
		bsearch(&key, codes->gone.items, codes->gone.n, sizeof(codes->gone.items[0]), gone_compare);

	return gone && now_ns - gone->since_ns >= GONE_KEPT_NS && code->taken_ns < gone->since_ns + GONE_LATE_NS;
}

static void codes_forget(struct codes *codes, uint64_t now_ns)
{
	qsort(codes->gone.items, codes->gone.n, sizeof(codes->gone.items[0]), gone_compare);
	for (size_t i = 0; i < CODES_BUCKETS; i++)
		for (struct python_code *code = codes->buckets[i], *next; code; code = next) {
			next = code->next;
			if (code_is_gone(codes, code, now_ns))
				code_leave(codes, code);
		}
}

void codes_second(struct codes *codes, uint64_t now_ns)
{
	bool is_any = false;

	codes_pump(codes);
	for (size_t i = 0; i < codes->gone.n; i++)
		is_any |= now_ns - codes->gone.items[i].since_ns >= GONE_KEPT_NS;
	if (!is_any)
		return;
	codes_forget(codes, now_ns);
	for (size_t i = codes->gone.n; i-- > 0;)
		if (now_ns - codes->gone.items[i].since_ns >= GONE_KEPT_NS)
			ARRAY_REMOVE_SWAP(&codes->gone, i);
}

/* ---- opening and closing ---- */

int codes_new(struct child *parser, codes_told_func told, void *data, struct codes **ret_codes)
{
	struct codes *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return -ENOMEM;
	codes->parser = parser;
	codes->told = told;
	codes->data = data;
	*ret_codes = codes;
	return 0;
}

void codes_free(struct codes *codes)
{
	if (!codes)
		return;
	while (codes->users.n)
		code_evict(codes, codes->users.items[0]->oldest);
	ARRAY_DONE(&codes->users);
	ARRAY_DONE(&codes->gone);
	free(codes);
}

/* ---- one code object ---- */

bool python_code_is_ready(const struct python_code *code)
{
	return code->state == CODE_READY;
}

const char *python_code_name(const struct python_code *code)
{
	return code->name;
}

const char *python_code_qualname(const struct python_code *code)
{
	return code->qualname;
}

const char *python_code_file(const struct python_code *code)
{
	return code->file;
}

uint32_t python_code_line(const struct python_code *code, uint64_t instruction)
{
	size_t low = 0, high = code->n_lines;

	if ((int64_t)instruction < 0)
		return code->first_line <= INT32_MAX ? code->first_line : 0;
	if (instruction >= code->end)
		return 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (code->lines[middle].from <= instruction)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? code->lines[low - 1].line : 0;
}

bool python_code_is_shown(const struct python_code *code, uint64_t instruction)
{
	int64_t at = (int64_t)instruction;

	/* What no interpreter writes is damage: the frame is not left out for it. */
	return code->minor < MINOR_HIDES_UNBEGUN || at >= (int64_t)code->traceable || at < UNBEGUN_LEAST ||
	       (code->end && code->traceable >= code->end);
}
