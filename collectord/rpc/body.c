// SPDX-License-Identifier: Apache-2.0
/*
 * protobuf-c accepts text that is not UTF-8 or contains a NUL (the C string then ends early), and keeps unknown fields.
 * So the packed bytes, which still have the lengths, are checked first, and then the message.
 */
#include "rpc/body.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

struct walk {
	char *why;
	unsigned int n_unknown;
};

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static enum call_error refuse(const struct walk *walk, enum call_error code, const char *field, const char *what)
{
	(void)snprintf(walk->why, BODY_WHY_BYTES, "'%s' %s", field, what);
	return code;
}

static bool get_varint(const uint8_t **p, const uint8_t *end, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70 && *p < end; shift += 7) {
		uint8_t c = *(*p)++;

		if (shift < 64)
			value |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static enum call_error check_text(const struct walk *walk, const char *field, const char *text, size_t n)
{
	if (memchr(text, 0, n))
		return refuse(walk, CALL_ERROR_INVALID, field, "has a zero byte inside");
	for (size_t length; n > 0; text += length, n -= length) {
		length = utf8_length(text, n);
		if (!length)
			return refuse(walk, CALL_ERROR_INVALID, field, "is not UTF-8 text");
	}
	return CALL_OK;
}

static enum call_error check_bytes(struct walk *walk, const ProtobufCMessageDescriptor *descriptor, const uint8_t *p,
				   size_t n, unsigned int depth)
{
	const uint8_t *end = p + n;

	if (depth > BODY_DEPTH_MAX)
		return refuse(walk, CALL_ERROR_PROTOCOL, descriptor->short_name, "is nested too deep");

	while (p < end) {
		const ProtobufCFieldDescriptor *field;
		uint64_t tag, value = 0;
		enum call_error code = CALL_OK;

		if (!get_varint(&p, end, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
			return refuse(walk, CALL_ERROR_PROTOCOL, descriptor->short_name, "is cut short");

		switch (tag & 7) {
		case WIRE_VARINT:
			if (!get_varint(&p, end, &value))
				return refuse(walk, CALL_ERROR_PROTOCOL, descriptor->short_name, "is cut short");
			break;
		case WIRE_BYTES:
			if (!get_varint(&p, end, &value) || value > (uint64_t)(end - p))
				return refuse(walk, CALL_ERROR_PROTOCOL, descriptor->short_name, "is cut short");
			break;
		case WIRE_64:
		case WIRE_32:
			value = (tag & 7) == WIRE_64 ? 8 : 4;
			if (value > (uint64_t)(end - p))
				return refuse(walk, CALL_ERROR_PROTOCOL, descriptor->short_name, "is cut short");
			break;
		default:
			return refuse(walk, CALL_ERROR_PROTOCOL, descriptor->short_name,
				      "has a field of no known kind");
		}

		field = protobuf_c_message_descriptor_get_field(descriptor, (unsigned int)(tag >> 3));
		if (!field) {
			if (++walk->n_unknown > BODY_UNKNOWN_MAX)
				return refuse(walk, CALL_ERROR_PROTOCOL, descriptor->short_name,
					      "has too many fields that this version does not know");
		} else if ((tag & 7) == WIRE_BYTES && field->type == PROTOBUF_C_TYPE_STRING) {
			code = check_text(walk, field->name, (const char *)p, value);
		} else if ((tag & 7) == WIRE_BYTES && field->type == PROTOBUF_C_TYPE_MESSAGE) {
			code = check_bytes(walk, field->descriptor, p, value, depth + 1);
		}
		if (code)
			return code;
		if ((tag & 7) != WIRE_VARINT)
			p += value;
	}
	return CALL_OK;
}

static bool is_known_number(const ProtobufCFieldDescriptor *field, const void *value)
{
	int number;

	memcpy(&number, value, sizeof(number)); /* a number from the wire may not be a value of the enumeration */
	return protobuf_c_enum_descriptor_get_value(field->descriptor, number);
}

static enum call_error check_message(struct walk *walk, ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *descriptor = message->descriptor;

	/* They are freed with the arena. */
	message->n_unknown_fields = 0;
	message->unknown_fields = NULL;

	for (unsigned int i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
		char *member = (char *)message + field->offset;
		char *items = member;
		size_t n = 1;

		if (field->type != PROTOBUF_C_TYPE_ENUM && field->type != PROTOBUF_C_TYPE_MESSAGE &&
		    field->label != PROTOBUF_C_LABEL_REPEATED)
			continue;
		if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
		    *(uint32_t *)((char *)message + field->quantifier_offset) != field->id)
			continue;
		if (field->label == PROTOBUF_C_LABEL_REPEATED) {
			n = *(size_t *)((char *)message + field->quantifier_offset);
			items = *(char **)member;
			if (n > BODY_REPEATED_MAX)
				return refuse(walk, CALL_ERROR_INVALID, field->name, "has too many entries");
		}

		for (size_t k = 0; k < n; k++) {
			enum call_error code = CALL_OK;

			if (field->type == PROTOBUF_C_TYPE_ENUM) {
				if (!is_known_number(field, items + k * sizeof(int)))
					code = refuse(walk, CALL_ERROR_INVALID, field->name,
						      "has a value that this version does not know");
			} else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
				ProtobufCMessage *inner = ((ProtobufCMessage **)(void *)items)[k];

				code = inner ? check_message(walk, inner) : CALL_OK;
			}
			if (code)
				return code;
		}
	}
	return CALL_OK;
}

struct budget {
	struct arena *arena;
	size_t left_bytes;
};

static void *budget_alloc(void *data, size_t n)
{
	struct budget *budget = data;

	if (n > budget->left_bytes)
		return NULL;
	budget->left_bytes -= n;
	return arena_alloc(budget->arena, n);
}

static void budget_free(void *data, void *p)
{
	/* the arena frees everything at once */
	(void)data;
	(void)p;
}

enum call_error body_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t n,
			    struct arena *arena, char ret_why[BODY_WHY_BYTES], ProtobufCMessage **ret_message)
{
	struct budget budget = { .arena = arena, .left_bytes = BODY_BUDGET_BYTES };
	ProtobufCAllocator allocator = { .alloc = budget_alloc, .free = budget_free, .allocator_data = &budget };
	struct walk walk = { .why = ret_why };
	ProtobufCMessage *message;
	enum call_error code;

	code = check_bytes(&walk, descriptor, data, n, 0);
	if (code)
		return code;

	message = protobuf_c_message_unpack(descriptor, &allocator, n, data);
	if (!message)
		return refuse(&walk, CALL_ERROR_PROTOCOL, descriptor->short_name,
			      "cannot be unpacked, or is too large in memory");

	code = check_message(&walk, message);
	if (code)
		return code;

	*ret_message = message;
	return CALL_OK;
}
