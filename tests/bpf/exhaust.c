// SPDX-License-Identifier: Apache-2.0
/*
 * More processes and more operations than one user may have slots and cells for: every call is in the figures or in a
 * loss, none in both, and what is given back serves again.
 */
#include <sys/wait.h>

#include "base/cleanup.h"
#include "rig.h"
#include "tests/support/check.h"

#define OPS 5			       /* that a process calls */
#define TIMES 2			       /* each */
#define SHARE(n) (((n)*3 + 3) / 4)     /* of one user while no other has any: bpf/shares.h */
#define SLOTS SHARE(PROCESS_SLOTS - 2) /* but the one that is never used and the calibration's */
#define SPARES SHARE(CELLS_SPARE)
#define CELLS SHARE(PROCESS_CELLS - CELLS_SPARE - 1)
#define PROCESSES (SLOTS + 7)

static const unsigned int ops[OPS] = { RIG_EMPTY, RIG_JUMP_HEAD, RIG_FAIL, RIG_COPY, RIG_DRIVER };

static int run_calls(void *data)
{
	(void)data;
	for (int i = 0; i < TIMES; i++)
		if (subject_empty() || subject_jump_head() || subject_fail(0) || subject_arguments(NULL, 1, 1) ||
		    subject_driver(NULL, NULL))
			return 1;
	return 0;
}

/* One after the other, so that who is too late is known. */
static int run_processes(void *data)
{
	(void)data;
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();
		int status = -1;

		if (pid == 0)
			_exit(run_calls(NULL));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			return 1;
	}
	return 0;
}

static uint64_t counted(const struct rig *rig)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < OPS; i++)
		sum += rig_figures(rig, 0, ops[i]).count;
	return sum;
}

/* Cells that are taken for what is no call: how many depends on when a page was needed, or the CPU. */
static uint64_t host_cells(const struct rig *rig)
{
	static const uint16_t events[] = { OP_EVENT_mm_page_alloc, OP_EVENT_mm_reclaim, OP_EVENT_wait_main,
					   OP_EVENT_wait_threads };
	const struct figure_cell *cells = probe_set_cells(rig->set);
	uint64_t n = 0;

	for (uint32_t i = 1; i < probe_set_cells_used(rig->set); i++)
		for (size_t k = 0; cells[i].slot && k < ARRAY_SIZE(events); k++)
			n += cells[i].op == events[k];
	return n;
}

static void check_exhausted(struct rig *rig)
{
	uint64_t cells, n_whole, n_rest, too_late, in_overflow;

	CHECK_INT_EQ("processes", rig_child(rig, run_processes, NULL, NULL), 0);
	cells = CELLS - host_cells(rig);
	n_whole = cells / OPS;
	n_rest = cells % OPS; /* processes with cells for all, cells of the next */
	too_late = SLOTS * (uint64_t)OPS - cells;
	in_overflow = SPARES * (uint64_t)OPS - (n_whole < SLOTS && n_rest ? n_rest : 0);
	CHECK("enough processes", n_whole + SPARES < SLOTS);
	CHECK_INT_EQ("counted", counted(rig), cells * TIMES);
	CHECK_INT_EQ("in overflow cells", rig_figures(rig, 0, 0).count, in_overflow * TIMES);
	CHECK_INT_EQ("no cell", rig_loss(rig, LOSS_CELLS), too_late * TIMES);
	CHECK_INT_EQ("no slot", rig_loss(rig, LOSS_PROCESS_SLOTS), (PROCESSES - SLOTS) * OPS * TIMES);
	CHECK_INT_EQ("all calls", counted(rig) + rig_loss(rig, LOSS_CELLS) + rig_loss(rig, LOSS_PROCESS_SLOTS),
		     PROCESSES * OPS * TIMES);
	for (int k = 0; k < LOSS_COUNT; k++)
		if (k != LOSS_CELLS && k != LOSS_PROCESS_SLOTS && k != LOSS_SWITCH_UNSEEN && k != LOSS_LIFE_FULL &&
		    k != LOSS_MEMORY)
			CHECK_INT_EQ("no other loss", rig_loss(rig, (enum loss_reason)k), 0);
}

static void check_given_back(struct rig *rig)
{
	uint64_t no_cell = rig_loss(rig, LOSS_CELLS), no_slot = rig_loss(rig, LOSS_PROCESS_SLOTS);
	pid_t pid;

	for (uint32_t slot = 1; slot <= SLOTS; slot++)
		CHECK_INT_EQ("slot released", probe_set_slot_release(rig->set, slot), 0);
	CHECK_INT_EQ("cells released", counted(rig) + rig_figures(rig, 0, 0).count, 0);
	CHECK_INT_EQ("processes again", rig_child(rig, run_calls, NULL, &pid), 0);
	for (size_t i = 0; i < OPS; i++)
		CHECK_INT_EQ("counted again", rig_figures(rig, pid, ops[i]).count, TIMES);
	CHECK_INT_EQ("no cell, again", rig_loss(rig, LOSS_CELLS), no_cell);
	CHECK_INT_EQ("no slot, again", rig_loss(rig, LOSS_PROCESS_SLOTS), no_slot);
}

int main(int argc, char **argv)
{
	struct rig rig;

	rig_open(&rig, rig_back_end(argc, argv), 0);
	check_exhausted(&rig);
	check_given_back(&rig);
	rig_close(&rig);
	return check_result();
}
