// SPDX-License-Identifier: Apache-2.0
/*
 * A program that does with CUDA libraries what it is told, a line of standard input at a
 * time, and answers each with one line:
 *
 *   open FILE    by the dynamic loader, instead of what was opened before
 *   close        lets go of it
 *   call N       launches; answers with the time of the first, CLOCK_MONOTONIC in nanoseconds
 *   map FILE AT  maps the file's segments by itself; cuMemFree_v2 is at AT bytes from its start
 *   enter N      calls that
 *   fork N       a child launches N times and ends
 *   exec FILE    becomes another program
 *
 * Built with VISITOR_STATIC it has the runtime inside, under symbols of its own.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct dim3 {
	unsigned x, y, z;
};

typedef int launch_fn(const void *, struct dim3, struct dim3, void **, unsigned long, void *);

#ifdef VISITOR_STATIC
launch_fn cudaLaunchKernel;
static launch_fn *launch = cudaLaunchKernel;
static int library_open(const char *file)
{
	return file == NULL;
}
static int library_close(void)
{
	return 1;
}
#else
#include <dlfcn.h>
static launch_fn *launch;
static void *library;
static int library_close(void)
{
	return library ? dlclose(library) : 0;
}
static int library_open(const char *file)
{
	(void)library_close();
	library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	*(void **)&launch = library ? dlsym(library, "cudaLaunchKernel") : NULL;
	return launch == NULL;
}
#endif

static int (*entry)(unsigned long long);

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long call(long n)
{
	const struct dim3 one = { 1, 1, 1 };
	long long first = now_ns();

	for (long i = 0; i < n; i++)
		(void)launch((const void *)call, one, one, NULL, 0, NULL);
	return first;
}

/* What a program without a dynamic loader does: its segments where they belong, and no word to anybody. */
static int file_map(const char *file, unsigned long at)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	char *base = mmap(NULL, 1 << 24, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	Elf64_Phdr headers[32];
	Elf64_Ehdr header;

	if (fd < 0 || base == MAP_FAILED || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phnum > 32 || pread(fd, headers, header.e_phnum * sizeof(*headers), (off_t)header.e_phoff) < 0)
		return 1;
	for (int i = 0; i < header.e_phnum; i++) {
		const Elf64_Phdr *p = &headers[i];
		unsigned long skip = p->p_vaddr & 4095;

		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) &&
		    mmap(base + p->p_vaddr - skip, p->p_filesz + skip, PROT_READ | (p->p_flags & PF_X ? PROT_EXEC : 0),
			 MAP_PRIVATE | MAP_FIXED, fd, (off_t)(p->p_offset - skip)) == MAP_FAILED)
			return 1;
	}
	(void)close(fd);
	*(void **)&entry = base + at;
	return 0;
}

int main(void)
{
	char line[4096], word[16] = "", file[3072] = "";
	unsigned long n;

	puts("ready");
	(void)fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		int is_wrong = 0;

		n = 0;
		if (sscanf(line, "%15s", word) != 1)
			continue;
		if (strcmp(word, "open") == 0 && sscanf(line, "%*s %3071s", file) == 1) {
			is_wrong = library_open(file);
		} else if (strcmp(word, "close") == 0) {
			is_wrong = library_close();
		} else if (strcmp(word, "call") == 0 && sscanf(line, "%*s %lu", &n) == 1) {
			printf("%lld\n", call((long)n));
			(void)fflush(stdout);
			continue;
		} else if (strcmp(word, "map") == 0 && sscanf(line, "%*s %3071s %lu", file, &n) == 2) {
			is_wrong = file_map(file, n);
		} else if (strcmp(word, "enter") == 0 && sscanf(line, "%*s %lu", &n) == 1) {
			while (n--)
				(void)entry(4096);
		} else if (strcmp(word, "fork") == 0 && sscanf(line, "%*s %lu", &n) == 1) {
			pid_t child = fork();

			if (child == 0) {
				(void)call((long)n);
				_exit(0);
			}
			is_wrong = waitpid(child, NULL, 0) != child;
		} else if (strcmp(word, "exec") == 0 && sscanf(line, "%*s %3071s", file) == 1) {
			execl(file, file, (char *)NULL);
			is_wrong = 1;
		} else {
			is_wrong = 1;
		}
		puts(is_wrong ? "wrong" : "done");
		(void)fflush(stdout);
	}
	return 0;
}
