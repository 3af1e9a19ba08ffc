// SPDX-License-Identifier: Apache-2.0
/*
 * Native stacks of recorded calls: without rules the memory of the stack is brought, as it is; with rules it has the
 * frames that backtrace(3) finds. An equal stack is sent once.
 *
 *   stacks BACK_END LIBRARY
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bpf/stack_record.h"
#include "deep.h"
#include "probes/probe_set_state.h"
#include "probes/probe_stacks.h"
#include "rig.h"
#include "rules.h"
#include "tests/support/check.h"

#define FRAMES_MAX 512
#define RECORD_MAX (sizeof(struct stack_record) + STACK_COPY_MAX)

/* What came on the rings since the last look. */
static struct {
	size_t n_calls, n_stacks, n_lost; /* n_lost: calls without a stack */
	size_t n_copied;		  /* bytes of memory */
	size_t n_mappings;		  /* lists of mappings, since the start */
	struct call_record call;	  /* the last one, as the next */
	union {
		struct stack_record stack;
		unsigned char bytes[RECORD_MAX];
	};
} seen;

static bool is_one_read; /* a reading of the ring ends after one record */
static struct rig rig;
static struct rules rules = RULES_INIT;
static struct ring_buffer *rings;

static int on_call(void *data, void *record, size_t n)
{
	(void)data;
	if (((const struct record_header *)record)->type != RECORD_CALL)
		return 0; /* of a wait, on a busy machine */
	seen.n_calls++;
	memset(&seen.call, 0, sizeof(seen.call));
	memcpy(&seen.call, record, MIN(n, sizeof(seen.call)));
	seen.n_lost += !seen.call.stack;
	return 0;
}

static void check_mappings(const struct mappings_record *r)
{
	uint64_t own = (uint64_t)(uintptr_t)on_call, n_own = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		CHECK("mappings", r->mapped[i].start < r->mapped[i].end);
		CHECK("mappings", i == 0 || r->mapped[i - 1].end <= r->mapped[i].start);
		if (own - r->mapped[i].start >= r->mapped[i].end - r->mapped[i].start)
			continue;
		n_own++;
		CHECK_INT_EQ("mappings", own - r->mapped[i].start + r->mapped[i].offset,
			     rig_offset((const void *)on_call));
		CHECK("mappings", r->mapped[i].file.inode);
	}
	CHECK_INT_EQ("mappings: that of this code", n_own, 1);
}

static int on_stack(void *data, void *record, size_t n)
{
	struct record_header header;

	(void)data;
	memcpy(&header, record, sizeof(header));
	if (header.type == RECORD_MAPPINGS) {
		CHECK_INT_EQ("mappings", n, sizeof(struct mappings_record));
		check_mappings(record);
		seen.n_mappings++;
		return is_one_read ? -1 : 0;
	}
	CHECK("a record", n >= sizeof(seen.stack) && n <= RECORD_MAX);
	memcpy(seen.bytes, record, MIN(n, RECORD_MAX));
	CHECK_INT_EQ("a record", seen.stack.type, RECORD_STACK);
	CHECK_INT_EQ("a record", (n - sizeof(seen.stack) + 7) / 8, (seen.stack.n_memory + 7) / 8);
	seen.n_stacks++;
	seen.n_copied += seen.stack.n_memory;
	return is_one_read ? -1 : 0;
}

static void look(void)
{
	seen.n_calls = seen.n_stacks = seen.n_lost = seen.n_copied = 0;
	(void)ring_buffer__consume(rings);
}

/* ---- one call ---- */

enum expected { COPIED, WALKED };

struct row {
	const char *name;
	int (*deep)(unsigned int n, deep_func func, void *data);
	unsigned int n;
	int (*around)(subject_func func, void *data); /* a traced call in which the call is made; NULL: none */
	bool is_thread;				      /* not the first thread */
	bool is_signal;				      /* in the handler of a signal */
	bool is_alternate;			      /* ... on a stack of its own */
	bool is_tail;				      /* the traced function jumps to another traced one */
	uint8_t end;				      /* STACK_END_NONE: complete */
};

/* What the program knows of the call. */
struct made {
	const struct row *row;
	enum expected expected;
	void *frames[FRAMES_MAX]; /* of the call; NULL: not known */
	int n_frames;
	void *outer[FRAMES_MAX]; /* of the call around */
	int n_outer;
	bool has_mappings;
	uint64_t top; /* end of the stack */
	uint64_t id;  /* of the stack, when it was last seen */
};

static int empty_call(void *data)
{
	(void)data;
	return 0;
}

/* Return addresses on the stack that probes have replaced. */
static int traps_of(const struct row *row)
{
	return row->around == subject_runtime ? 2 : row->around ? 1 : 0;
}

static uint64_t own_top(const struct made *m)
{
	return MIN(m->top, m->row->is_thread ? (uint64_t)pthread_self() : UINT64_MAX);
}

/* It reads its own stack, whatever a sanitizer has put there. */
__attribute__((no_sanitize("address"))) static void check_copy(const struct made *m, const void *own_end)
{
	const struct stack_record *s = &seen.stack;
	uint64_t from = (uint64_t)(uintptr_t)own_end - s->sp, all = m->top - s->sp, n_traps = 0;
	const char *name = m->row->name;

	CHECK_INT_EQ(name, s->native_end, all < STACK_COPY_MAX ? STACK_END_RULE : STACK_END_LARGE);
	CHECK_INT_EQ(name, s->n_memory, MIN(all, (uint64_t)STACK_COPY_MAX));
	CHECK_INT_EQ(name, s->tag != 0, m->has_mappings);
	CHECK(name, from < s->n_memory);
	for (uint64_t at = from; at + 8 <= s->n_memory && s->sp + at < own_top(m); at += 8) {
		uint64_t copied, there, trap = 0;

		memcpy(&copied, s->memory + at, sizeof(copied));
		memcpy(&there, (const void *)(uintptr_t)(s->sp + at), sizeof(there));
		for (uint16_t i = 0; i < s->n_traps; i++)
			if (s->traps[i].slot == s->sp + at)
				trap = s->traps[i].address;
		n_traps += trap != 0;
		if (!trap && copied == there)
			continue;
		CHECK_INT_EQ(name, copied, trap); /* what the probe has put in its place is not copied */
		CHECK(name, there != trap);
	}
	CHECK_INT_EQ("traps", n_traps, traps_of(m->row));
}

static void check_walk(const struct made *m)
{
	const struct stack_record *s = &seen.stack;
	/* backtrace(3) is in the frame of the call, too: from its caller on they agree. */
	int n = MIN(m->n_frames + 1, STACK_NATIVE_MAX);
	const char *name = m->row->name;

	CHECK_INT_EQ(name, s->native_end,
		     m->row->end			  ? m->row->end
		     : m->n_frames + 1 > STACK_NATIVE_MAX ? STACK_END_DEPTH
							  : STACK_END_COMPLETE);
	CHECK_INT_EQ(name, s->n_memory, 0);
	CHECK(name, !(s->id & STACK_ID_ONCE) && s->tag);
	if (m->row->end)
		return;
	CHECK_INT_EQ(name, s->n_native, n);
	for (int i = 2; i < MIN(n, (int)s->n_native); i++)
		if (m->frames[i - 1] && s->native[i].ip != (uint64_t)(uintptr_t)m->frames[i - 1])
			CHECK_INT_EQ(name, s->native[i].ip, (uint64_t)(uintptr_t)m->frames[i - 1]);
	CHECK_INT_EQ(name, s->native[0].cfa, s->sp);
	CHECK_INT_EQ(name, s->native[1].ip, s->ip);
}

/* backtrace(3) ends at the first return address that a probe has replaced. */
static void frames_join(struct made *m)
{
	if (!m->row->around)
		return;
	m->n_frames--;
	for (int i = 0; i < traps_of(m->row); i++)
		m->frames[m->n_frames++] = NULL;
	for (int i = 1; i < m->n_outer; i++)
		m->frames[m->n_frames++] = m->outer[i];
}

/* The call, and what came of it. */
static __attribute__((noinline)) int leaf(void *data)
{
	const void *own_end = (const char *)__builtin_frame_address(0) + 2 * sizeof(void *);
	struct made *m = data;
	const char *name = m->row->name;

	m->n_frames = backtrace(m->frames, FRAMES_MAX / 2);
	frames_join(m);
	look();
	for (int i = 0; i < 2; i++) {
		(void)(m->row->is_tail ? subject_tail(empty_call, NULL) : subject_empty());
		look();
		CHECK_INT_EQ(name, seen.n_calls, m->row->is_tail ? 2 : 1);
		CHECK_INT_EQ(name, seen.n_lost, 0);
		CHECK_INT_EQ(name, seen.call.stack, i && m->expected == WALKED ? m->id : seen.stack.id);
		CHECK_INT_EQ(name, seen.stack.native[0].ip && seen.stack.tid == seen.call.tid, 1);
		/* Another call with the same copy shares it. */
		CHECK_INT_IN(name, seen.n_stacks, i ? 0 : seen.n_calls, i && m->expected == WALKED ? 0 : seen.n_calls);
		CHECK(name, i == 0 || seen.call.stack == m->id || seen.n_stacks > 0);
		m->id = seen.call.stack;
		if (seen.n_stacks && m->expected == COPIED)
			check_copy(m, own_end);
		else if (seen.n_stacks)
			check_walk(m);
	}
	return 0;
}

static int around(void *data)
{
	const struct made *m = data;

	return m->row->deep(m->row->n, leaf, data);
}

static __attribute__((noinline)) void row_call(struct made *m)
{
	m->n_outer = backtrace(m->outer, FRAMES_MAX / 4);
	if (m->row->around)
		(void)m->row->around(around, m);
	else
		(void)around(m);
	__asm__ volatile("" : : : "memory"); /* its frame stays until then */
}

static struct made *handled;

static void on_signal(int number)
{
	(void)number;
	row_call(handled);
}

/* Top of the stack of the first thread: where the kernel put the arguments of the program. */
static uint64_t stack_start(void)
{
	CLEANUP(fclosep) FILE *file = fopen("/proc/self/stat", "re");
	unsigned long long start = 0;
	char text[2048] = "";

	if (file && fgets(text, sizeof(text), file))
		(void)sscanf(strrchr(text, ')') + 2,
			     "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %*u %*u %*d "
			     "%*u %*u %*u %llu",
			     &start);
	return start;
}

#define ALTERNATE_BYTES (128u << 10)

static void signal_call(struct made *m)
{
	static unsigned char alternate[ALTERNATE_BYTES] __attribute__((aligned(4096)));
	const stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) }, none = { .ss_flags = SS_DISABLE };
	struct sigaction action = { .sa_handler = on_signal };

	if (m->row->is_alternate) {
		action.sa_flags = SA_ONSTACK;
		m->top = (uint64_t)(uintptr_t)alternate + sizeof(alternate);
		CHECK_INT_EQ(m->row->name, sigaltstack(&stack, NULL), 0);
	}
	handled = m;
	CHECK_INT_EQ(m->row->name, sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_INT_EQ(m->row->name, raise(SIGUSR1), 0);
	(void)sigaltstack(&none, NULL);
}

static void *row_thread(void *data)
{
	struct made *m = data;

	/* Linux 5.15 does not tell where the stack of another thread ends: it is copied as far as it can be. */
	m->top = !m->row->is_thread ? stack_start() : getenv("RIG_OLDEST") ? UINT64_MAX : (uint64_t)pthread_self();
	if (m->row->is_signal)
		signal_call(m);
	else
		row_call(m);
	return NULL;
}

static void row_run_with(const struct row *row, enum expected expected, bool has_mappings)
{
	static struct made m;
	pthread_t thread;

	m = (struct made){ .row = row, .expected = expected, .has_mappings = has_mappings };
	if (!row->is_thread) {
		(void)row_thread(&m);
		return;
	}
	CHECK_INT_EQ(row->name, pthread_create(&thread, NULL, row_thread, &m), 0);
	(void)pthread_join(thread, NULL);
}

static void row_run(const struct row *row, enum expected expected)
{
	row_run_with(row, expected, expected == WALKED);
}

static const struct row rows[] = {
	{ "near", .deep = deep_omit, .n = 1 },
	{ "without frame pointers", .deep = deep_omit, .n = 40 },
	{ "with frame pointers", .deep = deep_keep, .n = 40 },
	{ "of a thread", .deep = deep_omit, .n = 24, .is_thread = true },
	{ "deeper than there is room for", .deep = deep_omit, .n = 200 },
	{ "deeper, of a thread", .deep = deep_keep, .n = 200, .is_thread = true },
	{ "in another call", .deep = deep_omit, .n = 10, .around = subject_driver },
	{ "in two calls", .deep = deep_omit, .n = 10, .around = subject_runtime },
	{ "in a signal handler", .deep = deep_omit, .n = 6, .is_signal = true },
	{ "in a signal handler of a thread", .deep = deep_omit, .n = 6, .is_signal = true, .is_thread = true },
	{ "in a signal handler with its own stack", .deep = deep_keep, .n = 6, .is_signal = true,
	  .is_alternate = true },
	{ "of a function that jumps", .deep = deep_omit, .n = 4, .is_tail = true },
};

static void rows_run(enum expected expected)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		row_run(&rows[i], expected);
}

/* ---- changes ---- */

static void check_changes(const char *library)
{
	static const struct row changed = { "mappings have changed", .deep = deep_omit, .n = 4 };
	static const struct row refreshed = { "mappings are known again", .deep = deep_omit, .n = 5 };
	static const struct row reset = { "after a reset", .deep = deep_omit, .n = 6 };
	void *handle = dlopen(library, RTLD_NOW);

	CHECK("library", handle != NULL);
	row_run(&changed, COPIED);
	rules_put(&rules, &rig);
	row_run(&refreshed, WALKED);
	if (handle)
		(void)dlclose(handle);
	row_run(&changed, COPIED);
	rules_put(&rules, &rig);
	row_run(&refreshed, WALKED);
	probe_stacks_reset(rig.set);
	row_run(&reset, COPIED);
	rules = RULES_INIT;
	rules_put(&rules, &rig);
	row_run(&reset, WALKED);
}

/* One file is mapped over another without the dynamic loader. @lists: whether the kernel can list mappings */
static void check_mapped(const char *library, bool lists)
{
	static const struct row same = { "other mappings have changed", .deep = deep_omit, .n = 7 };
	static const struct row over = { "a file was mapped over another", .deep = deep_omit, .n = 8 };
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE), before = seen.n_mappings;
	CLEANUP(closep) int one = open(library, O_RDONLY | O_CLOEXEC);
	CLEANUP(closep) int two = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *place = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, one, 0);

	CHECK("mapped", place != MAP_FAILED);
	rules_put(&rules, &rig);
	row_run(&same, WALKED);
	CHECK("mapped", munmap(mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes) == 0);
	row_run(&same, WALKED);
	CHECK_INT_EQ("no list of mappings", seen.n_mappings - before, 0);
	CHECK("mapped", mmap(place, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, two, 0) == place);
	row_run(&over, lists ? COPIED : WALKED);
	CHECK_INT_EQ("one list of mappings", seen.n_mappings - before, lists);
	rules_put(&rules, &rig);
	row_run(&over, WALKED);
	CHECK("mapped", munmap(place, bytes) == 0);
	rules_put(&rules, &rig);
}

/* A page that was not read yet makes a copy; the kernel half marks it, until it is set. */
static void check_page(void)
{
	static const struct row asked = { "a page is not known", .deep = deep_keep, .n = 7 };
	static const struct row bare = { "a page has no rules", .deep = deep_keep, .n = 8,
					 .end = STACK_END_FRAME_POINTERS };
	uint32_t page = 0, entry;
	char self[256] = "";

	CHECK("own file", readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	for (uint32_t i = 0; i < rules.n_files; i++)
		if (strcmp(rules.files[i].path, self) == 0)
			page = rules.files[i].first_page +
			       (uint32_t)(rig_offset((const void *)deep_keep) >> UNWIND_PAGE_SHIFT);
	entry = probe_stacks_page(rig.set, page);
	CHECK("page", page && entry > UNWIND_PAGE_BARE);
	probe_stacks_reset(rig.set);
	rules = RULES_INIT;
	rules_put(&rules, &rig);
	probe_stacks_page_put(rig.set, page, UNWIND_PAGE_UNKNOWN);
	row_run_with(&asked, COPIED, /* has_mappings= */ true);
	CHECK_INT_EQ("asked", probe_stacks_page(rig.set, page), UNWIND_PAGE_ASKED);
	probe_stacks_page_put(rig.set, page, UNWIND_PAGE_BARE);
	row_run(&bare, WALKED);
	probe_stacks_reset(rig.set);
	rules = RULES_INIT;
	rules_put(&rules, &rig);
}

/* ---- what is known of a stack ---- */

/* A stack that the daemon has forgotten is sent again, however often it was met, and once. */
static void check_forgotten(void)
{
	static const unsigned int met[] = { 1, 2, 100 }; /* sent; known to be sent; in the memo, too */

	for (size_t i = 0; i < ARRAY_SIZE(met); i++) {
		for (unsigned int k = 0; k < met[i] + 3; k++) {
			bool is_sent = k == met[i] || (i == 0 && k == 0);

			if (k == met[i])
				probe_stacks_forget(rig.set, (uint32_t)getpid(), seen.call.exec_gen, seen.call.stack);
			look();
			(void)subject_empty();
			look();
			CHECK_INT_EQ("the same stack", seen.n_calls, 1);
			CHECK_INT_EQ("the same stack", seen.n_stacks, is_sent);
			CHECK_INT_EQ("the same stack", seen.call.stack == seen.stack.id, true);
		}
	}
}

/* ---- an interpreter ---- */

/* It is noted while the process makes calls: the next one has it. This one is of a version that is not understood. */
static void check_interpreter(void)
{
	const struct interpreter interpreter = { .n_bytes = 0 };

	for (int i = 0; i < 4; i++) {
		if (i == 2)
			CHECK_INT_EQ("interpreter",
				     probe_set_interpreter_note(rig.set, (uint32_t)getpid(), &interpreter), 0);
		look();
		(void)subject_empty();
		look();
		CHECK_INT_EQ("interpreter", seen.n_stacks, i % 2 == 0);
		CHECK_INT_EQ("interpreter", seen.stack.python_end, i < 2 ? STACK_END_NONE : STACK_END_LAYOUT);
	}
}

/* ---- losses ---- */

#define FLOOD 300
#define COPIES_MOST (4 << 20) /* of one process, unread */

/* @is_same: the stack of all calls is the same one; else an address on it differs */
static int flood(bool is_same)
{
	volatile char room[16384];
	volatile char *volatile at = room;

	room[FLOOD] = 1;
	for (int i = 0; i < FLOOD; i++) {
		at += is_same ? 0 : 1;
		(void)subject_empty();
	}
	return *at == room[FLOOD];
}

/* Nobody reads the ring meanwhile: a part of it is used, and each call has its stack or is counted. */
static void check_loss(bool lists)
{
	uint64_t lost = rig_loss(&rig, LOSS_STACKS);

	probe_stacks_maps_remove(rig.set, (uint32_t)getpid());
	if (lists) {
		look();
		(void)flood(/* is_same= */ true);
		look();
		CHECK_INT_EQ("the same stack", seen.n_calls, FLOOD);
		CHECK_INT_EQ("the same stack is copied once", seen.n_stacks, 1);
		CHECK_INT_EQ("the same stack: none is lost", seen.n_lost, 0);
	}
	look();
	(void)flood(/* is_same= */ false);
	look();
	CHECK_INT_EQ("flood", seen.n_calls, FLOOD);
	CHECK_INT_EQ("flood: with a stack, or lost", seen.n_stacks + seen.n_lost, FLOOD);
	CHECK_INT_EQ("flood: counted", rig_loss(&rig, LOSS_STACKS) - lost, seen.n_lost);
	CHECK_INT_IN("flood: bytes", seen.n_copied, COPIES_MOST - (100 << 10), COPIES_MOST);
	lost = rig_loss(&rig, LOSS_STACKS);
	(void)subject_empty();
	look();
	CHECK_INT_EQ("after it was read", seen.n_stacks, 1);
	CHECK_INT_EQ("after it was read", rig_loss(&rig, LOSS_STACKS), lost);
	rules_put(&rules, &rig);
}

#define SHARE_MOST (6 << 20) /* of one user, unread */
#define SHARE_CALLS 1000
#define READ_EACH 16

/* Bytes that nobody has read. Positions are in the first two pages. */
static size_t ring_unread(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, probe_set_stacks_fd(rig.set), 0);
	size_t n = 0;

	if (p == MAP_FAILED)
		CHECK_SKIP("the ring cannot be mapped");
	n = (size_t)(*(uint64_t *)(p + page) - *(uint64_t *)p);
	(void)munmap(p, 2 * page);
	return n;
}

/* Each call has other mappings, and now and then one record is read: that gives room for one. */
static void check_share(void)
{
	const long page = sysconf(_SC_PAGESIZE);
	CLEANUP(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t n_most = 0;

	look();
	is_one_read = true;
	for (int i = 0; i < SHARE_CALLS; i++) {
		void *code = mmap(NULL, (size_t)page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, i % 2 ? page : 0);

		(void)subject_empty();
		(void)munmap(code, (size_t)page);
		n_most = MAX(n_most, ring_unread());
		if (i % READ_EACH == 0)
			(void)ring_buffer__consume(rings);
	}
	is_one_read = false;
	look();
	CHECK_INT_IN("share of a user, bytes", n_most, SHARE_MOST / 2, SHARE_MOST + (100 << 10));
	rules_put(&rules, &rig);
}

/* ---- ends of processes ---- */

static bool has_maps(uint32_t pid)
{
	struct stack_maps maps;

	return bpf_map_lookup_elem(bpf_map__fd(rig.set->bpf->maps.stack_maps), &pid, &maps) == 0;
}

static int child_ends(void *data)
{
	(void)data;
	(void)subject_empty();
	rules_put(&rules, &rig);
	return has_maps((uint32_t)getpid()) ? 0 : 3;
}

static int pipe_in[2], pipe_out[2];

/* cat(1) shows that it runs by what it writes. */
static int child_executes(void *data)
{
	(void)data;
	if (child_ends(NULL) || dup2(pipe_in[0], 0) < 0 || dup2(pipe_out[1], 1) < 0)
		return 3;
	(void)execlp("cat", "cat", (char *)NULL);
	return 4;
}

static void check_exit(void)
{
	pid_t pid = 0;

	CHECK_INT_EQ("child", rig_child(&rig, child_ends, NULL, &pid), 0);
	CHECK("exit", !has_maps((uint32_t)pid));
}

static void check_exec(void)
{
	pid_t pid;
	char byte = 'x';

	if (pipe2(pipe_in, O_CLOEXEC) < 0 || pipe2(pipe_out, O_CLOEXEC) < 0)
		CHECK_SKIP("no pipes");
	pid = fork();
	if (pid == 0)
		_exit(child_executes(NULL));
	CHECK("exec", write(pipe_in[1], &byte, 1) == 1 && read(pipe_out[0], &byte, 1) == 1);
	CHECK("exec", !has_maps((uint32_t)pid));
	(void)close(pipe_in[1]);
	(void)waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	enum probe_back_end back_end = rig_back_end(argc, argv);
	struct process_wish wish = RIG_EVERY_CALL;
	void *frames[1];
	size_t lists;

	if (argc < 3)
		return 2;
	(void)backtrace(frames, 1); /* loads a library when it is first called */
	rig_open(&rig, back_end, 0);
	wish.flags |= WISH_STACKS;
	rig.wish = wish;
	rig_target(&rig, 0, wish);
	rings = ring_buffer__new(probe_set_stacks_fd(rig.set), on_stack, NULL, NULL);
	CHECK("rings", rings && ring_buffer__add(rings, probe_set_calls_fd(rig.set), on_call, NULL) == 0);
	rows_run(COPIED);
	rules_put(&rules, &rig);
	rows_run(WALKED);
	lists = seen.n_mappings;
	CHECK_INT_IN("each list of mappings is sent once", lists, 0, 1);
	check_changes(argv[2]);
	CHECK_INT_EQ("and again when they change", seen.n_mappings - lists, 2 * lists);
	check_mapped(argv[2], lists > 0);
	check_page();
	check_forgotten();
	check_loss(lists > 0);
	check_share();
	check_exit();
	check_exec();
	check_interpreter();
	CHECK_INT_EQ("nothing else is lost", rig_loss(&rig, LOSS_RING_FULL), 0);
	ring_buffer__free(rings);
	rig_close(&rig);
	return check_result();
}
