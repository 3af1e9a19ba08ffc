// SPDX-License-Identifier: Apache-2.0
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* Reads digits of the given base; a number has at least one. */
static int digits_parse(const char **text, unsigned int base, uint64_t max, uint64_t *ret_value)
{
	const char *p = *text;
	uint64_t value = 0;

	for (;; p++) {
		int c = tolower((unsigned char)*p);
		unsigned int digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned int)(c - '0');
		else if (base == 16 && c >= 'a' && c <= 'f')
			digit = (unsigned int)(c - 'a') + 10;
		else
			break;
		if (digit > max || value > (max - digit) / base)
			return -ERANGE;
		value = value * base + digit;
	}
	if (p == *text)
		return -EINVAL;

	*text = p;
	*ret_value = value;
	return 0;
}

int parse_u64_list(const char *text, uint64_t max, uint64_t *ret_values, size_t n)
{
	for (size_t i = 0; i < n; i++, text++)
		if (digits_parse(&text, 10, max, &ret_values[i]) < 0 || *text != (i + 1 < n ? ':' : '\0'))
			return -EINVAL;
	return 0;
}

static int whole_parse(const char *text, unsigned int base, uint64_t max, uint64_t *ret_value)
{
	uint64_t value;
	int r = digits_parse(&text, base, max, &value);

	if (r < 0)
		return r;
	if (*text)
		return -EINVAL;

	*ret_value = value;
	return 0;
}

int parse_u64(const char *text, uint64_t max, uint64_t *ret_value)
{
	return whole_parse(text, 10, max, ret_value);
}

int parse_u64_hex(const char *text, uint64_t *ret_value)
{
	return whole_parse(text, 16, UINT64_MAX, ret_value);
}

/* Digits after a point, in billionths; finer digits are dropped. */
static int fraction_parse(const char **text, uint64_t *ret_billionths)
{
	const char *p = *text;
	uint64_t value = 0, weight = NSEC_PER_SEC / 10;

	for (; *p >= '0' && *p <= '9'; p++, weight /= 10)
		value += weight * (uint64_t)(*p - '0');
	if (p == *text)
		return -EINVAL;

	*text = p;
	*ret_billionths = value;
	return 0;
}

int parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		/* longer names first: "ms" before "m" */
		{ "ns", 1 },
		{ "us", NSEC_PER_USEC },
		{ "\xc2\xb5s", NSEC_PER_USEC }, /* the micro sign, as we print it */
		{ "\xce\xbcs", NSEC_PER_USEC }, /* the Greek letter */
		{ "ms", NSEC_PER_MSEC },
		{ "s", NSEC_PER_SEC },
		{ "m", 60 * NSEC_PER_SEC },
		{ "h", 3600 * NSEC_PER_SEC },
		{ "d", 86400 * NSEC_PER_SEC },
		{ "w", 604800 * NSEC_PER_SEC },
	};
	uint64_t sum = 0;

	if (strcmp(text, "0") == 0) {
		*ret_ns = 0;
		return 0;
	}
	do {
		uint64_t value, billionths = 0;
		size_t i;
		int r = digits_parse(&text, 10, UINT64_MAX, &value);

		if (r == 0 && *text == '.') {
			text++;
			r = fraction_parse(&text, &billionths);
		}
		if (r < 0)
			return r;
		for (i = 0; i < ARRAY_SIZE(units); i++)
			if (strncmp(text, units[i].name, strlen(units[i].name)) == 0)
				break;
		if (i == ARRAY_SIZE(units))
			return -EINVAL;
		if (units[i].ns >= NSEC_PER_SEC)
			billionths *= units[i].ns / NSEC_PER_SEC; /* weeks: below 2^50 */
		else
			billionths = billionths * units[i].ns / NSEC_PER_SEC;
		if (__builtin_mul_overflow(value, units[i].ns, &value) || __builtin_add_overflow(sum, value, &sum) ||
		    __builtin_add_overflow(sum, billionths, &sum))
			return -ERANGE;
		text += strlen(units[i].name);
	} while (*text);

	*ret_ns = sum;
	return 0;
}

int parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char suffixes[] = "kmgt";
	unsigned int shift = 0;
	const char *found;
	uint64_t value;
	int r = digits_parse(&text, 10, UINT64_MAX, &value);

	if (r < 0)
		return r;

	found = *text ? strchr(suffixes, tolower((unsigned char)*text)) : NULL;
	if (found) {
		shift = 10 * (unsigned int)(found - suffixes + 1);
		text++;
	}
	if (*text && strcasecmp(text, "b") != 0)
		return -EINVAL;
	if (value > UINT64_MAX >> shift)
		return -ERANGE;

	*ret_bytes = value << shift;
	return 0;
}
