// SPDX-License-Identifier: Apache-2.0
/*
 * Answers for people and for programs: the words and the JSON that `ingero` itself prints.
 *
 * Texts are UTF-8, allocated, and released by the caller with free(); NULL: no memory.
 */
#pragma once

#include "ingero/ingero.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A question. All zero: what went wrong in the last five minutes, or in the last five of a recording that has ended.
 */
struct ingero_explain_wish {
	uint64_t from_unix_ns; /* 0: open, as to_unix_ns; both: see above */
	uint64_t to_unix_ns;
	bool is_whole;		 /* instead of a time: the whole recording */
	uint64_t last_calls;	 /* likewise: since the N-th last recorded call; 0: not used */
	const char *id;		 /* likewise: one finding (its id or a prefix) or one call; NULL: not used */
	const uint32_t *pids;	 /* only these processes */
	size_t n_pids;		 /* 0: all that the caller may see */
	bool per_process;	 /* adds the operations of every process */
	uint32_t operations_max; /* 0: as many as a reply has room for */
	bool without_kept;	 /* window.events is not counted, which is faster */
	bool without_accounts;	 /* where the time of threads went is not read, which is faster */
	const char *op_part;	 /* only operations with this in their name, in any case; NULL: all */
};

struct ingero_explanation {
	Ingero__V1__ExplainReply *reply; /* findings worst first */
	uint64_t asked_unix_ns;		 /* bounds of the answer */
	uint64_t from_unix_ns;		 /* start that was asked for; 0: from the beginning */
	uint64_t to_unix_ns;		 /* its end; 0: until then */
	uint64_t kept_from_unix_ns; /* bounds of the recording, where the window is empty; both 0: no recording, or not
				       asked */
	uint64_t kept_to_unix_ns;
	bool is_last_recorded; /* the recording has ended: its end */
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
 * ingero_finding_text() - lines: process, lost time, where it went and behind which process, remedy, confidence
 * @i:	     index of the finding in the reply
 * @columns: width of the lines; at least 80 is easy to read
 *
 * The client's locale has no influence: letters beyond ASCII are shown, and numbers have a point.
 *
 * Return: the text; NULL also where the reply has no such finding
 */
INGERO_PUBLIC char *ingero_finding_text(const struct ingero_explanation *explanation, size_t i, unsigned int columns);
/** ingero_finding_json() - one object, as in `findings` of docs/schema/explain.schema.json */
INGERO_PUBLIC char *ingero_finding_json(const Ingero__V1__Finding *finding);

#ifdef __cplusplus
}
#endif
