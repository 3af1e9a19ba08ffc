// SPDX-License-Identifier: Apache-2.0
#include "stacks/work.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "clock.h"
#include "stacks/codes.h"
#include "stacks/merge.h"
#include "stacks/names.h"
#include "stacks/process_maps.h"
#include "stacks/stack_file.h"

#define SYMBOL_BYTES 640 /* the parser's longest, and an offset */

/* ---- beginning and end ---- */

/* A chain of frames that comes back to one of them was damaged: what is beyond it is not known. */
static void cycle_cut(struct stack_record *r)
{
	for (size_t i = 1; i < r->n_python; i++) {
		for (size_t k = 0; k < i; k++) {
			if (r->python[k].frame != r->python[i].frame)
				continue;
			r->n_python = (uint16_t)i;
			r->python_end = STACK_END_UNREADABLE;
			return;
		}
	}
}

struct work *work_new(const struct stack_record *record, struct stack *stack, struct process_maps *maps,
		      struct codes *codes, bool looks_ahead)
{
	size_t n_bytes = sizeof(*record) + record->n_memory;
	struct work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	work->record = malloc(n_bytes);
	if (!work->record) {
		free(work);
		return NULL;
	}
	memcpy(work->record, record, n_bytes);
	work->n_bytes = sizeof(*work) + n_bytes;
	cycle_cut(work->record);
	work->stack = stack_ref(stack);
	work->maps = maps ? process_maps_ref(maps) : NULL;
	work->since_ns = clock_now_ns();
	for (size_t i = 0; i < work->record->n_python; i++)
		if (record->python[i].code)
			work->codes[i] =
				codes_find(codes, record->tgid, record->exec_gen, record->uid, record->python[i].code);
	if (looks_ahead && record->n_memory && work->maps)
		copy_want_all(work->record, work->maps);
	return work;
}

void work_free(struct work *work)
{
	for (size_t i = 0; i < work->record->n_python; i++)
		python_code_unref(work->codes[i]);
	process_maps_unref(work->maps);
	(void)stack_unref(work->stack);
	free(work->record);
	free(work);
}

/* ---- going on ---- */

/* Frames that a signal or a page fault interrupted have the address of an instruction, not of the one behind a call. */
static void interrupted_note(struct work *work)
{
	const struct stack_record *r = work->record;

	work->is_interrupted[STACK_NATIVE_FIRST] = r->is_exact;
	for (size_t i = 1; i + 1 < r->n_native; i++) {
		uint32_t rule = copy_rule(work->maps, r->native[i].ip - !work->is_interrupted[i]);

		work->is_interrupted[i + 1] =
			UNWIND_RULE_SLOT(rule) == UNWIND_SLOT_ESCAPE && UNWIND_ESCAPE_KIND(rule) == UNWIND_SIGNAL;
	}
}

static void names_want(struct work *work)
{
	const struct stack_record *r = work->record;

	for (size_t i = 0; i < r->n_native; i++) {
		uint64_t ip = r->native[i].ip - (i > 0 && !work->is_interrupted[i]);
		const struct process_map *map = process_maps_find(work->maps, ip);

		if (map && map->file)
			work->names[i] = name_want(map->file, map->offset + (ip - map->start));
	}
}

static bool names_are_known(const struct work *work)
{
	const struct stack_record *r = work->record;

	for (size_t i = 0; i < r->n_native; i++)
		if (work->names[i] && work->names[i]->state != NAME_KNOWN)
			return false;
	for (size_t i = 0; i < r->n_python; i++)
		if (work->codes[i] && !python_code_is_ready(work->codes[i]))
			return false;
	return true;
}

static void copy_give_back(struct work *work)
{
	struct stack_record *smaller = realloc(work->record, sizeof(*smaller));

	if (!smaller)
		return;
	work->n_bytes -= smaller->n_memory;
	smaller->n_memory = 0;
	work->record = smaller;
}

bool work_advance(struct work *work)
{
	if (work->state == WORK_UNWINDS) {
		if (work->maps && work->record->n_memory && !copy_unwind(work->record, work->maps, &work->wait))
			return false;
		if (work->maps) {
			interrupted_note(work);
			names_want(work);
		}
		copy_give_back(work);
		work->state = WORK_NAMES;
	}
	if (work->state == WORK_NAMES && names_are_known(work))
		work->state = WORK_DONE;
	return work->state == WORK_DONE;
}

bool works_have_room(size_t n_own, size_t n_all, bool is_copy)
{
	return n_all <= WORK_BYTES_MAX &&
	       n_own <= (is_copy ? WORK_OF_FREE_COPY : WORK_OF_FREE) * (WORK_BYTES_MAX - n_all);
}

/* ---- frames ---- */

static const char *name_of_path(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A frame without a symbol is told by its place in the file, which is the same in each process. */
static void native_frame(const struct work *work, size_t i, struct stack_frame *frame, char *symbol, size_t room)
{
	uint64_t ip = work->record->native[i].ip, past = i > 0 && !work->is_interrupted[i];
	const struct process_map *map = work->maps ? process_maps_find(work->maps, ip - past) : NULL;
	const struct name *name = work->names[i];

	*frame = (struct stack_frame){ .ip = ip, .symbol = symbol, .qualname = "", .file = "", .module = "" };
	symbol[0] = '\0';
	if (!map || !map->file)
		return;
	frame->module = map->path ? map->path : map->file->path;
	if (name && name->state == NAME_KNOWN && name->symbol) {
		(void)snprintf(symbol, room, "%s+0x%llx", name->symbol, (unsigned long long)(name->offset + past));
		frame->file = name->file ? name->file : "";
		frame->line = name->line;
		return;
	}
	(void)snprintf(
		symbol, room, "%s+0x%llx", name_of_path(frame->module),
		(unsigned long long)((name && name->address ? name->address : map->offset + (ip - past - map->start)) +
				     past));
}

static void python_frame(const struct work *work, size_t i, struct stack_frame *frame)
{
	const struct python_code *code = work->codes[i];

	*frame = (struct stack_frame){ .symbol = "", .qualname = "", .file = "", .module = "", .is_python = true };
	if (!code || !python_code_is_ready(code))
		return;
	frame->symbol = python_code_name(code);
	frame->qualname = python_code_qualname(code);
	frame->file = python_code_file(code);
	frame->line = python_code_line(code, work->record->python[i].instruction);
}

#define MINOR_WITHOUT_NODES 12 /* from here on no list but the entries' own tells which frames belong together */

/*
 * From 3.11 on Python itself does not show a frame before its first instruction. In 3.11 it keeps its place: the nodes
 * of the interpreter's list count frames.
 */
static void unbegun_drop(struct work *work)
{
	struct stack_record *r = work->record;
	size_t n = 0;

	for (size_t i = 0; i < r->n_python; i++) {
		struct python_code *code = work->codes[i];

		if (code && python_code_is_ready(code) && !python_code_is_shown(code, r->python[i].instruction)) {
			python_code_unref(code);
			code = NULL;
			r->python[i].code = 0;
			if (r->python_minor >= MINOR_WITHOUT_NODES)
				continue;
		}
		work->codes[n] = code;
		r->python[n++] = r->python[i];
	}
	r->n_python = (uint16_t)n;
}

static bool python_is_known(const struct work *work)
{
	for (size_t i = 0; i < work->record->n_python; i++)
		if (work->record->python[i].code &&
		    (!work->codes[i] || !python_code_is_ready(work->codes[i]) || !python_code_name(work->codes[i])[0]))
			return false;
	return true;
}

/* Why a part ends before the start of the thread. */
static const char *end_why(enum stack_end end, bool is_python)
{
	switch (end) {
	case STACK_END_NONE:
	case STACK_END_COMPLETE:
		return "";
	case STACK_END_DEPTH:
		return is_python ? "more than 128 Python frames" : "more than 128 native frames";
	case STACK_END_RULE:
		return "rules of unwinding were not read in time";
	case STACK_END_GAP:
		return "code without unwind data";
	case STACK_END_LOST:
		return "unwind data of a kind that is not supported";
	case STACK_END_UNREADABLE:
		return is_python ? "memory of the interpreter could not be read"
				 : "memory of the stack could not be read";
	case STACK_END_CHANGED:
		return "mappings of the process changed meanwhile";
	case STACK_END_FRAME_POINTERS:
		return "some frames were found by frame pointers alone";
	case STACK_END_LARGE:
		return "the stack is larger than 64 KiB";
	case STACK_END_LAYOUT:
		return "this build of Python is not known";
	case STACK_END_INTERPRETER:
		return "sub-interpreters run: frames of one, or of its callers, may be missing";
	case STACK_END_COUNT:
		break;
	}
	return "not known";
}

static bool name_begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether code of a Python interpreter is among the native frames, by their names, or by that of the file. */
static bool is_in_interpreter(const struct work *work, const struct stack_frame *native)
{
	static const char program[] = "python";

	for (size_t i = 0; i < work->record->n_native; i++) {
		const char *name = name_of_path(native[i].module);

		if (name_begins(native[i].symbol, "_PyEval_Eval") || name_begins(native[i].symbol, "PyEval_Eval"))
			return true;
		if (name_begins(name, "libpython") ||
		    (name_begins(name, program) && isdigit((unsigned char)name[sizeof(program) - 1])))
			return true;
	}
	return false;
}

static const char *work_why(const struct work *work, const struct stack_frame *native, bool is_placed)
{
	const struct stack_record *r = work->record;
	const char *why = "";

	if (!work->maps)
		why = "the mappings of the process were not known at that moment";
	if (!why[0] && r->native_end == STACK_END_RULE && work->is_crowded_out)
		why = "too many new stacks at once: rules of unwinding were not read yet";
	if (!why[0])
		why = end_why(r->native_end, false);
	if (!why[0])
		why = end_why(r->python_end, true);
	/* The first calls may come before the interpreter was read. */
	if (!why[0] && r->python_end == STACK_END_NONE && is_in_interpreter(work, native))
		why = "the Python interpreter was not known yet, or the thread ran no Python code";
	if (!why[0] && work->state != WORK_DONE)
		why = "its frames were not named in time";
	if (!why[0] && !python_is_known(work))
		why = "some Python code could not be read";
	if (!why[0] && !is_placed)
		why = "the place of some Python frames among the native ones is not known";
	return why;
}

void work_finish(struct work *work)
{
	struct {
		struct stack_frame native[STACK_NATIVE_MAX], python[STACK_PYTHON_MAX];
		struct stack_frame frames[STACK_NATIVE_MAX + STACK_PYTHON_MAX];
		uint64_t cfa[STACK_NATIVE_MAX];
		char symbols[STACK_NATIVE_MAX][SYMBOL_BYTES];
	} *room = malloc(sizeof(*room));
	const struct stack_record *r = work->record;
	struct merge merge;
	bool is_placed;
	const char *why;
	size_t n, past;

	if (!room) {
		(void)stack_name(work->stack, NULL, 0, false, "memory was short when its frames were named");
		return;
	}
	unbegun_drop(work);
	for (size_t i = 0; i < r->n_native; i++) {
		native_frame(work, i, &room->native[i], room->symbols[i], sizeof(room->symbols[i]));
		room->cfa[i] = r->native[i].cfa;
	}
	for (size_t i = 0; i < r->n_python; i++)
		python_frame(work, i, &room->python[i]);
	merge = (struct merge){ .native = room->native,
				.cfa = room->cfa,
				.n_native = r->n_native,
				.is_native_whole = r->native_end == STACK_END_COMPLETE,
				.python = room->python,
				.entries = r->python,
				.n_python = r->n_python,
				.runs = r->runs,
				.n_runs = r->n_runs,
				.minor = r->python_minor };
	n = merge_frames(&merge, room->frames, &is_placed);
	why = work_why(work, room->native, is_placed);
	past = n && !r->native[0].ip; /* of a wait: there is no traced function */
	(void)stack_name(work->stack, room->frames + past, n - past, !why[0], why);
	free(room);
}
