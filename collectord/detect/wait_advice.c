// SPDX-License-Identifier: Apache-2.0
#include "detect/wait_advice.h"

#include <inttypes.h>

#include "detect/detector.h"

void wait_advise_stopped(struct finding *f, const struct account_wait *wait)
{
	uint32_t pid = f->process.tgid;

	switch ((enum stop_kind)wait->resource) {
	case STOP_SIGNAL:
		detector_advise(f, "if it is still stopped (ps -o stat= -p %" PRIu32 " shows T): kill -CONT %" PRIu32,
				pid, pid);
		break;
	case STOP_DEBUGGER:
		detector_advise(f, "see which process debugs or traces it: grep TracerPid /proc/%" PRIu32 "/status",
				pid);
		break;
	case STOP_FREEZER:
		detector_advise(
			f,
			"if it is still frozen, thaw its control group, which cat /proc/%" PRIu32
			"/cgroup names: echo 0 > cgroup.freeze; of version 1: echo THAWED > freezer.state; docker "
			"unpause; systemctl thaw",
			pid);
		break;
	case STOP_NONE:
		break;
	}
	if (wait->resource == STOP_SIGNAL)
		detector_advise(
			f, "see what stops it: job control of its shell (Ctrl-Z), a batch system that suspends jobs");
}

void wait_advise_reader(struct finding *f, const struct account_wait *wait)
{
	uint32_t reader = f->cause.pid;

	if (reader && reader != f->process.tgid)
		detector_advise(f,
				"see why %" PRIu32 " reads so slowly: sudo gdb -p %" PRIu32
				" -batch -ex bt, or if it is in Python: sudo py-spy dump --pid %" PRIu32,
				reader, reader, reader);
	else if (wait->kind == RESOURCE_FULL_PEER)
		detector_advise(f, "see what the socket is: sudo ss -tnp | grep pid=%" PRIu32 ",", f->process.tgid);
	detector_advise(f, "write less (fewer messages of a log or progress bar), or to a file");
	detector_advise(f, "write in another thread, so that a slow reader delays no calls");
}
