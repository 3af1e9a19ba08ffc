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
	/* In the order of systemd.unit(5): where enabling makes its link, at run time, by the distribution. */
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

void notify_ready(const char *status)
{
	(void)sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void notify_status(const char *status)
{
	(void)sd_notifyf(0, "STATUS=%s", status);
}

void notify_alive(void)
{
	(void)sd_notify(0, "WATCHDOG=1");
}

void notify_reloading(void)
{
	(void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)(clock_now_ns() / NSEC_PER_USEC));
}

void notify_stopping(void)
{
	(void)sd_notify(0, "STOPPING=1");
}

/* The prefix of a line on stderr would do as much as the priority; fields can be searched for. */
static bool journal_print(enum log_level level, const char *topic, int r, const char *text)
{
	if (r < 0)
		return sd_journal_send("MESSAGE=%s", text, "PRIORITY=%d", (int)level, "INGERO_TOPIC=%s", topic,
				       "ERRNO=%d", -r, NULL) == 0;
	return sd_journal_send("MESSAGE=%s", text, "PRIORITY=%d", (int)level, "INGERO_TOPIC=%s", topic, NULL) == 0;
}

void notify_log_start(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	/* systemd.exec(5): the variable is inherited by whatever redirects stderr, so it has to be compared. */
	if (stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
	    st.st_dev == device && st.st_ino == inode)
		log_set_sink(journal_print);
}
