// SPDX-License-Identifier: Apache-2.0
/*
 * Closing perf events in a separate process, because the kernel takes 0.1 to 0.7 s for each, one after the other. The
 * process outlives the daemon that started it. It keeps only the events, runs the daemon's executable again (so that no
 * memory of the daemon stays), and shows in its name how many are left (procs/closers.h). It waits while a trace
 * attaches.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CLOSER_ROLE "closer"

/** closer_main() - main function of the process: close all its descriptors once its stdin ends. Return: exit status */
int closer_main(void);
/**
 * closer_start() - close these perf events and their links, in this order; the caller's descriptors are closed on
 * return If no process can be started, they are closed here, slowly.
 */
void closer_start(const int *fds, size_t n);
/** closer_observe() - set a function that is called for each started closer with its number of probes; NULL: none */
void closer_observe(void (*func)(uint32_t pid, uint32_t n_probes, void *data), void *data);
/**
 * closer_hold() - make closers wait; blocks until the close in progress has ended, not for all others
 * Return: descriptor; closing it lets the closers continue; -1: they do not wait
 */
int closer_hold(void);
