// SPDX-License-Identifier: Apache-2.0
#include "events/decode.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

int main(void)
{
	static const struct call_record good = {
		.type = RECORD_CALL, .op = 3, .comm = "train", .args = { 11, 12, 13 }
	};
	static const struct life_record life = { .type = RECORD_EXIT, .comm = "train" };
	static const struct {
		const char *name;
		size_t n;
		uint8_t type;
		uint16_t op;
		bool is_unterminated;
		enum decode_result expect;
	} calls[] = {
		{ "good", sizeof(good), RECORD_CALL, 3, false, DECODE_OK },
		{ "longer, of a later version", sizeof(good) + 8, RECORD_CALL, 3, false, DECODE_OK },
		{ "of two arguments", CALL_RECORD_SHORT, RECORD_CALL, 3, false, DECODE_OK },
		{ "cut short", CALL_RECORD_SHORT - 1, RECORD_CALL, 3, false, DECODE_SHORT },
		{ "nothing", 0, RECORD_CALL, 3, false, DECODE_SHORT },
		{ "a file", sizeof(good), RECORD_FILE, 3, false, DECODE_UNKNOWN_TYPE },
		{ "of the other ring", sizeof(good), RECORD_EXIT, 3, false, DECODE_UNKNOWN_TYPE },
		{ "no such operation", sizeof(good), RECORD_CALL, OP_ID_MAX - 1, false, DECODE_UNKNOWN_OP },
		{ "operation out of range", sizeof(good), RECORD_CALL, 255, false, DECODE_UNKNOWN_OP },
		{ "name without end", sizeof(good), RECORD_CALL, 3, true, DECODE_NOT_TEXT },
	};
	static const struct {
		const char *name;
		size_t n;
		uint8_t type;
		uint32_t n_bytes, end; /* where its text has a NUL */
		enum decode_result expect;
	} files[] = {
		{ "a path", FILE_RECORD_HEAD + 8, RECORD_FILE, 8, 7, DECODE_OK },
		{ "padded", FILE_RECORD_HEAD + 8, RECORD_FILE, 5, 4, DECODE_OK },
		{ "the root", FILE_RECORD_HEAD, RECORD_FILE, 0, 0, DECODE_OK },
		{ "the longest", sizeof(struct file_record), RECORD_FILE, FILE_PATH_BYTES, FILE_PATH_BYTES - 1,
		  DECODE_OK },
		{ "longer than it is", FILE_RECORD_HEAD + 8, RECORD_FILE, 9, 8, DECODE_SHORT },
		{ "longer than any", sizeof(struct file_record), RECORD_FILE, FILE_PATH_BYTES + 1, 0, DECODE_SHORT },
		{ "of no end", sizeof(struct file_record), RECORD_FILE, UINT32_MAX, 0, DECODE_SHORT },
		{ "cut short", FILE_RECORD_HEAD - 1, RECORD_FILE, 0, 0, DECODE_SHORT },
		{ "nothing", 0, RECORD_FILE, 0, 0, DECODE_SHORT },
		{ "without its NUL", FILE_RECORD_HEAD + 8, RECORD_FILE, 8, 6, DECODE_NOT_TEXT },
		{ "a call", sizeof(struct file_record), RECORD_CALL, 8, 7, DECODE_UNKNOWN_TYPE },
		{ "of the other ring", sizeof(struct file_record), RECORD_EXIT, 8, 7, DECODE_UNKNOWN_TYPE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct {
			struct call_record record;
			char more[8];
		} bytes = { .record = good };
		struct call_record got = { .type = RECORD_NONE };

		bytes.record.type = calls[i].type;
		bytes.record.op = calls[i].op;
		if (calls[i].is_unterminated)
			memset(bytes.record.comm, 'x', sizeof(bytes.record.comm));
		CHECK_INT_EQ(calls[i].name, decode_call(&bytes, calls[i].n, &got), calls[i].expect);
		CHECK_INT_EQ(calls[i].name, got.type, calls[i].expect == DECODE_OK ? RECORD_CALL : RECORD_NONE);
		CHECK_INT_EQ(calls[i].name, got.args[1], got.type ? 12 : 0);
		CHECK_INT_EQ(calls[i].name, got.args[2], got.type && calls[i].n >= sizeof(good) ? 13 : 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct file_record record = { .type = files[i].type, .n_bytes = files[i].n_bytes, .comm = "train" };
		const struct file_record *got = NULL;

		memset(record.text, 'x', sizeof(record.text));
		if (files[i].end < sizeof(record.text))
			record.text[files[i].end] = '\0';
		CHECK_INT_EQ(files[i].name, decode_file(&record, files[i].n, &got), files[i].expect);
		CHECK(files[i].name, (got == &record) == (files[i].expect == DECODE_OK));
	}
	for (int type = 0; type < 256; type++) {
		struct life_record record = life;
		const struct life_record *got;
		bool known = type >= RECORD_EXEC && type <= RECORD_OOM;

		record.type = (uint8_t)type;
		CHECK_INT_EQ("life by type", decode_life(&record, sizeof(record), &got),
			     known ? DECODE_OK : DECODE_UNKNOWN_TYPE);
	}
	{
		struct life_record record = life;
		const struct life_record *got;

		record.type = RECORD_OOM;
		memset(record.oom.by_comm, 'x', sizeof(record.oom.by_comm));
		CHECK_INT_EQ("name without end", decode_life(&record, sizeof(record), &got), DECODE_NOT_TEXT);
		CHECK_INT_EQ("cut short", decode_life(&life, sizeof(life) - 1, &got), DECODE_SHORT);
	}
	return check_result();
}
