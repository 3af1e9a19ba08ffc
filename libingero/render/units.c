// SPDX-License-Identifier: Apache-2.0
#include "libingero/render/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define SECONDS_PER_DAY 86400ull

static struct units_text text_of(const char *fmt, ...) PRINTF_LIKE(1, 2);

static struct units_text text_of(const char *fmt, ...)
{
	struct units_text out;

	FORMAT_INTO(out.text, sizeof(out.text), fmt);
	return out;
}

/* Units below a minute; a value is shown in the first unit in which it stays below `most`. */
static const struct {
	const char *name;
	uint64_t ns;
	uint64_t most;	      /* rounded values from here on use the next unit */
	uint64_t most_tenths; /* rounded tenths below this are shown */
} fine_units[] = {
	{ "ns", 1, 1000, 0 },
	{ "µs", NSEC_PER_USEC, 1000, 100 },
	{ "ms", NSEC_PER_MSEC, 1000, 100 },
	{ "s", NSEC_PER_SEC, 60, 600 },
};

/* value / unit, rounded half up, without overflow */
static uint64_t div_round(uint64_t value, uint64_t unit)
{
	return value / unit + (value % unit >= unit - unit / 2 ? 1 : 0);
}

/* Digits of a duration in one unit: one decimal where the unit shows it. */
static struct units_text digits_in(uint64_t ns, size_t unit)
{
	uint64_t tenths = fine_units[unit].ns >= 10 ? div_round(ns, fine_units[unit].ns / 10) : 0;

	if (tenths < fine_units[unit].most_tenths)
		return text_of("%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
	return text_of("%" PRIu64, div_round(ns, fine_units[unit].ns));
}

/* Index of the unit of a duration; ARRAY_SIZE() from a minute on. */
static size_t unit_of(uint64_t ns)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fine_units); i++)
		if (div_round(ns, fine_units[i].ns) < fine_units[i].most)
			break;
	return i;
}

struct units_text units_ns(uint64_t ns, unsigned int flags)
{
	bool is_tight = flags & UNITS_TIGHT;
	uint64_t seconds = div_round(ns, NSEC_PER_SEC), minutes = div_round(ns, 60 * NSEC_PER_SEC);
	uint64_t hours = div_round(ns, 3600 * NSEC_PER_SEC);
	size_t unit = unit_of(ns);

	if (unit < ARRAY_SIZE(fine_units))
		return text_of("%s%s%s", digits_in(ns, unit).text, is_tight ? "" : " ", fine_units[unit].name);
	if (seconds < 3600)
		return text_of(is_tight ? "%" PRIu64 "m%02" PRIu64 "s" : "%" PRIu64 " min %" PRIu64 " s", seconds / 60,
			       seconds % 60);
	if (minutes < 24 * 60)
		return text_of(is_tight ? "%" PRIu64 "h%02" PRIu64 "m" : "%" PRIu64 " h %" PRIu64 " min", minutes / 60,
			       minutes % 60);
	if (hours < 100 * 24)
		return text_of(is_tight ? "%" PRIu64 "d%02" PRIu64 "h" : "%" PRIu64 " d %" PRIu64 " h", hours / 24,
			       hours % 24);
	return text_of(is_tight ? "%" PRIu64 "d" : "%" PRIu64 " d", div_round(ns, SECONDS_PER_DAY * NSEC_PER_SEC));
}

struct units_text units_part_ns(uint64_t part_ns, uint64_t whole_ns)
{
	size_t unit = unit_of(whole_ns);

	/* Minutes and hours have no decimals, and "0 of 1.2 s" would hide a part. */
	if (unit == ARRAY_SIZE(fine_units) || (part_ns && div_round(part_ns, fine_units[unit].ns) == 0))
		return text_of("%s of %s", units_ns(part_ns, 0).text, units_ns(whole_ns, 0).text);
	return text_of("%s of %s", digits_in(part_ns, unit).text, units_ns(whole_ns, 0).text);
}

struct units_text units_count(uint64_t n)
{
	char digits[24];
	struct units_text out;
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;

	for (size_t i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			out.text[at++] = ' ';
		out.text[at++] = digits[i];
	}
	out.text[at] = 0;
	return out;
}

/* value / 10^(3 i) below 1000 with its letter; one decimal below ten. */
static struct units_text short_of(double value, const char *suffix)
{
	static const char letters[] = { 0, 'k', 'M', 'G', 'T', 'P', 'E' };
	size_t i = 0;

	while (value >= 999.5 && i + 1 < sizeof(letters)) {
		value /= 1000;
		i++;
	}
	if (value < 0.05)
		return text_of("0%s", suffix);
	return text_of("%.*f%.*s%s", value < 9.95 ? 1 : 0, value, letters[i] ? 1 : 0, &letters[i], suffix);
}

struct units_things units_things(uint64_t n, const char *one, const char *many)
{
	struct units_things things;

	(void)snprintf(things.text, sizeof(things.text), "%s %s", units_count(n).text, n == 1 ? one : many);
	return things;
}

struct units_text units_rate(double per_s)
{
	if (!isfinite(per_s) || per_s < 0)
		return text_of("?");
	if (per_s >= 0.95 && per_s < 1000 && fabs(per_s - round(per_s)) < 0.05) /* "1/s" rather than "1.0/s" */
		return text_of("%.0f/s", round(per_s));
	return short_of(per_s, "/s");
}

struct units_text units_bytes(uint64_t bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	size_t i = 0;

	while (value >= 1023.5 && i + 1 < ARRAY_SIZE(names)) {
		value /= 1024;
		i++;
	}
	return text_of("%.*f %s", i > 0 && value < 9.95 ? 1 : 0, value, names[i]);
}

struct units_text units_ratio(double ratio, unsigned int flags)
{
	double percent = ratio * 100;
	const char *unit = flags & UNITS_BARE ? "" : " %";

	if (!isfinite(percent) || percent < 0)
		return text_of("?");
	if (percent > 1e7)
		return text_of(">9999999%s", unit);
	if (percent < 100 && percent >= 99.5)
		return text_of("99%s", unit);
	if (flags & UNITS_TIGHT)
		return percent > 0 && percent < 0.5 ? text_of("<1%s", unit) : text_of("%.0f%s", percent, unit);
	if (percent > 0 && percent < 0.05)
		return text_of("<0.1%s", unit);
	return text_of("%.*f%s", percent > 0 && percent < 9.95 ? 1 : 0, percent, unit);
}
