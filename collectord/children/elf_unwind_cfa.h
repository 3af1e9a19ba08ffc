// SPDX-License-Identifier: Apache-2.0
/*
 * Call frame information of one function: the program of its entry (FDE), begun by that of the common entry (CIE), as
 * states between two addresses. Only what a walk needs is kept: the CFA, and where the caller's frame pointer, stack
 * pointer and return address are. x86-64 alone.
 *
 * Source: DWARF 5, 6.4; System V ABI for x86-64, figure 3.36; Linux Standard Base 5.0, .eh_frame.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "children/elf_unwind_bytes.h"

#define FRAME_REMEMBERED_MAX 16 /* guess: compilers nest one deep */

enum frame_register { FRAME_BP, FRAME_SP, FRAME_RA, FRAME_REGISTERS, FRAME_REGISTER_OTHER = FRAME_REGISTERS };

enum cfa_kind {
	CFA_UNKNOWN,  /* undefined so far, or by an expression that is not understood */
	CFA_REGISTER, /* base + offset */
	CFA_DEREF,    /* *(base + offset) + add */
	CFA_PLT,      /* SP + 8, and 8 more from byte `offset` of each 16 of code on */
};

struct frame_cfa {
	enum cfa_kind kind;
	enum frame_register base;
	int64_t offset, add; /* bytes */
};

enum saved_kind {
	SAVED_UNSPECIFIED, /* never named */
	SAVED_SAME,
	SAVED_UNDEFINED,
	SAVED_AT_CFA, /* at CFA + offset, as the next two */
	SAVED_AT_BP,
	SAVED_AT_SP,
	SAVED_OTHER, /* in a register, or by an expression that is not understood */
};

struct frame_saved {
	enum saved_kind kind;
	int64_t offset; /* bytes */
};

struct frame_state {
	struct frame_cfa cfa;
	bool has_offset; /* the next is valid */
	int64_t offset;	 /* of the last CFA that was relative to a register, bytes */
	struct frame_saved saved[FRAME_REGISTERS];
};

struct frame_cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;      /* of pointers to code */
	bool has_augmentation; /* its FDEs have such data, too */
	bool is_signal;
	bool is_damaged; /* `initial` is not valid */
	struct frame_state initial;
};

/**
 * typedef frame_state_func - one stretch of addresses, not empty
 * @state: NULL: not known
 */
typedef void (*frame_state_func)(uint64_t from, uint64_t to, const struct frame_state *state, void *data);

/** frame_cie_run() - run the program of a CIE, whose other members are set; sets is_damaged and initial */
void frame_cie_run(struct frame_cie *cie, const uint8_t *program, size_t n);
/**
 * frame_fde_run() - states of the code of an FDE, those between from and to alone
 * @begin, @end: addresses of its code
 * @address:     of its program, as linked
 * @func:        called for ascending stretches, which together are [from, to)
 */
void frame_fde_run(const struct frame_cie *cie, uint64_t begin, uint64_t end, uint64_t address, const uint8_t *program,
		   size_t n, uint64_t from, uint64_t to, frame_state_func func, void *data);
