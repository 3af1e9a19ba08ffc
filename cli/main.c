// SPDX-License-Identifier: Apache-2.0
/*
 * ingero-cli: the one word for people, `ingero`, is a link to it.
 *
 * Exit status: 0 done, 1 failed, 2 misused; `trace -- PROGRAM` passes on the
 * program's own (128 + signal when one killed it; 126 and 127 when it could not
 * be started). A reader that goes away ends us as SIGPIPE would.
 */
#include "base/fd.h"
#include "cli/command.h"
#include "cli/output.h"

int main(int argc, char **argv)
{
	fd_fill_standard();
	output_locale();
	return command_run(argc - 1, argv + 1);
}
