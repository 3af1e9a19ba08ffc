// SPDX-License-Identifier: Apache-2.0
#include "files/file_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "files/file_path.h"

struct file_entry {
	struct file_key key;
	uint64_t used; /* number of the last lookup */
	char *path;
	size_t n_bytes;
	uint32_t uid;
};

struct file_user {
	uint32_t uid;
	size_t n_files;
};

struct file_table {
	ARRAY(struct file_entry) files; /* ascending by file_order(): files of a process are adjacent */
	ARRAY(struct file_user) users;	/* that have any */
	size_t n_bytes;			/* bytes of all paths */
	uint64_t questions;
	uint64_t lost;
};

struct file_table *file_table_new(void)
{
	return calloc(1, sizeof(struct file_table));
}

void file_table_free(struct file_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->files.n; i++)
		free(t->files.items[i].path);
	ARRAY_DONE(&t->files);
	ARRAY_DONE(&t->users);
	free(t);
}

static bool is_of_same_process(const struct file_key *a, const struct file_key *b)
{
	return a->slot == b->slot && a->tgid == b->tgid;
}

static int file_order(const struct file_key *a, const struct file_key *b)
{
	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	if (a->tgid != b->tgid)
		return a->tgid < b->tgid ? -1 : 1;
	return memcmp(a, b, sizeof(*a));
}

static size_t file_place(const struct file_table *t, const struct file_key *key)
{
	return SORTED_PLACE(t->files.n, i, file_order(&t->files.items[i].key, key) < 0);
}

static bool is_file_at(const struct file_table *t, size_t place, const struct file_key *key)
{
	return place < t->files.n && file_order(&t->files.items[place].key, key) == 0;
}

/* Return: its index; the number of users: it has no file */
static size_t file_user_place(const struct file_table *t, uint32_t uid)
{
	size_t at = 0;

	while (at < t->users.n && t->users.items[at].uid != uid)
		at++;
	return at;
}

static int file_user_add(struct file_table *t, uint32_t uid)
{
	size_t at = file_user_place(t, uid);
	int r = at < t->users.n ? 0 : ARRAY_PUSH(&t->users, ((struct file_user){ .uid = uid }));

	if (r == 0)
		t->users.items[at].n_files++;
	return r;
}

static void file_user_remove(struct file_table *t, uint32_t uid)
{
	size_t at = file_user_place(t, uid);

	if (at < t->users.n && !--t->users.items[at].n_files)
		ARRAY_REMOVE_SWAP(&t->users, at);
}

static void entry_remove(struct file_table *t, size_t at)
{
	struct file_entry *e = &t->files.items[at];

	t->n_bytes -= e->n_bytes;
	file_user_remove(t, e->uid);
	free(e->path);
	memmove(e, e + 1, (t->files.n - 1 - at) * sizeof(*e));
	t->files.n--;
}

static bool is_of_same_owner(const struct file_entry *a, const struct file_entry *b)
{
	return a->uid == b->uid && is_of_same_process(&a->key, &b->key);
}

/* Find the process with most files, of the user with most files. @ret_from, @ret_n: its entries */
static void busiest_find(const struct file_table *t, size_t *ret_from, size_t *ret_n)
{
	const struct file_user *users = t->users.items;
	size_t from = 0, most = 0;

	for (size_t i = 1; i < t->users.n; i++)
		if (users[i].n_files > users[most].n_files)
			most = i;
	*ret_from = *ret_n = 0;
	for (size_t i = 1; i <= t->files.n; i++) {
		if (i < t->files.n && is_of_same_owner(&t->files.items[i], &t->files.items[from]))
			continue;
		if (t->files.items[from].uid == users[most].uid && i - from > *ret_n) {
			*ret_from = from;
			*ret_n = i - from;
		}
		from = i;
	}
}

static void oldest_remove(struct file_table *t, size_t from, size_t n)
{
	size_t oldest = from;

	for (size_t i = from; i < from + n; i++)
		if (t->files.items[i].used < t->files.items[oldest].used)
			oldest = i;
	entry_remove(t, oldest);
	t->lost++;
}

static void files_make_room(struct file_table *t, const struct file_key *key, size_t n_bytes)
{
	size_t from = 0, n = 0;

	while (from < t->files.n && !is_of_same_process(&t->files.items[from].key, key))
		from++;
	while (from + n < t->files.n && is_of_same_process(&t->files.items[from + n].key, key))
		n++;
	if (n >= FILES_PROCESS_MOST)
		oldest_remove(t, from, n);
	while (t->files.n && (t->files.n >= FILES_MOST || t->n_bytes + n_bytes > FILES_BYTES_MOST)) {
		busiest_find(t, &from, &n);
		oldest_remove(t, from, n);
	}
}

int file_table_note(struct file_table *t, const struct file_record *record)
{
	struct file_entry fresh = { .key = record->key, .used = ++t->questions, .uid = record->uid };
	char path[FILE_PATH_TEXT_BYTES];
	size_t place = file_place(t, &record->key);
	int r;

	if (is_file_at(t, place, &record->key))
		entry_remove(t, place); /* a parent directory may have been renamed since */
	file_path_format(record, path);
	fresh.n_bytes = strlen(path) + 1;
	fresh.path = strdup(path);
	if (!fresh.path)
		return -ENOMEM;
	files_make_room(t, &record->key, fresh.n_bytes);
	r = file_user_add(t, fresh.uid);
	if (r == 0) {
		r = ARRAY_PUSH(&t->files, fresh);
		if (r < 0)
			file_user_remove(t, fresh.uid);
	}
	if (r < 0) {
		free(fresh.path);
		return r;
	}
	t->n_bytes += fresh.n_bytes;
	t->files.n--;
	place = file_place(t, &record->key);
	t->files.n++;
	memmove(&t->files.items[place + 1], &t->files.items[place], (t->files.n - 1 - place) * sizeof(fresh));
	t->files.items[place] = fresh;
	return 0;
}

const char *file_table_path(struct file_table *t, const struct file_key *key)
{
	size_t place = file_place(t, key);

	if (!is_file_at(t, place, key))
		return NULL;
	t->files.items[place].used = ++t->questions;
	return t->files.items[place].path;
}

void file_table_forget(struct file_table *t, uint32_t slot)
{
	size_t n = 0;

	for (size_t i = 0; i < t->files.n; i++) {
		struct file_entry *e = &t->files.items[i];

		if (e->key.slot != slot) {
			t->files.items[n++] = *e;
			continue;
		}
		t->n_bytes -= e->n_bytes;
		file_user_remove(t, e->uid);
		free(e->path);
	}
	t->files.n = n;
}

size_t file_table_count(const struct file_table *t)
{
	return t->files.n;
}

uint64_t file_table_lost(const struct file_table *t)
{
	return t->lost;
}
