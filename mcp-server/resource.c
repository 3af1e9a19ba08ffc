// SPDX-License-Identifier: Apache-2.0
/*
 * Resources: pages of the documentation, the latest report, and what an id names. A resource with data is the answer of
 * a tool, cleaned and framed as every answer is.
 */
#include <errno.h>
#include <string.h>

#include "base/json_text.h"
#include "base/option.h"
#include "mcp-server/method.h"
#include "mcp-server/page.h"
#include "mcp-server/tool.h"
#include "mcp-server/tsc.h"
#ifdef INGERO_MCP_FIXTURES
#include "mcp-server/fixtures/fixtures.h"
#endif

#define SCHEME "ingero://"
#define PAGES SCHEME "docs/"
#define TSC_PAGE "tsc"
#define URI_SAID_MAX 2048 /* bytes of an unknown URI that its error repeats whole */

/* Resources that a tool answers. */
static const struct live {
	const char *uri; /* with the id behind it, if there is a key */
	const char *name;
	const char *title;
	const char *tool;
	const char *key; /* argument that gets the id; NULL: none */
	const char *ids; /* who has them */
} lives[] = {
	{ SCHEME "report/latest", "latest-report", "What went wrong in the last five minutes", "explain", NULL, NULL },
	{ SCHEME "finding/", "finding", "Everything about one finding", "explain", "id",
	  "'findings' of explain have the ids" },
	{ SCHEME "call/", "call", "One recorded call", "explain_call", "id",
	  "'examples' of a finding, and the column id of events, have the ids" },
};

static void resource_begin(struct writer *w, const char *name, const char *title, const char *mime)
{
	writer_text(w, "name", name);
	writer_text(w, "title", title);
	writer_text(w, "mimeType", mime);
}

/* The title of a page: its first line without the sign. */
static void docs_page_write(const struct page *page, struct writer *w)
{
	size_t n = strcspn(page->text, "\n"), skip = strspn(page->text, "# ");
	char uri[256], title[128];

	(void)snprintf(uri, sizeof(uri), PAGES "%s", page->name);
	(void)snprintf(title, sizeof(title), "%.*s", (int)(n > skip ? n - skip : 0), page->text + skip);
	writer_open(w, NULL, '{');
	writer_text(w, "uri", uri);
	resource_begin(w, page->name, title, "text/markdown");
	writer_integer(w, "size", (int64_t)page->n);
	writer_close(w, '}');
}

/* The page that is written from tables of the program. */
static void tsc_page_write(struct writer *w)
{
	CLEANUP(buf_done) struct buf text = BUF_INIT;
	struct page page = { .name = TSC_PAGE };

	tsc_page_append(&text);
	page.text = buf_text(&text);
	page.n = text.n;
	docs_page_write(&page, w);
}

int method_resources_list(struct rpc_call *call, struct writer *result)
{
	int r = rpc_cursor_refuse(call);

	if (r < 0)
		return r;
	writer_open(result, "resources", '[');
	for (size_t i = 0; i < ARRAY_SIZE(lives); i++) {
		if (lives[i].key)
			continue;
		writer_open(result, NULL, '{');
		writer_text(result, "uri", lives[i].uri);
		resource_begin(result, lives[i].name, lives[i].title, "text/plain");
		writer_close(result, '}');
	}
	for (size_t i = 0; i < n_pages; i++)
		docs_page_write(&pages[i], result);
	tsc_page_write(result);
#ifdef INGERO_MCP_FIXTURES
	fixture_resources_write(result);
#endif
	writer_close(result, ']');
	return 0;
}

int method_resources_templates(struct rpc_call *call, struct writer *result)
{
	char uri[256];
	int r = rpc_cursor_refuse(call);

	if (r < 0)
		return r;
	writer_open(result, "resourceTemplates", '[');
	for (size_t i = 0; i < ARRAY_SIZE(lives); i++) {
		if (!lives[i].key)
			continue;
		(void)snprintf(uri, sizeof(uri), "%s{%s}", lives[i].uri, lives[i].key);
		writer_open(result, NULL, '{');
		writer_text(result, "uriTemplate", uri);
		resource_begin(result, lives[i].name, lives[i].title, "text/plain");
		writer_close(result, '}');
	}
#ifdef INGERO_MCP_FIXTURES
	fixture_templates_write(result);
#endif
	writer_close(result, ']');
	return 0;
}

static void contents_write(struct writer *result, const char *uri, const char *mime, const char *text, size_t n)
{
	writer_open(result, "contents", '[');
	writer_open(result, NULL, '{');
	writer_text(result, "uri", uri);
	writer_text(result, "mimeType", mime);
	writer_text_n(result, "text", text, n);
	writer_close(result, '}');
	writer_close(result, ']');
}

/* @way_out: completes the sentence */
static int not_found(struct rpc_call *call, const char *uri, const char *way_out)
{
	enum rpc_code code = call->message->era == RPC_MODERN ? RPC_BAD_PARAMS : RPC_NO_RESOURCE;

	if (strlen(uri) <= URI_SAID_MAX) {
		(void)buf_append_text(&call->error_data, "{\"uri\":");
		json_text_add(&call->error_data, uri);
		(void)buf_append_text(&call->error_data, "}");
	}
	return rpc_fail(call, code, "unknown resource %s; %s", option_quote(uri).text, way_out);
}

/* Return: the row whose beginning, and for a template an id, the URI has; NULL */
static const struct live *live_find(const char *uri)
{
	for (size_t i = 0; i < ARRAY_SIZE(lives); i++) {
		size_t n = strlen(lives[i].uri);

		if (strncmp(uri, lives[i].uri, n) == 0 && !lives[i].key == !uri[n])
			return &lives[i];
	}
	return NULL;
}

static int live_read(struct rpc_call *call, const struct live *live, const char *uri, struct writer *result)
{
	CLEANUP(answer_done) struct answer answer = ANSWER_INIT;
	CLEANUP(buf_done) struct buf text = BUF_INIT, structured = BUF_INIT;
	const struct tool_call tool_call = { .rpc = call };
	json_t *arguments = json_object();
	int r;

	if (live->key)
		(void)json_object_set_new(arguments, live->key, json_string(uri + strlen(live->uri)));
	answer.tokens_max = TOOL_TOKENS_DEFAULT;
	r = tool_delegate(&tool_call, live->tool, arguments, &answer);
	json_decref(arguments);
	if (r < 0 && !answer.error.n)
		return r;
	if (answer.error.n && live->key)
		return not_found(call, uri, live->ids);
	r = answer_forms(&answer, tool_find(live->tool)->shape, &text, &structured);
	if (r == 0)
		contents_write(result, uri, "text/plain", buf_text(&text), text.n);
	return r;
}

int method_resources_read(struct rpc_call *call, struct writer *result)
{
	const char *uri = json_string_value(json_object_get(call->message->params, "uri"));
	const struct live *live = uri ? live_find(uri) : NULL;
	CLEANUP(buf_done) struct buf text = BUF_INIT;

	if (!uri)
		return rpc_fail(call, RPC_BAD_PARAMS, "'uri' is missing or not a string");
#ifdef INGERO_MCP_FIXTURES
	if (fixture_resource_read(uri, result))
		return 0;
#endif
	if (live)
		return live_read(call, live, uri, result);
	for (size_t i = 0; i < n_pages; i++)
		if (strncmp(uri, PAGES, strlen(PAGES)) == 0 && strcmp(uri + strlen(PAGES), pages[i].name) == 0) {
			contents_write(result, uri, "text/markdown", pages[i].text, pages[i].n);
			return 0;
		}
	if (strcmp(uri, PAGES TSC_PAGE) == 0) {
		tsc_page_append(&text);
		contents_write(result, uri, "text/markdown", buf_text(&text), text.n);
		return 0;
	}
	return not_found(call, uri, "resources/list has the URIs");
}
