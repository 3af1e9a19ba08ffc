// SPDX-License-Identifier: Apache-2.0
/*
 * Calls through libraries that come, go, change places and are replaced (callers_loaded.c).
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "callers_loaded.h"

#define TIMES 5
#define REST_NS 30000000 /* in which a tracer may learn of mappings */
#define COPY_BYTES 65536u

/* The code of the first two is the same, with other names. */
static const char *const names[] = { "libcallers-one.so", "libcallers-six.so", "libcallers-two.so" };

/* A library, loaded as the file at `path`; what is told of it is in `file`. */
struct library {
	char path[PATH_MAX];
	char file[PATH_MAX];
	void *handle;
	loaded_fn *call;
	const char *base;
};

static void path_of(char path[PATH_MAX], const char *name)
{
	(void)snprintf(path, PATH_MAX, "%s/%s", callers_place(), name);
}

static bool library_open(struct library *library)
{
	Dl_info info;

	library->handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle) {
		callers_failed("%s", dlerror());
		return false;
	}
	library->call = (loaded_fn *)dlsym(library->handle, "loaded_call");
	if (!library->call || !dladdr((void *)library->call, &info)) {
		callers_failed("%s has no loaded_call", library->path);
		return false;
	}
	library->base = info.dli_fbase;
	return true;
}

static void library_close(struct library *library)
{
	(void)dlclose(library->handle);
	library->handle = NULL;
}

static CALLERS_NOINLINE void call_described(loaded_fn *entry)
{
	struct loaded loaded;
	void *pointer;

	for (unsigned int turn = 0; turn < callers_n_turns; turn++)
		(void)entry(&pointer, callers_bytes(), callers_turn(turn), &loaded);
}

static __thread struct loaded *noting;

static CALLERS_NOINLINE int note(void **pointer, size_t bytes)
{
	(void)pointer;
	(void)bytes;
	noting->returns[0] = __builtin_return_address(0);
	return 0;
}

/* Where backtrace(3) does not pass: the library's functions say themselves where they return to. */
static CALLERS_NOINLINE void call_undescribed(loaded_fn *entry)
{
	struct loaded loaded;
	void *pointer;

	noting = &loaded;
	(void)entry(&pointer, 0, note, &loaded);
	for (unsigned int turn = 0; turn < callers_n_turns; turn++) {
		callers_fn *function = callers_turn(turn);

		if (turn == 0)
			callers_extra(loaded.returns, LOADED_FRAMES);
		(void)(turn ? entry : (loaded_fn *)(void (*)(void))function)(&pointer, callers_bytes(), function,
									     &loaded);
	}
}

/* At once, and when it had time to become known. */
static void call_twice(loaded_fn *entry, void (*call)(loaded_fn *))
{
	static const struct timespec rest = { 0, REST_NS };

	call(entry);
	(void)nanosleep(&rest, NULL);
	call(entry);
}

/* All in turns; each is gone when the next comes, most of the time to the same place. */
static void remapped(void)
{
	const char *last = NULL;
	int n_same = 0;

	for (int i = 0; i < 2 * TIMES; i++) {
		struct library library = { .handle = NULL };

		path_of(library.path, names[i % ARRAY_SIZE(names)]);
		if (!library_open(&library))
			return;
		n_same += library.base == last;
		last = library.base;
		call_twice(library.call, call_described);
		library_close(&library);
	}
	if (n_same < TIMES)
		callers_failed("%d of %d libraries were mapped where the one before was", n_same, 2 * TIMES);
}

/* The same without the dynamic linker, one file over the other: code needs no other part of its file. */
static void mapped(void)
{
	struct library libraries[ARRAY_SIZE(names)] = { { .handle = NULL } };
	size_t n = 0;
	char *place;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct stat status;

		path_of(libraries[i].path, names[i]);
		if (!library_open(&libraries[i]) || stat(libraries[i].path, &status) < 0)
			return;
		n = MAX(n, (size_t)status.st_size);
	}
	place = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 2 * TIMES && place != MAP_FAILED; i++) {
		const struct library *library = &libraries[i % ARRAY_SIZE(names)];
		int fd = open(library->path, O_RDONLY | O_CLOEXEC);

		if (mmap(place, n, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
			return callers_failed("%s is not mapped: %s", library->path, strerror(errno));
		closep(&fd);
		callers_alias(place, n, library->path);
		call_twice((loaded_fn *)(void *)(place + ((const char *)(void *)library->call - library->base)),
			   call_undescribed);
		callers_alias(NULL, 0, NULL);
	}
	(void)munmap(place, n);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		library_close(&libraries[i]);
}

static bool copy(const char *from, const char *to)
{
	static char bytes[COPY_BYTES];
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ssize_t n = -1;

	while (in >= 0 && out >= 0 && (n = read(in, bytes, sizeof(bytes))) > 0)
		if (write(out, bytes, (size_t)n) != n)
			n = -1;
	closep(&in);
	closep(&out);
	if (n)
		callers_failed("%s is not copied to %s: %s", from, to, strerror(errno));
	return n == 0;
}

/* Another file takes the name of one that is loaded. @is_called: calls were made before */
static void replace(struct library *library, const char *next, bool is_called)
{
	char other[PATH_MAX];

	path_of(library->file, names[0]);
	path_of(other, names[2]);
	if (!copy(library->file, library->path) || !copy(other, next) || !library_open(library))
		return;
	callers_alias(library->base, COPY_BYTES, library->file);
	if (is_called)
		call_twice(library->call, call_described);
	if (rename(next, library->path) < 0)
		return callers_failed("%s: %s", library->path, strerror(errno));
	call_twice(library->call, call_described);
	library_close(library);
	if (!library_open(library))
		return;
	path_of(library->file, names[2]);
	callers_alias(library->base, COPY_BYTES, library->file);
	call_twice(library->call, call_described);
	library_close(library);
}

static void replaced(void)
{
	char directory[] = P_tmpdir "/ingero-callers-XXXXXX", next[PATH_MAX];

	if (!mkdtemp(directory))
		return callers_failed("no directory: %s", strerror(errno));
	(void)snprintf(next, sizeof(next), "%s/next", directory);
	for (int is_called = 0; is_called < 2; is_called++) {
		struct library library = { .handle = NULL };

		(void)snprintf(library.path, sizeof(library.path), "%s/library.so", directory);
		replace(&library, next, is_called);
		callers_alias(NULL, 0, NULL);
		(void)unlink(library.path);
	}
	(void)rmdir(directory);
}

/* A library by its name, described in another way than usual. It stays. */
static void call_in(const char *name, void (*call)(loaded_fn *))
{
	struct library library = { .handle = NULL };

	path_of(library.path, name);
	if (library_open(&library))
		call(library.call);
}

static void debug_frame(void)
{
	call_in("libcallers-debug-frame.so", call_undescribed);
}

static void bare(void)
{
	call_in("libcallers-bare.so", call_undescribed);
}

static void stripped(void)
{
	call_in("libcallers-stripped.so", call_described);
}

static void debug_link(void)
{
	call_in("libcallers-debug-link.so", call_described);
}

static void mini_debug(void)
{
	call_in("libcallers-mini-debug.so", call_described);
}

const struct callers_row callers_libraries[] = {
	{ "remapped", remapped, CALLERS_EITHER, 0 },
	{ "mapped", mapped, CALLERS_EITHER, 0 },
	{ "replaced", replaced, CALLERS_EITHER, 0 },
	{ "debug_frame", debug_frame, CALLERS_COMPLETE, 0 },
	{ "bare", bare, CALLERS_SOME, 1 },
	{ "stripped", stripped, CALLERS_COMPLETE, 0 },
	{ "debug_link", debug_link, CALLERS_COMPLETE, 0 },
	{ "mini_debug", mini_debug, CALLERS_COMPLETE, 0 },
	{ .name = NULL },
};
