// SPDX-License-Identifier: Apache-2.0
/* A certificate that is made: what it says, who may read its key, and that it is kept. */
#include "web/certificate.h"

#include <errno.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"
#include "web/token.h"

static X509 *read_certificate(const char *path)
{
	FILE *file = fopen(path, "re");
	X509 *certificate = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;

	if (file)
		(void)fclose(file);
	return certificate;
}

int main(void)
{
	const char *place = getenv("TMPDIR");
	char directory[256], cert[300], key[300], other[300], error[WEB_ERROR_BYTES] = "";
	char fingerprint[WEB_FINGERPRINT_BYTES], again[WEB_FINGERPRINT_BYTES];
	SSL_CTX *tls = NULL;
	X509 *certificate, *another;
	struct stat st;

	(void)snprintf(directory, sizeof(directory), "%.200s/unit_web_cert_XXXXXX", place ? place : P_tmpdir);
	CHECK("a directory", mkdtemp(directory));
	(void)snprintf(cert, sizeof(cert), "%s/cert.pem", directory);
	(void)snprintf(key, sizeof(key), "%s/key.pem", directory);
	(void)snprintf(other, sizeof(other), "%s/other.pem", directory);
	CHECK_INT_EQ("made", web_certificate_keep(cert, key, "node-7", error), 0);
	CHECK("its key is for its owner alone", stat(key, &st) == 0 && (st.st_mode & 0777) == 0600);

	certificate = read_certificate(cert);
	CHECK("is read", certificate);
	CHECK_INT_EQ("localhost", X509_check_host(certificate, "localhost", 0, 0, NULL), 1);
	CHECK_INT_EQ("the machine", X509_check_host(certificate, "node-7", 0, 0, NULL), 1);
	CHECK_INT_EQ("no other", X509_check_host(certificate, "example.com", 0, 0, NULL), 0);
	CHECK_INT_EQ("IPv4", X509_check_ip_asc(certificate, "127.0.0.1", 0), 1);
	CHECK_INT_EQ("IPv6", X509_check_ip_asc(certificate, "::1", 0), 1);
	CHECK_INT_EQ("no authority", X509_check_ca(certificate), 0);

	CHECK_INT_EQ("TLS", web_tls_new(cert, key, error, fingerprint, &tls), 0);
	CHECK_INT_EQ("1.3 at least", SSL_CTX_get_min_proto_version(tls), TLS1_3_VERSION);
	CHECK_INT_EQ("a whole fingerprint", strlen(fingerprint), 95);
	SSL_CTX_free(tls);
	tls = NULL;
	CHECK_INT_EQ("kept", web_certificate_keep(cert, key, NULL, error), 0);
	CHECK_INT_EQ("TLS again", web_tls_new(cert, key, error, again, &tls), 0);
	CHECK_STR_EQ("the same", again, fingerprint);
	SSL_CTX_free(tls);
	tls = NULL;

	(void)chmod(key, 0644);
	CHECK_INT_EQ("others can read the key", web_tls_new(cert, key, error, fingerprint, &tls), -EPERM);
	(void)chmod(key, 0600);
	CHECK_INT_EQ("no key", web_tls_new(cert, cert, error, fingerprint, &tls), -EPERM);
	(void)unlink(key);
	CHECK_INT_EQ("a lost key", web_tls_new(cert, key, error, fingerprint, &tls), -ENOENT);
	CHECK_INT_EQ("makes another", web_certificate_keep(cert, key, NULL, error), 0);
	another = read_certificate(cert);
	CHECK("of another name",
	      another && X509_NAME_cmp(X509_get_subject_name(another), X509_get_subject_name(certificate)) != 0);
	X509_free(another);
	X509_free(certificate);
	CHECK("a key of another", rename(key, other) == 0 && unlink(cert) == 0);
	CHECK_INT_EQ("with its certificate", web_certificate_keep(cert, key, NULL, error), 0);
	CHECK("in its place", rename(other, key) == 0);
	CHECK_INT_EQ("does not fit", web_tls_new(cert, key, error, fingerprint, &tls), -EINVAL);
	CHECK_INT_EQ("makes both anew", web_certificate_keep(cert, key, NULL, error), 0);
	CHECK_INT_EQ("that fit", web_tls_new(cert, key, error, fingerprint, &tls), 0);
	SSL_CTX_free(tls);
	(void)unlink(cert);
	(void)unlink(key);
	(void)rmdir(directory);
	return check_result();
}
