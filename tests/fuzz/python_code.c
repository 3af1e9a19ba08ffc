// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as the copy of a code object: the first byte is the version, the next ones the sizes of its parts. Beyond
 * what the sanitizers see, an answer that the daemon would refuse is a failure.
 */
#include <string.h>

#include "base/cleanup.h"
#include "bpf/stack_record.h"
#include "children/python_code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define HEAD 12

static void answer_check(const struct parser_code *a, size_t n)
{
	const struct parser_code_line *lines = (const struct parser_code_line *)(a + 1);
	const char *texts = (const char *)(lines + a->n_lines);

	if (a->n_lines > PARSER_CODE_LINES_MAX || n != sizeof(*a) + a->n_lines * sizeof(lines[0]) + a->n_text)
		abort();
	if (!a->n_text || texts[0] || texts[a->n_text - 1] || a->name >= a->n_text || a->qualname >= a->n_text ||
	    a->file >= a->n_text)
		abort();
	for (uint32_t i = 0; i < a->n_lines; i++)
		if ((i && lines[i].from <= lines[i - 1].from) || lines[i].from >= a->end || lines[i].line > INT32_MAX)
			abort();
	for (uint32_t i = 0; i < a->n_text; i++)
		if (texts[i] && ((uint8_t)texts[i] < ' ' || texts[i] == 127))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static union {
		struct parser_code code;
		uint8_t room[PYTHON_CODE_ANSWER_MAX];
	} answer;
	CLEANUP(freep) struct code_record *record = NULL;
	size_t n_answer;

	if (n < HEAD)
		return 0;
	record = calloc(1, sizeof(*record) + n - HEAD);
	if (!record)
		abort();
	record->minor = data[0];
	memcpy(&record->first_line, data + 1, sizeof(record->first_line));
	record->n_name = data[5];
	record->n_qualname = data[6];
	record->n_file = data[7];
	record->n_lines = (uint32_t)data[8] << 8 | data[9];
	record->n_lines_all = record->n_lines + data[10];
	memcpy(record->bytes, data + HEAD, n - HEAD);
	n_answer = python_code_read(record, sizeof(*record) + n - HEAD, &answer, sizeof(answer));
	if (answer.code.result == PARSER_OK)
		answer_check(&answer.code, n_answer);
	else if (n_answer != sizeof(answer.code))
		abort();
	return 0;
}
