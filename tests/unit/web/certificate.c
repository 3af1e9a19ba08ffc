// SPDX-License-Identifier: Apache-2.0
/* A certificate that is made: what it says, who may read its key, and that it is kept. */
#include "web/certificate.h"

#include <errno.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static X509 *read_certificate(const char *path)
{
	FILE *file = fopen(path, "re");
	X509 *certificate = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;

	if (file)
		(void)fclose(file);
	return certificate;
}

/* As a first start: what it keeps has to be there as a whole. */
static int first_start(const struct web_file *cert, const struct web_file *key)
{
	char error[WEB_ERROR_BYTES] = "", fingerprint[WEB_FINGERPRINT_BYTES];
	SSL_CTX *tls = NULL;
	int r = web_certificate_keep(cert, key, NULL, error);

	if (r == 0)
		r = web_tls_new(cert, key, error, fingerprint, &tls);
	SSL_CTX_free(tls);
	return r;
}

static void starts_test(const struct web_file *cert, const struct web_file *key)
{
	enum { STARTS = 16, ROUNDS = 8 };
	int failed = 0;

	for (int round = 0; round < ROUNDS; round++) {
		int gate[2], status;
		char byte;

		(void)unlink(cert->path);
		(void)unlink(key->path);
		CHECK("a pipe", pipe(gate) == 0);
		for (int i = 0; i < STARTS; i++)
			if (fork() == 0) {
				(void)close(gate[1]);
				_exit(read(gate[0], &byte, 1) == 0 && first_start(cert, key) == 0
					      ? 0
					      : 1); /* all at once */
			}
		(void)close(gate[0]);
		(void)close(gate[1]);
		while (wait(&status) > 0)
			failed += status != 0;
	}
	CHECK_INT_EQ("first starts at once that failed", failed, 0);
}

/* What is not ours to replace stays as it is. */
static void foreign_test(const struct web_file *cert, const struct web_file *key)
{
	char error[WEB_ERROR_BYTES] = "", fingerprint[WEB_FINGERPRINT_BYTES];
	EVP_PKEY *pair = EVP_EC_gen("P-256");
	SSL_CTX *tls = NULL;
	struct stat before, after;
	FILE *file;

	CHECK_INT_EQ("one to begin with", web_certificate_keep(cert, key, NULL, error), 0);
	(void)unlink(key->path);
	file = fopen(key->path, "we");
	CHECK("a key with a pass phrase",
	      file && PEM_write_PrivateKey(file, pair, EVP_aes_128_cbc(), NULL, 0, NULL, (void *)"phrase") == 1);
	(void)fclose(file);
	EVP_PKEY_free(pair);
	(void)chmod(key->path, 0600);
	CHECK("is there", stat(key->path, &before) == 0);
	CHECK_INT_EQ("is not replaced", web_certificate_keep(cert, key, NULL, error), -EPERM);
	CHECK("and it is said why", strstr(error, "is encrypted"));
	CHECK("it is the same file", stat(key->path, &after) == 0 && before.st_ino == after.st_ino);
	CHECK_INT_EQ("nor taken", web_tls_new(cert, key, error, fingerprint, &tls), -EPERM);
	(void)unlink(key->path);

	(void)unlink(cert->path);
	CHECK("a pipe with a name", mkfifo(cert->path, 0600) == 0);
	CHECK_INT_EQ("does not hold a start up", web_certificate_keep(cert, key, NULL, error), -EPERM);
	CHECK_INT_EQ("nor one with options", web_tls_new(cert, key, error, fingerprint, &tls), -EPERM);
	(void)unlink(cert->path);
	if (geteuid() == 0) {
		CHECK_INT_EQ("another one", web_certificate_keep(cert, key, NULL, error), 0);
		CHECK("of another user", chown(key->path, 12345, 12345) == 0);
		CHECK_INT_EQ("is not replaced either", web_certificate_keep(cert, key, NULL, error), -EPERM);
		CHECK_INT_EQ("nor taken", web_tls_new(cert, key, error, fingerprint, &tls), -EPERM);
		CHECK("its owner is the reason", strstr(error, "belongs to another user"));
	}
	(void)unlink(cert->path);
	(void)unlink(key->path);
}

int main(void)
{
	const char *place = getenv("TMPDIR");
	char directory[256], cert[300], key[300], other[300], error[WEB_ERROR_BYTES] = "";
	char fingerprint[WEB_FINGERPRINT_BYTES], again[WEB_FINGERPRINT_BYTES];
	struct web_file cert_file, key_file;
	SSL_CTX *tls = NULL;
	X509 *certificate, *another;
	struct stat st;

	(void)snprintf(directory, sizeof(directory), "%.200s/unit_web_cert_XXXXXX", place ? place : P_tmpdir);
	CHECK("a directory", mkdtemp(directory));
	(void)snprintf(cert, sizeof(cert), "%s/cert.pem", directory);
	(void)snprintf(key, sizeof(key), "%s/key.pem", directory);
	(void)snprintf(other, sizeof(other), "%s/other.pem", directory);
	cert_file = WEB_FILE(cert);
	key_file = WEB_FILE(key);
	CHECK_INT_EQ("made", web_certificate_keep(&cert_file, &key_file, "node-7", error), 0);
	CHECK("its key is for its owner alone", stat(key, &st) == 0 && (st.st_mode & 0777) == 0600);

	certificate = read_certificate(cert);
	CHECK("is read", certificate);
	CHECK_INT_EQ("localhost", X509_check_host(certificate, "localhost", 0, 0, NULL), 1);
	CHECK_INT_EQ("the machine", X509_check_host(certificate, "node-7", 0, 0, NULL), 1);
	CHECK_INT_EQ("no other", X509_check_host(certificate, "example.com", 0, 0, NULL), 0);
	CHECK_INT_EQ("IPv4", X509_check_ip_asc(certificate, "127.0.0.1", 0), 1);
	CHECK_INT_EQ("IPv6", X509_check_ip_asc(certificate, "::1", 0), 1);
	CHECK_INT_EQ("no authority", X509_check_ca(certificate), 0);

	CHECK_INT_EQ("TLS", web_tls_new(&cert_file, &key_file, error, fingerprint, &tls), 0);
	CHECK_INT_EQ("1.3 at least", SSL_CTX_get_min_proto_version(tls), TLS1_3_VERSION);
	CHECK_INT_EQ("a whole fingerprint", strlen(fingerprint), 95);
	SSL_CTX_free(tls);
	tls = NULL;
	CHECK_INT_EQ("kept", web_certificate_keep(&cert_file, &key_file, NULL, error), 0);
	CHECK_INT_EQ("TLS again", web_tls_new(&cert_file, &key_file, error, again, &tls), 0);
	CHECK_STR_EQ("the same", again, fingerprint);
	SSL_CTX_free(tls);
	tls = NULL;

	(void)chmod(key, 0644);
	CHECK_INT_EQ("others can read the key", web_tls_new(&cert_file, &key_file, error, fingerprint, &tls), -EPERM);
	(void)chmod(key, 0600);
	CHECK_INT_EQ("no key", web_tls_new(&cert_file, &cert_file, error, fingerprint, &tls), -EPERM);
	(void)unlink(key);
	CHECK_INT_EQ("a lost key", web_tls_new(&cert_file, &key_file, error, fingerprint, &tls), -ENOENT);
	CHECK_INT_EQ("makes another", web_certificate_keep(&cert_file, &key_file, NULL, error), 0);
	another = read_certificate(cert);
	CHECK("of another name",
	      another && X509_NAME_cmp(X509_get_subject_name(another), X509_get_subject_name(certificate)) != 0);
	X509_free(another);
	X509_free(certificate);
	CHECK("a key of another", rename(key, other) == 0 && unlink(cert) == 0);
	CHECK_INT_EQ("with its certificate", web_certificate_keep(&cert_file, &key_file, NULL, error), 0);
	CHECK("in its place", rename(other, key) == 0);
	CHECK_INT_EQ("does not fit", web_tls_new(&cert_file, &key_file, error, fingerprint, &tls), -EINVAL);
	CHECK_INT_EQ("makes both anew", web_certificate_keep(&cert_file, &key_file, NULL, error), 0);
	CHECK_INT_EQ("that fit", web_tls_new(&cert_file, &key_file, error, fingerprint, &tls), 0);
	SSL_CTX_free(tls);
	(void)unlink(cert);
	(void)unlink(key);
	foreign_test(&cert_file, &key_file);
	starts_test(&cert_file, &key_file);
	(void)unlink(cert);
	(void)unlink(key);
	(void)snprintf(other, sizeof(other), "%s/key.pem.lock", directory);
	(void)unlink(other);
	CHECK("nothing else stays", rmdir(directory) == 0);
	return check_result();
}
