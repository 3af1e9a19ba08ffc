// SPDX-License-Identifier: Apache-2.0
/* How telegraphic answers are read, for who gets them: the rules of mcp-server/tsc.h, and the names of
 * mcp-server/tsc.def. */
#include <string.h>

#include "base/cleanup.h"
#include "mcp-server/tsc.h"

static const char rules[] =
	"# Short form of answers\n\n"
	"The object between the marks of the frame is JSON, written in fewer tokens; with `tsc: false` it is spelled "
	"out. Durations are nanoseconds unless the name says otherwise. These are the rules:\n\n"
	"| in the answer | means |\n| --- | --- |\n"
	"| `{\"c\":{..},\"d\":{..},\"k\":\"a,b\",\"r\":[[..],..]}` | a list of objects as a table: `k` names its "
	"columns, "
	"each array of `r` is a row |\n"
	"| `c` of a table | members that all rows have with this value; of a column in `k`: its value in rows that end "
	"before it |\n"
	"| `d` of a table | the values of a column; its cells, also in `c`, are places in that list, from 0 |\n"
	"| `by.comm` in `k`, `c` or `d` | the member `comm` of the object `by` |\n"
	"| null in a row, or no value where the row ends | the object has no such member; in the rows of run_sql: NULL "
	"|\n"
	"| `\"0\":\"a,b\"` | the members `a` and `b` are 0 |\n"
	"| `\"''\":\"a,b\"` | they are empty texts |\n"
	"| `\"[]\":\"a,b\"`, `\"{}\":\"a,b\"` | they are empty lists, empty objects |\n"
	"| `\"null\":\"a,b\"`, `\"false\":\"a,b\"` | they are null, false |\n"
	"| `{\"=\":{\"a_ns\":5}}` | a list of figures by name, with the unit that the name ends in, else a count |\n"
	"| `\"-\":\"a,b\"` | of an object below: these members are not in the answer, which is not the same as 0 |\n"
	"| `\"t0\"`, `\"+4.5\"`, `\"-2\"` | the first time of the answer; other times, as seconds behind or before it "
	"|\n\n"
	"Columns of run_sql keep their names.\n\n"
	"## Objects that leave out numbers that are 0\n\n";

static const struct {
	const char *object, *member;
} defaults[] = {
#define DEFAULT(object_, member_) { #object_, #member_ },
#include "tsc_defaults.def"
};

static const struct {
	const char *name, *text;
} shorts[] = {
#define SHORT(name_, short_) { #name_, #short_ },
#include "mcp-server/tsc.def"
};

void tsc_page_append(struct buf *out)
{
	const char *object = "";

	(void)buf_append_text(out, rules);
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
		bool is_next = strcmp(object, defaults[i].object) != 0;

		object = defaults[i].object;
		if (is_next)
			(void)buf_printf(out, "%s`%s`: ", i ? "\n\n" : "", object);
		(void)buf_printf(out, "%s%s", is_next ? "" : ", ", defaults[i].member);
	}
	(void)buf_append_text(out, "\n\n## Short names\n\n| short | member |\n| --- | --- |\n");
	for (size_t i = 0; i < ARRAY_SIZE(shorts); i++)
		(void)buf_printf(out, "| %s | %s |\n", shorts[i].text, shorts[i].name);
}
