// SPDX-License-Identifier: Apache-2.0
/* Pieces become one message, in order, and a new one starts where the last ended. */
#include "libingero/answers/trace/summary.h"

#include <errno.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define OPERATIONS_MAX 4

static int piece_add(struct trace_summary *s, const uint32_t *pids, size_t n, bool more, uint64_t window_ns,
		     uint64_t lost)
{
	static char empty[] = "";
	Ingero__V1__Operation operations[OPERATIONS_MAX], *list[OPERATIONS_MAX];
	Ingero__V1__Account accounts[OPERATIONS_MAX], *account_list[OPERATIONS_MAX];
	Ingero__V1__Lost message = INGERO__V1__LOST__INIT;
	Ingero__V1__Summary piece = INGERO__V1__SUMMARY__INIT;

	for (size_t i = 0; i < n; i++) {
		operations[i] = (Ingero__V1__Operation)INGERO__V1__OPERATION__INIT;
		operations[i].pid = pids[i];
		operations[i].op = empty;
		list[i] = &operations[i];
		accounts[i] = (Ingero__V1__Account)INGERO__V1__ACCOUNT__INIT;
		accounts[i].pid = pids[i];
		accounts[i].process_name = empty;
		account_list[i] = &accounts[i];
	}
	message.ring_full = lost;
	piece.operations = list;
	piece.n_operations = n;
	piece.accounts = account_list;
	piece.n_accounts = n;
	piece.more = more;
	piece.window_ns = window_ns;
	piece.lost = lost ? &message : NULL;
	return trace_summary_add(s, &piece);
}

int main(void)
{
	struct trace_summary s = TRACE_SUMMARY_INIT, other = TRACE_SUMMARY_INIT;

	CHECK_INT_EQ("first", piece_add(&s, (uint32_t[]){ 1, 2 }, 2, true, 0, 0), 0);
	CHECK("not whole yet", !s.is_whole);
	CHECK_INT_EQ("empty one between", piece_add(&s, NULL, 0, true, 0, 0), 0);
	CHECK_INT_EQ("last", piece_add(&s, (uint32_t[]){ 3 }, 1, false, 77, 5), 0);
	CHECK("whole", s.is_whole);
	CHECK_INT_EQ("joined", s.view.n_operations, 3);
	for (uint32_t i = 0; i < s.view.n_operations; i++)
		CHECK_INT_EQ("in order", s.view.operations[i]->pid, i + 1);
	CHECK_INT_EQ("accounts, too", s.view.n_accounts, 3);
	for (uint32_t i = 0; i < s.view.n_accounts; i++)
		CHECK_INT_EQ("accounts in order", s.view.accounts[i]->pid, i + 1);
	CHECK_INT_EQ("what is no list", s.view.window_ns, 77);
	CHECK_INT_EQ("what is no list", s.view.lost ? s.view.lost->ring_full : 0, 5);
	CHECK("not said: not there", !s.view.cost);

	trace_summary_take(&other, &s);
	CHECK("moved", other.is_whole && !s.is_whole && s.pieces.n == 0);
	CHECK_INT_EQ("after a whole one a new one", piece_add(&other, (uint32_t[]){ 9 }, 1, false, 1, 0), 0);
	CHECK_INT_EQ("after a whole one a new one", other.view.n_operations, 1);
	CHECK_INT_EQ("its own", other.view.operations[0]->pid, 9);
	CHECK("nothing of the one before", !other.view.lost);

	for (int i = 0; i < 1024; i++)
		CHECK_INT_EQ("many", piece_add(&s, NULL, 0, true, 0, 0), 0);
	CHECK_INT_EQ("too many", piece_add(&s, NULL, 0, true, 0, 0), -E2BIG);
	CHECK_INT_EQ("and begin anew", piece_add(&s, NULL, 0, false, 3, 0), 0);
	CHECK_INT_EQ("and begin anew", s.view.window_ns, 3);

	trace_summary_done(&s);
	trace_summary_done(&other);
	return check_result();
}
