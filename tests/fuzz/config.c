// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as the configuration file of the service. What is taken is what each option may be, and what is
 * refused is refused in one line that begins with the place.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define NAME "ingero.yaml"

static void check_sentence(const char *error, int r)
{
	unsigned int line = 0, column = 0;
	int n_place = 0;

	if (!error[0] || strlen(error) >= CONFIG_ERROR_BYTES)
		abort();
	for (const char *p = error; *p; p++)
		if ((uint8_t)*p < 0x20 || *p == 0x7f)
			abort();
	if (r == -EINVAL && (sscanf(error, NAME ":%u:%u: %n", &line, &column, &n_place) != 2 || !n_place || !line ||
			     !column || !error[n_place]))
		abort();
}

static void check_values(const struct config *config)
{
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		const struct option *option = config_option_get(i);
		const struct config_value *value = &config->values[i];
		bool is_number =
			option->kind == OPTION_NUMBER || option->kind == OPTION_SIZE || option->kind == OPTION_DURATION;

		if (value->origin == CONFIG_FROM_FILE &&
		    (!option->key || !value->text || !value->text[0] || !value->line))
			abort();
		if (!is_number || value->origin != CONFIG_FROM_FILE || (option->zero_is_none && !value->number))
			continue;
		if (value->number < option->min || (option->max && value->number > option->max))
			abort();
	}
}

/* Read to its end: every line is such a sentence, and the first is the one that ended the reading before. */
static void check_all(int fd, const char *error, int wanted)
{
	CLEANUP(buf_done) struct buf errors = BUF_INIT;
	struct config config;
	char *rest, *line;
	int r;

	if (lseek(fd, 0, SEEK_SET) != 0 || config_init(&config) < 0)
		abort();
	r = config_check_file(&config, fd, NAME, &errors);
	if (r != wanted || (r == 0) != (errors.n == 0))
		abort();
	if (r < 0 &&
	    (strncmp(buf_text(&errors), error, strlen(error)) != 0 || buf_text(&errors)[strlen(error)] != '\n'))
		abort();
	rest = (char *)(uintptr_t)buf_text(&errors);
	while ((line = strsep(&rest, "\n")) && rest)
		check_sentence(line, r);
	config_done(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(closep) int fd = memfd_create("config", MFD_CLOEXEC);
	char error[CONFIG_ERROR_BYTES] = "";
	struct config config;
	int r;

	if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0 || config_init(&config) < 0)
		abort();
	r = config_read_file(&config, fd, NAME, error);
	if (r < 0)
		check_sentence(error, r);
	else
		check_values(&config);
	config_done(&config);
	check_all(fd, error, r);
	return 0;
}
