// SPDX-License-Identifier: Apache-2.0
/* Texts of strangers: whatever they hold, nothing hidden, no mark of the frame and nothing that reads like one is left,
 * and cleaning twice is as once. */
#include "mcp-server/untrusted.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "mcp-server/look_alike.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

/* Letters and brackets as a reader sees them, all else left out. */
static void look_check(struct buf *out)
{
	CLEANUP(buf_done) struct buf seen = BUF_INIT;
	const char *text = buf_text(out);
	uint32_t code;

	for (size_t n = out->n, taken; n > 0; n -= taken, text += taken) {
		char letter;

		taken = utf8_decode(text, n, &code);
		letter = look_alike_fold(code);
		if (letter != LOOK_ALIKE_FILLER)
			(void)buf_append(&seen, &letter, 1);
	}
	REQUIRE(!strstr(buf_text(&seen), "[traceddata]"));
}

static void clean_check(struct buf *out)
{
	const char *text = buf_text(out);
	size_t n_characters = 0, taken;
	uint32_t code;

	REQUIRE(!strcasestr(text, UNTRUSTED_BEGIN) && !strcasestr(text, UNTRUSTED_END));
	for (size_t n = out->n; n > 0; n -= taken, text += taken, n_characters++) {
		REQUIRE(utf8_length(text, n) > 0);
		taken = utf8_decode(text, n, &code);
		REQUIRE(code >= ' ' && !utf8_is_control(code) && !untrusted_is_hidden(code));
	}
	REQUIRE(n_characters <= UNTRUSTED_CHARACTERS_MAX + 1);
	look_check(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(buf_done) struct buf once = BUF_INIT, twice = BUF_INIT;

	untrusted_append(&once, (const char *)data, n);
	clean_check(&once);
	untrusted_append(&twice, buf_text(&once), once.n);
	clean_check(&twice);
	REQUIRE(once.n > 3 * UNTRUSTED_CHARACTERS_MAX || strcmp(buf_text(&once), buf_text(&twice)) == 0 ||
		strstr(buf_text(&once), "\xe2\x80\xa6"));
	return 0;
}
