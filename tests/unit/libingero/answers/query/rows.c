// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of a SELECT in each form: aligned, with tabs, as JSON; texts that would break a
 * line, numbers at their ends, names that come twice, answers without rows.
 */
#include "libingero/answers/query/rows.h"

#include <errno.h>
#include <locale.h>
#include <math.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define COLUMNS 3
#define ROWS 2

struct cell {
	Ingero__V1__SqlValue__ValueCase kind;
	int64_t integer;
	double real;
	const char *text;
	size_t n; /* of a blob */
};
#define INTEGER(v)                                                                                                     \
	{                                                                                                              \
		.kind = INGERO__V1__SQL_VALUE__VALUE_INTEGER, .integer = (v)                                           \
	}
#define REAL(v)                                                                                                        \
	{                                                                                                              \
		.kind = INGERO__V1__SQL_VALUE__VALUE_REAL, .real = (v)                                                 \
	}
#define TEXT(v)                                                                                                        \
	{                                                                                                              \
		.kind = INGERO__V1__SQL_VALUE__VALUE_TEXT, .text = (v)                                                 \
	}
#define BLOB(v)                                                                                                        \
	{                                                                                                              \
		.kind = INGERO__V1__SQL_VALUE__VALUE_BLOB, .text = (v), .n = sizeof(v) - 1                             \
	}
#define NOTHING                                                                                                        \
	{                                                                                                              \
		.kind = INGERO__V1__SQL_VALUE__VALUE__NOT_SET                                                          \
	}

static const struct {
	const char *name;
	const char *columns[COLUMNS];
	size_t n_rows;
	struct cell cells[ROWS][COLUMNS];
	const char *table, *lines, *json;
} cases[] = {
	{ "numbers right, texts left",
	  { "op", "n", "last" },
	  2,
	  { { TEXT("cudaMalloc"), INTEGER(7), TEXT("x") }, { TEXT("cuInit"), INTEGER(12345), TEXT("longer") } },
	  "op              n  last\ncudaMalloc      7  x\ncuInit      12345  longer\n",
	  "op\tn\tlast\ncudaMalloc\t7\tx\ncuInit\t12345\tlonger\n",
	  "{\"op\":\"cudaMalloc\",\"n\":7,\"last\":\"x\"}\n{\"op\":\"cuInit\",\"n\":12345,\"last\":\"longer\"}\n" },
	{ "nothing and empty differ",
	  { "a", "b", "c" },
	  1,
	  { { NOTHING, TEXT(""), NOTHING } },
	  "a  b  c\n       \n",
	  "a\tb\tc\n\\N\t\t\\N\n",
	  "{\"a\":null,\"b\":\"\",\"c\":null}\n" },
	{ "ends of numbers",
	  { "least", "most", "real" },
	  2,
	  { { INTEGER(INT64_MIN), INTEGER(INT64_MAX), REAL(0.1) }, { INTEGER(0), INTEGER(1), REAL(NAN) } },
	  "               least                 most  real\n"
	  "-9223372036854775808  9223372036854775807   0.1\n"
	  "                   0                    1  null\n",
	  "least\tmost\treal\n-9223372036854775808\t9223372036854775807\t0.1\n0\t1\tnull\n",
	  "{\"least\":-9223372036854775808,\"most\":9223372036854775807,\"real\":0.1}\n"
	  "{\"least\":0,\"most\":1,\"real\":null}\n" },
	{ "what would break a line or steer a terminal",
	  { "a", "b", "c" },
	  1,
	  { { TEXT("x\ty\nz"), TEXT("back\\slash\r"), TEXT("\x1b[31mred\"") } },
	  "a      b            c\nx?y?z  back\\slash?  ?[31mred\"\n",
	  "a\tb\tc\nx\\ty\\nz\tback\\\\slash\\r\t\x1b[31mred\"\n",
	  "{\"a\":\"x\\u0009y\\u000az\",\"b\":\"back\\\\slash\\u000d\",\"c\":\"\\u001b[31mred\\\"\"}\n" },
	{ "wide characters, bytes",
	  { "µ", "blob", "z" },
	  1,
	  { { TEXT("▲▲"), BLOB("\x00\xff\x10"), INTEGER(1) } },
	  "µ   blob    z\n▲▲  00ff10  1\n",
	  "µ\tblob\tz\n▲▲\t00ff10\t1\n",
	  "{\"µ\":\"▲▲\",\"blob\":\"00ff10\",\"z\":1}\n" },
	{ "a name twice",
	  { "n", "n", "n" },
	  1,
	  { { INTEGER(1), INTEGER(2), INTEGER(3) } },
	  "n  n  n\n1  2  3\n",
	  "n\tn\tn\n1\t2\t3\n",
	  "{\"n\":1,\"n_2\":2,\"n_3\":3}\n" },
	{ "no rows", { "op", "count(*)", "x" }, 0, { { NOTHING } }, "op  count(*)  x\n", "op\tcount(*)\tx\n", "" },
};

/* Everything one message points at. */
struct message {
	Ingero__V1__SqlReply reply;
	Ingero__V1__SqlRow rows[ROWS], *row_list[ROWS];
	Ingero__V1__SqlValue values[ROWS][COLUMNS], *value_list[ROWS][COLUMNS];
	char *columns[COLUMNS];
};

static const Ingero__V1__SqlReply *message_make(struct message *m, size_t i, bool has_columns, size_t from, size_t n)
{
	m->reply = (Ingero__V1__SqlReply)INGERO__V1__SQL_REPLY__INIT;
	for (size_t k = 0; k < COLUMNS; k++)
		m->columns[k] = (char *)(uintptr_t)cases[i].columns[k];
	m->reply.columns = m->columns;
	m->reply.n_columns = has_columns ? COLUMNS : 0;
	m->reply.rows = m->row_list;
	m->reply.n_rows = n;
	for (size_t row = 0; row < n; row++) {
		m->rows[row] = (Ingero__V1__SqlRow)INGERO__V1__SQL_ROW__INIT;
		m->row_list[row] = &m->rows[row];
		m->rows[row].values = m->value_list[row];
		m->rows[row].n_values = COLUMNS;
		for (size_t k = 0; k < COLUMNS; k++) {
			const struct cell *cell = &cases[i].cells[from + row][k];
			Ingero__V1__SqlValue *value = &m->values[row][k];

			*value = (Ingero__V1__SqlValue)INGERO__V1__SQL_VALUE__INIT;
			m->value_list[row][k] = value;
			value->value_case = cell->kind;
			if (cell->n) {
				value->blob.data = (uint8_t *)(uintptr_t)cell->text;
				value->blob.len = cell->n;
			} else if (cell->text) {
				value->text = (char *)(uintptr_t)cell->text;
			} else if (cell->kind == INGERO__V1__SQL_VALUE__VALUE_REAL) {
				value->real = cell->real;
			} else {
				value->integer = cell->integer;
			}
		}
	}
	return &m->reply;
}

static void form_test(size_t i, enum rows_form form, const char *want)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	CLEANUP(rows_done) struct rows rows = ROWS_INIT(form);
	static struct message m;

	rows.style = (struct text_style){ .is_utf8 = true, .columns = 80 };
	/* The columns alone, as a slow query may send them first. */
	CHECK_INT_EQ(cases[i].name, rows_take(&rows, message_make(&m, i, true, 0, 0), &out), 0);
	CHECK_INT_EQ(cases[i].name, rows_take(&rows, message_make(&m, i, false, 0, cases[i].n_rows), &out), 0);
	CHECK_INT_EQ(cases[i].name, rows_end(&rows, &out), 0);
	CHECK_STR_EQ(cases[i].name, buf_text(&out), want);
	CHECK_INT_EQ(cases[i].name, rows.n, cases[i].n_rows);
}

/* A table that a terminal would break anywhere is none. */
static void narrow_test(void)
{
	static const struct {
		unsigned int columns;
		const char *want;
	} narrow[] = {
		{ 25, "op              n  last\ncudaMalloc      7  x\ncuInit      12345  longer\n" },
		{ 24, "op    cudaMalloc\nn     7\nlast  x\n\nop    cuInit\nn     12345\nlast  longer\n\n" },
	};

	for (size_t k = 0; k < ARRAY_SIZE(narrow); k++) {
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		CLEANUP(rows_done) struct rows rows = ROWS_INIT(ROWS_TABLE);
		static struct message m;

		rows.style = (struct text_style){ .is_utf8 = true, .columns = narrow[k].columns };
		CHECK_INT_EQ("narrow", rows_take(&rows, message_make(&m, 0, true, 0, 2), &out), 0);
		CHECK_INT_EQ("narrow", rows_end(&rows, &out), 0);
		CHECK_STR_EQ("narrow", buf_text(&out), narrow[k].want);
	}
}

static void pieces_test(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	CLEANUP(rows_done) struct rows rows = ROWS_INIT(ROWS_TABLE);
	static struct message m;

	rows.style = (struct text_style){ .is_utf8 = true, .columns = 80 };
	CHECK_INT_EQ("pieces", rows_take(&rows, message_make(&m, 0, true, 0, 1), &out), 0);
	CHECK_STR_EQ("the first comes at once", buf_text(&out), "op          n  last\ncudaMalloc  7  x\n");
	buf_consume(&out, out.n);
	(void)message_make(&m, 0, false, 1, 1);
	m.reply.is_cut = 1;
	CHECK_INT_EQ("pieces", rows_take(&rows, &m.reply, &out), 0);
	CHECK_STR_EQ("what is wider is whole", buf_text(&out), "cuInit      12345  longer\n");
	CHECK("cut", rows.is_cut);

	(void)message_make(&m, 0, false, 1, 1);
	m.rows[0].n_values = 2;
	CHECK_INT_EQ("a row too short", rows_take(&rows, &m.reply, &out), -EPROTO);
}

int main(void)
{
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		form_test(i, ROWS_TABLE, cases[i].table);
		form_test(i, ROWS_LINES, cases[i].lines);
		form_test(i, ROWS_JSON, cases[i].json);
	}
	narrow_test();
	pieces_test();
	return check_result();
}
