// SPDX-License-Identifier: Apache-2.0
/*
 * `ingero check`: what this machine has of what Ingero needs. A check is a line of
 * cli/check/list.h and a function from the world to a result; everything that it may
 * look at is in struct check_world, so that a test gives it a machine of its own.
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

/* The daemon that answers questions of this machine: the service, or for root one of its own. */
struct check_daemon {
	int error;	    /* 0: it answers; -ENOENT: none is there to ask; else as ingero_open() and ingero_call() */
	bool is_private;    /* no service runs, and this is our own */
	char sentence[512]; /* why not, for people */
	const Ingero__V1__StatusReply *status; /* NULL unless it answers */
};

/* What the service would make of its configuration. */
struct check_configuration {
	const char *path;
	int error; /* 0: it is right; -ENOENT: nobody wrote one; -EINVAL: it is wrong; else it cannot be read */
	char sentence[512]; /* what is wrong, with line and column */
};

struct check_world {
	int root;  /* the directory that stands for /: files are read below it */
	uid_t uid; /* who asks, under sudo who typed it */
	bool is_root;
	int bpf_error;	  /* errno of bpf(2) when it makes a map; 0: it may */
	const char *nvml; /* name of NVIDIA's management library, for dlopen() */
	struct check_daemon daemon;
	struct check_configuration configuration;
	const struct database *database; /* the caller's own; NULL: it has no place */
};

struct check_result {
	const char *name;
	bool is_optional;
	enum check_level level;
	struct buf value;   /* what is there, in a few words */
	struct buf detail;  /* more of it, lines that end in \n; mostly empty */
	struct buf way_out; /* what to do, one sentence; empty when all is well */
};

/** check_count() - Return: how many checks there are */
size_t check_count(void);
/** check_run() - the i-th check; release with check_result_done() */
void check_run(size_t i, const struct check_world *world, struct check_result *ret_result);
void check_result_done(struct check_result *result);
/** check_level_name() - "ok", "warn", "fail": also the words of the JSON output */
const char *check_level_name(enum check_level level);

/** check_report_append() - n results for people, and one line that sums them up */
void check_report_append(struct check_result *results, size_t n, const struct text_style *style, struct buf *out);
/** check_json_append() - the same as one line of JSON, docs/schema/check.schema.json. Return: 0 or -ENOMEM */
int check_json_append(struct check_result *results, size_t n, struct buf *out);
