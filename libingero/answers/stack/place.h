// SPDX-License-Identifier: Apache-2.0
/* The line of a program that made a call, in words: "train.py:142 in forward". */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

/* All borrowed from a message. */
struct stack_place {
	const char *file;   /* source file; "": not known */
	const char *func;   /* n_func bytes; not known: none */
	size_t n_func;	    /* without the offset of native symbols */
	const char *module; /* library or program; "": not known, or Python */
	uint32_t line;	    /* 0: not known */
	bool is_python;
};

/** stack_frame_is_nameless() - whether its function is not known: a native frame without a symbol, or with its library
 * for one */
bool stack_frame_is_nameless(const Ingero__V1__StackFrame *frame);
/** stack_place_of() - place of a frame */
struct stack_place stack_place_of(const Ingero__V1__StackFrame *frame);
/**
 * stack_place_find() - the frame that tells people where: the innermost of Python, else the innermost native one that
 * is not of a traced library, else the traced function itself
 * @stack: may be NULL
 * Return: whether there is one
 */
bool stack_place_find(const Ingero__V1__Stack *stack, struct stack_place *ret);
/**
 * stack_place_append() - append "train.py:142 in forward"; without a line "matmul (libtorch_cpu.so)",
 * "(libtorch_cpu.so)", or "an unknown place"
 */
void stack_place_append(const struct stack_place *place, struct buf *out);
/** stack_chain_append() - append the place, and its callers of the same kind: "net.py:9 in forward ← train.py:13 in
 * main" */
void stack_chain_append(const Ingero__V1__Stack *stack, struct buf *out);
/** stack_site_append() - append the same of a finding's site; nothing for NULL, or where nothing is known */
void stack_site_append(const Ingero__V1__Site *site, struct buf *out);
