// SPDX-License-Identifier: Apache-2.0
/* What tells processes of one name apart, from texts that the process itself may have written. */
#include "procs/program.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define TEXT(text) text, sizeof(text) /* with the last NUL */
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *name;
	const char *executable;
	const char *args;
	size_t n;
	const char *script;
} scripts[] = {
	{ "a script", "python3.12",
	  TEXT("python3\0train.py\0--lr\0"
	       "3"),
	  "train.py" },
	{ "of a directory", "python3", TEXT("/usr/bin/python3\0/home/me/train.py"), "train.py" },
	{ "behind options", "python3", TEXT("python3\0-u\0-W\0ignore\0-Xdev\0train.py"), "train.py" },
	{ "a module", "python3", TEXT("python3\0-m\0torch.distributed.run\0train.py"), "torch.distributed.run" },
	{ "a module among letters", "python3", TEXT("python3\0-um\0pkg.train"), "pkg.train" },
	{ "a module without a blank", "python3", TEXT("python3\0-mpkg"), "pkg" },
	{ "a program in the option", "python3", TEXT("python3\0-c\0import secrets\0train.py"), "" },
	{ "the same among letters", "python3", TEXT("python3\0-Bc\0import secrets"), "" },
	{ "a long option", "python3", TEXT("python3\0--check-hash-based-pycs=always\0train.py"), "train.py" },
	{ "code behind a long option", "node", TEXT("node\0--eval\0secret/code"), "" },
	{ "the same of another", "julia", TEXT("julia\0--eval\0secret"), "" },
	{ "a directory behind an option", "perl", TEXT("perl\0-I\0lib\0run.pl"), "run.pl" },
	{ "the end of options", "python3", TEXT("python3\0--\0-odd.py"), "-odd.py" },
	{ "standard input", "python3", TEXT("python3\0-"), "" },
	{ "no arguments", "python3", TEXT("python3"), "" },
	{ "nothing at all", "python3", "", 0, "" },
	{ "an option without its word", "python3", TEXT("python3\0-W"), "" },
	{ "a word without an end", "python3", "python3\0train.py", 16, "" },
	{ "free threads", "python3.14t", TEXT("python3.14t\0train.py"), "train.py" },
	{ "a shell", "bash", TEXT("bash\0-e\0run.sh"), "run.sh" },
	{ "a command of a shell", "bash", TEXT("bash\0-ec\0secret"), "" },
	{ "no interpreter", "train", TEXT("train\0secret"), "" },
	{ "one of a longer name", "pythonista", TEXT("pythonista\0secret"), "" },
	{ "longer than there is room", "python3",
	  TEXT("python3\0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.py"),
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" },
};

static const struct {
	const char *name;
	const char *environ;
	size_t n;
	int rank, local_rank, world_size; /* -1: not known */
} environments[] = {
	{ "none", "", 0, -1, -1, -1 },
	{ "of torchrun", TEXT("HOME=/\0RANK=13\0LOCAL_RANK=5\0WORLD_SIZE=16"), 13, 5, 16 },
	{ "of Open MPI", TEXT("OMPI_COMM_WORLD_RANK=3\0OMPI_COMM_WORLD_LOCAL_RANK=1\0OMPI_COMM_WORLD_SIZE=4"), 3, 1,
	  4 },
	{ "of Slurm", TEXT("SLURM_PROCID=3\0SLURM_LOCALID=1\0SLURM_NTASKS=4"), 3, 1, 4 },
	{ "of two, the program's own first", TEXT("SLURM_PROCID=9\0PMI_RANK=8\0RANK=0"), 0, -1, -1 },
	{ "no number", TEXT("RANK=three\0WORLD_SIZE=\0LOCAL_RANK=-1"), -1, -1, -1 },
	{ "more than a number holds", TEXT("RANK=99999999999999999999"), -1, -1, -1 },
	{ "the next one is asked then", TEXT("RANK=x\0SLURM_PROCID=2"), 2, -1, -1 },
	{ "names that are longer", TEXT("XRANK=1\0RANKS=2\0RANK"), -1, -1, -1 },
	{ "cut off", "A=1\0RANK=7", 10, -1, -1, -1 },
};

static const struct {
	const char *name;
	const char *path;
	const char *container;
} groups[] = {
	{ "none", "/user.slice/user-1000.slice/session-3.scope", "" },
	{ "by Docker", "/system.slice/docker-" ID ".scope", "0123456789ab" },
	{ "of Kubernetes", "/kubepods.slice/kubepods-pod6c8a0d53.slice/cri-containerd-" ID ".scope", "0123456789ab" },
	{ "a group of its own inside", "/docker/" ID "/mine", "0123456789ab" },
	{ "the inner one of two", "/docker/ffff" ID "/" ID, "0123456789ab" },
	{ "a digit too many", "/docker/0" ID, "" },
	{ "nothing", "", "" },
};

static int known(struct program_number number)
{
	return number.is_known ? (int)number.value : -1;
}

/* As this test was started: it runs no script, and its launcher says which it is. */
static void self(const char *program)
{
	CLEANUP(closep)
	int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC), none = open("/", O_RDONLY | O_CLOEXEC);
	struct program p;

	(void)memset(&p, 0xff, sizeof(p));
	program_read(none, getuid(), &p);
	CHECK_STR_EQ("not a process: nothing is known", p.executable, "");
	CHECK("nor this", !p.rank.is_known && !p.cgroup_id && !p.script[0] && !p.container[0]);
	program_read(fd, getuid() + 1, &p);
	CHECK_STR_EQ("another user's by now", p.executable, "");
	program_read(fd, getuid(), &p);
	CHECK_STR_EQ("executable", p.executable, program);
	CHECK_STR_EQ("no interpreter", p.script, "");
	CHECK_INT_EQ("rank", known(p.rank), 6);
	CHECK_INT_EQ("world", known(p.world_size), 8);
}

int main(int argc, char **argv)
{
	struct program p;

	if (argc == 1) { /* /proc shows what a program was started with */
		(void)setenv("RANK", "6", 1);
		(void)setenv("WORLD_SIZE", "8", 1);
		(void)unsetenv("LOCAL_RANK");
		(void)execl("/proc/self/exe", argv[0], "started", (char *)NULL);
		return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		program_script(scripts[i].executable, scripts[i].args, scripts[i].n, p.script);
		CHECK_STR_EQ(scripts[i].name, p.script, scripts[i].script);
	}
	for (size_t i = 0; i < ARRAY_SIZE(environments); i++) {
		p = (struct program){ .script = "" };
		program_ranks(environments[i].environ, environments[i].n, &p);
		CHECK_INT_EQ(environments[i].name, known(p.rank), environments[i].rank);
		CHECK_INT_EQ(environments[i].name, known(p.local_rank), environments[i].local_rank);
		CHECK_INT_EQ(environments[i].name, known(p.world_size), environments[i].world_size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		program_container(groups[i].path, p.container);
		CHECK_STR_EQ(groups[i].name, p.container, groups[i].container);
	}
	self(strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0]);
	return check_result();
}
