// SPDX-License-Identifier: Apache-2.0
#include "cli/trace/live.h"

#include <string.h>

#define ESCAPE '\x1b'
#define PAGE_ROWS 10

void trace_live_done(struct trace_live *live)
{
	trace_order_done(&live->order);
}

static void scroll(struct trace_live *live, long rows)
{
	if (rows < 0)
		live->first -= MIN(live->first, (size_t)-rows);
	else
		live->first += (size_t)rows; /* larger than any list; the screen limits it */
}

static void page_turn(struct trace_live *live, enum trace_page page)
{
	live->page = live->page == page ? TRACE_PAGE_TABLE : page;
	live->first = 0;
}

static void table_show(struct trace_live *live)
{
	if (live->page != TRACE_PAGE_TABLE)
		page_turn(live, TRACE_PAGE_TABLE);
}

/* Keys that arrive as sequences, as xterm and its successors send them; `[` and `O` by the mode of the keypad. */
static void sequence_take(struct trace_live *live)
{
	static const struct {
		const char *text;
		long rows;
	} keys[] = {
		{ "[A", -1 }, { "OA", -1 }, { "[B", 1 }, { "OB", 1 }, { "[5~", -PAGE_ROWS }, { "[6~", PAGE_ROWS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(live->escape, keys[i].text) == 0)
			scroll(live, keys[i].rows);
}

/* Return: whether the byte belongs to a sequence */
static bool escape_take(struct trace_live *live, char key)
{
	if (key == ESCAPE) {
		live->n_escape = 1;
		return true;
	}
	if (live->n_escape == 0)
		return false;
	if (live->n_escape == 1 && key != '[' && key != 'O') {
		live->n_escape = 0; /* Escape itself, and then this key */
		return false;
	}
	live->escape[live->n_escape - 1] = key;
	live->escape[live->n_escape++] = 0;
	if (live->n_escape > 2 && key >= '@' && key <= '~') {
		sequence_take(live);
		live->n_escape = 0;
	} else if (live->n_escape == sizeof(live->escape)) {
		live->n_escape = 0;
	}
	return true;
}

bool trace_live_key(struct trace_live *live, char key)
{
	if (escape_take(live, key))
		return false;
	switch (key) {
	case 'q':
	case 'Q':
		return true;
	case '?':
	case 'h':
		page_turn(live, TRACE_PAGE_HELP);
		break;
	case 'f':
		page_turn(live, TRACE_PAGE_FINDINGS);
		break;
	case 't':
		live->is_total = !live->is_total;
		live->order.is_sorted = false;
		table_show(live);
		break;
	case 's':
		live->order.sort = (live->order.sort + 1) % TRACE_SORT_COUNT;
		live->order.is_sorted = false;
		live->first = 0;
		table_show(live);
		break;
	case 'p':
		live->is_paused = !live->is_paused;
		break;
	case 'k':
		scroll(live, -1);
		break;
	case 'j':
		scroll(live, 1);
		break;
	default:
		break;
	}
	return false;
}
