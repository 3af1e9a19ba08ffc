// SPDX-License-Identifier: Apache-2.0
#include "libingero/answers/account/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/examine.h"
#include "base/wait_words.h"
#include "libingero/answers/trace/rows.h"
#include "libingero/render/units.h"

#define BAR_COLUMNS 8u
#define BAR_STYLE_COLUMNS 72u /* width below which no bars are drawn */
#define DETAIL_LINES_MOST 2u  /* of a detail in a column of its own */
#define LABEL_COLUMNS_MOST 26u
#define GAP_LEAST 1u
#define GAP_WIDE 2u		 /* between a label and its detail */
#define DETAIL_COLUMNS_LEAST 24u /* a narrower column has a word or two in a line */
#define WHOLE_LEAST_PERCENT 10u	 /* share from which a line makes room for all of its causes */
#define TITLE_COLUMNS 32u
#define PROCESS_COLUMNS 16u	/* indent of a short line */
#define SHORT_LEAST_PERCENT 2u	/* a narrower column says nothing in a line of few causes */
#define WAITS_LEAST_PERCENT 10u /* share from which waits are no all-clear */
#define MOST_PERCENT 50u	/* share from which something is most of the time */

bool account_is_on(const Ingero__V1__Account *account, const char *node)
{
	return node && account->node_told_case ? strcmp(account->node, node) == 0
					       : (node != NULL) == (account->node_told_case != 0);
}

struct account_thread account_thread(uint32_t pid, uint32_t tid)
{
	struct account_thread thread = { .text = "main thread" };

	if (tid == 0)
		(void)snprintf(thread.text, sizeof(thread.text), "several threads");
	else if (tid != pid)
		(void)snprintf(thread.text, sizeof(thread.text), "thread %u", tid);
	return thread;
}

struct account_title account_title(const Ingero__V1__Account *account)
{
	struct account_title title;

	(void)snprintf(title.text, sizeof(title.text), "%s%s%.64s · %s · %s",
		       trace_process_label(account->process_name, account->program, account->pid, TITLE_COLUMNS).text,
		       account->node_told_case ? " on " : "", account->node_told_case ? account->node : "",
		       account_thread(account->pid, account->tid).text, units_ns(account->wall_ns, 0).text);
	return title;
}

/* All causes where they fit, else the first. */
static void detail_append(const struct account_line *line, unsigned int room, struct buf *text)
{
	size_t n = text_columns(line->detail) > room ? line->n_first : strlen(line->detail);

	(void)buf_append(text, line->detail, n);
}

static unsigned int first_columns(const struct account_line *line)
{
	char first[sizeof(line->detail)];

	(void)snprintf(first, sizeof(first), "%.*s", (int)line->n_first, line->detail);
	return text_columns(first);
}

static bool first_fits(const struct account_line *line, unsigned int room)
{
	return first_columns(line) + GAP_LEAST <= room;
}

/*
 * Columns before the detail: @gap of them, or fewer where its end would be cut otherwise. In a line with much of the
 * time all causes count, else the first.
 * @room: columns for both
 */
static unsigned int gap_fit(const struct account_line *line, unsigned int gap, unsigned int room)
{
	unsigned int n = text_columns(line->detail);

	if (line->percent < WHOLE_LEAST_PERCENT || n + GAP_LEAST > room)
		n = first_columns(line);
	if (n + gap <= room)
		return gap;
	return n + GAP_LEAST <= room ? room - n : GAP_LEAST;
}

static unsigned int longest_word(const char *text)
{
	unsigned int most = 0;

	while (*text) {
		char word[sizeof(((struct account_line *)0)->detail)];
		size_t n = strcspn(text, " ");

		(void)snprintf(word, sizeof(word), "%.*s", (int)n, text);
		most = MAX(most, text_columns(word));
		text += n + strspn(text + n, " ");
	}
	return most;
}

/*
 * Its first cause does not fit behind the label: it goes on below, in a column of its own or, where that is too narrow
 * for its words, below the label.
 * @text: the line up to the label
 * Return: false: the terminal is too narrow for either
 */
static bool long_detail_append(const struct account_line *line, struct buf *text, const struct text_style *style,
			       struct buf *out)
{
	unsigned int end = text_columns(buf_text(text)) + GAP_WIDE, label = end - GAP_WIDE - text_columns(line->label);
	CLEANUP(buf_done) struct buf detail = BUF_INIT, indent = BUF_INIT;
	unsigned int room;

	detail_append(line, 0, &detail);
	room = style->columns > end ? style->columns - end : 0;
	if (room >= DETAIL_COLUMNS_LEAST && longest_word(buf_text(&detail)) <= room &&
	    text_columns(buf_text(&detail)) <= DETAIL_LINES_MOST * room) {
		text_spaces(text, GAP_WIDE);
		text_paragraph(out, style, buf_text(text), buf_text(&detail));
		return true;
	}
	if (style->columns < label + DETAIL_COLUMNS_LEAST)
		return false;
	text_line(out, style, TEXT_PLAIN, "%s", buf_text(text));
	text_spaces(&indent, label);
	text_paragraph(out, style, buf_text(&indent), buf_text(&detail));
	return true;
}

/* Where the thread waited, below the label. */
static void line_from_append(const struct account_line *line, unsigned int columns, const struct text_style *style,
			     struct buf *out)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!line->from[0] || line->percent < WHOLE_LEAST_PERCENT)
		return;
	text_spaces(&text, columns);
	text_line(out, style, TEXT_PLAIN, "%s%s", buf_text(&text), line->from);
}

/* Return: column of the label */
static unsigned int account_line_append(const struct account_line *line, unsigned int label_columns,
					const struct text_style *style, struct buf *out)
{
	bool has_bar = style->columns >= BAR_STYLE_COLUMNS;
	unsigned int cells = (line->percent * BAR_COLUMNS + 50) / 100, n, gap, column;
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	char percent[12] = "<1";

	if (line->percent)
		(void)snprintf(percent, sizeof(percent), "%u", line->percent);
	(void)buf_printf(&text, "%5s %%  ", percent);
	for (unsigned int i = 0; has_bar && i < BAR_COLUMNS; i++)
		(void)buf_append_text(&text, i < (cells ? cells : 1) ? "▇" : " ");
	(void)buf_printf(&text, "%s%7s  %s", has_bar ? " " : "", units_ns(line->ns, UNITS_TIGHT).text, line->label);
	n = text_columns(line->label);
	column = text_columns(buf_text(&text)) - n;
	if (line->detail[0]) {
		gap = label_columns > n ? label_columns - n + GAP_WIDE : GAP_WIDE;
		n = text_columns(buf_text(&text));
		if (!first_fits(line, style->columns > n ? style->columns - n : 0) &&
		    long_detail_append(line, &text, style, out))
			return column;
		text_spaces(&text, gap_fit(line, gap, style->columns > n ? style->columns - n : 0));
		n = text_columns(buf_text(&text));
		detail_append(line, style->columns > n ? style->columns - n : 0, &text);
	}
	text_line(out, style, TEXT_PLAIN, "%s", buf_text(&text));
	return column;
}

int account_append(const Ingero__V1__Account *account, size_t most, const struct text_style *style, struct buf *out)
{
	CLEANUP(account_view_done) struct account_view view = ACCOUNT_VIEW_INIT;
	unsigned int label_columns = 0;
	int r = account_view_build(account, most, &view);

	if (r < 0 || !view.wall_ns)
		return r;
	text_line(out, style, TEXT_BOLD, "%s", account_title(account).text);
	for (size_t i = 0; i < view.lines.n; i++)
		label_columns = MAX(label_columns, text_columns(view.lines.items[i].label));
	for (size_t i = 0; i < view.lines.n; i++) {
		const struct account_line *line = &view.lines.items[i];

		line_from_append(line, account_line_append(line, MIN(label_columns, LABEL_COLUMNS_MOST), style, out),
				 style, out);
	}
	return 0;
}

/* Who ended all of a wait, without what it did meanwhile; "": nobody known, or several with a share each. */
static void who_append(const struct account_line *line, struct buf *text)
{
	const char *chain = strstr(line->detail, " ← ");
	int n = (int)(chain ? (size_t)(chain - line->detail) : strlen(line->detail));

	if (n && line->is_wait && line->is_linked && !line->detail[line->n_first] &&
	    !memchr(line->detail, '%', (size_t)n))
		(void)buf_printf(text, " %.*s", n, line->detail);
}

int account_append_short(const Ingero__V1__Account *account, const char *first, const struct text_style *style,
			 struct buf *out)
{
	CLEANUP(account_view_done) struct account_view view = ACCOUNT_VIEW_INIT;
	CLEANUP(buf_done) struct buf text = BUF_INIT, who = BUF_INIT, rest = BUF_INIT;
	int r = account_view_build(account, SIZE_MAX, &view);

	if (r < 0 || !view.wall_ns)
		return r;
	(void)buf_printf(&text, "%s%u %% %s", first, view.lines.items[0].percent, view.lines.items[0].brief);
	who_append(&view.lines.items[0], &who);
	for (size_t i = 1; i < view.lines.n && view.lines.items[i].percent >= SHORT_LEAST_PERCENT; i++) {
		const struct account_line *line = &view.lines.items[i];
		CLEANUP(buf_done) struct buf next = BUF_INIT;

		(void)buf_printf(&next, " · %u %% %s", line->percent, line->brief);
		if (text_columns(buf_text(&text)) + text_columns(buf_text(&rest)) + text_columns(buf_text(&next)) >
		    style->columns)
			break;
		(void)buf_append_text(&rest, buf_text(&next));
	}
	if (text_columns(buf_text(&text)) + text_columns(buf_text(&who)) + text_columns(buf_text(&rest)) <=
	    style->columns)
		(void)buf_append_text(&text, buf_text(&who));
	(void)buf_append_text(&text, buf_text(&rest));
	text_line(out, style, TEXT_PLAIN, "%s", buf_text(&text));
	return text.failed || who.failed || rest.failed ? -ENOMEM : 0;
}

/* Whether a line is no all-clear: from a tenth of the time waits, from half of it sleep. */
static bool is_idle_line(const struct account_line *line)
{
	return (line->is_wait && line->percent >= WAITS_LEAST_PERCENT) ||
	       (line->is_sleep && line->percent >= MOST_PERCENT);
}

/* The largest line of one kind of all driving threads; percent 0: none. Return: 0 or -ENOMEM */
static int largest_find(Ingero__V1__Account *const *accounts, size_t n, bool (*is_kind)(const struct account_line *),
			const Ingero__V1__Account **ret_account, struct account_line *ret_line)
{
	struct account_line most = { .percent = 0 };

	for (size_t i = 0; i < n; i++) {
		CLEANUP(account_view_done) struct account_view view = ACCOUNT_VIEW_INIT;
		int r = accounts[i]->is_driving ? account_view_build(accounts[i], SIZE_MAX, &view) : 0;

		if (r < 0)
			return r;
		for (size_t k = 0; k < view.lines.n; k++) {
			const struct account_line *line = &view.lines.items[k];

			if (!is_kind(line) || line->percent <= most.percent)
				continue;
			most = *line;
			*ret_account = accounts[i];
		}
	}
	*ret_line = most;
	return 0;
}

static void account_name_append(const Ingero__V1__Account *account, struct buf *text)
{
	(void)buf_printf(text, "%s%s%s",
			 trace_process_label(account->process_name, account->program, account->pid, TITLE_COLUMNS).text,
			 account->node_told_case ? " on " : "", account->node_told_case ? account->node : "");
}

static void line_detail_append(const struct account_line *line, struct buf *text)
{
	bool is_stop = strncmp(line->detail, WAIT_WORDS_STOPPED_BY, strlen(WAIT_WORDS_STOPPED_BY)) == 0;

	if (line->detail[0])
		(void)buf_printf(text, "%s %s", is_stop ? "," : line->is_linked ? "" : ":", line->detail);
}

int account_append_waits(Ingero__V1__Account *const *accounts, size_t n, struct buf *text)
{
	static const char waits[] = "waits ";
	const Ingero__V1__Account *account = NULL;
	struct account_line most;
	bool is_verb;
	int r = largest_find(accounts, n, is_idle_line, &account, &most);

	if (r < 0 || !account)
		return r;
	is_verb = strncmp(most.label, waits, strlen(waits)) == 0;
	(void)buf_printf(text, "%u %% of the time ", most.percent);
	account_name_append(account, text);
	(void)buf_printf(text, " %s %s", is_verb ? "waited" : "was", is_verb ? most.label + strlen(waits) : most.label);
	line_detail_append(&most, text);
	if (most.is_wait)
		(void)buf_printf(text, "; waits between calls are " ACCOUNT_JUDGED_FORMAT, EXAMINE_FROM_S);
	(void)buf_append_text(text, ".");
	return text->failed ? -ENOMEM : 0;
}

static bool is_any_line(const struct account_line *line)
{
	(void)line;
	return true;
}

int account_append_most(Ingero__V1__Account *const *accounts, size_t n, struct buf *text)
{
	const Ingero__V1__Account *account = NULL;
	struct account_line most;
	int r = largest_find(accounts, n, is_any_line, &account, &most);

	if (r < 0 || !account || most.is_call || most.percent < MOST_PERCENT)
		return r;
	(void)buf_append_text(text, "Most of the time of ");
	account_name_append(account, text);
	(void)buf_printf(text, ", %u %%: %s", most.percent, most.label);
	line_detail_append(&most, text);
	(void)buf_append_text(text, ".");
	return text->failed ? -ENOMEM : 0;
}

int account_largest(const Ingero__V1__Account *account, struct account_part *ret)
{
	CLEANUP(account_view_done) struct account_view view = ACCOUNT_VIEW_INIT;
	const struct account_line *most = NULL;
	int r = account->is_driving ? account_view_build(account, SIZE_MAX, &view) : 0;

	*ret = (struct account_part){ .percent = 0 };
	if (r < 0)
		return r;
	for (size_t i = 0; i < view.lines.n; i++)
		if (!most || view.lines.items[i].ns > most->ns)
			most = &view.lines.items[i];
	if (most && !most->is_call && (is_idle_line(most) || most->percent >= MOST_PERCENT))
		*ret = (struct account_part){ .ns = most->ns,
					      .percent = most->percent,
					      .is_without_cpu = most->is_without_cpu };
	return 0;
}

int account_append_largest(Ingero__V1__Account *account, struct buf *text)
{
	Ingero__V1__Account *const list[] = { account };
	const Ingero__V1__Account *found = NULL;
	struct account_line most;
	int r = largest_find(list, 1, is_any_line, &found, &most);

	if (r < 0 || !found)
		return r;
	return is_idle_line(&most) ? account_append_waits(list, 1, text) : account_append_most(list, 1, text);
}

static const Ingero__V1__Account *account_before(Ingero__V1__Account *const *before, size_t n,
						 const Ingero__V1__Account *account)
{
	for (size_t i = 0; i < n; i++)
		if (before[i]->pid == account->pid && before[i]->tid == account->tid &&
		    account_is_on(before[i], account->node_told_case ? account->node : NULL))
			return before[i];
	return NULL;
}

static uint64_t line_ns(const struct account_view *view, const char *label)
{
	for (size_t i = 0; i < view->lines.n; i++)
		if (strcmp(view->lines.items[i].label, label) == 0)
			return view->lines.items[i].ns;
	return 0;
}

static int idle_of(const Ingero__V1__Account *now, const Ingero__V1__Account *before, struct account_most *most)
{
	CLEANUP(account_view_done) struct account_view view = ACCOUNT_VIEW_INIT;
	CLEANUP(account_view_done) struct account_view then = ACCOUNT_VIEW_INIT;
	int r = account_view_build(now, SIZE_MAX, &view);

	if (r == 0 && before)
		r = account_view_build(before, SIZE_MAX, &then);
	if (r < 0)
		return r;
	for (size_t i = 0; i < view.lines.n && view.wall_ns > then.wall_ns; i++) {
		const struct account_line *line = &view.lines.items[i];
		uint64_t before_ns = line_ns(&then, line->label);
		double ratio = (double)(line->ns - MIN(line->ns, before_ns)) / (double)(view.wall_ns - then.wall_ns);

		if (!(line->is_wait || line->is_sleep || line->is_without_cpu) || ratio <= most->ratio)
			continue;
		most->ratio = ratio;
		most->is_loss = !line->is_sleep;
		(void)snprintf(most->text, sizeof(most->text), "%s", line->brief);
	}
	return 0;
}

int account_most_idle(Ingero__V1__Account *const *now, size_t n_now, Ingero__V1__Account *const *before,
		      size_t n_before, struct account_most *ret_most)
{
	struct account_most most = { .ratio = 0 };
	int r = 0;

	for (size_t i = 0; i < n_now && r == 0; i++)
		if (now[i]->is_driving)
			r = idle_of(now[i], account_before(before, n_before, now[i]), &most);
	if (r == 0)
		*ret_most = most;
	return r;
}

/* Whether the account stands for its process: no account of the process precedes it. */
static bool is_first_driving(Ingero__V1__Account *const *accounts, size_t i)
{
	if (!accounts[i]->is_driving || !accounts[i]->wall_ns)
		return false;
	for (size_t k = 0; k < i; k++)
		if (accounts[k]->pid == accounts[i]->pid && accounts[k]->wall_ns &&
		    account_is_on(accounts[k], accounts[i]->node_told_case ? accounts[i]->node : NULL))
			return false;
	return true;
}

static size_t count_processes(Ingero__V1__Account *const *accounts, size_t n)
{
	size_t n_processes = 0;

	for (size_t i = 0; i < n; i++)
		n_processes += is_first_driving(accounts, i);
	return n_processes;
}

/* "python3 train.py 4711", "python3 4711 on node-7" */
static struct account_title process_label(const Ingero__V1__Account *account)
{
	struct account_title label;

	(void)snprintf(label.text, sizeof(label.text), "%s%s%.24s",
		       trace_process_label(account->process_name, account->program, account->pid, PROCESS_COLUMNS).text,
		       account->node_told_case ? " on " : "", account->node_told_case ? account->node : "");
	return label;
}

int account_append_processes(Ingero__V1__Account *const *accounts, size_t n, size_t most,
			     const struct text_style *style, struct buf *out)
{
	size_t n_processes = count_processes(accounts, n), n_shown = 0;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		CLEANUP(buf_done) struct buf first = BUF_INIT;

		if (!is_first_driving(accounts, i))
			continue;
		if (n_shown + 1 >= most && n_processes > most)
			break;
		if (n_processes > 1)
			(void)buf_printf(&first, "%s: ", process_label(accounts[i]).text);
		r = account_append_short(accounts[i], buf_text(&first), style, out);
		n_shown++;
	}
	if (n_shown < n_processes && r == 0)
		text_line(out, style, TEXT_DIM, "and %s",
			  units_things(n_processes - n_shown, "more process", "more processes").text);
	return r;
}

void account_append_waiting(Ingero__V1__Account *const *accounts, size_t n, uint64_t least_ns, size_t most,
			    const struct text_style *style, struct buf *out)
{
	size_t n_processes = count_processes(accounts, n), n_shown = 0;

	for (size_t i = 0; i < n && n_shown < most; i++) {
		struct account_waiting waiting;

		if (!is_first_driving(accounts, i))
			continue;
		waiting = account_waiting_of(accounts[i]);
		if (!waiting.text[0] || waiting.ns < least_ns)
			continue;
		text_line(out, style, TEXT_PLAIN, "%s%sbetween calls: %s",
			  n_processes > 1 ? process_label(accounts[i]).text : "", n_processes > 1 ? ", " : "",
			  waiting.text);
		n_shown++;
	}
}
