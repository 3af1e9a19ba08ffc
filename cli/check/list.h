// SPDX-License-Identifier: Apache-2.0
/*
 * What `ingero check` looks at, one line each, in the order in which it is shown:
 * CHECK_ITEM(name, need) is the function check_<name>() of cli/check/ that finds out.
 * need: NEEDED where capture does not go without it; OPTIONAL where it does, so that
 * the worst that can be said is a warning.
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

#undef CHECK_ITEM
