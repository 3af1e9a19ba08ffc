// SPDX-License-Identifier: Apache-2.0
#include "cli/save.h"

#include <string.h>

#include "cli/export_file.h"
#include "cli/output.h"
#include "libingero/connect/caller.h"
#include "libingero/render/units.h"

int save_file(const char *path, bool replaces, const char *what, const struct buf *data)
{
	struct caller caller = caller_get();
	struct export_file file = EXPORT_FILE_INIT;
	char error[EXPORT_FILE_ERROR_BYTES];
	int r;

	/* A file named by the user is written with the user's rights: a link could lead to a file of root's. */
	r = caller_become(&caller);
	if (r < 0) {
		output_error("cannot write %s as uid %u: %s", option_quote(path).text, (unsigned int)caller.uid,
			     strerror(-r));
		return r;
	}
	r = export_file_open(path, replaces, error, &file);
	if (r < 0) {
		output_error("%s", error);
		return r;
	}
	r = export_file_write(&file, data->data, data->n);
	if (r == 0)
		r = export_file_finish(&file);
	export_file_done(&file);
	if (r < 0)
		output_error("cannot write %s: %s", option_quote(path).text, strerror(-r));
	else
		output_error("wrote %s (%s) to %s", what, units_bytes(data->n).text, option_quote(path).text);
	return r;
}
