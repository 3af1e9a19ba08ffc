// SPDX-License-Identifier: Apache-2.0
#include "children/elf_python.h"

#include <string.h>

#include "base/array.h"

#define OLDEST 9
#define NEWEST 15
#define RELOCATIONS_MAX 1000000 /* libpython of CPython 3.12, built with clang, has 85 687 */
#define RELOCATIONS_AT_ONCE 256
#define MEMBERS_MAX 48 /* a code object of CPython 3.13 has 16 */
#define MEMBER_NAME_BYTES 20

/* Of a type object. */
#define TYPE_BYTES 256
#define TYPE_BASIC_SIZE 32
#define TYPE_FREE 48
#define TYPE_MEMBERS 240

/* What is said of one version: source is the DWARF of builds of the distributions. */
struct known {
	uint32_t key;		/* in the state of the interpreter: of the key of the current thread's state; 0: none */
	uint32_t main;		/* likewise: pointer to the main interpreter */
	uint32_t runtime_bytes; /* of that state, where only this tells the version; 0: the file tells it */
	/* basic sizes of the types */
	uint16_t code_bytes, frame_bytes, text_bytes, bytes_bytes;
	struct python_layout layout; /* without addresses */
};

/* clang-format off */
#define CODE_3_9 .code_first_line = 40, .code_file = 104, .code_name = 112, .code_lines = 120, .code_identity = 16, .n_identity = 14
#define CODE_3_12 .code_first_line = 68, .code_file = 112, .code_name = 120, .code_qualname = 128, .code_lines = 136, \
	.code_identity = 48, .n_identity = 12
#define THREAD_3_13 .thread = PYTHON_THREAD_GLIBC, .start = PYTHON_START_FRAME, .instruction = PYTHON_INSTRUCTION_POINTER, \
	.thread_interpreter = 16, .thread_start = 72
#define FRAME_3_12 .frame_link = 8, .frame_code = 0, .frame_instruction = 56

static const struct known versions[] = {
	{ .key = 584, .main = 40, .runtime_bytes = 656,
	  .code_bytes = 176, .frame_bytes = 368, .text_bytes = 80, .bytes_bytes = 33,
	  .layout = { .minor = 9, .holder = 528, .thread = PYTHON_THREAD_GLIBC, .start = PYTHON_START_OBJECT,
		      .instruction = PYTHON_INSTRUCTION_BYTES,
		      .thread_interpreter = 16, .thread_start = 24, .thread_self = 176,
		      .frame_link = 24, .frame_code = 32, .frame_instruction = 104, .frame_bytes = 112, CODE_3_9 } },
	{ .key = 584, .main = 40, .runtime_bytes = 672,
	  .code_bytes = 176, .frame_bytes = 360, .text_bytes = 80, .bytes_bytes = 33,
	  .layout = { .minor = 10, .holder = 528, .thread = PYTHON_THREAD_GLIBC, .start = PYTHON_START_OBJECT,
		      .instruction = PYTHON_INSTRUCTION_UNITS,
		      .thread_interpreter = 16, .thread_start = 24, .thread_run = 48, .thread_self = 176,
		      .run_frame = PYTHON_RUN_WITHOUT_FRAME, .run_link = 8,
		      .frame_link = 24, .frame_code = 32, .frame_instruction = 96, .frame_bytes = 104, CODE_3_9 } },
	{ .key = 592, .main = 48,
	  .code_bytes = 184, .frame_bytes = 120, .text_bytes = 80, .bytes_bytes = 33,
	  .layout = { .minor = 11, .holder = 528, .thread = PYTHON_THREAD_GLIBC, .start = PYTHON_START_RUN,
		      .instruction = PYTHON_INSTRUCTION_POINTER,
		      .thread_interpreter = 16, .thread_start = 56, .thread_run = 56, .thread_self = 152,
		      .run_frame = 8, .run_link = 16,
		      .frame_link = 48, .frame_code = 32, .frame_instruction = 56, .frame_entry = 68, .frame_bytes = 72,
		      .code_first_line = 72, .code_file = 112, .code_name = 120, .code_qualname = 128, .code_lines = 136,
		      .code_traceable = 168, .code_bytecode = 184, .code_identity = 56, .n_identity = 11 } },
	{ .key = 1544, .main = 48,
	  .code_bytes = 192, .frame_bytes = 120, .text_bytes = 64, .bytes_bytes = 33,
	  .layout = { .minor = 12, .thread = PYTHON_THREAD_GLIBC, .start = PYTHON_START_RUN,
		      .instruction = PYTHON_INSTRUCTION_POINTER, .shim = 3,
		      .thread_interpreter = 16, .thread_start = 56, .thread_self = 136,
		      .run_frame = 0, .run_link = 8,
		      FRAME_3_12, .frame_owner = 70, .frame_bytes = 72,
		      CODE_3_12, .code_traceable = 176, .code_bytecode = 192 } },
	{ .key = 2160, .main = 640,
	  .code_bytes = 200, .frame_bytes = 136, .text_bytes = 64, .bytes_bytes = 33,
	  .layout = { .minor = 13, THREAD_3_13, .thread_self = 152, .shim = 3,
		      FRAME_3_12, .frame_owner = 70, .frame_bytes = 72,
		      CODE_3_12, .code_traceable = 184, .code_bytecode = 200 } },
	{ .key = 2336, .main = 816,
	  .code_bytes = 208, .frame_bytes = 152, .text_bytes = 64, .bytes_bytes = 33,
	  .layout = { .minor = 14, THREAD_3_13, .thread_self = 152, .shim = 3, .tag_mask = 3,
		      FRAME_3_12, .frame_owner = 74, .frame_bytes = 80,
		      CODE_3_12, .code_traceable = 192, .code_bytecode = 208 } },
	{ .main = 944,
	  .code_bytes = 208, .frame_bytes = 152, .text_bytes = 64, .bytes_bytes = 33,
	  .layout = { .minor = 15, THREAD_3_13, .thread_self = 176, .shim = 3, .tag_mask = 3,
		      FRAME_3_12, .frame_owner = 74, .frame_bytes = 80,
		      CODE_3_12, .code_traceable = 192, .code_bytecode = 208 } },
};
/* clang-format on */
_Static_assert(ARRAY_SIZE(versions) == NEWEST - OLDEST + 1, "a row for each version");

void elf_python_look_at(struct elf_python *python, const Elf64_Sym *symbol, const char *name)
{
	const struct {
		const char *name;
		uint64_t *address;
	} exports[] = {
		{ "Py_Version", &python->version },	 { "PyCode_Type", &python->code_type },
		{ "PyFrame_Type", &python->frame_type }, { "PyUnicode_Type", &python->text_type },
		{ "PyBytes_Type", &python->bytes_type }, { "PyGILState_GetThisThreadState", &python->get_thread },
	};

	if (name[0] != 'P' && name[0] != '_')
		return;
	/* Counts references, which no other build does. */
	if (strcmp(name, "_Py_RefTotal") == 0 || strcmp(name, "_Py_NegativeRefcount") == 0)
		python->is_debug = true;
	python->is_interpreter |= strcmp(name, "PyEval_EvalCode") == 0 || strcmp(name, "PyPyEval_EvalCode") == 0;
	for (size_t i = 0; i < ARRAY_SIZE(exports); i++) {
		if (strcmp(name, exports[i].name) != 0)
			continue;
		*exports[i].address = symbol->st_value;
		if (exports[i].address == &python->get_thread)
			python->get_thread_bytes = symbol->st_size;
	}
}

/* ---- version ---- */

/* _Py_DebugOffsets, which begins the state of the interpreter from CPython 3.13 on. */
#define OFFSETS_COOKIE "xdebugpy"
#define OFFSETS_WORDS 96

struct offsets {
	uint64_t words[OFFSETS_WORDS]; /* index: offset / 8 */
};
#define OFFSETS_VERSION 1
#define OFFSETS_THREADED 2

/* Return: false if the state does not begin with it */
static bool offsets_read(const struct elf_file *f, uint64_t runtime, struct offsets *offsets)
{
	return elf_file_read_at(f, runtime, offsets, sizeof(*offsets)) == PARSER_OK &&
	       memcmp(offsets->words, OFFSETS_COOKIE, sizeof(offsets->words[0])) == 0;
}

static const struct known *version_of_size(uint64_t runtime_bytes)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (versions[i].runtime_bytes && versions[i].runtime_bytes == runtime_bytes)
			return &versions[i];
	return NULL;
}

/* Return: NULL if it is none of those that are known */
static const struct known *python_version_find(const struct elf_file *f, const struct elf_python *python,
					       const struct offsets *offsets, struct parser_library *library)
{
	uint32_t version = 0, minor;

	if (python->version && elf_file_read_at(f, python->version, &version, sizeof(version)) != PARSER_OK)
		version = 0;
	if (offsets && version && (uint32_t)offsets->words[OFFSETS_VERSION] != version)
		version = 0; /* which one is right is not known */
	else if (offsets)
		version = (uint32_t)offsets->words[OFFSETS_VERSION];
	else if (!version) {
		const struct known *known = version_of_size(library->interpreter_bytes);

		if (known)
			library->python.version = 3u << 24 | (uint32_t)known->layout.minor << 16;
		return known;
	}
	library->python.version = version;
	minor = version >> 16 & 0xff;
	if (version >> 24 != 3 || minor < OLDEST || minor > NEWEST || versions[minor - OLDEST].runtime_bytes ||
	    (minor >= 13) != (offsets != NULL))
		return NULL;
	return &versions[minor - OLDEST];
}

/* ---- the table of the interpreter itself ---- */

/* Offsets in bytes in _Py_DebugOffsets. */
static const struct slots {
	uint16_t head, thread_interpreter, thread_start, thread_self;
	uint16_t frame_link, frame_code, frame_instruction, frame_owner;
	uint16_t code_file, code_name, code_qualname, code_lines, code_first_line, code_bytecode;
	uint16_t object_type, bytes_length, bytes_data, text_state, text_length, text_head;
} slots[] = {
	{ .head = 40,
	  .thread_interpreter = 176,
	  .thread_start = 184,
	  .thread_self = 192,
	  .frame_link = 232,
	  .frame_code = 240,
	  .frame_instruction = 248,
	  .frame_owner = 264,
	  .code_file = 280,
	  .code_name = 288,
	  .code_qualname = 296,
	  .code_lines = 304,
	  .code_first_line = 312,
	  .code_bytecode = 344,
	  .object_type = 360,
	  .bytes_length = 520,
	  .bytes_data = 528,
	  .text_state = 544,
	  .text_length = 552,
	  .text_head = 560 },
	{ .head = 40,
	  .thread_interpreter = 200,
	  .thread_start = 208,
	  .thread_self = 216,
	  .frame_link = 256,
	  .frame_code = 264,
	  .frame_instruction = 272,
	  .frame_owner = 288,
	  .code_file = 320,
	  .code_name = 328,
	  .code_qualname = 336,
	  .code_lines = 344,
	  .code_first_line = 352,
	  .code_bytecode = 384,
	  .object_type = 408,
	  .bytes_length = 600,
	  .bytes_data = 608,
	  .text_state = 624,
	  .text_length = 632,
	  .text_head = 640 },
	{ .head = 40,
	  .thread_interpreter = 200,
	  .thread_start = 208,
	  .thread_self = 240,
	  .frame_link = 320,
	  .frame_code = 328,
	  .frame_instruction = 336,
	  .frame_owner = 352,
	  .code_file = 384,
	  .code_name = 392,
	  .code_qualname = 400,
	  .code_lines = 408,
	  .code_first_line = 416,
	  .code_bytecode = 448,
	  .object_type = 472,
	  .bytes_length = 696,
	  .bytes_data = 704,
	  .text_state = 720,
	  .text_length = 728,
	  .text_head = 736 },
};

/* Takes an offset from the table. Return: false if it cannot be one */
static bool slot_take(const struct offsets *offsets, uint16_t slot, uint64_t limit, uint8_t *ret)
{
	uint64_t value = offsets->words[slot / sizeof(offsets->words[0])];

	if (value >= limit)
		return false;
	*ret = (uint8_t)value;
	return true;
}

static bool slot_is(const struct offsets *offsets, uint16_t slot, uint64_t value)
{
	return offsets->words[slot / sizeof(offsets->words[0])] == value;
}

/* Return: false if the interpreter is laid out in a way that is not supported */
static bool offsets_take(const struct offsets *o, const struct known *known, struct python_layout *l)
{
	const struct slots *s = &slots[l->minor - 13];
	uint64_t thread = PYTHON_THREAD_BYTES, frame = known->layout.frame_bytes, code = PYTHON_CODE_BYTES - 7;

	return slot_is(o, s->head, known->main - sizeof(uint64_t)) && slot_is(o, s->object_type, PYTHON_OBJECT_TYPE) &&
	       slot_is(o, s->bytes_length, PYTHON_BYTES_LENGTH) && slot_is(o, s->bytes_data, PYTHON_BYTES_DATA) &&
	       slot_is(o, s->text_state, PYTHON_TEXT_STATE) && slot_is(o, s->text_length, PYTHON_TEXT_LENGTH) &&
	       slot_is(o, s->text_head, PYTHON_TEXT_HEAD(l->minor, true)) &&
	       slot_take(o, s->thread_interpreter, thread - 7, &l->thread_interpreter) &&
	       slot_take(o, s->thread_start, thread - 7, &l->thread_start) &&
	       slot_take(o, s->thread_self, thread - 7, &l->thread_self) &&
	       slot_take(o, s->frame_link, frame - 7, &l->frame_link) &&
	       slot_take(o, s->frame_code, frame - 7, &l->frame_code) &&
	       slot_take(o, s->frame_instruction, frame - 7, &l->frame_instruction) &&
	       slot_take(o, s->frame_owner, frame, &l->frame_owner) &&
	       slot_take(o, s->code_file, code, &l->code_file) && slot_take(o, s->code_name, code, &l->code_name) &&
	       slot_take(o, s->code_qualname, code, &l->code_qualname) &&
	       slot_take(o, s->code_lines, code, &l->code_lines) &&
	       slot_take(o, s->code_first_line, code, &l->code_first_line) &&
	       slot_take(o, s->code_bytecode, code, &l->code_bytecode);
}

/* ---- what its types say of themselves ---- */

/* Words of initialised data, with the addresses that the dynamic loader adds. */
struct piece {
	uint64_t address;
	size_t n; /* words */
	uint64_t *words;
};

/* Reads pieces of data, and the relocations of all of them in one pass. Return: false if one is not in the file */
static bool pieces_read(const struct elf_file *f, const struct elf_dynamic *d, struct piece *pieces, size_t n_pieces)
{
	uint64_t n = d->relocations_bytes / sizeof(Elf64_Rela);
	Elf64_Rela chunk[RELOCATIONS_AT_ONCE];

	for (size_t i = 0; i < n_pieces; i++)
		if (elf_file_read_at(f, pieces[i].address, pieces[i].words, pieces[i].n * sizeof(uint64_t)) !=
		    PARSER_OK)
			return false;
	if (!d->relocations || n > RELOCATIONS_MAX)
		return true;
	for (uint64_t done = 0; done < n;) {
		size_t n_chunk = (size_t)MIN(n - done, (uint64_t)ARRAY_SIZE(chunk));

		if (elf_file_read_at(f, d->relocations + done * sizeof(chunk[0]), chunk, n_chunk * sizeof(chunk[0])) !=
		    PARSER_OK)
			return false;
		for (size_t k = 0; k < n_chunk; k++) {
			if (ELF64_R_TYPE(chunk[k].r_info) != R_X86_64_RELATIVE)
				continue;
			for (size_t i = 0; i < n_pieces; i++) {
				uint64_t word = (chunk[k].r_offset - pieces[i].address) / sizeof(uint64_t);

				if (chunk[k].r_offset >= pieces[i].address && word < pieces[i].n)
					pieces[i].words[word] = (uint64_t)chunk[k].r_addend;
			}
		}
		done += n_chunk;
	}
	return true;
}

enum { CODE, FRAME, TEXT, BYTES, TYPES };
#define TYPE_WORD(offset) ((offset) / sizeof(uint64_t))
#define MEMBER_WORDS 5 /* struct PyMemberDef: name, type, offset, flags, text */

/* Return: offset of a member of code objects as in the layout; -1: not known */
static int member_offset(const char *name, const struct python_layout *l)
{
	const struct {
		const char *name;
		uint8_t offset, since, until;
	} members[] = {
		{ "co_firstlineno", l->code_first_line, OLDEST, NEWEST },
		{ "co_filename", l->code_file, OLDEST, NEWEST },
		{ "co_name", l->code_name, OLDEST, NEWEST },
		{ "co_qualname", l->code_qualname, 11, NEWEST },
		{ "co_linetable", l->code_lines, 10, NEWEST },
		{ "co_lnotab", l->code_lines, OLDEST, 9 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (strcmp(name, members[i].name) == 0 && l->minor >= members[i].since && l->minor <= members[i].until)
			return members[i].offset;
	return -1;
}

/* Whether no member of code objects is elsewhere; also true if their list cannot be read. */
static bool members_agree(const struct elf_file *f, const struct elf_dynamic *d, uint64_t address,
			  const struct python_layout *l)
{
	uint64_t words[MEMBERS_MAX * MEMBER_WORDS], offset, n_bytes;
	struct piece piece = { .address = address, .words = words };

	if (!address || !elf_file_find(f, address, 0, &offset, &n_bytes))
		return true;
	piece.n = (size_t)MIN(n_bytes / sizeof(uint64_t), (uint64_t)ARRAY_SIZE(words));
	if (!pieces_read(f, d, &piece, 1))
		return true;
	for (size_t i = 0; i + MEMBER_WORDS <= piece.n && words[i]; i += MEMBER_WORDS) {
		char name[MEMBER_NAME_BYTES];
		int expected;

		if (elf_file_read_at(f, words[i], name, sizeof(name)) != PARSER_OK || !memchr(name, 0, sizeof(name)))
			continue;
		expected = member_offset(name, l);
		if (expected >= 0 && words[i + 2] != (uint64_t)expected)
			return false;
	}
	return true;
}

static bool freed_read(const struct elf_file *f, uint64_t address, struct parser_collector_site *site)
{
	uint64_t n_head;

	if (!address || !elf_file_find(f, address, PF_X, &site->offset, &n_head))
		return false;
	site->n_head = (uint8_t)MIN(n_head, (uint64_t)PARSER_HEAD_BYTES);
	return elf_file_read(f, site->offset, site->head, site->n_head) == PARSER_OK;
}

/* Compares the types with those of the version. Return: false if one differs, or is not exported */
static bool types_agree(const struct elf_file *f, const struct elf_dynamic *d, const struct elf_python *python,
			const struct known *known, struct parser_python *to)
{
	const struct parser_collector_site none = { .offset = 0 };
	uint64_t types[TYPES][TYPE_BYTES / sizeof(uint64_t)];
	struct piece pieces[TYPES] = { [CODE] = { .address = python->code_type },
				       [FRAME] = { .address = python->frame_type },
				       [TEXT] = { .address = python->text_type },
				       [BYTES] = { .address = python->bytes_type } };
	const uint16_t basic_sizes[TYPES] = { known->code_bytes, known->frame_bytes, known->text_bytes,
					      known->bytes_bytes };

	for (size_t i = 0; i < TYPES; i++) {
		if (!pieces[i].address)
			return false;
		pieces[i].n = ARRAY_SIZE(types[i]);
		pieces[i].words = types[i];
	}
	if (!pieces_read(f, d, pieces, TYPES))
		return false;
	for (size_t i = 0; i < TYPES; i++)
		if (types[i][TYPE_WORD(TYPE_BASIC_SIZE)] != basic_sizes[i])
			return false;
	if (!members_agree(f, d, types[CODE][TYPE_WORD(TYPE_MEMBERS)], &to->layout))
		return false;
	if (!freed_read(f, types[CODE][TYPE_WORD(TYPE_FREE)], &to->freed))
		to->freed = none;
	return true;
}

/* ---- the state of the current thread ---- */

static bool libc_find(struct elf_file *f, const struct elf_dynamic *d, enum python_thread *ret_thread)
{
	uint64_t offset, n_bytes;

	if (!elf_file_find(f, d->strings, 0, &offset, &n_bytes))
		return false;
	for (size_t i = 0; i < d->n_needed; i++) {
		char name[32];

		if (!elf_file_read_name(f, offset, MIN(n_bytes, d->strings_bytes), d->needed[i], name, sizeof(name)))
			continue;
		if (strcmp(name, "libc.so.6") == 0 || strcmp(name, "libpthread.so.0") == 0) {
			*ret_thread = PYTHON_THREAD_GLIBC;
			return true;
		}
		if (strncmp(name, "libc.musl-", 10) == 0 || strcmp(name, "libc.so") == 0) {
			*ret_thread = PYTHON_THREAD_MUSL;
			return true;
		}
	}
	return false;
}

/* Takes bytes of an instruction if they are next. */
static bool code_takes(const uint8_t **at, const uint8_t *end, const char *bytes, size_t n)
{
	if ((size_t)(end - *at) < n || memcmp(*at, bytes, n) != 0)
		return false;
	*at += n;
	return true;
}
#define TAKES(at, end, bytes) code_takes(at, end, bytes, sizeof(bytes) - 1)

static bool code_number(const uint8_t **at, const uint8_t *end, size_t n, int64_t *ret)
{
	int32_t wide;

	if ((size_t)(end - *at) < n)
		return false;
	if (n == 1) {
		*ret = (int8_t) * *at;
	} else {
		memcpy(&wide, *at, sizeof(wide));
		*ret = wide;
	}
	*at += n;
	return true;
}

/* After the call that returned the block of the library's variables in %rax: mov N(%rax),%rax */
static bool code_variable(const uint8_t *at, const uint8_t *end, int64_t *ret)
{
	(void)(TAKES(&at, end, "\x5d") || TAKES(&at, end, "\x48\x83\xc4\x08")); /* pop %rbp; add $8,%rsp */
	*ret = 0;
	if (TAKES(&at, end, "\x48\x8b\x00"))
		return true;
	if (TAKES(&at, end, "\x48\x8b\x40"))
		return code_number(&at, end, 1, ret);
	return TAKES(&at, end, "\x48\x8b\x80") && code_number(&at, end, 4, ret);
}

/*
 * The thread-local variable that the function reads, from its instructions.
 * @address: of the function; @layout: `thread`, `key` (as linked) and `variable` are set
 * Return: false if the instructions are none of those known
 */
static bool code_reads(const struct elf_file *f, uint64_t address, const uint8_t *at, const uint8_t *end,
		       struct python_layout *layout)
{
	const uint8_t *start = at;
	uint64_t got[2]; /* number of the library, filled by the dynamic loader, and offset of the variable */
	int64_t number, variable;

	(void)TAKES(&at, end, "\xf3\x0f\x1e\xfa"); /* endbr64 */
	(void)(TAKES(&at, end, "\x55\x48\x89\xe5") || TAKES(&at, end, "\x48\x83\xec\x08") ||
	       TAKES(&at, end, "\x50")); /* push %rbp; mov %rsp,%rbp; sub $8,%rsp; push %rax */
	if (TAKES(&at, end, "\x64\x48\x8b\x04\x25") && code_number(&at, end, 4, &number)) { /* mov %fs:N,%rax */
		layout->thread = PYTHON_THREAD_LOCAL;
		if (number || !TAKES(&at, end, "\x48\x8d\x80")) { /* lea N(%rax),%rax: from %fs:0, the thread pointer */
			layout->variable = number;
			return number != 0;
		}
		if (!code_number(&at, end, 4, &number) || !code_variable(at, end, &variable))
			return false;
		layout->variable = number + variable;
		return true;
	}
	(void)TAKES(&at, end, "\x66");
	if (!TAKES(&at, end, "\x48\x8d\x3d") || !code_number(&at, end, 4, &number)) /* lea N(%rip),%rdi */
		return false;
	layout->key = address + (uint64_t)(at - start) + (uint64_t)number;
	/* call __tls_get_addr, with or without prefixes, or through a pointer */
	if (!TAKES(&at, end, "\xe8") && !TAKES(&at, end, "\x66\x66\x48\xe8") && !TAKES(&at, end, "\x66\x48\xff\x15") &&
	    !TAKES(&at, end, "\xff\x15"))
		return false;
	if (!code_number(&at, end, 4, &number) || !code_variable(at, end, &variable) ||
	    elf_file_read_at(f, layout->key, got, sizeof(got)) != PARSER_OK)
		return false;
	layout->thread = PYTHON_THREAD_MODULE;
	layout->variable = (int64_t)got[1] + variable;
	return true;
}

static bool python_thread_place(struct elf_file *f, const struct elf_dynamic *d, const struct elf_python *python,
				const struct known *known, uint64_t runtime, struct python_layout *layout)
{
	enum python_thread thread;
	uint8_t code[64];
	size_t n = (size_t)MIN(python->get_thread_bytes, (uint64_t)sizeof(code));

	if (!libc_find(f, d, &thread))
		return false;
	layout->thread = (uint8_t)thread;
	layout->key = runtime + known->key;
	if (known->key)
		return true;
	/* The vector of blocks of musl is another one. */
	return thread == PYTHON_THREAD_GLIBC && python->get_thread && n &&
	       elf_file_read_at(f, python->get_thread, code, n) == PARSER_OK &&
	       code_reads(f, python->get_thread, code, code + n, layout);
}

/* ---- all of it ---- */

/* Return: what keeps it from being understood */
static enum parser_python_state python_find(struct elf_file *f, const struct elf_dynamic *d,
					    const struct elf_python *python, uint64_t runtime,
					    struct parser_library *library)
{
	struct parser_python *to = &library->python;
	const struct known *known;
	struct offsets offsets;
	bool has_offsets = offsets_read(f, runtime, &offsets);

	if (library->machine != EM_X86_64)
		return PARSER_PYTHON_LIBC;
	known = python_version_find(f, python, has_offsets ? &offsets : NULL, library);
	if (python->is_debug)
		return PARSER_PYTHON_DEBUG;
	if (has_offsets && offsets.words[OFFSETS_THREADED])
		return PARSER_PYTHON_THREADED;
	if (!known)
		return PARSER_PYTHON_VERSION;
	to->layout = known->layout;
	if (has_offsets && !offsets_take(&offsets, known, &to->layout))
		return PARSER_PYTHON_OTHER;
	if (!types_agree(f, d, python, known, to))
		return PARSER_PYTHON_OTHER;
	if (!python_thread_place(f, d, python, known, runtime, &to->layout))
		return PARSER_PYTHON_LIBC;
	to->layout.main = runtime + known->main;
	to->layout.code_type = python->code_type;
	to->layout.text_type = python->text_type;
	to->layout.bytes_type = python->bytes_type;
	return PARSER_PYTHON_OK;
}

void elf_python_read(struct elf_file *f, const struct elf_dynamic *d, const struct elf_python *python, uint64_t runtime,
		     struct parser_library *library)
{
	const struct parser_python none = { .state = PARSER_PYTHON_NONE };
	struct parser_python *to = &library->python;
	struct python_layout *l = &to->layout;
	uint64_t start = runtime - (uint64_t)library->interpreter_delta;
	enum parser_python_state state;

	*to = none;
	state = python_find(f, d, python, runtime, library);
	if (state == PARSER_PYTHON_OK) {
		l->key -= l->thread == PYTHON_THREAD_LOCAL ? l->key : start;
		l->main -= start;
		l->code_type -= start;
		l->text_type -= start;
		l->bytes_type -= start;
	} else {
		uint32_t version = to->version;

		*to = none;
		to->version = version;
	}
	to->state = (uint32_t)state;
}
