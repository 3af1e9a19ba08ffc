// SPDX-License-Identifier: Apache-2.0
#include "children/elf_names.h"

#include <malloc.h>
#include <string.h>

#include "children/names_file.h"

/* ---- files ---- */

struct kept_file {
	bool is_used;
	uint64_t device, inode, change_ns, bytes;
	uint64_t turn; /* of its last question */
	struct names_file *file;
};

static struct kept_file kept[ELF_NAMES_FILES_MAX];
static uint64_t turns;

static void kept_forget(struct kept_file *k)
{
	if (k->file)
		names_file_done(k->file);
	free(k->file);
	*k = (struct kept_file){ .is_used = false };
}

void elf_names_forget(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		kept_forget(&kept[i]);
}

/* A file without an inode is of nobody: it is not found again. */
static struct kept_file *kept_find(const struct parser_names_question *q)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept) && q->inode; i++)
		if (kept[i].is_used && kept[i].device == q->device && kept[i].inode == q->inode &&
		    kept[i].change_ns == q->change_ns && kept[i].bytes == q->file_bytes)
			return &kept[i];
	return NULL;
}

/* Return: a place for another file: a free one, else that of the file that was unused for longest */
static struct kept_file *kept_make_room(void)
{
	struct kept_file *oldest = &kept[0];

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (!kept[i].is_used)
			return &kept[i];
		if (kept[i].turn < oldest->turn)
			oldest = &kept[i];
	}
	kept_forget(oldest);
	return oldest;
}

/* Forgets old files until the others fit. */
static void kept_shrink(const struct kept_file *current)
{
	for (;;) {
		struct kept_file *oldest = NULL;
		size_t bytes = 0;

		for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
			if (!kept[i].is_used)
				continue;
			bytes += names_file_bytes(kept[i].file);
			if (&kept[i] != current && (!oldest || kept[i].turn < oldest->turn))
				oldest = &kept[i];
		}
		if (bytes <= ELF_NAMES_KEPT_BYTES_MAX || !oldest)
			return;
		kept_forget(oldest);
	}
}

static enum parser_result kept_open(const struct parser_names_question *q, int fd, struct kept_file **ret_kept)
{
	struct kept_file *k = kept_find(q);
	enum parser_result r;

	if (!k) {
		k = kept_make_room();
		k->file = calloc(1, sizeof(*k->file));
		if (!k->file)
			return PARSER_TOO_LARGE;
		k->is_used = true;
		r = names_file_read(k->file, fd, q->file_bytes);
		if (r != PARSER_OK) {
			kept_forget(k);
			return r;
		}
		k->device = q->device;
		k->inode = q->inode;
		k->change_ns = q->change_ns;
		k->bytes = q->file_bytes;
		kept_shrink(k);
		(void)malloc_trim(0); /* of what reading needed */
	}
	k->file->elf.fd = fd;
	k->turn = ++turns;
	*ret_kept = k;
	return PARSER_OK;
}

/* ---- the answer ---- */

#define TEXT_PLACES 512 /* power of two, twice as many as there are texts */
_Static_assert(TEXT_PLACES >= 2 * 2 * PARSER_NAMES_MAX, "places are left");

/* Texts of an answer, each once. */
struct answer_texts {
	size_t n, room;
	uint32_t places[TEXT_PLACES]; /* in bytes, by hash; 0: free */
	char bytes[65536];
};

static uint32_t text_hash(const char *text, size_t n)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash;
}

/* Return: false when there is no room */
static bool text_place(struct answer_texts *texts, const char *text, uint32_t *ret_place)
{
	size_t n = strlen(text);
	uint32_t i = text_hash(text, n) % TEXT_PLACES;

	*ret_place = 0;
	if (!n)
		return true;
	for (; texts->places[i]; i = (i + 1) % TEXT_PLACES)
		if (strcmp(texts->bytes + texts->places[i], text) == 0) {
			*ret_place = texts->places[i];
			return true;
		}
	if (n + 1 > texts->room - texts->n)
		return false;
	memcpy(texts->bytes + texts->n, text, n + 1);
	*ret_place = texts->places[i] = (uint32_t)texts->n;
	texts->n += n + 1;
	return true;
}

static bool name_write(struct names_file *file, uint64_t at, bool is_address, struct answer_texts *texts,
		       struct parser_name *name)
{
	const struct memo_name *found = names_file_find(file, is_address ? at : names_file_address(file, at));

	*name = (struct parser_name){ .address = 0 };
	if (!found)
		return true;
	name->address = found->address;
	name->offset = found->offset;
	name->line = found->line;
	name->is_exported = found->is_exported;
	return text_place(texts, names_memo_text(&file->memo, found->symbol), &name->symbol) &&
	       text_place(texts, names_memo_text(&file->memo, found->file), &name->file);
}

static size_t names_write(struct names_file *file, const struct parser_names_question *q, struct parser_names *answer,
			  size_t room)
{
	static struct answer_texts texts;
	struct parser_name *names = (struct parser_name *)(answer + 1);

	memset(texts.places, 0, sizeof(texts.places));
	texts.n = 1; /* the empty one */
	texts.room = MIN(sizeof(texts.bytes), room - sizeof(*answer) - q->n * sizeof(*names));
	*answer = file->about;
	while (answer->n < q->n && name_write(file, q->at[answer->n], q->is_address, &texts, &names[answer->n]))
		answer->n++;
	answer->n_text = (uint32_t)texts.n;
	memcpy(names + answer->n, texts.bytes, texts.n);
	return sizeof(*answer) + answer->n * sizeof(*names) + texts.n;
}

ssize_t elf_names_answer(const void *question, size_t n, int fd, void *answer, size_t room)
{
	struct parser_names *head = answer;
	struct parser_names_question q;
	struct kept_file *k;

	if (n != sizeof(q) || fd < 0 || room < sizeof(*head) + sizeof(struct parser_name) * PARSER_NAMES_MAX + 1)
		return -1;
	memcpy(&q, question, sizeof(q));
	if (q.kind != PARSER_ASK_NAMES || q.n > PARSER_NAMES_MAX)
		return -1;

	*head = (struct parser_names){ .result = kept_open(&q, fd, &k) };
	if (head->result != PARSER_OK)
		return sizeof(*head);
	return (ssize_t)names_write(k->file, &q, head, room);
}
