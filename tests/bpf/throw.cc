// SPDX-License-Identifier: Apache-2.0
#include "throw.h"

#include <stdexcept>

__attribute__((visibility("default"))) void throw_now(void)
{
	throw std::runtime_error("as asked");
}

__attribute__((visibility("default"))) int throw_caught(int (*func)(void *data), void *data)
{
	try {
		(void)func(data);
	} catch (const std::exception &) {
		return 1;
	}
	return 0;
}
