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

enum { EXTRA_CODE, EXTRA_FAILED };

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

static size_t check(const struct detector_view *view, struct condition *ret, size_t room)
{
	struct condition c = { .confidence = 1, .severity = FINDING_HIGH, .is_event = true };
	const struct failed_call *first = failed_calls_first(view->failed, is_known);
	int32_t code = first ? first->code : 0;

	(void)room;
	if (first) {
		c.op = first->op;
		c.example = first->call;
	}
	for (size_t i = 0; i < view->n_ops; i++) {
		const struct op_figures *f = &view->ops[i].figures;

		if (!f->errors || !known_error_of(view->ops[i].op, f->error_code))
			continue;
		if (!c.op) { /* no call of it was kept */
			c.op = view->ops[i].op;
			code = f->error_code;
		}
		if (view->ops[i].op->layer == c.op->layer && f->error_code == code)
			c.extra[EXTRA_FAILED] += f->errors;
	}
	if (!c.op)
		return 0;
	c.start_ns = first ? first->call.start_ns : view->from_ns;
	c.end_ns = view->to_ns;
	c.tid = first ? first->call.tid : 0;
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
	detector_advise(f, "each later call of this process returns the same code: start it anew");
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
	.is_once = true,
	.check = check,
	.call_ns = call_ns,
	.tell = tell,
};
