// SPDX-License-Identifier: Apache-2.0
/* One finding as text: process, lost time, where it went and behind which process, remedy, confidence. */
#pragma once

#include <stdbool.h>

#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/blame.h"
#include "libingero/render/text.h"

struct explain_finding {
	const Ingero__V1__Finding *finding; /* borrowed */
	const Ingero__V1__Lost *lost;	    /* of the window; NULL: unknown */
	size_t number;			    /* number in the list, from 1; 0: not in a list */
	unsigned int id_chars;		    /* number of characters of its id that make it unique */
	uint64_t now_unix_ns;
	bool goes_on;	   /* recording goes on: a finding without an end lasts */
	const char *db;	   /* --db of the command for more; NULL: not needed */
	bool is_forgotten; /* no command can ask for more */
};

struct explain_command {
	char text[160];
};
/**
 * blame_command() - "ingero blame", as explain_command()
 */
struct explain_command blame_command(const char *db);
/**
 * explain_command() - "ingero explain", with --db and each of the files; FILE where their names are too long for a line
 * @db: names of files, with a line feed between; NULL: none
 */
struct explain_command explain_command(const char *db);

/** explain_finding_append() - append the block of a report */
void explain_finding_append(const struct explain_finding *e, const struct text_style *style, struct buf *out);
/** explain_finding_append_all() - append the block with every class, all evidence and examples */
void explain_finding_append_all(const struct explain_finding *e, const struct text_style *style, struct buf *out);
/** explain_finding_append_line() - append one line: command, severity, time lost, time, process, headline */
void explain_finding_append_line(const struct explain_finding *e, const struct text_style *style, struct buf *out);

/** explain_id_chars() - number of characters that make the ids of these findings unique; at least 6 */
unsigned int explain_id_chars(Ingero__V1__Finding *const *findings, size_t n);

/* Where time was lost. */
struct explain_places {
	const char *op; /* operation with most of it in calls; "": none */
	uint64_t lost_ns;
	uint64_t op_ns, in_ns, between_ns; /* of lost_ns: in its calls, in all calls, between calls */
};
/** explain_places() - places of a finding, from its evidence; between_ns 0: unknown, or nothing */
struct explain_places explain_places(const Ingero__V1__Finding *finding);
/**
 * explain_places_append() - append ": 1.5 s in cudaMemcpy, 1.3 s in other calls, 300 ms between calls"; nothing where
 * all of it is in one place
 */
void explain_places_append(const struct explain_places *places, struct buf *text);

enum explain_severity { EXPLAIN_OTHER, EXPLAIN_LOW, EXPLAIN_MEDIUM, EXPLAIN_HIGH, EXPLAIN_CRITICAL };

/** explain_severity_name() - "HIGH"; "" for OTHER */
const char *explain_severity_name(enum explain_severity severity);
/** explain_severity() - severity as a number: larger is worse */
enum explain_severity explain_severity(const Ingero__V1__Finding *finding);
