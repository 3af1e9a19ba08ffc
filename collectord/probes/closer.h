// SPDX-License-Identifier: Apache-2.0
/*
 * Closing perf events, which takes the kernel 0.1 to 0.7 s each, one after the other: a process of its own does it,
 * which outlives whoever started it. It keeps nothing but the events, runs the daemon's file anew (so that no memory of
 * the daemon stays), and has a name that says how many are left (procs/closers.h). While a trace attaches, it waits.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CLOSER_ROLE "closer"

/** closer_main() - the process: closes what it has open once its stdin ends, and ends. Return: exit status */
int closer_main(void);
/**
 * closer_start() - close these perf events and their links, in this order; ours are closed when it returns
 * Where no process can be made they are closed here, slowly.
 */
void closer_start(const int *fds, size_t n);
/** closer_observe() - be told of each that was started, and how much it has to do; NULL: nobody is told */
void closer_observe(void (*func)(uint32_t pid, uint32_t n_probes, void *data), void *data);
/**
 * closer_hold() - those that close wait meanwhile: one close is waited for, and not all
 * Return: descriptor whose closing lets them go on; -1: they do not wait
 */
int closer_hold(void);
