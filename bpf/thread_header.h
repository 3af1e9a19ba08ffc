// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The header of records about a thread that makes calls. */
#pragma once

#include "maps.h"

/* All of the header except its time. @type: enum record_type */
static __always_inline void thread_header_fill(struct record_header *header, const struct thread_state *t, __u8 type)
{
	header->tgid = t->tgid;
	header->tid = t->tid;
	header->uid = t->uid;
	header->exec_gen = t->exec_gen;
	header->slot = t->slot;
	header->type = type;
	header->flags = 0;
	header->share = 0;
	__builtin_memcpy(header->comm, t->comm, sizeof(header->comm));
}
