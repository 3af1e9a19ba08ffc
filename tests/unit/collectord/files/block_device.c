// SPDX-License-Identifier: Apache-2.0
#include "files/block_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

int main(void)
{
	static const struct {
		const char *name;
		uint32_t device;
		const char *link, *target, *want;
	} rows[] = {
		{ "a disk", 8u << 20, "8:0", "../../devices/pci0000:00/host0/block/sda", "sda" },
		{ "a partition", 259u << 20 | 300, "259:300", "../../devices/block/nvme0n1/nvme0n1p2", "nvme0n1p2" },
		{ "no such device", 9u << 20, "10:0", "x", "" },
		{ "a file system in memory", 45, "0:45", "../../devices/virtual/sda", "" },
		{ "a name that is too long", 7u << 20, "7:0", "../a_name_of_16_char", "" },
		{ "no directory before it", 11u << 20, "11:0", "sr0", "sr0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char place[] = "devices.XXXXXX", directory[32], link[64], name[BLOCK_DEVICE_NAME_BYTES];

		CHECK(rows[i].name, mkdtemp(place) != NULL);
		(void)snprintf(directory, sizeof(directory), "%s/", place);
		(void)snprintf(link, sizeof(link), "%s%s", directory, rows[i].link);
		CHECK_INT_EQ(rows[i].name, symlink(rows[i].target, link), 0);
		block_device_name_in(directory, rows[i].device, name);
		CHECK_STR_EQ(rows[i].name, name, rows[i].want);
		(void)unlink(link);
		(void)rmdir(place);
	}
	return check_result();
}
