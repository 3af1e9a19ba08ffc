// SPDX-License-Identifier: Apache-2.0
/*
 * `ingero check`: whether this machine has what Ingero needs. A check is a line of libingero/check/list.h and a
 * function from the world to a result. Its only input is struct check_world, so a test can supply a machine of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "libingero/connect/database.h"
#include "ingero/v1/ingero.pb-c.h"
#include "libingero/render/text.h"

enum check_level { CHECK_LEVEL_OK, CHECK_LEVEL_WARN, CHECK_LEVEL_FAIL };

/* The daemon that answers: the service, or for root a private one. */
struct check_daemon {
	int error;	    /* 0: it answers; -ENOENT: no daemon; else an error of ingero_open() or ingero_call() */
	bool is_private;    /* no service runs; this daemon is a private one */
	char sentence[512]; /* the error, for people */
	const Ingero__V1__StatusReply *status; /* NULL unless the daemon answered */
};

/* The service's verdict on its configuration file. */
struct check_configuration {
	const char *path;
	int error;	    /* 0: valid; -ENOENT: no file; -EINVAL: invalid; else unreadable */
	char sentence[512]; /* first error, with line and column */
};

struct check_world {
	int root;  /* root directory of all paths that checks read */
	uid_t uid; /* the caller; under sudo the user who typed it */
	bool is_root;
	int bpf_error;	  /* errno of bpf(2) creating a map; 0: permitted */
	const char *nvml; /* file name of NVIDIA's management library, for dlopen() */
	struct check_daemon daemon;
	struct check_configuration configuration;
	/* Databases that the caller answers from in place of its own, NULL-terminated; NULL: none */
	const char *const *files;
	const char *files_problem;	 /* why they cannot be read; "": they can */
	const struct database *database; /* path of the caller's own database; NULL: it has no place */
};

struct check_result {
	const char *name;
	bool is_optional;
	enum check_level level;
	struct buf value;   /* the value, in a few words */
	struct buf detail;  /* details, lines that end in \n; often empty */
	struct buf way_out; /* the action, one sentence; empty when all is well */
};

/** check_count() - Return: number of checks */
size_t check_count(void);
/** check_run() - run the i-th check; release with check_result_done() */
void check_run(size_t i, const struct check_world *world, struct check_result *ret_result);
void check_result_done(struct check_result *result);
/** check_level_name() - "ok", "warn", "fail": also the values of the JSON output */
const char *check_level_name(enum check_level level);

/** check_report_append() - append n results as text, and one line that sums them up */
void check_report_append(struct check_result *results, size_t n, const struct text_style *style, struct buf *out);
/** check_json_append() - append the results as one line of JSON, docs/schema/check.schema.json. Return: 0 or -ENOMEM */
int check_json_append(struct check_result *results, size_t n, struct buf *out);
