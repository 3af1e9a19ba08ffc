// SPDX-License-Identifier: Apache-2.0
/*
 * The checks of `ingero check`, one line each, in the order of output. CHECK_ITEM(name, need) stands for the function
 * check_<name>() of libingero/check/. need: NEEDED where capture depends on it; OPTIONAL where the worst result is a
 * warning.
 *
 * No include guard: included wherever something is derived.
 */
#ifndef CHECK_ITEM
#define CHECK_ITEM(name, need)
#endif

CHECK_ITEM(kernel, NEEDED)
CHECK_ITEM(kernel_types, NEEDED)
CHECK_ITEM(bpf, NEEDED)
CHECK_ITEM(lockdown, NEEDED)
CHECK_ITEM(capabilities, NEEDED)
CHECK_ITEM(ptrace_scope, OPTIONAL)
CHECK_ITEM(perf_event_paranoid, OPTIONAL)
CHECK_ITEM(service, NEEDED)
CHECK_ITEM(configuration, NEEDED)
CHECK_ITEM(back_end, NEEDED)
CHECK_ITEM(probes, OPTIONAL)
CHECK_ITEM(database, NEEDED)
CHECK_ITEM(gpu_driver, OPTIONAL)
CHECK_ITEM(gpu, OPTIONAL)
CHECK_ITEM(cuda_libraries, OPTIONAL)
CHECK_ITEM(cuda_processes, OPTIONAL)
CHECK_ITEM(python, OPTIONAL)

#undef CHECK_ITEM
