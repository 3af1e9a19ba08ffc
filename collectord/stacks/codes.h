// SPDX-License-Identifier: Apache-2.0
/*
 * Code objects of Python, by process and address. The kernel half sends a copy of each before the first stack with it;
 * the parser reads names and lines in it.
 *
 * A code object may be freed, and another one be at its address later: that one was sent, too, and before the first
 * stack with it. So the object at an address at the moment when a stack arrives is the one that is in the stack.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct child;
struct code_record;
struct codes;
struct python_code;

/** typedef codes_told_func - some code objects are ready now; called on the loop, never from within other calls */
typedef void (*codes_told_func)(void *data);

/** codes_new() - @parser: borrowed, closed before codes_free(). Return: 0 or -ENOMEM */
int codes_new(struct child *parser, codes_told_func told, void *data, struct codes **ret_codes);
/** codes_free() - references stay valid. NULL is allowed */
void codes_free(struct codes *codes);
/** codes_take() - a record was read, checked by its decoder: all of its parts are there */
void codes_take(struct codes *codes, const struct code_record *record);
/**
 * codes_find() - the code object that is at an address now
 * @uid: owner of the process; an earlier process of another user with this number had others
 * Return: a reference; NULL: not known, or there was no room for it
 */
struct python_code *codes_find(struct codes *codes, uint32_t tgid, uint32_t exec_gen, uint32_t uid, uint64_t address);
/** codes_exit() - the process ended. What it has is kept for some seconds, for stacks that are still to be read */
void codes_exit(struct codes *codes, uint32_t tgid);
/** codes_second() - to be called once a second */
void codes_second(struct codes *codes, uint64_t now_ns);

/** python_code_unref() - NULL is allowed */
void python_code_unref(struct python_code *code);
/** python_code_is_ready() - whether it was read, or cannot be: the rest does not change any more */
bool python_code_is_ready(const struct python_code *code);
/* Texts are UTF-8 without control characters; "": not known, also while it is not ready. */
const char *python_code_name(const struct python_code *code);
const char *python_code_qualname(const struct python_code *code); /* from CPython 3.11 on */
const char *python_code_file(const struct python_code *code);
/** python_code_line() - line of an instruction of struct stack_python. Return: 0: not known, or it has none */
uint32_t python_code_line(const struct python_code *code, uint64_t instruction);
/** python_code_is_shown() - whether Python shows a frame at this instruction: from 3.11 on only if it has begun */
bool python_code_is_shown(const struct python_code *code, uint64_t instruction);
