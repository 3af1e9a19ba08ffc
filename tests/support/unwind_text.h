// SPDX-License-Identifier: Apache-2.0
/* Rules of unwinding as text: "sp+16 bp@24": the CFA, then how far below it the caller's frame pointer is saved. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bpf/stack_record.h"

#define UNWIND_TEXT_BYTES 64

static inline void unwind_side_text(const struct unwind_side *side, char *text)
{
	const char *base = side->is_frame ? "bp" : "sp";
	int n = side->is_deref ? snprintf(text, UNWIND_TEXT_BYTES, "*(%s%+d)%+d", base, side->base_offset, side->add)
			       : snprintf(text, UNWIND_TEXT_BYTES, "%s%+d", base, side->base_offset);

	text += n;
	if (side->is_frame_at_base)
		(void)snprintf(text, UNWIND_TEXT_BYTES - (size_t)n, " bp@%s%+d", base, side->frame_offset);
	else if (side->frame_offset)
		(void)snprintf(text, UNWIND_TEXT_BYTES - (size_t)n, " bp@%d", side->frame_offset);
}

/* A rule that no answer may have ends the program. */
static inline void unwind_rule_text(uint32_t rule, const struct unwind_side *sides, uint32_t n_sides, char *text)
{
	static const char *const escapes[] = {
		[UNWIND_STOP] = "stop",	    [UNWIND_GAP] = "gap",   [UNWIND_PLT] = "plt",
		[UNWIND_SIGNAL] = "signal", [UNWIND_LOST] = "lost",
	};
	struct unwind_side side = {
		.base_offset = (int32_t)UNWIND_RULE_WORDS(rule) * 8,
		.frame_offset = (int32_t)UNWIND_RULE_SLOT(rule) * 8,
		.is_frame = UNWIND_RULE_IS_FRAME(rule),
	};
	uint32_t kind = UNWIND_ESCAPE_KIND(rule), value = UNWIND_ESCAPE_VALUE(rule);

	if (UNWIND_RULE_SLOT(rule) != UNWIND_SLOT_ESCAPE && UNWIND_RULE_WORDS(rule))
		unwind_side_text(&side, text);
	else if (kind == UNWIND_SIDE && value < n_sides && !side.is_frame)
		unwind_side_text(&sides[value], text);
	else if (kind < ARRAY_SIZE(escapes) && escapes[kind] && !value && !side.is_frame)
		(void)snprintf(text, UNWIND_TEXT_BYTES, "%s", escapes[kind]);
	else
		abort();
}
