// SPDX-License-Identifier: Apache-2.0
/*
 * Exports without a row get an id each, the same for the same name, as far as there are any.
 */
#include "events/op.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static const struct {
	const char *name;
	enum op_layer layer;
} names[] = {
	{ "ncclSend", OP_LAYER_NCCL },
	{ "nccl", OP_LAYER_NCCL },
	{ "ncclSend\x1b[31m", OP_LAYER_NONE },
	{ "nccl.send", OP_LAYER_NONE },
	{ "ncclS\xc3\xa9nd", OP_LAYER_NONE },
	{ "nccl4567890123456789012345678901234567890123456789012345678901_3", OP_LAYER_NONE },
	{ "nccl456789012345678901234567890123456789012345678901234567890_3", OP_LAYER_NCCL },
	{ "pncclSend", OP_LAYER_NONE },
	{ "cudaGetDevice", OP_LAYER_NONE },
	{ "cuDeviceGet", OP_LAYER_NONE },
	{ "process_exec", OP_LAYER_NONE },
	{ "", OP_LAYER_NONE },
};

/* Return: how many of n new names got an id */
static uint32_t give_many(const char *prefix, uint32_t uid, uint32_t n)
{
	uint32_t n_given = 0;

	for (uint32_t i = 0; i < n; i++) {
		char name[OP_NAME_BYTES];

		(void)snprintf(name, sizeof(name), "nccl%s%u", prefix, i);
		n_given += op_give(name, uid) != 0;
	}
	return n_given;
}

int main(void)
{
	uint32_t id;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		CHECK_INT_EQ(names[i].name, op_others_layer(names[i].name), names[i].layer);

	CHECK("nothing is given yet", !op_get(OP_GIVEN) && !op_given("ncclSend"));
	id = op_give("ncclSend", 1000);
	CHECK_INT_EQ("the first", id, OP_GIVEN);
	CHECK_STR_EQ("its name", op_get(id)->name, "ncclSend");
	CHECK_INT_EQ("its layer", op_get(id)->layer, OP_LAYER_NCCL);
	CHECK_INT_EQ("no argument", op_n_args(op_get(id)), 0);
	CHECK("a call", op_is_call(op_get(id)));
	CHECK_INT_EQ("again", op_give("ncclSend", 1000), id);
	CHECK_INT_EQ("of another user", op_give("ncclSend", 1001), id);
	CHECK_INT_EQ("another", op_give("ncclRecv", 1000), OP_GIVEN + 1);

	CHECK_INT_EQ("one user's", give_many("A", 1000, OP_GIVEN_MAX), OP_GIVEN_OF_USER_MAX - 2);
	CHECK_INT_EQ("leave room for another's, one of whose they were before", give_many("B", 1001, OP_GIVEN_MAX),
		     OP_GIVEN_OF_USER_MAX - 1);
	CHECK_INT_EQ("who has his share does not learn what others have", op_give("ncclRecv", 1001), 0);
	CHECK_INT_EQ("and for a third's", give_many("C", 1002, 1), 1);
	for (uint32_t uid = 1003, n = 1; n; uid++) {
		char prefix[16];

		(void)snprintf(prefix, sizeof(prefix), "D%u_", uid);
		n = give_many(prefix, uid, OP_GIVEN_MAX);
		CHECK("no more of each", n <= OP_GIVEN_OF_USER_MAX);
	}
	CHECK_INT_EQ("and that is all", give_many("E", 2000, 1), 0);
	CHECK_INT_EQ("those that are there stay", op_give("ncclB7", 1002), op_give("ncclB7", 1001));
	CHECK("the last of users", op_get(OP_GIVEN + OP_GIVEN_MAX - OP_GIVEN_OF_ALL_MAX - 1) &&
					   !op_get(OP_GIVEN + OP_GIVEN_MAX - OP_GIVEN_OF_ALL_MAX));

	CHECK_INT_EQ("in a library of the system a user's name is the same", op_give_all("ncclB7"), op_given("ncclB7"));
	CHECK_INT_EQ("another has room", op_give_all("ncclSystem"), OP_GIVEN + OP_GIVEN_MAX - OP_GIVEN_OF_ALL_MAX);
	CHECK_INT_EQ("again", op_give_all("ncclSystem"), op_given("ncclSystem"));
	CHECK_INT_EQ("who has his share does not learn of it", op_give("ncclSystem", 1001), 0);
	CHECK_INT_EQ("it is a name for a user, too", op_give("ncclSystem", 1002), op_given("ncclSystem"));
	for (uint32_t i = 1; i < OP_GIVEN_OF_ALL_MAX; i++) {
		char name[OP_NAME_BYTES];

		(void)snprintf(name, sizeof(name), "ncclSystem%u", i);
		CHECK("one of the system's", op_give_all(name) != 0);
	}
	CHECK_INT_EQ("no more of those", op_give_all("ncclMore"), 0);
	CHECK("the last", op_get(OP_GIVEN + OP_GIVEN_MAX - 1) && !op_get(OP_GIVEN + OP_GIVEN_MAX));
	return check_result();
}
