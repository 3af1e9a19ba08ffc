// SPDX-License-Identifier: Apache-2.0
/* Whether others' processes are hidden, by the text of /proc/mounts: each value of the option, and which mount counts.
 */
#include "procs/hidepid.h"

#include "base/cleanup.h"
#include "tests/support/check.h"

#define OTHERS "sysfs /sys sysfs rw,nosuid 0 0\n/dev/sda1 / ext4 rw,errors=remount-ro 0 0\n"

static const struct {
	const char *name;
	const char *mounts;
	bool is_on;
} cases[] = {
	{ "nothing is mounted", "", false },
	{ "no /proc", OTHERS, false },
	{ "without the option", OTHERS "proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n", false },
	{ "off, as a number", "proc /proc proc rw,hidepid=0 0 0\n", false },
	{ "off, as a name", "proc /proc proc rw,hidepid=off 0 0\n", false },
	{ "contents are hidden, as a number", "proc /proc proc rw,hidepid=1 0 0\n", true },
	{ "contents are hidden, as a name", "proc /proc proc rw,hidepid=noaccess 0 0\n", true },
	{ "processes are hidden, as a number", "proc /proc proc rw,hidepid=2 0 0\n", true },
	{ "processes are hidden, as a name", "proc /proc proc rw,hidepid=invisible 0 0\n", true },
	{ "what one may trace, as a number", "proc /proc proc rw,hidepid=4 0 0\n", true },
	{ "what one may trace, as a name", "proc /proc proc rw,hidepid=ptraceable 0 0\n", true },
	{ "but for a group", "proc /proc proc rw,gid=27,hidepid=2 0 0\n", true },
	{ "options behind it", "proc /proc proc rw,hidepid=invisible,gid=27,subset=pid 0 0\n", true },
	{ "no end of line", "proc /proc proc rw,hidepid=2 0 0", true },
	{ "the last one hides", "proc /proc proc rw 0 0\nproc /proc proc rw,hidepid=2 0 0\n", true },
	{ "the last one shows", "proc /proc proc rw,hidepid=2 0 0\n" OTHERS "proc /proc proc rw 0 0\n", false },
	{ "a mount of another name", "hidden /proc proc rw,hidepid=2 0 0\n", true },
	{ "another place", "proc /srv/jail/proc proc rw,hidepid=2 0 0\n", false },
	{ "below it", "proc /proc/fs proc rw,hidepid=2 0 0\n", false },
	{ "another kind of file system there", "none /proc tmpfs rw,hidepid=2 0 0\n", false },
	{ "lines that make no sense", "\nproc\nproc /proc\nproc /proc proc\nproc /proc proc rw,hidepid=2 0 0\n", true },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_INT_EQ(cases[i].name, hidepid_in_mounts(cases[i].mounts), cases[i].is_on);
	return check_result();
}
