// SPDX-License-Identifier: Apache-2.0
/*
 * A program that loads a library when it is told to:
 *
 *     held-program DIRECTORY LIBRARY main|orphan|root
 *
 * It writes its process id to DIRECTORY/pid, waits at the FIFO DIRECTORY/go, loads the library, makes DIRECTORY/done
 * and stays. An orphan does so in a session of its own, and its parents have ended; root is a set-user-ID program
 * that becomes root altogether, in a session of its own: within one, anybody may send SIGCONT.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int file_make(const char *name, int number)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", number);
	int fd = open("unfinished", O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, (size_t)n) != n || close(fd))
		return -1;
	return rename("unfinished", name); /* all of it at once */
}

/* Return: whether this process is the orphan */
static int orphan_make(void)
{
	pid_t pid = fork();

	if (pid)
		return 0;
	(void)setsid();
	if (fork())
		_exit(0);
	return 1;
}

int main(int argc, char **argv)
{
	char byte;
	int fd;

	if (argc != 4 || chdir(argv[1]))
		return 2;
	if (strcmp(argv[3], "root") == 0 && (setsid() < 0 || setresuid(0, 0, 0)))
		return 3;
	if (strcmp(argv[3], "orphan") == 0 && !orphan_make())
		for (;;)
			(void)pause();
	if (file_make("pid", (int)getpid()))
		return 4;
	fd = open("go", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &byte, 1) != 1)
		return 5;
	if (!dlopen(argv[2], RTLD_NOW)) {
		fprintf(stderr, "%s\n", dlerror());
		return 6;
	}
	if (file_make("done", 0))
		return 7;
	for (;;)
		(void)pause();
}
