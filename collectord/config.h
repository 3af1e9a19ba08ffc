// SPDX-License-Identifier: Apache-2.0
/*
 * Options: the file first, then the command line, which takes precedence. base/daemon_options.def lists them all.
 *
 * The file belongs to root, or to the user who runs the daemon: a daemon with privilege reads no other user's file. An
 * error is one sentence with the place, the thing and the way out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/option.h"

#define CONFIG_PATH "/etc/ingero/ingero.yaml"
#define CONFIG_FILE_BYTES 65536 /* maximum size of a file */
#define CONFIG_ERROR_BYTES OPTIONS_ERROR_BYTES

enum config_id {
#define OPTION(id, ...) CONFIG_##id,
#include "base/daemon_options.def"
	CONFIG_COUNT
};

enum config_origin { CONFIG_FROM_DEFAULT, CONFIG_FROM_FILE, CONFIG_FROM_COMMAND_LINE };

struct config_value {
	char *text; /* owned; NULL: absent */
	uint64_t number;
	enum config_origin origin;
	unsigned int line; /* line in the file; 0: not from the file */
};

struct config {
	struct config_value values[CONFIG_COUNT];
};

/* Position in a file, from 1 on; bytes. */
struct config_place {
	const char *file;
	unsigned int line;
	unsigned int column;
};

/** config_init() - set every option to its default. Return: 0 or -ENOMEM */
int config_init(struct config *config);
void config_done(struct config *config);

const struct option *config_option_get(size_t id);
/**
 * config_text() - value as it was written, NULL when absent; a flag that is given is "yes"; of TEXTS all values, with
 * a NUL between
 */
const char *config_text(const struct config *config, enum config_id id);
/** config_number() - of NUMBER, SIZE, DURATION; of TEXTS the bytes of all values and the NULs between */
uint64_t config_number(const struct config *config, enum config_id id);
bool config_is_given(const struct config *config, enum config_id id);

/**
 * config_set() - set one value; a later origin takes precedence, in any order of calls
 * @place: position in the file; NULL: on the command line
 * @error: CONFIG_ERROR_BYTES, one sentence on failure
 * Return: 0, -EINVAL, -ENOMEM
 */
int config_set(struct config *config, enum config_id id, const char *text, const struct config_place *place,
	       char *error);
/** config_read_line() - read the command line. Return: 0, -EINVAL with the sentence, -ENOMEM */
int config_read_line(struct config *config, int argc, char *const *argv, char *error);
/**
 * config_read_file() - read a whole file
 * @fd:   read to its end
 * @name: name of the file in sentences
 * Return: 0, -EINVAL with the sentence, -errno with the sentence
 */
int config_read_file(struct config *config, int fd, const char *name, char *error);
/**
 * config_check_file() - check a whole file, beyond its first error
 * @ret_errors: a line for every error, the sentence of config_read_file()
 * Return: 0, -EINVAL with lines, -errno with a line
 */
int config_check_file(struct config *config, int fd, const char *name, struct buf *ret_errors);
/** config_trust() - check that only root and this process's user can write it. Return: 0; -errno with the sentence */
int config_trust(int fd, const char *path, char *error);
/**
 * config_open() - open a file that only trusted users can write
 * Return: descriptor, -ENOENT without a sentence, -EPERM, -errno with the sentence
 */
int config_open(const char *path, char *error);

/** config_help_append() - append the options as --help shows them */
void config_help_append(struct buf *out);
/** config_manual_append() - append the manual page, for troff */
void config_manual_append(struct buf *out);
/**
 * config_show_append() - append a file with the same values: every key, a description, its value; defaults as comments
 */
void config_show_append(const struct config *config, const char *name, struct buf *out);
