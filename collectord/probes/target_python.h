// SPDX-License-Identifier: Apache-2.0
/*
 * Python interpreters: how the kernel half finds the frames of one, and the probe that tells it which code objects are
 * freed, for processes that also map an attached library.
 *
 * The probe slows down each freed code object of all processes that run the file. So it is detached when no such
 * process has mapped the file for a while; frames are found without it, too, more slowly.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probes/target_file.h"

struct parser_python;

/** target_python_take() - keep what was found, which was checked. @machine: ELF e_machine of the file */
void target_python_take(struct target_file *file, const struct parser_python *python, uint16_t machine);
/**
 * target_python_layout() - the layout in a process
 * @start: of the first executable mapping of the file
 * Return: all of it 0 if the interpreter is not understood
 */
struct python_layout target_python_layout(const struct target_file *file, uint64_t start);
/**
 * target_python_watch() - attach the probe, unless it is attached: a process with an attached library maps the file
 * @path_fd: O_PATH descriptor of the file; @id: its present identity
 * Return: number of the probe for struct interpreter; 0: it is not attached
 */
uint32_t target_python_watch(struct target_files *files, struct target_file *file, int path_fd,
			     const struct file_identity *id);
/** target_pythons_let_go() - detach from interpreters that no process uses, by the last scans */
void target_pythons_let_go(struct target_files *files, uint64_t now_ns, uint64_t unused_limit_ns);
/** target_python_unwatch() - detach; does nothing if it is not attached */
void target_python_unwatch(struct target_files *files, struct target_file *file);
