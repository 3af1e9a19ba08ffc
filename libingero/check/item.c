// SPDX-License-Identifier: Apache-2.0
#include "libingero/check/item.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define READ_BYTES 16384

struct check_row {
	const char *name;
	bool is_optional;
	void (*run)(const struct check_world *world, struct check_result *result);
};

#define NEEDED false
#define OPTIONAL true
static const struct check_row rows[] = {
#define CHECK_ITEM(name, need) { #name, need, check_##name },
#include "libingero/check/list.h"
};

size_t check_count(void)
{
	return ARRAY_SIZE(rows);
}

void check_run(size_t i, const struct check_world *world, struct check_result *ret_result)
{
	*ret_result = (struct check_result){
		.name = rows[i].name,
		.is_optional = rows[i].is_optional,
		.value = BUF_INIT,
		.detail = BUF_INIT,
		.way_out = BUF_INIT,
	};
	rows[i].run(world, ret_result);
	if (rows[i].is_optional && ret_result->level == CHECK_LEVEL_FAIL)
		ret_result->level = CHECK_LEVEL_WARN;
}

void check_result_done(struct check_result *result)
{
	buf_done(&result->value);
	buf_done(&result->detail);
	buf_done(&result->way_out);
}

const char *check_level_name(enum check_level level)
{
	static const char *const names[] = { "ok", "warn", "fail" };

	return names[level];
}

void check_say(struct check_result *result, enum check_level level, const char *way_out, const char *fmt, ...)
{
	char value[512];

	FORMAT_INTO(value, sizeof(value), fmt);
	result->level = level;
	(void)buf_append_text(&result->value, value);
	if (way_out)
		(void)buf_append_text(&result->way_out, way_out);
}

int check_read(const struct check_world *world, const char *path, struct buf *text)
{
	CLEANUP(closep) int fd = openat(world->root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	while (n > 0 && text->n < CHECK_FILE_BYTES) {
		void *room = buf_reserve(text, READ_BYTES);

		if (!room)
			return -ENOMEM;
		n = read(fd, room, READ_BYTES);
		if (n < 0)
			return -errno;
		text->n += (size_t)n;
	}
	return 0;
}

int check_read_line(const struct check_world *world, const char *path, char *line, size_t room)
{
	ssize_t n = fd_read_file_at(world->root, path, line, room);
	size_t end;

	if (n < 0)
		return (int)n;
	end = strcspn(line, "\n");
	while (end && strchr(" \t\r", line[end - 1]))
		end--;
	line[end] = 0;
	return 0;
}
