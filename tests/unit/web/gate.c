// SPDX-License-Identifier: Apache-2.0
/* What passes the gate, to the byte, however it is cut into pieces; and how everything else is refused. */
#include "web/gate.h"

#include <errno.h>

#include "tests/support/check.h"

static const char *const methods[] = { "POST", "GET", "DELETE", NULL };
static const char *const hosts[] = { "localhost", "127.0.0.1", "[::1]", NULL };
static const struct gate_rules rules = { .methods = methods, .hosts = hosts, .body_bytes_max = 1000 };

static const struct gate_rules wide_rules = {
	.methods = methods, .hosts = hosts, .body_bytes_max = 1000, .takes_addresses = true
};

#define HOST "Host: localhost\r\n"
#define POST "POST /mcp HTTP/1.1\r\n" HOST
#define GET "GET / HTTP/1.1\r\n" HOST

static const struct {
	const char *name, *bytes;
	int status; /* 0: all of it passes */
} cases[] = {
	{ "GET", GET "\r\n", 0 },
	{ "POST", POST "Content-Length: 4\r\n\r\nabcd", 0 },
	{ "POST of nothing", POST "Content-Length: 0\r\n\r\n", 0 },
	{ "chunks", POST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", 0 },
	{ "chunks, in capitals", POST "TRANSFER-ENCODING: Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 0 },
	{ "two requests", GET "\r\n" POST "Content-Length: 1\r\n\r\nx" GET "\r\n", 0 },
	{ "behind chunks", POST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" GET "\r\n", 0 },
	{ "blanks around a value", GET "Accept: \t a/b \t\r\n\r\n", 0 },
	{ "no value", GET "Accept:\r\n\r\n", 0 },
	{ "a header twice that may", GET "Accept: a/b\r\nAccept: c/d\r\n\r\n", 0 },
	{ "a port", "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", 0 },
	{ "IPv6", "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", 0 },
	{ "IPv6 without a port", "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", 0 },
	{ "capitals in the host", "GET / HTTP/1.1\r\nhOST: LocalHost\r\n\r\n", 0 },
	{ "our origin", GET "Origin: https://localhost:8080\r\n\r\n", 0 },
	{ "zeroes before a length", POST "Content-Length: 0001\r\n\r\na", 0 },
	/* framing */
	{ "two lengths", POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", 400 },
	{ "a list of lengths", POST "Content-Length: 1, 1\r\n\r\na", 400 },
	{ "length and chunks", POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
	{ "chunks and length", POST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", 400 },
	{ "another coding", POST "Transfer-Encoding: gzip\r\n\r\n", 400 },
	{ "two codings", POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 400 },
	{ "coding twice", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
	{ "a sign", POST "Content-Length: +1\r\n\r\na", 400 },
	{ "hexadecimal", POST "Content-Length: 0x1\r\n\r\na", 400 },
	{ "negative", POST "Content-Length: -1\r\n\r\na", 400 },
	{ "no number", POST "Content-Length:\r\n\r\n", 400 },
	{ "no length", POST "\r\n", 411 },
	{ "too long", POST "Content-Length: 1001\r\n\r\n", 413 },
	{ "far too long", POST "Content-Length: 99999999999999999999\r\n\r\n", 413 },
	{ "a body of GET", GET "Content-Length: 1\r\n\r\na", 400 },
	{ "chunks of GET", GET "Transfer-Encoding: chunked\r\n\r\n", 400 },
	{ "chunks that are too long", POST "Transfer-Encoding: chunked\r\n\r\n3E9\r\n", 413 },
	{ "a chunk without a size", POST "Transfer-Encoding: chunked\r\n\r\n\r\n", 400 },
	{ "an extension of a chunk", POST "Transfer-Encoding: chunked\r\n\r\n1;a=b\r\n", 400 },
	{ "a long size", POST "Transfer-Encoding: chunked\r\n\r\n000000000001\r\n", 400 },
	{ "a chunk beyond its size", POST "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400 },
	{ "trailers", POST "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n", 400 },
	{ "line feed behind a size", POST "Transfer-Encoding: chunked\r\n\r\n1\na\r\n", 400 },
	/* lines */
	{ "folded", GET "A: b\r\n c\r\n\r\n", 400 },
	{ "folded with a tab", GET "A: b\r\n\tc\r\n\r\n", 400 },
	{ "line feeds", "GET / HTTP/1.1\nHost: localhost\n\n", 400 },
	{ "one line feed", GET "A: b\nC: d\r\n\r\n", 400 },
	{ "one carriage return", GET "A: b\rC: d\r\n\r\n", 400 },
	{ "an empty line before", "\r\n" GET "\r\n", 400 },
	{ "a blank before the colon", GET "A : b\r\n\r\n", 400 },
	{ "no colon", GET "Abc\r\n\r\n", 400 },
	{ "no name", GET ": b\r\n\r\n", 400 },
	{ "a control character", GET "A: b\x01\r\n\r\n", 400 },
	{ "beyond ASCII", GET "A: \xc3\xa9\r\n\r\n", 400 },
	{ "a name beyond ASCII", GET "\xc3\xa9: b\r\n\r\n", 400 },
	/* the request line */
	{ "no target", "GET HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "two blanks", "GET  / HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "a blank in the target", "GET /a b HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "an absolute target", "GET http://localhost/ HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "an escaped NUL byte", "GET /mcp%00x HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "one at the end", "GET /mcp%00 HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "an escape at the end", "GET /mcp%0 HTTP/1.1\r\n" HOST "\r\n", 0 },
	{ "another escape", "GET /mcp%20 HTTP/1.1\r\n" HOST "\r\n", 0 },
	{ "a star", "GET * HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "HTTP/1.0", "GET / HTTP/1.0\r\n" HOST "\r\n", 505 },
	{ "HTTP/2", "GET / HTTP/2.0\r\n" HOST "\r\n", 505 },
	{ "no version", "GET /\r\n" HOST "\r\n", 400 },
	{ "small letters", "GET / http/1.1\r\n" HOST "\r\n", 400 },
	{ "another method", "PUT / HTTP/1.1\r\n" HOST "\r\n", 405 },
	{ "methods have capitals", "get / HTTP/1.1\r\n" HOST "\r\n", 405 },
	{ "no method at all", "G(T / HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "another protocol", "\x16\x03\x01\x02", 0 }, /* waits for more, as any beginning of a line */
	/* for whom */
	{ "no host", "GET / HTTP/1.1\r\n\r\n", 400 },
	{ "two hosts", GET HOST "\r\n", 400 },
	{ "a foreign host", "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", 403 },
	{ "a host that begins as ours", "GET / HTTP/1.1\r\nHost: localhost.example.com\r\n\r\n", 403 },
	{ "an empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 403 },
	{ "a port that is too large", "GET / HTTP/1.1\r\nHost: localhost:65536\r\n\r\n", 403 },
	{ "the largest port", "GET / HTTP/1.1\r\nHost: localhost:65535\r\n\r\n", 0 },
	{ "a longer port", "GET / HTTP/1.1\r\nHost: localhost:000080\r\n\r\n", 403 },
	{ "a port that is none", "GET / HTTP/1.1\r\nHost: localhost:x\r\n\r\n", 403 },
	{ "no port behind the colon", "GET / HTTP/1.1\r\nHost: localhost:\r\n\r\n", 403 },
	{ "a user", "GET / HTTP/1.1\r\nHost: a@localhost\r\n\r\n", 403 },
	{ "IPv6 that goes on", "GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n", 403 },
	{ "a foreign origin", GET "Origin: https://example.com\r\n\r\n", 403 },
	{ "an origin of nowhere", GET "Origin: null\r\n\r\n", 403 },
	{ "an origin without a scheme", GET "Origin: localhost\r\n\r\n", 403 },
	{ "two origins", GET "Origin: https://localhost\r\nOrigin: https://localhost\r\n\r\n", 400 },
	{ "two tokens", GET "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n", 400 },
	{ "two codings", GET "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n\r\n", 400 },
	{ "two of the protocol's", GET "Mcp-Method: a\r\nMCP-METHOD: b\r\n\r\n", 400 },
};

/* Where the server listens on all addresses. */
static const struct {
	const char *name, *headers;
	int status;
} wide_cases[] = {
	{ "a name", "Host: localhost\r\n", 0 },
	{ "an address", "Host: 192.0.2.7:8080\r\n", 0 },
	{ "an address of IPv6", "Host: [2001:db8::7]:8080\r\n", 0 },
	{ "a foreign name", "Host: example.com\r\n", 403 },
	{ "a name that begins as an address", "Host: 192.0.2.7.example.com\r\n", 403 },
	{ "a number that is no address", "Host: 192.0.2.777\r\n", 403 },
	{ "an address in the wrong brackets", "Host: [192.0.2.7]\r\n", 403 },
	{ "IPv6 without brackets", "Host: 2001:db8::7\r\n", 403 },
	{ "brackets that do not end", "Host: [2001:db8::7\r\n", 403 },
	{ "a long address", "Host: 0000000000000000000000000000000000000000000000000000192.0.2.7\r\n", 403 },
	{ "a page of the same address", "Host: 192.0.2.7:8080\r\nOrigin: https://192.0.2.7:8080\r\n", 0 },
	{ "its origin before it", "Origin: https://192.0.2.7:8080\r\nHost: 192.0.2.7:8080\r\n", 0 },
	{ "a page of another address", "Host: 192.0.2.7\r\nOrigin: https://192.0.2.8\r\n", 403 },
	{ "a page of an address that the other begins with", "Host: 192.0.2.70\r\nOrigin: https://192.0.2.7\r\n", 403 },
	{ "a page of a foreign name", "Host: 192.0.2.7\r\nOrigin: https://example.com\r\n", 403 },
};

/* In pieces of so many bytes. Return: the status; 0: everything passed that came */
static int feed_to(const struct gate_rules *to, const char *bytes, size_t n, size_t piece, struct buf *out)
{
	struct gate gate = GATE_INIT(to);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i += piece)
		r = gate_feed(&gate, bytes + i, MIN(piece, n - i), out);
	if (r) {
		CLEANUP(buf_done) struct buf refusal = BUF_INIT, none = BUF_INIT;

		CHECK_INT_EQ("nothing passes any more", gate_feed(&gate, GET "\r\n", strlen(GET "\r\n"), &none), r);
		CHECK_INT_EQ("nothing passes any more", none.n, 0);
		gate_refusal_append(&gate, &refusal);
		CHECK("an answer that closes", strstr(buf_text(&refusal), "Connection: close\r\n"));
	}
	gate_done(&gate);
	return r;
}

static int feed(const char *bytes, size_t n, size_t piece, struct buf *out)
{
	return feed_to(&rules, bytes, n, piece, out);
}

static void addresses_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(wide_cases); i++) {
		CLEANUP(buf_done) struct buf text = BUF_INIT, out = BUF_INIT;

		(void)buf_printf(&text, "GET / HTTP/1.1\r\n%s\r\n", wide_cases[i].headers);
		CHECK_INT_EQ(wide_cases[i].name, feed_to(&wide_rules, buf_text(&text), text.n, text.n, &out),
			     wide_cases[i].status);
	}
}

static void sizes_test(void)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT, out = BUF_INIT;

	(void)buf_append_text(&text, GET "A: ");
	while (text.n < GATE_HEAD_BYTES_MAX - 4)
		(void)buf_append_text(&text, "a");
	(void)buf_append_text(&text, "\r\n\r\n");
	CHECK_INT_EQ("the largest head", feed(buf_text(&text), text.n, text.n, &out), 0);
	text.n -= 4;
	(void)buf_append_text(&text, "a\r\n\r\n");
	CHECK_INT_EQ("a larger one", feed(buf_text(&text), text.n, text.n, &out), 431);

	text.n = 0;
	(void)buf_append_text(&text, "GET /");
	for (int i = 0; i < GATE_TARGET_BYTES_MAX; i++)
		(void)buf_append_text(&text, "a");
	(void)buf_append_text(&text, " HTTP/1.1\r\n" HOST "\r\n");
	CHECK_INT_EQ("a long target", feed(buf_text(&text), text.n, text.n, &out), 414);

	text.n = 0;
	(void)buf_append_text(&text, GET);
	for (int i = 0; i < GATE_HEADERS_MAX; i++)
		(void)buf_printf(&text, "A%d: b\r\n", i);
	(void)buf_append_text(&text, "\r\n");
	CHECK_INT_EQ("many headers", feed(buf_text(&text), text.n, text.n, &out), 431);
}

#define BODIES POST "Content-Length: 1\r\n\r\nx" POST "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
#define UNFINISHED POST "Content-Length: 1\r\n\r\n"

static void between_test(void)
{
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	struct gate gate = GATE_INIT(&rules);

	CHECK("at the beginning", gate_is_between(&gate));
	CHECK_INT_EQ("a part", gate_feed(&gate, "GET", 3, &out), 0);
	CHECK("in a head", !gate_is_between(&gate) && !out.n);
	CHECK_INT_EQ("the rest",
		     gate_feed(&gate, " / HTTP/1.1\r\n" HOST "\r\n", strlen(" / HTTP/1.1\r\n" HOST "\r\n"), &out), 0);
	CHECK("behind a request", gate_is_between(&gate) && out.n);
	CHECK_INT_EQ("one request", gate.n_requests, 1);
	CHECK_INT_EQ("two more", gate_feed(&gate, BODIES, strlen(BODIES), &out), 0);
	CHECK_INT_EQ("each counts once its body has passed", gate.n_requests, 3);
	CHECK_INT_EQ("a head", gate_feed(&gate, UNFINISHED, strlen(UNFINISHED), &out), 0);
	CHECK_INT_EQ("does not count alone", gate.n_requests, 3);
	CHECK_INT_EQ("its body", gate_feed(&gate, "x", 1, &out), 0);
	CHECK_INT_EQ("and now it does", gate.n_requests, 4);
	CHECK_INT_EQ("a NUL byte", gate_feed(&gate, "G\0", 2, &out), 400);
	gate_done(&gate);
}

static bool is_guest(const char *authorization, const void *data)
{
	return strcmp(authorization, data) == 0;
}

static void guest_test(void)
{
	static const struct {
		const char *name, *bytes;
		bool is_guest;
	} guests[] = {
		{ "no header", GET "\r\n", false },
		{ "its value", GET "Authorization: Bearer a\r\n\r\n", true },
		{ "blanks around it", GET "authorization: \t Bearer a \r\n\r\n", true },
		{ "another", GET "Authorization: Bearer b\r\n\r\n", false },
		{ "nothing", GET "Authorization:\r\n\r\n", false },
		{ "another header", GET "X-Authorization: Bearer a\r\n\r\n", false },
		{ "a head that has not ended", GET "Authorization: Bearer a\r\n", false },
		{ "a head that is refused", GET "Authorization: Bearer a\r\nHost: localhost\r\n\r\n", false },
		{ "a body that is still to come", POST "Authorization: Bearer a\r\nContent-Length: 1\r\n\r\n", true },
		{ "a stranger's request behind it", GET "Authorization: Bearer a\r\n\r\n" GET "\r\n", true },
	};
	struct gate_rules with = rules;
	CLEANUP(buf_done) struct buf text = BUF_INIT, out = BUF_INIT;
	struct gate gate;

	with.is_guest = is_guest;
	with.data = "Bearer a";
	for (size_t i = 0; i < ARRAY_SIZE(guests); i++) {
		gate = (struct gate)GATE_INIT(&with);
		(void)gate_feed(&gate, guests[i].bytes, strlen(guests[i].bytes), &out);
		CHECK_INT_EQ(guests[i].name, gate.has_guest, guests[i].is_guest);
		gate_done(&gate);
	}
	(void)buf_append_text(&text, GET "Authorization: ");
	while (text.n < GATE_HEAD_BYTES_MAX - 4)
		(void)buf_append_text(&text, "a");
	(void)buf_append_text(&text, "\r\n\r\n");
	gate = (struct gate)GATE_INIT(&with);
	CHECK_INT_EQ("a long value passes", gate_feed(&gate, buf_text(&text), text.n, &out), 0);
	CHECK("and is nobody's", !gate.has_guest);
	gate_done(&gate);
}

int main(void)
{
	static const size_t pieces[] = { 1, 2, 3, 7, 10000 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t k = 0; k < ARRAY_SIZE(pieces); k++) {
			CLEANUP(buf_done) struct buf out = BUF_INIT;
			size_t n = strlen(cases[i].bytes);

			CHECK_INT_EQ(cases[i].name, feed(cases[i].bytes, n, pieces[k], &out), cases[i].status);
			if (cases[i].status == 0 && strstr(cases[i].bytes, "\r\n\r\n"))
				CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].bytes);
		}
	addresses_test();
	sizes_test();
	between_test();
	guest_test();
	return check_result();
}
