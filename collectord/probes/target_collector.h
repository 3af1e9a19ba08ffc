// SPDX-License-Identifier: Apache-2.0
/*
 * Probes at the garbage collections of Python interpreters, in the files of those that map an attached library, too.
 *
 * Other processes that run the same file pay for each of their collections. So what no such process has mapped for a
 * while is detached.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/target_candidate.h"
#include "probes/target_file.h"

struct parser_collector;

/** target_collector_is_sound() - @collector: as the parser said it; not trusted */
bool target_collector_is_sound(const struct parser_collector *collector, uint64_t file_bytes);
/** target_collector_take() - keep what was found. @machine: ELF e_machine of the file */
void target_collector_take(struct target_file *file, const struct parser_collector *collector, uint16_t machine);
/**
 * target_collector_attach() - unless it is attached: a process with an attached library maps it
 * @path_fd: of that file, O_PATH; @id: what it is now
 * Return: whether it is attached
 */
bool target_collector_attach(struct target_files *files, struct target_file *file, int path_fd,
			     const struct file_identity *id);
/** target_collectors_let_go() - detach those that no process uses, as last looked at */
void target_collectors_let_go(struct target_files *files, uint64_t now_ns, uint64_t unused_limit_ns);
/** target_collector_detach() - nothing where it is not attached */
void target_collector_detach(struct target_files *files, struct target_file *file);
