// SPDX-License-Identifier: Apache-2.0
/*
 * What a real runtime library asks of the stand-in driver: private tables, modules, pointers, forms by version.
 *
 * Argument: the directory of the stand-ins.
 */
#include <dlfcn.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

typedef uint64_t device_ptr;
typedef int plain_fn(void);

static void *driver;

/* An exported function, cast to the type at hand by whoever asks. */
static void *need(const char *name)
{
	void *found = dlsym(driver, name);

	if (!found) {
		fprintf(stderr, "%s is not exported\n", name);
		exit(1);
	}
	return found;
}

#define CALL(name, types, ...)                                                                                         \
	({                                                                                                             \
		int(*function_) types;                                                                                 \
		*(void **)&function_ = need(name);                                                                     \
		function_(__VA_ARGS__);                                                                                \
	})

static const void *table_of(const char *identity, int want)
{
	const void *table = NULL;

	CHECK_INT_EQ(identity,
		     CALL("cuGetExportTable", (const void **, const unsigned char *), &table,
			  (const unsigned char *)identity),
		     want);
	return table;
}

static void test_private_tables(void)
{
	static const struct {
		const char *name;
		const char *identity;
		int want;
		int has_size;
	} cases[] = {
		{ "runtime", "\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9", 0, 1 },
		{ "tools", "\xa0\x94\x79\x8c\x2e\x74\x2e\x74\x93\xf2\x08\x00\x20\x0c\x0a\x66", 0, 1 },
		{ "none called", "\x42\xd8\x5a\x81\x23\xf6\xcb\x47\x82\x98\xf6\xe7\x8a\x3a\xec\xdc", 0, 1 },
		{ "context values", "\xc6\x93\x33\x6e\x11\x21\xdf\x11\xa8\xc3\x68\xf3\x55\xd8\x95\x93", 0, 0 },
		{ "cuBLAS", "\x51\xe3\xfd\x12\x6f\x08\xc8\x44\xa2\xad\x23\x57\xb7\xc3\x52\x21", 0, 1 },
		/* the vendor's check of its own libraries is not to be answered */
		{ "vendor's check", "\xd4\x08\x20\x55\xbd\xe6\x70\x4b\x8d\x34\xba\x12\x3c\x66\xe1\xf2", 1, 0 },
		{ "unknown", "0123456789abcdef", 1, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uintptr_t *words = table_of(cases[i].identity, cases[i].want);

		CHECK_INT_EQ(cases[i].name, words != NULL, cases[i].want == 0);
		if (words && cases[i].has_size)
			/* a runtime may call whatever the size covers */
			for (size_t k = 1; k < words[0] / sizeof(words[0]); k++)
				CHECK(cases[i].name, words[k] != 0);
	}
}

static void test_context_values(void)
{
	int (*const *table)(void *a, void *b, void *c, void *d) =
		table_of("\xc6\x93\x33\x6e\x11\x21\xdf\x11\xa8\xc3\x68\xf3\x55\xd8\x95\x93", 0);
	void *context = NULL, *value = NULL;
	int key_a, key_b;

	CALL("cuCtxSetCurrent", (void *), NULL);
	CHECK("no context", table[2](&value, NULL, &key_a, NULL) != 0);
	CHECK_INT_EQ("retain", CALL("cuDevicePrimaryCtxRetain", (void **, int), &context, 0), 0);
	CHECK_INT_EQ("current", CALL("cuCtxSetCurrent", (void *), context), 0);
	CHECK("nothing there yet", table[2](&value, NULL, &key_a, NULL) != 0);
	CHECK_INT_EQ("put a", table[0](NULL, &key_a, &key_b, NULL), 0);
	CHECK_INT_EQ("put b", table[0](context, &key_b, &key_a, NULL), 0);
	CHECK_INT_EQ("get a", table[2](&value, context, &key_a, NULL), 0);
	CHECK("a", value == &key_b);
	CHECK_INT_EQ("put a again", table[0](context, &key_a, &value, NULL), 0);
	CHECK_INT_EQ("get a", table[2](&value, NULL, &key_a, NULL), 0);
	CHECK("a again", value == &value);
	CHECK_INT_EQ("delete a", table[1](NULL, &key_a, NULL, NULL), 0);
	CHECK("a is gone", table[2](&value, NULL, &key_a, NULL) != 0);
	CHECK_INT_EQ("b stays", table[2](&value, NULL, &key_b, NULL), 0);
}

static void test_modules(void)
{
	int (*const *table)(void *a, const void *b, void *c) =
		table_of("\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9", 0);
	void *by_image = NULL, *module = NULL, *first = NULL, *second = NULL, *other = NULL;
	const char *name = NULL, image[1] = "";
	device_ptr variable = 0, again = 0;
	char text[32];
	size_t n = 0;
	int value;

	CHECK_INT_EQ("load", CALL("cuModuleLoadData", (void **, const void *), &module, image), 0);
#define FUNCTION(out, text) CALL("cuModuleGetFunction", (void **, void *, const char *), out, module, text)
	CHECK_INT_EQ("function", FUNCTION(&first, "a"), 0);
	for (int i = 0; i < 1009; i++) { /* more than one growth of whatever holds them */
		snprintf(text, sizeof(text), "kernel_%d", i);
		CHECK_INT_EQ(text, FUNCTION(&other, text), 0);
		CHECK(text, other && other != first);
	}
	CHECK_INT_EQ("function", FUNCTION(&second, "a"), 0);
	CHECK("one name, one function", first && first == second);
	CHECK_INT_EQ("name", CALL("cuFuncGetName", (const char **, void *), &name, first), 0);
	CHECK_STR_EQ("name", name, "a");
	CHECK_INT_EQ("threads", CALL("cuFuncGetAttribute", (int *, int, void *), &value, 0, first), 0);
	CHECK_INT_EQ("threads", value, 1024);
#define VARIABLE(at) CALL("cuModuleGetGlobal_v2", (device_ptr *, size_t *, void *, const char *), at, &n, module, "a")
	CHECK_INT_EQ("variable", VARIABLE(&variable), 0);
	CHECK_INT_EQ("variable", VARIABLE(&again), 0);
	CHECK("a variable is another thing than a function",
	      variable && variable == again && variable != (device_ptr)first && n);
	CHECK_INT_EQ("unload", CALL("cuModuleUnload", (void *), module), 0);
	CHECK_INT_EQ("twice", CALL("cuModuleUnload", (void *), module), 400);

	/* as runtimes load: by a wrapper, and unloaded by it */
	CHECK_INT_EQ("load", table[6](&by_image, image, NULL), 0);
	CHECK_INT_EQ("unload", table[7]((void *)image, NULL, NULL), 0);
	CHECK_INT_EQ("twice", table[7]((void *)image, NULL, NULL), 400);
}

static void test_pointers(void)
{
	enum { TYPE = 2, ADDRESS = 3, START = 11, SIZE = 12, UNKNOWN = 99 };
	device_ptr ptr = 0, start = 0, address = 0;
	void *pinned = NULL;
	size_t n = 0;
	int type = -1;

	CHECK_INT_EQ("alloc", CALL("cuMemAlloc_v2", (device_ptr *, size_t), &ptr, 4099), 0);
	CHECK_INT_EQ("alloc", CALL("cuMemHostAlloc", (void **, size_t, int), &pinned, 100, 0), 0);
#define ASK(out, what, at) CALL("cuPointerGetAttribute", (void *, int, device_ptr), out, what, at)
	CHECK_INT_EQ("inside", ASK(&type, TYPE, ptr + 4098), 0);
	CHECK_INT_EQ("device memory", type, 2);
	CHECK_INT_EQ("behind", ASK(&type, TYPE, ptr + 4099), 1);
	CHECK_INT_EQ("pinned", ASK(&type, TYPE, (device_ptr)pinned), 0);
	CHECK_INT_EQ("host memory", type, 1);
	CHECK_INT_EQ("none of ours", ASK(&type, TYPE, (device_ptr)&type), 1);
	CHECK_INT_EQ("address", ASK(&address, ADDRESS, ptr + 7), 0);
	CHECK("one address space", address == ptr + 7);
	CHECK_INT_EQ("no such question", ASK(&address, UNKNOWN, ptr), 1);
	CHECK_INT_EQ("range",
		     CALL("cuMemGetAddressRange_v2", (device_ptr *, size_t *, device_ptr), &start, &n, ptr + 1), 0);
	CHECK("range", start == ptr && n == 4099);
	CHECK_INT_EQ("several",
		     CALL("cuPointerGetAttributes", (unsigned int, int *, void **, device_ptr), 2,
			  ((int[]){ TYPE, SIZE }), ((void *[]){ &type, &n }), (device_ptr)&type),
		     0);
	CHECK_INT_EQ("of an unknown pointer nothing", type == 0 && n == 0, 1);
	CHECK_INT_EQ("free", CALL("cuMemFree_v2", (device_ptr), ptr), 0);
	CHECK_INT_EQ("freed", ASK(&type, TYPE, ptr), 1);
	CHECK_INT_EQ("free", CALL("cuMemFreeHost", (void *), pinned), 0);
}

/* A later form is handed out only to who knows it. */
static void test_forms_by_version(void)
{
	static const struct {
		const char *name;
		int version;
		const char *export;
	} cases[] = {
		{ "cuGetProcAddress", 11080, "cuGetProcAddress" },
		{ "cuGetProcAddress", 12000, "cuGetProcAddress_v2" },
		{ "cuCtxCreate", 3020, "cuCtxCreate_v2" },
		{ "cuCtxCreate", 11040, "cuCtxCreate_v3" },
		{ "cuStreamGetCaptureInfo", 10010, "cuStreamGetCaptureInfo" },
		{ "cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2" },
		{ "cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3" },
		{ "cuGraphInstantiate", 10000, "cuGraphInstantiate" },
		{ "cuGraphInstantiate", 11000, "cuGraphInstantiate_v2" },
		{ "cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags" },
		{ "cuMemAlloc", 3020, "cuMemAlloc_v2" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		void *address = NULL;

		CHECK_INT_EQ(cases[i].name,
			     CALL("cuGetProcAddress", (const char *, void **, int, uint64_t), cases[i].name, &address,
				  cases[i].version, 0),
			     0);
		CHECK(cases[i].export, address == need(cases[i].export));
	}
}

static void test_copy_of_rectangles(void)
{
	/* 3 wide, 2 high, out of rows of 5 into rows of 4 */
	static const char from[] = "abcde"
				   "fghij"
				   "klmno";
	char to[] = "........";
	struct {
		size_t from_x, from_y;
		unsigned int from_type;
		const void *from_host;
		device_ptr from_device;
		void *from_array;
		size_t from_pitch;
		size_t to_x, to_y;
		unsigned int to_type;
		void *to_host;
		device_ptr to_device;
		void *to_array;
		size_t to_pitch;
		size_t width, height;
	} copy = { .from_x = 1,
		   .from_y = 1,
		   .from_type = 1,
		   .from_host = from,
		   .from_pitch = 5,
		   .to_x = 1,
		   .to_type = 2,
		   .to_device = (device_ptr)to,
		   .to_pitch = 4,
		   .width = 3,
		   .height = 2 };

	CHECK_INT_EQ("copy", CALL("cuMemcpy2D_v2", (void *), &copy), 0);
	CHECK_STR_EQ("copy", to, ".ghi.lmn");
	copy.from_pitch = 2;
	CHECK_INT_EQ("rows longer than their distance", CALL("cuMemcpy2D_v2", (void *), &copy), 1);
}

static void test_the_device(void)
{
	int value = 0, is_active = 1, count = 0;
	unsigned int flags = 0;
	void *context = NULL;

	CHECK_INT_EQ("count", CALL("cuDeviceGetCount", (int *), &count), 0);
	CHECK_INT_EQ("count", count, 1);
	CHECK_INT_EQ("major", CALL("cuDeviceGetAttribute", (int *, int, int), &value, 75, 0), 0);
	CHECK_INT_EQ("as the environment asks", value, 7);
	CHECK_INT_EQ("warp", CALL("cuDeviceGetAttribute", (int *, int, int), &value, 10, 0), 0);
	CHECK_INT_EQ("warp", value, 32);
	CHECK_INT_EQ("no second device", CALL("cuDeviceGetAttribute", (int *, int, int), &value, 10, 1), 101);

#define STATE() CALL("cuDevicePrimaryCtxGetState", (int, unsigned int *, int *), 0, &flags, &is_active)
	CHECK_INT_EQ("state", STATE(), 0);
	CHECK_INT_EQ("not in use", is_active, 0);
	CHECK_INT_EQ("retain", CALL("cuDevicePrimaryCtxRetain", (void **, int), &context, 0), 0);
	CHECK_INT_EQ("state", STATE(), 0);
	CHECK_INT_EQ("in use", is_active, 1);
	CHECK_INT_EQ("release", CALL("cuDevicePrimaryCtxRelease_v2", (int), 0), 0);
	CHECK_INT_EQ("more often than retained", CALL("cuDevicePrimaryCtxRelease_v2", (int), 0), 201);
}

int main(int argc, char **argv)
{
	char path[4096];

	if (argc != 2) {
		fprintf(stderr, "driver DIRECTORY-OF-STANDINS\n");
		return 2;
	}
	setenv("INGERO_STANDIN_QUIET", "1", 1);
	setenv("INGERO_STANDIN_CAPABILITY", "7.0", 1);
	snprintf(path, sizeof(path), "%s/libcuda.so.1", argv[1]);
	driver = dlopen(path, RTLD_NOW);
	if (!driver) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	test_the_device();
	test_private_tables();
	test_context_values();
	test_modules();
	test_pointers();
	test_forms_by_version();
	test_copy_of_rectangles();
	return check_result();
}
