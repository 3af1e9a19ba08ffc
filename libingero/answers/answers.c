// SPDX-License-Identifier: Apache-2.0
#include "ingero/answers.h"

#include <locale.h>
#include <string.h>

#include "libingero/answers/explain/finding.h"
#include "libingero/answers/explain/json.h"
#include "libingero/answers/time.h"
#include "libingero/render/pb_json.h"

#define WINDOW_NS (300 * NSEC_PER_SEC)
#define DEADLINE_MS 60000 /* enough for a large file on a slow disk */

static int explain_ask(struct ingero *ingero, const struct ingero_explain_wish *wish, Ingero__V1__Span *span,
		       Ingero__V1__ExplainReply **ret_reply)
{
	Ingero__V1__ExplainRequest request = INGERO__V1__EXPLAIN_REQUEST__INIT;
	ProtobufCMessage *reply = NULL;
	int r;

	request.span = span->from_unix_ns || span->to_unix_ns ? span : NULL;
	request.n_pids = wish->n_pids;
	request.pids = (uint32_t *)(uintptr_t)wish->pids; /* the message borrows it, and texts */
	request.last_calls = wish->last_calls;
	request.per_process = wish->per_process;
	request.operations_max = wish->operations_max;
	request.without_kept = wish->without_kept;
	request.without_accounts = wish->without_accounts;
	if (wish->op_part)
		request.op_part = (char *)(uintptr_t)wish->op_part;
	if (wish->id)
		request.id = (char *)(uintptr_t)wish->id;
	r = ingero_call(ingero, "ingero.v1.Query.Explain", &request.base, DEADLINE_MS, &reply);
	if (r == 0)
		*ret_reply = (Ingero__V1__ExplainReply *)reply;
	return r;
}

static bool is_empty(const Ingero__V1__ExplainReply *reply)
{
	return reply->n_findings == 0 && (!reply->window || reply->window->calls == 0);
}

/* The time that the recording covers, and its end. */
static void kept_ask(struct ingero *ingero, const struct ingero_explain_wish *wish, struct ingero_explanation *e)
{
	struct ingero_explain_wish whole = { .pids = wish->pids, .n_pids = wish->n_pids };
	Ingero__V1__Span span = INGERO__V1__SPAN__INIT;
	Ingero__V1__ExplainReply *all;

	if (explain_ask(ingero, &whole, &span, &all) < 0)
		return; /* not knowing it takes nothing from the answer */
	if (all->window && (all->n_sessions || !is_empty(all))) {
		e->kept_from_unix_ns = all->window->from_unix_ns;
		e->kept_to_unix_ns = all->window->to_unix_ns;
	}
	/* Without calls there are no figures with bounds, and yet there is a recording. */
	for (size_t i = 0; i < all->n_sessions && !(all->window && all->window->to_unix_ns); i++) {
		uint64_t start_unix_ns = all->sessions[i]->start_unix_ns;

		if (!e->kept_from_unix_ns || start_unix_ns < e->kept_from_unix_ns)
			e->kept_from_unix_ns = start_unix_ns;
		e->kept_to_unix_ns = MAX(e->kept_to_unix_ns, MAX(all->sessions[i]->end_unix_ns, start_unix_ns));
	}
	ingero__v1__explain_reply__free_unpacked(all, NULL);
}

static uint64_t window_before(uint64_t unix_ns)
{
	return unix_ns > WINDOW_NS ? unix_ns - WINDOW_NS : 0;
}

int ingero_explain(struct ingero *ingero, const struct ingero_explain_wish *wish, struct ingero_explanation *ret)
{
	bool is_chosen = wish->is_whole || wish->last_calls || wish->id || wish->from_unix_ns || wish->to_unix_ns;
	struct ingero_explanation e = { .asked_unix_ns = clock_now_unix_ns() };
	Ingero__V1__Span span = INGERO__V1__SPAN__INIT;
	Ingero__V1__ExplainReply *earlier;
	int r;

	span.from_unix_ns = is_chosen ? wish->from_unix_ns : window_before(e.asked_unix_ns);
	span.to_unix_ns = wish->to_unix_ns;
	r = explain_ask(ingero, wish, &span, &e.reply);
	if (r < 0)
		return r;
	if (!wish->id && is_empty(e.reply) && !e.reply->is_recording)
		kept_ask(ingero, wish, &e);
	if (e.kept_to_unix_ns && !is_chosen) {
		span.to_unix_ns = e.kept_to_unix_ns + 1;
		span.from_unix_ns = window_before(span.to_unix_ns);
		r = explain_ask(ingero, wish, &span, &earlier);
		if (r < 0) {
			ingero_explanation_done(&e);
			return r;
		}
		ingero__v1__explain_reply__free_unpacked(e.reply, NULL);
		e.reply = earlier;
		e.is_last_recorded = true;
	}
	e.from_unix_ns = span.from_unix_ns;
	e.to_unix_ns = span.to_unix_ns;
	*ret = e;
	return 0;
}

void ingero_explanation_done(struct ingero_explanation *e)
{
	if (e->reply)
		ingero__v1__explain_reply__free_unpacked(e->reply, NULL);
	*e = (struct ingero_explanation){ .reply = NULL };
}

/* A copy to be released with free(). */
static char *text_copy(struct buf *out)
{
	return out->failed ? NULL : strdup(buf_text(out));
}

/*
 * Only a locale defines the width of a character and the form of a number, and the process's locale is the client's. So
 * this thread gets a locale of its own, with numbers in JSON's form.
 */
struct own_locale {
	locale_t own, before;
};

static struct own_locale locale_enter(void)
{
	struct own_locale locale = { .own = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0) };

	if (!locale.own)
		locale.own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale.before = uselocale(locale.own);
	return locale;
}

static void locale_leave(struct own_locale *locale)
{
	(void)uselocale(locale->before);
	if (locale->own)
		freelocale(locale->own);
}

char *ingero_explanation_json(const struct ingero_explanation *e)
{
	CLEANUP(locale_leave) struct own_locale locale = locale_enter();
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	return explain_json_append(&out, e->reply) < 0 ? NULL : text_copy(&out);
}

char *ingero_finding_text(const struct ingero_explanation *e, size_t i, unsigned int columns)
{
	const struct text_style style = { .is_utf8 = true, .columns = columns };
	struct explain_finding finding = {
		.lost = e->reply->lost,
		.number = i + 1,
		.id_chars = explain_id_chars(e->reply->findings, e->reply->n_findings),
		.now_unix_ns = e->asked_unix_ns,
		.goes_on = e->reply->is_recording,
	};
	CLEANUP(locale_leave) struct own_locale locale = locale_enter();
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	if (i >= e->reply->n_findings)
		return NULL;
	finding.finding = e->reply->findings[i];
	explain_finding_append(&finding, &style, &out);
	return text_copy(&out);
}

char *ingero_finding_json(const Ingero__V1__Finding *finding)
{
	CLEANUP(locale_leave) struct own_locale locale = locale_enter();
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	pb_json_append(&out, &finding->base);
	return text_copy(&out);
}
