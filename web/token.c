// SPDX-License-Identifier: Apache-2.0
#include "web/token.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define RANDOM_BYTES 32

static int token_refuse(char *error, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int token_refuse(char *error, int r, const char *fmt, ...)
{
	FORMAT_INTO(error, WEB_ERROR_BYTES, fmt);
	return r;
}

static bool digest_make(const char *text, size_t n, unsigned char *digest)
{
	return EVP_Digest(text, n, digest, NULL, EVP_sha256(), NULL) == 1;
}

int web_token_set(const char *text, char *error, struct web_token *ret)
{
	size_t n = strlen(text);

	if (n < WEB_TOKEN_BYTES_MIN || n > WEB_TOKEN_BYTES_MAX)
		return token_refuse(error, -EINVAL, "a token must have %d to %d characters", WEB_TOKEN_BYTES_MIN,
				    WEB_TOKEN_BYTES_MAX);
	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return token_refuse(error, -EINVAL, "a token may only have visible ASCII characters");
	if (!digest_make(text, n, ret->digest))
		return token_refuse(error, -ENOMEM, "no memory for the token");
	return 0;
}

int web_token_read(const struct web_file *file, char *error, struct web_token *ret)
{
	CLEANUP(closep) int fd = web_file_open(file, /* is_secret= */ true, error);
	char text[WEB_TOKEN_BYTES_MAX + 2] = "", why[WEB_ERROR_BYTES];
	ssize_t n;
	int r;

	if (fd < 0)
		return fd;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return token_refuse(error, -errno, "cannot read '%s': %s", file->path, strerror(errno));
	text[n] = 0;
	text[strcspn(text, "\r\n")] = 0;
	r = web_token_set(text, why, ret);
	OPENSSL_cleanse(text, sizeof(text));
	return r < 0 ? token_refuse(error, r, "'%.300s': %.150s", file->path, why) : 0;
}

static int token_write(int fd, const char *path, char *error, struct web_token *ret)
{
	unsigned char bytes[RANDOM_BYTES];
	char text[2 * RANDOM_BYTES + 2];
	int r;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return token_refuse(error, -EIO, "cannot get random numbers for a token");
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	r = web_token_set(text, error, ret);
	text[2 * RANDOM_BYTES] = '\n';
	if (r == 0 && fd_write_full(fd, text, 2 * RANDOM_BYTES + 1) < 0)
		r = token_refuse(error, -EIO, "cannot write '%s'", path);
	OPENSSL_cleanse(text, sizeof(text));
	OPENSSL_cleanse(bytes, sizeof(bytes));
	return r;
}

/* Under another name first: the file is never there without its token. Return: also -EEXIST */
static int token_make(const struct web_file *file, char *error, struct web_token *ret)
{
	char temporary[WEB_TEMPORARY_BYTES];
	CLEANUP(closep) int fd = web_file_create(file, 0600, temporary, error);
	int r;

	if (fd < 0)
		return fd;
	r = token_write(fd, file->path, error, ret);
	if (r == 0 && linkat(file->directory, temporary, file->directory, file->name, 0) < 0)
		r = token_refuse(error, -errno, "cannot create '%s': %s", file->path, strerror(errno));
	(void)unlinkat(file->directory, temporary, 0);
	return r;
}

int web_token_keep(const struct web_file *file, char *error, struct web_token *ret, bool *ret_is_new)
{
	int r = web_token_read(file, error, ret);

	*ret_is_new = false;
	if (r != -ENOENT)
		return r;
	r = token_make(file, error, ret);
	*ret_is_new = r == 0;
	return r == -EEXIST ? web_token_read(file, error, ret) : r; /* another server was faster */
}

bool web_token_matches(const struct web_token *token, const char *authorization)
{
	static const char scheme[] = "bearer ";
	unsigned char digest[32] = { 0 };
	bool has_scheme = authorization && strncasecmp(authorization, scheme, strlen(scheme)) == 0;
	const char *text = has_scheme ? authorization + strlen(scheme) : "";
	size_t n;

	text += strspn(text, " ");
	for (n = strlen(text); n && strchr(" \t", text[n - 1]);)
		n--; /* blanks behind a value belong to none */
	return digest_make(text, n, digest) && CRYPTO_memcmp(digest, token->digest, sizeof(digest)) == 0 && has_scheme;
}
