// SPDX-License-Identifier: Apache-2.0
#include "web/certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"

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

/* ---- files ---- */

/* Opens a file of PEM. Return: 0; -errno with a sentence */
static int pem_open(const struct web_file *file, bool is_secret, char *error, FILE **ret)
{
	int fd = web_file_open(file, is_secret, error);

	if (fd < 0)
		return fd;
	*ret = fdopen(fd, "r");
	if (*ret)
		return 0;
	(void)close(fd);
	return certificate_refuse(error, -ENOMEM, "no memory for '%.300s'", file->path);
}

/* Nobody is asked for a pass phrase: a server starts without people. */
static int pass_phrase_refuse(char *text, int room, int is_writing, void *data)
{
	bool *is_encrypted = data;

	(void)text;
	(void)room;
	(void)is_writing;
	*is_encrypted = true;
	return -1;
}

/* Return: 0, with *ret NULL where the file has no key; -errno with a sentence */
static int key_read(const struct web_file *file, char *error, EVP_PKEY **ret)
{
	CLEANUP(fclosep) FILE *stream = NULL;
	bool is_encrypted = false;
	int r = pem_open(file, /* is_secret= */ true, error, &stream);

	if (r < 0)
		return r;
	*ret = PEM_read_PrivateKey(stream, NULL, pass_phrase_refuse, &is_encrypted);
	ERR_clear_error();
	if (!*ret && is_encrypted)
		return certificate_refuse(
			error, -EPERM, "the key in '%.150s' is encrypted; write it anew with 'openssl pkey -in %.150s'",
			file->path, file->path);
	return 0;
}

/* Writes a file under another name. Return: 0; -errno with a sentence, and no file */
static int pem_write(const struct web_file *file, EVP_PKEY *key, X509 *certificate, char *temporary, char *error)
{
	int fd = web_file_create(file, key ? 0600 : 0644, temporary, error);
	CLEANUP(fclosep) FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
	bool is_written;

	if (fd < 0)
		return fd;
	if (!stream)
		(void)close(fd);
	is_written = stream &&
		     (key ? PEM_write_PrivateKey(stream, key, NULL, NULL, 0, NULL, NULL)
			  : PEM_write_X509(stream, certificate)) == 1 &&
		     fflush(stream) == 0;
	if (is_written)
		return 0;
	(void)unlinkat(file->directory, temporary, 0);
	return certificate_refuse(error, -EIO, "cannot write '%.300s'", file->path);
}

static int file_replace(const struct web_file *file, const char *temporary, char *error)
{
	if (renameat(file->directory, temporary, file->directory, file->name) == 0)
		return 0;
	return certificate_refuse(error, -errno, "cannot create '%.300s': %s", file->path, strerror(errno));
}

static int certificate_make(const struct web_file *cert, const struct web_file *key, const char *host, char *error)
{
	CLEANUP(pkey_freep) EVP_PKEY *pair = EVP_EC_gen("P-256");
	CLEANUP(x509_freep) X509 *certificate = X509_new();
	char cert_temporary[WEB_TEMPORARY_BYTES], key_temporary[WEB_TEMPORARY_BYTES];
	int r;

	if (!pair || !certificate || !certificate_fill(certificate, pair, host))
		return certificate_refuse(error, -EIO, "cannot create a certificate");
	r = pem_write(key, pair, NULL, key_temporary, error);
	if (r < 0)
		return r;
	r = pem_write(cert, NULL, certificate, cert_temporary, error);
	if (r == 0) {
		r = file_replace(key, key_temporary, error);
		if (r == 0)
			r = file_replace(cert, cert_temporary, error);
		(void)unlinkat(cert->directory, cert_temporary, 0); /* where it is still there */
	}
	(void)unlinkat(key->directory, key_temporary, 0);
	return r;
}

/*
 * Whether a kept certificate is there with its key, and holds for some days more. Return: 1; 0: one is to be made;
 * -errno with a sentence: something else is there
 */
static int certificate_holds(const struct web_file *cert, const struct web_file *key, char *error)
{
	CLEANUP(x509_freep) X509 *certificate = NULL;
	CLEANUP(pkey_freep) EVP_PKEY *pair = NULL;
	CLEANUP(fclosep) FILE *stream = NULL;
	time_t soon = time(NULL) + RENEW_DAYS * DAY_S;
	int r_cert = pem_open(cert, /* is_secret= */ false, error, &stream), r_key;

	if (r_cert < 0 && r_cert != -ENOENT)
		return r_cert;
	r_key = key_read(key, error, &pair);
	if (r_key < 0 && r_key != -ENOENT)
		return r_key;
	certificate = stream ? PEM_read_X509(stream, NULL, NULL, NULL) : NULL;
	ERR_clear_error();
	return certificate && pair && X509_check_private_key(certificate, pair) == 1 &&
	       X509_cmp_time(X509_get0_notAfter(certificate), &soon) > 0;
}

/* Waits until nobody else makes the certificate of this directory. Return: descriptor; -errno with a sentence */
static int making_lock(const struct web_file *key, char *error)
{
	char name[WEB_TEMPORARY_BYTES];
	CLEANUP(closep) int fd = -1;
	int r;

	(void)snprintf(name, sizeof(name), "%.4000s.lock", key->name);
	fd = openat(key->directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
		;
	if (fd < 0)
		return certificate_refuse(error, -errno, "cannot create '%.300s.lock': %s", key->path, strerror(errno));
	r = fd;
	fd = -1;
	return r;
}

int web_certificate_keep(const struct web_file *cert, const struct web_file *key, const char *host, char *error)
{
	CLEANUP(closep) int lock = -1;
	int r = certificate_holds(cert, key, error);

	if (r)
		return MIN(r, 0);
	lock = making_lock(key, error);
	if (lock < 0)
		return lock;
	r = certificate_holds(cert, key, error); /* another server was faster */
	return r ? MIN(r, 0) : certificate_make(cert, key, host, error);
}

/* ---- TLS ---- */

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

/* Takes a certificate, and those behind it up to its authority. */
static int chain_use(SSL_CTX *tls, const struct web_file *file, char *error)
{
	CLEANUP(x509_freep) X509 *certificate = NULL;
	CLEANUP(fclosep) FILE *stream = NULL;
	X509 *next;
	int r = pem_open(file, /* is_secret= */ false, error, &stream);
	bool is_used;

	if (r < 0)
		return r;
	certificate = PEM_read_X509_AUX(stream, NULL, NULL, NULL);
	is_used = certificate && SSL_CTX_use_certificate(tls, certificate) == 1;
	while (is_used && (next = PEM_read_X509(stream, NULL, NULL, NULL))) {
		is_used = SSL_CTX_add0_chain_cert(tls, next) == 1;
		if (!is_used)
			X509_free(next);
	}
	ERR_clear_error(); /* the end of the file */
	return is_used ? 0 : certificate_refuse(error, -EINVAL, "'%.300s' has no certificate in PEM form", file->path);
}

static int key_use(SSL_CTX *tls, const struct web_file *cert, const struct web_file *key, char *error)
{
	CLEANUP(pkey_freep) EVP_PKEY *pair = NULL;
	int r = key_read(key, error, &pair);

	if (r < 0)
		return r;
	if (pair && SSL_CTX_use_PrivateKey(tls, pair) == 1 && SSL_CTX_check_private_key(tls) == 1)
		return 0;
	ERR_clear_error();
	return certificate_refuse(error, -EINVAL, "'%.200s' has no key in PEM form that matches '%.200s'", key->path,
				  cert->path);
}

int web_tls_new(const struct web_file *cert, const struct web_file *key, char *error, char *fingerprint, SSL_CTX **ret)
{
	SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
	int r;

	if (!tls || SSL_CTX_set_min_proto_version(tls, TLS1_3_VERSION) != 1)
		r = certificate_refuse(error, -ENOMEM, "no memory for TLS");
	else
		r = chain_use(tls, cert, error);
	if (r == 0)
		r = key_use(tls, cert, key, error);
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
