// SPDX-License-Identifier: Apache-2.0
/*
 * C++ exceptions around and through CUDA calls; as harm.c, whose cases these join.
 */
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "cuda_calls.h"
#include "program.h"
#include "truth.h"

namespace
{

constexpr int times = 101;

// Calls on its way out, while the exception is under way.
struct calls_at_end {
	calls_at_end() = default;
	calls_at_end(const calls_at_end &) = delete;
	calls_at_end &operator=(const calls_at_end &) = delete;
	~calls_at_end()
	{
		call_launch();
	}
};

__attribute__((noinline)) void throw_deep(int depth)
{
	calls_at_end at_end;

	call_sync();
	if (depth == 0)
		throw std::runtime_error("deep");
	throw_deep(depth - 1);
}

// Exceptions pass frames that made calls, never one that is inside a call.
void exception_around()
{
	int n_caught = 0;

	for (int i = 0; i < times; i++) {
		try {
			throw_deep(i % 5);
		} catch (const std::runtime_error &) {
			n_caught++;
			call_launch();
		}
	}
	if (n_caught != times)
		truth_harmed("an exception was not caught");
}

void throw_inside()
{
	throw std::runtime_error("inside");
}

// Exceptions leave a call: both layers' frames are unwound.
void exception_through()
{
	int n_caught = 0;

	for (int i = 0; i < times; i++) {
		try {
			expect_sync(1, 0);
			call_around(throw_inside);
			truth_harmed("a call that threw came back");
		} catch (const std::runtime_error &) {
			n_caught++;
		}
		call_launch();
	}
	if (n_caught != times)
		truth_harmed("an exception was not caught");
}

void throw_and_catch()
{
	try {
		throw_deep(3);
	} catch (const std::runtime_error &) {
		call_launch();
	}
}

// Thrown and caught while a call is open below, which then returns.
void exception_inside()
{
	for (int i = 0; i < times; i++) {
		expect_sync(1, 1);
		if (call_around(throw_and_catch) != 0)
			truth_harmed("a call did not return 0");
	}
}

const struct {
	const char *name;
	void (*run)();
} cases[] = {
	{ "exception-around", exception_around },
	{ "exception-through", exception_through },
	{ "exception-inside", exception_inside },
};

} // namespace

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "harm-cxx CASE [--wait-for-stdin]; harm-cxx --list\n");
		return 2;
	}
	if (strcmp(argv[1], "--list") == 0) {
		for (const auto &c : cases)
			puts(c.name);
		return 0;
	}
	watch_calls();
	if (argc == 3 && strcmp(argv[2], "--wait-for-stdin") == 0) {
		program_ready();
		program_wait_for_line();
	}
	for (const auto &c : cases) {
		if (strcmp(argv[1], c.name) == 0) {
			call_begin();
			c.run();
			return truth_print(c.name, 0);
		}
	}
	fprintf(stderr, "harm-cxx: no case '%s'; --list names them\n", argv[1]);
	return 2;
}
