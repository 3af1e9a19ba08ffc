// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/pb_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json_text.h"
#include "libingero/render/stack_json.h"

#define UNIX_NS_SUFFIX "_unix_ns"

static void time_append(struct buf *out, uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / NSEC_PER_SEC);
	char text[64];
	struct tm tm;

	if (unix_ns == 0 || !gmtime_r(&seconds, &tm)) {
		(void)buf_append_text(out, "null");
		return;
	}
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)buf_printf(out, "\"%s.%09" PRIu64 "Z\"", text, (uint64_t)(unix_ns % NSEC_PER_SEC));
}

/* The shortest text that reads back as the same number. */
static void double_append(struct buf *out, double value, int digits, int most_digits)
{
	char text[40];

	if (!isfinite(value)) {
		(void)buf_append_text(out, "null");
		return;
	}
	do {
		(void)snprintf(text, sizeof(text), "%.*g", digits, value);
	} while (digits++ < most_digits && strtod(text, NULL) != value);
	(void)buf_append_text(out, text);
}

void pb_json_number(struct buf *out, double value)
{
	double_append(out, value, 15, 17);
}

void pb_json_bytes(struct buf *out, const ProtobufCBinaryData *bytes)
{
	(void)buf_append_text(out, "\"");
	for (size_t i = 0; i < bytes->len; i++)
		(void)buf_printf(out, "%02x", bytes->data[i]);
	(void)buf_append_text(out, "\"");
}

static bool field_is_unix_ns(const ProtobufCFieldDescriptor *field)
{
	size_t n = strlen(field->name), n_suffix = strlen(UNIX_NS_SUFFIX);

	return field->type == PROTOBUF_C_TYPE_UINT64 && n > n_suffix &&
	       strcmp(field->name + n - n_suffix, UNIX_NS_SUFFIX) == 0;
}

static void enum_append(struct buf *out, const ProtobufCEnumDescriptor *descriptor, int value)
{
	const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(descriptor, value);

	if (found)
		json_text_add(out, found->name);
	else
		(void)buf_printf(out, "%d", value);
}

/* A message that is not the object of its fields. */
static void message_append(struct buf *out, const ProtobufCMessage *message)
{
	if (message->descriptor == &ingero__v1__site__descriptor)
		stack_json_site(out, (const Ingero__V1__Site *)message);
	else
		pb_json_append(out, message);
}

/* One value of a field, at `at` in protobuf-c's layout; `size` is the size of one value. */
static void field_value_append(struct buf *out, const ProtobufCFieldDescriptor *field, const void *at, size_t *ret_size)
{
	const char *text;

	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
		(void)buf_printf(out, "%" PRId32, *(const int32_t *)at);
		*ret_size = sizeof(int32_t);
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		(void)buf_printf(out, "%" PRIu32, *(const uint32_t *)at);
		*ret_size = sizeof(uint32_t);
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		(void)buf_printf(out, "%" PRId64, *(const int64_t *)at);
		*ret_size = sizeof(int64_t);
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		if (field_is_unix_ns(field))
			time_append(out, *(const uint64_t *)at);
		else
			(void)buf_printf(out, "%" PRIu64, *(const uint64_t *)at);
		*ret_size = sizeof(uint64_t);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		double_append(out, (double)*(const float *)at, 6, 9);
		*ret_size = sizeof(float);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		pb_json_number(out, *(const double *)at);
		*ret_size = sizeof(double);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		(void)buf_append_text(out, *(const protobuf_c_boolean *)at ? "true" : "false");
		*ret_size = sizeof(protobuf_c_boolean);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		enum_append(out, field->descriptor, *(const int *)at);
		*ret_size = sizeof(int);
		break;
	case PROTOBUF_C_TYPE_STRING:
		text = *(const char *const *)at;
		json_text_add(out, text ? text : "");
		*ret_size = sizeof(char *);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		pb_json_bytes(out, at);
		*ret_size = sizeof(ProtobufCBinaryData);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		message_append(out, *(const ProtobufCMessage *const *)at);
		*ret_size = sizeof(ProtobufCMessage *);
		break;
	}
}

static bool field_is_present(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	const uint8_t *base = (const uint8_t *)message;

	if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		return *(const uint32_t *)(base + field->quantifier_offset) == field->id;
	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return true;
	if (field->type == PROTOBUF_C_TYPE_MESSAGE)
		return *(ProtobufCMessage *const *)(base + field->offset) != NULL;
	if (field->label != PROTOBUF_C_LABEL_OPTIONAL)
		return true;
	if (field->type == PROTOBUF_C_TYPE_STRING)
		return *(char *const *)(base + field->offset) != NULL;
	return *(const protobuf_c_boolean *)(base + field->quantifier_offset);
}

static void field_append(struct buf *out, const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	const uint8_t *base = (const uint8_t *)message, *at = base + field->offset;
	size_t n_name = strlen(field->name), size = 0;

	if (field->descriptor == &ingero__v1__stack__descriptor && field->label != PROTOBUF_C_LABEL_REPEATED) {
		stack_json_members(out, *(const Ingero__V1__Stack *const *)(const void *)at);
		return;
	}
	if (field_is_unix_ns(field))
		n_name -= strlen(UNIX_NS_SUFFIX);
	json_text_add_n(out, field->name, n_name);
	(void)buf_append_text(out, ":");

	if (field->label != PROTOBUF_C_LABEL_REPEATED) {
		field_value_append(out, field, at, &size);
		return;
	}

	at = *(const uint8_t *const *)at;
	(void)buf_append_text(out, "[");
	for (size_t i = 0, n = *(const size_t *)(base + field->quantifier_offset); i < n; i++, at += size) {
		if (i > 0)
			(void)buf_append_text(out, ",");
		field_value_append(out, field, at, &size);
	}
	(void)buf_append_text(out, "]");
}

static bool name_is_among(const char *names, const char *name)
{
	size_t n = strlen(name);

	for (; names && *names; names += strspn(names, " ")) {
		if (strncmp(names, name, n) == 0 && strcspn(names, " ") == n)
			return true;
		names += strcspn(names, " ");
	}
	return false;
}

/* The fields alone, each with a comma before it except the first. */
static void fields_append(struct buf *out, const ProtobufCMessage *message, const char *skip, bool is_first)
{
	for (unsigned int i = 0; i < message->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];

		if (name_is_among(skip, field->name) || !field_is_present(message, field))
			continue;
		if (!is_first)
			(void)buf_append_text(out, ",");
		is_first = false;
		field_append(out, message, field);
	}
}

void pb_json_append(struct buf *out, const ProtobufCMessage *message)
{
	(void)buf_append_text(out, "{");
	fields_append(out, message, NULL, /* is_first= */ true);
	(void)buf_append_text(out, "}");
}

int pb_json_line(struct buf *out, const char *type, const ProtobufCMessage *message, const char *skip)
{
	size_t start = out->n;

	(void)buf_append_text(out, "{");
	if (type) {
		(void)buf_append_text(out, "\"type\":");
		json_text_add(out, type);
	}
	fields_append(out, message, skip, /* is_first= */ !type);
	(void)buf_append_text(out, "}\n");

	if (out->failed) {
		out->n = start; /* half a line would be invalid JSON */
		return -ENOMEM;
	}
	return 0;
}
