// SPDX-License-Identifier: Apache-2.0
/* SQL of an exported file, shared within this directory. */
#pragma once

extern const char export_schema[]; /* tables, and what is always in them */
extern const char export_nodes[];  /* after export_schema, where there are several nodes: aggregates name theirs */
extern const char export_stored[]; /* what follows from other tables */
extern const char export_stored_nodes[];
extern const char export_finish[]; /* indexes */
