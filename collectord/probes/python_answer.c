// SPDX-License-Identifier: Apache-2.0
#include "probes/python_answer.h"

#include <stddef.h>

#include "children/parser.h"

#define WORD_BYTES sizeof(uint64_t)

static bool word_is_in(uint8_t offset, size_t n_bytes)
{
	return offset + WORD_BYTES <= n_bytes;
}

static bool thread_is_sound(const struct python_layout *l)
{
	return l->thread > PYTHON_THREAD_NONE && l->thread < PYTHON_THREAD_COUNT &&
	       word_is_in(l->thread_interpreter, PYTHON_THREAD_BYTES) &&
	       word_is_in(l->thread_start, PYTHON_THREAD_BYTES) && word_is_in(l->thread_run, PYTHON_THREAD_BYTES) &&
	       word_is_in(l->thread_self, PYTHON_THREAD_BYTES);
}

static bool frame_is_sound(const struct python_layout *l)
{
	return l->start < PYTHON_START_COUNT && l->instruction < PYTHON_INSTRUCTION_COUNT &&
	       l->frame_bytes < PYTHON_FRAME_BYTES && word_is_in(l->frame_link, l->frame_bytes) &&
	       word_is_in(l->frame_code, l->frame_bytes) && word_is_in(l->frame_instruction, l->frame_bytes) &&
	       l->frame_owner < l->frame_bytes && l->frame_entry < l->frame_bytes && l->tag_mask < WORD_BYTES &&
	       (l->run_link == 8 || l->run_link == 16 || l->start == PYTHON_START_FRAME || !l->thread_run) &&
	       (l->run_frame == 0 || l->run_frame == 8 || l->run_frame == PYTHON_RUN_WITHOUT_FRAME);
}

static bool code_is_sound(const struct python_layout *l)
{
	return word_is_in(l->code_first_line, PYTHON_CODE_BYTES) && word_is_in(l->code_file, PYTHON_CODE_BYTES) &&
	       word_is_in(l->code_name, PYTHON_CODE_BYTES) && word_is_in(l->code_qualname, PYTHON_CODE_BYTES) &&
	       word_is_in(l->code_lines, PYTHON_CODE_BYTES) && word_is_in(l->code_traceable, PYTHON_CODE_BYTES) &&
	       l->n_identity <= PYTHON_IDENTITY_WORDS;
}

bool python_answer_is_sound(const struct parser_python *p, uint64_t file_bytes)
{
	if (p->state >= PARSER_PYTHON_COUNT)
		return false;
	if (p->state != PARSER_PYTHON_OK)
		return true;
	return p->layout.minor && thread_is_sound(&p->layout) && frame_is_sound(&p->layout) &&
	       code_is_sound(&p->layout) && p->freed.n_head <= PARSER_HEAD_BYTES &&
	       (!p->freed.n_head || p->freed.offset < file_bytes);
}
