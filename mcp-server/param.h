// SPDX-License-Identifier: Apache-2.0
/*
 * Arguments of tools are rows, as options of commands are: a row gives the input schema, the check of what came, and
 * the field that it is bound to. A refusal is one sentence for the model, with the way out.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libingero/answers/time.h"
#include "mcp-server/writer.h"

enum param_kind {
	PARAM_TEXT,	/* const char *; one of .choices, if it has some */
	PARAM_FLAG,	/* bool */
	PARAM_NUMBER,	/* uint64_t */
	PARAM_DURATION, /* uint64_t, ns, more than 0: "5m" */
	PARAM_TIME,	/* struct clock_time: "14:03" */
	PARAM_PID,	/* struct param_pids: one number */
	PARAM_PIDS,	/* struct param_pids: an array */
};

#define PARAM_PIDS_MAX 64

struct param_pids {
	uint32_t items[PARAM_PIDS_MAX];
	size_t n;
};

struct param {
	const char *name;
	enum param_kind kind;
	const char *help;  /* one sentence without the final stop */
	size_t field;	   /* offsetof() in the struct of the tool's arguments */
	uint64_t min, max; /* NUMBER; max 0: no limit */
	bool is_required;
	const char *const *choices; /* NULL-terminated */
};

/* A row of a tool whose arguments are a struct ARGUMENTS. */
#define PARAM_ROW(kind_, name_, member, help_, ...)                                                                    \
	{                                                                                                              \
		.name = name_, .kind = PARAM_##kind_, .field = offsetof(ARGUMENTS, member), .help = help_, __VA_ARGS__ \
	}

#define PARAM_ERROR_BYTES 512

/** param_schema_write() - append the row as a property of an input schema */
void param_schema_write(const struct param *param, struct writer *w);
/**
 * param_read() - read the value of an argument into its field
 * @json: borrowed, as texts are that go to the field
 * @error: PARAM_ERROR_BYTES
 * Return: 0, or -EINVAL with the sentence
 */
int param_read(const struct param *param, const json_t *json, void *arguments, char *error);
