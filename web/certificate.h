// SPDX-License-Identifier: Apache-2.0
/* The certificate of a server: its user's own, or a self-signed one that is made once and kept. */
#pragma once

#include <openssl/types.h>

#define WEB_FINGERPRINT_BYTES 96 /* "AB:CD:...": SHA-256 */

/**
 * web_certificate_keep() - make a self-signed certificate with its key, unless both files are there, match and still
 * hold
 * @host: name of the machine, beside localhost and the loopback addresses; NULL: none
 * Return: 0; -errno with a sentence
 */
int web_certificate_keep(const char *cert_path, const char *key_path, const char *host, char *error);
/**
 * web_tls_new() - TLS 1.3 with a certificate and its key
 * @fingerprint: WEB_FINGERPRINT_BYTES
 * @ret: release with SSL_CTX_free()
 * Return: 0; -errno with a sentence
 */
int web_tls_new(const char *cert_path, const char *key_path, char *error, char *fingerprint, SSL_CTX **ret);
