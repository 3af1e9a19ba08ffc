// SPDX-License-Identifier: Apache-2.0
/* SQL of an exported file, shared within this directory. */
#pragma once

extern const char export_schema[]; /* tables, and their fixed rows */
extern const char export_finish[]; /* indexes, and rows derived from other tables */
