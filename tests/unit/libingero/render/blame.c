// SPDX-License-Identifier: Apache-2.0
/* Every field of the message has its class, in the message's order. */
#include "libingero/render/blame.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

int main(void)
{
	const ProtobufCMessageDescriptor *d = &ingero__v1__blame__descriptor;
	Ingero__V1__Blame blame = INGERO__V1__BLAME__INIT;
	struct blame_view none = blame_view_of(NULL), all;
	uint64_t sum = 0;

	CHECK_INT_EQ("classes and fields", d->n_fields, BLAME_VIEW_COUNT);
	for (unsigned int i = 0; i < d->n_fields; i++) {
		uint8_t *base = (uint8_t *)&blame;
		struct blame_view view;

		*(uint64_t *)(base + d->fields[i].offset) = 100 + i;
		view = blame_view_of(&blame);
		CHECK_INT_EQ(d->fields[i].name, view.is_measured[i], 0);
		CHECK_INT_EQ(d->fields[i].name, view.ns[i], 0);
		*(protobuf_c_boolean *)(base + d->fields[i].quantifier_offset) = 1;
		sum += 100 + i;
		view = blame_view_of(&blame);
		CHECK_INT_EQ(d->fields[i].name, view.is_measured[i], 1);
		CHECK_INT_EQ(d->fields[i].name, view.ns[i], 100 + i);
		CHECK_INT_EQ(d->fields[i].name, view.sum_ns, sum);
		CHECK(d->fields[i].name, blame_view_label(i)[0] && blame_view_phrase(i)[0]);
	}
	all = blame_view_of(&blame);
	CHECK_INT_EQ("largest", blame_view_largest(&all, 0), BLAME_VIEW_OTHER);
	CHECK_INT_EQ("largest but one", blame_view_largest(&all, 1u << BLAME_VIEW_OTHER), BLAME_VIEW_SLEEP);
	CHECK_INT_EQ("waits for the CPU", blame_view_waits_for_cpu_ns(&all), 101 + 102);
	CHECK_INT_EQ("nothing measured", blame_view_largest(&none, 0), BLAME_VIEW_COUNT);
	CHECK_INT_EQ("nothing measured", none.sum_ns, 0);
	return check_result();
}
