// SPDX-License-Identifier: Apache-2.0
#include "figures/account.h"

#include <errno.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "files/block_device.h"
#include "files/file_path.h"

/* Tolerance between the two clocks: one scheduler tick per reading, and the time of interrupts. */
#define CLOCKS_AGREE_NS (10 * NSEC_PER_MSEC)
#define CLOCKS_AGREE_PER_MILLE 5

const char *account_where_name(enum account_where where)
{
	static const char *const names[ACCOUNT_WHERE_COUNT] = {
		[ACCOUNT_BETWEEN] = "between",
		[ACCOUNT_IN] = "in",
		[ACCOUNT_NOT_KNOWN] = "not_known",
	};

	return names[where];
}

const char *account_resource_name(enum resource_kind kind)
{
	static const char *const names[RESOURCE_COUNT] = {
#define RESOURCE(kind, field, label) [RESOURCE_##kind] = field,
#include "bpf/resources.def"
	};

	return names[kind];
}

const char *account_class_name(enum blame_class class)
{
	static const char *const names[BLAME_COUNT] = {
#define BLAME(id, field, label, phrase, remedy) [BLAME_##id] = #field,
#include "bpf/blame.def"
#undef BLAME
	};

	return names[class];
}

static const char *stop_name(uint64_t stop)
{
	switch ((enum stop_kind)stop) {
	case STOP_SIGNAL:
		return "signal";
	case STOP_DEBUGGER:
		return "debugger";
	case STOP_FREEZER:
		return "freezer";
	case STOP_HOLD:
		return "ingero";
	case STOP_NONE:
		break;
	}
	return "";
}

void account_wait_name(const struct account_wait *wait, char ret[ACCOUNT_WAIT_NAME_BYTES])
{
	ret[0] = '\0';
	if (wait->name[0])
		(void)snprintf(ret, ACCOUNT_WAIT_NAME_BYTES, "%.*s", (int)sizeof(wait->name), wait->name);
	else if (wait->kind == RESOURCE_DEVICE && wait->device_name[0])
		(void)snprintf(ret, ACCOUNT_WAIT_NAME_BYTES, "%s", wait->device_name);
	else if (wait->kind == RESOURCE_DEVICE)
		(void)snprintf(ret, ACCOUNT_WAIT_NAME_BYTES, "%u:%u", wait->device >> 20, wait->device & 0xfffff);
	else if (wait->kind == RESOURCE_FUTEX)
		(void)snprintf(ret, ACCOUNT_WAIT_NAME_BYTES, "0x%llx", (unsigned long long)wait->resource);
	else if ((wait->kind == RESOURCE_INODE || wait->kind == RESOURCE_WRITTEN || wait->kind == RESOURCE_FILE_LOCK) &&
		 wait->resource)
		(void)snprintf(ret, ACCOUNT_WAIT_NAME_BYTES, "inode %llu", (unsigned long long)wait->resource);
	else if (resource_is_pipe(wait->kind) && wait->resource)
		(void)snprintf(ret, ACCOUNT_WAIT_NAME_BYTES, "pipe:[%llu]", (unsigned long long)wait->resource);
	else if (resource_is_socket(wait->kind) && wait->resource)
		(void)snprintf(ret, ACCOUNT_WAIT_NAME_BYTES, "socket:[%llu]", (unsigned long long)wait->resource);
	else if (wait->kind == RESOURCE_CHILD && wait->resource)
		(void)snprintf(ret, ACCOUNT_WAIT_NAME_BYTES, "%llu", (unsigned long long)wait->resource);
	else if (wait->kind == RESOURCE_STOPPED)
		(void)snprintf(ret, ACCOUNT_WAIT_NAME_BYTES, "%s", stop_name(wait->resource));
	(void)utf8_scrub(ret);
}

_Static_assert(ACCOUNT_DEVICE_BYTES == BLOCK_DEVICE_NAME_BYTES, "the name of a device fits");

/* "127.0.0.1:80", "[::1]:80"; "": not connected, or not an internet socket */
static void peer_format(const char name[RESOURCE_NAME_BYTES], char ret[ACCOUNT_PATH_BYTES])
{
	char address[INET6_ADDRSTRLEN];
	struct peer_name peer;

	memcpy(&peer, name, sizeof(peer));
	ret[0] = '\0';
	if (peer.zero || (peer.family != AF_INET && peer.family != AF_INET6) ||
	    !inet_ntop(peer.family, peer.address, address, sizeof(address)))
		return;
	(void)snprintf(ret, ACCOUNT_PATH_BYTES, peer.family == AF_INET ? "%s:%u" : "[%s]:%u", address,
		       (unsigned int)peer.port[0] << 8 | peer.port[1]);
}

void account_wait_name_set(struct account_wait *wait, const char name[RESOURCE_NAME_BYTES], const char *path)
{
	memset(wait->name, 0, sizeof(wait->name));
	if (resource_is_socket(wait->kind))
		peer_format(name, wait->name);
	else if (path)
		file_path_shorten(path, wait->name, sizeof(wait->name));
	else
		memcpy(wait->name, name, RESOURCE_NAME_BYTES - 1);
	/* For other kinds the device may be a terminal, whose number may equal that of a disk. */
	if ((wait->kind == RESOURCE_INODE || wait->kind == RESOURCE_WRITTEN ||
	     (wait->kind == RESOURCE_DEVICE && (wait->class == BLAME_BLOCK_IO || wait->class == BLAME_MEMORY))) &&
	    !wait->device_name[0])
		block_device_name(wait->device, wait->device_name);
}

void account_done(struct account *account)
{
	ARRAY_DONE(&account->parts);
}

int account_part_order(const struct account_part *a, const struct account_part *b)
{
	if (a->where != b->where)
		return a->where < b->where ? -1 : 1;
	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	return (int)a->class - (int)b->class;
}

int account_add(struct account *account, const struct account_part *part)
{
	struct account_part *parts = account->parts.items;
	size_t place = SORTED_PLACE(account->parts.n, i, account_part_order(&parts[i], part) < 0);
	int r;

	if (!part->ns)
		return 0;
	if (place == account->parts.n || account_part_order(&parts[place], part) != 0) {
		r = ARRAY_PUSH(&account->parts, *part);
		if (r < 0)
			return r;
		parts = account->parts.items;
		memmove(&parts[place + 1], &parts[place], (account->parts.n - 1 - place) * sizeof(*parts));
		parts[place] = (struct account_part){ .op = part->op, .where = part->where, .class = part->class };
	}
	parts[place].ns += part->ns;
	account->wall_ns += part->ns;
	return 0;
}

bool account_is_torn(const struct account_record *r)
{
	return r->changes != r->account.changes || !r->account.since_ns || r->now_ns < r->account.since_ns;
}

/* ---- parts from the kernel's counts ---- */

/* Time by class in one place: in calls of one operation, or between calls. */
struct account_place {
	uint64_t ns;
	uint64_t blame_ns[BLAME_COUNT]; /* [BLAME_ON_CPU] is the remainder */
	uint32_t op;			/* 0: `rest`, or between calls */
};

struct account_places {
	struct account_place
		in[ACCOUNT_OPS + 2]; /* the kernel's operations, `rest`, and the operation of the call in progress */
	size_t n_in;
	struct account_place between;
};

static struct account_place *place_of(struct account_places *p, uint32_t op)
{
	for (size_t i = 0; i < p->n_in; i++)
		if (p->in[i].op == op)
			return &p->in[i];
	p->in[p->n_in].op = op;
	return &p->in[p->n_in++];
}

static void place_add(struct account_place *place, uint64_t ns, const __u64 blame_ns[BLAME_COUNT])
{
	place->ns += ns;
	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++)
		place->blame_ns[i] += blame_ns[i];
}

static void places_read(const struct account_record *r, struct account_places *p)
{
	const struct thread_account *a = &r->account;
	uint64_t open_ns = r->open_since_ns && r->now_ns > r->open_since_ns ? r->now_ns - r->open_since_ns : 0;

	*p = (struct account_places){ .n_in = 0 };
	for (size_t i = 0; i < ACCOUNT_OPS; i++)
		if (a->ops[i].op)
			place_add(place_of(p, a->ops[i].op), a->ops[i].ns, a->ops[i].blame_ns);
	if (a->rest.ns)
		place_add(place_of(p, 0), a->rest.ns, a->rest.blame_ns);
	place_add(&p->between, 0, a->away_ns);
	if (r->open_op && open_ns)
		place_add(place_of(p, r->open_op), open_ns, r->open_ns);
	else if (open_ns)
		place_add(&p->between, 0, r->open_ns);
}

/* Subtract ns from the largest value, then from the next largest. Return: the rest beyond all values */
static uint64_t largest_cut(uint64_t *const values[], size_t n, uint64_t ns)
{
	while (ns) {
		uint64_t *largest = NULL, cut_ns;

		for (size_t i = 0; i < n; i++)
			if (!largest || *values[i] > *largest)
				largest = values[i];
		if (!largest || !*largest)
			return ns;
		cut_ns = MIN(ns, *largest);
		*largest -= cut_ns;
		ns -= cut_ns;
	}
	return 0;
}

/* Limit the classes to the time of the place; the remainder was on the CPU. */
static void place_settle(struct account_place *place)
{
	uint64_t *classes[BLAME_COUNT], away_ns = 0;

	for (int i = BLAME_ON_CPU + 1; i < BLAME_COUNT; i++) {
		classes[i - 1] = &place->blame_ns[i];
		away_ns += place->blame_ns[i];
	}
	if (away_ns > place->ns)
		(void)largest_cut(classes, BLAME_COUNT - 1, away_ns - place->ns);
	place->blame_ns[BLAME_ON_CPU] = place->ns - MIN(away_ns, place->ns);
}

/* The two clocks are not read at once: they may differ by what one of them has not counted yet. */
static uint64_t not_known_ns(const struct account_record *r, uint64_t wall_ns, uint64_t on_cpu_ns)
{
	uint64_t since_ns = r->account.since_runtime_ns;
	uint64_t runtime_ns = r->runtime_ns > since_ns ? r->runtime_ns - since_ns : 0;
	uint64_t most_ns = runtime_ns + MAX(CLOCKS_AGREE_NS, wall_ns / 1000 * CLOCKS_AGREE_PER_MILLE);

	return r->runtime_ns && on_cpu_ns > most_ns ? on_cpu_ns - most_ns : 0;
}

static size_t place_tell(const struct account_place *place, enum account_where where, struct account_part *ret)
{
	size_t n = 0;

	for (int i = 0; i < BLAME_COUNT; i++)
		if (place->blame_ns[i])
			ret[n++] = (struct account_part){
				.ns = place->blame_ns[i], .op = place->op, .where = where, .class = (uint8_t)i
			};
	return n;
}

static int place_order(const void *a, const void *b)
{
	const struct account_place *x = a, *y = b;

	return x->op < y->op ? -1 : x->op > y->op;
}

/* Moves time from between calls to a place of its own. */
static struct account_place unseen_take(struct account_place *between, const __u64 unseen_ns[BLAME_COUNT])
{
	struct account_place unseen = { .ns = 0 };

	for (int i = 0; i < BLAME_COUNT; i++) {
		unseen.blame_ns[i] = MIN(unseen_ns[i], between->blame_ns[i]);
		between->blame_ns[i] -= unseen.blame_ns[i];
	}
	return unseen;
}

size_t account_read(const struct account_record *r, struct account_part ret[ACCOUNT_PARTS_MOST])
{
	uint64_t wall_ns = r->now_ns - r->account.since_ns, in_ns = 0, on_cpu_ns, missing_ns;
	uint64_t *cpu[ACCOUNT_OPS + 2], *ins[ACCOUNT_OPS + 2];
	struct account_place unseen;
	struct account_places p;
	size_t n;

	places_read(r, &p);
	for (size_t i = 0; i < p.n_in; i++) {
		ins[i] = &p.in[i].ns;
		cpu[i] = &p.in[i].blame_ns[BLAME_ON_CPU];
		in_ns += p.in[i].ns;
	}
	if (in_ns > wall_ns)
		(void)largest_cut(ins, p.n_in, in_ns - wall_ns);
	p.between.ns = wall_ns - MIN(in_ns, wall_ns);
	place_settle(&p.between);
	on_cpu_ns = p.between.blame_ns[BLAME_ON_CPU];
	for (size_t i = 0; i < p.n_in; i++) {
		place_settle(&p.in[i]);
		on_cpu_ns += *cpu[i];
	}

	missing_ns = not_known_ns(r, wall_ns, on_cpu_ns);
	if (missing_ns) {
		uint64_t *between = &p.between.blame_ns[BLAME_ON_CPU];

		(void)largest_cut(cpu, p.n_in, largest_cut(&between, 1, missing_ns));
	}

	unseen = unseen_take(&p.between, r->unseen_ns);
	unseen.blame_ns[BLAME_OTHER] += missing_ns;
	qsort(p.in, p.n_in, sizeof(p.in[0]), place_order);
	n = place_tell(&p.between, ACCOUNT_BETWEEN, ret);
	for (size_t i = 0; i < p.n_in; i++)
		n += place_tell(&p.in[i], ACCOUNT_IN, &ret[n]);
	n += place_tell(&unseen, ACCOUNT_NOT_KNOWN, &ret[n]);
	return n;
}
