// SPDX-License-Identifier: Apache-2.0
/*
 * Names of functions as people know them, and names that were made to harm: too long, without end when they are
 * demangled, no text at all.
 */
#include "children/symbol_text.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "tests/support/check.h"

static const struct {
	const char *name, *want;
} texts[] = {
	{ "main", "main" },
	{ "main.cold", "main" },
	{ "f.cold.3", "f" },
	{ "f.part.0", "f" },
	{ "f.part", "f.part" },
	{ "f.isra.0.part.1.cold", "f" },
	{ "f.constprop.0.isra.0", "f" },
	{ "f.lto_priv.0.lto_priv.1", "f" },
	{ "f.localalias", "f" },
	{ "f.llvm.17594437", "f" },
	{ "f.__uniq.123.llvm.456", "f" },
	{ "f.123", "f.123" },
	{ "f.1.2", "f.1.2" },
	{ "main.cold.func1", "main.cold.func1" },
	{ ".cold", ".cold" },
	{ ".", "." },
	{ "", "" },
	{ "f.", "f." },
	{ "f..cold", "f." },
	{ "memcpy@@GLIBC_2.14", "memcpy" },
	{ "memcpy@GLIBC_2.2.5", "memcpy" },
	{ "f.cold@V1", "f" },
	{ "@at", "@at" },
	{ "_Z1fv", "f()" },
	{ "_Z1fv.cold", "f()" },
	{ "_ZN2at6native3addERKNS_6TensorES3_", "at::native::add(at::Tensor const&, at::Tensor const&)" },
	{ "_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)" },
	{ "_ZN1aC1Ev", "a::a()" },
	{ "_ZN1aD0Ev", "a::~a()" },
	{ "_ZTv0_n24_N1aD1Ev", "virtual thunk to a::~a()" },
	{ "_ZGVZ1fvE1x", "guard variable for f()::x" },
	{ "_ZNKSt9type_infoeqERKS_", "std::type_info::operator==(std::type_info const&) const" },
	{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const" },
	{ "_ZL1xv", "x()" },
	{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt" },
	{ "_RNvNtC7mycrate3foo3bar", "mycrate::foo::bar" },
	{ "_RNvC6_123foo3bar", "123foo::bar" },
	{ "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	  "utf8_idents::\u10e1\u10d0\u10ed\u10db\u10d4\u10da\u10d0\u10d3_\u10d2\u10d4\u10db\u10e0\u10d8\u10d4\u10da"
	  "\u10d8_\u10e1\u10d0\u10d3\u10d8\u10da\u10d8" },
	{ "_ZNoName", "_ZNoName" },
	{ "_R", "_R" },
	{ "_Z", "_Z" },
	{ "a\tb", "a?b" },
	{ "a\033[31mb", "a?[31mb" },
	{ "na\xc3\xafve", "na\xc3\xafve" },
	{ "\xff\xfe", "??" },
	{ "a\xe2\x80\xae"
	  "b",
	  "a?b" },
};

static const struct {
	const char *better, *worse;
} names[] = {
	{ "write", "__write" },
	{ "_IO_puts", "__IO_puts" },
	{ "puts", "_IO_puts" },
	{ "a", "aa" },
	{ "a", "b" },
	{ "memcpy@@GLIBC_2.14", "memmoved" },
	{ "_ZN1aC1Ev", "_ZN1aC2Ev" },
	{ "_ZN1aC1Ev", "__a" },
	{ "_RNvC1a1b", "_a" },
	{ "memcpy@GLIBC_2.2.5", "_memcpy" },
};

static void text_of(const char *name, char *text)
{
	static char copy[SYMBOL_NAME_BYTES];

	(void)snprintf(copy, sizeof(copy), "%s", name);
	symbol_text_write(copy, text);
	CHECK_INT_IN(name, strlen(text), 0, SYMBOL_TEXT_BYTES - 1);
}

static void texts_check(void)
{
	char text[SYMBOL_TEXT_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		text_of(texts[i].name, text);
		CHECK_STR_EQ(texts[i].name, text, texts[i].want);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		CHECK(names[i].better, symbol_name_is_better(names[i].better, names[i].worse));
		CHECK(names[i].better, !symbol_name_is_better(names[i].worse, names[i].better));
	}
}

/* Repeats a piece between a beginning and an end. */
static void repeated(char *name, const char *begin, const char *piece, const char *end, size_t n_bytes)
{
	size_t n = strlen(begin);

	memcpy(name, begin, n);
	for (; n + strlen(piece) + strlen(end) < n_bytes; n += strlen(piece))
		memcpy(name + n, piece, strlen(piece));
	memcpy(name + n, end, strlen(end) + 1);
}

static const struct {
	const char *name, *begin, *piece, *end;
} harmful[] = {
	{ "a long name", "", "x", "" },
	{ "a long name of two bytes a character", "x", "\xc3\xa9", "" },
	{ "a long name of three bytes a character", "", "\xe2\x82\xac", "" },
	{ "pointers to pointers", "_Z1f", "P", "i" },
	{ "functions of functions", "_Z1f", "PF", "v" },
	{ "templates of templates", "_Z1f", "1aI", "i" },
	{ "names in names", "_ZN", "1a", "Ev" },
	{ "expressions", "_Z1fIiEDTcl", "cl", "EE" },
	{ "packs", "_Z1fIJ", "i", "EEvDpT_" },
	{ "references", "_Z1fI", "Ri", "EvT_" },
	{ "scopes", "_Z1fIiEv", "RT_", "" },
	{ "impl in impl", "_R", "NvXC1a", "C1b" },
	{ "tuples", "_RINvC1a1b", "T", "E" },
	{ "dyn", "_RINvC1a1b", "D", "E" },
	{ "suffixes", "f", ".cold", "" },
	{ "numbers", "f", ".1", "" },
};

/* A text that doubles with each parameter, up to 2^36 times. */
static void doubling_name(char *name)
{
	static const char numbers[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = (size_t)sprintf(name, "_Z1fSt4pairIiiE");

	for (size_t i = 0; i < sizeof(numbers) - 1; i++)
		n += (size_t)sprintf(name + n, "S_IS%c_S%c_E", numbers[i], numbers[i]);
}

static void harmful_check(void)
{
	static const size_t lengths[] = { 500, 511, 512, 513, 1000, 2000, 4000, 5000, SYMBOL_NAME_BYTES };
	static char name[SYMBOL_NAME_BYTES];
	char text[SYMBOL_TEXT_BYTES], scrubbed[SYMBOL_TEXT_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(harmful) * ARRAY_SIZE(lengths); i++) {
		size_t length = lengths[i % ARRAY_SIZE(lengths)];

		repeated(name, harmful[i / ARRAY_SIZE(lengths)].begin, harmful[i / ARRAY_SIZE(lengths)].piece,
			 harmful[i / ARRAY_SIZE(lengths)].end, length);
		symbol_text_write(name, text);
		CHECK_INT_IN(harmful[i / ARRAY_SIZE(lengths)].name, strlen(text), 1, SYMBOL_TEXT_BYTES - 1);
		memcpy(scrubbed, text, sizeof(text));
		CHECK(harmful[i / ARRAY_SIZE(lengths)].name, !utf8_scrub(scrubbed));
		CHECK(harmful[i / ARRAY_SIZE(lengths)].name, !strchr(text, '?')); /* no character is cut */
	}
	doubling_name(name);
	symbol_text_write(name, text);
	CHECK_INT_EQ("doubling", strncmp(text, "f(std::pair<int, int>, std::pair<std::pair<int, int>, ", 54), 0);
	CHECK_STR_EQ("doubling", text + strlen(text) - 3, "...");
}

int main(void)
{
	texts_check();
	harmful_check();
	return check_result();
}
