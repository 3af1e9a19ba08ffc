// SPDX-License-Identifier: Apache-2.0
/*
 * Calls from functions that libraries of the distribution call back: code that was compiled elsewhere, without frame
 * pointers.
 */
#define ZSTD_STATIC_LINKING_ONLY
#include <jansson.h>
#include <openssl/bn.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>
#include <yaml.h>
#include <zstd.h>

#include "callers.h"

#define PRIME_BITS 128
#define PRIME_STEPS 3

static CALLERS_NOINLINE void call_here(void)
{
	CALLERS_CALL();
	CALLERS_STAYS();
}

static void sqlite_function(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	call_here();
	sqlite3_result_value(context, values[0]);
}

static int sqlite_row(void *data, int n, char **texts, char **names)
{
	(void)data;
	(void)n;
	(void)texts;
	(void)names;
	call_here();
	return 0;
}

static void by_sqlite(void)
{
	sqlite3 *db = NULL;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
	    sqlite3_create_function(db, "f", 1, SQLITE_UTF8, NULL, sqlite_function, NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(db, "WITH t(a) AS (VALUES (1), (2)) SELECT f(a) FROM t ORDER BY f(-a)", sqlite_row, NULL,
			 NULL) != SQLITE_OK)
		callers_failed("%s", sqlite3_errmsg(db));
	(void)sqlite3_close(db);
}

static void uv_tick(uv_timer_t *timer)
{
	call_here();
	uv_close((uv_handle_t *)timer, NULL);
}

static void uv_work(uv_work_t *work)
{
	callers_shape("debian_uv", CALLERS_COMPLETE, 0);
	(void)work;
	call_here();
}

static void uv_after(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
	call_here();
}

static void by_uv(void)
{
	uv_timer_t timer;
	uv_work_t work;
	uv_loop_t loop;

	(void)uv_loop_init(&loop);
	(void)uv_timer_init(&loop, &timer);
	(void)uv_timer_start(&timer, uv_tick, 0, 0);
	(void)uv_queue_work(&loop, &work, uv_work, uv_after);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&loop);
}

static void *zstd_allocate(void *data, size_t n)
{
	(void)data;
	call_here();
	return malloc(n);
}

static void zstd_free(void *data, void *memory)
{
	(void)data;
	free(memory);
}

static void by_zstd(void)
{
	const ZSTD_customMem memory = { zstd_allocate, zstd_free, NULL };
	ZSTD_CCtx *context = ZSTD_createCCtx_advanced(memory);
	char from[1000] = { 0 }, to[2000];

	if (ZSTD_isError(ZSTD_compressCCtx(context, to, sizeof(to), from, sizeof(from), 1)))
		callers_failed("not compressed");
	(void)ZSTD_freeCCtx(context);
}

static int crypto_step(int event, int n, BN_GENCB *callback)
{
	unsigned int *n_left = BN_GENCB_get_arg(callback);

	(void)event;
	(void)n;
	if (*n_left) {
		call_here();
		--*n_left;
	}
	return 1;
}

static void by_crypto(void)
{
	BN_GENCB *callback = BN_GENCB_new();
	BIGNUM *number = BN_new();
	unsigned int n_left = PRIME_STEPS;

	BN_GENCB_set(callback, crypto_step, &n_left);
	if (!BN_generate_prime_ex(number, PRIME_BITS, 0, NULL, NULL, callback))
		callers_failed("no prime");
	BN_free(number);
	BN_GENCB_free(callback);
}

static int yaml_piece(void *data, unsigned char *buffer, size_t size, size_t *ret_n)
{
	static const char text[] = "a: [1, 2]\n";
	bool *is_over = data;

	call_here();
	*ret_n = *is_over ? 0 : sizeof(text) - 1;
	if (size >= *ret_n)
		memcpy(buffer, text, *ret_n);
	*is_over = true;
	return 1;
}

static void by_yaml(void)
{
	bool is_over = false;
	yaml_document_t document;
	yaml_parser_t parser;

	if (!yaml_parser_initialize(&parser))
		return callers_failed("no parser");
	yaml_parser_set_input(&parser, yaml_piece, &is_over);
	if (yaml_parser_load(&parser, &document))
		yaml_document_delete(&document);
	yaml_parser_delete(&parser);
}

static int json_piece(const char *text, size_t n, void *data)
{
	(void)text;
	(void)n;
	(void)data;
	call_here();
	return 0;
}

static void by_jansson(void)
{
	json_t *object = json_pack("{s:[i, i], s:{s:b}}", "numbers", 1, 2, "object", "is", 1);

	(void)json_dump_callback(object, json_piece, NULL, JSON_INDENT(1));
	json_decref(object);
}

const struct callers_row callers_debian[] = {
	{ "debian_sqlite", by_sqlite, CALLERS_COMPLETE, 0 },
	{ "debian_uv", by_uv, CALLERS_COMPLETE, 0 },
	{ "debian_zstd", by_zstd, CALLERS_COMPLETE, 0 },
	{ "debian_crypto", by_crypto, CALLERS_COMPLETE, 0 },
	{ "debian_yaml", by_yaml, CALLERS_COMPLETE, 0 },
	{ "debian_jansson", by_jansson, CALLERS_COMPLETE, 0 },
	{ .name = NULL },
};
