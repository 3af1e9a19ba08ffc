// SPDX-License-Identifier: Apache-2.0
/*
 * What a program that mistreats its calls knows about them: how many it entered and
 * how many came back, by function. Printed as one JSON line for each process image,
 * and compared with the stand-in's books first.
 *
 *   {"case":"longjmp","pid":7,"generation":0,"unharmed":true,"functions":[
 *    {"function":"cudaStreamSynchronize","entered":9,"returned":8,"abandoned":1,"inherited":0}, ...],
 *    "operations":[{"op":"cuStreamSynchronize","count":5}]}
 *
 * inherited: returns in a forked child of calls that its parent entered; no calls of
 * the child. operations: only where several exports are one operation, what counting
 * each call once means.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** truth_expect() - so many entries and returns more. The function must be one that truth.c lists */
void truth_expect(const char *function, unsigned int entered, unsigned int returned);
/** truth_inherited() - a return of a call that the parent process entered */
void truth_inherited(const char *function);
/** truth_operation() - calls of an operation, each counted once */
void truth_operation(const char *op, unsigned int count);
/** truth_harmed() - something in the program is not as it must be; said on stderr */
void truth_harmed(const char *what);
/** truth_new_process() - in a forked child: nothing was called yet */
void truth_new_process(void);
/**
 * truth_print() - the line of this process image, on stdout
 * @generation: execs of this process so far
 * Return: 0, or 1 when harmed or when the books disagree, which is said on stderr
 */
int truth_print(const char *name, unsigned int generation);

/* The calls that cases are made of: expected, made, checked for their result. */
/** call_sync() - cudaStreamSynchronize of the default stream, forwarded to cuStreamSynchronize */
void call_sync(void);
/** call_launch() - cudaLaunchKernel, forwarded to cuLaunchKernel */
void call_launch(void);
/** call_begin() - the first call: driver found and started */
void call_begin(void);
/** call_around() - run a function inside the driver's part of a call_sync(); the caller says what is expected */
int call_around(void (*inside)(void));
/** expect_sync() - entries and returns of what call_around() makes, in both layers */
void expect_sync(unsigned int entered, unsigned int returned);
/** watch_calls() - let call_around() work; once, early */
void watch_calls(void);

#ifdef __cplusplus
}
#endif
