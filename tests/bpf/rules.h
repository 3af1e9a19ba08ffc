// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon's part of stacks, as short as it can be: mappings and rules of this process for the kernel half.
 */
#pragma once

#include "rig.h"

struct rules {
	uint32_t n_pages, n_rows, n_sides; /* used of the tables, the first ones included */
	uint32_t n_files;
	struct rules_file {
		char path[256];
		uint32_t first_page; /* of file offset 0 */
	} files[64];
};
#define RULES_INIT ((struct rules){ .n_pages = 1, .n_rows = 1 })

/**
 * rules_put() - set the mappings of this process, with the rules of all their code, each file read once
 * Ends the test if a file cannot be read.
 */
void rules_put(struct rules *rules, struct rig *rig);
