// SPDX-License-Identifier: Apache-2.0
/*
 * ingero-cli: `ingero` is a link to it.
 *
 * Exit status: 0 done, 1 failed, 2 misused; `trace -- PROGRAM` passes on the program's status (128 + signal when a
 * signal killed it; 126 and 127 when it could not be started). When the reader of the output goes away, the process
 * ends as by SIGPIPE.
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
