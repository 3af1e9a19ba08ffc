// SPDX-License-Identifier: Apache-2.0
#include "mcp-server/http.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/option.h"
#include "mcp-server/http_answer.h"
#include "mcp-server/method.h"
#include "mcp-server/server.h"
#include "web/certificate.h"
#include "web/file.h"
#include "web/front.h"
#include "web/listener.h"
#include "web/token.h"

#define PATH "/mcp"
#define NAME_BYTES_MAX 1024
#define TOKEN_VARIABLE "INGERO_MCP_BEARER_TOKEN"
/* More than the front lets in: the library still ends some that the front has ended. */
#define LIBRARY_CONNECTIONS_MAX (2u * (FRONT_GUESTS_MAX + FRONT_STRANGERS_MAX))

static const char add_command[] =
#define ADD_HTTP(command) command
#include "mcp-server/editors.def"
	;

struct http {
	struct workers *workers;
	struct web_token token;
	struct MHD_Daemon *library;
	char token_path[PATH_MAX]; /* "": the token is of the environment */
	char cert_path[PATH_MAX];
};

/* A request as it comes. */
struct request {
	struct buf body;
	bool is_guests; /* it has the token; a stranger's body is not kept */
};

static const char *header_of(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* ---- what headers must say ---- */

/* Bytes of a value without the blanks behind it, which belong to no value. */
static size_t value_length(const char *value)
{
	size_t n = strlen(value);

	while (n && strchr(" \t", value[n - 1]))
		n--;
	return n;
}

static bool value_is(const char *value, const char *text)
{
	return value_length(value) == strlen(text) && strncmp(value, text, strlen(text)) == 0;
}

/* Whether a media type is this one, whatever its parameters are: "application/json; charset=utf-8" */
static bool media_is(const char *value, const char *type)
{
	size_t n = strlen(type);

	return strncasecmp(value, type, n) == 0 && (!value[n] || strchr("; \t", value[n]));
}

static bool coding_is_none(const char *value)
{
	static const char none[] = "identity";

	return value_length(value) == strlen(none) && strncasecmp(value, none, strlen(none)) == 0;
}

/* Whether a list of media types has one, or anything: "application/json, text/event-stream" */
static bool media_is_listed(const char *list, const char *type)
{
	return strcasestr(list, type) || strstr(list, "*/*");
}

/* The value of Mcp-Name, which may be written as =?base64?...?=. Return: whether it is this text */
static bool name_is(const char *value, const char *text)
{
	static const char begin[] = "=?base64?", end[] = "?=";
	size_t n = value_length(value), frame = strlen(begin) + strlen(end);
	unsigned char decoded[NAME_BYTES_MAX];
	int bytes;

	if (n < frame || strncasecmp(value, begin, strlen(begin)) != 0 ||
	    memcmp(value + n - strlen(end), end, strlen(end)) != 0)
		return value_is(value, text);
	n -= frame;
	if (n % 4 || n / 4 * 3 > sizeof(decoded))
		return false;
	bytes = EVP_DecodeBlock(decoded, (const unsigned char *)value + strlen(begin), (int)n);
	for (size_t i = strlen(begin) + n; bytes > 0 && i > strlen(begin) && value[i - 1] == '='; i--)
		bytes--; /* padding was decoded, too */
	return bytes >= 0 && (size_t)bytes == strlen(text) && memcmp(decoded, text, (size_t)bytes) == 0;
}

/* What a modern request repeats in its headers. Return: NULL, or the sentence */
static const char *modern_headers_check(struct MHD_Connection *connection, const struct rpc_message *message)
{
	const char *revision = header_of(connection, "MCP-Protocol-Version");
	const char *method = header_of(connection, "Mcp-Method"), *name = header_of(connection, "Mcp-Name");
	const char *member = strcmp(message->name, "resources/read") == 0 ? "uri" : "name";
	const char *wanted = json_string_value(json_object_get(message->params, member));
	bool is_named = strcmp(message->name, "tools/call") == 0 || strcmp(message->name, "prompts/get") == 0 ||
			strcmp(message->name, "resources/read") == 0;

	if (!revision || !message->revision || !value_is(revision, message->revision))
		return "header 'MCP-Protocol-Version' is missing or differs from the message";
	if (!method || !value_is(method, message->name))
		return "header 'Mcp-Method' is missing or differs from the message";
	if (is_named && wanted && (!name || !name_is(name, wanted)))
		return "header 'Mcp-Name' is missing or differs from the message";
	return NULL;
}

/* Return: NULL, or the sentence */
static const char *legacy_headers_check(struct MHD_Connection *connection)
{
	const char *revision = header_of(connection, "MCP-Protocol-Version");

	if (!revision || value_is(revision, "2025-03-26"))
		return NULL;
	for (size_t i = 0; revisions[i]; i++)
		if (value_is(revision, revisions[i]) && !revision_is(revisions_modern, revisions[i]))
			return NULL;
	return "header 'MCP-Protocol-Version' names an unsupported revision, or another one than the message";
}

/* Which error a request gets whose headers are not those of its message. */
static enum rpc_code headers_code(struct MHD_Connection *connection, const struct rpc_message *message)
{
	const char *revision = header_of(connection, "MCP-Protocol-Version");

	if (message->era == RPC_MODERN)
		return RPC_BAD_HEADER;
	for (size_t i = 0; revision && revisions_modern[i]; i++)
		if (value_is(revision, revisions_modern[i]))
			return RPC_BAD_HEADER;
	return RPC_INVALID;
}

/* A legacy client hears of errors in replies of status 200; of what is no message, none does. */
static unsigned int refusal_status(const struct rpc_message *message)
{
	if (message->code == RPC_NOT_JSON || message->code == RPC_INVALID)
		return MHD_HTTP_BAD_REQUEST;
	if (message->era != RPC_MODERN)
		return MHD_HTTP_OK;
	return message->code == RPC_NO_METHOD ? MHD_HTTP_NOT_FOUND : MHD_HTTP_BAD_REQUEST;
}

static enum MHD_Result request_answer(struct http *http, struct rpc_message *message, struct MHD_Connection *connection)
{
	const char *sentence = message->era == RPC_MODERN ? modern_headers_check(connection, message)
							  : legacy_headers_check(connection);

	if (sentence)
		return http_reply_error(connection, MHD_HTTP_BAD_REQUEST, message->id,
					headers_code(connection, message), sentence);
	return http_answer(http->workers, message, connection);
}

/* An unsupported revision that the header does not name, too, is a wrong header. */
static enum MHD_Result refusal_answer(const struct rpc_message *message, struct buf *out,
				      struct MHD_Connection *connection)
{
	const char *revision = header_of(connection, "MCP-Protocol-Version");

	if (message->code == RPC_NO_VERSION && (!revision || !value_is(revision, message->revision)))
		return http_reply_error(connection, MHD_HTTP_BAD_REQUEST, message->id, RPC_BAD_HEADER,
					"header 'MCP-Protocol-Version' is missing or differs from the message");
	return http_reply(connection, refusal_status(message), out, NULL, NULL);
}

static enum MHD_Result message_answer(struct http *http, struct buf *body, struct MHD_Connection *connection)
{
	struct rpc_message message = RPC_MESSAGE_INIT;
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	enum MHD_Result r = MHD_NO;

	switch (rpc_read(buf_text(body), body->n, &message, &out)) {
	case RPC_REFUSED:
		r = refusal_answer(&message, &out, connection);
		break;
	case RPC_IGNORED:
	case RPC_NOTIFICATION:
		r = http_reply_nothing(connection, MHD_HTTP_ACCEPTED, NULL, NULL);
		break;
	case RPC_REQUEST:
		r = request_answer(http, &message, connection);
		break;
	}
	rpc_message_done(&message);
	return r;
}

/* ---- the library's calls ---- */

/* A refusal whose status has a header of its own. */
static enum MHD_Result http_refuse(struct MHD_Connection *connection, unsigned int status, const char *header,
				   const char *value, const char *sentence)
{
	CLEANUP(buf_done) struct buf body = BUF_INIT;

	rpc_error_append(&body, "", RPC_INVALID, sentence, "");
	return http_reply(connection, status, &body, header, value);
}

/* What is refused by its head alone. Return: whether a reply was queued, with *ret */
static bool head_refuse(const struct request *request, struct MHD_Connection *connection, const char *url,
			const char *method, enum MHD_Result *ret)
{
	const char *type = header_of(connection, "Content-Type"), *coding = header_of(connection, "Content-Encoding");
	const char *accept = header_of(connection, "Accept");

	if (strcmp(url, PATH) != 0)
		*ret = http_reply_error(connection, MHD_HTTP_NOT_FOUND, "", RPC_INVALID,
					"unknown path; send messages to " PATH);
	else if (!request->is_guests)
		*ret = http_refuse(
			connection, MHD_HTTP_UNAUTHORIZED, "WWW-Authenticate", "Bearer",
			"the token is missing or another one; send the header 'Authorization: Bearer TOKEN'");
	else if (strcmp(method, MHD_HTTP_METHOD_POST) != 0)
		*ret = http_refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Allow", MHD_HTTP_METHOD_POST,
				   "a message is a POST; this server has no stream of its own and no sessions");
	else if (!type || !media_is(type, "application/json"))
		*ret = http_reply_error(connection, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "", RPC_INVALID,
					"Content-Type is not application/json");
	else if (coding && !coding_is_none(coding))
		*ret = http_reply_error(connection, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "", RPC_INVALID,
					"Content-Encoding is not supported");
	else if (accept && !media_is_listed(accept, "application/json"))
		*ret = http_reply_error(connection, MHD_HTTP_NOT_ACCEPTABLE, "", RPC_INVALID,
					"Accept does not list application/json");
	else
		return false;
	return true;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url, const char *method,
				  const char *version, const char *upload, size_t *n_upload, void **context)
{
	struct request *request = *context;
	struct http *http = data;
	enum MHD_Result r;

	(void)version;
	if (!request) {
		request = calloc(1, sizeof(*request));
		*context = request;
		if (request)
			request->is_guests = web_token_matches(&http->token, header_of(connection, "Authorization"));
		return request ? MHD_YES : MHD_NO;
	}
	if (*n_upload) {
		/* The gate has counted it. */
		if (request->is_guests)
			(void)buf_append(&request->body, upload, *n_upload);
		*n_upload = 0;
		return MHD_YES;
	}
	if (request->body.failed)
		return MHD_NO; /* no memory: a part of a message may be another message */
	if (head_refuse(request, connection, url, method, &r))
		return r;
	return message_answer(http, &request->body, connection);
}

static void on_request_end(void *data, struct MHD_Connection *connection, void **context,
			   enum MHD_RequestTerminationCode why)
{
	struct request *request = *context;

	(void)data;
	(void)connection;
	(void)why;
	if (request)
		buf_done(&request->body);
	free(request);
	*context = NULL;
}

static bool is_guest(const char *authorization, const void *data)
{
	const struct http *http = data;

	return web_token_matches(&http->token, authorization);
}

static int connection_hand(int fd, void *data)
{
	const struct sockaddr_un pair = { .sun_family = AF_UNIX };
	struct http *http = data;

	/* It owns the descriptor, also when it fails. */
	return MHD_add_connection(http->library, fd, (const struct sockaddr *)(const void *)&pair, sizeof(pair)) ==
			       MHD_YES
		       ? 0
		       : -EAGAIN;
}

/* ---- the start ---- */

/* Names a file in "~/.ingero" of the caller. @path: PATH_MAX, for sentences */
static struct web_file kept_file(const struct web_place *place, const char *name, char *path)
{
	(void)snprintf(path, PATH_MAX, "%s/%.60s", place->path, name);
	return (struct web_file){ .directory = place->fd, .name = name, .path = path };
}

static int token_find(const struct http_wish *wish, struct http *http, char *error)
{
	CLEANUP(web_place_close) struct web_place place = WEB_PLACE_INIT;
	const char *text = getenv(TOKEN_VARIABLE);
	char why[WEB_ERROR_BYTES];
	struct web_file file;
	bool is_new;
	int r;

	if (wish->token_path) {
		(void)snprintf(http->token_path, sizeof(http->token_path), "%s", wish->token_path);
		return web_token_read(&WEB_FILE(wish->token_path), error, &http->token);
	}
	if (text && *text) {
		r = web_token_set(text, why, &http->token);
		if (r < 0)
			(void)snprintf(error, WEB_ERROR_BYTES, TOKEN_VARIABLE ": %.400s", why);
		(void)unsetenv(TOKEN_VARIABLE); /* daemons that are started need not know it */
		return r;
	}
	r = web_place_open(getenv("HOME"), error, &place);
	if (r < 0)
		return r;
	file = kept_file(&place, "mcp-token", http->token_path);
	return web_token_keep(&file, error, &http->token, &is_new);
}

static int tls_find(const struct http_wish *wish, struct http *http, char *fingerprint, SSL_CTX **ret, char *error)
{
	CLEANUP(web_place_close) struct web_place place = WEB_PLACE_INIT;
	char key_path[PATH_MAX], host[64] = "";
	struct web_file cert, key;
	int r;

	if (wish->cert_path) {
		(void)snprintf(http->cert_path, sizeof(http->cert_path), "%s", wish->cert_path);
		return web_tls_new(&WEB_FILE(wish->cert_path), &WEB_FILE(wish->key_path), error, fingerprint, ret);
	}
	r = web_place_open(getenv("HOME"), error, &place);
	if (r < 0)
		return r;
	cert = kept_file(&place, "mcp-cert.pem", http->cert_path);
	key = kept_file(&place, "mcp-key.pem", key_path);
	(void)gethostname(host, sizeof(host) - 1);
	if (strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") != strlen(host))
		host[0] = 0; /* no name for a certificate */
	r = web_certificate_keep(&cert, &key, *host ? host : NULL, error);
	return r < 0 ? r : web_tls_new(&cert, &key, error, fingerprint, ret);
}

/*
 * Where the server is, whom it answers, and how a program gets there: what nobody can be asked to guess. The address of
 * all addresses is none to connect to: clients take the name of the machine, which the certificate has.
 */
static void start_tell(const struct http *http, const struct front *front, const char *machine, bool is_all,
		       const char *fingerprint)
{
	const char *name = front_name(front), *path = http->token_path;
	char url[256], token[PATH_MAX + 16] = "$" TOKEN_VARIABLE;

	(void)snprintf(url, sizeof(url), "https://%s%s" PATH, is_all ? machine : name,
		       is_all ? strrchr(name, ':') : "");
	if (*path) {
		(void)snprintf(token, sizeof(token), "$(cat '%s')", path);
		(void)dprintf(STDERR_FILENO, "token: in %s\n", path);
	}
	(void)dprintf(STDERR_FILENO, "listening: %s\ncertificate file: %s\n", url, http->cert_path);
	if (!front_is_loopback(front))
		(void)dprintf(STDERR_FILENO,
			      "warning: other machines reach %s; whoever has the token sees what you may see\n", name);
	(void)dprintf(STDERR_FILENO,
		      "to connect: export NODE_EXTRA_CA_CERTS='%s'; %s " SERVER_NAME
		      " %s --header \"Authorization: Bearer %s\" (docs/editors.md has other programs)\n"
		      "certificate: SHA-256 %s\n",
		      http->cert_path, add_command, url, token, fingerprint);
}

/* Until SIGINT or SIGTERM, which other threads do not take. */
static int front_serve(struct http *http, const struct http_wish *wish, SSL_CTX *tls, const char *fingerprint,
		       char *error)
{
	static const char *const methods[] = { "POST", "GET", "DELETE", "OPTIONS", "HEAD", NULL };
	/* Those of loopback; of an address that others reach, that and the name of the machine; of all addresses, any.
	 */
	const char *hosts[6] = { "localhost", "127.0.0.1", "[::1]" };
	struct gate_rules rules = { .methods = methods,
				    .hosts = hosts,
				    .body_bytes_max = RPC_MESSAGE_BYTES_MAX,
				    .is_guest = is_guest,
				    .data = http };
	char machine[64] = "", bound[64] = "";
	const struct front_wish front_wish = {
		.address = wish->address, .tls = tls, .rules = &rules, .hand = connection_hand, .data = http
	};
	CLEANUP(closep) int stop = -1;
	struct front *front;
	sigset_t signals;
	int r = front_open(&front_wish, error, &front);

	if (r < 0)
		return r;
	if (!front_is_loopback(front)) {
		(void)gethostname(machine, sizeof(machine) - 1);
		(void)snprintf(bound, sizeof(bound), "%.*s", (int)(strrchr(front_name(front), ':') - front_name(front)),
			       front_name(front));
		hosts[3] = bound;
		hosts[4] = machine;
		rules.takes_addresses = strcmp(bound, "0.0.0.0") == 0 || strcmp(bound, "[::]") == 0;
	}
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	stop = signalfd(-1, &signals, SFD_CLOEXEC);
	start_tell(http, front, machine, rules.takes_addresses, fingerprint);
	r = front_run(front, stop);
	front_close(front);
	if (r < 0)
		(void)snprintf(error, WEB_ERROR_BYTES, "cannot accept connections: %s", strerror(-r));
	return r;
}

static void end_signals_block(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

int http_serve(const struct http_wish *wish, char *error)
{
	char fingerprint[WEB_FINGERPRINT_BYTES];
	struct http http = { .workers = NULL };
	SSL_CTX *tls = NULL;
	const char *fault;
	int r;

	fault = listener_address_fault(wish->address);
	if (fault) {
		(void)snprintf(error, WEB_ERROR_BYTES, "'--http' %s, not %s", fault, option_quote(wish->address).text);
		return -EINVAL;
	}
	r = token_find(wish, &http, error);
	if (r == 0)
		r = tls_find(wish, &http, fingerprint, &tls, error);
	if (r < 0)
		return r;
	end_signals_block();
	r = workers_new(wish->server, &http.workers);
	if (r == 0) {
		http.library =
			MHD_start_daemon(MHD_USE_NO_LISTEN_SOCKET | MHD_USE_THREAD_PER_CONNECTION |
						 MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC,
					 0, NULL, NULL, on_request, &http, MHD_OPTION_NOTIFY_COMPLETED, on_request_end,
					 NULL, MHD_OPTION_CONNECTION_LIMIT, LIBRARY_CONNECTIONS_MAX,
					 MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
		if (http.library)
			r = front_serve(&http, wish, tls, fingerprint, error);
		else
			r = -ENOMEM;
	}
	if (r == -ENOMEM)
		(void)snprintf(error, WEB_ERROR_BYTES, "no memory for the server");
	if (http.library)
		MHD_stop_daemon(http.library);
	if (http.workers)
		workers_free(http.workers);
	SSL_CTX_free(tls);
	return r;
}
