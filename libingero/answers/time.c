// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/time.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

#define YEAR_LEAST 1970
#define YEAR_MOST 2500 /* nanoseconds since 1970 in 64 bits end in 2554 */
#define DAY_SECONDS 86400

/* A reading of a clock, and the zone written after it. */
struct reading {
	struct tm tm;
	uint64_t ns;
	bool has_date;
	bool has_zone;
	long offset_s; /* east of Greenwich */
};

/* Exactly n digits. */
static bool digits_take(const char **text, unsigned int n, int *ret_value)
{
	int value = 0;

	for (unsigned int i = 0; i < n; i++) {
		char c = (*text)[i];

		if (c < '0' || c > '9')
			return false;
		value = value * 10 + (c - '0');
	}
	*text += n;
	*ret_value = value;
	return true;
}

static bool char_take(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

static bool date_take(const char **text, struct reading *reading)
{
	int year, month, day;

	if (!digits_take(text, 4, &year) || !char_take(text, '-') || !digits_take(text, 2, &month) ||
	    !char_take(text, '-') || !digits_take(text, 2, &day))
		return false;
	reading->tm.tm_year = year - 1900;
	reading->tm.tm_mon = month - 1;
	reading->tm.tm_mday = day;
	reading->has_date = true;
	return true;
}

static bool fraction_take(const char **text, uint64_t *ret_ns)
{
	uint64_t ns = 0, unit = NSEC_PER_SEC / 10;
	const char *start = *text;

	for (; **text >= '0' && **text <= '9'; (*text)++, unit /= 10)
		ns += unit * (uint64_t)(**text - '0');
	*ret_ns = ns;
	return *text > start && *text - start <= 9;
}

static bool hours_take(const char **text, struct reading *reading)
{
	if (!digits_take(text, 2, &reading->tm.tm_hour) || !char_take(text, ':') ||
	    !digits_take(text, 2, &reading->tm.tm_min))
		return false;
	if (!char_take(text, ':'))
		return true;
	if (!digits_take(text, 2, &reading->tm.tm_sec))
		return false;
	return !char_take(text, '.') || fraction_take(text, &reading->ns);
}

/* "Z", "+02:00", "+0200", "+02"; no text: no zone */
static bool zone_take(const char **text, struct reading *reading)
{
	int hours, minutes = 0, sign;

	if (**text == 0)
		return true;
	reading->has_zone = true;
	if (char_take(text, 'Z') || char_take(text, 'z'))
		return true;
	sign = **text == '-' ? -1 : 1;
	if (!char_take(text, '+') && !char_take(text, '-'))
		return false;
	if (!digits_take(text, 2, &hours))
		return false;
	if (**text && (char_take(text, ':'), !digits_take(text, 2, &minutes)))
		return false;
	reading->offset_s = sign * (hours * 3600L + minutes * 60L);
	return hours <= 23 && minutes <= 59;
}

static bool reading_take(const char *text, struct reading *reading)
{
	bool has_hours = true;

	*reading = (struct reading){ .has_date = false };
	if (strlen(text) > 4 && text[4] == '-') {
		if (!date_take(&text, reading))
			return false;
		has_hours = char_take(&text, ' ') || char_take(&text, 'T') || char_take(&text, 't');
	}
	if (has_hours && !hours_take(&text, reading))
		return false;
	return zone_take(&text, reading) && *text == 0;
}

/* Seconds of the same reading in a zone without rules; -1 where there is no such day or hour. */
static time_t reading_as_utc(const struct reading *reading)
{
	struct tm tm = reading->tm, back;
	time_t seconds = timegm(&tm);

	if (!gmtime_r(&seconds, &back) || back.tm_mday != reading->tm.tm_mday || back.tm_mon != reading->tm.tm_mon ||
	    back.tm_hour != reading->tm.tm_hour || back.tm_min != reading->tm.tm_min ||
	    back.tm_sec != reading->tm.tm_sec || back.tm_year < YEAR_LEAST - 1900 || back.tm_year > YEAR_MOST - 1900)
		return -1;
	return seconds;
}

static long offset_at(time_t seconds)
{
	struct tm tm;

	return localtime_r(&seconds, &tm) ? tm.tm_gmtoff : 0;
}

/* Finds the moment of a clock change: at `low` the clock differs from UTC as at `before_s`, at `high` it does not. */
static time_t change_find(time_t low, time_t high, long before_s)
{
	while (high - low > 1) {
		time_t middle = low + (high - low) / 2;

		if (offset_at(middle) == before_s)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* mktime(3) does not define which of two moments it takes, and does not report that there were two. */
static time_t local_resolve(time_t as_utc, enum clock_note *ret_note)
{
	long before_s = offset_at(as_utc - DAY_SECONDS), after_s = offset_at(as_utc + DAY_SECONDS);
	bool is_before = offset_at(as_utc - before_s) == before_s, is_after = offset_at(as_utc - after_s) == after_s;

	*ret_note = CLOCK_NOTE_NONE;
	if (before_s == after_s)
		return as_utc - before_s;
	if (is_before && is_after)
		*ret_note = CLOCK_NOTE_TWICE;
	if (is_before)
		return as_utc - before_s;
	if (is_after)
		return as_utc - after_s;
	*ret_note = CLOCK_NOTE_SKIPPED;
	return change_find(as_utc - DAY_SECONDS, as_utc + DAY_SECONDS, before_s);
}

static time_t reading_resolve(const struct reading *reading, enum clock_note *ret_note)
{
	time_t as_utc = reading_as_utc(reading);

	*ret_note = CLOCK_NOTE_NONE;
	if (as_utc < 0)
		return -1;
	return reading->has_zone ? as_utc - reading->offset_s : local_resolve(as_utc, ret_note);
}

/* Midnight of the local day, `days` earlier. */
static void date_set(struct reading *reading, time_t now, int days)
{
	time_t shifted = now + reading->offset_s;
	struct tm today = { .tm_mday = 1 }, day;
	time_t noon;

	(void)(reading->has_zone ? gmtime_r(&shifted, &today) : localtime_r(&now, &today));
	today.tm_hour = 12; /* days count from noon: no clock change reaches that far */
	noon = timegm(&today) - (time_t)days * DAY_SECONDS;
	(void)gmtime_r(&noon, &day);
	reading->tm.tm_year = day.tm_year;
	reading->tm.tm_mon = day.tm_mon;
	reading->tm.tm_mday = day.tm_mday;
}

int clock_parse(const char *text, uint64_t now_unix_ns, struct clock_time *ret_time)
{
	time_t now = (time_t)(now_unix_ns / NSEC_PER_SEC);
	struct clock_time found = { 0 };
	struct reading reading;
	enum clock_note note;
	time_t seconds;

	if (strcmp(text, "now") == 0) {
		*ret_time = (struct clock_time){ .unix_ns = now_unix_ns };
		return 0;
	}
	if (!reading_take(text, &reading))
		return -EINVAL;
	if (!reading.has_date)
		date_set(&reading, now, 0);
	seconds = reading_resolve(&reading, &note);
	if (!reading.has_date && seconds >= 0 && (uint64_t)seconds * NSEC_PER_SEC + reading.ns > now_unix_ns) {
		found.today_unix_ns = (uint64_t)seconds * NSEC_PER_SEC + reading.ns;
		found.today_note = note;
		date_set(&reading, now, 1);
		seconds = reading_resolve(&reading, &note);
	}
	if (seconds < 0)
		return -ERANGE;

	found.unix_ns = (uint64_t)seconds * NSEC_PER_SEC + reading.ns;
	found.note = note;
	*ret_time = found;
	return 0;
}

uint64_t clock_now_unix_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* The clocks are put back over it: the same reading occurs a second time. */
static bool is_twice(time_t seconds, const struct tm *tm)
{
	struct tm other = *tm, again;
	time_t at;

	other.tm_isdst = !tm->tm_isdst;
	at = mktime(&other);
	return at != (time_t)-1 && at != seconds && localtime_r(&at, &again) && again.tm_mday == tm->tm_mday &&
	       again.tm_hour == tm->tm_hour && again.tm_min == tm->tm_min && again.tm_sec == tm->tm_sec;
}

struct clock_text clock_text(uint64_t unix_ns, uint64_t near_unix_ns)
{
	time_t seconds = (time_t)(unix_ns / NSEC_PER_SEC), near = (time_t)(near_unix_ns / NSEC_PER_SEC);
	struct tm tm = { .tm_mday = 1 }, today = { .tm_mday = 1 };
	struct clock_text out;
	bool is_today;

	(void)localtime_r(&seconds, &tm);
	(void)localtime_r(&near, &today);
	is_today = tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday;
	if (is_twice(seconds, &tm))
		(void)strftime(out.text, sizeof(out.text), is_today ? "%H:%M:%S %Z" : "%Y-%m-%d %H:%M:%S %Z", &tm);
	else
		(void)strftime(out.text, sizeof(out.text), is_today ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &tm);
	return out;
}

struct clock_span_text clock_span_text(uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t now_unix_ns)
{
	struct clock_span_text out;

	if (from_unix_ns && from_unix_ns / NSEC_PER_SEC == to_unix_ns / NSEC_PER_SEC) {
		(void)snprintf(out.text, sizeof(out.text), "%s", clock_text(from_unix_ns, now_unix_ns).text);
		return out;
	}
	(void)snprintf(out.text, sizeof(out.text), "%s to %s",
		       from_unix_ns ? clock_text(from_unix_ns, now_unix_ns).text : "the beginning",
		       to_unix_ns ? clock_text(to_unix_ns, from_unix_ns ? from_unix_ns : now_unix_ns).text : "now");
	return out;
}

struct clock_text clock_text_exact(uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / NSEC_PER_SEC);
	struct tm tm = { .tm_mday = 1 };
	struct clock_text out;
	char clock[32];
	long minutes;

	(void)localtime_r(&seconds, &tm);
	(void)strftime(clock, sizeof(clock), "%Y-%m-%d %H:%M:%S", &tm);
	minutes = tm.tm_gmtoff / 60;
	(void)snprintf(out.text, sizeof(out.text), "%s.%06u %c%02u:%02u", clock,
		       (unsigned int)(unix_ns % NSEC_PER_SEC / NSEC_PER_USEC), minutes < 0 ? '-' : '+',
		       (unsigned int)(minutes < 0 ? -minutes : minutes) / 60 % 100,
		       (unsigned int)(minutes < 0 ? -minutes : minutes) % 60);
	return out;
}
