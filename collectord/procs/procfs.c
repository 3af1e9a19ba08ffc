// SPDX-License-Identifier: Apache-2.0
#include "procs/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/parse.h"

/* A line of maps: six fields and a path of at most PATH_MAX, where each byte may be escaped as four. */
#define MAPS_LINE_BYTES (128 + 4 * 4096)

#define MOUNT_LINE_BYTES 65536	    /* an overlay of many layers lists them all */
#define MOUNTS_BYTES_MAX (4u << 20) /* a process with more mounts is probably hostile */

int procfs_open(void)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int procfs_find(uint32_t pid)
{
	CLEANUP(closep) int proc_fd = procfs_open();

	return proc_fd < 0 ? proc_fd : procfs_open_process(proc_fd, pid);
}

int procfs_program(uint32_t pid, struct statx *ret_file)
{
	CLEANUP(closep) int fd = procfs_find(pid);

	if (fd < 0)
		return fd;
	return statx(fd, "exe", AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO | STATX_TYPE | STATX_MODE | STATX_UID,
		     ret_file) < 0
		       ? -errno
		       : 0;
}

bool procfs_is_elsewhere(uint32_t pid)
{
	CLEANUP(closep) int fd = procfs_find(pid);
	struct stat ours, theirs;

	return fd < 0 || fstatat(fd, "ns/pid", &theirs, 0) || stat("/proc/self/ns/pid", &ours) ||
	       theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev;
}

int procfs_open_process(int proc_fd, uint32_t pid)
{
	char name[16];
	int fd;

	(void)snprintf(name, sizeof(name), "%" PRIu32, pid);
	fd = openat(proc_fd, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Cuts the text at the next `stop`, which becomes a NUL. Returns the text before it and moves on. */
static char *field_take(char **text, char stop)
{
	char *field = *text;
	char *end = field ? strchr(field, stop) : NULL;

	if (!end)
		return NULL;
	*end = 0;
	*text = end + 1;
	return field;
}

/* seq_path(): a newline inside a path is written \012, nothing else is changed. */
static void path_unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
}

int procfs_mapping_parse(char *line, struct procfs_mapping *ret_mapping)
{
	static const char deleted[] = " (deleted)";
	struct procfs_mapping m = { .path = "" };
	char *text = line, *perms, *field, *path;
	uint64_t dev_major, dev_minor;
	size_t n;

	field = field_take(&text, '-');
	if (!field || parse_u64_hex(field, &m.start) < 0)
		return -EINVAL;
	field = field_take(&text, ' ');
	if (!field || parse_u64_hex(field, &m.end) < 0 || m.end <= m.start)
		return -EINVAL;
	perms = field_take(&text, ' ');
	if (!perms || strlen(perms) != 4)
		return -EINVAL;
	field = field_take(&text, ' ');
	if (!field || parse_u64_hex(field, &m.offset_bytes) < 0)
		return -EINVAL;
	field = field_take(&text, ':');
	if (!field || parse_u64_hex(field, &dev_major) < 0 || dev_major > UINT32_MAX)
		return -EINVAL;
	field = field_take(&text, ' ');
	if (!field || parse_u64_hex(field, &dev_minor) < 0 || dev_minor > UINT32_MAX)
		return -EINVAL;

	/* The line of anonymous memory ends after the inode, on some kernels without a blank. */
	n = strspn(text, "0123456789");
	path = text + n + strspn(text + n, " ");
	if (path == text + n && *path)
		return -EINVAL;
	text[n] = 0;
	if (parse_u64(text, UINT64_MAX, &m.inode) < 0)
		return -EINVAL;

	m.is_executable = perms[2] == 'x';
	m.is_writable = perms[1] == 'w';
	m.dev_major = (uint32_t)dev_major;
	m.dev_minor = (uint32_t)dev_minor;
	if (path > text + n) {
		size_t n_path = strlen(path);

		if (m.inode && n_path > strlen(deleted) && strcmp(path + n_path - strlen(deleted), deleted) == 0) {
			path[n_path - strlen(deleted)] = 0;
			m.is_deleted = true;
		}
		path_unescape(path);
		m.path = path;
	}

	*ret_mapping = m;
	return 0;
}

/* Return: 0 to continue. */
typedef int (*line_func)(char *line, void *data);

/*
 * Calls func for each line, without its end.
 * Return: 0; the result of func if not 0; -errno; -EINVAL for a line too long or without end; -E2BIG beyond most_bytes.
 */
static int lines_read(int process_fd, const char *name, size_t line_bytes, size_t most_bytes, line_func func,
		      void *data)
{
	CLEANUP(closep) int fd = openat(process_fd, name, O_RDONLY | O_CLOEXEC);
	CLEANUP(freep) char *text = NULL;
	size_t n = 0, n_all = 0;

	if (fd < 0)
		return -errno;
	text = malloc(line_bytes);
	if (!text)
		return -ENOMEM;

	for (;;) {
		ssize_t got = read(fd, text + n, line_bytes - n);
		char *line = text, *end;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return n ? -EINVAL : 0;

		n += (size_t)got;
		n_all += (size_t)got;
		while ((end = memchr(line, '\n', n))) {
			int r;

			*end = 0;
			n -= (size_t)(end + 1 - line);
			r = func(line, data);
			if (r != 0)
				return r;
			line = end + 1;
		}
		if (n == line_bytes)
			return -EINVAL;
		if (n_all > most_bytes)
			return -E2BIG;
		memmove(text, line, n);
	}
}

struct maps_reader {
	procfs_mapping_func func;
	void *data;
};

static int on_maps_line(char *line, void *data)
{
	struct maps_reader *reader = data;
	struct procfs_mapping mapping;
	int r = procfs_mapping_parse(line, &mapping);

	return r < 0 ? r : reader->func(&mapping, reader->data);
}

int procfs_maps_read(int process_fd, procfs_mapping_func func, void *data)
{
	struct maps_reader reader = { func, data };

	return lines_read(process_fd, "maps", MAPS_LINE_BYTES, SIZE_MAX, on_maps_line, &reader);
}

/* id parent major:minor root mount-point options [tag ...] - type source super-options; blanks inside are escaped */
int procfs_mount_parse(char *line, struct procfs_mount *ret_mount)
{
	static const char owner[] = "user_id=";
	struct procfs_mount mount = { 0 };
	char *text, *id, *type, *option, *next = NULL;
	uint64_t value;

	text = strstr(line, " - ");
	if (!text)
		return -EINVAL;
	text += 3;
	id = field_take(&line, ' ');
	type = field_take(&text, ' ');
	if (!id || !type || parse_u64(id, UINT64_MAX, &mount.id) < 0 || !*type || strlen(type) >= sizeof(mount.type))
		return -EINVAL;
	if (!field_take(&text, ' ')) /* source */
		return -EINVAL;
	(void)snprintf(mount.type, sizeof(mount.type), "%s", type);
	for (option = strtok_r(text, ",", &next); option; option = strtok_r(NULL, ",", &next))
		if (strncmp(option, owner, strlen(owner)) == 0 &&
		    parse_u64(option + strlen(owner), UINT32_MAX, &value) == 0)
			mount.owner_uid = (uint32_t)value;

	*ret_mount = mount;
	return 0;
}

struct mount_finder {
	uint64_t id;
	struct procfs_mount mount;
};

#define MOUNT_FOUND 1

static int on_mount_line(char *line, void *data)
{
	struct mount_finder *finder = data;
	struct procfs_mount mount;
	int r = procfs_mount_parse(line, &mount);

	if (r < 0 || mount.id != finder->id)
		return 0; /* an unreadable line is an error only if the mount is not found */
	finder->mount = mount;
	return MOUNT_FOUND;
}

int procfs_mount_find(int process_fd, uint64_t id, struct procfs_mount *ret_mount)
{
	struct mount_finder finder = { .id = id };
	int r = lines_read(process_fd, "mountinfo", MOUNT_LINE_BYTES, MOUNTS_BYTES_MAX, on_mount_line, &finder);

	if (r != MOUNT_FOUND)
		return r < 0 ? r : -ENOENT;
	*ret_mount = finder.mount;
	return 0;
}

int procfs_mount_id(int proc_fd, int fd, uint64_t *ret_id)
{
	static const char name[] = "\nmnt_id:";
	char path[40], text[1024], *at;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "self/fdinfo/%d", fd);
	n = fd_read_file_at(proc_fd, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	at = strstr(text, name);
	if (!at)
		return -EINVAL;
	at += strlen(name);
	at += strspn(at, " \t");
	at[strcspn(at, "\n")] = 0;
	return parse_u64(at, UINT64_MAX, ret_id);
}

/* Next blank-separated number; after the name, only the state and fields that no caller needs are no numbers. */
static int number_take(const char **text, uint64_t *ret_value)
{
	char digits[24];
	size_t n;

	*text += strspn(*text, " \t");
	n = strcspn(*text, " \t\n");
	if (n == 0 || n >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, *text, n);
	digits[n] = 0;
	*text += n;
	return parse_u64(digits, UINT64_MAX, ret_value);
}

int procfs_stat_parse(const char *text, struct procfs_stat *ret_stat)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'); /* a name may contain both */
	struct procfs_stat s = { 0 };
	uint64_t value;
	size_t n;

	if (!open || !close || close < open || close[1] != ' ' || !close[2] || close[3] != ' ')
		return -EINVAL;
	if (number_take(&text, &value) < 0 || value > UINT32_MAX)
		return -EINVAL;
	s.pid = (uint32_t)value;
	n = MIN((size_t)(close - open - 1), sizeof(s.comm) - 1);
	memcpy(s.comm, open + 1, n);
	s.state = close[2];

	text = close + 3;
	if (number_take(&text, &value) < 0 || value > UINT32_MAX)
		return -EINVAL;
	s.ppid = (uint32_t)value;

	/* Fields 5 to 21 lie between ppid (4) and starttime (22); some are signed. */
	for (int i = 5; i < 22; i++) {
		text += strspn(text, " ");
		text += strcspn(text, " \n");
	}
	if (number_take(&text, &s.start_ticks) < 0)
		return -EINVAL;

	*ret_stat = s;
	return 0;
}

/* Position after "\nname:" in the text of status, or NULL. Values contain no newline: the kernel escapes Name. */
static const char *status_find(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, n) == 0 && line[n] == ':')
			return line + n + 1;
	}
	return NULL;
}

static int hex_take(const char *text, uint64_t *ret_value)
{
	char digits[24];
	size_t n;

	text += strspn(text, " \t");
	n = strcspn(text, "\n");
	if (n == 0 || n >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, n);
	digits[n] = 0;
	return parse_u64_hex(digits, ret_value);
}

/* A main thread that ended is a zombie, too, as long as other threads run. */
static bool status_has_ended(const char *text)
{
	const char *state = status_find(text, "State"), *threads = status_find(text, "Threads");
	uint64_t n;

	if (!state || !threads || number_take(&threads, &n) < 0)
		return false;
	state += strspn(state, " \t");
	return (*state == 'Z' || *state == 'X') && n <= 1;
}

int procfs_status_parse(const char *text, struct procfs_status *ret_status)
{
	const char *uids = status_find(text, "Uid"), *tgid = status_find(text, "Tgid");
	const char *ppid = status_find(text, "PPid"), *ns_pids = status_find(text, "NSpid");
	const char *permitted = status_find(text, "CapPrm");
	struct procfs_status s = { 0 };
	uint64_t value;

	if (!uids || !tgid || number_take(&tgid, &value) < 0 || value > UINT32_MAX)
		return -EINVAL;
	s.tgid = s.ns_pid = (uint32_t)value;
	if (!ppid || number_take(&ppid, &value) < 0 || value > UINT32_MAX)
		return -EINVAL;
	s.ppid = (uint32_t)value;
	for (size_t i = 0; i < PROCFS_UID_COUNT; i++) {
		if (number_take(&uids, &value) < 0 || value > UINT32_MAX)
			return -EINVAL;
		s.uids[i] = (uint32_t)value;
	}
	s.has_memory = status_find(text, "VmSize") != NULL;
	s.has_ended = status_has_ended(text);
	if (!permitted || hex_take(permitted, &s.permitted) < 0)
		return -EINVAL;
	while (ns_pids && number_take(&ns_pids, &value) == 0 && value <= UINT32_MAX) /* outermost first */
		s.ns_pid = (uint32_t)value;

	*ret_status = s;
	return 0;
}

int procfs_stat_read(int process_fd, struct procfs_stat *ret_stat)
{
	char text[2048];
	ssize_t n = fd_read_file_at(process_fd, "stat", text, sizeof(text));

	return n < 0 ? (int)n : procfs_stat_parse(text, ret_stat);
}

uint64_t procfs_tick_ns(void)
{
	return NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
}

int procfs_status_read(int process_fd, struct procfs_status *ret_status)
{
	char text[65536 + 4096]; /* capabilities, the last field needed, come after a list of groups that may be long */
	ssize_t n = fd_read_file_at(process_fd, "status", text, sizeof(text));

	return n < 0 ? (int)n : procfs_status_parse(text, ret_status);
}
