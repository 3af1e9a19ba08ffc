// SPDX-License-Identifier: Apache-2.0
/* What a supervisor hears, also where each descriptor that the daemon may have is in use. */
#include "notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

static int supervisor_fd;

static const char *heard(void)
{
	static char text[512];
	ssize_t n = recv(supervisor_fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static bool supervisor_start(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char name[64];
	int n = snprintf(name, sizeof(name), "@ingero-test-notify-%d", (int)getpid());

	memcpy(address.sun_path + 1, name + 1, (size_t)n - 1); /* of no file */
	supervisor_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return supervisor_fd >= 0 && setenv("NOTIFY_SOCKET", name, 1) == 0 &&
	       bind(supervisor_fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n)) == 0;
}

/* From now on there is no descriptor below the limit. */
static void descriptors_use(const struct rlimit *all)
{
	struct rlimit few = *all;

	few.rlim_cur = 64;
	(void)setrlimit(RLIMIT_NOFILE, &few);
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		;
	CHECK_INT_EQ("all are in use", errno, EMFILE);
}

int main(void)
{
	struct rlimit all;

	if (getrlimit(RLIMIT_NOFILE, &all) || !supervisor_start())
		CHECK_SKIP("no socket to listen on");
	notify_start();
	notify_ready("at first");
	CHECK_STR_EQ("ready", heard(), "READY=1\nSTATUS=at first");
	descriptors_use(&all);
	notify_alive();
	CHECK_STR_EQ("alive without a descriptor", heard(), "WATCHDOG=1");
	notify_slow(true);
	CHECK_STR_EQ("slow, without a watchdog", heard(), "");
	(void)setenv("WATCHDOG_USEC", "20000000", 1);
	notify_slow(true);
	CHECK_STR_EQ("slow", heard(), "WATCHDOG_USEC=300000000");
	notify_slow(false);
	CHECK_STR_EQ("as before", heard(), "WATCHDOG_USEC=20000000");
	notify_ready("again");
	CHECK_STR_EQ("ready without a descriptor", heard(), "READY=1\nSTATUS=again");
	notify_stopping();
	CHECK_STR_EQ("stopping without a descriptor", heard(), "STOPPING=1");
	(void)setrlimit(RLIMIT_NOFILE, &all); /* sanitizers open files at the end */
	return check_result();
}
