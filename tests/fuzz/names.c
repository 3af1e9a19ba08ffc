// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a file whose addresses are named, through the entry that the parser child uses. Beyond what the
 * sanitizers see, an answer that the daemon would refuse is a failure.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "children/child_role.h"
#include "children/elf_names.h"
#include "children/symbol_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static _Alignas(max_align_t) uint8_t answer[CHILD_ANSWER_MAX];

static void text_check(const char *texts, size_t n, uint32_t place)
{
	static char copy[CHILD_ANSWER_MAX];
	size_t length = place < n ? strnlen(texts + place, n - place) : n;

	if (place >= n || length == n - place || length >= SYMBOL_TEXT_BYTES)
		abort();
	memcpy(copy, texts + place, length + 1);
	if (utf8_scrub(copy))
		abort();
}

static void answer_check(const struct parser_names_question *q, ssize_t n)
{
	const struct parser_names *head = (const struct parser_names *)answer;
	const struct parser_name *names = (const struct parser_name *)(head + 1);
	const char *texts = (const char *)(names + head->n);

	if (n < (ssize_t)sizeof(*head) || head->result >= PARSER_RESULT_COUNT ||
	    head->n_build_id > PARSER_BUILD_ID_BYTES || !memchr(head->debug_link, 0, sizeof(head->debug_link)))
		abort();
	if (head->result != PARSER_OK)
		return;
	if (head->n == 0 || head->n > q->n || texts[0] ||
	    (size_t)n != sizeof(*head) + head->n * sizeof(*names) + head->n_text)
		abort();
	for (uint32_t i = 0; i < head->n; i++) {
		text_check(texts, head->n_text, names[i].symbol);
		text_check(texts, head->n_text, names[i].file);
		if ((!names[i].symbol && names[i].offset) || !names[i].file != !names[i].line)
			abort();
		if (!names[i].address && (names[i].symbol || names[i].file))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct parser_names_question q = { .kind = PARSER_ASK_NAMES, .n = 32, .file_bytes = n };
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)n) < 0 || (n && pwrite(fd, data, n, 0) != (ssize_t)n))
		abort();
	for (q.is_address = 0; q.is_address < 2; q.is_address++) {
		for (uint32_t i = 0; i < q.n; i++)
			q.at[i] = i * (n / q.n + 1);
		answer_check(&q, elf_names_answer(&q, sizeof(q), fd, answer, sizeof(answer)));
	}
	elf_names_forget();
	return 0;
}
