// SPDX-License-Identifier: Apache-2.0
/*
 * The configuration of the service, read by the daemon's own executable, so that there is one reader of one
 * table; it gets the file opened and reads it without any privilege.
 */
#pragma once

#include <stddef.h>

#define CONFIG_PATH "/etc/ingero/ingero.yaml"

/**
 * config_reader_open() - a file for config_reader_run()
 * @path: of a regular file, or of anything that can be read to an end
 * Return: descriptor, or -errno
 */
int config_reader_open(const char *path);
/**
 * config_reader_run() - what the daemon makes of it
 * @option: "--config-check" or "--config-show"
 * @name:   of the file, as sentences call it
 * @said:   takes what it says of errors, in one line, up to room bytes; NULL: that goes to stderr
 * Return: 0; 1: refused, or it cannot be asked, which is said in the same place
 */
int config_reader_run(const char *option, const char *name, int fd, char *said, size_t room);
