// SPDX-License-Identifier: Apache-2.0
/*
 * libcudart.so.N as a stand-in: capture and graphs, whose handles are the driver's own.
 */
#include "runtime.h"

/* Both forms of each: of the legacy stream and of the thread's own. */
#define FORMS(suffix)                                                                                                  \
	int runtime_capture_begin##suffix(struct stream *stream, int mode)                                             \
	{                                                                                                              \
		FORWARD(capture_begin##suffix(stream, mode));                                                          \
	}                                                                                                              \
	int runtime_capture_end##suffix(struct stream *stream, struct graph **ret_graph)                               \
	{                                                                                                              \
		FORWARD(capture_end##suffix(stream, ret_graph));                                                       \
	}                                                                                                              \
	int runtime_is_capturing##suffix(struct stream *stream, int *ret_status)                                       \
	{                                                                                                              \
		FORWARD(is_capturing##suffix(stream, ret_status));                                                     \
	}                                                                                                              \
	int runtime_capture_info_v2##suffix(struct stream *stream, int *ret_status, uint64_t *ret_id,                  \
					    struct graph **ret_graph, const void **ret_dependencies, size_t *ret_n)    \
	{                                                                                                              \
		FORWARD(capture_info##suffix(stream, ret_status, ret_id, ret_graph, ret_dependencies, NULL, ret_n));   \
	}                                                                                                              \
	int runtime_capture_info_v3##suffix(struct stream *stream, int *ret_status, uint64_t *ret_id,                  \
					    struct graph **ret_graph, const void **ret_dependencies,                   \
					    const void **ret_edges, size_t *ret_n)                                     \
	{                                                                                                              \
		FORWARD(capture_info##suffix(stream, ret_status, ret_id, ret_graph, ret_dependencies, ret_edges,       \
					     ret_n));                                                                  \
	}                                                                                                              \
	int runtime_graph_launch##suffix(struct graph *exec, struct stream *stream)                                    \
	{                                                                                                              \
		FORWARD(graph_launch##suffix(exec, stream));                                                           \
	}                                                                                                              \
	int runtime_graph_upload##suffix(struct graph *exec, struct stream *stream)                                    \
	{                                                                                                              \
		FORWARD(graph_upload##suffix(exec, stream));                                                           \
	}

FORMS()
FORMS(_ptsz)

/* One name, and two meanings: 13 calls by it what 12 calls _v3. */
#if RUNTIME_VERSION >= 13000
#define CAPTURE_INFO(suffix)                                                                                           \
	int runtime_capture_info##suffix(struct stream *stream, int *ret_status, uint64_t *ret_id,                     \
					 struct graph **ret_graph, const void **ret_dependencies,                      \
					 const void **ret_edges, size_t *ret_n)                                        \
	{                                                                                                              \
		return runtime_capture_info_v3##suffix(stream, ret_status, ret_id, ret_graph, ret_dependencies,        \
						       ret_edges, ret_n);                                              \
	}
#else
#define CAPTURE_INFO(suffix)                                                                                           \
	int runtime_capture_info##suffix(struct stream *stream, int *ret_status, uint64_t *ret_id)                     \
	{                                                                                                              \
		return runtime_capture_info_v3##suffix(stream, ret_status, ret_id, NULL, NULL, NULL, NULL);            \
	}
#endif

CAPTURE_INFO()
CAPTURE_INFO(_ptsz)

int runtime_exchange_capture_mode(int *mode)
{
	FORWARD(exchange_capture_mode(mode));
}

int runtime_graph_create(struct graph **ret_graph, unsigned int flags)
{
	FORWARD(graph_create(ret_graph, flags));
}

int runtime_graph_destroy(struct graph *graph)
{
	FORWARD(graph_destroy(graph));
}

int runtime_graph_get_nodes(struct graph *graph, void **nodes, size_t *n)
{
	FORWARD(graph_get_nodes(graph, nodes, n));
}

int runtime_graph_instantiate(struct graph **ret_exec, struct graph *graph, uint64_t flags)
{
	FORWARD(graph_instantiate(ret_exec, graph, flags));
}

int runtime_graph_instantiate_with_params(struct graph **ret_exec, struct graph *graph, void *params)
{
	FORWARD(graph_instantiate_with_params(ret_exec, graph, params));
}

int runtime_graph_exec_destroy(struct graph *exec)
{
	FORWARD(graph_exec_destroy(exec));
}
