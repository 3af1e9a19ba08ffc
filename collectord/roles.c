// SPDX-License-Identifier: Apache-2.0
#include "children/child_role.h"
#include "children/parser.h"
#include "archive/reader.h"

const struct child_role *const child_roles[] = { &parser_role, &reader_role, NULL };
