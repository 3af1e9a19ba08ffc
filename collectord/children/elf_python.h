// SPDX-License-Identifier: Apache-2.0
/*
 * How the frames of a CPython interpreter are found: what its file says of its version and of the layout of its
 * objects. Nothing of the interpreter is run. What is not known for sure is refused.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "children/elf_file.h"
#include "children/parser.h"

/* Exports of an interpreter: addresses as linked, 0: not seen. */
struct elf_python {
	uint64_t version;
	uint64_t code_type, frame_type, text_type, bytes_type;
	uint64_t get_thread; /* function that returns the state of the current thread */
	uint64_t get_thread_bytes;
	bool is_debug;
	bool is_interpreter; /* runs bytecode, of whatever version */
};

/** elf_python_look_at() - a symbol of the file */
void elf_python_look_at(struct elf_python *python, const Elf64_Sym *symbol, const char *name);
/**
 * elf_python_read() - of a file that holds an interpreter; library->interpreter_* are known
 * @runtime: address of its state, as linked
 */
void elf_python_read(struct elf_file *f, const struct elf_dynamic *d, const struct elf_python *python, uint64_t runtime,
		     struct parser_library *library);
