// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "notify"
#include "notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "clock.h"

static int spare_fd = -1; /* stops reporting when descriptors have run out: each message takes a socket */

#define SLOW_FACTOR 15 /* guess: 300 s of the unit's 20 s; emulated machines needed 30 s for what takes 0.2 s */

#define SERVICE "multi-user.target.wants/ingero-collectord.service"

int notify_socket(void)
{
	int n = sd_listen_fds(/* unset_environment= */ 1);

	if (n <= 0)
		return n < 0 ? n : -ENOENT;
	for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + n; fd++)
		if (sd_is_socket_unix(fd, SOCK_STREAM, /* listening= */ 1, NULL, 0) > 0)
			return fd;
	return log_err(-EINVAL, "none of the %d descriptors passed is a Unix stream socket that listens", n);
}

bool notify_is_supervised(void)
{
	return getenv("NOTIFY_SOCKET") != NULL;
}

bool notify_is_enabled(int root_fd)
{
	/* In the order of systemd.unit(5): enabled by an administrator, at run time, by the distribution. */
	static const char *const places[] = {
		"etc/systemd/system/" SERVICE,
		"run/systemd/system/" SERVICE,
		"usr/lib/systemd/system/" SERVICE,
		"lib/systemd/system/" SERVICE,
	};
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (fstatat(root_fd, places[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

uint64_t notify_watchdog_ns(void)
{
	uint64_t usec = 0;

	return sd_watchdog_enabled(/* unset_environment= */ 0, &usec) > 0 ? usec * NSEC_PER_USEC : 0;
}

static int notify_spare_open(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void notify(const char *fmt, ...) PRINTF_LIKE(1, 2);

static void notify(const char *fmt, ...)
{
	char text[1024];
	int r;

	FORMAT_INTO(text, sizeof(text), fmt);
	r = sd_notify(0, text);
	if (r > 0 && spare_fd < 0)
		spare_fd = notify_spare_open();
	if (r != -EMFILE && r != -ENFILE)
		return;
	closep(&spare_fd);
	(void)sd_notify(0, text);
	spare_fd = notify_spare_open();
}

void notify_ready(const char *status)
{
	notify("READY=1\nSTATUS=%s", status);
}

void notify_status(const char *status)
{
	notify("STATUS=%s", status);
}

void notify_alive(void)
{
	notify("WATCHDOG=1");
}

void notify_slow(bool is_slow)
{
	uint64_t watchdog_ns = notify_watchdog_ns();

	if (watchdog_ns)
		notify("WATCHDOG_USEC=%llu",
		       (unsigned long long)(watchdog_ns / NSEC_PER_USEC * (is_slow ? SLOW_FACTOR : 1)));
}

void notify_reloading(void)
{
	notify("RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)(clock_now_ns() / NSEC_PER_USEC));
}

void notify_stopping(void)
{
	notify("STOPPING=1");
}

/* The priority could be a prefix of a line on stderr; but fields can be searched. */
static bool journal_print(enum log_level level, const char *topic, int r, const char *text)
{
	if (r < 0)
		return sd_journal_send("MESSAGE=%s", text, "PRIORITY=%d", (int)level, "INGERO_TOPIC=%s", topic,
				       "ERRNO=%d", -r, NULL) == 0;
	return sd_journal_send("MESSAGE=%s", text, "PRIORITY=%d", (int)level, "INGERO_TOPIC=%s", topic, NULL) == 0;
}

void notify_start(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	if (notify_is_supervised())
		spare_fd = notify_spare_open();

	/* systemd.exec(5): a process with redirected stderr inherits the variable, so it has to be compared. */
	if (stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
	    st.st_dev == device && st.st_ino == inode)
		log_set_sink(journal_print);
}
