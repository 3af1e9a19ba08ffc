// SPDX-License-Identifier: Apache-2.0
/*
 * A service on a path: who finds it, who may reach it, whom a client believes, and what is there already.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ingero/ingero.h"
#include "rpc/server.h"
#include "tests/support/check.h"
#include "toy.h"

struct service {
	char directory[80];
	char path[100];
	pid_t pid;
	int ready_fd;
};

static void service_prepare(struct service *service)
{
	const char *base = getenv("TMPDIR");

	(void)snprintf(service->directory, sizeof(service->directory), "%s/rpc-XXXXXX", base ? base : P_tmpdir);
	if (!mkdtemp(service->directory) || chmod(service->directory, 0755))
		abort();
	(void)snprintf(service->path, sizeof(service->path), "%s/ingero.sock", service->directory);
	service->pid = 0;
}

static void service_start(struct service *service, uid_t uid)
{
	int fds[2];
	char byte;

	if (pipe2(fds, O_CLOEXEC))
		abort();
	if (uid != getuid() && chown(service->directory, uid, uid))
		abort();
	(void)fflush(NULL);
	service->pid = fork();
	if (service->pid == 0) {
		struct toy toy;

		if (uid != getuid() && (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
			_exit(1);
		toy_open(&toy);
		if (server_listen(toy.server, service->path))
			_exit(1);
		(void)close(fds[1]);
		(void)uv_run(&toy.loop, UV_RUN_DEFAULT);
		_exit(0);
	}
	(void)close(fds[1]);
	CHECK_INT_EQ("service is ready", read(fds[0], &byte, 1), 0);
	(void)close(fds[0]);
}

static void service_stop(struct service *service)
{
	if (service->pid) {
		(void)kill(service->pid, SIGKILL);
		(void)waitpid(service->pid, NULL, 0);
	}
	service->pid = 0;
}

static void service_remove(struct service *service)
{
	service_stop(service);
	(void)unlink(service->path);
	(void)rmdir(service->directory);
}

/* And ask something. */
static int try_open(const char *path, char error[512])
{
	struct ingero_options options = { .socket_path = path, .program = "path test" };
	Ingero__V1__OperationsRequest request = INGERO__V1__OPERATIONS_REQUEST__INIT;
	ProtobufCMessage *reply = NULL;
	struct ingero *ingero = NULL;
	int r;

	error[0] = 0;
	r = ingero_open(&options, error, 512, &ingero);
	if (r == 0)
		r = ingero_call(ingero, "ingero.v1.Query.Operations", &request.base, 0, &reply);
	if (r == 0)
		ingero__v1__summary__free_unpacked((Ingero__V1__Summary *)reply, NULL);
	ingero_close(ingero);
	return r;
}

static void test_service(void)
{
	struct service service;
	char error[512], long_path[200];
	struct stat st;

	service_prepare(&service);
	CHECK_INT_EQ("nothing there", try_open(service.path, error), -ENOENT);
	CHECK("nothing there", strstr(error, "is not running") && strstr(error, service.path));

	service_start(&service, getuid());
	CHECK_INT_EQ("service", try_open(service.path, error), 0);
	CHECK_INT_EQ("service", stat(service.path, &st), 0);
	CHECK_INT_EQ("everybody may connect", st.st_mode & 0777, 0666);

	service_stop(&service);
	CHECK_INT_EQ("killed, its socket left", try_open(service.path, error), -ENOENT);
	CHECK("killed, its socket left", strstr(error, "is not running") != NULL);
	service_start(&service, getuid());
	CHECK_INT_EQ("started over the socket of the old one", try_open(service.path, error), 0);
	service_remove(&service);

	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = 0;
	CHECK_INT_EQ("path too long", try_open(long_path, error), -ENAMETOOLONG);
}

static void test_listen(void)
{
	struct service service;
	struct toy toy;
	int fd;

	service_prepare(&service);
	service_start(&service, getuid());
	toy_open(&toy);
	CHECK_INT_EQ("another one serves there", server_listen(toy.server, service.path), -EADDRINUSE);
	service_stop(&service);

	(void)unlink(service.path);
	fd = open(service.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK_INT_EQ("a file is there", server_listen(toy.server, service.path), -EADDRINUSE);
	CHECK_INT_EQ("the file is still there", access(service.path, F_OK), 0);
	CHECK_INT_EQ("a file is no listening socket", server_listen_fd(toy.server, fd) < 0, 1);
	(void)close(fd);
	(void)unlink(service.path);

	CHECK_INT_EQ("free", server_listen(toy.server, service.path), 0);
	toy_close(&toy);
	CHECK_INT_EQ("removed at the end", access(service.path, F_OK), -1);
	service_remove(&service);
}

/* In a child that becomes another user. */
static int open_as(uid_t uid, const char *path)
{
	int status = 0;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		char error[512];
		int r;

		if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
			_exit(99);
		r = try_open(path, error);
		if (r && !error[0])
			_exit(98); /* an error without its sentence */
		_exit(-r);
	}
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -1000;
}

static void test_users(void)
{
	const uid_t nobody = 65534, somebody = 12345;
	struct service service;
	char error[512];

	if (getuid() != 0) {
		printf("not tried without root: other users\n");
		return;
	}
	service_prepare(&service);
	service_start(&service, 0);
	CHECK_INT_EQ("a user asks root's service", open_as(nobody, service.path), 0);
	(void)chmod(service.directory, 0700);
	CHECK_INT_EQ("a user may not reach it", open_as(nobody, service.path), -EACCES);
	service_remove(&service);

	service_prepare(&service);
	service_start(&service, nobody);
	CHECK_INT_EQ("served by a user, asked by root", try_open(service.path, error), -EPROTO);
	CHECK("served by a user, asked by root", strstr(error, "uid 65534") != NULL);
	CHECK_INT_EQ("served by a user, asked by another", open_as(somebody, service.path), -EPROTO);
	CHECK_INT_EQ("served by a user, asked by himself", open_as(nobody, service.path), 0);
	service_remove(&service);
}

int main(void)
{
	test_service();
	test_listen();
	test_users();
	return check_result();
}
