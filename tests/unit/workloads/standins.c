// SPDX-License-Identifier: Apache-2.0
/*
 * The stand-in libraries are what they say: every name of the real ones, their heads, their clock, their errors.
 *
 * Arguments: the directory of the stand-ins, the directory of the export lists.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"
#include "tests/workloads/cuda_calls.h"
#include "tests/workloads/standin/control.h"

#define KERNEL_NS (3 * NSEC_PER_MSEC)

static const char *standins, *lists;

/* Found by name, as a tracer finds them: this test links none of them. */
static struct {
	__typeof__(ingero_standin_device) *device;
	__typeof__(ingero_standin_fail) *fail;
	__typeof__(ingero_standin_inside) *inside;
	__typeof__(ingero_standin_callback) *callback;
	__typeof__(ingero_standin_no_hooks) *no_hooks;
	__typeof__(ingero_standin_count) *count;
} control;

static void *runtime, *driver;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void *open_standin(const char *name)
{
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/%s", standins, name);
	library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	return library;
}

static void *need(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "%s is not exported\n", name);
		exit(1);
	}
	return found;
}

#define FROM(library, name) ((__typeof__(name) *)need(library, #name))

/* How many functions of a real library's list the stand-in lacks, or begins differently. */

enum shape { SHAPE_RUNTIME, SHAPE_ALIAS, SHAPE_DRIVER };

static bool has_shape(const uint8_t *code, enum shape shape)
{
#if defined(__x86_64__)
	static const uint8_t push_mov[] = { 0x55, 0x48, 0x89, 0xe5 };

	switch (shape) {
	case SHAPE_RUNTIME:
		return memcmp(code, push_mov, sizeof(push_mov)) == 0;
	case SHAPE_ALIAS:
		return memcmp(code, push_mov, sizeof(push_mov)) == 0 && code[4] == 0x5d && code[5] == 0xe9;
	case SHAPE_DRIVER: /* cmpl $imm32,disp32(%rip); je +; jmp *disp32(%rip) */
		return code[0] == 0x81 && code[1] == 0x3d && code[10] == 0x74 && code[12] == 0xff && code[13] == 0x25;
	}
	return false;
#else
	(void)code, (void)shape;
	return true; /* real heads of other processors were not seen yet: nothing is claimed */
#endif
}

#define HEAD_BYTES 16

/*
 * A function's first bytes in its file, not in memory: there a tracer that watches the
 * whole machine may have put its breakpoints.
 */
static bool read_head(const void *function, uint8_t head[HEAD_BYTES])
{
	CLEANUP(closep) int fd = -1;
	const ElfW(Phdr) * part;
	const ElfW(Ehdr) * elf;
	uintptr_t at;
	Dl_info info;

	if (!dladdr(function, &info))
		return false;
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	elf = info.dli_fbase;
	part = (const void *)((const char *)info.dli_fbase + elf->e_phoff);
	at = (uintptr_t)function - (uintptr_t)info.dli_fbase;
	for (unsigned int i = 0; fd >= 0 && i < elf->e_phnum; i++) {
		if (part[i].p_type == PT_LOAD && at >= part[i].p_vaddr && at < part[i].p_vaddr + part[i].p_filesz)
			return pread(fd, head, HEAD_BYTES, (off_t)(part[i].p_offset + at - part[i].p_vaddr)) ==
			       HEAD_BYTES;
	}
	return false;
}

static void test_exports(void)
{
	static const struct {
		const char *list;
		const char *library;
		const char *version; /* node of every symbol, NULL for none */
		enum shape shape;
		int n_functions; /* as counted in the real file by another tool */
	} cases[] = {
		{ "libcudart-12.txt", "libcudart.so.12", "libcudart.so.12", SHAPE_RUNTIME, 435 },
		{ "libcudart-13.txt", "libcudart.so.13", "libcudart.so.13", SHAPE_RUNTIME, 458 },
		{ "libcuda-470.txt", "libcuda.so.1", NULL, SHAPE_DRIVER, 532 },
		{ "libcuda-535.txt", "libcuda.so.1", NULL, SHAPE_DRIVER, 600 },
		{ "libcuda-550.txt", "libcuda.so.1", NULL, SHAPE_DRIVER, 636 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(fclosep) FILE *list = NULL;
		int n = 0, n_missing = 0, n_shape = 0;
		char path[4096], line[256], name[128];
		void *library = open_standin(cases[i].library);

		CHECK(cases[i].library, library);
		snprintf(path, sizeof(path), "%s/%s", lists, cases[i].list);
		list = fopen(path, "re");
		CHECK(path, list);
		while (library && list && fgets(line, sizeof(line), list)) {
			uint8_t head[HEAD_BYTES];
			bool is_right;
			void *code;

			if (line[0] == '#' || sscanf(line, "%127s", name) != 1)
				continue;
			n++;
			code = cases[i].version ? dlvsym(library, name, cases[i].version) : dlsym(library, name);
			is_right = code && read_head(code, head) && has_shape(head, cases[i].shape);
			n_missing += !code;
			n_shape += code && !is_right;
			if (!is_right)
				fprintf(stderr, "%s: %s\n", cases[i].list, name);
		}
		CHECK_INT_EQ(cases[i].list, n, cases[i].n_functions);
		CHECK_INT_EQ(cases[i].list, n_missing, 0);
		CHECK_INT_EQ(cases[i].list, n_shape, 0);
	}
}

static void test_alias_jumps_to_the_export(void)
{
	static const char *const names[][2] = {
		{ "__cudaLaunchKernel", "cudaLaunchKernel" },
		{ "__cudaLaunchKernel_ptsz", "cudaLaunchKernel_ptsz" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const uint8_t *alias = need(runtime, names[i][0]), *export = need(runtime, names[i][1]);
		uint8_t head[HEAD_BYTES];
		int32_t distance;

		CHECK(names[i][0], read_head(alias, head) && has_shape(head, SHAPE_ALIAS));
#if defined(__x86_64__)
		memcpy(&distance, head + 6, sizeof(distance));
		CHECK(names[i][0], alias + 10 + distance == export);
#else
		(void)distance, (void)export;
#endif
	}
}

/* The driver hands out exported addresses: the newest version, the per-thread form when asked. */
static void test_entry_points(void)
{
	static const struct {
		const char *name;
		uint64_t flags;
		const char *export; /* NULL: not found */
	} cases[] = {
		{ "cuMemAlloc", 0, "cuMemAlloc_v2" },
		{ "cuMemcpyHtoDAsync", 0, "cuMemcpyHtoDAsync_v2" },
		{ "cuMemcpyHtoDAsync", 2, "cuMemcpyHtoDAsync_v2_ptsz" },
		{ "cuMemcpyHtoD", 2, "cuMemcpyHtoD_v2_ptds" },
		{ "cuLaunchKernel", 0, "cuLaunchKernel" },
		{ "cuLaunchKernel", 2, "cuLaunchKernel_ptsz" },
		{ "cuStreamSynchronize", 2, "cuStreamSynchronize_ptsz" },
		{ "cuInit", 2, "cuInit" },
		{ "cuNoSuchThing", 0, NULL },
	};
	int (*get)(const char *name, void **ret_address, int version, uint64_t flags, int *ret_status);

	*(void **)&get = need(driver, "cuGetProcAddress_v2");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		void *address = NULL;
		int status = -1, r = get(cases[i].name, &address, 12090, cases[i].flags, &status);

		CHECK_INT_EQ(cases[i].name, r, cases[i].export ? 0 : 500);
		CHECK(cases[i].name, address == (cases[i].export ? need(driver, cases[i].export) : NULL));
	}
}

/* By order of clock readings alone: how late a wait ends is the machine's business. */
static void test_synchronise_waits(void)
{
	static const struct {
		const char *name;
		enum ingero_standin_how how;
	} cases[] = {
		{ "spin", INGERO_STANDIN_SPIN },   { "block", INGERO_STANDIN_BLOCK }, { "poll", INGERO_STANDIN_POLL },
		{ "sleep", INGERO_STANDIN_SLEEP }, { "yield", INGERO_STANDIN_YIELD },
	};
	static const dim3 one = { 1, 1, 1 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cudaStream_t stream = NULL;
		uint64_t start_ns;

		control.device(KERNEL_NS, 0, cases[i].how);
		CHECK_INT_EQ(cases[i].name, FROM(runtime, cudaStreamCreate)(&stream), 0);
		start_ns = now_ns();
		for (int k = 0; k < 3; k++)
			CHECK_INT_EQ(cases[i].name,
				     FROM(runtime, cudaLaunchKernel)((const void *)standins, one, one, NULL, 0, stream),
				     0);
		CHECK_INT_EQ(cases[i].name, FROM(runtime, cudaStreamSynchronize)(stream), 0);
		/* in order: three kernels take three times */
		CHECK(cases[i].name, now_ns() - start_ns >= 3 * KERNEL_NS);

		start_ns = now_ns();
		FROM(driver, cuLaunchKernel_ptsz)((CUfunction)standins, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		CHECK_INT_EQ(cases[i].name, FROM(driver, cuStreamSynchronize_ptsz)(NULL), 0);
		CHECK(cases[i].name, now_ns() - start_ns >= KERNEL_NS);
		CHECK_INT_EQ(cases[i].name, FROM(runtime, cudaStreamDestroy)(stream), 0);
	}
}

/* One hour of work is not done within this test; none is. */
static void test_query_and_copies_take_time(void)
{
	int (*query)(cudaStream_t stream) = NULL;
	char from[4096] = { 7 }, to[4096] = { 0 };
	cudaStream_t stream = NULL;
	void *on_device = NULL;

	*(void **)&query = need(runtime, "cudaStreamQuery");
	control.device(0, 1000000, INGERO_STANDIN_SPIN);
	CHECK_INT_EQ("stream", FROM(runtime, cudaStreamCreate)(&stream), 0);
	CHECK_INT_EQ("nothing to do", query(stream), 0);
	CHECK_INT_EQ("malloc", FROM(runtime, cudaMalloc)(&on_device, sizeof(from)), 0);
	CHECK_INT_EQ("to device", FROM(runtime, cudaMemcpyAsync)(on_device, from, sizeof(from), 1, stream), 0);
	CHECK_INT_EQ("to host", FROM(runtime, cudaMemcpyAsync)(to, on_device, sizeof(from), 2, stream), 0);
	CHECK_INT_EQ("sync", FROM(runtime, cudaStreamSynchronize)(stream), 0);
	CHECK("what went in came out", memcmp(from, to, sizeof(from)) == 0);
	CHECK_INT_EQ("a kind that does not exist", FROM(runtime, cudaMemcpyAsync)(to, from, 1, 9, stream), 1);

	control.device(3600 * NSEC_PER_SEC, 0, INGERO_STANDIN_SPIN);
	FROM(runtime, cudaLaunchKernel)((const void *)standins, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, stream);
	CHECK_INT_EQ("busy", query(stream), 600);
	CHECK_INT_EQ("free", FROM(runtime, cudaFree)(on_device), 0);
	CHECK_INT_EQ("destroy", FROM(runtime, cudaStreamDestroy)(stream), 0);
	control.device(0, 0, INGERO_STANDIN_SPIN);
}

static void test_memory(void)
{
	CUdeviceptr ptr = 0;

	CHECK_INT_EQ("nothing asked for", FROM(driver, cuMemAlloc_v2)(&ptr, 0), 1);
	CHECK_INT_EQ("more than there is", FROM(driver, cuMemAlloc_v2)(&ptr, 1ull << 50), 2);
	CHECK_INT_EQ("as much as fits a size", FROM(driver, cuMemAlloc_v2)(&ptr, SIZE_MAX), 2);
	CHECK_INT_EQ("alloc", FROM(driver, cuMemAlloc_v2)(&ptr, 4099), 0);
	CHECK("aligned", ptr && ptr % 512 == 0);
	CHECK_INT_EQ("inside of a block", FROM(driver, cuMemFree_v2)(ptr + 512), 1);
	CHECK_INT_EQ("free", FROM(driver, cuMemFree_v2)(ptr), 0);
	CHECK_INT_EQ("NULL", FROM(driver, cuMemFree_v2)(0), 0);
	CHECK_INT_EQ("no memory of ours", FROM(driver, cuMemFree_v2)(512), 1);
	CHECK_INT_EQ("no stream", FROM(driver, cuStreamSynchronize)((CUstream)&ptr), 400);
	CHECK_INT_EQ("no kernel",
		     FROM(runtime, cudaLaunchKernel)(NULL, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL), 98);
	CHECK_INT_EQ("kept as last error", FROM(runtime, cudaGetLastError)(), 98);
	CHECK_INT_EQ("and then forgotten", FROM(runtime, cudaGetLastError)(), 0);
}

static uint64_t entries_of(const char *function)
{
	uint64_t entries = 0, returns = 0;

	CHECK_INT_EQ(function, control.count(function, &entries, &returns), 0);
	return entries;
}

static void test_errors_on_demand(void)
{
	static const struct {
		const char *name;
		uint64_t nth, every;
		int want[7]; /* codes of seven calls */
	} cases[] = {
		{ "the third", 3, 0, { 0, 0, 2, 0, 0, 0, 0 } }, { "every second", 0, 2, { 0, 2, 0, 2, 0, 2, 0 } },
		{ "every one", 0, 1, { 2, 2, 2, 2, 2, 2, 2 } }, { "both", 1, 3, { 2, 0, 2, 0, 0, 2, 0 } },
		{ "none", 0, 0, { 0, 0, 0, 0, 0, 0, 0 } },
	};

	CHECK_INT_EQ("unknown function", control.fail("cudaNoSuchThing", 1, 0, 2), -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t driver_before = entries_of("cuStreamSynchronize");
		uint64_t runtime_before = entries_of("cudaStreamSynchronize"), n_failed = 0;

		CHECK_INT_EQ(cases[i].name, control.fail("cudaStreamSynchronize", cases[i].nth, cases[i].every, 2), 0);
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].want); k++) {
			CHECK_INT_EQ(cases[i].name, FROM(runtime, cudaStreamSynchronize)(NULL), cases[i].want[k]);
			n_failed += cases[i].want[k] != 0;
		}
		/* a call that fails on demand does no work, and is in the books all the same */
		CHECK_INT_EQ(cases[i].name, entries_of("cudaStreamSynchronize") - runtime_before, 7);
		CHECK_INT_EQ(cases[i].name, entries_of("cuStreamSynchronize") - driver_before, 7 - n_failed);
		control.no_hooks();
	}
}

static void count_one(void *argument)
{
	++*(int *)argument;
}

static void test_hooks(void)
{
	uint64_t start_ns = now_ns();
	int n = 0;

	CHECK_INT_EQ("inside", control.inside("cuStreamSynchronize", KERNEL_NS, INGERO_STANDIN_SLEEP), 0);
	CHECK_INT_EQ("callback", control.callback("cudaStreamSynchronize", count_one, &n), 0);
	CHECK_INT_EQ("result unchanged", FROM(runtime, cudaStreamSynchronize)(NULL), 0);
	CHECK("time was spent", now_ns() - start_ns >= KERNEL_NS);
	CHECK_INT_EQ("the callback ran", n, 1);
	control.no_hooks();
	CHECK_INT_EQ("result unchanged", FROM(runtime, cudaStreamSynchronize)(NULL), 0);
	CHECK_INT_EQ("and no more", n, 1);
}

/* Stack arguments, and a function that no table names, pass the common path. */
static void test_unlisted_is_counted(void)
{
	static const char *const names[] = { "cudaGraphClone", "cuGraphClone", "cudbgReportDriverApiError" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int (*function)(void *a, unsigned int b);
		uint64_t before = entries_of(names[i]);

		*(void **)&function = need(i == 0 ? runtime : driver, names[i]);
		CHECK_INT_EQ(names[i], function(NULL, 0), 0);
		CHECK_INT_EQ(names[i], entries_of(names[i]) - before, 1);
	}
	CHECK_INT_EQ("no grid, the eleventh argument reached",
		     FROM(driver, cuLaunchKernel)((CUfunction)standins, 1, 1, 1, 1, 1, 0, 0, NULL, NULL, NULL), 1);
	CHECK_INT_EQ(
		"a stream on the stack",
		FROM(driver, cuLaunchKernel)((CUfunction)standins, 1, 1, 1, 1, 1, 1, 0, (CUstream)&lists, NULL, NULL),
		400);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "standins DIRECTORY-OF-STANDINS DIRECTORY-OF-LISTS\n");
		return 2;
	}
	standins = argv[1];
	lists = argv[2];
	setenv("INGERO_STANDIN_QUIET", "1", 1);
	test_exports();

	runtime = open_standin("libcudart.so.12");
	driver = open_standin("libcuda.so.1");
	if (!runtime || !driver)
		return 1;
	control.device = FROM(RTLD_DEFAULT, ingero_standin_device);
	control.fail = FROM(RTLD_DEFAULT, ingero_standin_fail);
	control.inside = FROM(RTLD_DEFAULT, ingero_standin_inside);
	control.callback = FROM(RTLD_DEFAULT, ingero_standin_callback);
	control.no_hooks = FROM(RTLD_DEFAULT, ingero_standin_no_hooks);
	control.count = FROM(RTLD_DEFAULT, ingero_standin_count);

	test_alias_jumps_to_the_export();
	test_entry_points();
	test_synchronise_waits();
	test_query_and_copies_take_time();
	test_memory();
	test_errors_on_demand();
	test_hooks();
	test_unlisted_is_counted();
	return check_result();
}
