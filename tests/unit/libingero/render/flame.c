// SPDX-License-Identifier: Apache-2.0
/*
 * Profiles: equal stacks become one, and each format is what its readers expect, to the byte where it is text. Names
 * that would break a format, and profiles of every size.
 */
#include "libingero/render/flame.h"

#include <zlib.h>

#include "libingero/render/flame_tree.h"
#include "tests/support/check.h"

#define FRAME(name_, file_, line_, module_, kind_)                                                                     \
	{                                                                                                              \
		.name = (name_), .file = (file_), .line = (line_), .module = (module_), .kind = (kind_)                \
	}
#define PLAIN(name_) FRAME(name_, "", 0, "", FLAME_PLAIN)
#define PYTHON(name_, file_, line_) FRAME(name_, file_, line_, "", FLAME_PYTHON)
#define NATIVE(name_, module_) FRAME(name_, "", 0, module_, FLAME_NATIVE)

static const struct flame_value values[] = { { "time", FLAME_NANOSECONDS }, { "count", FLAME_COUNT } };

static const struct flame_frame loop[] = { PLAIN("python3"), PYTHON("main", "/a/train.py", 13),
					   PYTHON("forward", "/a/net.py", 142), NATIVE("", "/lib/libblas.so.3"),
					   NATIVE("cudaLaunchKernel", "/lib/libcudart.so.12") };
static const struct flame_frame other[] = { PLAIN("python3"), PYTHON("main", "/a/train.py", 13),
					    NATIVE("cudaFree", "/lib/libcudart.so.12") };
static const struct flame_head plain = { .title = "calls", .subtitle = "", .before = FLAME_NONE };

/* loop twice, and one of the two beside it. */
static void fill(struct flame *flame)
{
	CHECK_INT_EQ("init", flame_init(flame, values, ARRAY_SIZE(values)), 0);
	CHECK_INT_EQ("add", flame_add(flame, loop, ARRAY_SIZE(loop), (uint64_t[]){ 70, 2 }), 0);
	CHECK_INT_EQ("add", flame_add(flame, other, ARRAY_SIZE(other), (uint64_t[]){ 20, 1 }), 0);
	CHECK_INT_EQ("add", flame_add(flame, loop, ARRAY_SIZE(loop), (uint64_t[]){ 10, 3 }), 0);
}

static void equal_test(void)
{
	CLEANUP(flame_done) struct flame flame = FLAME_INIT;

	fill(&flame);
	CHECK_INT_EQ("stacks", flame.stacks.n, 2);
	CHECK_INT_EQ("frames", flame.frames.n, 6);
	CHECK_INT_EQ("weight", flame_weight(&flame, 0, 0), 80);
	CHECK_INT_EQ("weight", flame_weight(&flame, 0, 1), 5);
	CHECK_INT_EQ("total", flame_total(&flame, 0), 100);
	CHECK_INT_EQ("add", flame_add(&flame, loop, ARRAY_SIZE(loop), (uint64_t[]){ UINT64_MAX, 0 }), 0);
	CHECK("a sum stops at the largest number", flame_weight(&flame, 0, 0) == UINT64_MAX);
	CHECK("so does the total", flame_total(&flame, 0) == UINT64_MAX);
}

static void folded_test(void)
{
	CLEANUP(flame_done) struct flame flame = FLAME_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct flame_head head = plain;

	fill(&flame);
	CHECK_INT_EQ("folded", flame_folded_append(&flame, &head, &out), 0);
	CHECK_STR_EQ("folded", buf_text(&out),
		     "python3;main (train.py:13);cudaFree 20\n"
		     "python3;main (train.py:13);forward (net.py:142);[libblas.so.3];cudaLaunchKernel 80\n");
	buf_consume(&out, out.n);
	head.before = 1;
	CHECK_INT_EQ("change", flame_folded_append(&flame, &head, &out), 0);
	CHECK_STR_EQ("change", buf_text(&out),
		     "python3;main (train.py:13);cudaFree 1 20\n"
		     "python3;main (train.py:13);forward (net.py:142);[libblas.so.3];cudaLaunchKernel 5 80\n");
}

/* One stack of two frames: what the folded line becomes. */
static const struct {
	const char *name;
	const char *outer, *inner;
	const char *want;
} hostile[] = {
	{ "separator", "a;b", "f", "a:b;f 7\n" },
	{ "line feed", "a\nb", "f\r", "a?b;f? 7\n" },
	{ "digits that look like a weight", "a 1", "f 12", "a 1;f_12 7\n" },
	{ "a number with a point", "a", "f 1.5", "a;f_1.5 7\n" },
	{ "digits without a space", "a", "f12", "a;f12 7\n" },
	{ "no name", "", "", "[unknown];[unknown] 7\n" },
	{ "escape sequence", "\x1b[2J", "f", "?[2J;f 7\n" },
	{ "bytes that are not UTF-8", "\xff\xc3", "f\xe2\x82", "??;f?? 7\n" },
	{ "direction of text", "a\xe2\x80\xae", "b", "a?;b 7\n" },
	{ "not ASCII", "größe", "名", "größe;名 7\n" },
};

static void hostile_folded_test(size_t i)
{
	CLEANUP(flame_done) struct flame flame = FLAME_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct flame_frame frames[] = { PLAIN(hostile[i].outer), PLAIN(hostile[i].inner) };

	CHECK_INT_EQ(hostile[i].name, flame_init(&flame, values, 1), 0);
	CHECK_INT_EQ(hostile[i].name, flame_add(&flame, frames, ARRAY_SIZE(frames), (uint64_t[]){ 7 }), 0);
	CHECK_INT_EQ(hostile[i].name, flame_folded_append(&flame, &plain, &out), 0);
	CHECK_STR_EQ(hostile[i].name, buf_text(&out), hostile[i].want);
}

static void speedscope_test(void)
{
	static const struct flame_frame quoted[] = { PLAIN("say \"hi\"\\"), FRAME("f", "", 9, "", FLAME_NATIVE) };
	CLEANUP(flame_done) struct flame flame = FLAME_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct flame_head head = plain;

	fill(&flame);
	head.value = 1;
	CHECK_INT_EQ("add", flame_add(&flame, quoted, ARRAY_SIZE(quoted), (uint64_t[]){ 0, 4 }), 0);
	CHECK_INT_EQ("speedscope", flame_speedscope_append(&flame, &head, &out), 0);
	CHECK_STR_EQ(
		"speedscope", buf_text(&out),
		"{\"$schema\":\"https://www.speedscope.app/"
		"file-format-schema.json\",\"exporter\":\"ingero " INGERO_VERSION
		"\",\"name\":\"calls\",\"activeProfileIndex\":1,\n"
		"\"shared\":{\"frames\":[\n"
		"{\"name\":\"python3\"},\n"
		"{\"name\":\"main\",\"file\":\"/a/train.py\",\"line\":13},\n"
		"{\"name\":\"forward\",\"file\":\"/a/net.py\",\"line\":142},\n"
		"{\"name\":\"[libblas.so.3]\",\"file\":\"/lib/libblas.so.3\"},\n"
		"{\"name\":\"cudaLaunchKernel\",\"file\":\"/lib/libcudart.so.12\"},\n"
		"{\"name\":\"cudaFree\",\"file\":\"/lib/libcudart.so.12\"},\n"
		"{\"name\":\"say \\\"hi\\\"\\\\\"},\n"
		"{\"name\":\"f\"}]},\n"
		"\"profiles\":[\n"
		"{\"type\":\"sampled\",\"name\":\"time\",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":100,\n"
		"\"samples\":[\n[0,1,2,3,4],\n[0,1,5]],\n\"weights\":[80,20]},\n"
		"{\"type\":\"sampled\",\"name\":\"count\",\"unit\":\"none\",\"startValue\":0,\"endValue\":10,\n"
		"\"samples\":[\n[0,1,2,3,4],\n[0,1,5],\n[6,7]],\n\"weights\":[5,1,4]}]}\n");
}

/* ---- pprof ---- */

static void inflated(const struct buf *packed, struct buf *out)
{
	z_stream stream = { .next_in = packed->data, .avail_in = (uInt)packed->n };
	uint8_t room[65536];

	CHECK_INT_EQ("gzip", inflateInit2(&stream, 15 + 16), Z_OK);
	stream.next_out = room;
	stream.avail_out = sizeof(room);
	CHECK_INT_EQ("gzip", inflate(&stream, Z_FINISH), Z_STREAM_END);
	(void)buf_append(out, room, stream.total_out);
	CHECK_INT_EQ("nothing behind it", stream.avail_in, 0);
	(void)inflateEnd(&stream);
}

/* The fields of a message as "field:number " and "field:length{...} ". Return: whether it is one */
static bool fields_tell(const uint8_t *p, size_t n, unsigned int depth, struct buf *out);

static bool varint_read(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned int shift = 0; *p < end && shift < 64; shift += 7) {
		uint8_t byte = *(*p)++;

		*ret |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* Of these messages the parts are numbers that are packed, or texts. */
static void bytes_tell(unsigned int field, unsigned int depth, const uint8_t *p, size_t n, struct buf *out)
{
	const uint8_t *end = p + n;
	uint64_t number;

	if (depth == 0 && field == 6) { /* string_table */
		(void)buf_printf(out, "'%.*s' ", (int)n, (const char *)p);
		return;
	}
	if (depth == 1 && (field == 1 || field == 2)) { /* of a sample */
		while (p < end && varint_read(&p, end, &number))
			(void)buf_printf(out, "%u=%" PRIu64 " ", field, number);
		return;
	}
	(void)buf_printf(out, "%u{", field);
	CHECK("a message", fields_tell(p, n, depth + 1, out));
	(void)buf_append_text(out, "} ");
}

static bool fields_tell(const uint8_t *p, size_t n, unsigned int depth, struct buf *out)
{
	const uint8_t *end = p + n;

	while (p < end) {
		uint64_t tag, value;

		if (!varint_read(&p, end, &tag) || !varint_read(&p, end, &value))
			return false;
		if ((tag & 7) == 0) {
			(void)buf_printf(out, "%u=%" PRIu64 " ", (unsigned int)(tag >> 3), value);
			continue;
		}
		if ((tag & 7) != 2 || value > (uint64_t)(end - p))
			return false;
		bytes_tell((unsigned int)(tag >> 3), depth, p, value, out);
		p += value;
	}
	return true;
}

static void pprof_test(void)
{
	CLEANUP(flame_done) struct flame flame = FLAME_INIT;
	CLEANUP(buf_done) struct buf packed = BUF_INIT, body = BUF_INIT, told = BUF_INIT;
	struct flame_head head = plain;
	static const struct flame_frame large[] = { PLAIN("python3") };

	fill(&flame);
	CHECK_INT_EQ("add", flame_add(&flame, large, 1, (uint64_t[]){ UINT64_MAX, 0 }), 0);
	head.from_unix_ns = 1000;
	head.to_unix_ns = 1300;
	CHECK_INT_EQ("pprof", flame_pprof_append(&flame, &head, &packed), 0);
	inflated(&packed, &body);
	CHECK("one message", fields_tell(body.data, body.n, 0, &told));
	/* profile.proto: 1 sample_type {type unit}, 2 sample {locations values}, 3 mapping, 4 location {id mapping
	 * line {function line}}, 5 function {id name system_name filename}, 6 string_table, 9 time, 10 duration, 13
	 * comment, 14 default_sample_type */
	CHECK_STR_EQ("pprof", buf_text(&told),
		     "1{1=10 2=11 } 1{1=12 2=13 } 14=10 "
		     "2{1=5 1=4 1=3 1=2 1=1 2=80 2=5 } 2{1=6 1=2 1=1 2=20 2=1 } 2{1=1 2=9223372036854775807 2=0 } "
		     "4{1=1 4{1=1 } } 5{1=1 2=1 3=1 } "
		     "4{1=2 4{1=2 2=13 } } 5{1=2 2=2 3=2 4=3 } "
		     "4{1=3 4{1=3 2=142 } } 5{1=3 2=4 3=4 4=5 } "
		     "4{1=4 2=1 4{1=4 } } 5{1=4 2=6 3=6 } "
		     "4{1=5 2=2 4{1=5 } } 5{1=5 2=7 3=7 } "
		     "4{1=6 2=2 4{1=6 } } 5{1=6 2=9 3=9 } "
		     "3{1=1 5=6 7=1 8=1 9=1 10=1 } 3{1=2 5=8 7=1 8=1 9=1 10=1 } "
		     "9=1000 10=300 13=14 "
		     "'' 'python3' 'main' '/a/train.py' 'forward' '/a/net.py' '/lib/libblas.so.3' 'cudaLaunchKernel' "
		     "'/lib/libcudart.so.12' 'cudaFree' 'time' 'nanoseconds' 'count' 'count' 'calls' ");
}

/* ---- pictures ---- */

/* The text of elements, between the marks, of a picture that was made by flame_svg_append(). */
static size_t count_of(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		n++;
	return n;
}

static void svg_test(void)
{
	CLEANUP(flame_done) struct flame flame = FLAME_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	const char *text;

	fill(&flame);
	CHECK_INT_EQ("svg", flame_svg_append(&flame, &plain, &out), 0);
	text = buf_text(&out);
	CHECK_INT_EQ("boxes, with one for all", count_of(text, "<g class=\"box\""), 7);
	CHECK("the whole", strstr(text, "<g class=\"box\" data-x=\"0\" data-w=\"100\" data-d=\"0\"><title>all\n100 ns, "
					"100 %</title><rect x=\"10.00\" y=\"68\" width=\"1180.00\""));
	CHECK("the longest is first",
	      strstr(text, "data-x=\"0\" data-w=\"80\" data-d=\"3\"><title>forward (net.py:142)\n/a/net.py:142\n80 ns, "
			   "80 %</title>"));
	CHECK("the next is beside it",
	      strstr(text, "data-x=\"80\" data-w=\"20\" data-d=\"3\"><title>cudaFree\n/lib/libcudart.so.12\n20 ns, 20 "
			   "%</title><rect x=\"954.00\" y=\"119\" width=\"236.00\""));
	CHECK("its script", strstr(text, "<script><![CDATA[") && strstr(text, "]]></script>\n</svg>\n"));
	CHECK_INT_EQ("nothing is loaded: addresses are names of formats", count_of(text, "://"),
		     count_of(text, "http://www.w3.org/"));
	CHECK("no link", !strstr(text, "href") && !strstr(text, "url(") && !strstr(text, "@import") &&
				 !strstr(text, "fetch") && !strstr(text, "XMLHttp"));
}

static void svg_change_test(void)
{
	static const struct flame_frame gone[] = { PLAIN("python3"), PLAIN("gone") };
	static const struct flame_frame less[] = { PLAIN("python3"), PLAIN("less") };
	CLEANUP(flame_done) struct flame flame = FLAME_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct flame_head head = plain;
	const char *text;

	fill(&flame); /* 80 of 105 now, 5 of 20 before; 20 and 1; below: 0 and 10, 5 and 4 */
	CHECK_INT_EQ("add", flame_add(&flame, gone, ARRAY_SIZE(gone), (uint64_t[]){ 0, 10 }), 0);
	CHECK_INT_EQ("add", flame_add(&flame, less, ARRAY_SIZE(less), (uint64_t[]){ 5, 4 }), 0);
	head.before = 1;
	CHECK_INT_EQ("svg", flame_svg_append(&flame, &head, &out), 0);
	text = buf_text(&out);
	CHECK("more than before is red, the most full",
	      strstr(text, "before 6 ns, 30 %</title><rect x=\"10.00\" y=\"102\" width=\"1123.81\" height=\"16\" "
			   "fill=\"#f07878\"/>"));
	CHECK("less is blue", strstr(text, "before 4 ns, 20 %</title><rect x=\"1133.81\" y=\"102\" width=\"56.19\" "
					   "height=\"16\" fill=\"#d4d4f0\"/>"));
	CHECK("what is the same has no colour", strstr(text, "fill=\"#f0f0f0\""));
	CHECK("what is gone has no box", !strstr(text, "<title>gone"));
	CHECK("and is told", strstr(text, "stacks that are gone, 50 % of the whole before"));
}

static void svg_hostile_test(void)
{
	static const struct flame_frame frames[] = {
		FRAME("</title><script>alert(1)</script>", "/a/]]>&\"'.py", 3, "<m>", FLAME_PYTHON),
		PLAIN("\xef\xbf\xbf\x01"),
	};
	CLEANUP(flame_done) struct flame flame = FLAME_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct flame_head head = plain;
	const char *text;

	head.title = "a<b>\x07";
	head.subtitle = "&\xff";
	CHECK_INT_EQ("init", flame_init(&flame, values, 1), 0);
	CHECK_INT_EQ("add", flame_add(&flame, frames, ARRAY_SIZE(frames), (uint64_t[]){ 7 }), 0);
	CHECK_INT_EQ("svg", flame_svg_append(&flame, &head, &out), 0);
	text = buf_text(&out);
	CHECK_INT_EQ("one script", count_of(text, "<script>"), 1);
	CHECK_INT_EQ("one end of it", count_of(text, "]]>"), 1);
	CHECK("escaped",
	      strstr(text, "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; (]]&gt;&amp;&quot;'.py:3)\n"));
	CHECK("no character that XML lacks", !strstr(text, "\xef\xbf\xbf") && !strchr(text, '\x07'));
	CHECK("title", strstr(text, "<title>a&lt;b&gt;\xef\xbf\xbd</title>"));
}

/* Many boxes: those too small to see are left out, with what is below them. */
static void svg_small_test(void)
{
	CLEANUP(flame_done) struct flame flame = FLAME_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct flame_frame frames[] = { PLAIN("large"), PLAIN("x") };
	char name[16];

	CHECK_INT_EQ("init", flame_init(&flame, values, 1), 0);
	CHECK_INT_EQ("add", flame_add(&flame, frames, 1, (uint64_t[]){ 1000000 }), 0);
	for (unsigned int i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof(name), "small %u", i);
		frames[0].name = name;
		CHECK_INT_EQ("add", flame_add(&flame, frames, 2, (uint64_t[]){ 1 }), 0);
	}
	CHECK_INT_EQ("svg", flame_svg_append(&flame, &plain, &out), 0);
	CHECK_INT_EQ("boxes", count_of(buf_text(&out), "<g class=\"box\""), 2);
	CHECK_INT_EQ("texts are kept once", flame.texts.n, 5003);
}

static void depth_test(void)
{
	static struct flame_frame frames[FLAME_DEPTH_MAX + 10];
	static char name[FLAME_TEXT_BYTES + 10];
	CLEANUP(flame_done) struct flame flame = FLAME_INIT;
	CLEANUP(flame_tree_done) struct flame_tree tree = FLAME_TREE_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	memset(name, 'x', sizeof(name) - 1);
	memcpy(name + FLAME_TEXT_BYTES - 1, "\xc3\xa4", 2); /* a letter over the limit */
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i] = (struct flame_frame)PLAIN("f");
	frames[ARRAY_SIZE(frames) - 1].name = name;
	CHECK_INT_EQ("init", flame_init(&flame, values, 1), 0);
	CHECK_INT_EQ("add", flame_add(&flame, frames, ARRAY_SIZE(frames), (uint64_t[]){ 7 }), 0);
	CHECK_INT_EQ("tree", flame_tree_build(&flame, 0, FLAME_NONE, &tree), 0);
	CHECK_INT_EQ("the outermost are left out", tree.nodes.n, FLAME_DEPTH_MAX + 1);
	CHECK_INT_EQ("a text is cut before a letter", strlen(flame_text(&flame, flame.frames.items[1].name)),
		     FLAME_TEXT_BYTES - 1);
	CHECK_INT_EQ("svg", flame_svg_append(&flame, &plain, &out), 0);
}

static void empty_test(void)
{
	CLEANUP(flame_done) struct flame flame = FLAME_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	CHECK_INT_EQ("init", flame_init(&flame, values, ARRAY_SIZE(values)), 0);
	CHECK_INT_EQ("folded", flame_folded_append(&flame, &plain, &out), 0);
	CHECK_INT_EQ("nothing", out.n, 0);
	CHECK_INT_EQ("svg", flame_svg_append(&flame, &plain, &out), 0);
	CHECK_INT_EQ("speedscope", flame_speedscope_append(&flame, &plain, &out), 0);
	CHECK_INT_EQ("pprof", flame_pprof_append(&flame, &plain, &out), 0);
}

int main(void)
{
	equal_test();
	folded_test();
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++)
		hostile_folded_test(i);
	speedscope_test();
	pprof_test();
	svg_test();
	svg_change_test();
	svg_hostile_test();
	svg_small_test();
	depth_test();
	empty_test();
	return check_result();
}
