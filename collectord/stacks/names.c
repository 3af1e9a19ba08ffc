// SPDX-License-Identifier: Apache-2.0
#include "stacks/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "children/child.h"
#include "children/parser.h"
#include "clock.h"
#include "stacks/stack_file.h"

#define NAMES_LIMIT_NS (10 * NSEC_PER_SEC)

struct names_ask {
	struct stack_file *file;
	names_told_func told;
	void *data;
};

/* An answer, taken apart. */
struct names_answer {
	const struct parser_names *head;
	const struct parser_name *names;
	const char *texts;
};

void names_begin(struct names *names)
{
	*names = (struct names){ .debug_fd = -1 };
}

void names_forget(struct names *names)
{
	for (size_t i = 0; names->buckets && i < NAMES_BUCKETS; i++) {
		while (names->buckets[i]) {
			struct name *name = names->buckets[i];

			names->buckets[i] = name->next;
			free(name->symbol);
			free(name->file);
			free(name);
		}
	}
	free(names->buckets);
	ARRAY_DONE(&names->wanted);
	ARRAY_DONE(&names->asked);
	closep(&names->debug_fd);
}

static struct name **name_bucket(struct names *names, uint64_t at)
{
	return &names->buckets[at * 0x9e3779b97f4a7c15ull >> 54 & (NAMES_BUCKETS - 1)];
}

struct name *name_want(struct stack_file *file, uint64_t at)
{
	struct names *names = &file->names;
	struct name *name;

	if (!names->buckets)
		names->buckets = calloc(NAMES_BUCKETS, sizeof(struct name *));
	if (!names->buckets)
		return NULL;
	for (name = *name_bucket(names, at); name; name = name->next)
		if (name->at == at)
			return name;
	name = names->n < NAMES_OF_FILE_MAX ? calloc(1, sizeof(*name)) : NULL;
	if (!name)
		return NULL;
	name->at = at;
	if (ARRAY_PUSH(&names->wanted, name) < 0) {
		free(name);
		return NULL;
	}
	name->next = *name_bucket(names, at);
	*name_bucket(names, at) = name;
	names->n++;
	names->n_unknown++;
	stack_file_asked(file);
	return name;
}

static void name_settle(struct names *names, struct name *name)
{
	if (name->state == NAME_KNOWN)
		return;
	name->state = NAME_KNOWN;
	names->n_unknown--;
}

/* ---- the answer ---- */

static bool text_is_sound(const struct parser_names *head, const char *texts, uint32_t at)
{
	return at < head->n_text && memchr(texts + at, 0, head->n_text - at);
}

/* Nothing of the answer is trusted: it is the parser's, whom the file may have taken over. */
static bool names_answer_read(const struct names *names, const void *bytes, size_t n, struct names_answer *ret)
{
	const struct parser_names *head = bytes;

	if (n < sizeof(*head) || head->result != PARSER_OK || !head->n || head->n > names->asked.n || !head->n_text ||
	    n != sizeof(*head) + head->n * sizeof(struct parser_name) + head->n_text ||
	    head->n_build_id > PARSER_BUILD_ID_BYTES || !memchr(head->debug_link, 0, sizeof(head->debug_link)))
		return false;
	ret->head = head;
	ret->names = (const struct parser_name *)(head + 1);
	ret->texts = (const char *)(ret->names + head->n);
	for (uint32_t i = 0; i < head->n; i++)
		if (!text_is_sound(head, ret->texts, ret->names[i].symbol) ||
		    !text_is_sound(head, ret->texts, ret->names[i].file))
			return false;
	return ret->texts[0] == '\0';
}

/* A text of the parser as people may see it; NULL: none, or no memory. */
static char *text_take(const char *text)
{
	char *copy = text[0] ? strdup(text) : NULL;

	if (copy)
		utf8_scrub(copy);
	return copy;
}

static void name_take(struct name *name, const struct parser_name *told, const char *texts, bool is_debug)
{
	if (!is_debug)
		name->address = told->address;
	if (told->symbol && (!name->symbol || name->is_exported)) {
		free(name->symbol);
		name->symbol = text_take(texts + told->symbol);
		name->offset = told->offset;
		name->is_exported = told->is_exported;
	}
	if (told->file && told->line && !name->file) {
		name->file = text_take(texts + told->file);
		name->line = told->line;
	}
}

static void names_ask_again(struct names *names, size_t from)
{
	for (size_t i = from; i < names->asked.n; i++) {
		names->asked.items[i]->state = NAME_WANTED;
		if (ARRAY_PUSH(&names->wanted, names->asked.items[i]) < 0)
			name_settle(names, names->asked.items[i]);
	}
	names->asked.n = from;
}

static void on_names(int r, const void *bytes, size_t n, void *data)
{
	CLEANUP(freep) struct names_ask *ask = data;
	struct stack_file *file = ask->file;
	struct names *names = &file->names;
	struct names_answer answer;

	names->is_asking = false;
	if (r == 0 && names_answer_read(names, bytes, n, &answer)) {
		for (uint32_t i = 0; i < answer.head->n; i++)
			name_take(names->asked.items[i], &answer.names[i], answer.texts, names->is_second);
		names_ask_again(names, answer.head->n);
	}
	for (size_t i = 0; i < names->asked.n; i++)
		name_settle(names, names->asked.items[i]);
	names->asked.n = 0;
	stack_file_asked(file);
	ask->told(file, ask->data);
	stack_file_unref(file);
}

/* ---- the question ---- */

static int names_ask_send(struct stack_file *file, names_told_func told, void *data)
{
	struct names *names = &file->names;
	struct parser_names_question question = { .kind = PARSER_ASK_NAMES,
						  .file_bytes = file->n_bytes,
						  .device = file->id.device,
						  .inode = file->id.inode,
						  .change_ns = (uint64_t)file->id.change_s * NSEC_PER_SEC +
							       file->id.change_ns };
	CLEANUP(freep) struct names_ask *ask = calloc(1, sizeof(*ask));
	CLEANUP(closep) int fd = stack_file_open(file);
	int r;

	if (!ask)
		return -ENOMEM;
	if (fd < 0)
		return fd;
	*ask = (struct names_ask){ stack_file_ref(file), told, data };
	question.n = (uint32_t)names->asked.n;
	for (size_t i = 0; i < names->asked.n; i++)
		question.at[i] = names->asked.items[i]->at;
	r = child_ask(stack_files_namer(file->files), &question, sizeof(question), fd, file->owner, NAMES_LIMIT_NS,
		      on_names, ask);
	if (r < 0) {
		stack_file_unref(file);
		return r;
	}
	(void)TAKE_PTR(ask);
	names->is_asking = true;
	return 0;
}

void names_pump(struct stack_file *file, names_told_func told, void *data)
{
	struct names *names = &file->names;
	int r;

	if (names->is_asking || !names->wanted.n)
		return;
	while (names->wanted.n && names->asked.n < PARSER_NAMES_MAX &&
	       ARRAY_PUSH(&names->asked, names->wanted.items[names->wanted.n - 1]) == 0)
		names->wanted.items[--names->wanted.n]->state = NAME_ASKED;
	r = names_ask_send(file, told, data);
	if (r == 0)
		return;
	if (r == -ENOBUFS || r == -ENOMEM) { /* sent with the next one, or a second later */
		names_ask_again(names, 0);
		return;
	}
	for (size_t i = 0; i < names->asked.n; i++)
		name_settle(names, names->asked.items[i]);
	names->asked.n = 0;
}
