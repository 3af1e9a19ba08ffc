// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/compare/json.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "libingero/render/pb_json.h"

/* @first: the beginning of the object, before its members */
static int members_append(const char *first, const Ingero__V1__CompareReply *reply, struct buf *out)
{
	CLEANUP(buf_done) struct buf compared = BUF_INIT, rest = BUF_INIT;
	Ingero__V1__CompareReply others = *reply;

	others.compared = NULL;
	pb_json_append(&compared, &reply->compared->base);
	pb_json_append(&rest, &others.base);
	/* Both are objects with members: the end of the one goes, and the beginning of the other. */
	if (compared.failed || rest.failed ||
	    buf_printf(out, "%s%.*s,%s", first, (int)(compared.n - 2), buf_text(&compared) + 1, buf_text(&rest) + 1) <
		    0)
		return -ENOMEM;
	return 0;
}

int compare_json_append(const Ingero__V1__CompareReply *reply, struct buf *out)
{
	return members_append("{", reply, out);
}

int compare_json_line(const Ingero__V1__CompareReply *reply, struct buf *out)
{
	CLEANUP(buf_done) struct buf line = BUF_INIT;
	int r = members_append("{\"type\":\"compare\",", reply, &line);

	if (r == 0 && buf_printf(out, "%s\n", buf_text(&line)) < 0)
		r = -ENOMEM;
	return r;
}
