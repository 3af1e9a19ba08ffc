// SPDX-License-Identifier: Apache-2.0
/* Conditions of a statement on the operation of a row, as the operations of the file that meet them. */
#pragma once

#include "archive/tables/tables.h"

struct op_wish {
	int64_t source, number; /* columns source and op */
	bool has_source, has_number;
	const char *name;     /* NULL: any */
	sqlite3_value *names; /* a list of them (sqlite3_vtab_in()); NULL: none */
};

/**
 * op_limit_set() - set the cursor's limits to the operations that meet the conditions; of a name that nothing has, the
 * job gets a note
 * Return: 0 or -errno
 */
int op_limit_set(struct table_cursor *c, const struct op_wish *wish);
