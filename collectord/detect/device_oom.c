// SPDX-License-Identifier: Apache-2.0
/*
 * An allocation failed because the memory of the device was exhausted.
 */
#include "base/cleanup.h"
#include "detect/detector.h"
#include "events/op.h"

#define MIB (1024.0 * 1024)
#define GIB (1024 * MIB)
#define OUT_OF_MEMORY 2 /* cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY */

enum { EXTRA_TICKS, EXTRA_FAILED, EXTRA_BYTES, EXTRA_RETRIED };

static bool is_out_of_memory(const struct op *op, int32_t code)
{
	bool is_of_device = (op->traits & OP_ALLOC) && !(op->traits & OP_PINNED);

	return code == OUT_OF_MEMORY && is_of_device && (op->layer == OP_LAYER_RUNTIME || op->layer == OP_LAYER_DRIVER);
}

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	const struct failed_call *first = failed_calls_first(view->failed, is_out_of_memory);
	struct condition c = { .confidence = 1, .is_event = true };

	(void)room;
	if (!first)
		return 0;
	c.op = first->op;
	c.severity = first->is_retried ? FINDING_LOW : FINDING_MEDIUM;
	c.start_ns = first->call.start_ns;
	c.end_ns = view->to_ns;
	c.tid = first->call.tid;
	c.example = first->call;
	c.extra[EXTRA_TICKS] = 1;
	c.extra[EXTRA_FAILED] = first->count;
	c.extra[EXTRA_BYTES] = first->bytes;
	c.extra[EXTRA_RETRIED] = first->is_retried;
	*ret = c;
	return 1;
}

static uint64_t call_ns(const struct event *event)
{
	bool is_failed = (event->call->reason & RECORD_REASON_ERROR) != 0;

	return is_failed && is_out_of_memory(event->op, event->call->ret) ? event->call->raw_ns : 0;
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	double bytes = (double)s->extra[EXTRA_BYTES];
	bool is_retried = s->extra[EXTRA_RETRIED] == s->extra[EXTRA_TICKS], is_large = bytes >= GIB;
	char what[FINDING_TITLE_BYTES];

	(void)facts;
	(void)snprintf(what, sizeof(what), "%s for %.1f %s%s",
		       is_retried ? "found no device memory" : "failed: no device memory",
		       bytes / (is_large ? GIB : MIB), is_large ? "GiB" : "MiB",
		       is_retried ? ", and succeeded when tried again" : "");
	detector_title(f, what);
	detector_advise(f, "see which processes have memory of the device: nvidia-smi");
	detector_advise(f, "use less: a smaller batch, activation checkpointing, or fewer processes on one device");
	detector_advise(
		f, "in PyTorch, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True helps where memory is fragmented; "
		   "torch.cuda.memory_summary() tells what its allocator holds");
	detector_evidence(f, "failed_calls", (double)s->extra[EXTRA_FAILED], FINDING_UNIT_COUNT);
	detector_evidence(f, "requested_bytes", bytes, FINDING_UNIT_BYTES);
}

const struct detector detector_device_oom = {
	.name = "device_oom",
	.is_per_op = true,
	.extras_largest = 1u << EXTRA_BYTES,
	.check = check,
	.call_ns = call_ns,
	.tell = tell,
};
