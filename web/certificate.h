// SPDX-License-Identifier: Apache-2.0
/* The certificate of a server: its user's own, or a self-signed one that is made once and kept. */
#pragma once

#include <openssl/types.h>

#include "web/file.h"

#define WEB_FINGERPRINT_BYTES 96 /* "AB:CD:...": SHA-256 */

/**
 * web_certificate_keep() - make a self-signed certificate with its key, unless both files are there, match and still
 * hold; of servers that do so at once, one makes them. What is not ours to replace is refused: links, files of others,
 * an encrypted key
 * @host: name of the machine, beside localhost and the loopback addresses; NULL: none
 * Return: 0; -errno with a sentence
 */
int web_certificate_keep(const struct web_file *cert, const struct web_file *key, const char *host, char *error);
/**
 * web_tls_new() - TLS 1.3 with a certificate and its key
 * @fingerprint: WEB_FINGERPRINT_BYTES
 * @ret: release with SSL_CTX_free()
 * Return: 0; -errno with a sentence
 */
int web_tls_new(const struct web_file *cert, const struct web_file *key, char *error, char *fingerprint, SSL_CTX **ret);
