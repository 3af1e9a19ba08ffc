// SPDX-License-Identifier: Apache-2.0
/*
 * Databases for tests of readers, made row by row with the codec only, so that their contents do not depend on the
 * writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/finding.h"
#include "ingero/v1/finding.pb-c.h"
#include "archive/codec/codec.h"

struct sqlite3;

/* Create an empty database. Ends the program with a message on failure. */
struct sqlite3 *world_create(const char *path);
void world_exec(struct sqlite3 *db, const char *sql);

/** world_boot() - add a boot with one clock row: unix_ns at mono_ns */
void world_boot(struct sqlite3 *db, uint32_t boot, uint64_t mono_ns, uint64_t unix_ns);
void world_clock(struct sqlite3 *db, uint32_t boot, uint64_t mono_ns, uint64_t unix_ns);
void world_process(struct sqlite3 *db, uint32_t id, uint32_t boot, uint32_t pid, uint32_t uid, uint32_t flags,
		   const char *comm, uint64_t first_ns);
/** world_block() - add events of one owner in order of entry; @process: 0: of several. Return: row */
int64_t world_block(struct sqlite3 *db, uint32_t uid, uint32_t boot, uint32_t process,
		    const struct stored_event *events, size_t n);
int64_t world_tail(struct sqlite3 *db, uint32_t uid, uint32_t boot, const struct stored_event *events, size_t n);
void world_figures(struct sqlite3 *db, int level, uint32_t uid, uint32_t boot, uint64_t t0, uint64_t t1,
		   const struct figures_blob *blob);
/** world_finding() - add a finding. @id: 16 hexadecimal digits; @end_ns: 0: not ended */
void world_finding(struct sqlite3 *db, const char *id, uint32_t uid, uint32_t boot, uint32_t process, uint32_t pid,
		   enum finding_severity severity, uint64_t lost_ns, uint64_t start_ns, uint64_t end_ns,
		   uint32_t cause_pid, uint32_t cause_uid, const char *cause_comm);
/** world_finding_row() - add a finding whose message is given */
void world_finding_row(struct sqlite3 *db, const Ingero__V1__Finding *finding, uint32_t boot, uint32_t process,
		       enum finding_severity severity, uint64_t start_ns, uint64_t end_ns);

/* A frame of a stack; texts may be NULL: not known. */
struct world_frame {
	uint64_t ip;
	const char *symbol, *qualname, *file, *module;
	uint32_t line;
	bool is_python;
};
/** world_stack() - add a stack of up to 16 frames with their rows, complete if @why is "" */
void world_stack(struct sqlite3 *db, uint32_t id, uint32_t uid, bool is_guarded, const char *why,
		 const struct world_frame *frames, size_t n);

/** world_event() - make a call of `duration_ns`, half of it waiting for the CPU */
struct stored_event world_event(uint32_t process, uint32_t op, uint32_t tid, uint64_t start_ns, uint64_t duration_ns);
/** world_count() - add figures of n calls of one duration */
void world_count(struct figures_blob *blob, uint32_t process, uint32_t op, uint64_t n, uint64_t duration_ns);
