// SPDX-License-Identifier: Apache-2.0
#include "archive/sql/header.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* https://www.sqlite.org/fileformat.html, 1.3: the database header */
#define HEADER_BYTES 100
#define HEADER_READ_VERSION 19
#define READ_VERSION_LOG 2
#define HEADER_USER_VERSION 60
#define HEADER_APPLICATION_ID 68

static uint32_t big_endian(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

int sql_header_read(int fd, struct sql_header *ret)
{
	uint8_t header[HEADER_BYTES];
	ssize_t n = pread(fd, header, sizeof(header), 0);

	if (n < 0)
		return -errno;
	if (n == 0)
		return SQL_FILE_EMPTY;
	if (n < HEADER_BYTES || memcmp(header, "SQLite format 3", 16) != 0)
		return SQL_FILE_OTHER;
	*ret = (struct sql_header){
		.application_id = big_endian(header + HEADER_APPLICATION_ID),
		.user_version = big_endian(header + HEADER_USER_VERSION),
		.has_log = header[HEADER_READ_VERSION] == READ_VERSION_LOG,
	};
	return SQL_FILE_DATABASE;
}
