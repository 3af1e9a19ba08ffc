// SPDX-License-Identifier: Apache-2.0
#include "web/certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "web/token.h"

#define CERTIFICATE_DAYS 397 /* what browsers take at most */
#define RENEW_DAYS 7
#define SERIAL_BITS 127
#define DAY_S 86400L

static int certificate_refuse(char *error, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int certificate_refuse(char *error, int r, const char *fmt, ...)
{
	FORMAT_INTO(error, WEB_ERROR_BYTES, fmt);
	return r;
}

static void x509_freep(X509 **certificate)
{
	X509_free(*certificate);
}

static void pkey_freep(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

static void bn_freep(BIGNUM **number)
{
	BN_free(*number);
}

static void hex_freep(char **hex)
{
	OPENSSL_free(*hex);
}

static bool extension_add(X509 *certificate, int id, const char *value)
{
	X509_EXTENSION *extension;
	X509V3_CTX context;
	bool is_added;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, id, value);
	is_added = extension && X509_add_ext(certificate, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return is_added;
}

static bool serial_set(X509 *certificate)
{
	CLEANUP(bn_freep) BIGNUM *number = BN_new();

	return number && BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
	       BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
}

static bool name_entry_add(X509_NAME *name, const char *field, const char *value)
{
	return X509_NAME_add_entry_by_txt(name, field, MBSTRING_ASC, (const unsigned char *)value, -1, -1, 0) == 1;
}

/*
 * The name is unique: BoringSSL looks the issuer of a self-signed certificate up by its name, and takes the first that
 * it trusts. Other certificates for localhost are trusted on many machines.
 */
static bool name_set(X509 *certificate)
{
	CLEANUP(bn_freep) BIGNUM *serial = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), NULL);
	CLEANUP(hex_freep) char *hex = serial ? BN_bn2hex(serial) : NULL;
	X509_NAME *name = X509_get_subject_name(certificate);

	return hex && name_entry_add(name, "CN", "localhost") && name_entry_add(name, "serialNumber", hex) &&
	       X509_set_issuer_name(certificate, name) == 1;
}

static bool certificate_fill(X509 *certificate, EVP_PKEY *key, const char *host)
{
	char names[512];

	(void)snprintf(names, sizeof(names), "DNS:localhost,IP:127.0.0.1,IP:::1%s%.255s", host ? ",DNS:" : "",
		       host ? host : "");
	return X509_set_version(certificate, X509_VERSION_3) == 1 && serial_set(certificate) && name_set(certificate) &&
	       X509_gmtime_adj(X509_getm_notBefore(certificate), -60) &&
	       X509_gmtime_adj(X509_getm_notAfter(certificate), CERTIFICATE_DAYS * DAY_S) &&
	       X509_set_pubkey(certificate, key) == 1 && extension_add(certificate, NID_subject_alt_name, names) &&
	       extension_add(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
	       extension_add(certificate, NID_key_usage, "critical,digitalSignature") &&
	       extension_add(certificate, NID_ext_key_usage, "serverAuth") &&
	       X509_sign(certificate, key, EVP_sha256()) > 0;
}

/* Opens a new file in the place of an old one. Return: stream, or NULL with the sentence */
static FILE *file_replace(const char *path, mode_t mode, char *error)
{
	FILE *file = NULL;
	int fd;

	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd >= 0)
		file = fdopen(fd, "w");
	if (!file) {
		(void)certificate_refuse(error, -errno, "cannot create '%s': %s", path, strerror(errno));
		closep(&fd);
	}
	return file;
}

static int certificate_make(const char *cert_path, const char *key_path, const char *host, char *error)
{
	CLEANUP(pkey_freep) EVP_PKEY *key = EVP_EC_gen("P-256");
	CLEANUP(x509_freep) X509 *certificate = X509_new();
	CLEANUP(fclosep) FILE *key_file = NULL, *cert_file = NULL;

	if (!key || !certificate || !certificate_fill(certificate, key, host))
		return certificate_refuse(error, -EIO, "cannot create a certificate");
	key_file = file_replace(key_path, 0600, error);
	cert_file = key_file ? file_replace(cert_path, 0644, error) : NULL;
	if (!cert_file)
		return -EIO;
	if (PEM_write_PrivateKey(key_file, key, NULL, NULL, 0, NULL, NULL) != 1 ||
	    PEM_write_X509(cert_file, certificate) != 1 || fflush(key_file) != 0 || fflush(cert_file) != 0)
		return certificate_refuse(error, -EIO, "cannot write '%s'", cert_path);
	return 0;
}

/* Whether a kept certificate is there with its key, and holds for some days more. */
static bool certificate_holds(const char *cert_path, const char *key_path)
{
	CLEANUP(fclosep) FILE *cert_file = fopen(cert_path, "re"), *key_file = fopen(key_path, "re");
	CLEANUP(x509_freep) X509 *certificate = cert_file ? PEM_read_X509(cert_file, NULL, NULL, NULL) : NULL;
	CLEANUP(pkey_freep) EVP_PKEY *key = key_file ? PEM_read_PrivateKey(key_file, NULL, NULL, NULL) : NULL;
	time_t soon = time(NULL) + RENEW_DAYS * DAY_S;

	return certificate && key && X509_check_private_key(certificate, key) == 1 &&
	       X509_cmp_time(X509_get0_notAfter(certificate), &soon) > 0;
}

int web_certificate_keep(const char *cert_path, const char *key_path, const char *host, char *error)
{
	if (certificate_holds(cert_path, key_path))
		return 0;
	return certificate_make(cert_path, key_path, host, error);
}

static void fingerprint_format(X509 *certificate, char *fingerprint)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int n = 0;

	*fingerprint = 0;
	if (X509_digest(certificate, EVP_sha256(), digest, &n) != 1)
		return;
	for (unsigned int i = 0; i < n && 3 * i + 3 < WEB_FINGERPRINT_BYTES + 3; i++)
		(void)snprintf(fingerprint + 3 * i, 4, "%02X%s", digest[i], i + 1 < n ? ":" : "");
}

static int key_check(const char *path, char *error)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return certificate_refuse(error, -errno, "cannot read '%s': %s", path, strerror(errno));
	return web_file_is_private(fd, path, error);
}

int web_tls_new(const char *cert_path, const char *key_path, char *error, char *fingerprint, SSL_CTX **ret)
{
	SSL_CTX *tls;
	int r = key_check(key_path, error);

	if (r < 0)
		return r;
	tls = SSL_CTX_new(TLS_server_method());
	if (!tls)
		return certificate_refuse(error, -ENOMEM, "no memory for TLS");
	if (SSL_CTX_set_min_proto_version(tls, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_use_certificate_chain_file(tls, cert_path) != 1)
		r = certificate_refuse(error, -EINVAL, "'%s' has no certificate in PEM form", cert_path);
	else if (SSL_CTX_use_PrivateKey_file(tls, key_path, SSL_FILETYPE_PEM) != 1 ||
		 SSL_CTX_check_private_key(tls) != 1)
		r = certificate_refuse(error, -EINVAL, "'%s' has no key in PEM form that matches '%s'", key_path,
				       cert_path);
	if (r < 0) {
		SSL_CTX_free(tls);
		return r;
	}
	(void)SSL_CTX_set_num_tickets(tls, 0); /* nothing is resumed: connections are few and short */
	(void)SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					    SSL_MODE_RELEASE_BUFFERS);
	fingerprint_format(SSL_CTX_get0_certificate(tls), fingerprint);
	*ret = tls;
	return 0;
}
