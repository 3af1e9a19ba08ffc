// SPDX-License-Identifier: Apache-2.0
/* Method ExportRows: the caller's rows in another format, written to a nameless temporary file and sent in pieces. */
#include "archive/export/export.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "archive/job.h"
#include "children/temporary.h"
#include "ingero/v1/ingero.pb-c.h"

#define PIECE_BYTES (512u * 1024)
#define FORMAT "db"
static void closep_db(sqlite3 **out)
{
	sqlite3_close(*out);
}

static int database_fill(struct reader_job *job, const Ingero__V1__ExportRequest *request, uint64_t *ret_events)
{
	struct export_request wanted = {
		.from_unix_ns = request->span ? request->span->from_unix_ns : 0,
		.to_unix_ns = request->span ? request->span->to_unix_ns : 0,
		.pids = request->n_pids ? request->pids : NULL,
		.n_pids = request->n_pids,
	};
	CLEANUP(closep_db) sqlite3 *out = NULL;

	temporary_limit(TEMPORARY_BYTES_MAX);
	if (sqlite3_open_v2(TEMPORARY_DATABASE, &out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		return -EIO;
	reader_deadline_set(job, out);
	/* A half-written file is never sent, so no rollback is needed. */
	if (sqlite3_exec(out, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE", NULL,
			 NULL, NULL) != SQLITE_OK)
		return -EIO;
	return export_db(job, &wanted, out, ret_events);
}

static int file_send(struct reader_job *job, uint64_t n_events)
{
	CLEANUP(freep) uint8_t *piece = malloc(PIECE_BYTES);
	uint64_t at = 0;
	ssize_t n;
	int r;

	if (!piece)
		return -ENOMEM;
	do {
		Ingero__V1__ExportReply reply = INGERO__V1__EXPORT_REPLY__INIT;

		n = pread(temporary_database_fd(), piece, PIECE_BYTES, (off_t)at);
		if (n < 0)
			return -errno;
		reply.data.data = piece;
		reply.data.len = (size_t)n;
		reply.events = n < (ssize_t)PIECE_BYTES ? n_events : 0;
		r = reader_reply(job, &reply.base);
		if (r < 0)
			return r;
		at += (uint64_t)n;
	} while (n == (ssize_t)PIECE_BYTES);
	return 0;
}

int reader_export_rows(struct reader_job *job)
{
	Ingero__V1__ExportRequest *request = ingero__v1__export_request__unpack(NULL, job->request_bytes, job->request);
	uint64_t n_events = 0;
	int r;

	if (!request)
		return reader_fail(CALL_ERROR_PROTOCOL, "the request is not valid for method ExportRows");
	if (strcmp(request->format, FORMAT)) {
		r = reader_fail(CALL_ERROR_INVALID, "there is no export format '%.32s': 'db' is one", request->format);
		ingero__v1__export_request__free_unpacked(request, NULL);
		return r;
	}
	r = database_fill(job, request, &n_events);
	ingero__v1__export_request__free_unpacked(request, NULL);
	if (r == 0)
		r = file_send(job, n_events);
	if (r == -ENOSPC)
		return reader_fail(CALL_ERROR_QUOTA,
				   "the file would be larger than %llu GiB: export a shorter time, or fewer processes",
				   (unsigned long long)(TEMPORARY_BYTES_MAX >> 30));
	return r < 0 ? reader_fail_errno(job, r) : 0;
}
