// SPDX-License-Identifier: Apache-2.0
/*
 * Graphs: what a stream is given while it captures is noted, and done whenever the graph is launched.
 *
 * Work is done in the order in which it was noted, whatever its dependencies: they are not kept. One lock for
 * all graphs: nobody here captures for the speed of it.
 */
#include <string.h>

#include "base/array.h"
#include "driver.h"

#define GRAPHS_MAX 1024u

enum { CAPTURE_NONE, CAPTURE_ACTIVE, CAPTURE_INVALID }; /* what the interface calls its states */
enum { MODE_GLOBAL, MODE_THREAD, MODE_RELAXED, MODE_COUNT };

/* A graph, or one that was made ready to launch. */
struct graph {
	bool is_used;
	bool is_exec;
	bool is_invalid;       /* something was done that cannot be captured */
	struct stream *origin; /* of the capture that goes on, NULL when none does */
	pthread_t thread;      /* that began it */
	int mode;
	uint64_t id; /* of the capture */
	ARRAY(struct graph_work) work;
};

static struct graph graphs[GRAPHS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_id;
static __thread int thread_mode;

static struct graph *graph_find(struct graph *handle, bool is_exec)
{
	if (handle < graphs || handle >= graphs + GRAPHS_MAX || !handle->is_used || handle->is_exec != is_exec)
		return NULL;
	return handle;
}

static struct graph *graph_make(bool is_exec)
{
	for (size_t i = 0; i < GRAPHS_MAX; i++) {
		if (graphs[i].is_used)
			continue;
		graphs[i] = (struct graph){ .is_used = true, .is_exec = is_exec };
		return &graphs[i];
	}
	return NULL;
}

static void graph_drop(struct graph *graph)
{
	ARRAY_DONE(&graph->work);
	graph->is_used = false;
}

static struct graph *capture_of(const struct stream *stream)
{
	return __atomic_load_n(&stream->capture, __ATOMIC_RELAXED);
}

static void capture_set(struct stream *stream, struct graph *graph)
{
	__atomic_store_n(&stream->capture, graph, __ATOMIC_RELAXED);
}

static int note(struct stream *stream, const struct graph_work *work)
{
	struct graph *graph = capture_of(stream);

	if (graph->is_invalid)
		return CAPTURE_INVALIDATED;
	stream->is_loose = true;
	return ARRAY_PUSH(&graph->work, *work) < 0 ? OUT_OF_MEMORY : SUCCESS;
}

static void work_do(struct stream *stream, const struct graph_work *work)
{
	if (work->from)
		memmove(work->to, work->from, work->n * work->element_bytes);
	else
		for (size_t i = 0; i < work->n; i++)
			memcpy((char *)work->to + i * work->element_bytes, work->value, work->element_bytes);
	give_work(stream, work->time_ns);
}

int stream_work(struct stream *stream, const struct graph_work *work)
{
	int r;

	if (!capture_of(stream)) {
		work_do(stream, work);
		return SUCCESS;
	}
	pthread_mutex_lock(&lock);
	r = capture_of(stream) ? note(stream, work) : INVALID_HANDLE;
	pthread_mutex_unlock(&lock);
	return r;
}

int stream_refuse_capture(struct stream *stream)
{
	if (!capture_of(stream))
		return SUCCESS;
	pthread_mutex_lock(&lock);
	if (capture_of(stream))
		capture_of(stream)->is_invalid = true;
	pthread_mutex_unlock(&lock);
	return CAPTURE_UNSUPPORTED;
}

int stream_join_capture(struct stream *stream, struct event *event)
{
	int r = SUCCESS;

	pthread_mutex_lock(&lock);
	if (!event->capture) {
		r = capture_of(stream) ? CAPTURE_ISOLATION : SUCCESS;
	} else if (!capture_of(stream)) {
		capture_set(stream, event->capture);
		stream->is_loose = true;
	} else if (capture_of(stream) != event->capture) {
		r = CAPTURE_MERGE;
	} else {
		event->captured->is_loose = false;
	}
	if (r != SUCCESS && capture_of(stream))
		capture_of(stream)->is_invalid = true;
	pthread_mutex_unlock(&lock);
	return r;
}

/* Begin and end */

static int capture_begin(struct stream *stream, int mode)
{
	struct graph *graph;
	int r = SUCCESS;

	if (!stream)
		return INVALID_HANDLE;
	if (mode < 0 || mode >= MODE_COUNT)
		return INVALID_VALUE;
	if (stream == &device.legacy)
		return CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&lock);
	if (capture_of(stream)) {
		r = ILLEGAL_STATE;
	} else {
		graph = graph_make(false);
		if (graph) {
			graph->origin = stream;
			graph->thread = pthread_self();
			graph->mode = mode;
			graph->id = ++last_id;
			capture_set(stream, graph);
		} else {
			r = OUT_OF_MEMORY;
		}
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* Every stream that took part is itself again. Return: whether the work of each came back to the first */
static bool streams_leave(struct graph *graph)
{
	bool is_joined = true;

	for (size_t i = 0; i < STREAMS_MAX; i++) {
		struct stream *stream = &device.streams[i];

		if (!stream->is_used || capture_of(stream) != graph)
			continue;
		if (stream != graph->origin && stream->is_loose)
			is_joined = false;
		capture_set(stream, NULL);
	}
	/* the first may be a thread's own */
	capture_set(graph->origin, NULL);
	graph->origin = NULL;
	return is_joined;
}

static int capture_end(struct stream *stream, struct graph **ret_graph)
{
	struct graph *graph;
	int r = SUCCESS;

	if (!stream)
		return INVALID_HANDLE;
	if (!ret_graph)
		return INVALID_VALUE;
	*ret_graph = NULL;
	pthread_mutex_lock(&lock);
	graph = capture_of(stream);
	if (!graph)
		r = ILLEGAL_STATE;
	else if (graph->origin != stream)
		r = CAPTURE_UNMATCHED;
	else if (graph->mode != MODE_RELAXED && !pthread_equal(graph->thread, pthread_self()))
		r = CAPTURE_WRONG_THREAD;
	else if (!streams_leave(graph))
		r = CAPTURE_UNJOINED;
	else if (graph->is_invalid)
		r = CAPTURE_INVALIDATED;
	if (r == SUCCESS)
		*ret_graph = graph;
	else if (r == CAPTURE_UNJOINED || r == CAPTURE_INVALIDATED)
		graph_drop(graph);
	pthread_mutex_unlock(&lock);
	return r;
}

struct capture_told {
	int status;
	uint64_t id;
	struct graph *graph;
};

static int capture_tell(struct stream *stream, struct capture_told *ret)
{
	struct graph *graph;

	*ret = (struct capture_told){ .status = CAPTURE_NONE };
	if (!stream)
		return INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	graph = capture_of(stream);
	if (graph)
		*ret = (struct capture_told){ graph->is_invalid ? CAPTURE_INVALID : CAPTURE_ACTIVE, graph->id, graph };
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

static int is_capturing(struct stream *stream, int *ret_status)
{
	struct capture_told told;
	int r = capture_tell(stream, &told);

	if (!ret_status)
		return INVALID_VALUE;
	*ret_status = told.status;
	return r;
}

/* Dependencies are not kept: there are none to tell. */
static int capture_info(struct stream *stream, int *ret_status, uint64_t *ret_id, struct graph **ret_graph,
			const void **ret_dependencies, const void **ret_edges, size_t *ret_n)
{
	struct capture_told told;
	int r = capture_tell(stream, &told);

	if (!ret_status)
		return INVALID_VALUE;
	*ret_status = told.status;
	if (ret_id)
		*ret_id = told.id;
	if (ret_graph)
		*ret_graph = told.graph;
	if (ret_dependencies)
		*ret_dependencies = NULL;
	if (ret_edges)
		*ret_edges = NULL;
	if (ret_n)
		*ret_n = 0;
	return r;
}

/* Both forms of each: of the legacy stream and of the thread's own. */
#define FORMS(suffix, is_per_thread)                                                                                   \
	int driver_capture_begin##suffix(struct stream *handle, int mode)                                              \
	{                                                                                                              \
		return capture_begin(stream_find(handle, is_per_thread), mode);                                        \
	}                                                                                                              \
	int driver_capture_begin_v1##suffix(struct stream *handle)                                                     \
	{                                                                                                              \
		return capture_begin(stream_find(handle, is_per_thread), MODE_GLOBAL);                                 \
	}                                                                                                              \
	int driver_capture_end##suffix(struct stream *handle, struct graph **ret_graph)                                \
	{                                                                                                              \
		return capture_end(stream_find(handle, is_per_thread), ret_graph);                                     \
	}                                                                                                              \
	int driver_is_capturing##suffix(struct stream *handle, int *ret_status)                                        \
	{                                                                                                              \
		return is_capturing(stream_find(handle, is_per_thread), ret_status);                                   \
	}                                                                                                              \
	int driver_capture_info##suffix(struct stream *handle, int *ret_status, uint64_t *ret_id)                      \
	{                                                                                                              \
		return capture_info(stream_find(handle, is_per_thread), ret_status, ret_id, NULL, NULL, NULL, NULL);   \
	}                                                                                                              \
	int driver_capture_info_v2##suffix(struct stream *handle, int *ret_status, uint64_t *ret_id,                   \
					   struct graph **ret_graph, const void **ret_dependencies, size_t *ret_n)     \
	{                                                                                                              \
		return capture_info(stream_find(handle, is_per_thread), ret_status, ret_id, ret_graph,                 \
				    ret_dependencies, NULL, ret_n);                                                    \
	}                                                                                                              \
	int driver_capture_info_v3##suffix(struct stream *handle, int *ret_status, uint64_t *ret_id,                   \
					   struct graph **ret_graph, const void **ret_dependencies,                    \
					   const void **ret_edges, size_t *ret_n)                                      \
	{                                                                                                              \
		return capture_info(stream_find(handle, is_per_thread), ret_status, ret_id, ret_graph,                 \
				    ret_dependencies, ret_edges, ret_n);                                               \
	}                                                                                                              \
	int driver_graph_launch##suffix(struct graph *handle, struct stream *stream)                                   \
	{                                                                                                              \
		return graph_launch(handle, stream_find(stream, is_per_thread));                                       \
	}                                                                                                              \
	int driver_graph_upload##suffix(struct graph *handle, struct stream *stream)                                   \
	{                                                                                                              \
		return graph_find(handle, true) && stream_find(stream, is_per_thread) ? SUCCESS : INVALID_VALUE;       \
	}

/* Launched where something is captured, a graph's work becomes part of that. */
static int graph_launch(struct graph *handle, struct stream *stream)
{
	struct graph *exec;
	int r = SUCCESS;

	if (!stream)
		return INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	exec = graph_find(handle, true);
	if (!exec)
		r = INVALID_VALUE;
	for (size_t i = 0; r == SUCCESS && i < exec->work.n; i++) {
		if (capture_of(stream))
			r = note(stream, &exec->work.items[i]);
		else
			work_do(stream, &exec->work.items[i]);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

FORMS(, false)
FORMS(_ptsz, true)

int driver_exchange_capture_mode(int *mode)
{
	int before = thread_mode;

	if (!mode || *mode < 0 || *mode >= MODE_COUNT)
		return INVALID_VALUE;
	thread_mode = *mode;
	*mode = before;
	return SUCCESS;
}

/* Graphs */

int driver_graph_create(struct graph **ret_graph, unsigned int flags)
{
	if (!ret_graph || flags)
		return INVALID_VALUE;
	pthread_mutex_lock(&lock);
	*ret_graph = graph_make(false);
	pthread_mutex_unlock(&lock);
	return *ret_graph ? SUCCESS : OUT_OF_MEMORY;
}

static int graph_destroy(struct graph *handle, bool is_exec)
{
	struct graph *graph;
	int r = INVALID_VALUE;

	pthread_mutex_lock(&lock);
	graph = graph_find(handle, is_exec);
	if (graph && !graph->origin) {
		graph_drop(graph);
		r = SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

int driver_graph_destroy(struct graph *handle)
{
	return graph_destroy(handle, false);
}

int driver_graph_exec_destroy(struct graph *handle)
{
	return graph_destroy(handle, true);
}

/* @nodes: NULL: only how many there are; handles, which nothing else here takes */
int driver_graph_get_nodes(struct graph *handle, const void **nodes, size_t *n)
{
	struct graph *graph;
	int r = INVALID_VALUE;

	if (!n)
		return r;
	pthread_mutex_lock(&lock);
	graph = graph_find(handle, false);
	if (graph) {
		size_t room = nodes ? MIN(*n, graph->work.n) : 0;

		for (size_t i = 0; i < room; i++)
			nodes[i] = &graph->work.items[i];
		*n = nodes ? room : graph->work.n;
		r = SUCCESS;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

/* What is made ready is a copy: the graph may be gone when it is launched. */
int driver_graph_instantiate_with_flags(struct graph **ret_exec, struct graph *handle, uint64_t flags)
{
	struct graph *graph, *exec = NULL;
	int r = INVALID_VALUE;

	(void)flags;
	if (!ret_exec)
		return r;
	pthread_mutex_lock(&lock);
	graph = graph_find(handle, false);
	if (graph && !graph->origin) {
		exec = graph_make(true);
		r = exec ? SUCCESS : OUT_OF_MEMORY;
	}
	for (size_t i = 0; r == SUCCESS && i < graph->work.n; i++)
		if (ARRAY_PUSH(&exec->work, graph->work.items[i]) < 0)
			r = OUT_OF_MEMORY;
	if (r == OUT_OF_MEMORY && exec)
		graph_drop(exec);
	pthread_mutex_unlock(&lock);
	*ret_exec = r == SUCCESS ? exec : NULL;
	return r;
}

int driver_graph_instantiate(struct graph **ret_exec, struct graph *handle, void **ret_node, char *text, size_t room)
{
	if (ret_node)
		*ret_node = NULL;
	if (text && room)
		*text = '\0';
	return driver_graph_instantiate_with_flags(ret_exec, handle, 0);
}

struct instantiate_params {
	uint64_t flags;
	struct stream *upload;
	void *ret_node;
	int ret_result;
};

int driver_graph_instantiate_with_params(struct graph **ret_exec, struct graph *handle,
					 struct instantiate_params *params)
{
	int r = params ? driver_graph_instantiate_with_flags(ret_exec, handle, params->flags) : INVALID_VALUE;

	if (params) {
		params->ret_node = NULL;
		params->ret_result = r == SUCCESS ? 0 : 1;
	}
	return r;
}
