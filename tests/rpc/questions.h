// SPDX-License-Identifier: Apache-2.0
/*
 * One question or more of every method, about a process: what tests of who may see what ask, and
 * what a mutator begins with. question_table_check() compares them with the service descriptors.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "ingero/v1/ingero.pb-c.h"

#define HELLO "ingero.v1.Query.Hello"
#define STATUS "ingero.v1.Query.Status"
#define OPERATIONS "ingero.v1.Query.Operations"
#define EXPLAIN "ingero.v1.Query.Explain"
#define BLAME "ingero.v1.Query.Blame"
#define EVENTS "ingero.v1.Query.Events"
#define COMPARE "ingero.v1.Query.Compare"
#define STACKS "ingero.v1.Query.Stacks"
#define SQL "ingero.v1.Query.Sql"
#define EXPORT "ingero.v1.Query.ExportRows"
#define TRACE "ingero.v1.Trace.Trace"

/* Whom a question is about. */
struct subject {
	unsigned int owner; /* enum tenant_id; none of them: nobody */
	uint32_t pid;
	uint32_t uid;
	char call_id[64]; /* of a call of its */
};

union question_request {
	ProtobufCMessage base;
	Ingero__V1__HelloRequest hello;
	Ingero__V1__StatusRequest status;
	Ingero__V1__OperationsRequest operations;
	Ingero__V1__ExplainRequest explain;
	Ingero__V1__BlameRequest blame;
	Ingero__V1__EventsRequest events;
	Ingero__V1__CompareRequest compare;
	Ingero__V1__StacksRequest stacks;
	Ingero__V1__SqlRequest sql;
	Ingero__V1__ExportRequest export;
	Ingero__V1__TraceRequest trace;
};

/* What the answer shows, to whom. */
enum question_shows {
	SHOWS_SUBJECT, /* the subject, to who may see it; else nothing of anybody */
	SHOWS_SCOPE,   /* everything that the caller may see, whoever the subject is */
	SHOWS_NOTHING, /* of any process */
};

/* Who is answered at all; others are refused as NOT_ALLOWED, whoever the subject is. NEED_RING: nobody, as UNAVAILABLE.
 */
enum question_need { NEED_NOTHING, NEED_READ_ALL, NEED_ROOT, NEED_RING };

struct question {
	const char *method;
	const char *name;
	void (*fill)(union question_request *q, const struct subject *subject); /* NULL: the empty message */
	enum question_shows shows;
	enum question_need need;
	bool is_of_owner; /* the uid is what is asked about: everybody may name his own, others' are NOT_ALLOWED */
	bool is_refused;  /* a subject that may not be seen: NOT_FOUND; else an answer without it */
	bool is_own;	  /* whoever the subject is, the answer is about the caller's own */
};

#define QUESTION_SERVICES 2
extern const ProtobufCServiceDescriptor *const question_services[QUESTION_SERVICES];
extern const struct question questions[];
extern const size_t n_questions;

/** question_method() - of a full name, NULL: there is none */
const ProtobufCMethodDescriptor *question_method(const char *name);
/** question_find() - by method and name; a missing one ends the test */
const struct question *question_find(const char *method, const char *name);
/** question_pack() - append the message, packed */
void question_pack(const struct question *question, const struct subject *subject, struct buf *out);
/** question_table_check() - a method without a question, or a field of a request that nobody thought of, fails */
void question_table_check(void);
