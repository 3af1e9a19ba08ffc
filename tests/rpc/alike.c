// SPDX-License-Identifier: Apache-2.0
#include "alike.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "questions.h"
#include "tests/support/check.h"
#include "tests/support/wire.h"

/* Of the machine and the moment, not of the subject. */
static bool is_of_the_moment(const ProtobufCFieldDescriptor *field)
{
	static const char *const messages[] = { "Cost", "Lost", "Store", "SystemSample", "Session" };
	const char *name = field->name;
	size_t n = strlen(name);

	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		const ProtobufCMessageDescriptor *m = field->descriptor;

		for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
			if (strcmp(m->short_name, messages[i]) == 0)
				return true;
	}
	return (n > 3 && strcmp(name + n - 3, "_ns") == 0) || strcmp(name, "gaps") == 0;
}

static bool is_same(const ProtobufCMessage *a, const ProtobufCMessage *b, char *where, size_t room);

static bool is_same_value(const ProtobufCFieldDescriptor *field, const void *a, const void *b, char *where, size_t room)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE: {
		const ProtobufCMessage *x = *(ProtobufCMessage *const *)a, *y = *(ProtobufCMessage *const *)b;

		return (!x || !y) ? x == y : is_same(x, y, where, room);
	}
	case PROTOBUF_C_TYPE_STRING:
		return strcmp(*(char *const *)a, *(char *const *)b) == 0;
	case PROTOBUF_C_TYPE_BYTES: /* a file: when it was made is in it */
		return ((const ProtobufCBinaryData *)a)->len == ((const ProtobufCBinaryData *)b)->len;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return memcmp(a, b, 8) == 0;
	default:
		return memcmp(a, b, 4) == 0;
	}
}

static size_t value_bytes(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
	case PROTOBUF_C_TYPE_STRING:
		return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return 8;
	default:
		return 4;
	}
}

static bool is_same(const ProtobufCMessage *a, const ProtobufCMessage *b, char *where, size_t room)
{
	for (unsigned int i = 0; i < a->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &a->descriptor->fields[i];
		const char *x = (const char *)a + field->offset, *y = (const char *)b + field->offset;
		size_t n = 1, n_b = 1;

		(void)snprintf(where, room, "%s.%s", a->descriptor->short_name, field->name);
		if (is_of_the_moment(field))
			continue;
		if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
			uint32_t case_a = *(const uint32_t *)((const char *)a + field->quantifier_offset);
			uint32_t case_b = *(const uint32_t *)((const char *)b + field->quantifier_offset);

			if (case_a != case_b)
				return false;
			if (case_a != field->id)
				continue;
		}
		if (field->label == PROTOBUF_C_LABEL_REPEATED) {
			n = *(const size_t *)((const char *)a + field->quantifier_offset);
			n_b = *(const size_t *)((const char *)b + field->quantifier_offset);
			x = *(const char *const *)x;
			y = *(const char *const *)y;
		}
		if (n != n_b)
			return false;
		for (size_t k = 0; k < n; k++)
			if (!is_same_value(field, x + k * value_bytes(field), y + k * value_bytes(field), where, room))
				return false;
	}
	return true;
}

/* A sentence without the numbers that the caller has put in it. */
static void text_without(const char *text, const struct subject *subject, char *ret, size_t room)
{
	char pid[16], *at;
	const char *const words[] = { pid, subject->call_id };

	(void)snprintf(pid, sizeof(pid), "%u", subject->pid);
	(void)snprintf(ret, room, "%s", text);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		while (words[i][0] && (at = strstr(ret, words[i])))
			(void)memmove(at, at + strlen(words[i]), strlen(at + strlen(words[i])) + 1);
}

/* Figures and losses come whenever they are due: what there is of them says nothing, and their rows are compared. */
static bool is_periodic(const ProtobufCMessage *message)
{
	const Ingero__V1__TraceReply *reply = (const Ingero__V1__TraceReply *)message;

	return message->descriptor == &ingero__v1__trace_reply__descriptor &&
	       (reply->body_case == INGERO__V1__TRACE_REPLY__BODY_FIGURES ||
		reply->body_case == INGERO__V1__TRACE_REPLY__BODY_RECENT ||
		reply->body_case == INGERO__V1__TRACE_REPLY__BODY_LOSS);
}

static ProtobufCMessage *next_message(const ProtobufCMessageDescriptor *type, const struct wire_answer *answer,
				      size_t *at)
{
	struct frame frame;

	while (wire_next_reply(answer, at, &frame)) {
		ProtobufCMessage *message = protobuf_c_message_unpack(type, NULL, frame.body_bytes, frame.body);

		if (!message || !is_periodic(message))
			return message;
		protobuf_c_message_free_unpacked(message, NULL);
	}
	return NULL;
}

void alike_check(const char *name, const struct question *q, const struct wire_answer *a,
		 const struct subject *subject_a, const struct wire_answer *b, const struct subject *subject_b)
{
	char text_a[FRAME_TEXT_MAX + 1], text_b[FRAME_TEXT_MAX + 1], where[128] = "";
	const ProtobufCMessageDescriptor *type = question_method(q->method)->output;
	size_t at_a = 0, at_b = 0;

	CHECK_INT_EQ(name, a->code, b->code);
	text_without(a->text, subject_a, text_a, sizeof(text_a));
	text_without(b->text, subject_b, text_b, sizeof(text_b));
	CHECK_STR_EQ(name, text_a, text_b);
	for (;;) {
		ProtobufCMessage *x = next_message(type, a, &at_a), *y = next_message(type, b, &at_b);
		bool both = x && y;

		CHECK_INT_EQ(name, x != NULL, y != NULL);
		if (both && !is_same(x, y, where, sizeof(where))) {
			fprintf(stderr, "%s differs\n", where);
			CHECK(name, false);
		}
		if (x)
			protobuf_c_message_free_unpacked(x, NULL);
		if (y)
			protobuf_c_message_free_unpacked(y, NULL);
		if (!both)
			return;
	}
}
