// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/param.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/option.h"
#include "base/parse.h"
#include "libingero/answers/window.h"

#define REAL_EXACT_MAX 9007199254740992.0 /* 2^53 */

static int param_refuse(char *error, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int param_refuse(char *error, const char *fmt, ...)
{
	FORMAT_INTO(error, PARAM_ERROR_BYTES, fmt);
	return -EINVAL;
}

static const char *json_kind(const json_t *json)
{
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return "a number with a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		break;
	}
	return "null";
}

static const struct {
	const char *type;  /* of JSON Schema */
	const char *takes; /* completes "takes" */
} kinds[] = {
	[PARAM_TEXT] = { "string", "a string" },
	[PARAM_FLAG] = { "boolean", "true or false" },
	[PARAM_NUMBER] = { "integer", "an integer" },
	[PARAM_DURATION] = { "string", "a duration as a string, such as \"90s\", \"5m\", \"1h30m\" or \"2d\"" },
	[PARAM_TIME] = { "string", "a clock time as a string, such as \"14:03\", \"2026-01-31 14:03:21\" or "
				   "\"2026-01-31T14:03:21Z\"" },
	[PARAM_PID] = { "integer", "the number of a process" },
	[PARAM_PIDS] = { "array", "an array of numbers of processes" },
};

void param_schema_write(const struct param *param, struct writer *w)
{
	writer_open(w, param->name, '{');
	writer_text(w, "type", kinds[param->kind].type);
	writer_text(w, "description", param->help);
	if (param->kind == PARAM_PIDS) {
		writer_raw(w, "items", "{\"type\":\"integer\"}", strlen("{\"type\":\"integer\"}"));
		writer_integer(w, "maxItems", PARAM_PIDS_MAX);
	}
	if (param->kind == PARAM_NUMBER) {
		writer_integer(w, "minimum", (int64_t)param->min);
		if (param->max)
			writer_integer(w, "maximum", (int64_t)param->max);
	}
	if (param->choices) {
		writer_open(w, "enum", '[');
		for (size_t i = 0; param->choices[i]; i++)
			writer_text(w, NULL, param->choices[i]);
		writer_close(w, ']');
	}
	writer_close(w, '}');
}

static int argument_choice_check(const struct param *param, const char *text, char *error)
{
	char list[256] = "";

	for (size_t i = 0; param->choices[i]; i++) {
		if (strcmp(param->choices[i], text) == 0)
			return 0;
		(void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			       param->choices[i]);
	}
	return param_refuse(error, "'%s' takes one of %s, not %s", param->name, list, option_quote(text).text);
}

static int argument_text_read(const struct param *param, const char *text, void *field, char *error)
{
	uint64_t now_unix_ns = clock_now_unix_ns();
	int r;

	switch (param->kind) {
	case PARAM_DURATION:
		r = window_since_parse(text, field);
		if (r == -EDOM)
			return param_refuse(error,
					    "'%s' %s covers no time; take a duration such as \"5m\", or leave it out",
					    param->name, option_quote(text).text);
		if (r == 0)
			return 0;
		break;
	case PARAM_TIME:
		if (clock_parse(text, now_unix_ns, field) == 0)
			return 0;
		break;
	case PARAM_TEXT:
		if (param->choices && argument_choice_check(param, text, error) < 0)
			return -EINVAL;
		if (!*text)
			return param_refuse(error,
					    param->is_required ? "'%s' is empty; give a value"
							       : "'%s' is empty; leave it out, or give a value",
					    param->name);
		memcpy(field, &text, sizeof(text));
		return 0;
	case PARAM_FLAG:
	case PARAM_NUMBER:
	case PARAM_PID:
	case PARAM_PIDS:
		break;
	}
	return param_refuse(error, "'%s' takes %s, not %s", param->name, kinds[param->kind].takes,
			    option_quote(text).text);
}

/* To JSON Schema 29207.0 is an integer, too. Beyond 2^53 a fraction would not show. */
static bool is_integer(const json_t *json)
{
	double value = json_real_value(json);

	return json_is_integer(json) || (json_is_real(json) && value >= -REAL_EXACT_MAX && value <= REAL_EXACT_MAX &&
					 value == (double)(json_int_t)value);
}

static json_int_t integer_of(const json_t *json)
{
	return json_is_integer(json) ? json_integer_value(json) : (json_int_t)json_real_value(json);
}

static int argument_number_read(const struct param *param, const json_t *json, uint64_t min, uint64_t max,
				uint64_t *ret, char *error)
{
	json_int_t value = integer_of(json);

	if (value < 0 || (uint64_t)value < min || (max && (uint64_t)value > max)) {
		if (max)
			return param_refuse(error, "'%s' takes a number from %" PRIu64 " to %" PRIu64 ", not %lld",
					    param->name, min, max, (long long)value);
		return param_refuse(error, "'%s' takes a number from %" PRIu64 ", not %lld", param->name, min,
				    (long long)value);
	}
	*ret = (uint64_t)value;
	return 0;
}

static int pid_add(const struct param *param, const json_t *json, struct param_pids *pids, char *error)
{
	uint64_t pid = 0;

	if (!is_integer(json))
		return param_refuse(error, "'%s' takes %s; one of them is %s", param->name, kinds[param->kind].takes,
				    json_kind(json));
	if (argument_number_read(param, json, 1, PARSE_PID_MAX, &pid, error) < 0)
		return -EINVAL;
	if (pids->n == PARAM_PIDS_MAX)
		return param_refuse(error, "at most %d processes can be asked for at once", PARAM_PIDS_MAX);
	pids->items[pids->n++] = (uint32_t)pid;
	return 0;
}

int param_read(const struct param *param, const json_t *json, void *arguments, char *error)
{
	void *field = (char *)arguments + param->field;
	int r = 0;

	if (json_is_string(json) && strcmp(kinds[param->kind].type, "string") == 0)
		return argument_text_read(param, json_string_value(json), field, error);
	if (json_is_boolean(json) && param->kind == PARAM_FLAG) {
		*(bool *)field = json_is_true(json);
		return 0;
	}
	if (is_integer(json) && param->kind == PARAM_NUMBER)
		return argument_number_read(param, json, param->min, param->max, field, error);
	if (is_integer(json) && param->kind == PARAM_PID)
		return pid_add(param, json, field, error);
	if (json_is_array(json) && param->kind == PARAM_PIDS) {
		for (size_t i = 0; r == 0 && i < json_array_size(json); i++)
			r = pid_add(param, json_array_get(json, i), field, error);
		return r;
	}
	return param_refuse(error, "'%s' takes %s, not %s", param->name, kinds[param->kind].takes, json_kind(json));
}
