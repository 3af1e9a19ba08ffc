// SPDX-License-Identifier: Apache-2.0
/*
 * The gate in front of the HTTP library: bytes of a connection pass it only where their framing has one meaning.
 *
 * The library of some distributions accepts two lengths, folded lines, bare line feeds and two hosts. Another program
 * before us may read those differently, and what is one request for it would be two for us. So the gate reads the head
 * of each request by the letter of RFC 9112, and refuses what is ambiguous, foreign or too large before the library
 * sees a byte of it. What passes is unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define GATE_HEAD_BYTES_MAX 16384
#define GATE_TARGET_BYTES_MAX 1024
#define GATE_AUTHORIZATION_BYTES_MAX 1024 /* a longer value is nobody's */
#define GATE_HEADERS_MAX 64

/* What a server accepts; borrowed. */
struct gate_rules {
	const char *const *methods; /* NULL-terminated; those with a body are POST alone */
	const char *const *hosts;   /* names and addresses in Host and Origin, without a port; NULL-terminated */
	/*
	 * Whether Host may be any IP address, and Origin the same one: for a server that listens on all of them. A page
	 * of another server can make its name point here, but not an address.
	 */
	bool takes_addresses;
	uint64_t body_bytes_max;
	/* Whether the value of Authorization is that of a guest. NULL: nobody is one */
	bool (*is_guest)(const char *authorization, const void *data);
	const void *data;
};

enum gate_state { GATE_HEAD, GATE_BODY, GATE_CHUNK_SIZE, GATE_CHUNK, GATE_CHUNK_END, GATE_LAST_END, GATE_CLOSED };

struct gate {
	const struct gate_rules *rules;
	enum gate_state state;
	struct buf line;     /* head, or line of a chunk, as far as it came */
	uint64_t body_left;  /* of the body, or of the chunk */
	uint64_t body_bytes; /* of chunks so far */
	uint64_t n_requests; /* that passed as a whole */
	bool has_guest;	     /* a head of a guest passed, some time */
	unsigned int status; /* of the refusal; 0: none */
	const char *why;     /* a sentence for it */
};

#define GATE_INIT(rules_)                                                                                              \
	{                                                                                                              \
		.rules = (rules_)                                                                                      \
	}

void gate_done(struct gate *gate);
/**
 * gate_feed() - take bytes of a connection
 * @out: gets what may pass
 * Return: 0; the HTTP status of a refusal, after which nothing passes; -ENOMEM
 */
int gate_feed(struct gate *gate, const char *data, size_t n, struct buf *out);
/** gate_is_between() - whether no request is on its way: the connection is idle */
bool gate_is_between(const struct gate *gate);
/** gate_refusal_append() - append the answer to what was refused; the connection ends with it */
void gate_refusal_append(const struct gate *gate, struct buf *out);
