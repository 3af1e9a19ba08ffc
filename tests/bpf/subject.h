// SPDX-License-Identifier: Apache-2.0
/*
 * A small library to be traced: every way in which a traced function can be entered and
 * left. Each export is an operation of its own, unless said.
 */
#pragma once

typedef int (*subject_func)(void *data);

int subject_empty(void);					      /* does nothing, returns 0 */
int subject_jump_head(void);					      /* likewise, begins like libcuda's functions */
int subject_arguments(void *a, unsigned long bytes, unsigned long c); /* returns 0 */
int subject_fail(int error);					      /* returns it */
int subject_call(subject_func func, void *data);		      /* returns what func returns */
int subject_driver(subject_func func, void *data);		      /* likewise */
int subject_runtime(subject_func func, void *data);		      /* calls subject_driver */
int subject_tail(subject_func func, void *data);		      /* jumps to subject_driver */
int subject_tail_variant(subject_func func, void *data);    /* same operation as subject_call, to which it jumps */
int subject_variant(subject_func func, void *data);	    /* same operation as subject_call, which it calls */
int subject_alloc(void **ret_pointer, unsigned long bytes); /* *ret_pointer = (void *)0x5eed */
