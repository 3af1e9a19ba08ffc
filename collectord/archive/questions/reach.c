// SPDX-License-Identifier: Apache-2.0
/*
 * Method Reach: the time that the database covers.
 */
#include "archive/job.h"
#include "ingero/v1/ingero.pb-c.h"

int reader_reach(struct reader_job *job)
{
	Ingero__V1__ReachReply reply = INGERO__V1__REACH_REPLY__INIT;
	int r = store_reader_span(job->reader, &reply.from_unix_ns, &reply.to_unix_ns);

	if (r == 0)
		r = reader_reply(job, &reply.base);
	return r < 0 ? reader_fail_errno(job, r) : 0;
}
