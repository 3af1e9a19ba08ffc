// SPDX-License-Identifier: Apache-2.0
/*
 * A client other than `ingero`, which uses only libingero: lists the findings of a database, as text or as one line of
 * JSON each.
 *
 * list_findings FILE [--json]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ingero/answers.h"
#include "ingero/connect.h"

#define COLUMNS 80

static int list(const struct ingero_explanation *answer, bool is_json)
{
	for (size_t i = 0; i < answer->reply->n_findings; i++) {
		char *text = is_json ? ingero_finding_json(answer->reply->findings[i])
				     : ingero_finding_text(answer, i, COLUMNS);

		if (!text)
			return 1;
		printf(is_json ? "%s\n" : i ? "\n%s" : "%s", text);
		free(text);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct ingero_connect_wish connect = { .db_path = argc > 1 ? argv[1] : NULL, .program = "list_findings" };
	const struct ingero_explain_wish wish = { .is_whole = true };
	struct ingero_explanation answer;
	struct ingero *ingero;
	char error[512];
	int r;

	if (ingero_connect(&connect, error, sizeof(error), &ingero, NULL) < 0) {
		fprintf(stderr, "list_findings: %s\n", error);
		return 1;
	}
	r = ingero_explain(ingero, &wish, &answer);
	if (r < 0) {
		fprintf(stderr, "list_findings: %s\n", ingero_last_error(ingero));
	} else {
		r = list(&answer, argc > 2 && strcmp(argv[2], "--json") == 0);
		ingero_explanation_done(&answer);
	}
	ingero_close(ingero);
	return r == 0 ? 0 : 1;
}
