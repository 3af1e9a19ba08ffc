// SPDX-License-Identifier: Apache-2.0
/*
 * Probes at the garbage collections of Python interpreters, for processes that also map an attached library.
 *
 * They slow down each collection of other processes that run the same file. So they are detached when no such process
 * has mapped the file for a while.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/target_candidate.h"
#include "probes/target_file.h"

struct parser_collector;

/** target_collector_is_sound() - check the answer of the parser, which is not trusted */
bool target_collector_is_sound(const struct parser_collector *collector, uint64_t file_bytes);
/** target_collector_take() - keep the places of an interpreter's collections. @machine: ELF e_machine of the file */
void target_collector_take(struct target_file *file, const struct parser_collector *collector, uint16_t machine);
/**
 * target_collector_attach() - attach, unless it is attached: a process with an attached library maps the interpreter
 * @path_fd: O_PATH descriptor of the file; @id: its present identity
 * Return: whether it is attached
 */
bool target_collector_attach(struct target_files *files, struct target_file *file, int path_fd,
			     const struct file_identity *id);
/** target_collectors_let_go() - detach interpreters that no process uses, by the last scans */
void target_collectors_let_go(struct target_files *files, uint64_t now_ns, uint64_t unused_limit_ns);
/** target_collector_detach() - detach; does nothing if it is not attached */
void target_collector_detach(struct target_files *files, struct target_file *file);
