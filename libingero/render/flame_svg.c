// SPDX-License-Identifier: Apache-2.0
/*
 * A flame graph as one SVG file: boxes, texts and the script flame.js, which is put in when this is built. Outermost
 * frames are on top. Nothing is loaded from anywhere; every text passes through xml_append().
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "flame_script.h" /* generated from flame.js */
#include "libingero/render/flame_tree.h"
#include "libingero/render/text.h"
#include "libingero/render/units.h"

#define WIDTH 1200u /* pixels, until the script lays it out for the window */
#define GAP 10u	    /* beside the boxes; as in flame.js, like the next */
#define LETTER 7.23 /* width of a letter of 12 pixels, monospace */
#define ROW 17u	    /* height of a box with its gap */
#define TOP 68u	    /* above the boxes */
#define BOTTOM 14u
#define LEAST_PARTS 10000u   /* boxes below this part of the whole are left out */
#define CHANGE_LEAST 0.00005 /* of the whole: smaller changes have no colour */

static const struct text_style box_style = { .is_utf8 = true, .columns = UINT32_MAX };

struct svg {
	const struct flame *flame;
	const struct flame_head *head;
	struct flame_tree tree;
	uint64_t least;	     /* weight of a box */
	double most_changed; /* largest change of a share */
	uint32_t depth;	     /* of the deepest box */
	struct buf text;     /* of a box */
	struct buf *out;
};

static void svg_done(struct svg *s)
{
	flame_tree_done(&s->tree);
	buf_done(&s->text);
}

/* Text of an element or an attribute. Characters that XML 1.0 does not have become U+FFFD. */
static void xml_append(struct buf *out, const char *text)
{
	uint32_t code;

	for (size_t n = strlen(text), taken; n > 0; text += taken, n -= taken) {
		taken = utf8_decode(text, n, &code);
		if (code == '&')
			(void)buf_append_text(out, "&amp;");
		else if (code == '<')
			(void)buf_append_text(out, "&lt;");
		else if (code == '>')
			(void)buf_append_text(out, "&gt;");
		else if (code == '"')
			(void)buf_append_text(out, "&quot;");
		else if (code == '\n')
			(void)buf_append_text(out, "\n");
		else if (utf8_is_control(code) || utf8_is_direction(code) || (code & 0xfffe) == 0xfffe)
			(void)buf_append_text(out, "\xef\xbf\xbd");
		else
			utf8_append(out, text, taken);
	}
}

/* ---- colours ---- */

/* The same in each picture: of the module of a frame, or of its file or name. */
static uint32_t colour_number(const struct flame *flame, const struct flame_entry *frame)
{
	uint32_t text = frame->module ? frame->module : frame->file ? frame->file : frame->name, hash = 2166136261u;

	for (const char *p = flame_text(flame, text); *p; p++)
		hash = (hash ^ (uint8_t)*p) * 16777619u; /* FNV-1a */
	return hash >> 8;
}

static void kind_colour_append(const struct svg *s, const struct flame_node *node)
{
	static const struct {
		uint8_t red, green, blue, reds, greens, blues; /* and how far they go */
	} kinds[FLAME_KIND_COUNT] = {
		[FLAME_PLAIN] = { 200, 205, 212, 20, 20, 20 },
		[FLAME_NATIVE] = { 240, 160, 70, 15, 60, 40 },
		[FLAME_PYTHON] = { 120, 185, 225, 50, 35, 25 },
	};
	const struct flame_entry *frame;
	uint32_t number;

	if (node->frame == FLAME_NODE_NONE) {
		(void)buf_append_text(s->out, "#dde1e6");
		return;
	}
	frame = &s->flame->frames.items[node->frame];
	number = colour_number(s->flame, frame);
	(void)buf_printf(s->out, "#%02x%02x%02x", kinds[frame->kind].red + number % kinds[frame->kind].reds,
			 kinds[frame->kind].green + number / 64 % kinds[frame->kind].greens,
			 kinds[frame->kind].blue + number / 4096 % kinds[frame->kind].blues);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* How much larger a part of the whole it is than before, -1 to 1. */
static double node_change(const struct svg *s, const struct flame_node *node)
{
	const struct flame_node *root = &s->tree.nodes.items[0];

	return share(node->weight, root->weight) - share(node->before, root->before);
}

static void change_colour_append(const struct svg *s, const struct flame_node *node)
{
	double change = node_change(s, node), ratio = s->most_changed > 0 ? fabs(change) / s->most_changed : 0;
	unsigned int light = 240 - (unsigned int)(120 * ratio);

	if (fabs(change) < CHANGE_LEAST)
		(void)buf_append_text(s->out, "#f0f0f0");
	else if (change > 0)
		(void)buf_printf(s->out, "#f0%02x%02x", light, light);
	else
		(void)buf_printf(s->out, "#%02x%02xf0", light, light);
}

/* ---- boxes ---- */

static void amount_append(const struct svg *s, uint64_t weight, uint64_t whole, struct buf *out)
{
	switch (s->flame->values[s->head->value].unit) {
	case FLAME_COUNT:
		(void)buf_append_text(out, units_count(weight).text);
		break;
	case FLAME_NANOSECONDS:
		(void)buf_append_text(out, units_ns(weight, 0).text);
		break;
	case FLAME_BYTES:
		(void)buf_append_text(out, units_bytes(weight).text);
		break;
	}
	(void)buf_printf(out, ", %s", units_ratio(share(weight, whole), 0).text);
}

/* The label, then in lines of their own where it is, and how much. */
static void box_title_append(struct svg *s, const struct flame_node *node, const char *label)
{
	const struct flame_node *root = &s->tree.nodes.items[0];
	const struct flame_entry *frame = node->frame == FLAME_NODE_NONE ? NULL : &s->flame->frames.items[node->frame];
	CLEANUP(buf_done) struct buf amount = BUF_INIT;

	(void)buf_append_text(s->out, "<title>");
	xml_append(s->out, label);
	if (frame && frame->file) {
		(void)buf_append_text(s->out, "\n");
		xml_append(s->out, flame_text(s->flame, frame->file));
		if (frame->line)
			(void)buf_printf(s->out, ":%" PRIu32, frame->line);
	}
	if (frame && frame->module) {
		(void)buf_append_text(s->out, "\n");
		xml_append(s->out, flame_text(s->flame, frame->module));
	}
	amount_append(s, node->weight, root->weight, &amount);
	if (s->head->before != FLAME_NONE) {
		(void)buf_append_text(&amount, "\nbefore ");
		amount_append(s, node->before, root->before, &amount);
	}
	(void)buf_append_text(s->out, "\n");
	xml_append(s->out, buf_text(&amount));
	(void)buf_append_text(s->out, "</title>");
	s->out->failed |= amount.failed;
}

static void box_text_append(struct svg *s, const char *label, double left, double width, unsigned int top)
{
	double letters = (width - 6) / LETTER;

	(void)buf_printf(s->out, "<text x=\"%.2f\" y=\"%u\">", left + 3, top + 12);
	if (letters >= 3 || letters >= text_columns(label)) {
		CLEANUP(buf_done) struct buf cut = BUF_INIT;

		(void)text_append(&cut, &box_style, label, (unsigned int)letters);
		xml_append(s->out, buf_text(&cut));
		s->out->failed |= cut.failed;
	}
	(void)buf_append_text(s->out, "</text>");
}

static void box_append(struct svg *s, const struct flame_node *node)
{
	uint64_t whole = s->tree.nodes.items[0].weight;
	double left = GAP + share(node->start, whole) * (WIDTH - 2 * GAP),
	       width = share(node->weight, whole) * (WIDTH - 2 * GAP);
	unsigned int top = TOP + node->depth * ROW;
	const char *label;

	buf_consume(&s->text, s->text.n);
	if (node->frame == FLAME_NODE_NONE)
		(void)buf_append_text(&s->text, "all");
	else
		flame_label_append(s->flame, node->frame, &s->text);
	label = buf_text(&s->text);
	(void)buf_printf(s->out,
			 "<g class=\"box\" data-x=\"%" PRIu64 "\" data-w=\"%" PRIu64 "\" data-d=\"%" PRIu32 "\">",
			 node->start, node->weight, node->depth);
	box_title_append(s, node, label);
	(void)buf_printf(s->out, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"", left, top, width,
			 ROW - 1);
	if (s->head->before == FLAME_NONE)
		kind_colour_append(s, node);
	else
		change_colour_append(s, node);
	(void)buf_append_text(s->out, "\"/>");
	box_text_append(s, label, left, width, top);
	(void)buf_append_text(s->out, "</g>\n");
}

static bool box_is_shown(const struct svg *s, uint32_t node)
{
	return s->tree.nodes.items[node].weight >= s->least;
}

/* What the boxes have in common. */
static void svg_measure(struct svg *s)
{
	s->least = MAX(s->tree.nodes.items[0].weight / LEAST_PARTS, 1);
	for (uint32_t i = 0; i != FLAME_NODE_NONE; i = flame_tree_next(&s->tree, i, box_is_shown(s, i))) {
		if (!box_is_shown(s, i))
			continue;
		s->depth = MAX(s->depth, s->tree.nodes.items[i].depth);
		s->most_changed = MAX(s->most_changed, fabs(node_change(s, &s->tree.nodes.items[i])));
	}
}

/* ---- the whole ---- */

static void svg_text_append(struct buf *out, const char *attributes, const char *text)
{
	(void)buf_printf(out, "<text %s>", attributes);
	xml_append(out, text);
	(void)buf_append_text(out, "</text>\n");
}

/* Of what has no box because it is gone: it was in the earlier time alone. */
static void gone_append(const struct svg *s, struct buf *out)
{
	uint64_t gone = 0, whole = s->tree.nodes.items[0].before;

	for (size_t i = 0; i < s->flame->stacks.n; i++)
		if (!flame_weight(s->flame, i, s->head->value))
			gone += flame_weight(s->flame, i, s->head->before);
	(void)buf_printf(out, "red: a larger share of the whole than before, blue: a smaller one");
	if (gone)
		(void)buf_printf(out, " · not drawn: stacks that are gone, %s of the whole before",
				 units_ratio(share(gone, whole), 0).text);
}

static void svg_head_append(struct svg *s)
{
	unsigned int height = TOP + (s->depth + 1) * ROW + BOTTOM;
	CLEANUP(buf_done) struct buf note = BUF_INIT;

	(void)buf_printf(s->out,
			 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" "
			 "font-family=\"monospace\" font-size=\"12\" data-total=\"%" PRIu64 "\">\n<title>",
			 WIDTH, height, WIDTH, height, s->tree.nodes.items[0].weight);
	xml_append(s->out, s->head->title);
	(void)buf_append_text(s->out, "</title>\n<style>\n"
				      "svg{background:#fff}\n"
				      "text{fill:#111;white-space:pre}\n"
				      ".box rect{stroke:#fff;stroke-width:.4}\n"
				      ".box{cursor:pointer}.box text{pointer-events:none}\n"
				      ".box:hover rect{stroke:#111;stroke-width:1}\n"
				      ".above{opacity:.55}\n"
				      ".marked rect{fill:#e05ad0}\n"
				      ".live-only{display:none}.live .live-only{display:inline}\n"
				      "input{font:12px monospace;width:170px;box-sizing:border-box}\n"
				      "</style>\n"
				      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	svg_text_append(s->out, "x=\"10\" y=\"20\" font-size=\"15\" font-weight=\"bold\"", s->head->title);
	(void)buf_append_text(&note, s->head->subtitle);
	if (s->head->before != FLAME_NONE) {
		if (note.n)
			(void)buf_append_text(&note, " · ");
		gone_append(s, &note);
	}
	svg_text_append(s->out, "x=\"10\" y=\"38\" fill-opacity=\".75\"", buf_text(&note));
	svg_text_append(s->out, "id=\"detail\" x=\"10\" y=\"57\"", "\xc2\xa0");
	(void)buf_printf(s->out,
			 "<foreignObject class=\"live-only right\" data-right=\"170\" x=\"%u\" y=\"6\" width=\"170\" "
			 "height=\"24\"><input xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" "
			 "placeholder=\"search: /\" title=\"A regular expression; Escape shows everything\"/>"
			 "</foreignObject>\n"
			 "<text id=\"found\" class=\"live-only right\" data-right=\"170\" x=\"%u\" y=\"45\"></text>\n",
			 WIDTH - GAP - 170, WIDTH - GAP - 170);
	s->out->failed |= note.failed;
}

int flame_svg_append(const struct flame *flame, const struct flame_head *head, struct buf *out)
{
	CLEANUP(svg_done) struct svg s = { .flame = flame, .head = head, .tree = FLAME_TREE_INIT, .out = out };
	int r = flame_tree_build(flame, head->value, head->before, &s.tree);

	if (r < 0)
		return r;
	svg_measure(&s);
	svg_head_append(&s);
	(void)buf_append_text(out, "<g>\n");
	for (uint32_t i = 0; i != FLAME_NODE_NONE; i = flame_tree_next(&s.tree, i, box_is_shown(&s, i)))
		if (box_is_shown(&s, i) || i == 0)
			box_append(&s, &s.tree.nodes.items[i]);
	(void)buf_append_text(out, "</g>\n<script><![CDATA[\n");
	(void)buf_append(out, flame_script, sizeof(flame_script) - 1);
	(void)buf_append_text(out, "]]></script>\n</svg>\n");
	return out->failed || s.text.failed ? -ENOMEM : 0;
}
