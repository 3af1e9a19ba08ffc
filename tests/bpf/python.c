// SPDX-License-Identifier: Apache-2.0
/*
 * Python frames as the kernel half walks them, compared with what each installed interpreter says: names, files, lines,
 * number and order of all frames, the innermost line included. The interpreters run the walk on their own threads
 * (BPF_PROG_TEST_RUN), so nothing is attached. With and without the probe that sees code objects freed.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "bpf/stack_record.h"
#include "children/elf.h"
#include "children/python_code.h"
#include "python_walk.skel.h"
#include "tests/support/check.h"
#include "tests/support/pythons.h"

#define STACKS_MAX 8192
#define CODES_MAX 65536
#define LINE_BYTES 4096
#define WATCH 7 /* number of a probe that is missing: the script tells of freed code objects */

/* A code object as it was sent last at its address. */
struct code {
	uint64_t address;
	char *name, *qualname, *file;
	struct parser_code_line *lines;
	uint32_t n_lines, end, first_line, traceable;
};

struct frame {
	char *text; /* name, qualified name, file, line, with tabs between */
};

struct seen_stack {
	struct stack_record *record;
	struct frame *frames;
	size_t n;
};

static struct {
	struct python_walk *bpf;
	struct seen_stack stacks[STACKS_MAX];
	struct code codes[CODES_MAX];
	uint32_t tgid;
} run;

/* --- records --- */

static struct code *code_place(uint64_t address)
{
	size_t i = address * 0x9e3779b97f4a7c15ull >> 48;

	while (run.codes[i % CODES_MAX].address && run.codes[i % CODES_MAX].address != address)
		i++;
	return &run.codes[i % CODES_MAX];
}

static void code_take(const struct code_record *record, size_t n)
{
	static union {
		struct parser_code code;
		uint8_t room[PYTHON_CODE_ANSWER_MAX];
	} answer;
	struct code *code = code_place(record->code);
	const char *texts;

	(void)python_code_read(record, n, &answer, sizeof(answer));
	CHECK_INT_EQ("code object", answer.code.result, PARSER_OK);
	code->address = record->code;
	code->lines = realloc(code->lines, (answer.code.n_lines + 1) * sizeof(code->lines[0]));
	memcpy(code->lines, &answer.code + 1, answer.code.n_lines * sizeof(code->lines[0]));
	code->n_lines = answer.code.n_lines;
	code->end = answer.code.end;
	code->first_line = record->first_line;
	code->traceable = record->traceable;
	texts = (const char *)&answer.code + sizeof(answer.code) + answer.code.n_lines * sizeof(code->lines[0]);
	free(code->name);
	free(code->qualname);
	free(code->file);
	code->name = strdup(texts + answer.code.name);
	code->qualname = strdup(texts + answer.code.qualname);
	code->file = strdup(texts + answer.code.file);
}

static uint32_t code_line(const struct code *code, uint64_t instruction)
{
	uint32_t line = 0;

	if ((int64_t)instruction < 0)
		return code->first_line;
	for (uint32_t i = 0; i < code->n_lines && code->lines[i].from <= instruction; i++)
		line = code->lines[i].line;
	return instruction < code->end ? line : 0;
}

/*
 * What places the frames among the native ones: addresses on the stack that ascend, one for each run of frames. Of 3.10
 * each frame is a run; from 3.12 on each run ends with an entry. The outermost one may be elsewhere.
 */
static void runs_check(const struct stack_record *r)
{
	size_t n_entries = 0, k = 0;
	uint64_t last = 0;

	CHECK("no runs", r->n_runs == 0 || r->python_minor == 10 || r->python_minor == 11);
	if (r->python_minor == 10)
		CHECK_INT_EQ("3.10", r->n_runs, r->n_python < STACK_RUNS_MAX ? r->n_python : STACK_RUNS_MAX);
	if (r->python_minor == 11 && r->n_python)
		CHECK("3.11", r->n_runs && r->runs[0].frame == r->python[0].frame);
	for (size_t i = 0; i < r->n_runs; i++) {
		CHECK("ascends", r->runs[i].at > last);
		last = r->runs[i].at;
		while (k < r->n_python && r->python[k].frame != r->runs[i].frame)
			k++;
	}
	CHECK("frames of runs in their order", !r->n_runs || k < r->n_python || r->python_end == STACK_END_DEPTH);
	for (size_t i = 0; i + 1 < r->n_python; i++) {
		n_entries += !r->python[i].code;
		if (!r->python[i].code && r->python[i + 1].code)
			CHECK("ascends", r->python[i].frame > last);
		if (!r->python[i].code)
			last = r->python[i].frame;
	}
	if (r->python_minor >= 12 && r->n_python && r->python_end != STACK_END_DEPTH)
		CHECK_INT_EQ("ends with an entry", r->python[r->n_python - 1].code, 0);
	else if (r->python_minor < 12)
		CHECK_INT_EQ("no entries", n_entries, 0);
}

static void stack_take(const struct stack_record *record)
{
	struct seen_stack *stack;

	CHECK("number", record->ip < STACKS_MAX);
	if (record->ip >= STACKS_MAX || record->tgid != run.tgid)
		return;
	runs_check(record);
	stack = &run.stacks[record->ip];
	stack->record = malloc(sizeof(*record));
	memcpy(stack->record, record, sizeof(*record));
	stack->frames = calloc(record->n_python + 1, sizeof(stack->frames[0]));
	for (size_t i = 0; i < record->n_python; i++) {
		const struct stack_python *frame = &record->python[i];
		const struct code *code = code_place(frame->code);
		char text[LINE_BYTES];

		/* No frame, or one that has not begun, which Python does not show from 3.11 on. */
		if (!frame->code ||
		    (record->python_minor >= 11 && (int64_t)frame->instruction < (int64_t)code->traceable))
			continue;
		(void)snprintf(text, sizeof(text), "%s\t%s\t%s\t%u", code->address ? code->name : "(none)",
			       code->address ? code->qualname : "", code->address ? code->file : "",
			       code_line(code, frame->instruction));
		stack->frames[stack->n++].text = strdup(text);
	}
}

static int on_record(void *data, void *bytes, size_t n)
{
	const struct record_header *header = bytes;

	(void)data;
	if (header->type == RECORD_CODE)
		code_take(bytes, n);
	else if (n == sizeof(struct stack_record))
		stack_take(bytes);
	return 0;
}

static void records_forget(void)
{
	for (size_t i = 0; i < STACKS_MAX; i++) {
		for (size_t k = 0; k < run.stacks[i].n; k++)
			free(run.stacks[i].frames[k].text);
		free(run.stacks[i].frames);
		free(run.stacks[i].record);
	}
	for (size_t i = 0; i < CODES_MAX; i++) {
		free(run.codes[i].name);
		free(run.codes[i].qualname);
		free(run.codes[i].file);
		free(run.codes[i].lines);
	}
	memset(run.stacks, 0, sizeof(run.stacks));
	memset(run.codes, 0, sizeof(run.codes));
}

/* --- an interpreter --- */

struct script {
	pid_t pid;
	FILE *from, *to;
	int out; /* what it notes, in memory */
};

/* @keys: number of keys of threads that are made before the interpreter's */
static void script_start(struct script *s, const char *python, const char *keys, int fd_take, int fd_freed)
{
	char take[16], freed[16], out[32];
	int from[2], to[2];

	s->out = memfd_create("frames", 0);
	(void)snprintf(out, sizeof(out), "/proc/self/fd/%d", s->out);
	if (s->out < 0 || pipe2(from, O_CLOEXEC) < 0 || pipe2(to, O_CLOEXEC) < 0)
		abort();
	s->pid = fork();
	if (s->pid == 0) {
		(void)snprintf(take, sizeof(take), "%d", dup(fd_take));
		(void)snprintf(freed, sizeof(freed), "%d", dup(fd_freed));
		if (keys) {
			(void)setenv("LD_PRELOAD", TEST_PROBE, 1);
			(void)setenv("PYTHON_PROBE_KEYS", keys, 1);
		}
		(void)dup2(to[0], 0);
		(void)dup2(from[1], 1);
		(void)execl(python, python, "-I", "-S", TEST_SCRIPTS "/python_frames.py", TEST_PROBE, take, freed, out,
			    (char *)NULL);
		_exit(127);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	s->from = fdopen(from[0], "re");
	s->to = fdopen(to[1], "we");
}

/* Start of the first executable mapping of a file in a process. */
static uint64_t mapping_start(pid_t pid, const char *path)
{
	char name[64], line[LINE_BYTES];
	uint64_t start = 0;
	FILE *maps;

	(void)snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	maps = fopen(name, "re");
	while (maps && !start && fgets(line, sizeof(line), maps)) {
		unsigned long from;
		char rights[8];

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%lx-%*x %7s", &from, rights) == 2 && rights[2] == 'x' && strstr(line, path))
			start = from;
	}
	if (maps)
		(void)fclose(maps);
	return start;
}

/* Return: whether the layout of the interpreter is known */
static bool interpreter_note(const char *python, const char *path, pid_t pid, uint32_t watch)
{
	static union {
		struct parser_library library;
		uint8_t room[sizeof(struct parser_library) + PARSER_SYMBOLS_MAX * sizeof(struct parser_symbol)];
	} answer;
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t start = mapping_start(pid, path);
	struct interpreter interpreter = { .code_watch = watch };
	uint32_t tgid = (uint32_t)pid;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || elf_read_library(fd, (uint64_t)st.st_size, &answer.library) != PARSER_OK) {
		CHECK_STR_EQ(python, path, "a readable file");
		return false;
	}
	CHECK_INT_EQ(python, answer.library.python.state, PARSER_PYTHON_OK);
	interpreter.layout = answer.library.python.layout;
	interpreter.layout.key += start;
	interpreter.layout.main += start;
	interpreter.layout.code_type += start;
	interpreter.layout.text_type += start;
	interpreter.layout.bytes_type += start;
	CHECK_INT_EQ(python, bpf_map_update_elem(bpf_map__fd(run.bpf->maps.interpreters), &tgid, &interpreter, BPF_ANY),
		     0);
	run.bpf->bss->interpreters_noted++;
	return answer.library.python.state == PARSER_PYTHON_OK;
}

/* --- comparing --- */

static void stack_compare(const char *what, size_t number, FILE *file, size_t n, bool is_sub)
{
	const struct seen_stack *stack = &run.stacks[number];
	bool is_deep = stack->record && stack->record->python_end == STACK_END_DEPTH;
	char line[LINE_BYTES], name[640];

	(void)snprintf(name, sizeof(name), "%s, stack %zu", what, number);
	CHECK(name, stack->record != NULL);
	if (stack->record) {
		if (!is_deep)
			CHECK_INT_EQ(name, stack->record->python_end,
				     is_sub ? STACK_END_INTERPRETER : STACK_END_COMPLETE);
		CHECK_INT_EQ(name, is_deep ? stack->n > 60 && stack->n < n : stack->n == n, true);
	}
	for (size_t i = 0; i < n; i++) {
		if (!fgets(line, sizeof(line), file))
			break;
		line[strcspn(line, "\n")] = '\0';
		if (i < stack->n && strcmp(stack->frames[i].text, line) != 0)
			CHECK_STR_EQ(name, stack->frames[i].text, line);
	}
}

/* Stacks with one id are the same. */
static void ids_check(const char *what, size_t n_stacks)
{
	size_t n_equal = 0;

	for (size_t i = 0; i < n_stacks; i++) {
		const struct seen_stack *one = &run.stacks[i];

		for (size_t k = 0; one->record && k < i; k++) {
			const struct seen_stack *other = &run.stacks[k];
			bool is_equal = other->record && one->record->id == other->record->id && one->n == other->n;

			if (!other->record || one->record->id != other->record->id)
				continue;
			for (size_t frame = 0; frame < one->n && is_equal; frame++)
				is_equal = strcmp(one->frames[frame].text, other->frames[frame].text) == 0;
			n_equal++;
			if (!is_equal)
				CHECK(what, is_equal);
		}
	}
	/* The loop of equal stacks, in several threads. */
	CHECK_INT_IN(what, n_equal, 50 * 49 / 2, 1000000);
}

static void script_compare(const char *what, const struct script *s)
{
	FILE *file = lseek(s->out, 0, SEEK_SET) == 0 ? fdopen(s->out, "re") : NULL;
	size_t number = 0, n_frames = 0, n_stacks = 0, all = 0, n_subs = 0, is_sub = 0;
	char line[64];

	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "%zu %zu %zu", &number, &n_frames, &is_sub) == 3) {
		stack_compare(what, number, file, n_frames, is_sub);
		n_subs += is_sub;
		all += n_frames;
		n_stacks++;
	}
	if (file)
		(void)fclose(file);
	CHECK_INT_IN(what, n_stacks, 700, STACKS_MAX);
	CHECK_INT_EQ(what, n_subs, 2);
	ids_check(what, n_stacks);
	printf("%s: %zu stacks, %zu frames\n", what, n_stacks, all);
}

static void interpreter_check(const char *python, struct ring_buffer *ring, uint32_t watch)
{
	char path[LINE_BYTES] = "", what[512];
	struct script s;
	int status = -1;

	(void)snprintf(what, sizeof(what), "%s%s", python, watch ? ", watched" : "");
	script_start(&s, python, watch ? "40" : NULL, bpf_program__fd(run.bpf->progs.python_take),
		     bpf_program__fd(run.bpf->progs.python_freed));
	run.tgid = (uint32_t)s.pid;
	if (!fgets(path, sizeof(path), s.from))
		CHECK_STR_EQ(what, "no line", "the interpreter's file");
	path[strcspn(path, "\n")] = '\0';
	if (interpreter_note(what, path, s.pid, watch)) {
		(void)fputs("go\n", s.to);
		(void)fflush(s.to);
	} else {
		(void)kill(s.pid, SIGKILL);
	}
	while (waitpid(s.pid, &status, WNOHANG) == 0)
		(void)ring_buffer__poll(ring, 10);
	(void)ring_buffer__consume(ring);
	(void)fclose(s.from);
	(void)fclose(s.to);
	CHECK_INT_EQ(what, status, 0);
	script_compare(what, &s);
	records_forget();
}

/* Arguments: interpreters; without any, all of this machine. */
int main(int argc, char **argv)
{
	struct pythons pythons = { .n = 0 };
	struct ring_buffer *ring;

	run.bpf = python_walk__open();
	if (!run.bpf)
		CHECK_SKIP("no BPF here");
	if (python_walk__load(run.bpf) < 0) {
		CHECK("load", geteuid() != 0);
		return check_result();
	}
	run.bpf->bss->code_watches[WATCH] = WATCH;
	ring = ring_buffer__new(bpf_map__fd(run.bpf->maps.stacks), on_record, NULL, NULL);
	if (argc < 2)
		pythons_find(&pythons);
	for (int i = 1; i < argc && pythons.n < PYTHONS_MAX; i++)
		pythons.paths[pythons.n++] = strdup(argv[i]);
	for (size_t i = 0; i < pythons.n; i++) {
		interpreter_check(pythons.paths[i], ring, 0);
		interpreter_check(pythons.paths[i], ring, WATCH);
	}
	pythons_done(&pythons);
	ring_buffer__free(ring);
	python_walk__destroy(run.bpf);
	return check_result();
}
