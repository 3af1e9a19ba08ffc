// SPDX-License-Identifier: Apache-2.0
/*
 * A call returned a code after which the process cannot use the device any more, or could never use it.
 */
#include "base/cleanup.h"
#include "base/layer.h"
#include "detect/detector.h"
#include "events/op.h"

/* An error of a version may be a trial: a program that finds no code for one device may have another way. (Guess.) */
#define TRIAL_CONFIDENCE 0.6

enum error_kind {
	ERROR_KERNEL,	/* a kernel failed: each later call returns the same code */
	ERROR_HARDWARE, /* the device reports damage */
	ERROR_VERSION,	/* driver, runtime, program and device do not fit each other */
};

/* Codes of the runtime and the driver, which have the same numbers (base/call_errors.def). */
static const struct known_error {
	int32_t code;
	enum error_kind kind;
	const char *what;
} known_errors[] = {
	{ 35, ERROR_VERSION, "the driver is older than the program's CUDA" },
	{ 36, ERROR_VERSION, "the driver is older than this call" },
	{ 209, ERROR_VERSION, "the program has no code for this device" },
	{ 214, ERROR_HARDWARE, "device memory is damaged" },
	{ 218, ERROR_VERSION, "the program's PTX cannot be compiled" },
	{ 220, ERROR_HARDWARE, "NVLink lost data" },
	{ 222, ERROR_VERSION, "the program's PTX is newer than the driver" },
	{ 700, ERROR_KERNEL, "a kernel used memory that is not its own" },
	{ 702, ERROR_KERNEL, "a kernel ran for too long" },
	{ 710, ERROR_KERNEL, "an assertion failed in a kernel" },
	{ 714, ERROR_KERNEL, "the stack of a kernel is damaged" },
	{ 715, ERROR_KERNEL, "a kernel has an illegal instruction" },
	{ 716, ERROR_KERNEL, "a kernel used a misaligned address" },
	{ 717, ERROR_KERNEL, "a kernel used an address of another space" },
	{ 718, ERROR_KERNEL, "a kernel jumped to an invalid address" },
	{ 719, ERROR_KERNEL, "a kernel failed" },
	{ 803, ERROR_VERSION, "the driver's library and its kernel module differ" },
	{ 804, ERROR_VERSION, "this device needs a newer driver" },
};

enum { EXTRA_CODE, EXTRA_FAILED }; /* the code is the same in each tick */

static const struct known_error *known_error_of(const struct op *op, int32_t code)
{
	if (!op || (op->layer != OP_LAYER_RUNTIME && op->layer != OP_LAYER_DRIVER))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(known_errors); i++)
		if (known_errors[i].code == code)
			return &known_errors[i];
	return NULL;
}

static bool is_known(const struct op *op, int32_t code)
{
	return known_error_of(op, code) != NULL;
}

/* How many calls returned the code in this tick: a record may be lost, and figures tell one code of several. */
static uint64_t calls_failed(const struct detector_view *view, enum op_layer layer, int32_t code)
{
	uint64_t counted = 0, kept = 0;

	for (size_t i = 0; i < view->n_ops; i++) {
		const struct tick_op *op = &view->ops[i];

		if (op->op && op->op->layer == layer && op->figures.error_code == code)
			counted += op->figures.errors;
	}
	for (size_t i = 0; i < view->failed->n; i++)
		if (view->failed->items[i].op->layer == layer && view->failed->items[i].code == code)
			kept += view->failed->items[i].count;
	return MAX(counted, kept);
}

/* By the figures, where no call was kept. Return: NULL: none failed */
static const struct op *counted_op(const struct detector_view *view, int32_t *ret_code)
{
	for (size_t i = 0; i < view->n_ops; i++) {
		const struct tick_op *op = &view->ops[i];

		if (op->figures.errors && known_error_of(op->op, op->figures.error_code)) {
			*ret_code = op->figures.error_code;
			return op->op;
		}
	}
	return NULL;
}

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	const struct failed_call *first = failed_calls_ever(view->failed, is_known);
	struct condition c = { .confidence = 1, .severity = FINDING_HIGH, .is_event = true };
	int32_t code = first ? first->code : 0;

	(void)room;
	c.op = first ? first->op : counted_op(view, &code);
	if (!c.op)
		return 0;
	c.extra[EXTRA_FAILED] = calls_failed(view, c.op->layer, code);
	if (!c.extra[EXTRA_FAILED])
		return 0;
	if (first && first->ever.start_ns >= view->from_ns) {
		c.start_ns = first->ever.start_ns;
		c.example = first->ever;
		c.tid = first->ever.tid;
	}
	c.extra[EXTRA_CODE] = (uint64_t)code;
	if (known_error_of(c.op, code)->kind == ERROR_VERSION) {
		c.severity = FINDING_MEDIUM;
		c.confidence = TRIAL_CONFIDENCE;
	}
	*ret = c;
	return 1;
}

static uint64_t call_ns(const struct event *event)
{
	bool is_failed = (event->call->reason & RECORD_REASON_ERROR) && known_error_of(event->op, event->call->ret);

	return is_failed ? event->call->raw_ns : 0;
}

static void kernel_advise(struct finding *f)
{
	detector_advise(f, "run it again with CUDA_LAUNCH_BLOCKING=1: then the call that fails is the one that started "
			   "the kernel");
	detector_advise(f, "compute-sanitizer PROGRAM names the kernel and the access");
	detector_advise(f, "start the process anew: after such a code it cannot use the device any more");
}

static void hardware_advise(struct finding *f)
{
	detector_advise(f,
			"see what the device and the driver report: nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER; "
			"dmesg | grep Xid");
	detector_advise(f, "move the work to another device: results of this one may be wrong");
}

static void version_advise(struct finding *f)
{
	detector_advise(f, "compare the versions of the driver and of the program's CUDA: ingero check");
	detector_advise(
		f, "install a driver that supports this CUDA version, or a build of the program for this driver and "
		   "device");
}

static void tell(const struct detector_sums *s, const struct detector_facts *facts, struct finding *f)
{
	int32_t code = (int32_t)s->extra[EXTRA_CODE];
	const struct known_error *known = known_error_of(f->op, code);

	(void)facts;
	if (!known)
		return;
	(void)snprintf(f->title, sizeof(f->title), "%s returned %d: %s", f->op->name, code, known->what);
	switch (known->kind) {
	case ERROR_KERNEL:
		kernel_advise(f);
		break;
	case ERROR_HARDWARE:
		hardware_advise(f);
		break;
	case ERROR_VERSION:
		version_advise(f);
		break;
	}
	detector_evidence(f, "error_code", code, FINDING_UNIT_COUNT);
	detector_evidence(f, "failed_calls", (double)s->extra[EXTRA_FAILED], FINDING_UNIT_COUNT);
}

const struct detector detector_call_error = {
	.name = "call_error",
	.is_per_op = true,
	.extras_largest = 1u << EXTRA_CODE,
	.quiet_ns = 10 * NSEC_PER_SEC, /* guess */
	.check = check,
	.call_ns = call_ns,
	.tell = tell,
};
