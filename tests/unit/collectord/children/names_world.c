// SPDX-License-Identifier: Apache-2.0
#include "names_world.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "children/child_role.h"
#include "children/elf_names.h"
#include "tests/support/check.h"

static _Alignas(max_align_t) uint8_t answer[CHILD_ANSWER_MAX];

static const struct parser_names *answer_head(void)
{
	return (const struct parser_names *)answer;
}

static const struct parser_name *answer_names(void)
{
	return (const struct parser_name *)(answer_head() + 1);
}

static const char *answer_text(uint32_t place)
{
	return (const char *)(answer_names() + answer_head()->n) + place;
}

static void text_check(const char *what, uint32_t place)
{
	char text[NAMED_TEXT_BYTES];

	CHECK(what, place < answer_head()->n_text);
	if (place >= answer_head()->n_text)
		abort();
	CHECK(what, strnlen(answer_text(place), answer_head()->n_text - place) < answer_head()->n_text - place);
	CHECK_INT_IN(what, strlen(answer_text(place)), 0, NAMED_TEXT_BYTES - 1);
	(void)snprintf(text, sizeof(text), "%s", answer_text(place));
	CHECK(what, !utf8_scrub(text));
}

/* What holds of every answer. */
static void answer_check(const char *what, ssize_t n, uint32_t n_asked)
{
	const struct parser_names *head = answer_head();

	CHECK_INT_IN(what, n, sizeof(*head), sizeof(answer));
	CHECK(what, head->result < PARSER_RESULT_COUNT);
	CHECK(what, memchr(head->debug_link, 0, sizeof(head->debug_link)));
	CHECK_INT_IN(what, head->n_build_id, 0, PARSER_BUILD_ID_BYTES);
	if (head->result != PARSER_OK) {
		CHECK_INT_EQ(what, n, sizeof(*head));
		CHECK_INT_EQ(what, head->n, 0);
		return;
	}
	CHECK_INT_IN(what, head->n, n_asked ? 1 : 0, n_asked);
	CHECK_INT_EQ(what, n, sizeof(*head) + head->n * sizeof(struct parser_name) + head->n_text);
	CHECK_INT_EQ(what, *answer_text(0), 0);
	for (uint32_t i = 0; i < head->n; i++) {
		const struct parser_name *name = &answer_names()[i];

		text_check(what, name->symbol);
		text_check(what, name->file);
		CHECK(what, name->address || (!name->symbol && !name->file && !name->line && !name->offset));
		CHECK(what, name->symbol || !name->offset);
		CHECK_INT_EQ(what, name->file != 0, name->line != 0);
	}
}

struct parser_names names_ask_descriptor(const char *what, int fd, uint64_t bytes, const uint64_t *at, uint32_t n)
{
	struct parser_names_question q = { .kind = PARSER_ASK_NAMES, .n = n, .file_bytes = bytes, .is_address = 1 };

	memcpy(q.at, at, n * sizeof(*at));
	memset(answer, 0xa5, sizeof(answer));
	answer_check(what, elf_names_answer(&q, sizeof(q), fd, answer, sizeof(answer)), n);
	return *answer_head();
}

struct parser_names names_ask(const char *path, uint64_t change, const uint64_t *at, size_t n, bool is_address,
			      struct named *named)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct parser_names_question q = { .kind = PARSER_ASK_NAMES, .change_ns = change, .is_address = is_address };
	struct parser_names head = { .n = 0 };
	struct stat st;

	CHECK(path, fd >= 0 && fstat(fd, &st) == 0);
	if (fd < 0)
		return head;
	q.file_bytes = (uint64_t)st.st_size;
	q.device = st.st_dev;
	q.inode = st.st_ino;
	for (size_t done = 0; done < n; done += answer_head()->n) {
		q.n = (uint32_t)MIN(n - done, (size_t)PARSER_NAMES_MAX);
		memcpy(q.at, at + done, q.n * sizeof(*at));
		answer_check(path, elf_names_answer(&q, sizeof(q), fd, answer, sizeof(answer)), q.n);
		CHECK_INT_EQ(path, answer_head()->result, PARSER_OK);
		head = *answer_head();
		if (!head.n)
			break;
		for (uint32_t i = 0; i < head.n; i++) {
			const struct parser_name *from = &answer_names()[i];
			struct named *to = &named[done + i];

			to->address = from->address;
			to->offset = from->offset;
			to->line = from->line;
			to->is_exported = from->is_exported;
			(void)snprintf(to->symbol, sizeof(to->symbol), "%s", answer_text(from->symbol));
			(void)snprintf(to->file, sizeof(to->file), "%s", answer_text(from->file));
		}
	}
	return head;
}

/* ---- what tools say ---- */

void line_cut(char *line)
{
	line[strcspn(line, "\n")] = 0;
}

/* Cuts ".isra.0", " [clone .cold]", "@@VERSION". */
static void listed_text_cut(char *text)
{
	static const char *const parts[] = { ".cold",	   ".part.",	  ".isra.", ".constprop.",
					     ".lto_priv.", ".localalias", ".llvm." };
	char *clone = strstr(text, " [clone ."), *version = strchr(text, '@');

	if (clone)
		*clone = 0;
	if (version)
		*version = 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		char *part = strstr(text, parts[i]);

		if (part)
			*part = 0;
	}
}

/* "ADDRESS [SIZE] TYPE NAME". Return: NAME; NULL: it is no function */
static char *listed_parse(char *line, struct listed *listed)
{
	char *rest = line;

	line_cut(line);
	*listed = (struct listed){ .address = strtoull(line, &rest, 16) };
	if (rest == line || *rest != ' ')
		return NULL;
	if (strlen(rest) > 18 && rest[17] == ' ' && strspn(rest + 1, "0123456789abcdef") == 16)
		listed->bytes = strtoull(rest + 1, &rest, 16);
	if (strlen(rest) < 4 || !strchr("tTwWiu", rest[1]) || rest[2] != ' ')
		return NULL;
	return rest + 3;
}

void listing_read(struct listing *listing, const char *path, bool is_dynamic)
{
	char command[2][512], lines[2][65536];
	FILE *tools[2];

	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(command[i], sizeof(command[i]), "nm -p -S --defined-only %s %s '%s' 2>/dev/null",
			       is_dynamic ? "-D" : "", i ? "-C" : "", path);
		tools[i] = popen(command[i], "re");
		if (!tools[i])
			abort();
	}
	while (fgets(lines[0], sizeof(lines[0]), tools[0]) && fgets(lines[1], sizeof(lines[1]), tools[1])) {
		struct listed listed;
		char *text = listed_parse(lines[1], &listed), *name = listed_parse(lines[0], &listed);

		if (!name || !text)
			continue;
		listed_text_cut(text);
		listed.is_dynamic = is_dynamic;
		listed.name = strdup(name);
		listed.text = strdup(text);
		if (!listed.name || !listed.text || ARRAY_PUSH(&listing->functions, listed) < 0)
			abort();
	}
	CHECK_INT_EQ(path, pclose(tools[0]) | pclose(tools[1]), 0);
}

void listing_done(struct listing *listing)
{
	for (size_t i = 0; i < listing->functions.n; i++) {
		free(listing->functions.items[i].name);
		free(listing->functions.items[i].text);
	}
	ARRAY_DONE(&listing->functions);
}

uint64_t listing_find(const struct listing *listing, const char *name)
{
	for (size_t i = 0; i < listing->functions.n; i++)
		if (strcmp(listing->functions.items[i].name, name) == 0)
			return listing->functions.items[i].address;
	return 0;
}

bool listing_names(const struct listing *listing, uint64_t start, uint64_t address, const char *text)
{
	bool is_named[2] = { false, false }, is_sized = false;

	for (size_t i = 0; i < listing->functions.n; i++) {
		const struct listed *f = &listing->functions.items[i];
		bool has_address = f->address == start && address - start < f->bytes;

		if (f->address != start)
			continue;
		is_sized |= has_address;
		is_named[has_address] |= strcmp(f->text, text) == 0;
	}
	return is_named[is_sized];
}

size_t sections_of(const char *path, uint64_t (*ret)[2], size_t room)
{
	char command[512], line[1024];
	size_t n = 0;
	FILE *tool;

	/* "  [ 1] NAME TYPE ADDRESS OFFSET SIZE ENTRY FLAGS ..." */
	(void)snprintf(command, sizeof(command),
		       "LC_ALL=C readelf -SW '%s' 2>/dev/null | sed -n 's/^  \\[ *[0-9]*\\] //p'", path);
	tool = popen(command, "re");
	while (tool && fgets(line, sizeof(line), tool) && n < room) {
		uint64_t address, offset, bytes;
		char flags[16];

		if (sscanf(line, "%*s %*s %" SCNx64 " %" SCNx64 " %" SCNx64 " %*s %15s", &address, &offset, &bytes,
			   flags) != 4 ||
		    !strchr(flags, 'X') || !strchr(flags, 'A'))
			continue;
		ret[n][0] = address;
		ret[n++][1] = address + bytes;
	}
	CHECK(path, tool && pclose(tool) == 0 && n);
	return n;
}
