// SPDX-License-Identifier: Apache-2.0
/* printf() and format() for a caller's statement. */
#pragma once

struct sqlite3;

#define PRINT_WIDTH_MAX 1000 /* of a width or a precision */

/**
 * print_install() - in place of SQLite's own, which repeat a character a billion times within one call
 *
 * The same directives, but a width and a precision end at PRINT_WIDTH_MAX, and %c is one character.
 *
 * Return: 0 or -ENOMEM
 */
int print_install(struct sqlite3 *db);
