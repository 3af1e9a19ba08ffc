// SPDX-License-Identifier: Apache-2.0
/*
 * The names of all detectors: the only registration. Order carries one meaning: a row with .yields knows the findings
 * of the rows before it.
 *
 * DETECTOR(name): detector_NAME in detect/NAME.c, with its page docs/detectors/NAME.md and its test.
 *
 * No include guard: included wherever something is derived.
 */
#ifndef DETECTOR
#define DETECTOR(name)
#endif

DETECTOR(alloc_spike)
DETECTOR(call_error)
DETECTOR(cold_start)
DETECTOR(cpu_contention)
DETECTOR(cpu_quota)
DETECTOR(device_oom)
DETECTOR(graph_capture)
DETECTOR(host_bound)
DETECTOR(hung_call)
DETECTOR(memcpy_share)
DETECTOR(oom_kill)
DETECTOR(slow_call)
DETECTOR(stalled)
DETECTOR(starved)
