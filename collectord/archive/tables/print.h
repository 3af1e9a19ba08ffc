// SPDX-License-Identifier: Apache-2.0
/* printf() and format() for a caller's statement. */
#pragma once

struct sqlite3;

#define PRINT_WIDTH_MAX 1000 /* maximum width or precision */

/**
 * print_install() - replace SQLite's own functions, which can repeat a character a billion times in one call
 *
 * The directives are the same, but width and precision are limited to PRINT_WIDTH_MAX, and %c is one character.
 *
 * Return: 0 or -ENOMEM
 */
int print_install(struct sqlite3 *db);
