// SPDX-License-Identifier: Apache-2.0
#include "archive/foreign/json.h"

#include <stdint.h>
#include <string.h>

const char *foreign_json_value(const struct foreign_json_element *element, const char *key)
{
	for (size_t i = 0; i < element->n; i++)
		if (!strcmp(element->fields[i].key, key))
			return element->fields[i].value;
	return "";
}

static void blanks_skip(struct foreign_json *json)
{
	while (json->at < json->end && strchr(" \t\r\n", *json->at) && *json->at)
		json->at++;
}

static bool accept(struct foreign_json *json, char c)
{
	blanks_skip(json);
	if (json->at >= json->end || *json->at != c)
		return false;
	json->at++;
	return true;
}

/* Appends one character as UTF-8 if it fits. Return: number of bytes */
static size_t put(char *text, size_t room, uint32_t point)
{
	unsigned char bytes[4];
	size_t n;

	if (point < 0x80) {
		bytes[0] = (unsigned char)point;
		n = 1;
	} else if (point < 0x800) {
		bytes[0] = (unsigned char)(0xc0 | point >> 6);
		n = 2;
	} else if (point < 0x10000) {
		bytes[0] = (unsigned char)(0xe0 | point >> 12);
		n = 3;
	} else {
		bytes[0] = (unsigned char)(0xf0 | point >> 18);
		n = 4;
	}
	for (size_t i = 1; i < n; i++)
		bytes[i] = (unsigned char)(0x80 | (point >> (6 * (n - 1 - i)) & 0x3f));
	if (n > room)
		return 0;
	memcpy(text, bytes, n);
	return n;
}

static bool hex4(struct foreign_json *json, uint32_t *ret_value)
{
	uint32_t value = 0;

	if (json->end - json->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = *json->at++;
		uint32_t digit = c >= '0' && c <= '9'	? (uint32_t)(c - '0')
				 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
				 : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
							: 16;

		if (digit == 16)
			return false;
		value = value << 4 | digit;
	}
	*ret_value = value;
	return true;
}

/* Reads an escape sequence after its backslash. */
static bool escape(struct foreign_json *json, uint32_t *ret_point)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *which;
	uint32_t point, low;
	char c;

	if (json->at >= json->end)
		return false;
	c = *json->at++;
	which = c ? strchr(from, c) : NULL;
	if (which) {
		*ret_point = (unsigned char)to[which - from];
		return true;
	}
	if (c != 'u' || !hex4(json, &point))
		return false;
	if (point >> 10 == 0x36 && json->end - json->at >= 6 && json->at[0] == '\\' && json->at[1] == 'u') {
		json->at += 2;
		if (!hex4(json, &low))
			return false;
		point = low >> 10 == 0x37 ? 0x10000 + ((point & 0x3ff) << 10) + (low & 0x3ff) : '?';
	}
	*ret_point =
		point == 0 || point >> 11 == 0x1b ? '?' : point; /* one half of a surrogate pair is not a character */
	return true;
}

/* The text is valid UTF-8 already (foreign_text); a longer one is cut between characters. */
static bool string(struct foreign_json *json, char *ret_text, size_t room)
{
	size_t used = 0;
	bool is_full = false;

	ret_text[0] = '\0';
	if (!accept(json, '"'))
		return false;
	while (json->at < json->end && *json->at != '"') {
		const char *from = json->at++;
		uint32_t point;
		size_t n;

		if (*from == '\\') {
			if (!escape(json, &point))
				return false;
			n = is_full ? 0 : put(ret_text + used, room - 1 - used, point);
		} else {
			while (json->at < json->end && ((unsigned char)*json->at & 0xc0) == 0x80)
				json->at++;
			n = (size_t)(json->at - from);
			if (is_full || n > room - 1 - used)
				n = 0;
			memcpy(ret_text + used, from, n);
		}
		is_full |= n == 0;
		used += n;
	}
	ret_text[used] = '\0';
	return accept(json, '"');
}

static bool value(struct foreign_json *json, char *ret_text, size_t room)
{
	size_t n = 0;

	blanks_skip(json);
	if (json->at < json->end && *json->at == '"')
		return string(json, ret_text, room);
	for (; json->at < json->end && strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", *json->at) && *json->at;
	     json->at++)
		if (n < room - 1)
			ret_text[n++] = *json->at;
	ret_text[n] = '\0';
	if (n && ret_text[0] >= 'a' && ret_text[0] <= 'z')
		ret_text[0] = '\0'; /* null, true, false */
	return n > 0;
}

static bool object(struct foreign_json *json, struct foreign_json_element *ret)
{
	char key[sizeof(ret->fields[0].key)], skipped[8];

	if (accept(json, '}'))
		return true;
	do {
		bool is_kept = ret->n < FOREIGN_JSON_FIELDS;

		if (!string(json, key, sizeof(key)) || !accept(json, ':'))
			return false;
		if (!value(json, is_kept ? ret->fields[ret->n].value : skipped,
			   is_kept ? sizeof(ret->fields[0].value) : sizeof(skipped)))
			return false;
		if (is_kept)
			memcpy(ret->fields[ret->n++].key, key, sizeof(key));
	} while (accept(json, ','));
	return accept(json, '}');
}

int foreign_json_next(struct foreign_json *json, struct foreign_json_element *ret_element)
{
	bool is_read;

	if (json->has_begun ? !accept(json, ',') : !accept(json, '[')) {
		json->at = json->end;
		return 0;
	}
	json->has_begun = true;
	ret_element->n = 0;
	if (accept(json, '{')) {
		is_read = object(json, ret_element);
	} else {
		is_read = string(json, ret_element->fields[0].value, sizeof(ret_element->fields[0].value));
		ret_element->fields[0].key[0] = '\0';
		ret_element->n = 1;
	}
	if (!is_read)
		json->at = json->end;
	return is_read;
}
