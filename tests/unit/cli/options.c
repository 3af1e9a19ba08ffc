// SPDX-License-Identifier: Apache-2.0
/* What a command line becomes, and the sentence when it becomes nothing. */
#include "cli/options.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

struct fields {
	struct option_ids pids;
	struct option_ids uids;
	uint64_t n;
	uint64_t size;
	uint64_t duration_ns;
	struct clock_time from;
	const char *path;
	struct option_texts paths;
	const char *choice;
	bool is_on;
	bool is_other;
};

static const char *const choices[] = { "slow", "all", "none", NULL };

#define FIELD(member) .field = offsetof(struct fields, member)
static const struct option rows[] = {
	{ .name = "pid", .letter = 'p', .kind = OPTION_PIDS, .value = "PID", .help = "x", FIELD(pids) },
	{ .name = "user", .letter = 'u', .kind = OPTION_USERS, .value = "NAME", .help = "x", FIELD(uids) },
	{ .name = "number", .kind = OPTION_NUMBER, .value = "N", .help = "x", .min = 1, .max = 100, FIELD(n) },
	{ .name = "many", .kind = OPTION_NUMBER, .value = "N", .help = "x", .min = 2, FIELD(n) },
	{ .name = "size", .kind = OPTION_SIZE, .value = "SIZE", .help = "x", .min = 4096, .max = 1 << 20, FIELD(size) },
	{ .name = "duration",
	  .letter = 'd',
	  .kind = OPTION_DURATION,
	  .value = "TIME",
	  .help = "x",
	  FIELD(duration_ns) },
	{ .name = "ends-in",
	  .kind = OPTION_DURATION,
	  .value = "TIME",
	  .help = "x",
	  .zero_way_out = "leave it out to go on",
	  FIELD(duration_ns) },
	{ .name = "from", .kind = OPTION_TIME, .parse = option_time_parse, .value = "TIME", .help = "x", FIELD(from) },
	{ .name = "db", .kind = OPTION_TEXT, .value = "FILE", .help = "x", FIELD(path) },
	{ .name = "file", .letter = 'f', .kind = OPTION_TEXTS, .value = "FILE", .help = "x", FIELD(paths) },
	{ .name = "record", .kind = OPTION_CHOICE, .value = "WHICH", .help = "x", .choices = choices, FIELD(choice) },
	{ .name = "stack",
	  .letter = 's',
	  .kind = OPTION_CHOICE,
	  .value = "[WHICH]",
	  .help = "x",
	  .choices = choices,
	  .bare = "all",
	  FIELD(choice) },
	{ .name = "record-all", .kind = OPTION_CONSTANT, .help = "x", .constant = "all", FIELD(choice) },
	{ .name = "on", .letter = 'o', .kind = OPTION_FLAG, .help = "x", FIELD(is_on) },
	{ .name = "other", .letter = 'x', .kind = OPTION_FLAG, .help = "x", FIELD(is_other) },
};

static const struct option_table table = {
	.command = "trace", .rows = rows, .n = ARRAY_SIZE(rows), .takes_program = true
};
static const struct option_table word_table = {
	.command = "help", .rows = rows, .n = ARRAY_SIZE(rows), .takes = "command"
};

#define ARGS_MAX 20

static const struct {
	const char *name;
	const char *argv[ARGS_MAX];
	uint32_t pids[3];
	uint64_t n, size, duration_ns, from_unix_ns;
	const char *path;
	const char *paths[3];
	const char *choice;
	bool is_on, is_other;
	const char *program;
} good[] = {
	{ "nothing", { NULL }, .choice = "slow" },
	{ "long", { "--number", "7" }, .n = 7, .choice = "slow" },
	{ "long with equals", { "--number=7" }, .n = 7, .choice = "slow" },
	{ "letter", { "-p", "4711" }, .pids = { 4711 }, .choice = "slow" },
	{ "letter with value", { "-p4711,1" }, .pids = { 4711, 1 }, .choice = "slow" },
	{ "repeated", { "-p", "1", "--pid=2,1", "-p3" }, .pids = { 1, 2, 3 }, .choice = "slow" },
	{ "bundle", { "-ox" }, .is_on = true, .is_other = true, .choice = "slow" },
	{ "bundle with value", { "-od5s" }, .is_on = true, .duration_ns = 5 * NSEC_PER_SEC, .choice = "slow" },
	{ "duration", { "-d", "1h30m" }, .duration_ns = 5400 * NSEC_PER_SEC, .choice = "slow" },
	{ "no duration", { "-d", "0" }, .choice = "slow" },
	{ "a short one where 0 is refused", { "--ends-in", "1us" }, .duration_ns = NSEC_PER_USEC, .choice = "slow" },
	{ "clock time",
	  { "--from", "2026-01-31T13:03:21Z" },
	  .from_unix_ns = 1769864601 * NSEC_PER_SEC,
	  .choice = "slow" },
	{ "text as it is", { "--db", "-a b" }, .path = "-a b", .choice = "slow" },
	{ "texts, each as it is",
	  { "--file", "a,b", "-fa", "--file=c" },
	  .paths = { "a,b", "a", "c" },
	  .choice = "slow" },
	{ "size", { "--size", "64k" }, .size = 65536, .choice = "slow" },
	{ "choice", { "--record", "none" }, .choice = "none" },
	{ "alias", { "--record-all" }, .choice = "all" },
	{ "last one counts", { "--record-all", "--record=slow" }, .choice = "slow" },
	{ "a value that may be left out", { "--stack" }, .choice = "all" },
	{ "with it", { "--stack", "none" }, .choice = "none" },
	{ "with equals", { "--stack=none" }, .choice = "none" },
	{ "an option is not it", { "--stack", "-o" }, .choice = "all", .is_on = true },
	{ "nor is what begins a program", { "--stack", "--", "none" }, .choice = "all", .program = "none" },
	{ "as a letter", { "-s", "-o" }, .choice = "all", .is_on = true },
	{ "as a letter with its value", { "-snone" }, .choice = "none" },
	{ "program", { "-o", "--", "python", "-o" }, .is_on = true, .choice = "slow", .program = "python" },
	{ "program that looks like an option", { "--", "--on" }, .choice = "slow", .program = "--on" },
};

static const struct {
	const char *name;
	const char *argv[ARGS_MAX];
	const char *want;
} bad[] = {
	{ "slip", { "--dration", "5s" }, "unknown option '--dration' for trace; did you mean '--duration'?" },
	{ "swap", { "--nubmer=5" }, "unknown option '--nubmer' for trace; did you mean '--number'?" },
	{ "beginning", { "--dur", "5s" }, "unknown option '--dur' for trace; did you mean '--duration'?" },
	{ "far off", { "--frobnicate" }, "unknown option '--frobnicate' for trace; 'ingero help trace' lists them" },
	{ "letter", { "-z" }, "unknown option '-z' for trace; 'ingero help trace' lists them" },
	{ "letter in a bundle", { "-oz" }, "unknown option '-z' for trace; 'ingero help trace' lists them" },
	{ "absent letter in a bundle",
	  { "-ov" },
	  "'-v' is not supported; a wider terminal shows more columns, and 'ingero trace --json' prints "
	  "all there is" },
	{ "absent word with a value",
	  { "--config=3" },
	  "'--config' is not supported; whatever can be set is an option of the command" },
	{ "value missing", { "--duration" }, "'--duration' needs a value: --duration TIME" },
	{ "value missing before program", { "-d", "--", "x" }, "'--duration' needs a value: --duration TIME" },
	{ "value too much", { "--on=yes" }, "'--on' takes no value; leave out '=yes'" },
	{ "time without unit",
	  { "-d", "30" },
	  "'--duration' takes a time with its unit such as 30s, 5m or 1h30m, not '30'" },
	{ "no time", { "--ends-in", "0" }, "'--ends-in' takes more than 0; leave it out to go on" },
	{ "no time, with its unit", { "--ends-in=0ms" }, "'--ends-in' takes more than 0; leave it out to go on" },
	{ "time beyond", { "-d", "999999999999w" }, "'--duration' '999999999999w' is longer than any clock runs" },
	{ "no clock time",
	  { "--from", "yesterday" },
	  "'--from' takes a clock time such as 14:03, '2026-01-31 14:03:21', 2026-01-31T14:03:21Z or now, not "
	  "'yesterday'" },
	{ "duration for a clock time",
	  { "--from", "2h" },
	  "'--from' takes a clock time, not the duration '2h'; how far back goes with '--since'" },
	{ "no such day", { "--from", "2026-02-30" }, "'--from' '2026-02-30': there is no such day or hour" },
	{ "empty text", { "--db=" }, "'--db' needs a value: --db FILE" },
	{ "an empty one of texts", { "-fa", "--file=" }, "'--file' needs a value: --file FILE" },
	{ "more texts than are taken",
	  { "-f1", "-f2", "-f3", "-f4", "-f5", "-f6", "-f7", "-f8", "-f9", "-f1", "-f2", "-f3", "-f4", "-f5", "-f6",
	    "-f7", "-f8" },
	  "'--file' can be given 16 times, not more: leave out some" },
	{ "no size", { "--size", "big" }, "'--size' takes a size such as 256k, 8m or 1g, not 'big'" },
	{ "size beyond", { "--size", "2m" }, "'--size' takes 4k to 1m, not '2m'" },
	{ "size below", { "--size", "1" }, "'--size' takes 4k to 1m, not '1'" },
	{ "no number", { "--number", "-5" }, "'--number' takes a whole number, not '-5'" },
	{ "number beyond", { "--number", "101" }, "'--number' takes 1 to 100, not '101'" },
	{ "number below", { "--many", "1" }, "'--many' takes 2 or more, not '1'" },
	{ "no choice", { "--record", "some" }, "'--record' takes slow, all or none, not 'some'" },
	{ "no choice, where it may be left out", { "--stack=some" }, "'--stack' takes slow, all or none, not 'some'" },
	{ "a word that is none of the choices",
	  { "--stack", "some" },
	  "trace takes no argument 'some'; a program to start goes after '--': ingero trace -- PROGRAM" },
	{ "nothing behind equals", { "--stack=" }, "'--stack' takes slow, all or none, not ''" },
	{ "no pid", { "-p", "12x" }, "'12x' is not a process id; '--pid' takes numbers such as 4711 or 4711,4712" },
	{ "pid zero", { "-p", "0" }, "'0' is not a process id; '--pid' takes numbers such as 4711 or 4711,4712" },
	{ "pid missing", { "-p", "1,,2" }, "'' is not a process id; '--pid' takes numbers such as 4711 or 4711,4712" },
	{ "no user", { "-u", "no such" }, "there is no user 'no such'; '--user' takes names or numeric user ids" },
	{ "word",
	  { "python" },
	  "trace takes no argument 'python'; a program to start goes after '--': ingero trace -- PROGRAM" },
	{ "a word that is a file, without an option that reads one",
	  { "/etc/passwd" },
	  "trace takes no argument '/etc/passwd'; a program to start goes after '--': ingero trace -- PROGRAM" },
	{ "no program", { "--" }, "no program after '--'; write it there: ingero trace -- PROGRAM" },
	{ "control characters",
	  { "--\x1b[2J\n" },
	  "unknown option '--?[2J?' for trace; 'ingero help trace' lists them" },
};

static int argc_of(const char *const *argv)
{
	int n = 0;

	while (n < ARGS_MAX && argv[n])
		n++;
	return n;
}

static void good_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		const char *name = good[i].name;
		struct fields f = { .choice = "slow" };
		char error[OPTIONS_ERROR_BYTES] = "";
		struct options_rest rest = { .argc = 0 };
		size_t n_pids = 0;

		CHECK_INT_EQ(name,
			     options_parse(&table, argc_of(good[i].argv), (char **)(uintptr_t)good[i].argv, &f, &rest,
					   error),
			     OPTIONS_OK);
		CHECK_STR_EQ(name, error, "");
		while (n_pids < 3 && good[i].pids[n_pids])
			n_pids++;
		CHECK_INT_EQ(name, f.pids.n, n_pids);
		for (size_t k = 0; k < n_pids && k < f.pids.n; k++)
			CHECK_INT_EQ(name, f.pids.items[k], good[i].pids[k]);
		CHECK_INT_EQ(name, f.n, good[i].n);
		CHECK_INT_EQ(name, f.size, good[i].size);
		CHECK_INT_EQ(name, f.duration_ns, good[i].duration_ns);
		CHECK_INT_EQ(name, f.from.unix_ns, good[i].from_unix_ns);
		CHECK_STR_EQ(name, f.path ? f.path : "", good[i].path ? good[i].path : "");
		for (size_t k = 0; k < 3; k++)
			CHECK_STR_EQ(name, f.paths.items[k] ? f.paths.items[k] : "",
				     good[i].paths[k] ? good[i].paths[k] : "");
		CHECK_STR_EQ(name, f.choice, good[i].choice);
		CHECK_INT_EQ(name, f.is_on, good[i].is_on);
		CHECK_INT_EQ(name, f.is_other, good[i].is_other);
		CHECK_STR_EQ(name, rest.argc ? rest.argv[0] : "", good[i].program ? good[i].program : "");
		options_done(&table, &f);
	}
}

static void bad_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fields f = { .choice = "slow" };
		char error[OPTIONS_ERROR_BYTES] = "";
		struct options_rest rest;

		CHECK_INT_EQ(
			bad[i].name,
			options_parse(&table, argc_of(bad[i].argv), (char **)(uintptr_t)bad[i].argv, &f, &rest, error),
			OPTIONS_MISUSED);
		CHECK_STR_EQ(bad[i].name, error, bad[i].want);
		options_done(&table, &f);
	}
}

/* Arguments put together at random from likely and unlikely pieces, the same ones each time. */
static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u; /* Numerical Recipes' constants */
	return *state >> 8;
}

static void random_test(void)
{
	static const char *const pieces[] = { "--",	  "-",	     "--pid",
					      "-p",	  "4711",    "=",
					      "-o",	  "--on",    "-d",
					      "30",	  "s",	     "--x",
					      ",",	  "\x1b[",   "\n",
					      "\xff",	  "--user",  "root",
					      "--record", "all",     "",
					      "--size",	  "65536",   "\xe2\x96\xb2",
					      "-ox",	  "--help=", "99999999999999999999999999",
					      "--number" };
	uint32_t state = 1;
	unsigned int n_refused = 0;

	for (unsigned int i = 0; i < 4000; i++) {
		char text[ARGS_MAX][256], *argv[ARGS_MAX], name[32];
		char error[OPTIONS_ERROR_BYTES] = "";
		struct fields f = { .choice = "slow" };
		struct options_rest rest;
		int argc = (int)(random_next(&state) % ARGS_MAX);
		enum options_result result;

		for (int k = 0; k < argc; k++) {
			text[k][0] = 0;
			for (uint32_t left = 1 + random_next(&state) % 4; left > 0; left--)
				strcat(text[k], pieces[random_next(&state) % ARRAY_SIZE(pieces)]);
			argv[k] = text[k];
		}
		(void)snprintf(name, sizeof(name), "line %u", i);
		result = options_parse(&table, argc, argv, &f, &rest, error);
		CHECK(name, (result == OPTIONS_MISUSED) == (error[0] != 0));
		CHECK(name, !strpbrk(error, "\n\x1b"));
		n_refused += result == OPTIONS_MISUSED;
		options_done(&table, &f);
	}
	CHECK_INT_IN("most are nonsense", n_refused, 1000, 3999);
}

static void help_test(void)
{
	struct text_style style = { .is_utf8 = true, .columns = 80 };
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	option_help_append(&table, &style, &out);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK(rows[i].name, strstr(buf_text(&out), rows[i].name));
	CHECK("help helps", strstr(buf_text(&out), "-h, --help"));
}

int main(void)
{
	char error[OPTIONS_ERROR_BYTES] = "";
	struct fields f = { .choice = "slow" };
	struct options_rest rest = { .argc = 0 };
	char help[] = "--help", letter[] = "-oh", word[] = "trace", other[] = "status";
	char *helps[] = { help }, *letters[] = { letter }, *words[] = { word, other };

	good_test();
	bad_test();
	random_test();
	help_test();
	CHECK_INT_EQ("help", options_parse(&table, 1, helps, &f, &rest, error), OPTIONS_HELP);
	CHECK_INT_EQ("help in a bundle", options_parse(&table, 1, letters, &f, &rest, error), OPTIONS_HELP);
	CHECK_INT_EQ("a word", options_parse(&word_table, 1, words, &f, &rest, error), OPTIONS_OK);
	CHECK_INT_EQ("a word", rest.argc, 1);
	CHECK_INT_EQ("two words", options_parse(&word_table, 2, words, &f, &rest, error), OPTIONS_MISUSED);
	CHECK_STR_EQ("two words", error, "help takes no argument 'status'; 'ingero help help' shows what it takes");
	CHECK_INT_EQ(
		"root by name",
		options_parse(&table, 2, (char *[]){ (char[]){ "-u" }, (char[]){ "root,0,12345" } }, &f, &rest, error),
		OPTIONS_OK);
	CHECK_INT_EQ("named twice is one", f.uids.n, 2);
	options_done(&table, &f);
	return check_result();
}
