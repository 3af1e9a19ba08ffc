// SPDX-License-Identifier: Apache-2.0
#include "children/symbol_text.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#undef ARRAY_SIZE /* ours is the same */
#include "base/cleanup.h"
#include "base/utf8.h"

/*
 * A nested name can stand for a text that is exponentially longer. The demanglers hand it out in pieces, and cannot be
 * told to stop: a jump ends them. They hold no memory meanwhile, except while they write an identifier of Rust that is
 * not ASCII.
 */
#define DEMANGLED_BYTES_MAX 4096
#define MANGLED_BYTES_MAX 4096 /* the recursion of the demanglers is no deeper than the name is long */
#define CUT_MARK "..."

/* What may follow the name of a function after a '.'. Names of Go have dots, too: a number is asked for where it is. */
static const struct {
	const char *word;
	bool has_number; /* always: a '.' and a number follow it */
} suffixes[] = {
	{ "cold", false },    { "localalias", false }, { "part", true },   { "isra", true }, { "constprop", true },
	{ "lto_priv", true }, { "llvm", true },	       { "__uniq", true }, { "org", true },
};

struct demangled {
	size_t n;
	jmp_buf end;
	char bytes[DEMANGLED_BYTES_MAX + 1];
};

static void on_piece(const char *piece, size_t n, void *data)
{
	struct demangled *d = data;
	size_t here = MIN(n, DEMANGLED_BYTES_MAX - d->n);

	memcpy(d->bytes + d->n, piece, here);
	d->n += here;
	d->bytes[d->n] = 0;
	if (here < n)
		longjmp(d->end, 1);
}

/* Return: false: it is no mangled name. What is written of a longer text is its beginning */
static bool demangle(const char *name, struct demangled *d)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;

	d->n = 0;
	d->bytes[0] = 0;
	if (name[0] != '_' || strlen(name) > MANGLED_BYTES_MAX)
		return false;
	if (setjmp(d->end))
		return true;
	if (rust_demangle_callback(name, DMGL_NO_RECURSE_LIMIT, on_piece, d))
		return d->n > 0;
	d->n = 0;
	return cplus_demangle_v3_callback(name, options, on_piece, d) && d->n > 0;
}

static bool is_suffix(const char *word, size_t n, bool has_number)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (strlen(suffixes[i].word) == n && memcmp(word, suffixes[i].word, n) == 0)
			return has_number || !suffixes[i].has_number;
	return false;
}

/* Cuts the version, and known words with the numbers after them. */
static void suffixes_strip(char *name)
{
	size_t n = strlen(name), end;
	char *version = memchr(name, '@', n);
	bool has_number = false;

	if (version && version != name)
		n = (size_t)(version - name);
	end = n;
	while (n) {
		const char *dot = memrchr(name, '.', n);
		size_t at = dot ? (size_t)(dot - name) : 0, n_word = n - at - 1;

		if (!at || !n_word)
			break;
		if (is_suffix(dot + 1, n_word, has_number)) {
			has_number = false;
			end = at;
		} else if (!has_number && strspn(dot + 1, "0123456789") >= n_word) {
			has_number = true;
		} else {
			break;
		}
		n = at;
	}
	name[end] = 0;
}

/* Whether the byte continues a character of UTF-8. */
static bool is_in_character(char byte)
{
	return ((uint8_t)byte & 0xc0) == 0x80;
}

static void text_write(char *from, char *text)
{
	size_t n = strlen(from);

	if (n >= SYMBOL_TEXT_BYTES) {
		n = SYMBOL_TEXT_BYTES - sizeof(CUT_MARK);
		while (n && is_in_character(from[n]))
			n--;
		memcpy(from + n, CUT_MARK, sizeof(CUT_MARK));
	}
	(void)utf8_scrub(from);
	memcpy(text, from, strlen(from) + 1);
}

void symbol_text_write(char *name, char *text)
{
	static struct demangled d; /* the process has one thread */

	suffixes_strip(name);
	text_write(demangle(name, &d) ? d.bytes : name, text);
}

static size_t underscores(const char *name)
{
	bool is_mangled = name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');

	return is_mangled ? 0 : strspn(name, "_");
}

bool symbol_name_is_better(const char *name, const char *than)
{
	size_t a = underscores(name), b = underscores(than);

	if (a != b)
		return a < b;
	a = strcspn(name, "@");
	b = strcspn(than, "@");
	return a != b ? a < b : strcmp(name, than) < 0;
}
