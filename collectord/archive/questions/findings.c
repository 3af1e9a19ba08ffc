// SPDX-License-Identifier: Apache-2.0
#include "archive/questions/findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/finding_order.h"
#include "archive/job.h"
#include "archive/questions/message.h"

#define ID_DIGITS 16

struct collection {
	struct findings *findings;
	struct reader_job *job;
	const uint32_t *pids;
	size_t n_pids;
	size_t most;
	struct reader_node_id id; /* prefix of the wanted id; .id NULL: any finding */
	size_t n_id;
};

static struct finding_place place_of_message(const Ingero__V1__Finding *f)
{
	return (struct finding_place){
		.severity = f->severity, .lost_ns = f->lost_ns, .start_ns = f->start_unix_ns, .id = f->id
	};
}

static int finding_message_compare(const void *a, const void *b)
{
	struct finding_place x = place_of_message(*(Ingero__V1__Finding *const *)a),
			     y = place_of_message(*(Ingero__V1__Finding *const *)b);

	return finding_order(&x, &y);
}

static Ingero__V1__Finding *finding_copy(const Ingero__V1__Finding *f)
{
	size_t n = ingero__v1__finding__get_packed_size(f);
	CLEANUP(freep) uint8_t *bytes = malloc(n + 1);

	if (!bytes)
		return NULL;
	(void)ingero__v1__finding__pack(f, bytes);
	return ingero__v1__finding__unpack(NULL, n, bytes);
}

static void findings_cut(struct findings *findings, size_t most)
{
	if (findings->n)
		qsort(findings->rows, findings->n, sizeof(Ingero__V1__Finding *), finding_message_compare);
	while (findings->n > most)
		ingero__v1__finding__free_unpacked(findings->rows[--findings->n], NULL);
}

static bool is_wanted(const struct collection *c, const Ingero__V1__Finding *f)
{
	if (c->id.id) {
		const struct reader_node_id own = reader_node_id(f->id);

		return (!f->node_told_case || reader_node_is(&c->id, f->node)) &&
		       strncasecmp(own.id, c->id.id, c->n_id) == 0;
	}
	return read_pid_is_wanted(c->pids, c->n_pids, f->pid);
}

static int finding_add(const Ingero__V1__Finding *f, void *data)
{
	struct collection *c = data;
	struct findings *findings = c->findings;
	Ingero__V1__Finding *copy;
	int r;

	if (reader_is_late(c->job))
		return -ETIME;
	if (!is_wanted(c, f))
		return 0;
	findings->n_all++;
	copy = finding_copy(f);
	if (!copy)
		return -ENOMEM;
	r = array_grow(&findings->rows, findings->n, &findings->room, sizeof(Ingero__V1__Finding *));
	if (r)
		return r;
	findings->rows[findings->n++] = copy;
	/* Limits memory: it depends on the number of wanted findings, not on that of the file. */
	if (findings->n >= 2 * c->most + 64)
		findings_cut(findings, c->most);
	return 0;
}

int findings_collect(struct findings *findings, struct reader_job *job, uint64_t from_unix_ns, uint64_t to_unix_ns,
		     const uint32_t *pids, size_t n_pids, size_t most)
{
	struct collection c = { .findings = findings, .job = job, .pids = pids, .n_pids = n_pids, .most = most };
	int r = store_reader_findings(job->reader, from_unix_ns, to_unix_ns, finding_add, &c);

	findings_cut(findings, most);
	return r;
}

int findings_fail_id(const char *id)
{
	return reader_fail(
		CALL_ERROR_INVALID,
		"'%.128s' is neither the id of a recorded finding (16 hexadecimal digits, or its first ones) "
		"nor of a call (BOOT.START.TID); NODE: may stand before either",
		id);
}

int findings_find(struct findings *findings, struct reader_job *job, const char *id)
{
	struct collection c = { .findings = findings, .job = job, .most = 2, .id = reader_node_id(id) };
	int r;

	c.n_id = strlen(c.id.id);
	if (strspn(c.id.id, "0123456789abcdefABCDEF") != c.n_id || c.n_id > ID_DIGITS)
		return findings_fail_id(id);
	r = store_reader_findings(job->reader, 0, 0, finding_add, &c);
	if (r)
		return r;
	if (findings->n_all == 0)
		return reader_fail(CALL_ERROR_NOT_FOUND,
				   "there is no finding whose id begins with '%s' here, or it is not yours: "
				   "'ingero explain' lists the findings",
				   id);
	if (findings->n_all > 1 && strcmp(findings->rows[0]->id, findings->rows[1]->id) == 0)
		return reader_fail(CALL_ERROR_INVALID,
				   "%zu files have a finding %s of one node: ask them one at a time with '--db'",
				   findings->n_all, findings->rows[0]->id);
	if (findings->n_all > 1)
		return reader_fail(
			CALL_ERROR_INVALID,
			"%zu findings have an id that begins with '%s', %s and %s among them: give more of the id",
			findings->n_all, id, findings->rows[0]->id, findings->rows[1]->id);
	return 0;
}
