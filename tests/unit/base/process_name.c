// SPDX-License-Identifier: Apache-2.0
/*
 * A process has one long and one short name in all texts, and its script is a part of both.
 */
#include "base/process_name.h"

#include <string.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define SCRIPT_47 "a-script-whose-name-has-forty-seven-characters-"
#define NAME_118                                                                                                       \
	"a name that is longer than any kernel has it, as a file of another program may bring it along, and that "     \
	"leaves "                                                                                                      \
	"no room"

static const struct {
	const char *name;
	struct process_named process;
	const char *want_long, *want_short;
	bool is_python;
} cases[] = {
	{ "a script", { "python3", "train.py", false, 0 }, "python3 train.py", "train.py", true },
	{ "one of several", { "python3", "train.py", true, 3 }, "python3 train.py rank 3", "train.py rank 3", true },
	{ "the first of several",
	  { "python3", "train.py", true, 0 },
	  "python3 train.py rank 0",
	  "train.py rank 0",
	  true },
	{ "no script", { "python3", "", false, 0 }, "python3", "python3", true },
	{ "no script, a rank", { "ffmpeg", "", true, 1 }, "ffmpeg rank 1", "ffmpeg rank 1", false },
	{ "a module",
	  { "python3", "torch.distributed.run", false, 0 },
	  "python3 torch.distributed.run",
	  "torch.distributed.run",
	  true },
	{ "a program that named itself",
	  { "pt_main_thread", "train.py", false, 0 },
	  "pt_main_thread train.py",
	  "train.py",
	  true },
	{ "named as its script", { "train.py", "train.py", false, 0 }, "train.py", "train.py", true },
	{ "nothing known", { "", "", false, 0 }, "?", "the process", false },
	{ "nothing known but the script", { "", "train.py", false, 0 }, "? train.py", "train.py", true },
	{ "a script of another interpreter", { "bash", "run.sh", false, 0 }, "bash run.sh", "run.sh", false },
	{ "only an ending", { "x", ".py", false, 0 }, "x .py", ".py", false },
	{ "the longest",
	  { "sixteen letters!", SCRIPT_47, true, UINT32_MAX },
	  "sixteen letters! " SCRIPT_47 " rank 4294967295",
	  SCRIPT_47 " rank 4294967295",
	  false },
	{ "no room for a rank", { NAME_118, "", true, 12345678 }, NAME_118 " rank 123", NAME_118 " rank 123", false },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct process_named *p = &cases[i].process;

		CHECK_STR_EQ(cases[i].name, process_name_long(p).text, cases[i].want_long);
		CHECK_STR_EQ(cases[i].name, process_name_short(p).text, cases[i].want_short);
		CHECK_INT_EQ(cases[i].name, process_name_is_python(p->name, p->script), cases[i].is_python);
	}
	CHECK("alone in its run", !process_name_has_rank(true, 1));
	CHECK("size of the run not known", process_name_has_rank(true, 0));
	CHECK("no rank", !process_name_has_rank(false, 8));
	return check_result();
}
