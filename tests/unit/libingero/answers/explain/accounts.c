// SPDX-License-Identifier: Apache-2.0
/*
 * A report opens with where the wall clock went, before what went wrong; what an account says is not said again.
 */
#include <locale.h>
#include <time.h>

#include "../account/accounts.h"
#include "libingero/answers/explain/report.h"
#include "replies.h"
#include "tests/support/check.h"

static const struct text_style wide = { .is_utf8 = true, .columns = 80 };
static const struct explain_question question = {
	.now_unix_ns = AT(300), .from_unix_ns = AT(0), .to_unix_ns = AT(300), .whose = "of root"
};

static struct reply reply; /* too large for a stack */

static const char *told(const struct explain_question *q, const struct text_style *style)
{
	static struct buf out;

	buf_consume(&out, out.n);
	CHECK_INT_EQ("report", explain_report_append(q, &reply.reply, style, &out), 0);
	return buf_text(&out);
}

/* Processes 4711 and on, which were starved. */
static void accounts_make(size_t n)
{
	static struct account_made made[REPLY_MAX];
	static Ingero__V1__Account *list[REPLY_MAX];

	for (size_t i = 0; i < n; i++) {
		list[i] = account_make(&made[i], account_starved, ARRAY_SIZE(account_starved));
		list[i]->pid = list[i]->tid = (uint32_t)(4711 + i);
	}
	reply.reply.accounts = list;
	reply.reply.n_accounts = n;
}

/* Main threads of processes 4711 and 4712, which waited. */
static void main_waits_make(void)
{
	static Ingero__V1__Wait waits[2], *list[2];
	static Ingero__V1__Operation ops[2];

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		waits[i] = (Ingero__V1__Wait)INGERO__V1__WAIT__INIT;
		ops[i] = (Ingero__V1__Operation)INGERO__V1__OPERATION__INIT;
		ops[i].pid = (uint32_t)(4711 + i);
		ops[i].process_name = figures_text("python3");
		ops[i].total_ns = 29 * S;
		waits[i].operation = &ops[i];
		waits[i].span_ns = 30 * S;
		list[i] = &waits[i];
	}
	reply.reply.waits = list;
	reply.reply.n_waits = ARRAY_SIZE(waits);
}

static void nothing_found(void)
{
	static const char begins[] =
		"node-7 · 14:00:00 to 14:05:00 · 422 712 calls of 2 processes\n"
		"\n"
		"python3 4711 · main thread · 1 min 0 s\n   60 %  ▇▇▇▇▇      36.0s  waits for a pipe ";
	struct explain_question list = question;
	const char *text;

	list.is_list = true;
	(void)reply_calm(&reply);
	main_waits_make();
	accounts_make(1);
	text = told(&question, &wide);
	CHECK("the header, then the account", strncmp(text, begins, strlen(begins)) == 0);
	CHECK("then that nothing was found", strstr(text, "cudaLaunchKernel 50 %\n\nNo finding: no process of root "));
	CHECK("which is no all-clear beside long waits",
	      strstr(text, " had significant delays in its calls, recorded by\n") &&
		      strstr(text, "\n60 % of the time python3 4711 waited for a pipe from python (4720) 83 %, python\n"
				   "(4721) 17 %; waits between calls are judged from 5 s after the first call on.\n"));
	CHECK("waits of others alone", strstr(text, "\npython3 4712  ") && !strstr(text, "\npython3 4711  "));
	accounts_make(2);
	CHECK("no waits", !strstr(told(&question, &wide), "main thread, between calls"));
	CHECK("no account in a list", strstr(told(&list, &wide), "processes\n\nNo finding: "));
}

static void several(void)
{
	struct explain_question of_file = question, of_two = question, removed = question;
	const char *text;

	of_file.db = "x.db";
	of_two.db = "/srv/training/tomorrow.db\n/srv/training/monday.db";
	removed.is_forgotten = true;
	(void)reply_calm(&reply);
	accounts_make(4);
	text = told(&question, &wide);
	CHECK("three", strstr(text, "\n\npython3 4713 ·") && !strstr(text, "python3 4714 ·"));
	CHECK("and how many more", strstr(text, "\nand 1 more account; 'ingero blame' shows all\n\nNo finding: "));
	accounts_make(REPLY_MAX);
	CHECK("many more", strstr(told(&question, &wide), "\nand 9 more accounts; "));
	accounts_make(2);
	reply.reply.more_accounts = 3; /* other threads */
	CHECK("threads of these processes", strstr(told(&question, &wide), "\nand 3 more accounts; 'ingero blame' "));
	CHECK("of a file",
	      strstr(told(&of_file, &wide), "\nand 3 more accounts; 'ingero blame --db x.db' shows all\n"));
	CHECK("of two files: the command is told whole",
	      strstr(told(&of_two, &wide), "\nand 3 more accounts; 'ingero blame --db /srv/training/tomorrow.db --db\n"
					   "/srv/training/monday.db' shows all\n"));
	CHECK("of a file that is removed", strstr(told(&removed, &wide), "\nand 3 more accounts\n"));
	accounts_make(4);
	CHECK("both", strstr(told(&question, &wide), "\nand 4 more accounts; "));
}

static void findings(void)
{
	struct text_style style = { .is_utf8 = true, .columns = 80, .rows = 24 };
	const char *text, *account, *finding;

	(void)reply_hog(&reply);
	accounts_make(5);
	text = told(&question, &style);
	account = strstr(text, "\n\npython3 4711 · main");
	finding = strstr(text, "cudaStreamSynchronize waited for the CPU");
	CHECK("header, account, finding", account && finding && account < finding && text != account);
	CHECK("one on a low terminal", !strstr(text, "python3 4712 ·"));
	CHECK("one blank between",
	      strstr(text, "and 4 more accounts; 'ingero blame' shows all\n\n") && !strstr(text, "\n\n\n"));
}

/* The largest part of the time, beside a finding of the process. */
static const struct {
	const char *name;
	struct part_row part; /* beside 10 s of a call */
	uint64_t lost_ns;     /* of the finding */
	const char *takes;    /* likewise; NULL: lock */
	const char *text;     /* NULL: no sentence */
} parts[] = {
	{ "sleep",
	  { .where = "between", .class = "sleep", .ns = 80 * S },
	  122 * MS,
	  NULL,
	  "\n89 % of the time python3 4711 was sleeping: the program asked to.\n" },
	{ "a wait",
	  { .where = "between", .class = "lock", .ns = 60 * S },
	  5 * S,
	  NULL,
	  "\n86 % of the time python3 4711 waited for a lock; waits between calls are judged\n" },
	{ "the CPU",
	  { .where = "between", .class = "on_cpu", .ns = 90 * S },
	  5 * S,
	  NULL,
	  "\nMost of the time of python3 4711, 90 %: Python on the CPU.\n" },
	{ "what the finding covers", { .where = "between", .class = "lock", .ns = 60 * S }, 40 * S, NULL, NULL },
	{ "half of it", { .where = "between", .class = "lock", .ns = 60 * S }, 30 * S, NULL, NULL },
	{ "what one about the CPU does not cover",
	  { .where = "between", .class = "lock", .ns = 60 * S },
	  40 * S,
	  "runnable",
	  "\n86 % of the time python3 4711 waited for a lock; waits between calls are judged\n" },
	{ "no CPU, which one about it covers",
	  { .where = "between", .class = "runnable", .ns = 60 * S },
	  40 * S,
	  "runnable",
	  NULL },
	{ "a call", { .where = "in", .class = "device", .op = "cudaFree", .ns = 60 * S }, 5 * S, NULL, NULL },
	{ "less than calls", { .where = "between", .class = "sleep", .ns = 4 * S }, 1 * S, NULL, NULL },
};

static void rest(void)
{
	static struct account_made made;
	static Ingero__V1__Account *list[1];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct part_row rows[] = {
			parts[i].part,
			{ .where = "in", .class = "device", .op = "cudaStreamSynchronize", .ns = 10 * S },
		};
		const char *text;

		(void)reply_hog(&reply);
		reply.finding[0].lost_ns = parts[i].lost_ns;
		reply.cause[0].takes = figures_text(parts[i].takes ? parts[i].takes : "lock");
		list[0] = account_make(&made, rows, ARRAY_SIZE(rows));
		reply.reply.accounts = list;
		reply.reply.n_accounts = 1;
		text = told(&question, &wide);
		if (parts[i].text)
			CHECK(parts[i].name, strstr(text, parts[i].text));
		else
			CHECK(parts[i].name, !strstr(text, " of the time "));
	}
}

/* Calls that failed are said, whatever else was found. */
static void failures(void)
{
	static Ingero__V1__Operation ops[6], *list[6];
	static const struct {
		const char *source, *op;
		uint64_t count, errors;
		int32_t code;
		const char *name;
	} rows[] = {
		{ "cuda", "cudaMalloc", 752, 15, 2, "cudaErrorMemoryAllocation" },
		{ "host", "process_exit", 3, 3, 0, NULL },
		{ "cuda", "cudaEventQuery", 90, 80, 0, NULL },
		{ "cuda", "cudaFree", 750, 15, 0, NULL },
		{ "cuda", "cudaMemcpy", 10, 0, 0, NULL },
		{ "driver", "cuMemAlloc", 1, 1, 12345, NULL },
	};
	static const char said[] = "\n▲ 15 of 752 calls of cudaMalloc in python3 (pid 4711) failed, at least one with\n"
				   "  2 cudaErrorMemoryAllocation. 15 of 750 calls of cudaFree in python3 (pid 4711)\n"
				   "  failed. 1 of 1 call of cuMemAlloc in python3 (pid 4711) failed with 12345.\n";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ops[i] = (Ingero__V1__Operation)INGERO__V1__OPERATION__INIT;
		ops[i].pid = 4711;
		ops[i].process_name = figures_text("python3");
		ops[i].source = figures_text(rows[i].source);
		ops[i].op = figures_text(rows[i].op);
		ops[i].count = rows[i].count;
		ops[i].errors = rows[i].errors;
		ops[i].error_code_told_case = rows[i].code ? INGERO__V1__OPERATION__ERROR_CODE_TOLD_ERROR_CODE : 0;
		ops[i].error_code = rows[i].code;
		ops[i].error_name_told_case = rows[i].name ? INGERO__V1__OPERATION__ERROR_NAME_TOLD_ERROR_NAME : 0;
		ops[i].error_name = rows[i].name ? figures_text(rows[i].name) : ops[i].error_name;
		list[i] = &ops[i];
	}
	(void)reply_calm(&reply);
	reply.reply.operations = list;
	reply.reply.n_operations = ARRAY_SIZE(rows);
	CHECK("beside nothing", strstr(told(&question, &wide), said));
	CHECK("which is then no all-clear", strstr(told(&question, &wide), "processes\n\nNo finding: "));
	(void)reply_hog(&reply);
	reply.reply.operations = list;
	reply.reply.n_operations = ARRAY_SIZE(rows);
	CHECK("beside a finding", strstr(told(&question, &wide), said));
}

int main(void)
{
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	(void)setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	nothing_found();
	several();
	findings();
	rest();
	failures();
	return check_result();
}
