// SPDX-License-Identifier: Apache-2.0
/* Times in telegraphic answers: seconds behind the first, which stands in front as "t0". */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "mcp-server/tsc_parts.h"

#define TIME_BYTES 30 /* "2026-01-31T14:03:21.123456789Z" */

/* Return: whether the string is such a time, with its ns since 1970 */
static bool time_read(const struct tree *tree, uint32_t i, int64_t *ret_ns)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddddddddZ";
	const struct node *node = tsc_node(tree, i);
	const char *text = tree->text + node->begin;
	struct tm time = { .tm_isdst = 0 };
	int64_t fraction_ns = 0, whole_s;
	int day;

	if (node->kind != NODE_STRING || node->end - node->begin != TIME_BYTES)
		return false;
	for (size_t k = 0; k < TIME_BYTES; k++)
		if (form[k] == 'd' ? !isdigit((unsigned char)text[k]) : text[k] != form[k])
			return false;
	time.tm_year = (text[0] - '0') * 1000 + (text[1] - '0') * 100 + (text[2] - '0') * 10 + text[3] - '0' - 1900;
	time.tm_mon = (text[5] - '0') * 10 + text[6] - '0' - 1;
	time.tm_mday = (text[8] - '0') * 10 + text[9] - '0';
	time.tm_hour = (text[11] - '0') * 10 + text[12] - '0';
	time.tm_min = (text[14] - '0') * 10 + text[15] - '0';
	time.tm_sec = (text[17] - '0') * 10 + text[18] - '0';
	for (size_t k = 20; k < TIME_BYTES - 1; k++)
		fraction_ns = fraction_ns * 10 + text[k] - '0';
	if (time.tm_year < 70 || time.tm_year > 300 || time.tm_mon > 11 || time.tm_mday < 1 || time.tm_hour > 23 ||
	    time.tm_min > 59 || time.tm_sec > 59)
		return false;
	day = time.tm_mday;
	whole_s = (int64_t)timegm(&time);
	*ret_ns = whole_s * (int64_t)NSEC_PER_SEC + fraction_ns;
	return time.tm_mday == day; /* otherwise the month has no such day */
}

/* "+4.5": what a time is written as. A text that looks like it must not be taken for one. */
static bool looks_like_offset(const struct tree *tree, uint32_t i)
{
	const struct node *node = tsc_node(tree, i);
	const char *text = tree->text + node->begin;

	return node->kind == NODE_STRING && node->end - node->begin >= 2 && (*text == '+' || *text == '-') &&
	       isdigit((unsigned char)text[1]);
}

static void offset_append(int64_t ns, struct buf *out)
{
	uint64_t left_ns = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	char text[48];
	int n = snprintf(text, sizeof(text), "%c%llu.%09llu", ns < 0 ? '-' : '+', left_ns / NSEC_PER_SEC,
			 left_ns % NSEC_PER_SEC);

	while (text[n - 1] == '0')
		n--;
	n -= text[n - 1] == '.';
	(void)buf_append(out, text, (size_t)n);
}

bool tsc_times_append(const struct tree *tree, size_t n, struct buf *out)
{
	const uint32_t n_nodes = (uint32_t)tree->nodes.n;
	size_t n_times = 0, copied;
	int64_t t0_ns = 0, ns;
	uint32_t first = 0;

	for (uint32_t i = 0; i < n_nodes; i++) {
		if (looks_like_offset(tree, i) || tree_is(tree, i, "t0"))
			return false;
		if (time_read(tree, i, &ns) && n_times++ == 0) {
			t0_ns = ns;
			first = i;
		}
	}
	if (n_times < 2 || tsc_node(tree, 0)->kind != NODE_OBJECT)
		return false;
	(void)buf_printf(out, "{\"t0\":\"%.*s\",", TIME_BYTES, tree->text + tsc_node(tree, first)->begin);
	copied = tsc_node(tree, 0)->begin + 1;
	for (uint32_t i = 0; i < n_nodes; i++) {
		if (!time_read(tree, i, &ns))
			continue;
		(void)buf_append(out, tree->text + copied, tsc_node(tree, i)->begin - copied);
		offset_append(ns - t0_ns, out);
		copied = tsc_node(tree, i)->end;
	}
	(void)buf_append(out, tree->text + copied, n - copied);
	return !out->failed;
}
