// SPDX-License-Identifier: Apache-2.0
/*
 * A tool is a row: its name, when to use it and when not, its arguments, the members of its answer, what may be left
 * out of it, and the function that asks libingero. One more tool is a file in mcp-server/tools/ and its word in
 * mcp-server/tools/list.h: schemas, checks, framing and budget come from the row.
 */
#pragma once

#include "mcp-server/answer.h"
#include "mcp-server/param.h"
#include "mcp-server/rpc.h"

#define TOOL_TOKENS_DEFAULT 1500
#define TOOL_TOKENS_MIN 200
#define TOOL_TOKENS_MAX 50000

/* One running tool. */
struct tool_call {
	struct rpc_call *rpc;
	const void *arguments; /* the struct of the tool's rows */
};

/* A member of the answer. */
struct tool_member {
	const char *name;
	const char *type; /* of JSON Schema */
	const char *help;
};

struct tool {
	const char *name;
	const char *title;
	const char *description; /* when to use it, and when not */
	const struct param *params;
	size_t n_params;
	size_t arguments_bytes;
	const struct tool_member *members;
	size_t n_members;
	const struct answer_shape *shape; /* NULL: everything is always shown */
	uint64_t tokens;		  /* budget of an answer unless the caller names one; 0: TOOL_TOKENS_DEFAULT */
	bool starts_work;		  /* it does more than to read */
	/* Return: 0 with a body; answer_fail(); or -errno */
	int (*run)(const struct tool_call *call, struct answer *answer);
	/* Of fixtures (mcp-server/fixtures/), instead: writes the members of the result. Return: 0, or rpc_fail() */
	int (*write)(struct rpc_call *call, struct writer *result);
	const char *input_schema; /* of fixtures, in place of the rows' */
};

/** tool_get() - Return: the i-th row in the order of the list, NULL after the last */
const struct tool *tool_get(size_t i);
/** tool_find() - Return: the row, or NULL */
const struct tool *tool_find(const char *name);
/** tool_write() - append the row as tools/list shows it */
void tool_write(const struct tool *tool, struct writer *w);
/**
 * tool_arguments_read() - check arguments, and read them into a struct of the tool
 * @json: an object, or NULL
 * @fields: tool->arguments_bytes of zeroes
 * @ret: gets the budget, whether details are asked for, and the sentence of a refusal
 * Return: 0 or -EINVAL
 */
int tool_arguments_read(const struct tool *tool, const json_t *json, void *fields, struct answer *ret);
/**
 * tool_connect() - the connection that reads the recording
 * Return: NULL with the answer failed, or the connection
 */
struct ingero *tool_connect(const struct tool_call *call, struct answer *answer);
/** tool_asked() - of a question that returned r: 0, or answer_fail() with the reason */
int tool_asked(struct ingero *ingero, int r, struct answer *answer);
/**
 * tool_delegate() - answer as another tool does
 * @arguments: an object, of that tool
 * Return: as its function
 */
int tool_delegate(const struct tool_call *call, const char *name, const json_t *arguments, struct answer *answer);
/** tool_delegate_sql() - answer with the rows of a SELECT, as run_sql does */
int tool_delegate_sql(const struct tool_call *call, const char *sql, uint64_t limit, struct answer *answer);
