// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a library file, through the entry that the parser child uses, and every
 * head found in it through the decoder. Beyond what the sanitizers see, an answer that
 * points outside its file or out of order is a failure: the daemon would refuse it.
 */
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "children/elf.h"
#include "probes/place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void head_check(uint16_t machine, const struct parser_symbol *s)
{
	struct place place = place_find(machine, s->head, s->n_head);

	if (place.delta && place.delta > s->n_head)
		abort();
	if (place.head != CALL_HEAD_STEPPED && place.delta >= s->n_head)
		abort();
}

static void sites_check(const struct parser_collector_site *sites, uint32_t n_sites, size_t n)
{
	if (n_sites > PARSER_COLLECTOR_SITES)
		abort();
	for (uint32_t i = 0; i < n_sites; i++)
		if (sites[i].offset >= n || sites[i].semaphore >= n || sites[i].n_head > PARSER_HEAD_BYTES ||
		    sites[i].n_head > n - sites[i].offset)
			abort();
}

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
	if (answer->n_symbols > PARSER_SYMBOLS_MAX || !memchr(answer->soname, 0, PARSER_SONAME_BYTES))
		abort();
	sites_check(answer->collector.begins, answer->collector.n_begins, n);
	sites_check(answer->collector.ends, answer->collector.n_ends, n);
	if (answer->collector.n_ends && !answer->collector.n_begins)
		abort();
	for (uint32_t i = 0; i < answer->n_symbols; i++) {
		const struct parser_symbol *s = &answer->symbols[i];

		if (s->offset >= n || s->n_head > n - s->offset || !memchr(s->name, 0, sizeof(s->name)))
			abort();
		if (i && s->offset <= answer->symbols[i - 1].offset)
			abort();
		head_check(EM_X86_64, s);
		head_check(EM_AARCH64, s);
	}
	return 0;
}
