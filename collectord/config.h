// SPDX-License-Identifier: Apache-2.0
/*
 * Options: the file first, the command line over it. base/daemon_options.def has them all.
 *
 * The file belongs to root, or to whoever runs the daemon: nobody else's is read by a
 * daemon that holds privilege. What is wrong is one sentence that names the place, the
 * thing and the way out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/option.h"

#define CONFIG_PATH "/etc/ingero/ingero.yaml"
#define CONFIG_FILE_BYTES 65536 /* most that a file may have */
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
	unsigned int line; /* in the file; 0: not from there */
};

struct config {
	struct config_value values[CONFIG_COUNT];
};

/* Where in a file something is, from 1 on; bytes. */
struct config_place {
	const char *file;
	unsigned int line;
	unsigned int column;
};

/** config_init() - every option as it is when nobody says otherwise. Return: 0 or -ENOMEM */
int config_init(struct config *config);
void config_done(struct config *config);

const struct option *config_option_get(size_t id);
/** config_text() - value as it was written, NULL when absent; a flag that is given is "yes" */
const char *config_text(const struct config *config, enum config_id id);
/** config_number() - of NUMBER, SIZE, DURATION */
uint64_t config_number(const struct config *config, enum config_id id);
bool config_is_given(const struct config *config, enum config_id id);

/**
 * config_set() - one value; a later origin wins whichever comes first
 * @place: in the file; NULL: on the command line
 * @error: CONFIG_ERROR_BYTES, one sentence on failure
 * Return: 0, -EINVAL, -ENOMEM
 */
int config_set(struct config *config, enum config_id id, const char *text, const struct config_place *place,
	       char *error);
/** config_read_line() - the command line. Return: 0, -EINVAL with the sentence, -ENOMEM */
int config_read_line(struct config *config, int argc, char *const *argv, char *error);
/**
 * config_read_file() - a whole file
 * @fd:   read to its end
 * @name: what sentences call it
 * Return: 0, -EINVAL with the sentence, -errno with the sentence
 */
int config_read_file(struct config *config, int fd, const char *name, char *error);
/**
 * config_check_file() - a whole file, to its end
 * @ret_errors: a line for every error, as config_read_file() says the first
 * Return: 0, -EINVAL with lines, -errno with a line
 */
int config_check_file(struct config *config, int fd, const char *name, struct buf *ret_errors);
/** config_trust() - whether nobody but root and this process's user can write it. Return: 0; -errno with the sentence
 */
int config_trust(int fd, const char *path, char *error);
/**
 * config_open() - a file that may be trusted
 * Return: descriptor, -ENOENT, -EPERM, -errno; but for -ENOENT with the sentence
 */
int config_open(const char *path, char *error);

/** config_help_append() - the options as --help shows them */
void config_help_append(struct buf *out);
/** config_manual_append() - the manual page, for troff */
void config_manual_append(struct buf *out);
/** config_show_append() - a file that would say the same: every key, what it is for, its value; defaults as comments */
void config_show_append(const struct config *config, const char *name, struct buf *out);
