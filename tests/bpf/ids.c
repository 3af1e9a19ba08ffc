// SPDX-License-Identifier: Apache-2.0
/*
 * Ids of operations have 16 bits. A process finds the cells of its operations by hash: those that meet at one place
 * have cells of their own as far as there are places, and are counted together beyond.
 */
#include <unistd.h>

#include "base/cleanup.h"
#include "rig.h"
#include "tests/support/check.h"

#define TIMES 3
#define PLACE 5 /* modulo SLOT_ROW_ENTRIES, of all ids here */

/* One more operation, which nothing else in this process has used. */
static void call_as(struct rig *rig, uint32_t id)
{
	struct probe_site site = { .offset = rig_offset((const void *)subject_empty),
				   .cookie = COOKIE(id, CALL_HEAD_PLAIN) };
	CLEANUP(closep) int fd = rig_path_fd();
	struct probe_library *library = NULL;

	CHECK_INT_EQ("attached", probe_set_attach_library(rig->set, fd, &site, 1, &library), 0);
	for (int i = 0; i < TIMES; i++)
		CHECK_INT_EQ("called", subject_empty(), 0);
	probe_set_detach_library(rig->set, library);
}

int main(int argc, char **argv)
{
	/* From the highest id down, so that fixed ones come last. */
	const uint32_t n_ids = SLOT_ROW_TRIES + 2, first = UINT16_MAX / SLOT_ROW_ENTRIES;
	uint64_t lost;
	struct rig rig;

	rig_open_bare(&rig, rig_back_end(argc, argv), 0);
	rig_target(&rig, 0, RIG_NO_CALL);
	lost = rig_loss(&rig, LOSS_CELLS);
	for (uint32_t i = 0; i < n_ids; i++)
		call_as(&rig, (first - i) * SLOT_ROW_ENTRIES + PLACE);
	for (uint32_t i = 0; i < n_ids; i++)
		CHECK_INT_EQ(i < SLOT_ROW_TRIES ? "a cell of its own" : "none",
			     rig_figures(&rig, getpid(), (first - i) * SLOT_ROW_ENTRIES + PLACE).count,
			     i < SLOT_ROW_TRIES ? TIMES : 0);
	CHECK_INT_EQ("counted together", rig_figures(&rig, getpid(), 0).count, 2 * TIMES);
	CHECK_INT_EQ("and told", rig_loss(&rig, LOSS_CELLS) - lost, 2 * TIMES);
	rig_close(&rig);
	return check_result();
}
