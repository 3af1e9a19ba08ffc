// SPDX-License-Identifier: Apache-2.0
/* Data of one process in one tick for detectors, and its quality. */
#pragma once

#include "detect/detector.h"
#include "detect/memory.h"

/** view_of() - make the view; borrows from both */
struct detector_view view_of(const struct process_memory *process, const struct tick *tick);
/**
 * view_quality() - what is left of confidence when calls were not counted, or not timed, or a wait was not seen
 * @counted: calls of all processes in the tick
 * Return: 0...1
 */
double view_quality(const struct detector_view *view, const struct tick *tick, uint64_t counted);
/**
 * view_yield() - leave out conditions of a detector with .yields whose operation another finding is about
 * Return: number of conditions left, from the first on
 */
size_t view_yield(const struct process_memory *process, const struct detector *detector, struct condition *conditions,
		  size_t n);
/** view_sharpness() - what is left of a detector's confidence without classes that would sharpen it. Return: 0...1 */
double view_sharpness(const struct detector_view *view, const struct detector *detector);
