// SPDX-License-Identifier: Apache-2.0
/*
 * Places of files in the table of pages: the same for all who map a piece, a part of the table for each user, given
 * anew when it was full. The file is the kernel's own code, which everybody maps; no kernel half is here.
 */
#include "stacks/stack_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "bpf/stack_record.h"
#include "clock.h"
#include "procs/procfs.h"
#include "no_kernel.h"
#include "tests/support/check.h"

/* --- the file --- */

static int on_vdso(const struct procfs_mapping *m, void *data)
{
	struct stack_sight *sight = data;

	if (strcmp(m->path, "[vdso]") != 0)
		return 0;
	sight->start = m->start;
	sight->end = m->end;
	return 1;
}

static struct stack_file *file_get(struct stack_files *files)
{
	struct stack_sight sight = { .is_vdso = true, .path = "[vdso]" };
	struct stack_file *file = NULL;
	int self_fd = procfs_open_process(stack_files_proc_fd(files), (uint32_t)getpid());

	CHECK_INT_EQ("mappings", procfs_maps_read(self_fd, on_vdso, &sight), 1);
	CHECK_INT_EQ("a file", stack_file_get(files, &sight, &file), 0);
	(void)close(self_fd);
	return file;
}

/* --- the table --- */

#define QUARTER (UNWIND_PAGES / 4)
#define HALF (UNWIND_PAGES / 2)
enum { NONE, NEW, OLD }; /* no place, behind all others, inside one that was given */

static const struct {
	const char *name;
	struct {
		uint32_t uid, page, n_pages;
		int want;
	} steps[12];
	bool is_reset; /* a second later */
} cases[] = {
	{ "the same for all",
	  { { 1000, 5, 10, NEW }, { 1001, 5, 10, OLD }, { 0, 7, 2, OLD }, { 0, 7, 9, NEW } },
	  false },
	{ "no pages", { { 1000, 5, 0, NONE } }, false },
	{ "a user's part",
	  { { 1000, 0, QUARTER - 1, NEW }, { 1000, QUARTER, 1, NEW }, { 1000, HALF, 1, NONE }, { 1001, HALF, 1, NEW } },
	  true },
	{ "more than a part at once", { { 1000, 0, QUARTER + 1, NONE }, { 0, 0, QUARTER + 1, NEW } }, false },
	{ "all",
	  { { 0, 0, UNWIND_PAGES - 2, NEW }, { 1000, UNWIND_PAGES, 1, NEW }, { 1001, UNWIND_PAGES + 1, 1, NONE } },
	  true },
	{ "one user's pieces of a file",
	  { { 1000, 0, 1, NEW },
	    { 1000, 2, 1, NEW },
	    { 1000, 4, 1, NEW },
	    { 1000, 6, 1, NEW },
	    { 1000, 8, 1, NEW },
	    { 1000, 10, 1, NEW },
	    { 1000, 12, 1, NEW },
	    { 1000, 14, 1, NEW },
	    { 1000, 16, 1, NONE },
	    { 1001, 16, 1, NEW },
	    { 1000, 16, 1, OLD },
	    { 0, 18, 1, NEW } },
	  false },
};

/* --- which file it is --- */

static int on_own_code(const struct procfs_mapping *m, void *data)
{
	struct stack_sight *sight = data;
	uint64_t own = (uint64_t)(uintptr_t)on_own_code;

	if (own < m->start || own >= m->end)
		return 0;
	*sight = (struct stack_sight){ .start = m->start,
				       .end = m->end,
				       .inode = m->inode,
				       .device = (uint64_t)m->dev_major << 32 | m->dev_minor,
				       .path = "/proc/self/exe" };
	return 1;
}

/* The file that is mapped now is not taken for the one that was mapped when a stack was made. */
static void identity_check(const struct stack_readers *readers)
{
	struct stack_sight sight = { .start = 0 };
	struct stack_file *file = NULL;
	struct stack_files *files;
	struct stat st;
	int self_fd;

	CHECK_INT_EQ("files", stack_files_new(readers, NULL, &files), 0);
	self_fd = procfs_open_process(stack_files_proc_fd(files), (uint32_t)getpid());
	CHECK_INT_EQ("own code", procfs_maps_read(self_fd, on_own_code, &sight), 1);
	CHECK_INT_EQ("own file", stat("/proc/self/exe", &st), 0);
	sight.process_fd = self_fd;
	sight.file = (struct file_identity){ .device = sight.device,
					     .inode = st.st_ino,
					     .bytes = (uint64_t)st.st_size,
					     .change_s = st.st_ctim.tv_sec,
					     .change_ns = (uint32_t)st.st_ctim.tv_nsec };
	sight.file.change_ns ^= 1;
	CHECK_INT_EQ("another time", stack_file_get(files, &sight, &file), -ESTALE);
	sight.file.change_ns ^= 1;
	sight.file.bytes++;
	CHECK_INT_EQ("another size", stack_file_get(files, &sight, &file), -ESTALE);
	sight.file.bytes--;
	CHECK_INT_EQ("the same file", stack_file_get(files, &sight, &file), 0);
	if (file)
		stack_file_unref(file);
	(void)close(self_fd);
	stack_files_free(files);
}

/* A user decides which pages are wanted, by addresses on a stack. */
static void wanted_check(const struct stack_readers *readers)
{
	struct stack_files *files;
	struct stack_file *file;

	CHECK_INT_EQ("wanted", stack_files_new(readers, NULL, &files), 0);
	file = file_get(files);
	CHECK("wanted", stack_file_place(file, 1000, 1, 2 * RULES_WANTED_MAX));
	for (size_t round = 0; round < 2; round++) {
		for (uint32_t page = 0; page <= RULES_WANTED_MAX + 1; page++)
			rules_want(file, page);
		CHECK_INT_EQ("each once, not all", file->rules.pages.n, RULES_WANTED_MAX);
	}
	rules_unwant(&file->rules);
	rules_want(file, 1);
	CHECK_INT_EQ("wanted anew", file->rules.pages.n, 1);
	stack_file_unref(file);
	stack_files_free(files);
}

int main(void)
{
	const struct stack_readers readers = { .parser = { NULL } };

	wanted_check(&readers);
	identity_check(&readers);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t now_ns = clock_now_ns();
		struct stack_files *files;
		struct stack_file *file;
		uint32_t next = 1;

		CHECK_INT_EQ(cases[i].name, stack_files_new(&readers, NULL, &files), 0);
		file = file_get(files);
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].steps) &&
				   cases[i].steps[k].want + cases[i].steps[k].n_pages + cases[i].steps[k].uid;
		     k++) {
			uint32_t place = stack_file_place(file, cases[i].steps[k].uid, cases[i].steps[k].page,
							  cases[i].steps[k].n_pages);

			if (cases[i].steps[k].want == NEW) {
				CHECK_INT_EQ(cases[i].name, place, next);
				next += cases[i].steps[k].n_pages;
			} else {
				CHECK_INT_EQ(cases[i].name, place && place < next, cases[i].steps[k].want == OLD);
			}
		}
		no_kernel_resets = 0;
		CHECK_INT_EQ(cases[i].name, stack_files_second(files, now_ns), cases[i].is_reset);
		CHECK_INT_EQ(cases[i].name, no_kernel_resets, cases[i].is_reset);
		CHECK_INT_EQ(cases[i].name, stack_file_place(file, 1002, 1u << 20, 1), cases[i].is_reset ? 1 : next);
		/* Not again so soon. */
		CHECK_INT_EQ(cases[i].name, stack_file_place(file, 1001, 1u << 21, QUARTER + 1), 0);
		CHECK("not again at once", !stack_files_second(files, now_ns + NSEC_PER_SEC));
		stack_file_unref(file);
		stack_files_free(files);
	}
	return check_result();
}
