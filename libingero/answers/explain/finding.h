// SPDX-License-Identifier: Apache-2.0
/*
 * One finding as people read it: who, how much, where the time went and through
 * whom, what to do, how sure it is.
 */
#pragma once

#include <stdbool.h>

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/blame.h"
#include "libingero/render/text.h"

struct explain_finding {
	const Ingero__V1__Finding *finding; /* borrowed */
	const Ingero__V1__Lost *lost;	    /* in the window; NULL: not known */
	size_t number;			    /* in the list, from 1; 0: alone */
	unsigned int id_chars;		    /* of its id, so that it is told from the others */
	uint64_t now_unix_ns;
	bool goes_on;	   /* somebody still records: what has no end lasts */
	const char *db;	   /* to ask again: --db; NULL: not needed */
	bool is_forgotten; /* it cannot be asked again */
};

struct explain_command {
	char text[160];
};
/** explain_command() - "ingero explain", or with --db and that file; FILE where its name is too long for a line */
struct explain_command explain_command(const char *db);

/** explain_finding_append() - the block of a report */
void explain_finding_append(const struct explain_finding *e, const struct text_style *style, struct buf *out);
/** explain_finding_append_all() - the same with every class, all evidence, examples */
void explain_finding_append_all(const struct explain_finding *e, const struct text_style *style, struct buf *out);
/** explain_finding_append_line() - how to ask for it, severity, time lost, when, who, headline: one line */
void explain_finding_append_line(const struct explain_finding *e, const struct text_style *style, struct buf *out);

/** explain_id_chars() - how many characters tell the ids of these findings apart; at least 6 */
unsigned int explain_id_chars(Ingero__V1__Finding *const *findings, size_t n);

enum explain_severity { EXPLAIN_OTHER, EXPLAIN_LOW, EXPLAIN_MEDIUM, EXPLAIN_HIGH, EXPLAIN_CRITICAL };

/** explain_severity_name() - "HIGH"; "" for OTHER */
const char *explain_severity_name(enum explain_severity severity);
/** explain_severity() - as a number: larger is worse */
enum explain_severity explain_severity(const Ingero__V1__Finding *finding);

struct explain_cause {
	char text[320]; /* three processes by name */
};

/** explain_cause_text() - the cause in its finding's words, with the processes: "behind hog (pid 42, root)", of several
 * up to three, "out of its CPU quota (cpu.max)"; "" where nothing is to blame */
struct explain_cause explain_cause_text(const Ingero__V1__Finding *finding);
