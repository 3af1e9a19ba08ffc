// SPDX-License-Identifier: Apache-2.0
/*
 * Every method, asked by every kind of user about a process of his own, of another user and one that
 * is gone: who may see it does, and to everybody else another's process is one that does not exist.
 *
 * Methods and their fields are those of the service descriptors: one that questions.c does not have
 * fails. The daemon captures them all, programs of five users run, and its database has their calls.
 *
 * scope --measure ROUNDS: how long answers take, for the benchmark of that name.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ingero/v1/ingero.pb-c.h"
#include "alike.h"
#include "questions.h"
#include "tests/support/check.h"
#include "tests/support/now.h"
#include "tests/support/tenants.h"
#include "world.h"

/* ---- whom is asked about ---- */

enum subject_kind { SUBJECT_OWN, SUBJECT_OTHER, SUBJECT_GONE, SUBJECT_COUNT };
static const char *const subject_names[] = { "own", "another's", "gone" };

static const struct subject *subject_of(enum tenant_id caller, enum subject_kind kind)
{
	if (kind == SUBJECT_GONE)
		return &subjects[TENANT_COUNT];
	if (kind == SUBJECT_OWN)
		return &subjects[caller];
	return &subjects[caller == TENANT_BOB ? TENANT_ALICE : TENANT_BOB];
}

/* ---- asking ---- */

static void ask(const struct question *q, enum tenant_id caller, const struct subject *subject,
		struct wire_answer *ret_answer)
{
	CLEANUP(buf_done) struct buf request = BUF_INIT;
	struct wire wire = { .fd = -1 };

	question_pack(q, subject, &request);
	if (strcmp(q->method, HELLO) == 0)
		wire.fd = tenants_connect(&tenants, caller, NULL);
	else
		tenants_greet(&tenants, caller, &wire);
	wire_collect(&wire, wire_request(&wire, q->method, request.data, request.n), ret_answer);
	wire_close(&wire);
}

static bool contains(const struct wire_answer *answer, const char *text)
{
	return (answer->replies.n && memmem(answer->replies.data, answer->replies.n, text, strlen(text))) ||
	       strstr(answer->text, text);
}

/* No byte of an answer is of somebody whom the caller may not see. */
static void check_leaks(const char *name, enum tenant_id caller, const struct wire_answer *answer)
{
	for (enum tenant_id owner = 0; owner < TENANT_COUNT; owner++) {
		const char *secret;

		if (tenants_may_see(&tenants, caller, owner))
			continue;
		secret = tenants_find_secret(&tenants.of[owner], answer->replies.data, answer->replies.n);
		if (!secret)
			secret = tenants_find_secret(&tenants.of[owner], answer->text, strlen(answer->text));
		if (secret)
			fprintf(stderr, "%s: %s of %s\n", name, secret, tenants.of[owner].name);
		CHECK(name, !secret);
	}
}

/* ---- the matrix ---- */

static bool may_ask(const struct question *q, enum tenant_id caller)
{
	switch (q->need) {
	case NEED_READ_ALL:
		return tenants.of[caller].reads_all;
	case NEED_ROOT:
		return tenants.of[caller].uid == 0;
	case NEED_RING:
	case NEED_NOTHING:
		break;
	}
	return true;
}

static enum call_error code_wanted(const struct question *q, enum tenant_id caller, const struct subject *subject)
{
	bool sees = tenants.of[caller].reads_all || subject->owner == caller;

	if (!may_ask(q, caller))
		return CALL_ERROR_NOT_ALLOWED;
	if (q->need == NEED_RING)
		return CALL_ERROR_UNAVAILABLE;
	if (q->is_of_owner)
		return sees ? CALL_OK : CALL_ERROR_NOT_ALLOWED;
	if (q->is_refused && (!sees || subject->owner == TENANT_COUNT))
		return CALL_ERROR_NOT_FOUND;
	return CALL_OK;
}

static void check_shown(const char *name, const struct question *q, enum tenant_id caller,
			const struct subject *subject, const struct wire_answer *answer)
{
	for (enum tenant_id owner = 0; owner < TENANT_COUNT; owner++) {
		bool wanted = answer->code == CALL_OK && tenants_may_see(&tenants, caller, owner) &&
			      q->shows != SHOWS_NOTHING && (q->shows == SHOWS_SCOPE || subject->owner == owner);

		if (q->shows == SHOWS_NOTHING)
			continue;
		/* Who may see everything is also told who ran while the subject waited. */
		if (wanted || !tenants.of[caller].reads_all)
			CHECK_INT_EQ(name, contains(answer, tenants.of[owner].comm), wanted);
	}
}

static void test_matrix(void)
{
	for (size_t i = 0; i < n_questions; i++) {
		const struct question *q = &questions[i];

		for (enum tenant_id caller = 0; caller < TENANT_COUNT; caller++) {
			struct wire_answer answers[SUBJECT_COUNT];
			char name[256];

			for (enum subject_kind kind = 0; kind < SUBJECT_COUNT; kind++) {
				const struct subject *subject = subject_of(caller, kind);

				(void)snprintf(name, sizeof(name), "%s %s, %s asks, %s", q->method, q->name,
					       tenants.of[caller].name, subject_names[kind]);
				ask(q, caller, subject, &answers[kind]);
				CHECK_INT_EQ(name, answers[kind].code, code_wanted(q, caller, subject));
				check_shown(name, q, caller, subject, &answers[kind]);
				check_leaks(name, caller, &answers[kind]);
			}
			if (!tenants.of[caller].reads_all && q->shows != SHOWS_SCOPE && !q->is_own)
				alike_check(name, q, &answers[SUBJECT_OTHER], subject_of(caller, SUBJECT_OTHER),
					    &answers[SUBJECT_GONE], subject_of(caller, SUBJECT_GONE));
			for (enum subject_kind kind = 0; kind < SUBJECT_COUNT; kind++)
				wire_answer_done(&answers[kind]);
		}
	}
}

/* Every table of docs/sql.md, whole, and everything that an aggregate could tell. */
static void test_tables(void)
{
	FILE *file = fopen(INGERO_SQL_PAGE, "re");
	char line[4096];
	int n = 0;

	CHECK(INGERO_SQL_PAGE, file != NULL);
	while (file && fgets(line, sizeof(line), file)) {
		char table[64];

		if (sscanf(line, "### %63[a-z_]", table) != 1)
			continue;
		n++;
		for (enum tenant_id caller = 0; caller < TENANT_COUNT; caller++) {
			Ingero__V1__SqlRequest request = INGERO__V1__SQL_REQUEST__INIT;
			struct wire_answer answer;
			struct wire wire;
			char name[256], sql[128];

			(void)snprintf(sql, sizeof(sql), "SELECT * FROM %s LIMIT 2000", table);
			(void)snprintf(name, sizeof(name), "%s of %s", table, tenants.of[caller].name);
			request.sql = sql;
			tenants_greet(&tenants, caller, &wire);
			wire_ask(&wire, SQL, &request.base, &answer);
			CHECK_INT_EQ(name, answer.code, CALL_OK);
			check_leaks(name, caller, &answer);
			wire_answer_done(&answer);
			wire_close(&wire);
		}
	}
	CHECK_INT_IN("tables of the page", n, 10, 100);
	if (file)
		(void)fclose(file);
}

/* Files that only other users' processes map are missing, and one that many map is called as the caller's own call
 * it. */
static void test_libraries(void)
{
	for (enum tenant_id caller = 0; caller < TENANT_COUNT; caller++) {
		const char *name = tenants.of[caller].name;
		const char *directory = tenants.of[caller].path_part[0] ? tenants.of[caller].path : INGERO_STANDINS;
		Ingero__V1__StatusReply *reply = NULL;
		struct wire_answer answer;
		struct frame frame;
		size_t at = 0;

		ask(question_find(STATUS, "plain"), caller, &subjects[caller], &answer);
		if (wire_next_reply(&answer, &at, &frame))
			reply = ingero__v1__status_reply__unpack(NULL, frame.body_bytes, frame.body);
		CHECK(name, reply != NULL);
		/* The runtime and the driver: everybody's, alice's, bob's. */
		CHECK_INT_EQ(name, reply ? reply->n_libraries : 0, tenants.of[caller].reads_all ? 6 : 2);
		for (size_t i = 0; reply && i < reply->n_libraries; i++) {
			CHECK(name, reply->libraries[i]->processes > 0);
			CHECK(name, tenants.of[caller].reads_all ||
					    strncmp(reply->libraries[i]->path, directory, strlen(directory)) == 0);
		}
		CHECK_INT_EQ(name, reply ? reply->leases : 0, tenants.of[caller].reads_all ? TENANT_COUNT : 1);
		ingero__v1__status_reply__free_unpacked(reply, NULL);
		wire_answer_done(&answer);
	}
}

/* The search for secrets finds those that are there: root is shown each of everybody. */
static void test_secrets(void)
{
	const struct question *const asked[] = { question_find(STATUS, "look"), question_find(OPERATIONS, "of all"),
						 question_find(EVENTS, "of all") };
	char found[TENANT_COUNT][3] = { { 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		struct wire_answer answer;

		ask(asked[i], TENANT_ROOT, &subjects[TENANT_ROOT], &answer);
		for (enum tenant_id owner = 0; owner < TENANT_COUNT; owner++) {
			struct tenant one = tenants.of[owner];

			/* each by itself */
			found[owner][0] |= contains(&answer, one.comm);
			found[owner][1] |= !one.path_part[0] || contains(&answer, one.path_part);
			one.comm[0] = one.path_part[0] = '\0';
			found[owner][2] |= tenants_find_secret(&one, answer.replies.data, answer.replies.n) != NULL;
		}
		wire_answer_done(&answer);
	}
	for (enum tenant_id owner = 0; owner < TENANT_COUNT; owner++) {
		CHECK(tenants.of[owner].name, found[owner][0]);
		CHECK(tenants.of[owner].name, found[owner][1]);
		CHECK(tenants.of[owner].name, found[owner][2]);
	}
}

/* ---- how long it takes ---- */

/*
 * Alice asks about bob's, about one that is gone and about another that is gone, in turns: a line
 * "METHOD NAME OTHER_NS GONE_NS GONE_NS" each time. Not what is a Trace if it is granted.
 */
static int measure(int rounds)
{
	const struct subject gone = subjects[TENANT_COUNT];
	struct subject again = { .owner = TENANT_COUNT, .pid = gone.pid + 1, .uid = 54398, .call_id = "1.1.2" };
	const struct subject *const asked[] = { &subjects[TENANT_BOB], &gone, &again };
	struct wire wire;

	tenants_greet(&tenants, TENANT_ALICE, &wire);
	for (size_t i = 0; i < n_questions; i++) {
		const struct question *q = &questions[i];

		if (q->shows != SHOWS_SUBJECT || q->is_of_owner)
			continue;
		for (int round = 0; round < rounds; round++) {
			uint64_t took_ns[ARRAY_SIZE(asked)];

			for (size_t k = 0; k < ARRAY_SIZE(asked); k++) {
				size_t turn = (k + (size_t)round) % ARRAY_SIZE(asked);
				CLEANUP(buf_done) struct buf request = BUF_INIT;
				struct wire_answer answer;
				uint64_t before;

				question_pack(q, asked[turn], &request);
				before = now_ns();
				wire_collect(&wire, wire_request(&wire, q->method, request.data, request.n), &answer);
				took_ns[turn] = now_ns() - before;
				wire_answer_done(&answer);
			}
			printf("%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", q->method, q->name, took_ns[0],
			       took_ns[1], took_ns[2]);
		}
	}
	wire_close(&wire);
	return 0;
}

int main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	question_table_check();
	world_start();
	if (argc == 3 && strcmp(argv[1], "--measure") == 0) {
		int status = measure(atoi(argv[2]));

		world_stop();
		return status;
	}
	test_secrets();
	test_libraries();
	test_matrix();
	test_tables();
	CHECK("the daemon lives", tenants_daemon_lives(&tenants));
	world_stop();
	return check_result();
}
