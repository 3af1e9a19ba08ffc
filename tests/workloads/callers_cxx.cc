// SPDX-License-Identifier: Apache-2.0
/*
 * Calls from C++: beside exceptions, in destructors, in what templates and the standard library make.
 */
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "callers.h"

namespace
{
CALLERS_NOINLINE void call_here()
{
	CALLERS_CALL();
	CALLERS_STAYS();
}

struct Calls {
	std::string name;

	CALLERS_NOINLINE ~Calls()
	{
		call_here();
		CALLERS_STAYS();
	}
};

CALLERS_NOINLINE void throw_deep(int depth)
{
	std::string room(static_cast<size_t>(depth) * 10 + 1, 'x');

	if (depth == 0)
		throw std::runtime_error(room);
	throw_deep(depth - 1);
	CALLERS_STAYS();
}

void catches()
{
	call_here();
	try {
		throw_deep(5);
	} catch (const std::runtime_error &) {
		call_here();
	}
	call_here();
}

CALLERS_NOINLINE void has_destructor(int depth)
{
	Calls calls{ "a name that is longer than what a string has room for" };

	if (depth)
		has_destructor(depth - 1);
	else
		throw_deep(2);
	CALLERS_STAYS();
}

void unwinds()
{
	try {
		has_destructor(3);
	} catch (const std::exception &) {
		call_here();
	}
}

void rethrows()
{
	try {
		try {
			throw_deep(1);
		} catch (const std::exception &) {
			call_here();
			throw std::logic_error("again");
		}
	} catch (const std::logic_error &) {
		call_here();
	}
}

/* Exceptions pass through a library of C. */
int throws_in(const void *, const void *)
{
	throw_deep(1);
	return 0;
}

void passes_c()
{
	int numbers[] = { 2, 1 };

	try {
		std::qsort(numbers, 2, sizeof(numbers[0]), throws_in);
	} catch (const std::exception &) {
		call_here();
	}
}

template <typename T> struct Holder {
	T value;

	virtual ~Holder() = default;
	CALLERS_NOINLINE virtual T get(const std::map<std::string, T> &, std::vector<T> *)
	{
		call_here();
		CALLERS_STAYS();
		return value;
	}
	CALLERS_NOINLINE Holder &operator<<(const T &more)
	{
		call_here();
		value += more;
		return *this;
	}
};

struct Other {
	long room = 0;

	virtual ~Other() = default;
	virtual int number() = 0;
};

struct Both : Holder<std::string>, Other {
	CALLERS_NOINLINE int number() override
	{
		call_here();
		CALLERS_STAYS();
		return 1;
	}
};

void templates()
{
	Holder<std::string> text{};
	Holder<double> number{};
	Both both;
	Other *other = &both; /* through a thunk */

	(void)text.get({}, nullptr);
	(void)number.get({}, nullptr);
	text << "a";
	__asm__ volatile("" : "+r"(other));
	(void)other->number();
}

void standard()
{
	std::vector<int> numbers(20);
	std::function<int(int)> function = [](int a) {
		call_here();
		CALLERS_STAYS();
		return a + 1;
	};
	std::once_flag once;

	for (size_t i = 0; i < numbers.size(); i++)
		numbers[i] = static_cast<int>(i * 7 % 20);
	std::stable_sort(numbers.begin(), numbers.end(), [](int a, int b) {
		if (a == 7)
			call_here();
		CALLERS_STAYS();
		return a < b;
	});
	(void)function(1);
	std::call_once(once, call_here);
	auto shared = std::shared_ptr<int>(new int, [](int *p) {
		call_here();
		CALLERS_STAYS();
		delete p;
	});
}

void threads()
{
	std::vector<std::thread> all;

	for (int i = 0; i < 4; i++)
		all.emplace_back([](const std::string &) {
			callers_shape("cxx_threads", CALLERS_COMPLETE, 0);
			catches();
		}, "an argument");
	for (auto &one : all)
		one.join();
}
}

const struct callers_row callers_cxx[] = {
	{ "cxx_catch", catches, CALLERS_COMPLETE, 0 },
	{ "cxx_destructor", unwinds, CALLERS_COMPLETE, 0 },
	{ "cxx_rethrow", rethrows, CALLERS_COMPLETE, 0 },
	{ "cxx_through_c", passes_c, CALLERS_COMPLETE, 0 },
	{ "cxx_template", templates, CALLERS_COMPLETE, 0 },
	{ "cxx_standard", standard, CALLERS_COMPLETE, 0 },
	{ "cxx_threads", threads, CALLERS_COMPLETE, 0 },
	{ nullptr, nullptr, CALLERS_COMPLETE, 0 },
};
