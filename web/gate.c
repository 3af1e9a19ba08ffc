// SPDX-License-Identifier: Apache-2.0
#include "web/gate.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define LENGTH_DIGITS_MAX 15
#define CHUNK_DIGITS_MAX 8
#define PORT_DIGITS_MAX 5
#define CHUNK_LINE_BYTES_MAX (CHUNK_DIGITS_MAX + 2)

/* A part of the head. */
struct span {
	const char *text;
	size_t n;
};

/* Headers that a request has once at most. */
static const char *const single[] = { "host",	"content-length", "transfer-encoding",
				      "origin", "authorization",  "content-type",
				      "expect", "cookie",	  "content-encoding" };
#define SINGLE_PREFIX "mcp-"

/* What the head says of the body, and which server it is meant for. */
struct head {
	struct span method;
	struct span names[GATE_HEADERS_MAX];
	size_t n_headers;
	struct span host, origin; /* without scheme and port; text NULL: none */
	struct span authorization;
	bool has_length, is_chunked;
	uint64_t length;
};

void gate_done(struct gate *gate)
{
	buf_done(&gate->line);
}

bool gate_is_between(const struct gate *gate)
{
	return gate->state == GATE_HEAD && gate->line.n == 0;
}

/* The last byte of a request has passed. */
static void request_end(struct gate *gate)
{
	gate->state = GATE_HEAD;
	gate->n_requests++;
}

static int gate_refuse(struct gate *gate, unsigned int status, const char *why)
{
	gate->state = GATE_CLOSED;
	gate->status = status;
	gate->why = why;
	return (int)status;
}

/* ---- the head ---- */

/* RFC 9110, 5.6.2 */
static bool is_token_character(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool span_is(struct span span, const char *text)
{
	return span.n == strlen(text) && strncasecmp(span.text, text, span.n) == 0;
}

static struct span span_until(struct span *rest, char c)
{
	const char *found = memchr(rest->text, c, rest->n);
	struct span span = { .text = rest->text, .n = found ? (size_t)(found - rest->text) : rest->n };
	size_t skip = span.n + (found != NULL);

	rest->text += skip;
	rest->n -= skip;
	return span;
}

static int request_line_check(struct gate *gate, struct span line, struct head *head)
{
	struct span target;
	bool is_known = false;

	head->method = span_until(&line, ' ');
	target = span_until(&line, ' ');
	if (!head->method.n || !target.n)
		return gate_refuse(gate, 400, "the request line is not METHOD TARGET HTTP/1.1");
	for (size_t i = 0; i < head->method.n; i++)
		if (!is_token_character(head->method.text[i]))
			return gate_refuse(gate, 400, "the method has a character that is not allowed");
	if (target.n > GATE_TARGET_BYTES_MAX)
		return gate_refuse(gate, 414, "the target is longer than 1024 bytes");
	if (*target.text != '/')
		return gate_refuse(gate, 400, "the target is not a path");
	for (size_t i = 0; i < target.n; i++)
		if (target.text[i] <= ' ' || target.text[i] > '~')
			return gate_refuse(gate, 400, "the target has a character that must be escaped");
		else if (target.n - i >= 3 && memcmp(target.text + i, "%00", 3) == 0)
			return gate_refuse(gate, 400, "the target has a NUL byte");
	if (line.n != strlen("HTTP/1.1") || memcmp(line.text, "HTTP/", 5) != 0 ||
	    !isdigit((unsigned char)line.text[5]) || line.text[6] != '.' || !isdigit((unsigned char)line.text[7]))
		return gate_refuse(gate, 400, "the request line is not METHOD TARGET HTTP/1.1");
	if (memcmp(line.text, "HTTP/1.1", line.n) != 0)
		return gate_refuse(gate, 505, "only HTTP/1.1 is supported");
	for (size_t i = 0; gate->rules->methods[i]; i++)
		is_known |= head->method.n == strlen(gate->rules->methods[i]) &&
			    memcmp(head->method.text, gate->rules->methods[i], head->method.n) == 0;
	return is_known ? 0 : gate_refuse(gate, 405, "this method is not supported");
}

static bool is_port(struct span text)
{
	unsigned int port = 0;

	for (size_t i = 0; i < text.n && i < PORT_DIGITS_MAX; i++) {
		if (!isdigit((unsigned char)text.text[i]))
			return false;
		port = port * 10 + (unsigned int)(text.text[i] - '0');
	}
	return text.n && text.n <= PORT_DIGITS_MAX && port <= UINT16_MAX;
}

/* Splits the port off: "localhost:8080", "[::1]". Return: whether what follows the host is a port, or nothing */
static bool host_split(struct span whole, struct span *ret_host)
{
	size_t n = 0;

	if (whole.n && *whole.text == '[')
		while (n < whole.n && whole.text[n - (n > 0)] != ']')
			n++;
	else
		while (n < whole.n && whole.text[n] != ':')
			n++;
	if (!n || (n < whole.n && (whole.text[n] != ':' ||
				   !is_port((struct span){ .text = whole.text + n + 1, .n = whole.n - n - 1 }))))
		return false;
	*ret_host = (struct span){ .text = whole.text, .n = n };
	return true;
}

static bool host_is_listed(const struct gate *gate, struct span host)
{
	for (size_t i = 0; gate->rules->hosts[i]; i++)
		if (span_is(host, gate->rules->hosts[i]))
			return true;
	return false;
}

static bool host_is_address(struct span host)
{
	bool is_v6 = host.n > 2 && *host.text == '[' && host.text[host.n - 1] == ']';
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;
	size_t n = is_v6 ? host.n - 2 : host.n;

	if (n >= sizeof(text))
		return false;
	memcpy(text, host.text + is_v6, n);
	text[n] = 0;
	return inet_pton(is_v6 ? AF_INET6 : AF_INET, text, &address) == 1;
}

static int host_read(struct gate *gate, struct span value, struct head *head)
{
	if (host_split(value, &head->host) &&
	    (host_is_listed(gate, head->host) || (gate->rules->takes_addresses && host_is_address(head->host))))
		return 0;
	return gate_refuse(gate, 403, "Host is not a name of this server");
}

static int origin_read(struct gate *gate, struct span value, struct head *head)
{
	static const char *const schemes[] = { "https://", "http://" };

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t n = strlen(schemes[i]);

		if (value.n > n && strncasecmp(value.text, schemes[i], n) == 0 &&
		    host_split((struct span){ value.text + n, value.n - n }, &head->origin))
			return 0;
	}
	return gate_refuse(gate, 403, "Origin is a page of another server"); /* "null", too: a page of nowhere */
}

/* Host may follow Origin: with the whole head. */
static bool origin_is_ours(const struct gate *gate, const struct head *head)
{
	bool is_host =
		head->origin.n == head->host.n && strncasecmp(head->origin.text, head->host.text, head->host.n) == 0;

	return host_is_listed(gate, head->origin) || (gate->rules->takes_addresses && is_host);
}

static int length_read(struct gate *gate, struct span value, struct head *head)
{
	if (!value.n || value.n > LENGTH_DIGITS_MAX)
		return gate_refuse(gate, value.n ? 413 : 400, "Content-Length is empty, or too large");
	for (size_t i = 0; i < value.n; i++) {
		if (!isdigit((unsigned char)value.text[i]))
			return gate_refuse(gate, 400, "Content-Length is not a number");
		head->length = head->length * 10 + (uint64_t)(value.text[i] - '0');
	}
	head->has_length = true;
	return 0;
}

static int header_take(struct gate *gate, struct span name, struct span value, struct head *head)
{
	if (span_is(name, "host"))
		return host_read(gate, value, head);
	if (span_is(name, "origin"))
		return origin_read(gate, value, head);
	if (span_is(name, "content-length"))
		return length_read(gate, value, head);
	if (span_is(name, "authorization"))
		head->authorization = value;
	if (span_is(name, "transfer-encoding")) {
		head->is_chunked = true;
		return span_is(value, "chunked") ? 0 : gate_refuse(gate, 400, "Transfer-Encoding is not 'chunked'");
	}
	return 0;
}

static bool is_single(struct span name)
{
	for (size_t i = 0; i < ARRAY_SIZE(single); i++)
		if (span_is(name, single[i]))
			return true;
	return name.n >= strlen(SINGLE_PREFIX) && strncasecmp(name.text, SINGLE_PREFIX, strlen(SINGLE_PREFIX)) == 0;
}

static bool name_was_there(const struct head *head, struct span name)
{
	for (size_t i = 0; i < head->n_headers; i++)
		if (head->names[i].n == name.n && strncasecmp(head->names[i].text, name.text, name.n) == 0)
			return true;
	return false;
}

static int header_line_check(struct gate *gate, struct span line, struct head *head)
{
	struct span name;

	if (*line.text == ' ' || *line.text == '\t')
		return gate_refuse(gate, 400, "a header is folded over two lines");
	name = span_until(&line, ':');
	if (!name.n || name.text + name.n == line.text)
		return gate_refuse(gate, 400, "a header has no name, or no colon");
	for (size_t i = 0; i < name.n; i++)
		if (!is_token_character(name.text[i]))
			return gate_refuse(gate, 400, "the name of a header has a character that is not allowed");
	for (size_t i = 0; i < line.n; i++)
		if ((line.text[i] < ' ' && line.text[i] != '\t') || line.text[i] > '~')
			return gate_refuse(gate, 400, "a header has a character that is not printable ASCII");
	while (line.n && strchr(" \t", *line.text)) {
		line.text++;
		line.n--;
	}
	while (line.n && strchr(" \t", line.text[line.n - 1]))
		line.n--;
	if (is_single(name) && name_was_there(head, name))
		return gate_refuse(gate, 400, "a header is repeated that may be sent only once");
	if (head->n_headers == GATE_HEADERS_MAX)
		return gate_refuse(gate, 431, "more than 64 headers");
	head->names[head->n_headers++] = name;
	return header_take(gate, name, line, head);
}

/* The whole head came: its last line is empty. Return: 0, or the status of a refusal */
static int head_check(struct gate *gate, struct head *head)
{
	struct span rest = { .text = (const char *)gate->line.data, .n = gate->line.n - 4 };
	bool is_first = true;
	int r = 0;

	while (r == 0 && (rest.n || is_first)) {
		struct span line = span_until(&rest, '\r');

		if (rest.n) {
			rest.text++; /* its line feed: lines were checked as they came */
			rest.n--;
		}
		if (!line.n)
			return gate_refuse(gate, 400, "a line is empty");
		r = is_first ? request_line_check(gate, line, head) : header_line_check(gate, line, head);
		is_first = false;
	}
	if (r)
		return r;
	if (!head->host.text)
		return gate_refuse(gate, 400, "Host is missing");
	if (head->origin.text && !origin_is_ours(gate, head))
		return gate_refuse(gate, 403, "Origin is a page of another server");
	if (head->has_length && head->is_chunked)
		return gate_refuse(gate, 400, "Content-Length and Transfer-Encoding exclude each other");
	if (span_is(head->method, "POST")) {
		if (!head->has_length && !head->is_chunked)
			return gate_refuse(gate, 411, "POST needs Content-Length");
	} else if (head->length || head->is_chunked) {
		return gate_refuse(gate, 400, "only POST may have a body");
	}
	if (head->length > gate->rules->body_bytes_max)
		return gate_refuse(gate, 413, "the body is too large");
	return 0;
}

static bool head_is_guest(const struct gate *gate, const struct head *head)
{
	char text[GATE_AUTHORIZATION_BYTES_MAX + 1];

	if (!gate->rules->is_guest || !head->authorization.n || head->authorization.n >= sizeof(text))
		return false;
	memcpy(text, head->authorization.text, head->authorization.n);
	text[head->authorization.n] = 0;
	return gate->rules->is_guest(text, gate->rules->data);
}

/* Takes a byte of a line; every line ends in CR LF, and neither stands elsewhere. Return: 0, or the status */
static int line_byte_take(struct gate *gate, char c, size_t most, unsigned int status)
{
	bool is_after_cr = gate->line.n && gate->line.data[gate->line.n - 1] == '\r';

	if ((c == '\n') != is_after_cr)
		return gate_refuse(gate, 400, "a line does not end in CR LF");
	if (!c)
		return gate_refuse(gate, 400, "a line has a NUL byte");
	if (gate->line.n >= most)
		return gate_refuse(gate, status, "the head is too large");
	return buf_append(&gate->line, &c, 1) < 0 ? -ENOMEM : 0;
}

static bool line_ends_in(const struct gate *gate, const char *end)
{
	size_t n = strlen(end);

	return gate->line.n >= n && memcmp(gate->line.data + gate->line.n - n, end, n) == 0;
}

static int head_byte_take(struct gate *gate, char c, struct buf *out)
{
	struct head head = { .length = 0 };
	int r = line_byte_take(gate, c, GATE_HEAD_BYTES_MAX, 431);

	if (r)
		return r;
	if (line_ends_in(gate, "\r\n") && gate->line.n == 2)
		return gate_refuse(gate, 400, "an empty line before the request");
	if (!line_ends_in(gate, "\r\n\r\n"))
		return 0;
	r = head_check(gate, &head);
	if (r)
		return r;
	if (buf_append(out, gate->line.data, gate->line.n) < 0)
		return -ENOMEM;
	gate->has_guest |= head_is_guest(gate, &head);
	gate->line.n = 0;
	gate->body_left = head.length;
	gate->body_bytes = 0;
	if (head.is_chunked || head.length)
		gate->state = head.is_chunked ? GATE_CHUNK_SIZE : GATE_BODY;
	else
		request_end(gate);
	return 0;
}

/* ---- chunks ---- */

/* Digits alone: what may follow them, nobody needs. */
static int chunk_size_read(struct gate *gate)
{
	size_t n = gate->line.n - 2;
	uint64_t size = 0;

	if (!n)
		return gate_refuse(gate, 400, "a chunk has no size");
	for (size_t i = 0; i < n; i++) {
		char c = (char)gate->line.data[i];

		if (!isxdigit((unsigned char)c))
			return gate_refuse(gate, 400, "the size of a chunk is not a hexadecimal number");
		size = size * 16 + (uint64_t)(isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	gate->body_bytes += size;
	if (gate->body_bytes > gate->rules->body_bytes_max)
		return gate_refuse(gate, 413, "the body is too large");
	gate->body_left = size;
	gate->state = size ? GATE_CHUNK : GATE_LAST_END;
	return 0;
}

/* A line of the framing between chunks: a size, or nothing. */
static int chunk_byte_take(struct gate *gate, char c, struct buf *out)
{
	bool is_size = gate->state == GATE_CHUNK_SIZE, is_last = gate->state == GATE_LAST_END;
	int r = line_byte_take(gate, c, CHUNK_LINE_BYTES_MAX, 400);

	if (r)
		return r;
	if (!line_ends_in(gate, "\r\n"))
		return 0;
	if (is_size)
		r = chunk_size_read(gate);
	else if (gate->line.n != 2)
		r = gate_refuse(gate, 400, is_last ? "trailers are not supported" : "a chunk is longer than its size");
	if (r)
		return r;
	if (buf_append(out, gate->line.data, gate->line.n) < 0)
		return -ENOMEM;
	gate->line.n = 0;
	if (is_last)
		request_end(gate);
	else if (!is_size)
		gate->state = GATE_CHUNK_SIZE;
	return 0;
}

/* Return: bytes taken */
static size_t body_pass(struct gate *gate, const char *data, size_t n, struct buf *out)
{
	size_t taken = MIN(n, gate->body_left);

	(void)buf_append(out, data, taken);
	gate->body_left -= taken;
	if (!gate->body_left && gate->state == GATE_CHUNK)
		gate->state = GATE_CHUNK_END;
	else if (!gate->body_left)
		request_end(gate);
	return taken;
}

int gate_feed(struct gate *gate, const char *data, size_t n, struct buf *out)
{
	size_t i = 0;
	int r = 0;

	while (r == 0 && i < n) {
		switch (gate->state) {
		case GATE_HEAD:
			r = head_byte_take(gate, data[i++], out);
			break;
		case GATE_BODY:
		case GATE_CHUNK:
			i += body_pass(gate, data + i, n - i, out);
			break;
		case GATE_CHUNK_SIZE:
		case GATE_CHUNK_END:
		case GATE_LAST_END:
			r = chunk_byte_take(gate, data[i++], out);
			break;
		case GATE_CLOSED:
			return (int)gate->status;
		}
	}
	return r == 0 && out->failed ? -ENOMEM : r;
}

/* ---- refusals ---- */

static const char *status_reason(unsigned int status)
{
	switch (status) {
	case 403:
		return "Forbidden";
	case 405:
		return "Method Not Allowed";
	case 411:
		return "Length Required";
	case 413:
		return "Content Too Large";
	case 414:
		return "URI Too Long";
	case 431:
		return "Request Header Fields Too Large";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Bad Request";
	}
}

void gate_refusal_append(const struct gate *gate, struct buf *out)
{
	(void)buf_printf(out, "HTTP/1.1 %u %s\r\n", gate->status, status_reason(gate->status));
	if (gate->status == 405) {
		(void)buf_append_text(out, "Allow: ");
		for (size_t i = 0; gate->rules->methods[i]; i++)
			(void)buf_printf(out, "%s%s", i ? ", " : "", gate->rules->methods[i]);
		(void)buf_append_text(out, "\r\n");
	}
	(void)buf_printf(
		out,
		"Content-Type: text/plain\r\nContent-Length: %zu\r\nConnection: close\r\nCache-Control: no-store\r\n"
		"X-Content-Type-Options: nosniff\r\n\r\n%s\n",
		strlen(gate->why) + 1, gate->why);
}
