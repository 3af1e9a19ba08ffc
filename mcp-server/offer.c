// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/offer.h"

#include <stddef.h>
#include <string.h>

#define DIGITS "0123456789"
#define HEX_DIGITS DIGITS "abcdef"
#define NODE_CHARACTERS DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_.-"
#define WORD_CHARACTERS NODE_CHARACTERS ":"

#define NODE_BYTES_MAX 63
#define FINDING_DIGITS 16
#define CALL_START_DIGITS_MAX 16
#define CALL_NUMBER_DIGITS_MAX 10

bool offer_is_word(const char *text)
{
	size_t n = strspn(text, WORD_CHARACTERS);

	return n > 0 && n <= OFFER_WORD_BYTES_MAX && !text[n];
}

/* Return: what follows the digits and the character behind them, the NUL included; NULL: they are missing */
static const char *digits_skip(const char *text, const char *digits, size_t most, char behind)
{
	size_t n = strspn(text, digits);

	return n > 0 && n <= most && text[n] == behind ? text + n + 1 : NULL;
}

static bool call_id_is(const char *text)
{
	text = digits_skip(text, DIGITS, CALL_NUMBER_DIGITS_MAX, '.');
	if (text)
		text = digits_skip(text, HEX_DIGITS, CALL_START_DIGITS_MAX, '.');
	return text && digits_skip(text, DIGITS, CALL_NUMBER_DIGITS_MAX, '\0');
}

bool offer_is_id(const char *text)
{
	size_t n = strspn(text, NODE_CHARACTERS), n_hex;

	if (n > 0 && n <= NODE_BYTES_MAX && text[n] == ':')
		text += n + 1;
	n_hex = strspn(text, HEX_DIGITS);
	return (n_hex == FINDING_DIGITS && !text[n_hex]) || call_id_is(text);
}
