// SPDX-License-Identifier: Apache-2.0
/* The bearer token of a server: given, or made once and kept for its user alone. */
#pragma once

#include <stdbool.h>

#include "web/file.h"

#define WEB_TOKEN_BYTES_MIN 16
#define WEB_TOKEN_BYTES_MAX 512

struct web_token {
	unsigned char digest[32]; /* SHA-256: what is compared has one length */
};

/** web_token_set() - take a token. Return: 0, or -EINVAL with a sentence that does not repeat it */
int web_token_set(const char *text, char *error, struct web_token *ret);
/** web_token_read() - read a token from a secret file. Return: 0; -errno, -EINVAL with a sentence */
int web_token_read(const struct web_file *file, char *error, struct web_token *ret);
/**
 * web_token_keep() - read the token of a file, or make one and keep it there, for its owner alone
 * @ret_is_new: whether it was made now
 */
int web_token_keep(const struct web_file *file, char *error, struct web_token *ret, bool *ret_is_new);
/** web_token_matches() - whether the value of an Authorization header has the token, in constant time; NULL: no header
 */
bool web_token_matches(const struct web_token *token, const char *authorization);
