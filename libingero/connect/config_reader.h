// SPDX-License-Identifier: Apache-2.0
/*
 * Reading the service's configuration with the daemon's own executable, so that there is one parser and one table. The
 * child gets the opened file and no privilege.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_PATH "/etc/ingero/ingero.yaml"

/**
 * config_reader_open() - open a file for config_reader_run()
 * @path: path of a regular file, or of anything that can be read to an end
 * Return: descriptor, or -errno
 */
int config_reader_open(const char *path);
/**
 * config_reader_run() - run the daemon's executable on the file
 * @option:   "--config-check" or "--config-show"
 * @name:     name of the file in messages
 * @is_quiet: the daemon's first error goes to @said; otherwise its errors go to stderr
 * @said:     buffer of room bytes, one line: why it was not run; empty without an error
 * Return: 0; 1: refused or not run
 */
int config_reader_run(const char *option, const char *name, int fd, bool is_quiet, char *said, size_t room);
