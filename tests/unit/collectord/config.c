// SPDX-License-Identifier: Apache-2.0
/* What a configuration becomes, and the sentence, with its place, when it becomes nothing. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define NAME "f.yaml"
#define ALL "; 'ingero config show' lists all"

/* A descriptor that reads these bytes. */
static int text_fd(const char *text, size_t n)
{
	int fd = memfd_create("config", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

static int read_text(struct config *config, const char *text, size_t n, char *error)
{
	CLEANUP(closep) int fd = text_fd(text, n);

	return config_read_file(config, fd, NAME, error);
}

static const struct {
	const char *name;
	const char *text;
	enum config_id id;
	const char *is; /* its text then */
	uint64_t number;
} right[] = {
	{ "nothing", "", CONFIG_MAX_DB, "10g", 10ull << 30 },
	{ "comments", "# x\nrecord:\n  # y\n", CONFIG_WHOM, "auto", 0 },
	{ "one", "record:\n  whom: everyone\n", CONFIG_WHOM, "everyone", 0 },
	{ "a list", "record:\n  whom: [alice, 1001]\n", CONFIG_WHOM, "alice,1001", 0 },
	{ "a list of lines", "record:\n  whom:\n  - alice\n  - bob\n", CONFIG_WHOM, "alice,bob", 0 },
	{ "a size", "database:\n  max-size: 20m\n", CONFIG_MAX_DB, "20m", 20ull << 20 },
	{ "no limit", "database: {max-size: 0}\n", CONFIG_MAX_DB, "0", 0 },
	{ "a time", "service:\n  idle-exit: 1m30s\n", CONFIG_IDLE, "1m30s", 90000000000ull },
	{ "a quoted path", "database:\n  file: '/a b/c: d'\n", CONFIG_DB, "/a b/c: d", 0 },
	{ "two sections", "probes:\n  ring-size: 4m\nservice:\n  log-level: info\n", CONFIG_LOG, "info", 0 },
};

static void test_right(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		char error[CONFIG_ERROR_BYTES] = "";
		struct config config;

		CHECK_INT_EQ(right[i].name, config_init(&config), 0);
		CHECK_INT_EQ(right[i].name, read_text(&config, right[i].text, strlen(right[i].text), error), 0);
		CHECK_STR_EQ(right[i].name, error, "");
		CHECK_STR_EQ(right[i].name, config_text(&config, right[i].id), right[i].is);
		CHECK_INT_EQ(right[i].name, config_number(&config, right[i].id), right[i].number);
		config_done(&config);
	}
}

static const struct {
	const char *name;
	const char *text;
	const char *error;
} wrong[] = {
	{ "section", "record:\n  whom: nobody\nrecrod:\n  x: 1\n",
	  NAME ":3:1: unknown key 'recrod'; did you mean 'record'?" },
	{ "key", "database:\n  max-sise: 1g\n",
	  NAME ":2:3: unknown key 'max-sise' in 'database'; did you mean 'max-size'?" },
	{ "nothing like it", "quux:\n", NAME ":1:1: unknown key 'quux'" ALL },
	{ "key of another section", "record:\n  ring-size: 1m\n",
	  NAME ":2:3: unknown key 'ring-size' in 'record'" ALL },
	{ "option of the command line", "service:\n  private: 3\n",
	  NAME ":2:3: unknown key 'private' in 'service'" ALL },
	{ "twice", "record:\n  whom: nobody\n  whom: everyone\n", NAME ":3:3: 'record.whom' is there twice; keep one" },
	{ "choice", "record:\n  calls: some\n", NAME ":2:10: 'record.calls' takes slow, all or none, not 'some'" },
	{ "power of two", "probes:\n  ring-size: 3m\n",
	  NAME ":2:14: 'probes.ring-size' takes a power of two such as 4m, from 4k to 1g, not '3m'" },
	{ "too small", "database:\n  max-size: 1m\n",
	  NAME ":2:13: 'database.max-size' takes a size such as 10g, 4m or more, or 0, not '1m'" },
	{ "without a unit", "service:\n  idle-exit: 30\n",
	  NAME ":2:14: 'service.idle-exit' takes a time with its unit such as 30s, or 0, not '30'" },
	{ "a word among users", "record:\n  whom: [alice, everyone]\n",
	  NAME ":2:9: 'record.whom' takes auto, everyone, nobody, or users such as alice,1001, not 'alice,everyone'" },
	{ "empty", "database:\n  file:\n", NAME ":2:8: 'database.file' takes FILE, not ''" },
	{ "a list where none is", "database:\n  file: [a]\n", NAME ":2:9: no list is expected here" },
	{ "keys where a value is", "record:\n  calls:\n    slow: 1\n",
	  NAME ":3:5: one value is expected here, not keys" },
	{ "a value where keys are", "record: everyone\n", NAME ":1:9: 'record' takes keys below it, indented" },
	{ "a list in a list", "record:\n  whom: [[a]]\n", NAME ":2:10: no list is expected here" },
	{ "a list of all", "- record\n", NAME ":1:1: no list is expected here" },
	{ "plain text", "hello\n", NAME ":1:1: expected sections such as 'record:'" },
	{ "alias", "record:\n  calls: *x\n", NAME ":2:10: no aliases are taken: write the value out" },
	{ "anchor", "record:\n  calls: &x slow\n", NAME ":2:10: no anchors are taken: write the value out" },
	{ "two documents", "record:\n---\nrecord:\n", NAME ":2:1: a second document begins here; one is enough" },
	{ "no YAML", "record:\n  calls: 'open\n", NAME ":3:1: this is no YAML: found unexpected end of stream" },
	{ "a tab", "record:\n\tcalls: slow\n",
	  NAME ":2:1: this is no YAML: found character that cannot start any token" },
	{ "no UTF-8", "record:\n  calls: \xff\n", NAME ":2:10: this is no YAML: invalid leading UTF-8 octet" },
	{ "control characters", "\"a\\tb\\e[2J\": 1\n", NAME ":1:1: unknown key 'a?b?[2J'" ALL },
};

static void test_wrong(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char error[CONFIG_ERROR_BYTES] = "";
		struct config config;

		CHECK_INT_EQ(wrong[i].name, config_init(&config), 0);
		CHECK_INT_EQ(wrong[i].name, read_text(&config, wrong[i].text, strlen(wrong[i].text), error), -EINVAL);
		CHECK_STR_EQ(wrong[i].name, error, wrong[i].error);
		config_done(&config);
	}
}

/* Every error of a file, and nothing that is only the echo of one. */
static const struct {
	const char *name;
	const char *text;
	const char *errors;
} many[] = {
	{ "none", "record:\n  whom: nobody\n", "" },
	{ "values", "record:\n  calls: some\n  whom: nobody\nprobes:\n  ring-size: 3m\n",
	  NAME ":2:10: 'record.calls' takes slow, all or none, not 'some'\n" NAME
	       ":5:14: 'probes.ring-size' takes a power of two such as 4m, from 4k to 1g, not '3m'\n" },
	{ "a section, with its keys, and a key with its list",
	  "recrod:\n  a: {b: [c, d]}\n  e: 1\nrecord:\n  whmo: [x, [y]]\n  calls: some\n",
	  NAME ":1:1: unknown key 'recrod'; did you mean 'record'?\n" NAME
	       ":5:3: unknown key 'whmo' in 'record'; did you mean 'whom'?\n" NAME
	       ":6:10: 'record.calls' takes slow, all or none, not 'some'\n" },
	{ "twice", "record:\n  whom: nobody\n  whom: [a]\n  calls: some\n",
	  NAME ":3:3: 'record.whom' is there twice; keep one\n" NAME
	       ":4:10: 'record.calls' takes slow, all or none, not 'some'\n" },
	{ "of another kind",
	  "record: everyone\nprobes: [a]\ndatabase:\n  file: {a: b}\n  max-size: [1]\nservice:\n  idle-exit: 30\n",
	  NAME ":1:9: 'record' takes keys below it, indented\n" NAME ":2:9: no list is expected here\n" NAME
	       ":4:9: one value is expected here, not keys\n" NAME ":5:13: no list is expected here\n" NAME
	       ":7:14: 'service.idle-exit' takes a time with its unit such as 30s, or 0, not '30'\n" },
	{ "in a list", "record:\n  whom: [[a], 'b,c', d]\n  calls: some\n",
	  NAME ":2:10: no list is expected here\n" NAME ":2:15: 'record.whom' takes one user an item\n" NAME
	       ":3:10: 'record.calls' takes slow, all or none, not 'some'\n" },
	{ "keys that are no words",
	  "? [a, b]\n: c\nrecord:\n  ? {d: e}\n  : [f]\n  &g calls: *h\n  whom: *h\n  calls: some\n",
	  NAME ":1:3: no list is expected here\n" NAME ":4:5: one value is expected here, not keys\n" NAME
	       ":6:3: no anchors are taken: write the value out\n" NAME
	       ":7:9: no aliases are taken: write the value out\n" NAME
	       ":8:10: 'record.calls' takes slow, all or none, not 'some'\n" },
	{ "up to where it is no YAML", "record:\n  calls: some\n  whom: 'open\n",
	  NAME ":2:10: 'record.calls' takes slow, all or none, not 'some'\n" NAME
	       ":4:1: this is no YAML: found unexpected end of stream\n" },
};

static void test_many(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		CLEANUP(closep) int fd = text_fd(many[i].text, strlen(many[i].text));
		CLEANUP(buf_done) struct buf errors = BUF_INIT;
		struct config config;

		CHECK_INT_EQ(many[i].name, config_init(&config), 0);
		CHECK_INT_EQ(many[i].name, config_check_file(&config, fd, NAME, &errors),
			     *many[i].errors ? -EINVAL : 0);
		CHECK_STR_EQ(many[i].name, buf_text(&errors), many[i].errors);
		config_done(&config);
	}
}

static void test_large(void)
{
	CLEANUP(freep) char *text = malloc(CONFIG_FILE_BYTES + 1);
	char error[CONFIG_ERROR_BYTES] = "";
	struct config config;

	memset(text, '#', CONFIG_FILE_BYTES + 1);
	CHECK_INT_EQ("a large file", config_init(&config), 0);
	CHECK_INT_EQ("as large as it may be", read_text(&config, text, CONFIG_FILE_BYTES, error), 0);
	CHECK_INT_EQ("larger", read_text(&config, text, CONFIG_FILE_BYTES + 1, error), -EFBIG);
	CHECK_STR_EQ("says so", error, "'" NAME "' has more than 64 KiB");
	config_done(&config);
}

/* The command line goes over the file, whichever is read first. */
static void test_order(void)
{
	static char one[] = "--record=all", two[] = "--max-db", three[] = "8m";
	char *const line[] = { one, two, three };
	static const char text[] = "record:\n  calls: none\n  whom: nobody\ndatabase:\n  max-size: 1g\n";

	for (int is_file_first = 0; is_file_first < 2; is_file_first++) {
		const char *name = is_file_first ? "file first" : "command line first";
		char error[CONFIG_ERROR_BYTES] = "";
		struct config config;

		CHECK_INT_EQ(name, config_init(&config), 0);
		if (is_file_first)
			CHECK_INT_EQ(name, read_text(&config, text, sizeof(text) - 1, error), 0);
		CHECK_INT_EQ(name, config_read_line(&config, ARRAY_SIZE(line), line, error), 0);
		if (!is_file_first)
			CHECK_INT_EQ(name, read_text(&config, text, sizeof(text) - 1, error), 0);
		CHECK_STR_EQ(name, config_text(&config, CONFIG_CALLS), "all");
		CHECK_INT_EQ(name, config_number(&config, CONFIG_MAX_DB), 8 << 20);
		CHECK_STR_EQ(name, config_text(&config, CONFIG_WHOM), "nobody");
		config_done(&config);
	}
}

/* What show prints, read again, says the same; every default of the table is a right value. */
static void test_show(void)
{
	static const char text[] = "record:\n  whom: [alice, bob]\ndatabase:\n  file: '/it''s'\n  max-age: 30d\n";
	char error[CONFIG_ERROR_BYTES] = "";
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct config config, again;

	CHECK_INT_EQ("show", config_init(&config) | config_init(&again), 0);
	CHECK_INT_EQ("show", read_text(&config, text, sizeof(text) - 1, error), 0);
	config_show_append(&config, NAME, &out);
	CHECK_INT_EQ("shown is read", read_text(&again, buf_text(&out), out.n, error), 0);
	CHECK_STR_EQ("shown is read", error, "");
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		const struct option *o = config_option_get(i);

		CHECK_STR_EQ(o->name, config_text(&again, i) ? config_text(&again, i) : "",
			     config_text(&config, i) ? config_text(&config, i) : "");
		if (o->key && *o->initial)
			CHECK_INT_EQ(o->key, config_set(&again, i, o->initial, NULL, error), 0);
	}
	config_done(&config);
	config_done(&again);
}

static void test_trust(void)
{
	static const struct {
		const char *name;
		mode_t mode;
		int r;
	} cases[] = {
		{ "its owner's alone", 0600, 0 },
		{ "read by all", 0644, 0 },
		{ "written by all", 0646, -EPERM },
	};
	char error[CONFIG_ERROR_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(closep) int fd = text_fd("", 0);

		CHECK_INT_EQ(cases[i].name, fchmod(fd, cases[i].mode), 0);
		CHECK_INT_EQ(cases[i].name, config_trust(fd, NAME, error), cases[i].r);
		if (geteuid() == 0 && fchown(fd, 12345, 12345) == 0)
			CHECK_INT_EQ(cases[i].name, config_trust(fd, NAME, error), -EPERM);
	}
}

int main(void)
{
	test_right();
	test_wrong();
	test_many();
	test_large();
	test_order();
	test_show();
	test_trust();
	return check_result();
}
