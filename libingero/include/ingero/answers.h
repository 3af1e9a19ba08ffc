// SPDX-License-Identifier: Apache-2.0
/*
 * What an answer says, for people and for programs: the words and the JSON that `ingero` itself prints.
 *
 * Texts are UTF-8, allocated, and the caller's to free(); NULL: no memory.
 */
#pragma once

#include "ingero/ingero.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is asked. All zero: what went wrong in the last five minutes, or in the last five of a recording that is over.
 */
struct ingero_explain_wish {
	uint64_t from_unix_ns; /* 0: open, as to_unix_ns; both: see above */
	uint64_t to_unix_ns;
	bool is_whole;	      /* instead of a time: everything that is kept */
	uint64_t last_calls;  /* likewise: since the N-th last kept call; 0: not asked */
	const char *id;	      /* likewise: one finding (its id or a beginning) or one call; NULL: not asked */
	const uint32_t *pids; /* these processes alone */
	size_t n_pids;	      /* 0: all that the caller may see */
	bool per_process;     /* with the operations of every process */
};

struct ingero_explanation {
	Ingero__V1__ExplainReply *reply; /* findings worst first */
	uint64_t asked_unix_ns;		 /* when */
	uint64_t from_unix_ns;		 /* asked for; 0: from the beginning */
	uint64_t to_unix_ns;		 /* 0: to then */
	uint64_t kept_from_unix_ns; /* what is kept at all, where the window is empty; both 0: nothing, or not asked */
	uint64_t kept_to_unix_ns;
	bool is_last_recorded; /* the recording is over: this is its end */
};

/**
 * ingero_explain() - ask what went wrong, and why
 * @ret: release with ingero_explanation_done()
 * Return: as ingero_call(), with the sentence in ingero_last_error()
 */
INGERO_PUBLIC int ingero_explain(struct ingero *ingero, const struct ingero_explain_wish *wish,
				 struct ingero_explanation *ret);
INGERO_PUBLIC void ingero_explanation_done(struct ingero_explanation *explanation);
/** ingero_explanation_json() - one line, docs/schema/explain.schema.json */
INGERO_PUBLIC char *ingero_explanation_json(const struct ingero_explanation *explanation);

/**
 * ingero_finding_text() - who, how much, where the time went and through whom, what to do, how sure it is: lines
 * @i:	     index of the finding in the reply
 * @columns: of the lines; 80 at least is easy to read
 *
 * In whatever locale the client is: letters beyond ASCII are shown, and numbers have a point.
 *
 * Return: the text; NULL also where the reply has no such finding
 */
INGERO_PUBLIC char *ingero_finding_text(const struct ingero_explanation *explanation, size_t i, unsigned int columns);
/** ingero_finding_json() - one object, as in `findings` of docs/schema/explain.schema.json */
INGERO_PUBLIC char *ingero_finding_json(const Ingero__V1__Finding *finding);

#ifdef __cplusplus
}
#endif
