// SPDX-License-Identifier: Apache-2.0
/*
 * get_test_report, in a directory that somebody else may have filled: no link is followed, nobody else's file is read,
 * and of the file only the members of a report are told, within the budget.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "mcp-server/tool.h"
#include "tests/support/check.h"

#define REPORT "logs/test-report.json"
#define GOOD                                                                                                           \
	"{\"passed\":2,\"failed\":1,\"skipped\":0,\"tests\":[{\"name\":\"unit.a\",\"build\":\"debug\","                \
	"\"result\":\"failed\",\"seconds\":0.42},{\"name\":\"unit.b\",\"result\":\"passed\",\"seconds\":3}]}\n"
#define TOLD                                                                                                           \
	"{\"path\":\"" REPORT "\",\"passed\":2,\"failed\":1,\"skipped\":0,\"tests\":[{\"name\":\"unit.a\",\"build\":"  \
	"\"debug\",\"result\":\"failed\",\"seconds\":0.42},{\"name\":\"unit.b\",\"result\":\"passed\",\"seconds\":3}]" \
	"}"
#define NO_REPORT "is not a report of './dev test --report'"

#define FIFTY "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"

enum place { PLACE_FILE, PLACE_LINK, PLACE_LINKED_DIRECTORY, PLACE_FIFO, PLACE_DIRECTORY, PLACE_NOTHING };

static const struct {
	const char *name;
	enum place place;
	const char *content;
	const char *want; /* the body */
	const char *said; /* instead, a part of the refusal */
} cases[] = {
	{ "a report", PLACE_FILE, GOOD, TOLD, NULL },
	{ "counts alone", PLACE_FILE, "{\"passed\":1}", "{\"path\":\"" REPORT "\",\"passed\":1}", NULL },
	{ "other members", PLACE_FILE, "{\"auths\":{\"token\":\"secret\"},\"passed\":1,\"tests\":[{\"secret\":\"x\"}]}",
	  "{\"path\":\"" REPORT "\",\"passed\":1,\"tests\":[{}]}", NULL },
	{ "another path", PLACE_FILE, "{\"path\":\"/etc/shadow\",\"passed\":1}",
	  "{\"path\":\"" REPORT "\",\"passed\":1}", NULL },
	{ "nothing", PLACE_NOTHING, "", NULL, "./dev test --report" },
	{ "a link", PLACE_LINK, GOOD, NULL, "links are not followed" },
	{ "a linked directory", PLACE_LINKED_DIRECTORY, GOOD, NULL, "links are not followed" },
	{ "a pipe", PLACE_FIFO, "", NULL, "no plain file" },
	{ "a directory", PLACE_DIRECTORY, "", NULL, "no plain file" },
	{ "no JSON", PLACE_FILE, "passed", NULL, NO_REPORT },
	{ "a list", PLACE_FILE, "[1]", NULL, NO_REPORT },
	{ "an object without any of them", PLACE_FILE, "{\"auths\":{}}", NULL, NO_REPORT },
	{ "a count that is a text", PLACE_FILE, "{\"passed\":\"ignore all\"}", NULL, NO_REPORT },
	{ "tests that are no list", PLACE_FILE, "{\"passed\":1,\"tests\":{}}", NULL, NO_REPORT },
	{ "a test that is a list", PLACE_FILE, "{\"passed\":1,\"tests\":[[\"x\"]]}", NULL, NO_REPORT },
	{ "a name that is a list", PLACE_FILE, "{\"passed\":1,\"tests\":[{\"name\":[[[]]]}]}", NULL, NO_REPORT },
	{ "seconds that are a text", PLACE_FILE, "{\"passed\":1,\"tests\":[{\"seconds\":\"1\"}]}", NULL, NO_REPORT },
};

static void file_make(const char *path, const char *text, size_t n)
{
	CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK_INT_EQ(path, fd_write_full(fd, text, n), 0);
}

static void place_clear(void)
{
	(void)unlink("logs");
	(void)unlink(REPORT);
	(void)rmdir(REPORT);
	(void)rmdir("logs");
	(void)unlink("other/test-report.json");
	(void)rmdir("other");
}

static void place_make(enum place place, const char *text, size_t n)
{
	place_clear();
	(void)mkdir("other", 0700);
	if (place == PLACE_LINK || place == PLACE_LINKED_DIRECTORY)
		file_make("other/test-report.json", text, n);
	if (place == PLACE_LINKED_DIRECTORY)
		CHECK_INT_EQ("link", symlink("other", "logs"), 0);
	else
		CHECK_INT_EQ("logs", mkdir("logs", 0700), 0);
	if (place == PLACE_LINK)
		CHECK_INT_EQ("link", symlink("../other/test-report.json", REPORT), 0);
	if (place == PLACE_FIFO)
		CHECK_INT_EQ("pipe", mkfifo(REPORT, 0600), 0);
	if (place == PLACE_DIRECTORY)
		CHECK_INT_EQ("directory", mkdir(REPORT, 0700), 0);
	if (place == PLACE_FILE)
		file_make(REPORT, text, n);
}

static int report_ask(struct answer *answer)
{
	static const struct tool_call call = { .rpc = NULL };

	return tool_find("get_test_report")->run(&call, answer);
}

static void place_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(answer_done) struct answer answer = ANSWER_INIT;

		place_make(cases[i].place, cases[i].content, strlen(cases[i].content));
		(void)report_ask(&answer);
		CHECK_STR_EQ(cases[i].name, buf_text(&answer.body), cases[i].want ? cases[i].want : "");
		CHECK(cases[i].name,
		      cases[i].said ? strstr(buf_text(&answer.error), cases[i].said) != NULL : answer.error.n == 0);
	}
}

/* Files that are too large for any budget, whichever way: what is told of them keeps it. */
static void budget_test(void)
{
	static const struct {
		const char *name, *begin, *before, *after, *end; /* a part: before, its number, after */
		int n;
	} large[] = {
		{ "members", "{\"passed\":1", ",\"k", "\":1", "}", 100000 },
		{ "another list", "{\"passed\":1,\"y\":[0", ",\"" FIFTY FIFTY, "\"", "]}", 30000 },
		{ "tests", "{\"passed\":1,\"tests\":[{}", ",{\"name\":\"unit.", "\",\"reason\":\"" FIFTY FIFTY "\"}",
		  "]}", 10000 },
		{ "one long name", "{\"passed\":1,\"tests\":[{\"name\":\"", FIFTY, FIFTY, "\"}]}", 30000 },
		{ "long texts",
		  "{\"passed\":1,\"tests\":[{\"name\":\"" FIFTY FIFTY FIFTY FIFTY "\",\"build\":\"" FIFTY FIFTY
		  "\",\"result\":\"" FIFTY FIFTY "\",\"reason\":\"",
		  FIFTY, FIFTY, "\"}]}", 30000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(large); i++) {
		CLEANUP(answer_done) struct answer answer = { .tokens_max = TOOL_TOKENS_MIN };
		CLEANUP(buf_done) struct buf file = BUF_INIT, text = BUF_INIT, structured = BUF_INIT;

		(void)buf_append_text(&file, large[i].begin);
		for (int k = 0; k < large[i].n; k++)
			(void)buf_printf(&file, "%s%d%s", large[i].before, k, large[i].after);
		(void)buf_append_text(&file, large[i].end);
		place_make(PLACE_FILE, buf_text(&file), file.n);
		CHECK_INT_EQ(large[i].name, report_ask(&answer), 0);
		CHECK_INT_EQ(large[i].name,
			     answer_forms(&answer, tool_find("get_test_report")->shape, &text, &structured), 0);
		CHECK(large[i].name, text.n > 0 && text.n < 1000 && structured.n < 10000);
	}
}

/* A file of somebody else is not shown, also where we could read it. */
static void owner_test(void)
{
	CLEANUP(answer_done) struct answer answer = ANSWER_INIT, sudo = ANSWER_INIT, own = ANSWER_INIT;

	if (geteuid() != 0)
		return;
	place_make(PLACE_FILE, GOOD, strlen(GOOD));
	CHECK_INT_EQ("given away", chown(REPORT, 4242, 4242), 0);
	(void)report_ask(&answer);
	CHECK("another user's", strstr(buf_text(&answer.error), "another user"));
	(void)setenv("SUDO_UID", "4242", 1);
	(void)setenv("SUDO_GID", "4242", 1);
	CHECK_INT_EQ("of who typed sudo", report_ask(&own), 0);
	CHECK_INT_EQ("root's", chown(REPORT, 0, 0), 0);
	(void)report_ask(&sudo);
	CHECK("root's under sudo", strstr(buf_text(&sudo.error), "another user"));
	(void)unsetenv("SUDO_UID");
	(void)unsetenv("SUDO_GID");
}

int main(void)
{
	char directory[64];

	(void)snprintf(directory, sizeof(directory), "%s/ingero-report-XXXXXX", P_tmpdir);
	if (!mkdtemp(directory) || chdir(directory) < 0)
		return 1;
	place_test();
	budget_test();
	owner_test();
	place_clear();
	(void)rmdir(directory);
	return check_result();
}
