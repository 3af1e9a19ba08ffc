// SPDX-License-Identifier: Apache-2.0
/* SQL of an exported file, between the files of this directory. */
#pragma once

extern const char export_schema[]; /* tables, and what is always in them */
extern const char export_finish[]; /* indexes, and what follows from other tables */
