// SPDX-License-Identifier: Apache-2.0
#include "archive/questions/newest.h"

#include <errno.h>

#include "archive/job.h"
#include "archive/read/order.h"

static bool is_same_time(const struct read_time *a, const struct read_time *b)
{
	return a->boot == b->boot && a->ns == b->ns;
}

int reader_newest(struct reader_job *job, const struct read_filter *filter, uint64_t n, struct read_time *ret_since,
		  uint64_t *ret_surplus)
{
	struct read_filter newest_first = *filter;
	struct read_time since = { .boot = 0 };
	struct read_order *order = NULL;
	struct read_event event;
	uint64_t n_seen = 0;
	int r;

	newest_first.columns = 0;
	newest_first.newest_first = true;
	r = read_order_open(job->reader, &newest_first, &order);
	while (r == 0) {
		r = read_order_next(order, &event);
		if (r == -EAGAIN)
			r = reader_is_late(job) ? -ETIME : 0;
		else if (r == 1 && n_seen >= n && !is_same_time(&event.at, &since))
			break;
		else if (r == 1) {
			since = event.at;
			n_seen++;
			r = n_seen % 4096 == 0 && reader_is_late(job) ? -ETIME : 0;
		} else if (r == 0) {
			break;
		}
	}
	read_order_close(order);
	if (r < 0)
		return r;
	*ret_since = n_seen < n ? (struct read_time){ .boot = 0 } : since;
	*ret_surplus = n_seen < n ? 0 : n_seen - n;
	return 0;
}
