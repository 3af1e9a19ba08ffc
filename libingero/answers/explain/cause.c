// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/explain/cause.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/culprit.h"
#include "libingero/answers/account/chain.h"
#include "libingero/answers/trace/behind.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/units.h"

#define MOST_RATIO 0.5 /* share of the cause below which no sentence tells it without its share */

static void share_append(double share, bool has_shares, struct buf *text)
{
	if (has_shares && share > 0)
		(void)buf_printf(text, "%s ", units_ratio(share, UNITS_TIGHT).text);
}

static struct culprit_one explain_culprit(const void *data, size_t i)
{
	const Ingero__V1__Cause *cause = data;
	const Ingero__V1__Culprit *other = i ? cause->others[i - 1] : NULL;

	return (struct culprit_one){ .is_hidden = !(other ? other->pid : cause->pid),
				     .group = other ? other->uid : cause->uid,
				     .share = other ? other->share : cause->share };
}

/* The processes of a user whom the reader may not know: they have one name, and one share. */
static struct culprit_group hidden_of(const Ingero__V1__Cause *cause, uint32_t uid)
{
	return culprit_group_of(explain_culprit, cause, cause->n_others + 1, uid);
}

static double first_share(const Ingero__V1__Cause *cause)
{
	return cause->pid ? cause->share : hidden_of(cause, cause->uid).share;
}

/* Processes that ran and had less than half: without their shares it would read as if they had all. */
static bool has_little(const Ingero__V1__Finding *f)
{
	return f->cause && strcmp(f->cause->words, "behind") == 0 && first_share(f->cause) > 0 &&
	       first_share(f->cause) < MOST_RATIO;
}

static struct culprit_name culprit_of_finding(const Ingero__V1__Finding *f, struct culprit_of culprit, uint32_t uid)
{
	culprit.victim_pid = f->pid;
	culprit.victim_name = f->process_name;
	return trace_culprit(&culprit, uid);
}

static struct culprit_name first_name(const Ingero__V1__Finding *f)
{
	const Ingero__V1__Cause *cause = f->cause;

	if (!cause->pid)
		return trace_hidden(hidden_of(cause, cause->uid).n, cause->uid);
	return culprit_of_finding(
		f,
		(struct culprit_of){
			.pid = cause->pid, .tid = cause->tid, .comm = cause->comm, .same_name = cause->same_name },
		cause->uid);
}

static struct culprit_name other_name(const Ingero__V1__Finding *f, const Ingero__V1__Culprit *other)
{
	return culprit_of_finding(
		f, (struct culprit_of){ .pid = other->pid, .comm = other->comm, .same_name = other->same_name },
		other->uid);
}

static void culprits_append(const Ingero__V1__Finding *f, bool has_shares, bool has_chain, struct buf *text)
{
	const Ingero__V1__Cause *cause = f->cause;
	struct chain_text chain;

	if (!cause->processes)
		return;
	(void)buf_printf(text, " %s", first_name(f).text);
	chain = chain_text(cause->chain, cause->n_chain, f->pid);
	if (has_chain)
		chain_append(&chain,
			     cause->chain_ns ? (double)chain_ns(cause->chain, cause->n_chain) / (double)cause->chain_ns
					     : 0,
			     " ← ", text);
	for (size_t i = 0; i < cause->n_others; i++) {
		const Ingero__V1__Culprit *other = cause->others[i];
		struct culprit_group hidden = { .n = 0 };

		if (!other->pid)
			hidden = hidden_of(cause, other->uid);
		if (hidden.n && hidden.first != i + 1)
			continue;
		(void)buf_append_text(text, ", ");
		share_append(hidden.n ? hidden.share : other->share, has_shares, text);
		(void)buf_append_text(text,
				      hidden.n ? trace_hidden(hidden.n, other->uid).text : other_name(f, other).text);
	}
	if (cause->n_others && cause->processes > 1 + cause->n_others)
		(void)buf_printf(text, " and %zu more", cause->processes - 1 - cause->n_others);
}

static void cause_append(const Ingero__V1__Finding *f, bool has_shares, struct buf *text)
{
	const Ingero__V1__Cause *cause = f->cause;

	if (!cause || !*cause->words)
		return;
	share_append(first_share(cause), has_shares, text);
	(void)buf_append_text(text, cause->words);
	culprits_append(f, has_shares, /* has_chain= */ true, text);
}

#define BETWEEN " between its calls"

/* The title behind the name of the process, without @suffix. NULL: it does not begin with that name */
static const char *title_predicate(const Ingero__V1__Finding *f, const char *suffix, int *ret_n)
{
	const char *title = f->title ? f->title : "";
	struct process_name name = trace_process_name_short(f->process_name, f->program);
	size_t n = strlen(name.text), n_title = strlen(title), n_suffix = strlen(suffix);

	if (strncmp(title, name.text, n) != 0 || title[n] != ' ')
		return NULL;
	if (n_title > n_suffix && strcmp(title + n_title - n_suffix, suffix) == 0)
		n_title -= n_suffix;
	*ret_n = n_title > n ? (int)(n_title - n - 1) : 0;
	return title + n + 1;
}

bool explain_is_between(const Ingero__V1__Finding *f)
{
	const char *title = f->title ? f->title : "";
	size_t n = strlen(title);

	return n > strlen(BETWEEN) && strcmp(title + n - strlen(BETWEEN), BETWEEN) == 0;
}

static bool words_begin(const Ingero__V1__Finding *f, const char *beginning)
{
	return f->cause && strncmp(f->cause->words, beginning, strlen(beginning)) == 0;
}

/* "has stopped making calls" and "waits for data" become one clause. Return: false: the cause is no verb */
static bool verb_append(const Ingero__V1__Finding *f, const char *predicate, int n, struct buf *text)
{
	static const struct {
		const char *words, *present, *past;
	} verbs[] = {
		{ "waits ", "waits ", "waited " },
		{ "computes ", "computes ", "computed " },
		{ "collects ", "collects ", "collected " },
		{ "stopped ", "is stopped ", "was stopped " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		size_t n_verb = strlen(verbs[i].past) - 1;
		const char *rest;

		if (!words_begin(f, verbs[i].words) || strstr(f->cause->words, BETWEEN))
			continue;
		rest = f->cause->words + strlen(verbs[i].words);
		if (!n || strncmp(predicate, verbs[i].past, n_verb) == 0)
			(void)buf_printf(text, "%s%s", verbs[i].past, rest);
		else
			(void)buf_printf(text, "%.*s and %s%s", n, predicate,
					 strncmp(predicate, "has ", 4) == 0 ? verbs[i].present : verbs[i].past, rest);
		return true;
	}
	return false;
}

void explain_cause_append(const Ingero__V1__Finding *f, struct buf *text)
{
	cause_append(f, /* has_shares= */ true, text);
}

struct explain_cause explain_event_text(const Ingero__V1__Finding *f, bool has_chain)
{
	struct explain_cause out = { .text = "" };
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	int n = 0;
	const char *predicate = f->title && *f->title ? title_predicate(f, BETWEEN, &n) : "";
	bool is_verb = predicate && verb_append(f, predicate, n, &text);
	bool is_linked = words_begin(f, "behind") || words_begin(f, "through");

	if (!is_verb && n)
		(void)buf_printf(&text, "%.*s", n, predicate);
	if (!is_verb && n && is_linked)
		(void)buf_append_text(&text, has_little(f) ? ", " : " ");
	if (!is_verb && n && is_linked) {
		share_append(first_share(f->cause), has_little(f), &text);
		(void)buf_append_text(&text, f->cause->words);
	}
	if (is_verb || (n && is_linked))
		culprits_append(f, has_little(f), has_chain, &text);
	(void)snprintf(out.text, sizeof(out.text), "%s", buf_text(&text));
	return out;
}

struct explain_cause explain_cause_text(const Ingero__V1__Finding *f)
{
	struct explain_cause out;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	cause_append(f, has_little(f), &text);
	(void)snprintf(out.text, sizeof(out.text), "%s", buf_text(&text));
	return out;
}
