// SPDX-License-Identifier: Apache-2.0
/* Every reason of loss has its words, and nothing that was lost is called nothing. */
#include "libingero/answers/lost.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

static void set(Ingero__V1__Lost *lost, const char *field, uint64_t value)
{
	const ProtobufCFieldDescriptor *f =
		protobuf_c_message_descriptor_get_field_by_name(&ingero__v1__lost__descriptor, field);

	CHECK(field, f != NULL);
	if (f)
		*(uint64_t *)(void *)((uint8_t *)lost + f->offset) = value;
}

/* With what is known of the libraries instead of the advice. */
static const struct {
	const char *name;
	const char *late;
	const char *want;
} lates[] = {
	{ "named", "libnvshmem_host.so.3, for 16 ms",
	  "1 library was already in use; calls before the attach were not counted (libnvshmem_host.so.3, for 16 ms) · "
	  "41 calls began before the attach" },
	{ "unknown", "",
	  "1 library was already in use; calls before the attach were not counted · 41 calls began before "
	  "the attach" },
};

static const struct {
	const char *name;
	const char *field;
	uint64_t n;
	const char *want;
} cases[] = {
	{ "nothing", NULL, 0, "every call counted · nothing lost" },
	{ "records", "ring_full", 1234,
	  "every call counted · 1 234 single calls not kept (ring full: try a larger '--ringbuf-size')" },
	{ "counts", "process_slots", 1234, "1 234 calls not counted (too many processes: name some with '--pid')" },
	{ "times", "depth", 1234, "every call counted · 1 234 calls counted without their times (nested too deep)" },
	{ "before", "return_unpaired", 1234,
	  "every call counted · nothing lost · 1 234 calls began before the attach" },
	{ "one", "return_unpaired", 1, "every call counted · nothing lost · 1 call began before the attach" },
	{ "one library", "late_load", 1,
	  "1 library was already in use; calls before the attach were not counted ('ingero trace -- PROGRAM' "
	  "misses the fewest)" },
	{ "some libraries", "late_load", 8,
	  "8 libraries were already in use; calls before the attach were not counted ('ingero trace -- PROGRAM' "
	  "misses the fewest)" },
};

int main(void)
{
	const ProtobufCMessageDescriptor *d = &ingero__v1__lost__descriptor;

	for (unsigned int i = 0; i < d->n_fields; i++) {
		Ingero__V1__Lost lost = INGERO__V1__LOST__INIT;
		uint64_t sum = 0;
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		set(&lost, d->fields[i].name, 41);
		for (enum lost_kind kind = 0; kind < LOST_KIND_COUNT; kind++)
			sum += lost_sum(&lost, kind);
		CHECK_INT_EQ(d->fields[i].name, sum, 41);
		lost_append(&out, &lost, NULL, /* is_whole= */ true);
		CHECK(d->fields[i].name, strstr(buf_text(&out), "41 "));
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__Lost lost = INGERO__V1__LOST__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		if (cases[i].field)
			set(&lost, cases[i].field, cases[i].n);
		lost_append(&out, &lost, NULL, /* is_whole= */ true);
		CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].want);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lates); i++) {
		Ingero__V1__Lost lost = INGERO__V1__LOST__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		lost.late_load = 1;
		lost.return_unpaired = 41;
		lost_append(&out, &lost, lates[i].late, /* is_whole= */ true);
		CHECK_STR_EQ(lates[i].name, buf_text(&out), lates[i].want);
	}
	for (int is_whole = 0; is_whole < 2; is_whole++) {
		Ingero__V1__Lost lost = INGERO__V1__LOST__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		lost_append(&out, &lost, NULL, is_whole);
		CHECK_STR_EQ("of the recording", buf_text(&out),
			     is_whole ? "every call counted · nothing lost" : "every call counted");
	}
	return check_result();
}
