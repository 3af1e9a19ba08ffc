// SPDX-License-Identifier: Apache-2.0
/* Pages of the documentation that the program carries, generated from docs/ (mcp-server/pages.cmake). */
#pragma once

#include <stddef.h>

struct page {
	const char *name; /* below docs/, without ".md": "sql", "detectors/cpu_contention" */
	const char *text;
	size_t n;
};

extern const struct page pages[];
extern const size_t n_pages;
