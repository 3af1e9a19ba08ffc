// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as the file of a Python interpreter, through the entry that the parser child uses. Beyond what the
 * sanitizers see, a layout that the daemon would refuse is a failure.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "children/elf.h"
#include "probes/python_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct parser_library *answer;
	static int fd = -1;

	if (!answer) {
		answer = malloc(sizeof(*answer) + PARSER_SYMBOLS_MAX * sizeof(answer->symbols[0]));
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	}
	if (!answer || fd < 0 || ftruncate(fd, (off_t)n) < 0 || (n && pwrite(fd, data, n, 0) != (ssize_t)n))
		abort();
	if (elf_read_library(fd, n, answer) != PARSER_OK)
		return 0;
	if (!python_answer_is_sound(&answer->python, n))
		abort();
	if (answer->python.state != PARSER_PYTHON_OK && answer->python.layout.minor)
		abort();
	return 0;
}
