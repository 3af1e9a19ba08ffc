// SPDX-License-Identifier: Apache-2.0
#include "files/file_table.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static void table_freep(struct file_table **t)
{
	file_table_free(*t);
}

static struct file_key key_of(uint32_t slot, uint32_t tgid, uint64_t inode)
{
	return (struct file_key){ .inode = inode, .device = 8u << 20, .name_hash = 7, .tgid = tgid, .slot = slot };
}

static void note(struct file_table *t, const struct file_key *key, const char *name)
{
	struct file_record record = { .key = *key, .n_bytes = (uint32_t)strlen(name) + 1 };

	memcpy(record.text, name, record.n_bytes);
	CHECK_INT_EQ(name, file_table_note(t, &record), 0);
}

static const char *path_of(struct file_table *t, const struct file_key *key)
{
	const char *path = file_table_path(t, key);

	return path ? path : "";
}

/* Nobody else has the path of a process, whatever else they have in common. */
static void paths_belong_to_their_process(void)
{
	CLEANUP(table_freep) struct file_table *t = file_table_new();
	struct file_key mine = key_of(1, 100, 42), others = key_of(2, 200, 42), next = key_of(1, 101, 42);
	struct file_key name = mine, device = mine;

	name.name_hash++;
	device.device++;
	note(t, &mine, "mine");
	CHECK_STR_EQ("its own", path_of(t, &mine), "/mine");
	CHECK_STR_EQ("another process", path_of(t, &others), "");
	CHECK_STR_EQ("the next process in the slot", path_of(t, &next), "");
	CHECK_STR_EQ("another name", path_of(t, &name), "");
	CHECK_STR_EQ("another device", path_of(t, &device), "");
	note(t, &others, "others");
	CHECK_STR_EQ("its own", path_of(t, &mine), "/mine");
	CHECK_STR_EQ("its own", path_of(t, &others), "/others");
	note(t, &mine, "renamed");
	CHECK_STR_EQ("told again", path_of(t, &mine), "/renamed");
	CHECK_INT_EQ("not twice", file_table_count(t), 2);
	file_table_forget(t, 1);
	CHECK_STR_EQ("gone", path_of(t, &mine), "");
	CHECK_STR_EQ("the other is there", path_of(t, &others), "/others");
	CHECK_INT_EQ("no loss", file_table_lost(t), 0);
}

static void a_process_loses_its_own(void)
{
	CLEANUP(table_freep) struct file_table *t = file_table_new();
	struct file_key small = key_of(3, 300, 1), first = key_of(1, 100, 0), second = key_of(1, 100, 1);

	note(t, &small, "small");
	for (uint32_t i = 0; i < FILES_PROCESS_MOST; i++) {
		struct file_key key = key_of(1, 100, i);

		note(t, &key, "file");
	}
	CHECK_STR_EQ("asked for", path_of(t, &first), "/file");
	note(t, &(struct file_key){ .inode = FILES_PROCESS_MOST, .tgid = 100, .slot = 1 }, "one more");
	CHECK_INT_EQ("bounded", file_table_count(t), FILES_PROCESS_MOST + 1);
	CHECK_INT_EQ("counted", file_table_lost(t), 1);
	CHECK_STR_EQ("stays", path_of(t, &first), "/file");
	CHECK_STR_EQ("not asked for longest", path_of(t, &second), "");
	CHECK_STR_EQ("another process", path_of(t, &small), "/small");
}

/* All have too many: a process with few keeps its own. */
static void memory_has_an_end(void)
{
	CLEANUP(table_freep) struct file_table *t = file_table_new();
	struct file_key small = key_of(1000, 1, 1);
	char name[FILE_NAME_BYTES - 1];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	note(t, &small, "small");
	for (uint32_t i = 0; i < 3 * FILES_MOST; i++) {
		struct file_key key = key_of(1 + i % 20, 100, i);

		note(t, &key, i < 2 * FILES_MOST ? "file" : name);
		CHECK("bounded", file_table_count(t) <= FILES_MOST);
	}
	CHECK_STR_EQ("the small one", path_of(t, &small), "/small");
	CHECK_INT_EQ("counted", file_table_lost(t), 3 * FILES_MOST + 1 - file_table_count(t));
}

/* However many processes a user has, each with few paths: another user's process keeps its many. */
static void a_user_loses_its_own(void)
{
	CLEANUP(table_freep) struct file_table *t = file_table_new();
	struct file_record record = { .n_bytes = sizeof("file"), .text = "file" };
	uint32_t n = 0;

	record.uid = 1000;
	for (uint32_t i = 0; i < FILES_PROCESS_MOST - 1; i++) {
		record.key = key_of(1, 100, i);
		CHECK_INT_EQ("noted", file_table_note(t, &record), 0);
	}
	record.uid = 2000;
	for (uint32_t i = 0; i < 2 * FILES_MOST; i++) {
		record.key = key_of(2 + i % 500, 200, i);
		CHECK_INT_EQ("noted", file_table_note(t, &record), 0);
	}
	for (uint32_t i = 0; i < FILES_PROCESS_MOST - 1; i++) {
		const struct file_key key = key_of(1, 100, i);

		n += *path_of(t, &key) != 0;
	}
	CHECK_INT_EQ("the other user's", n, FILES_PROCESS_MOST - 1);
	for (uint32_t i = 2; i < 502; i++)
		file_table_forget(t, i);
	CHECK_INT_EQ("gone with their slots", file_table_count(t), FILES_PROCESS_MOST - 1);
	for (uint32_t i = 0; i < FILES_MOST; i++) {
		record.key = key_of(2 + i % 500, 200, i);
		CHECK_INT_EQ("noted", file_table_note(t, &record), 0);
	}
	CHECK_INT_EQ("full again", file_table_count(t), FILES_MOST);
}

static void bytes_have_an_end(void)
{
	CLEANUP(table_freep) struct file_table *t = file_table_new();
	static struct file_record record = { .n_bytes = FILE_PATH_BYTES };

	memset(record.text, 'x', FILE_PATH_BYTES - 1);
	for (uint32_t i = 0; i < 2 * FILES_BYTES_MOST / FILE_PATH_BYTES; i++) {
		record.key = key_of(1 + i % 8, 100, i);
		CHECK_INT_EQ("noted", file_table_note(t, &record), 0);
		CHECK("bounded", file_table_count(t) * FILE_PATH_BYTES <= FILES_BYTES_MOST);
	}
	CHECK("some are there", file_table_count(t) > FILES_BYTES_MOST / FILE_PATH_BYTES / 2);
}

int main(void)
{
	paths_belong_to_their_process();
	a_process_loses_its_own();
	memory_has_an_end();
	a_user_loses_its_own();
	bytes_have_an_end();
	return check_result();
}
