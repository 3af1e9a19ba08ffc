// SPDX-License-Identifier: Apache-2.0
/* get_test_report: what the tests of this Ingero said, where somebody ran them and kept the report. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "mcp-server/tool.h"

#define REPORT "logs/test-report.json" /* below the directory in which the server was started */
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

/* Return: bytes, or -errno */
static ssize_t report_read(struct buf *text)
{
	CLEANUP(closep) int fd = open(REPORT, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = 1;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > REPORT_BYTES_MOST)
		return -EINVAL;
	while (n > 0 && text->n <= REPORT_BYTES_MOST) {
		uint8_t *room = buf_reserve(text, 65536);

		if (!room)
			return -ENOMEM;
		n = read(fd, room, 65536);
		if (n < 0)
			return -errno;
		text->n += (size_t)n;
	}
	return (ssize_t)text->n;
}

static int report_tool_run(const struct tool_call *call, struct answer *answer)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	ssize_t n = report_read(&text);
	json_t *report;

	(void)call;
	if (n == -ENOENT)
		return answer_fail(
			answer, "no tests were reported: './dev test --report' in Ingero's source tree writes " REPORT
				", and this server reads it in the directory that it was started in");
	if (n < 0)
		return answer_fail(answer, "cannot read " REPORT ": %s", strerror((int)-n));
	report = json_loadb(buf_text(&text), text.n, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(report)) {
		json_decref(report);
		return answer_fail(answer, REPORT " is not a JSON object");
	}
	(void)buf_append_text(&answer->body, "{\"path\":\"" REPORT "\"");
	(void)buf_append_text(&answer->body, json_object_size(report) ? "," : "");
	(void)buf_append_text(&answer->body, strchr(buf_text(&text), '{') + 1);
	json_decref(report);
	return answer->body.failed ? -ENOMEM : 0;
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
