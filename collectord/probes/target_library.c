// SPDX-License-Identifier: Apache-2.0
#include "probes/target_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "children/parser.h"
#include "clock.h"
#include "events/op.h"
#include "probes/place.h"
#include "probes/python_answer.h"
#include "probes/target_collector.h"
#include "probes/target_python.h"

static const char *const result_reasons[PARSER_RESULT_COUNT] = {
	[PARSER_OK] = "",
	[PARSER_NOT_ELF] = "is no library of this machine",
	[PARSER_DAMAGED] = "is damaged: its tables point outside the file",
	[PARSER_TOO_LARGE] = "has more symbols than the limit",
	[PARSER_UNREADABLE] = "cannot be read",
};

/*
 * OP_LAYER_NONE: an export that is not counted. Only the daemon knows ids assigned at run time; the parser must not use
 * them.
 */
static enum op_layer symbol_layer(const struct parser_symbol *s)
{
	const struct op *op = s->op < OP_ID_MAX ? op_get(s->op) : NULL;

	if (!s->op)
		return op_others_layer(s->name);
	return op && op_is_call(op) ? op->layer : OP_LAYER_NONE;
}

/* Hostile input may control the parser: every field of its answer is checked before use. */
static bool answer_is_sound(const struct parser_library *a, size_t n, uint64_t file_bytes)
{
	uint64_t last = 0;

	if (n < sizeof(*a) || a->result >= PARSER_RESULT_COUNT || a->n_symbols > PARSER_SYMBOLS_MAX ||
	    n != sizeof(*a) + a->n_symbols * sizeof(a->symbols[0]))
		return false;
	if (a->result != PARSER_OK)
		return a->n_symbols == 0;
	if (!memchr(a->soname, 0, sizeof(a->soname)) || a->n_build_id > PARSER_BUILD_ID_BYTES || a->is_loader > 1 ||
	    (a->is_loader && a->debug_state_offset >= file_bytes) ||
	    a->interpreter_bytes > PARSER_INTERPRETER_BYTES_MAX ||
	    !target_collector_is_sound(&a->collector, file_bytes) || !python_answer_is_sound(&a->python, file_bytes))
		return false;

	for (uint32_t i = 0; i < a->n_symbols; i++) {
		const struct parser_symbol *s = &a->symbols[i];

		if (s->offset >= file_bytes || (i && s->offset <= last) || s->n_head > PARSER_HEAD_BYTES ||
		    s->n_head > file_bytes - s->offset || !memchr(s->name, 0, sizeof(s->name)) ||
		    symbol_layer(s) == OP_LAYER_NONE)
			return false;
		last = s->offset;
	}
	return true;
}

/* Copy a text with unprintable characters replaced: a soname may contain any bytes. */
static char *text_copy_printable(const char *text)
{
	char *copy = strdup(text);

	for (char *p = copy; p && *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return copy;
}

static int library_describe(struct target_library *library, const struct parser_library *a)
{
	CLEANUP(freep) char *soname = text_copy_printable(a->soname), *build_id = calloc(1, 2 * a->n_build_id + 1u);
	size_t n_of_layer[OP_LAYER_COUNT] = { 0 };

	if (!soname || !build_id)
		return -ENOMEM;
	for (size_t i = 0; i < a->n_build_id; i++)
		(void)snprintf(build_id + 2 * i, 3, "%02x", a->build_id[i]);
	for (uint32_t i = 0; i < a->n_symbols; i++)
		n_of_layer[symbol_layer(&a->symbols[i])]++;
	for (int i = 0; i < OP_LAYER_COUNT; i++)
		if (n_of_layer[i] > n_of_layer[library->layer])
			library->layer = (enum op_layer)i;

	free(library->soname);
	free(library->build_id);
	library->soname = TAKE_PTR(soname);
	library->build_id = TAKE_PTR(build_id);
	return 0;
}

/* Which arguments of the operation records may hold. */
static uint64_t arguments_of(const struct op *op, const struct parser_symbol *s)
{
	if ((op->traits & OP_V2) && strcmp(s->name, op->name) == 0)
		return COOKIE_NO_ARGUMENTS;
	return op->traits & OP_STACK ? COOKIE_STACK : 0;
}

/*
 * Operation that the probe of a function counts; 0: no probe. With perf events, a function takes two, which take 0.1 to
 * 0.7 s each to close: functions without a row in ops.def, and operations that diagnosis does not need, get none.
 */
static uint32_t symbol_op(const struct target_files *files, struct target_file *file, const struct parser_symbol *s,
			  bool may_give)
{
	if (s->op) {
		if (op_get(s->op)->tier <= probe_set_tier(files->probes))
			return s->op;
		file->library.untraced[s->op / 64] |= 1ull << s->op % 64;
		return 0;
	}
	if (probe_set_back_end(files->probes) == PROBE_BACK_END_PERF)
		return 0;
	if (!may_give)
		return op_given(s->name);
	/* Who loads a library of the system first must not decide what is counted in it for everybody. */
	return file->is_of_root ? op_give_all(s->name) : op_give(s->name, file->library.owner.uid);
}

/*
 * Make one site for each function, in order of offset.
 * @may_give: assign permanent ids to names without one; only for an admitted file
 * Return: number of sites
 */
static uint32_t sites_place(const struct target_files *files, struct target_file *file, const struct parser_library *a,
			    bool may_give, struct probe_site *sites)
{
	uint32_t n = 0;

	file->library.n_left_out = a->n_left_out;
	for (uint32_t i = 0; i < a->n_symbols; i++) {
		const struct parser_symbol *s = &a->symbols[i];
		struct place place = place_find(a->machine, s->head, s->n_head);
		uint32_t op = symbol_op(files, file, s, may_give);

		if (!op) {
			file->library.n_left_out += !s->op;
			continue;
		}
		/* The next function begins inside the head of this one: the shared instruction belongs to it. */
		if (i + 1 < a->n_symbols && s->offset + place.delta >= a->symbols[i + 1].offset)
			place = (struct place){ 0, CALL_HEAD_STEPPED };
		sites[n++] = (struct probe_site){ .offset = s->offset + place.delta,
						  .cookie = COOKIE(op, place.head) | arguments_of(op_get(op), s) };
	}
	return n;
}

static int op_compare(const void *a, const void *b)
{
	const struct target_op *one = a, *other = b;

	return (one->id > other->id) - (one->id < other->id);
}

const struct target_op *target_library_op(const struct target_library *library, uint32_t id)
{
	const struct target_op key = { .id = id };

	return library && library->ops.n ? bsearch(&key, library->ops.items, library->ops.n, sizeof(key), op_compare)
					 : NULL;
}

bool target_library_leaves_out(const struct target_library *library, uint32_t id)
{
	return id < OP_ID_MAX && library->untraced[id / 64] >> id % 64 & 1;
}

/* Find an operation while the list is still unsorted. */
static struct target_op *counted_find(const struct target_library *library, uint32_t id)
{
	for (size_t i = 0; i < library->ops.n; i++)
		if (library->ops.items[i].id == id)
			return &library->ops.items[i];
	return NULL;
}

/* Count the attached functions and operations for reports. Return: 0 or -ENOMEM */
static int library_count(struct target_library *library, const struct probe_site *sites, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct target_op fresh = { .id = COOKIE_OP(sites[i].cookie),
					   .head = (enum call_head)COOKIE_HEAD(sites[i].cookie) };
		struct target_op *known = counted_find(library, fresh.id);
		int r = known ? 0 : ARRAY_PUSH(&library->ops, fresh);

		if (r < 0)
			return r;
		if (known)
			known->head = MAX(known->head, fresh.head);
		library->n_stepped += fresh.head == CALL_HEAD_STEPPED;
	}
	if (library->ops.n)
		qsort(library->ops.items, library->ops.n, sizeof(library->ops.items[0]), op_compare);
	library->n_symbols = n;
	return 0;
}

static void library_detach(struct target_files *files, struct target_file *file)
{
	probe_set_detach_library(files->probes, file->library.probes);
	file->library.probes = NULL;
	file->library.n_symbols = file->library.n_stepped = 0;
	ARRAY_DONE(&file->library.ops);
	target_file_refuse(file, "was changed since");
}

/* The kernel writes into every process that maps the file, and fails if one of them has no memory for it. */
static bool may_pass(int r)
{
	return r == -ENOMEM || r == -EAGAIN || r == -EINTR || r == -EBUSY;
}

/* Whether the file may have changed since the parser read it. File times have a resolution of a few milliseconds. */
static bool file_is_written(const struct target_file *file)
{
	struct stat st;

	return fstat(file->path_fd, &st) < 0 || (uint64_t)st.st_size != file->bytes ||
	       st.st_mtim.tv_sec != file->written.tv_sec || st.st_mtim.tv_nsec != file->written.tv_nsec;
}

/* The file was written while it was parsed: the found places are invalid, and it is parsed again. */
static void library_refuse_written(struct target_files *files, struct target_file *file)
{
	if (file->library.probes)
		probe_set_detach_library(files->probes, file->library.probes);
	file->library.probes = NULL;
	file->is_retried = true;
	target_file_refuse(file, "was written to while it was read; it is read again");
}

static void attach_refuse(struct target_file *file, int r)
{
	struct rlimit limit;

	if (r == -EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
		target_file_refuse(
			file,
			"cannot be attached: its probes take more than the daemon may have, which is %llu open files; "
			"give it more ('ulimit -Hn' of who starts it, LimitNOFILE= of the service)",
			(unsigned long long)limit.rlim_cur);
	else
		target_file_refuse(file, "cannot be attached: %s", strerror(-r));
}

static void library_attach(struct target_files *files, struct target_file *file, const struct parser_library *a)
{
	CLEANUP(freep) struct probe_site *sites = calloc(a->n_symbols, sizeof(*sites));
	struct target_file *before = target_files_find_attached(files, file);
	struct target_library *library = &file->library;
	uint64_t start_ns = clock_now_ns();
	uint32_t n;
	int r;

	if (!sites) {
		target_file_refuse(file, "cannot be attached: %s", strerror(ENOMEM));
		return;
	}
	n = sites_place(files, file, a, /* may_give= */ false, sites);
	if (before && before->library.n_symbols == n && memcmp(before->sites, sites, n * sizeof(*sites)) == 0) {
		file->same = before; /* only touched: the probes stay, and no call is missed */
		return;
	}
	if (before)
		library_detach(files, before);
	if (!target_files_admit(files, file))
		return;
	n = sites_place(files, file, a, /* may_give= */ true, sites);
	if (!n) {
		target_file_refuse(file, "exports none of the traced operations");
		return;
	}

	if (file_is_written(file)) {
		library_refuse_written(files, file);
		return;
	}
	r = probe_set_attach_library(files->probes, file->path_fd, sites, n, &library->probes);
	library->attached_ns = clock_now_ns();
	library->attach_ns = library->attached_ns - start_ns;
	if (r < 0) {
		file->is_retried = may_pass(r);
		attach_refuse(file, r);
		return;
	}
	if (file_is_written(file)) {
		library_refuse_written(files, file);
		return;
	}
	r = library_count(library, sites, n);
	if (r < 0) {
		attach_refuse(file, r); /* first, because the first reason is kept */
		library_detach(files, file);
		return;
	}
	file->sites = TAKE_PTR(sites);
}

/* Use the parser's answer, which was checked. */
static void library_use(struct target_files *files, struct target_file *file, const struct parser_library *a)
{
	file->interpreter_bytes = a->interpreter_bytes;
	file->interpreter_delta = a->interpreter_delta;
	file->is_interpreter = a->interpreter_bytes || a->python.state != PARSER_PYTHON_NONE;
	target_collector_take(file, &a->collector, a->machine);
	target_python_take(file, &a->python, a->machine);
	if (a->n_symbols)
		library_attach(files, file, a);
	else if (file->is_named)
		target_file_refuse(file, "exports none of the traced operations");
}

void target_library_take(struct target_files *files, struct target_file *file, int r, const void *answer, size_t n)
{
	const struct parser_library *a = answer;

	if (r == -ETIMEDOUT) {
		target_file_refuse(file, "took the parser too long");
	} else if (r < 0) {
		target_file_refuse(file, "ended the parser");
	} else if (!answer_is_sound(a, n, file->bytes)) {
		target_file_refuse(file, "made the parser say what cannot be");
	} else if (a->result != PARSER_OK) {
		if (file->is_named || file->is_loader)
			target_file_refuse(file, "%s", result_reasons[a->result]);
	} else if (library_describe(&file->library, a) < 0) {
		target_file_refuse(file, "cannot be described: %s", strerror(ENOMEM));
	} else {
		library_use(files, file, a);
	}

	if (r < 0 || !file->is_loader || *file->library.reason)
		return;
	if (!a->is_loader) {
		target_file_refuse(
			file,
			"is a dynamic loader that does not report libraries (no _r_debug); libraries loaded later "
			"may be found late");
	} else {
		r = probe_set_attach_loader(files->probes, file->path_fd, a->debug_state_offset, a->r_debug_delta,
					    &file->loader);
		file->is_retried |= may_pass(r);
		if (r < 0)
			target_file_refuse(file,
					   "is a dynamic loader that cannot be attached, libraries loaded later may be "
					   "found late: %s",
					   strerror(-r));
	}
}
