// SPDX-License-Identifier: Apache-2.0
/* Patterns of paths are those of fnmatch(3), and take as long for each byte of a path whatever they are. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "io/io_pattern.h"
#include "tests/support/check.h"

#define LONG_PATH 4095
#define PATHS 20000 /* a pattern that is tried from every byte would take minutes for them */

static const char *const paths[] = {
	"",
	"/",
	"a",
	"b",
	"ab",
	"-",
	"]",
	"[",
	"*",
	"\\",
	"/srv/data/shard-17.tar",
	"/srv/data/shard-1.tar",
	"/srv/[x]/y",
	"\xc3\xa9",
	"aaaaaaaaab",
	"a/b/c",
	".hidden",
	"x\ny",
};

static const char *const patterns[] = {
	"",
	"*",
	"**",
	"?",
	"??",
	"a*",
	"*a",
	"*a*b*",
	"*a*a*b",
	"[ab]",
	"[!ab]",
	"[^ab]",
	"[a-z]",
	"[z-a]",
	"[]]",
	"[]-a]",
	"[!]]",
	"[a-]",
	"[-a]",
	"[\\]]",
	"[",
	"[a",
	"a[",
	"\\*",
	"\\[x",
	"\\\\",
	"/srv/*",
	"/srv/*/shard-?.tar",
	"*shard-[0-9][0-9].tar",
	"/srv/\\[x\\]/*",
	"*.tar",
	"*/*/*",
	"?*?",
	"*\n*",
};

static void matched_test(void)
{
	static struct io_pattern pattern;

	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		CHECK_INT_EQ(patterns[i], io_pattern_parse(&pattern, patterns[i]), 0);
		for (size_t k = 0; k < ARRAY_SIZE(paths); k++) {
			char name[64];

			(void)snprintf(name, sizeof(name), "'%s' '%s'", patterns[i], paths[k]);
			CHECK_INT_EQ(name, io_pattern_takes(&pattern, paths[k]),
				     fnmatch(patterns[i], paths[k], 0) == 0);
		}
	}
}

static void length_test(void)
{
	static struct io_pattern pattern;
	char text[IO_PATTERN_MOST + 3];

	for (unsigned int n = 60; n <= IO_PATTERN_MOST; n += 65) {
		memset(text, 'a', n);
		text[n] = '\0';
		CHECK_INT_EQ("as many characters as fit", io_pattern_parse(&pattern, text), 0);
		CHECK_INT_EQ("the path itself", io_pattern_takes(&pattern, text), true);
		text[n - 1] = 'b';
		CHECK_INT_EQ("another end", io_pattern_takes(&pattern, text), false);
		text[n - 1] = '\0';
		CHECK_INT_EQ("a shorter one", io_pattern_takes(&pattern, text), false);
	}
	memset(text, 'a', IO_PATTERN_MOST);
	(void)snprintf(text + IO_PATTERN_MOST, 2, "*");
	CHECK_INT_EQ("a star needs no place", io_pattern_parse(&pattern, text), 0);
	(void)snprintf(text + IO_PATTERN_MOST, 2, "a");
	CHECK_INT_EQ("one too many", io_pattern_parse(&pattern, text), -E2BIG);
	(void)snprintf(text + IO_PATTERN_MOST - 1, 4, "[a]");
	text[IO_PATTERN_MOST - 1] = '[';
	CHECK_INT_EQ("the last is a set", io_pattern_parse(&pattern, text), 0);
}

/* Ends within the time of a test because each byte takes the same few steps. */
static void steps_test(void)
{
	static struct io_pattern pattern;
	static char path[LONG_PATH + 1];
	char text[IO_PATTERN_MOST + 2] = "*";

	memset(path, 'a', LONG_PATH);
	memset(text + 1, 'a', IO_PATTERN_MOST - 1);
	text[IO_PATTERN_MOST] = 'b';
	CHECK_INT_EQ("many letters", io_pattern_parse(&pattern, text), 0);
	for (unsigned int i = 0; i < PATHS; i++)
		CHECK_INT_EQ("no match", io_pattern_takes(&pattern, path), false);
}

int main(void)
{
	matched_test();
	length_test();
	steps_test();
	return check_result();
}
