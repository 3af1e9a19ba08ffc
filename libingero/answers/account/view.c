// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/account/view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/wait_words.h"
#include "libingero/answers/account/chain.h"
#include "libingero/answers/account/group.h"
#include "libingero/answers/stack/place.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/blame.h"
#include "libingero/render/units.h"
#include "libingero/render/user.h"

#define CAUSES_TOLD 2u	       /* maximum number of names in one detail */
#define CAUSE_ALONE_RATIO 0.95 /* share below which a cause has no percentage of its own */
#define CAUSE_LEAST_RATIO 0.01

#define CAUSE_NAME_BYTES 60 /* of a path */

struct cause {
	char text[96];
	uint64_t ns;
	struct chain_text chain; /* what who it is did meanwhile; "": not known */
	uint64_t chain_ns;	 /* of ns */
};

struct group {
	enum cause_group kind;
	const char *op; /* GROUP_CALL: its operation; NULL: several */
	uint64_t ns;
	uint64_t short_ns;	      /* of ns: waits too short to be recorded with what they were for */
	ARRAY(struct cause) causes;   /* those that are known */
	const Ingero__V1__Site *from; /* of the part with most time that has one; NULL: not known */
	uint64_t from_ns;
};

typedef ARRAY(struct group) group_list;

static void groups_done(group_list *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		ARRAY_DONE(&groups->items[i].causes);
	ARRAY_DONE(groups);
}

static bool text_begins(const char *text, const char *beginning)
{
	return text && strncmp(text, beginning, strlen(beginning)) == 0;
}

/* "ffmpeg (8821)", "ffmpeg (8821, bob)", "thread 4711", "a process of bob" */
static void who_format(const Ingero__V1__Account *account, const Ingero__V1__Waker *by, enum cause_group group,
		       struct cause *cause)
{
	if (by->pid == 0 && by->comm[0])
		(void)snprintf(cause->text, sizeof(cause->text), "%.16s", by->comm);
	else if (by->pid == 0)
		(void)snprintf(cause->text, sizeof(cause->text), "a process of %.32s", user_name(by->uid).text);
	else if (by->pid == account->pid && group == GROUP_READY)
		(void)snprintf(cause->text, sizeof(cause->text), "its own threads");
	else if (by->pid == account->pid && by->tid)
		(void)snprintf(cause->text, sizeof(cause->text), "thread %u", by->tid);
	else if (by->pid == account->pid)
		(void)snprintf(cause->text, sizeof(cause->text), "its own threads");
	else if (by->uid != account->uid)
		(void)snprintf(cause->text, sizeof(cause->text), "%.16s (%u, %.24s)", by->comm, by->pid,
			       user_name(by->uid).text);
	else
		(void)snprintf(cause->text, sizeof(cause->text), "%.16s (%u)", by->comm, by->pid);
}

/* "/data/train.bin (sda)", "sda"; of a long path the end */
static void resource_format(const Ingero__V1__Resource *resource, struct cause *cause)
{
	const char *name = resource ? resource->name : "", *device = "";
	size_t n = strlen(name);

	if (resource && resource->device_told_case == INGERO__V1__RESOURCE__DEVICE_TOLD_DEVICE)
		device = resource->device;
	if (n > CAUSE_NAME_BYTES)
		(void)snprintf(cause->text, sizeof(cause->text), "...%s", name + n - (CAUSE_NAME_BYTES - 3));
	else
		(void)snprintf(cause->text, sizeof(cause->text), "%s", name);
	n = strlen(cause->text);
	if (*device && strcmp(name, device) != 0)
		(void)snprintf(cause->text + n, sizeof(cause->text) - n, n ? " (%.16s)" : "%.16s", device);
}

static void cause_of(const Ingero__V1__Account *account, const Ingero__V1__AccountPart *part, enum cause_group group,
		     struct cause *cause)
{
	struct cause who;
	size_t n;

	*cause = (struct cause){ .ns = part->ns };
	switch (group) {
	case GROUP_CALL:
		(void)snprintf(cause->text, sizeof(cause->text), "%s",
			       account_is_collection(part) ? account_group_words(GROUP_GC)->label
			       : account_stop_group(part) != GROUP_BLOCKED
				       ? account_group_words(account_stop_group(part))->label
			       : blame_view_parse(part->class_) == BLAME_VIEW_COUNT
				       ? part->class_
				       : blame_view_label(blame_view_parse(part->class_)));
		break;
	case GROUP_DISK:
	case GROUP_DRIVER:
	case GROUP_FILE:
	case GROUP_WRITTEN:
	case GROUP_MEMORY:
		resource_format(part->resource, cause);
		break;
	case GROUP_FILE_LOCK:
		resource_format(part->resource, cause);
		if (part->by) {
			who_format(account, part->by, group, &who);
			n = strlen(cause->text);
			(void)snprintf(cause->text + n, sizeof(cause->text) - n, "%s" WAIT_WORDS_LOCK_BY " %s",
				       n ? " " : "", who.text);
		}
		cause->chain = chain_text(part->chain, part->n_chain, account->pid);
		cause->chain_ns = chain_ns(part->chain, part->n_chain);
		break;
	case GROUP_FULL_PIPE:
	case GROUP_FULL_SOCKET:
		if (part->by) {
			who_format(account, part->by, group, &who);
			(void)snprintf(cause->text, sizeof(cause->text), WAIT_WORDS_FULL_BY " %.80s", who.text);
		} else {
			resource_format(part->resource, cause);
		}
		cause->chain = chain_text(part->chain, part->n_chain, account->pid);
		cause->chain_ns = chain_ns(part->chain, part->n_chain);
		break;
	case GROUP_SLEEP:
		(void)snprintf(cause->text, sizeof(cause->text), "the program asked to");
		break;
	case GROUP_CHILD: /* a different name each time */
		if (part->by && part->by->comm[0])
			(void)snprintf(cause->text, sizeof(cause->text), "%.16s", part->by->comm);
		else if (part->resource)
			resource_format(part->resource, cause);
		break;
	default:
		if (part->by)
			who_format(account, part->by, group, cause);
		else if (part->resource && (group == GROUP_PIPE || group == GROUP_SOCKET))
			resource_format(part->resource, cause);
		cause->chain = chain_text(part->chain, part->n_chain, account->pid);
		cause->chain_ns = chain_ns(part->chain, part->n_chain);
		break;
	}
}

struct account_waiting account_waiting_of(const Ingero__V1__Account *account)
{
	static const char waits[] = "waits ";
	const Ingero__V1__AccountPart *part = account->waiting;
	struct account_waiting waiting = { .ns = 0 };
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	struct cause who = { .ns = 0 }, what = { .ns = 0 };
	enum cause_group group;
	const char *label;

	if (!part || strcmp(part->where, "between") != 0)
		return waiting;
	group = account_group_of(account, part);
	label = account_group_words(group)->label;
	if (text_begins(label, waits))
		(void)buf_printf(&text, "%s%s so far %s", waits, units_ns(part->ns, 0).text, label + strlen(waits));
	else
		(void)buf_printf(&text, "%s for %s so far",
				 account_group_words(group)->brief ? account_group_words(group)->brief : label,
				 units_ns(part->ns, 0).text);
	if (part->by && (group == GROUP_PIPE || group == GROUP_SOCKET)) {
		who_format(account, part->by, group, &who);
		(void)buf_printf(&text, " %s%s", account_group_words(group)->link, who.text);
	}
	if (part->by && (group == GROUP_FULL_PIPE || group == GROUP_FULL_SOCKET)) {
		who_format(account, part->by, group, &who);
		(void)buf_printf(&text, " " WAIT_WORDS_FULL_BY " %s", who.text);
	}
	if (group != GROUP_GIL && account_stop_group(part) == GROUP_BLOCKED)
		resource_format(part->resource, &what);
	if (what.text[0])
		(void)buf_printf(&text, ": %s", what.text);
	if (part->from)
		(void)buf_append_text(&text, ", at ");
	stack_site_append(part->from, &text);
	waiting.ns = part->ns;
	(void)snprintf(waiting.text, sizeof(waiting.text), "%s", buf_text(&text));
	return waiting;
}

/* The chain with the most time is told. */
static void cause_chain_add(struct cause *to, const struct cause *more)
{
	if (strcmp(to->chain.text, more->chain.text) == 0) {
		to->chain_ns += more->chain_ns;
	} else if (more->chain_ns > to->chain_ns) {
		to->chain = more->chain;
		to->chain_ns = more->chain_ns;
	}
}

static int cause_add(struct group *group, const struct cause *cause)
{
	if (!cause->text[0])
		return 0;
	for (size_t i = 0; i < group->causes.n; i++)
		if (strcmp(group->causes.items[i].text, cause->text) == 0) {
			group->causes.items[i].ns += cause->ns;
			cause_chain_add(&group->causes.items[i], cause);
			return 0;
		}
	return ARRAY_PUSH(&group->causes, *cause);
}

static struct group *group_take(group_list *groups, enum cause_group kind, const char *op)
{
	for (size_t i = 0; i < groups->n; i++)
		if (groups->items[i].kind == kind &&
		    strcmp(groups->items[i].op ? groups->items[i].op : "", op ? op : "") == 0)
			return &groups->items[i];
	if (ARRAY_PUSH(groups, ((struct group){ .kind = kind, .op = op })) < 0)
		return NULL;
	return &groups->items[groups->n - 1];
}

static int part_add(group_list *groups, const Ingero__V1__Account *account, const Ingero__V1__AccountPart *part)
{
	enum cause_group kind = account_group_of(account, part);
	bool has_op = kind == GROUP_CALL && part->op_told_case == INGERO__V1__ACCOUNT_PART__OP_TOLD_OP;
	struct group *group = group_take(groups, kind, has_op ? part->op : NULL);
	struct cause cause;

	if (!group)
		return -ENOMEM;
	group->ns += part->ns;
	if (!part->resource && !part->by)
		group->short_ns += part->ns;
	if (part->from && part->ns > group->from_ns) {
		group->from = part->from;
		group->from_ns = part->ns;
	}
	cause_of(account, part, kind, &cause);
	return cause_add(group, &cause);
}

static int group_compare(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static int cause_compare(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	return x->ns != y->ns ? (x->ns > y->ns ? -1 : 1) : strcmp(x->text, y->text);
}

/* A name that stands for less than half of a wait is not its cause: what most of it was comes first. */
static const char *unnamed_words(const struct group *group)
{
	uint64_t named_ns = 0;

	for (size_t i = 0; i < group->causes.n; i++)
		named_ns += group->causes.items[i].ns;
	if (!group->causes.n || named_ns >= group->ns / 2)
		return "";
	if (group->kind == GROUP_READY)
		return "most unknown; ";
	if (!account_group_is_wait(group->kind))
		return "";
	return group->short_ns > group->ns / 2 ? "most in waits shorter than 1 ms; " : "most in others; ";
}

/* "from python (4720) 71 % ← reads train.bin, python (4721) 20 % ← computes 90 %" */
static void detail_format(struct group *group, struct account_line *line)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (group->causes.n)
		qsort(group->causes.items, group->causes.n, sizeof(*group->causes.items), cause_compare);
	(void)buf_append_text(&text, unnamed_words(group));
	for (size_t i = 0; i < group->causes.n && i < CAUSES_TOLD; i++) {
		const struct cause *cause = &group->causes.items[i];
		double ratio = group->ns ? (double)cause->ns / (double)group->ns : 0;

		if (i > 0 && ratio < CAUSE_LEAST_RATIO)
			break;
		(void)buf_printf(&text, "%s%s", i ? ", " : account_group_words(group->kind)->link, cause->text);
		if (ratio < CAUSE_ALONE_RATIO)
			(void)buf_printf(&text, " %s", units_ratio(ratio, UNITS_TIGHT).text);
		chain_append(&cause->chain, cause->ns ? (double)cause->chain_ns / (double)cause->ns : 0, " ← ", &text);
		if (i == 0)
			line->n_first = MIN(text.n, sizeof(line->detail) - 1);
		if (ratio >= CAUSE_ALONE_RATIO)
			break;
	}
	(void)snprintf(line->detail, sizeof(line->detail), "%s", buf_text(&text));
}

static void from_format(const Ingero__V1__Site *from, char *text, size_t n)
{
	CLEANUP(buf_done) struct buf place = BUF_INIT;

	if (!from)
		return;
	(void)buf_append_text(&place, "at ");
	stack_site_append(from, &place);
	(void)snprintf(text, n, "%s", buf_text(&place));
}

static void line_of_group(struct group *group, struct account_line *line)
{
	const char *brief = account_group_words(group->kind)->brief;

	memset(line, 0, sizeof(*line));
	line->ns = group->ns;
	line->is_wait = account_group_is_wait(group->kind);
	line->is_sleep = group->kind == GROUP_SLEEP;
	line->is_call = group->kind == GROUP_CALL;
	line->is_without_cpu = group->kind == GROUP_READY || group->kind == GROUP_QUOTA;
	line->is_linked = *account_group_words(group->kind)->link != '\0' && !*unnamed_words(group);
	(void)snprintf(line->label, sizeof(line->label), "%s",
		       group->op ? group->op : account_group_words(group->kind)->label);
	detail_format(group, line);
	from_format(group->from, line->from, sizeof(line->from));
	if (group->kind == GROUP_READY && line->is_linked && group->causes.n)
		(void)snprintf(line->brief, sizeof(line->brief), "%s %s%.*s", brief,
			       account_group_words(group->kind)->link, (int)strcspn(group->causes.items[0].text, "("),
			       group->causes.items[0].text);
	else
		(void)snprintf(line->brief, sizeof(line->brief), "%s",
			       group->op ? trace_op_label(group->op).text
			       : brief	 ? brief
					 : line->label);
	for (size_t n = strlen(line->brief); n && line->brief[n - 1] == ' ';)
		line->brief[--n] = '\0';
}

/* Merges the groups from @from on into one. Return: 0 or -ENOMEM */
static int rest_merge(group_list *groups, size_t from)
{
	struct group rest = { .kind = GROUP_REST };
	int r = 0;

	for (size_t i = from; i < groups->n && r == 0; i++) {
		struct group *g = &groups->items[i];
		const struct account_group_words *words = account_group_words(g->kind);
		struct cause cause = { .ns = g->ns };

		rest.ns += g->ns;
		/* Details are cut at commas: "ready, no CPU" is one name. */
		(void)snprintf(cause.text, sizeof(cause.text), "%s",
			       g->op			   ? g->op
			       : strchr(words->label, ',') ? words->brief
							   : words->label);
		r = cause_add(&rest, &cause);
	}
	for (size_t i = from; i < groups->n; i++)
		ARRAY_DONE(&groups->items[i].causes);
	groups->n = from;
	if (r == 0)
		r = ARRAY_PUSH(groups, rest);
	if (r < 0)
		ARRAY_DONE(&rest.causes);
	return r;
}

/* Whether a line gets a percent in a round of percents_set(), and how much of one was cut off. */
static uint64_t remainder_of(const struct account_line *line, uint64_t wall_ns, bool is_last_round)
{
	uint64_t remainder = (uint64_t)((unsigned __int128)line->ns * 100 % wall_ns);

	/* Less than half a percent becomes none, as long as others can take it. */
	return line->percent || is_last_round || remainder >= wall_ns - remainder ? remainder : 0;
}

/* Largest remainder method: the line that lost most by rounding down gets the next percent. */
static void percents_set(struct account_view *view)
{
	uint64_t taken = 0;
	unsigned int left = 100;

	for (size_t i = 0; i < view->lines.n; i++) {
		struct account_line *line = &view->lines.items[i];

		line->percent = (unsigned int)((unsigned __int128)line->ns * 100 / view->wall_ns);
		left -= line->percent;
	}
	for (int is_last_round = 0; left && view->lines.n;) {
		uint64_t most = 0;
		size_t place = 0;

		for (size_t i = 0; i < view->lines.n; i++) {
			uint64_t remainder = remainder_of(&view->lines.items[i], view->wall_ns, is_last_round);

			if (i < 64 && !(taken >> i & 1) && remainder > most) {
				most = remainder;
				place = i;
			}
		}
		if (!most && !is_last_round) {
			is_last_round = 1;
			continue;
		}
		taken |= 1ull << place;
		view->lines.items[place].percent++;
		left--;
	}
}

void account_view_done(struct account_view *view)
{
	ARRAY_DONE(&view->lines);
}

int account_view_build(const Ingero__V1__Account *account, size_t most, struct account_view *ret)
{
	struct account_view view = { .account = account };
	CLEANUP(groups_done) group_list groups = { .items = NULL };
	int r = 0;

	for (size_t i = 0; i < account->n_parts && r == 0; i++) {
		view.wall_ns += account->parts[i]->ns;
		r = part_add(&groups, account, account->parts[i]);
	}
	if (r == 0 && groups.n)
		qsort(groups.items, groups.n, sizeof(*groups.items), group_compare);
	if (r == 0 && groups.n > most)
		r = rest_merge(&groups, most - 1);
	for (size_t i = 0; i < groups.n && r == 0; i++) {
		struct account_line line;

		if (!groups.items[i].ns)
			continue;
		line_of_group(&groups.items[i], &line);
		r = ARRAY_PUSH(&view.lines, line);
	}
	if (r < 0) {
		account_view_done(&view);
		return r;
	}
	if (view.wall_ns)
		percents_set(&view);
	*ret = view;
	return 0;
}
