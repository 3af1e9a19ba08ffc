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
	*names = (struct names){ .debug = { .fd = -1 } };
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
	ARRAY_DONE(&names->poor);
	closep(&names->debug.fd);
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

/* Of a debug file the address is known, and is the file's own. */
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

/* A file that tells no more than this may have a separate file that does. Nothing of it is read here. */
static void debug_seek(struct stack_file *file, const struct parser_names *head)
{
	struct names *names = &file->names;

	if (names->is_debug_sought || (head->has_symbols && head->has_lines) || !head->n_build_id)
		return;
	names->is_debug_sought = true;
	names->n_build_id = head->n_build_id;
	memcpy(names->build_id, head->build_id, sizeof(names->build_id));
	if (debug_files_open_build_id(stack_files_proc_fd(file->files), head->build_id, head->n_build_id,
				      &names->debug) < 0 &&
	    (!head->debug_link[0] || debug_files_open_link(stack_files_proc_fd(file->files), file->path,
							   head->debug_link, &names->debug) < 0))
		names->debug.fd = -1;
}

static bool is_same_build(const struct names *names, const struct parser_names *head)
{
	return head->n_build_id == names->n_build_id && memcmp(head->build_id, names->build_id, head->n_build_id) == 0;
}

/* What is known of the names that were asked for, and which of them the debug file is asked for, too. */
static void names_take(struct stack_file *file, const struct names_answer *answer)
{
	struct names *names = &file->names;

	if (!names->is_debug_asked)
		debug_seek(file, answer->head);
	else if (!is_same_build(names, answer->head))
		closep(&names->debug.fd);
	for (uint32_t i = 0; i < answer->head->n; i++) {
		struct name *name = names->asked.items[i];

		if (!names->is_debug_asked || names->debug.fd >= 0)
			name_take(name, &answer->names[i], answer->texts, names->is_debug_asked);
		if (!names->is_debug_asked && names->debug.fd >= 0 && name->address &&
		    (!name->symbol || name->is_exported || !name->line) && ARRAY_PUSH(&names->poor, name) == 0)
			names->asked.items[i] = NULL;
	}
}

static void names_ask_again(struct names *names, size_t from)
{
	for (size_t i = from; i < names->asked.n; i++) {
		struct name *name = names->asked.items[i];
		int r;

		if (names->is_debug_asked) {
			r = ARRAY_PUSH(&names->poor, name);
		} else {
			name->state = NAME_WANTED;
			r = ARRAY_PUSH(&names->wanted, name);
		}
		if (r < 0)
			name_settle(names, name);
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
		names_ask_again(names, answer.head->n);
		names_take(file, &answer);
	}
	for (size_t i = 0; i < names->asked.n; i++)
		if (names->asked.items[i])
			name_settle(names, names->asked.items[i]);
	names->asked.n = 0;
	stack_file_asked(file);
	ask->told(file, ask->data);
	stack_file_unref(file);
}

/* ---- the question ---- */

static void names_question_fill(const struct stack_file *file, struct parser_names_question *question)
{
	const struct names *names = &file->names;
	const struct file_identity *id = names->is_debug_asked ? &names->debug.id : &file->id;

	*question = (struct parser_names_question){
		.kind = PARSER_ASK_NAMES,
		.n = (uint32_t)names->asked.n,
		.file_bytes = names->is_debug_asked ? id->bytes : file->n_bytes,
		.device = id->device,
		.inode = id->inode,
		.change_ns = (uint64_t)id->change_s * NSEC_PER_SEC + id->change_ns,
		.is_address = names->is_debug_asked,
	};
	for (size_t i = 0; i < names->asked.n; i++)
		question->at[i] = names->is_debug_asked ? names->asked.items[i]->address : names->asked.items[i]->at;
}

/* The debug file is root's: so is the parser process that reads it. */
static int names_ask_send(struct stack_file *file, names_told_func told, void *data)
{
	struct names *names = &file->names;
	struct parser_names_question question;
	CLEANUP(freep) struct names_ask *ask = calloc(1, sizeof(*ask));
	CLEANUP(closep) int own_fd = names->is_debug_asked ? -1 : stack_file_open(file);
	int fd = names->is_debug_asked ? names->debug.fd : own_fd, r;

	if (!ask)
		return -ENOMEM;
	if (fd < 0)
		return fd;
	*ask = (struct names_ask){ stack_file_ref(file), told, data };
	names_question_fill(file, &question);
	r = child_ask(stack_files_namer(file->files), &question, sizeof(question), fd,
		      names->is_debug_asked ? 0 : file->owner, NAMES_LIMIT_NS, on_names, ask);
	if (r < 0) {
		stack_file_unref(file);
		return r;
	}
	(void)TAKE_PTR(ask);
	names->is_asking = true;
	return 0;
}

/* The next names to ask for: first those that the debug file is asked for. */
static void asked_take(struct names *names)
{
	names->is_debug_asked = names->poor.n > 0;
	while (names->is_debug_asked && names->poor.n && names->asked.n < PARSER_NAMES_MAX &&
	       ARRAY_PUSH(&names->asked, names->poor.items[names->poor.n - 1]) == 0)
		names->poor.n--;
	while (!names->is_debug_asked && names->wanted.n && names->asked.n < PARSER_NAMES_MAX &&
	       ARRAY_PUSH(&names->asked, names->wanted.items[names->wanted.n - 1]) == 0)
		names->wanted.items[--names->wanted.n]->state = NAME_ASKED;
}

bool names_are_wanted(const struct names *names)
{
	return names->wanted.n || names->poor.n;
}

void names_pump(struct stack_file *file, names_told_func told, void *data)
{
	struct names *names = &file->names;
	int r;

	if (names->is_asking || !names_are_wanted(names))
		return;
	asked_take(names);
	r = names_ask_send(file, told, data);
	if (r == 0)
		return;
	if (r == -ENOBUFS || r == -ENOMEM) { /* sent with the next one, or a moment later */
		names_ask_again(names, 0);
		return;
	}
	for (size_t i = 0; i < names->asked.n; i++)
		name_settle(names, names->asked.items[i]);
	names->asked.n = 0;
}
