// SPDX-License-Identifier: Apache-2.0
/* get_test_report: what the tests of this Ingero said, where somebody ran them and kept the report. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libingero/connect/caller.h"
#include "mcp-server/tool.h"

/* Below the directory in which the server was started. */
#define REPORT_DIRECTORY "logs"
#define REPORT_FILE "test-report.json"
#define REPORT REPORT_DIRECTORY "/" REPORT_FILE
#define REPORT_BYTES_MOST (4u << 20)

static const struct tool_member report_members[] = {
	{ "path", "string", "The file" },
	{ "passed", "integer", "Number of tests that passed" },
	{ "failed", "integer", "Number of tests that failed" },
	{ "skipped", "integer", "Number of tests that were skipped" },
	{ "tests", "array", "Each test, those that failed first: name, build, result, seconds, reason" },
};

static const struct answer_list report_lists[] = { { "tests", "raise max_tokens, or read the file", .more = NULL } };

static const struct answer_shape report_shape = { .lists = report_lists, .n_lists = ARRAY_SIZE(report_lists) };

/* Members of a test, and how many bytes of a text are shown: so that one test fits the smallest budget. */
static const struct test_member {
	const char *name;
	size_t bytes_most; /* 0: a number */
} test_members[] = {
	{ "name", 120 }, { "build", 24 }, { "result", 24 }, { "seconds", 0 }, { "reason", 160 },
};

static const char *const count_members[] = { "passed", "failed", "skipped" };

/*
 * The directory may be anybody's: no link in it is followed, since we may read what whoever made it may not.
 * Return: a descriptor, or -errno
 */
static int report_open(void)
{
	CLEANUP(closep) int directory = open(REPORT_DIRECTORY, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = directory < 0
			 ? -1
			 : openat(directory, REPORT_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Return: 0 or -errno */
static int report_read(int fd, struct buf *text)
{
	ssize_t n = 1;

	while (n > 0 && text->n <= REPORT_BYTES_MOST) {
		uint8_t *room = buf_reserve(text, 65536);

		if (!room)
			return -ENOMEM;
		n = read(fd, room, 65536);
		if (n < 0)
			return -errno;
		text->n += (size_t)n;
	}
	return text->n > REPORT_BYTES_MOST ? -EFBIG : 0;
}

/* Return: 0 with the text of the file, or answer_fail() */
static int report_fetch(struct buf *text, struct answer *answer)
{
	CLEANUP(closep) int fd = report_open();
	struct stat st;
	int r = fd < 0 ? fd : 0;

	if (r == -ENOENT)
		return answer_fail(answer, "no tests were reported: './dev test --report' in Ingero's source tree "
					   "writes " REPORT
					   ", and this server reads it in the directory that it was started in");
	if (r == -ELOOP || r == -ENOTDIR)
		return answer_fail(answer, REPORT " is behind a link, and links are not followed");
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r == 0 && !S_ISREG(st.st_mode))
		return answer_fail(answer, REPORT " is no plain file");
	if (r == 0 && st.st_uid != caller_get().uid)
		return answer_fail(answer, REPORT " belongs to another user than this server acts for");
	if (r == 0)
		r = report_read(fd, text);
	return r < 0 ? answer_fail(answer, "cannot read " REPORT ": %s", strerror(-r)) : 0;
}

static void text_member_write(struct writer *w, const struct test_member *member, const char *text)
{
	CLEANUP(buf_done) struct buf cut = BUF_INIT;
	size_t n = strlen(text);

	if (n > member->bytes_most) {
		n = member->bytes_most;
		while (n > 0 && ((uint8_t)text[n] & 0xc0) == 0x80)
			n--; /* a character is not cut */
		(void)buf_append(&cut, text, n);
		(void)buf_append_text(&cut, "\xe2\x80\xa6");
		w->out->failed |= cut.failed;
		text = buf_text(&cut);
	}
	writer_text(w, member->name, text);
}

static void number_write(struct writer *w, const char *name, const json_t *value)
{
	CLEANUP(freep) char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));

	if (text)
		writer_raw(w, name, text, strlen(text));
	else
		w->out->failed = true;
}

/* Return: whether it is a test, and was written */
static bool test_write(struct writer *w, const json_t *test)
{
	writer_open(w, NULL, '{');
	for (size_t i = 0; i < ARRAY_SIZE(test_members); i++) {
		const struct test_member *member = &test_members[i];
		const json_t *value = json_object_get(test, member->name);

		if (!value)
			continue;
		if (member->bytes_most ? !json_is_string(value) : !json_is_number(value))
			return false;
		if (member->bytes_most)
			text_member_write(w, member, json_string_value(value));
		else
			number_write(w, member->name, value);
	}
	writer_close(w, '}');
	return json_is_object(test);
}

/* Only what is a member of a report is told. Return: whether it is a report, and was written */
static bool report_write(struct writer *w, const json_t *report)
{
	const json_t *tests = json_object_get(report, "tests");
	bool is_any = false;

	writer_open(w, NULL, '{');
	writer_text(w, "path", REPORT);
	for (size_t i = 0; i < ARRAY_SIZE(count_members); i++) {
		const json_t *value = json_object_get(report, count_members[i]);

		if (!value)
			continue;
		if (!json_is_integer(value))
			return false;
		writer_integer(w, count_members[i], json_integer_value(value));
		is_any = true;
	}
	if (tests) {
		if (!json_is_array(tests))
			return false;
		writer_open(w, "tests", '[');
		for (size_t i = 0; i < json_array_size(tests); i++)
			if (!test_write(w, json_array_get(tests, i)))
				return false;
		writer_close(w, ']');
	}
	writer_close(w, '}');
	return is_any;
}

static int report_tool_run(const struct tool_call *call, struct answer *answer)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	struct writer w = { .out = &answer->body };
	int r = report_fetch(&text, answer);
	json_t *report;
	bool is_report;

	(void)call;
	if (r < 0)
		return r;
	report = json_loadb(buf_text(&text), text.n, JSON_REJECT_DUPLICATES, NULL);
	is_report = report_write(&w, report);
	json_decref(report);
	if (answer->body.failed)
		return -ENOMEM;
	if (is_report)
		return 0;
	answer->body.n = 0;
	return answer_fail(answer, REPORT " is not a report of './dev test --report'");
}

const struct tool tool_get_test_report = {
	.name = "get_test_report",
	.title = "Report of Ingero's own tests",
	.description = "What the tests of Ingero itself said, if somebody ran them here and kept the report. Says "
		       "nothing about "
		       "GPU programs.",
	.members = report_members,
	.n_members = ARRAY_SIZE(report_members),
	.shape = &report_shape,
	.run = report_tool_run,
};
