// SPDX-License-Identifier: Apache-2.0
/*
 * Mappings that the kernel tells of, if each takes the loop long: those for which there is no time are told as lost.
 */
#include "probes/mapping_watch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "clock.h"
#include "tests/support/check.h"

#define MANY 200 /* mappings between two looks */
#define SEEN_MOST 50
#define TURNS 100

struct seen {
	size_t n, n_lost;
	uint64_t each_ns; /* that each takes */
};

static void on_seen(const struct mapping_seen *mapping, void *data)
{
	const uint64_t from_ns = clock_now_ns();
	struct seen *seen = data;

	if (mapping->tgid != (uint32_t)getpid())
		return;
	seen->n++;
	while (clock_now_ns() - from_ns < seen->each_ns)
		continue;
}

static void on_lost(void *data)
{
	struct seen *seen = data;

	seen->n_lost++;
}

static void map(size_t n)
{
	CLEANUP(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < n; i++)
		(void)munmap(mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), page);
}

static void look(uv_loop_t *loop, struct seen *seen, uint64_t each_ns)
{
	*seen = (struct seen){ .each_ns = each_ns };
	for (size_t i = 0; i < TURNS && !seen->n; i++)
		(void)uv_run(loop, UV_RUN_ONCE);
}

int main(void)
{
	struct mapping_watch *watch;
	struct seen seen = { .n = 0 };
	uv_loop_t loop;

	CHECK_INT_EQ("loop", uv_loop_init(&loop), 0);
	if (mapping_watch_open(&loop, on_seen, on_lost, &seen, &watch) < 0)
		CHECK_SKIP("the kernel does not tell of mappings");
	CHECK_INT_EQ("on", mapping_watch_set(watch, true), 0);
	map(MANY);
	look(&loop, &seen, NSEC_PER_MSEC);
	CHECK_INT_IN("those for which there is time", seen.n, 1, SEEN_MOST);
	CHECK_INT_EQ("the others are lost", seen.n_lost, 1);
	map(1);
	look(&loop, &seen, 0);
	CHECK_INT_EQ("later ones", seen.n, 1);
	mapping_watch_close(watch);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	CHECK_INT_EQ("closed", uv_loop_close(&loop), 0);
	return check_result();
}
