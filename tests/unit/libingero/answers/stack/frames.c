// SPDX-License-Identifier: Apache-2.0
/*
 * Frames as people read them: which line made a call, and all frames of a stack, also with names that do not fit or are
 * not to be shown as they are.
 */
#include "libingero/answers/stack/frames.h"

#include "libingero/answers/stack/place.h"
#include "stacks.h"
#include "tests/support/check.h"

static const struct text_style plain = { .is_utf8 = true, .columns = 80 };
static struct made_stack made;

/* ---- which line made a call ---- */

static void python(void)
{
	made_stack_python(&made, 1, "/data/alice/net.py", 142);
}

static void native(void)
{
	made_stack_init(&made, 1);
	made_native(&made, "cuLaunchKernel", "/lib/libcuda.so.1");
	made_native(&made, "cudaLaunchKernel+0x9f", "/x/libcudart-80664282.so.10.2");
	made_native(&made, "step(int*)+0x2a", "/data/alice/train");
	made_native(&made, "main+0x1", "/data/alice/train");
}

static void native_with_line(void)
{
	native();
	made.frames[2].file = TEXT("/data/alice/train.cu");
	made.frames[2].line = 31;
}

static void python_far_out(void)
{
	native();
	made_python(&made, "/data/alice/train.py", 8, "run");
}

static void no_symbol(void)
{
	native();
	made.frames[2].symbol = TEXT("");
}

static void stripped(void)
{
	no_symbol();
	made.frames[3].symbol = TEXT("");
}

static void library_for_symbol(void)
{
	stripped();
	made.frames[2].symbol = TEXT("train+0x2a");
}

static void nothing_known(void)
{
	stripped();
	made.frames[2].module = TEXT("");
}

static void library_alone(void)
{
	native();
	made.stack.n_frames = 2;
}

static void no_offset(void)
{
	native();
	made.frames[2].symbol = TEXT("operator+0x");
}

static void no_line(void)
{
	python();
	made.frames[2].line = 0;
}

static const struct {
	const char *name;
	void (*make)(void);
	const char *want;
} places[] = {
	{ "innermost of Python", python, "net.py:142 in forward" },
	{ "native: the first that is of no CUDA library", native, "step(int*) (train)" },
	{ "native, with its source", native_with_line, "train.cu:31 in step(int*)" },
	{ "Python before native", python_far_out, "train.py:8 in run" },
	{ "no symbol: the next that has one", no_symbol, "main (train)" },
	{ "nothing has a symbol", stripped, "(train)" },
	{ "the program for a symbol", library_for_symbol, "(train)" },
	{ "neither symbol nor library", nothing_known, "an unknown place" },
	{ "nothing but CUDA's own: the function called", library_alone, "cuLaunchKernel (libcuda.so.1)" },
	{ "no offset", no_offset, "operator+0x (train)" },
	{ "no line", no_line, "net.py in forward" },
};

static void place_test(size_t i)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct stack_place place;

	places[i].make();
	CHECK(places[i].name, stack_place_find(&made.stack, &place));
	stack_place_append(&place, &out);
	CHECK_STR_EQ(places[i].name, buf_text(&out), places[i].want);
}

static void chain_test(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT, natives = BUF_INIT, none = BUF_INIT;

	python();
	stack_chain_append(&made.stack, &out);
	CHECK_STR_EQ("of Python", buf_text(&out), "net.py:142 in forward ← train.py:13 in main");
	native();
	stack_chain_append(&made.stack, &natives);
	CHECK_STR_EQ("native", buf_text(&natives), "step(int*) (train) ← main (train)");
	made_stack_init(&made, 1);
	stack_chain_append(&made.stack, &none);
	CHECK_INT_EQ("no frames", none.n, 0);
}

static void no_place_test(void)
{
	Ingero__V1__Site site = INGERO__V1__SITE__INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct stack_place place;

	made_stack_init(&made, 1);
	CHECK("no frames", !stack_place_find(&made.stack, &place));
	CHECK("no stack", !stack_place_find(NULL, &place));
	stack_site_append(NULL, &out);
	stack_site_append(&site, &out);
	CHECK_INT_EQ("nothing known of a site", out.n, 0);
	site.func = TEXT("forward");
	stack_site_append(&site, &out);
	CHECK_STR_EQ("a site without its file", buf_text(&out), "forward");
}

/* ---- all frames ---- */

static void lines_test(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT, cut = BUF_INIT;

	made_stack_python(&made, 1, "/data/alice/net.py", 142);
	made.frames[1].file = TEXT("/build/wait.cpp");
	made.frames[1].line = 77;
	stack_lines_append(&made.stack, &plain, &out);
	CHECK_STR_EQ("complete", buf_text(&out),
		     "  stack    [Native] cudaStreamSynchronize (libcudart.so.12)\n"
		     "           [Native] at::wait(int)+0x1d4 (libtorch_cuda.so) wait.cpp:77\n"
		     "           [Python] /data/alice/net.py:142 in forward()\n"
		     "           [Python] /data/alice/train.py:13 in main()\n"
		     "           [Native] _start+0x21 (python3.11)\n");
	made.stack.is_complete = 0;
	made.stack.why = TEXT("memory of the stack could not be read");
	made.stack.n_frames = 1;
	stack_lines_append(&made.stack, &plain, &cut);
	CHECK_STR_EQ("not complete", buf_text(&cut),
		     "  stack    [Native] cudaStreamSynchronize (libcudart.so.12)\n"
		     "           not complete: memory of the stack could not be read\n");
}

static void debug_test(void)
{
	Ingero__V1__Event event = INGERO__V1__EVENT__INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	event.op = TEXT("cudaStreamSynchronize");
	event.pid = 11435;
	event.tid = 11436;
	stack_debug_append(&event, NULL, &plain, &out);
	CHECK_INT_EQ("no stack, no line", out.n, 0);
	made_stack_python(&made, 1, "train.py", 8);
	made.frames[1].symbol = TEXT("");
	made.stack.n_frames = 3;
	made.stack.is_complete = 0;
	made.stack.why = TEXT("no rule describes this code");
	stack_debug_append(&event, &made.stack, &plain, &out);
	CHECK_STR_EQ("as Ingero writes it", buf_text(&out),
		     "[DEBUG] stack trace for cudaStreamSynchronize (PID 11435, TID 11436, 3 frames):\n"
		     "[DEBUG]   [0] [Native] cudaStreamSynchronize (libcudart.so.12)\n"
		     "[DEBUG]   [1] [Native] (libtorch_cuda.so)\n"
		     "[DEBUG]   [2] [Python] train.py:8 in forward()\n"
		     "[DEBUG]   not complete: no rule describes this code\n");
}

/* ---- what does not fit, or is not to be shown ---- */

#define LONG_PATH "/data/alice/venv/lib/python3.11/site-packages/torch/nn/modules/module.py"

static const struct {
	const char *name;
	unsigned int room;
	bool is_python;
	const char *symbol, *file, *module;
	uint32_t line;
	const char *want;
} frames[] = {
	{ "a path loses its first directories", 60, true, "forward", LONG_PATH, "", 1501,
	  "[Python] …/torch/nn/modules/module.py:1501 in forward()" },
	{ "down to its file", 36, true, "forward", LONG_PATH, "", 1501, "[Python] module.py:1501 in forward()" },
	{ "then the end", 20, true, "forward", LONG_PATH, "", 1501, "[Python] module.py:…" },
	{ "no file and no name", 60, true, "", "", "", 0, "[Python] ? in ?()" },
	{ "a symbol loses its end, the library stays", 40, false, "at::native::vectorized_elementwise_kernel<4>", "",
	  "/lib/libtorch_cuda.so", 0, "at::native::vectoriz… (libtorch_cuda.so)" },
	{ "a library's long name is cut first, its function and line stay", 60, false, "_ctypes_callproc+0x32e",
	  "/src/callproc.c", "/lib/_ctypes.cpython-312-x86_64-linux-gnu.so", 931,
	  "_ctypes_callproc+0x32e (_ctypes.cpython-312…) callproc.c:931" },
	{ "nothing but an address", 40, false, "", "", "", 0, "0x2a" },
	{ "a library for a symbol", 60, false, "libffi.so.8.1.2+0x6f7a", "", "/lib/libffi.so.8.1.2", 0,
	  "libffi.so.8.1.2+0x6f7a" },
	{ "the beginning of a function", 60, false, "cudaMalloc+0x0", "", "/lib/libcudart.so.12", 0,
	  "cudaMalloc (libcudart.so.12)" },
	{ "control characters", 60, true, "f\x1b[2J", "/a/\nb.py", "", 3, "[Python] /a/?b.py:3 in f?[2J()" },
	{ "a library's, too", 60, false, "g", "", "/a/\x1b]0;x\x07", 0, "g (?]0;x?)" },
};

static void frame_test(size_t i)
{
	Ingero__V1__StackFrame frame = INGERO__V1__STACK_FRAME__INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	frame.is_python = frames[i].is_python;
	frame.symbol = TEXT(frames[i].symbol);
	frame.file = TEXT(frames[i].file);
	frame.module = TEXT(frames[i].module);
	frame.line = frames[i].line;
	frame.ip = 42;
	for (unsigned int room = frames[i].room; room > 0; room--) {
		buf_consume(&out, out.n);
		stack_frame_append(&frame, /* has_native_mark= */ false, &plain, room, &out);
		if (room == frames[i].room)
			CHECK_STR_EQ(frames[i].name, buf_text(&out), frames[i].want);
		CHECK(frames[i].name, text_columns(buf_text(&out)) <= room);
	}
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		place_test(i);
	chain_test();
	no_place_test();
	lines_test();
	debug_test();
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frame_test(i);
	return check_result();
}
