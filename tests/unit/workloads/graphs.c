// SPDX-License-Identifier: Apache-2.0
/*
 * Capture and graphs of the stand-ins: what is captured is done when it is launched and not before, as often as it is
 * launched, and what cannot be captured is refused by the codes of the public interface.
 *
 * Argument: the directory of the stand-ins.
 */
#include <dlfcn.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define REPLAYS 5
#define GLOBAL 0
#define RELAXED 2

enum { DONE = 0, ILLEGAL = 401, UNSUPPORTED = 900, INVALIDATED, MERGE, UNMATCHED, UNJOINED, ISOLATION, EVENT = 907 };
enum { NOT_CAPTURING, CAPTURING, INVALID };

static void *runtime;
static const char *runtime_name;

static void *need(const char *name)
{
	void *found = dlsym(runtime, name);

	if (!found) {
		fprintf(stderr, "%s has no %s\n", runtime_name, name);
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

struct dims {
	unsigned int x, y, z;
};

static int launch(void *stream)
{
	static const struct dims one = { 1, 1, 1 };

	return CALL("cudaLaunchKernel", (const void *, struct dims, struct dims, void **, size_t, void *), &one, one,
		    one, NULL, 0, stream);
}

static int copy(void *to, const void *from, size_t n, void *stream)
{
	return CALL("cudaMemcpyAsync", (void *, const void *, size_t, int, void *), to, from, n, 1, stream);
}

static void *stream_make(void)
{
	void *stream = NULL;

	CHECK_INT_EQ("stream", CALL("cudaStreamCreate", (void **), &stream), DONE);
	return stream;
}

static void *event_make(void)
{
	void *event = NULL;

	CHECK_INT_EQ("event", CALL("cudaEventCreate", (void **), &event), DONE);
	return event;
}

static int begin(void *stream, int mode)
{
	return CALL("cudaStreamBeginCapture", (void *, int), stream, mode);
}

static int end(void *stream, void **ret_graph)
{
	return CALL("cudaStreamEndCapture", (void *, void **), stream, ret_graph);
}

static int state(void *stream)
{
	int status = -1;

	CHECK_INT_EQ("state", CALL("cudaStreamIsCapturing", (void *, int *), stream, &status), DONE);
	return status;
}

static int record(void *event, void *stream)
{
	return CALL("cudaEventRecord", (void *, void *), event, stream);
}

static int wait_event(void *stream, void *event)
{
	return CALL("cudaStreamWaitEvent", (void *, void *, unsigned int), stream, event, 0);
}

static uint64_t capture_id(void *stream)
{
	/* by the form with seven arguments, whichever name it has in this version */
	const char *name = dlsym(runtime, "cudaStreamGetCaptureInfo_v3") ? "cudaStreamGetCaptureInfo_v3"
									 : "cudaStreamGetCaptureInfo";
	void *graph = NULL;
	uint64_t id = 0;
	int status;

	CHECK_INT_EQ(name,
		     CALL(name, (void *, int *, uint64_t *, void **, void **, void **, size_t *), stream, &status, &id,
			  &graph, NULL, NULL, NULL),
		     DONE);
	CHECK_INT_EQ(name, graph != NULL, status != NOT_CAPTURING);
	return id;
}

static void test_replay(void)
{
	void *stream = stream_make(), *graph = NULL, *exec = NULL;
	char from[] = "first", to[sizeof(from)] = "";
	uint64_t id;
	size_t n = 0;

	CHECK_INT_EQ("not yet", state(stream), NOT_CAPTURING);
	CHECK_INT_EQ("begin", begin(stream, GLOBAL), DONE);
	CHECK_INT_EQ("capturing", state(stream), CAPTURING);
	id = capture_id(stream);
	CHECK("it has a number", id != 0);
	CHECK_INT_EQ("twice", begin(stream, GLOBAL), ILLEGAL);
	CHECK_INT_EQ("copy", copy(to, from, sizeof(from), stream), DONE);
	CHECK_INT_EQ("launch", launch(stream), DONE);
	CHECK_STR_EQ("noted, not done", to, "");
	CHECK_INT_EQ("end", end(stream, &graph), DONE);
	CHECK_INT_EQ("no more", state(stream), NOT_CAPTURING);
	CHECK_INT_EQ("nodes", CALL("cudaGraphGetNodes", (void *, void **, size_t *), graph, NULL, &n), DONE);
	CHECK_INT_EQ("nodes", n, 2);

	CHECK_INT_EQ("instantiate",
		     CALL("cudaGraphInstantiateWithFlags", (void **, void *, unsigned long long), &exec, graph, 0),
		     DONE);
	CHECK_INT_EQ("destroy", CALL("cudaGraphDestroy", (void *), graph), DONE);
	CHECK_INT_EQ("destroyed already", CALL("cudaGraphDestroy", (void *), graph), 1);
	for (int i = 0; i < REPLAYS; i++) {
		from[0] = (char)('A' + i);
		CHECK_INT_EQ("replay", CALL("cudaGraphLaunch", (void *, void *), exec, stream), DONE);
		CHECK_INT_EQ("wait", CALL("cudaStreamSynchronize", (void *), stream), DONE);
		CHECK_STR_EQ("done, each time anew", to, from);
	}
	CHECK_INT_EQ("upload", CALL("cudaGraphUpload", (void *, void *), exec, stream), DONE);
	CHECK_INT_EQ("a graph is no handle to launch", CALL("cudaGraphLaunch", (void *, void *), graph, stream), 1);

	/* a launch within a capture is captured */
	CHECK_INT_EQ("another", begin(stream, RELAXED), DONE);
	CHECK("another number", capture_id(stream) > id);
	CHECK_INT_EQ("nested", CALL("cudaGraphLaunch", (void *, void *), exec, stream), DONE);
	CHECK_INT_EQ("end", end(stream, &graph), DONE);
	CHECK_INT_EQ("nodes", CALL("cudaGraphGetNodes", (void *, void **, size_t *), graph, NULL, &n), DONE);
	CHECK_INT_EQ("nodes of the first", n, 2);
	CHECK_INT_EQ("destroy", CALL("cudaGraphDestroy", (void *), graph), DONE);
	CHECK_INT_EQ("destroy", CALL("cudaGraphExecDestroy", (void *), exec), DONE);
	CHECK_INT_EQ("gone", CALL("cudaGraphLaunch", (void *, void *), exec, stream), 1);
}

/* The steps that each case makes, in order, on two streams and an event. */
enum step {
	BEGIN_A,
	BEGIN_B,
	LAUNCH_A,
	LAUNCH_B,
	RECORD_A,
	RECORD_B,
	A_WAITS,
	B_WAITS,
	SYNC_A,
	QUERY_A,
	EVENT_QUERY,
	END_A,
	END_B,
	STEPS_END
};

static int step_make(enum step step, void *a, void *b, void *event)
{
	void *graph = NULL;

	switch (step) {
	case BEGIN_A:
	case BEGIN_B:
		return begin(step == BEGIN_A ? a : b, GLOBAL);
	case LAUNCH_A:
	case LAUNCH_B:
		return launch(step == LAUNCH_A ? a : b);
	case RECORD_A:
	case RECORD_B:
		return record(event, step == RECORD_A ? a : b);
	case A_WAITS:
	case B_WAITS:
		return wait_event(step == A_WAITS ? a : b, event);
	case SYNC_A:
		return CALL("cudaStreamSynchronize", (void *), a);
	case QUERY_A:
		return CALL("cudaStreamQuery", (void *), a);
	case EVENT_QUERY:
		return CALL("cudaEventQuery", (void *), event);
	case END_A:
	case END_B:
		return end(step == END_A ? a : b, &graph);
	case STEPS_END:
		break;
	}
	return -1;
}

static void test_rules(void)
{
	static const struct {
		const char *name;
		struct {
			enum step step;
			int want;
		} steps[10];
	} cases[] = {
		{ "end without begin", { { END_A, ILLEGAL }, { STEPS_END, 0 } } },
		{ "waiting for it",
		  { { BEGIN_A, 0 },
		    { SYNC_A, UNSUPPORTED },
		    { LAUNCH_A, INVALIDATED },
		    { END_A, INVALIDATED },
		    { LAUNCH_A, 0 },
		    { STEPS_END, 0 } } },
		{ "asking for it",
		  { { BEGIN_A, 0 }, { QUERY_A, UNSUPPORTED }, { END_A, INVALIDATED }, { STEPS_END, 0 } } },
		{ "fork and join",
		  { { BEGIN_A, 0 },
		    { RECORD_A, 0 },
		    { B_WAITS, 0 },
		    { LAUNCH_B, 0 },
		    { RECORD_B, 0 },
		    { A_WAITS, 0 },
		    { END_A, 0 },
		    { STEPS_END, 0 } } },
		{ "fork, and no join",
		  { { BEGIN_A, 0 },
		    { RECORD_A, 0 },
		    { B_WAITS, 0 },
		    { LAUNCH_B, 0 },
		    { END_A, UNJOINED },
		    { LAUNCH_B, 0 },
		    { STEPS_END, 0 } } },
		{ "ended by the other",
		  { { BEGIN_A, 0 },
		    { RECORD_A, 0 },
		    { B_WAITS, 0 },
		    { END_B, UNMATCHED },
		    { RECORD_B, 0 },
		    { A_WAITS, 0 },
		    { END_A, 0 },
		    { STEPS_END, 0 } } },
		{ "two captures do not meet",
		  { { BEGIN_A, 0 },
		    { BEGIN_B, 0 },
		    { RECORD_B, 0 },
		    { A_WAITS, MERGE },
		    { END_A, INVALIDATED },
		    { END_B, 0 },
		    { STEPS_END, 0 } } },
		{ "what was before is not waited for",
		  { { RECORD_B, 0 },
		    { BEGIN_A, 0 },
		    { A_WAITS, ISOLATION },
		    { END_A, INVALIDATED },
		    { STEPS_END, 0 } } },
		{ "an event of a capture",
		  { { BEGIN_A, 0 },
		    { RECORD_A, 0 },
		    { EVENT_QUERY, EVENT },
		    { END_A, 0 },
		    { RECORD_A, 0 },
		    { SYNC_A, 0 },
		    { EVENT_QUERY, 0 },
		    { STEPS_END, 0 } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		void *a = stream_make(), *b = stream_make(), *event = event_make();

		for (size_t k = 0; cases[i].steps[k].step != STEPS_END; k++)
			CHECK_INT_EQ(cases[i].name, step_make(cases[i].steps[k].step, a, b, event),
				     cases[i].steps[k].want);
		CHECK_INT_EQ(cases[i].name, state(a), NOT_CAPTURING);
		CHECK_INT_EQ(cases[i].name, state(b), NOT_CAPTURING);
		CHECK_INT_EQ(cases[i].name, CALL("cudaEventDestroy", (void *), event), DONE);
		CHECK_INT_EQ(cases[i].name, CALL("cudaStreamDestroy", (void *), a), DONE);
		CHECK_INT_EQ(cases[i].name, CALL("cudaStreamDestroy", (void *), b), DONE);
	}
	CHECK_INT_EQ("the legacy stream", begin(NULL, GLOBAL), UNSUPPORTED);
}

static void test_mode(void)
{
	int mode = RELAXED;

	CHECK_INT_EQ("exchange", CALL("cudaThreadExchangeStreamCaptureMode", (int *), &mode), DONE);
	CHECK_INT_EQ("as it was", mode, GLOBAL);
	CHECK_INT_EQ("back", CALL("cudaThreadExchangeStreamCaptureMode", (int *), &mode), DONE);
	CHECK_INT_EQ("as it was then", mode, RELAXED);
	mode = 3;
	CHECK_INT_EQ("none", CALL("cudaThreadExchangeStreamCaptureMode", (int *), &mode), 1);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "libcudart.so.12", "libcudart.so.13" };
	char path[4096];

	if (argc != 2) {
		fprintf(stderr, "graphs DIRECTORY-OF-STANDINS\n");
		return 2;
	}
	setenv("INGERO_STANDIN_QUIET", "1", 1);
	/* both find their driver by name, and it is the same one */
	snprintf(path, sizeof(path), "%s/libcuda.so.1", argv[1]);
	if (!dlopen(path, RTLD_NOW)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		runtime_name = names[i];
		snprintf(path, sizeof(path), "%s/%s", argv[1], names[i]);
		runtime = dlopen(path, RTLD_NOW);
		if (!runtime) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		test_replay();
		test_rules();
		test_mode();
	}
	return check_result();
}
