// SPDX-License-Identifier: Apache-2.0
#include "probes/mapping_watch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "clock.h"

#define LOOK_MS 100		     /* a second is promised */
#define LOOK_NS (20 * NSEC_PER_MSEC) /* that one takes: mappings for which there is no time count as lost */
#define RING_BYTES (64u << 10)	     /* about 400 mappings between two looks, on each CPU */
#define RECORD_BYTES_MAX 65536u	     /* perf_event_header.size is 16 bits */

/*
 * Record of perf for attr.mmap2, with sample_id_all of PERF_SAMPLE_TID | PERF_SAMPLE_TIME. Source: perf_event_open(2).
 */
struct mmap_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, bytes, offset;
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
	uint32_t protection, flags;
	/* name, then struct sample_id at the end */
};

struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
};

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *page; /* NULL while it is off */
};

struct mapping_watch {
	mapping_seen_func seen;
	mapping_lost_func lost;
	void *data;
	bool is_on;
	bool is_draining; /* its rings stay mapped */
	uint8_t *record;  /* copy of a record that wraps around the end of the ring */
	uv_timer_t timer;
	ARRAY(struct cpu_ring) rings;
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int cpu_ring_open(int cpu, struct cpu_ring *ret_ring)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_period = 1,
		.disabled = 1,
		.mmap = 1,
		.mmap2 = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES, /* never wake a reader */
	};
	CLEANUP(closep) int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_ring = (struct cpu_ring){ .fd = TAKE_FD(fd) };
	return 0;
}

static int cpu_ring_start(struct cpu_ring *ring)
{
	void *memory = mmap(NULL, page_bytes() + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	ring->page = memory;
	return ioctl(ring->fd, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
}

static void cpu_ring_stop(struct cpu_ring *ring)
{
	(void)ioctl(ring->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (ring->page)
		(void)munmap(ring->page, page_bytes() + RING_BYTES);
	ring->page = NULL;
}

static void rings_close(struct mapping_watch *watch)
{
	for (size_t i = 0; i < watch->rings.n; i++) {
		cpu_ring_stop(&watch->rings.items[i]);
		closep(&watch->rings.items[i].fd);
	}
	ARRAY_DONE(&watch->rings);
}

static void mapping_tell(struct mapping_watch *watch, const uint8_t *bytes, size_t n)
{
	struct mmap_record m;
	struct sample_id id;

	if (n < sizeof(m) + sizeof(id))
		return;
	memcpy(&m, bytes, sizeof(m));
	memcpy(&id, bytes + n - sizeof(id), sizeof(id));
	if (!m.inode)
		return; /* anonymous memory, or a mapping of the kernel */
	watch->seen(&(struct mapping_seen){ .time_ns = id.time_ns,
					    .start = m.address,
					    .device = (uint64_t)m.device_major << 32 | m.device_minor,
					    .inode = m.inode,
					    .tgid = m.pid },
		    watch->data);
}

/* Return: the record at a position of the ring, in one piece. */
static const uint8_t *record_at(const struct mapping_watch *watch, const struct cpu_ring *ring, uint64_t at, size_t n)
{
	const uint8_t *data = (const uint8_t *)ring->page + page_bytes();
	size_t from = at % RING_BYTES, first = MIN(n, RING_BYTES - from);

	if (first == n)
		return data + from;
	memcpy(watch->record, data + from, first);
	memcpy(watch->record + first, data, n - first);
	return watch->record;
}

/* Return: whether some were lost, or not told for lack of time */
static bool cpu_ring_drain(struct mapping_watch *watch, const struct cpu_ring *ring, uint64_t until_ns)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE), tail = ring->page->data_tail;
	bool is_lost = false;

	while (tail < head) {
		struct perf_event_header header;

		memcpy(&header, record_at(watch, ring, tail, sizeof(header)), sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break; /* the kernel does not do that */
		if (clock_now_ns() > until_ns) {
			is_lost = true;
			break;
		}
		if (header.type == PERF_RECORD_MMAP2)
			mapping_tell(watch, record_at(watch, ring, tail, header.size), header.size);
		is_lost |= header.type == PERF_RECORD_LOST;
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	return is_lost;
}

static void rings_stop(struct mapping_watch *watch)
{
	for (size_t i = 0; i < watch->rings.n; i++)
		cpu_ring_stop(&watch->rings.items[i]);
}

static void mapping_watch_drain(struct mapping_watch *watch)
{
	uint64_t until_ns = clock_now_ns() + LOOK_NS;
	bool is_lost = false;

	if (!watch->is_on || watch->is_draining)
		return;
	watch->is_draining = true;
	for (size_t i = 0; i < watch->rings.n; i++)
		is_lost |= cpu_ring_drain(watch, &watch->rings.items[i], until_ns);
	watch->is_draining = false;
	if (!watch->is_on) /* the callback has turned it off */
		rings_stop(watch);
	if (is_lost)
		watch->lost(watch->data);
}

static void watch_timer_fired(uv_timer_t *timer)
{
	mapping_watch_drain(timer->data);
}

int mapping_watch_set(struct mapping_watch *watch, bool is_on)
{
	int r = 0;

	if (!watch || watch->is_on == is_on)
		return 0;
	for (size_t i = 0; i < watch->rings.n && is_on && !watch->is_draining && r == 0; i++)
		r = cpu_ring_start(&watch->rings.items[i]);
	watch->is_on = is_on && r == 0;
	if (watch->is_on)
		(void)uv_timer_start(&watch->timer, watch_timer_fired, LOOK_MS, LOOK_MS);
	else
		(void)uv_timer_stop(&watch->timer);
	if (!watch->is_on && !watch->is_draining)
		rings_stop(watch);
	return r;
}

static void watch_free(struct mapping_watch *watch)
{
	rings_close(watch);
	free(watch->record);
	free(watch);
}

static void watch_freep(struct mapping_watch **watch)
{
	if (*watch)
		watch_free(*watch);
}

static int rings_open(struct mapping_watch *watch)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);

	for (int cpu = 0; cpu < n_cpus; cpu++) {
		struct cpu_ring ring;
		int r = cpu_ring_open(cpu, &ring);

		if (r == -ENODEV)
			continue; /* this CPU is offline */
		if (r == 0) {
			r = ARRAY_PUSH(&watch->rings, ring);
			if (r < 0)
				closep(&ring.fd);
		}
		if (r < 0)
			return r;
	}
	return watch->rings.n ? 0 : -ENODEV;
}

int mapping_watch_open(uv_loop_t *loop, mapping_seen_func seen, mapping_lost_func lost, void *data,
		       struct mapping_watch **ret_watch)
{
	CLEANUP(watch_freep) struct mapping_watch *watch = calloc(1, sizeof(*watch));
	int r;

	if (!watch)
		return -ENOMEM;
	watch->seen = seen;
	watch->lost = lost;
	watch->data = data;
	watch->record = malloc(RECORD_BYTES_MAX);
	if (!watch->record)
		return -ENOMEM;
	r = rings_open(watch);
	if (r < 0)
		return r;
	(void)uv_timer_init(loop, &watch->timer);
	watch->timer.data = watch;
	*ret_watch = TAKE_PTR(watch);
	return 0;
}

static void watch_timer_closed(uv_handle_t *timer)
{
	watch_free(timer->data);
}

void mapping_watch_close(struct mapping_watch *watch)
{
	if (watch)
		uv_close((uv_handle_t *)&watch->timer, watch_timer_closed);
}
