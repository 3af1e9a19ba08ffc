// SPDX-License-Identifier: Apache-2.0
/* What each check says of machines that are directories: files as /proc, /sys and /etc have them. */
#include "libingero/check/check.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "tests/support/check.h"

#define FILES_MAX 6
#define STATUS "proc/self/status"
#define ALL_CAPABILITIES "Name:\tx\nCapPrm:\t0\nCapEff:\t000001ffffffffff\n"
#define NO_CAPABILITIES "Name:\tx\nCapEff:\t0000000000000000\n"
#define DRIVER_CLOSED                                                                                                  \
	"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.07  Sat Feb 17 22:55:48 UTC 2024\nGCC version: "      \
	"12.2\n"
#define DRIVER_OPEN "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build  (x@y)\n"
#define GPU(n) "proc/driver/nvidia/gpus/0000:0" n ":00.0/information"
#define MAPS(name) "7f00-7f01 r-xp 00000000 fe:00 12 " name "\n"

enum daemon { NOBODY, SERVICE, OWN, BROKEN };

struct file {
	const char *path;
	const char *text;
};

static const struct {
	const char *name, *check;
	struct file files[FILES_MAX];
	bool is_root;
	uid_t uid;
	int bpf_error;
	const char *nvml; /* NVML: the stand-in */
	const char *nvml_result;
	enum daemon daemon;
	const char *back_end, *back_end_reason;
	const char *store_path, *store_problem;
	const char *family_state;
	const char *database;
	const char *dbs[3], *files_problem;
	int configuration; /* its error */
	enum check_level level;
	const char *value, *detail, *way_out; /* parts of them; NULL: empty */
} cases[] = {
#define AT(p, t) .files = { { p, t } }
#define ANY ""
#define NVML "nvml"
	{ "new kernel", "kernel", AT("proc/sys/kernel/osrelease", "6.1.0-50-cloud-amd64\n"),
	  .value = "6.1.0-50-cloud-amd64" },
	{ "oldest kernel", "kernel", AT("proc/sys/kernel/osrelease", "5.15.0\n"), .value = "5.15.0" },
	{ "too old a kernel", "kernel", AT("proc/sys/kernel/osrelease", "5.10.0-30\n"), .level = CHECK_LEVEL_FAIL,
	  .value = "5.10.0", .way_out = "5.15" },
	{ "a kernel of another time", "kernel", AT("proc/sys/kernel/osrelease", "next\n"), .level = CHECK_LEVEL_WARN,
	  .value = "next", .way_out = "verify" },
	{ "no proc", "kernel", .level = CHECK_LEVEL_FAIL, .value = "unknown", .way_out = "mount" },
	{ "types", "kernel_types", AT("sys/kernel/btf/vmlinux", "\x9f\xeb\x01"), .value = "BTF" },
	{ "no types", "kernel_types", .level = CHECK_LEVEL_FAIL, .value = "No such file",
	  .way_out = "CONFIG_DEBUG_INFO_BTF" },
	{ "other bytes", "kernel_types", AT("sys/kernel/btf/vmlinux", "ELF"), .level = CHECK_LEVEL_FAIL,
	  .value = "no BTF", .way_out = "CONFIG" },
	{ "one byte", "kernel_types", AT("sys/kernel/btf/vmlinux", "\x9f"), .level = CHECK_LEVEL_FAIL,
	  .value = "no BTF", .way_out = "CONFIG" },
	{ "bpf", "bpf", AT("proc/sys/kernel/unprivileged_bpf_disabled", "2\n"), .is_root = true,
	  .value = "unprivileged_bpf_disabled: 2" },
	{ "bpf not built", "bpf", .bpf_error = ENOSYS, .level = CHECK_LEVEL_FAIL, .value = "no bpf",
	  .way_out = "CONFIG_BPF_SYSCALL" },
	{ "bpf in a container", "bpf", .is_root = true, .bpf_error = EPERM, .level = CHECK_LEVEL_FAIL,
	  .value = "not permitted", .way_out = "container" },
	{ "bpf in a container with a service", "bpf", .is_root = true, .bpf_error = EPERM, .daemon = SERVICE,
	  .value = "not permitted" },
	{ "bpf as a user", "bpf", AT("proc/sys/kernel/unprivileged_bpf_disabled", "2\n"), .uid = 7, .bpf_error = EPERM,
	  .value = "as expected" },
	{ "no lockdown", "lockdown", .value = "not active" },
	{ "lockdown off", "lockdown", AT("sys/kernel/security/lockdown", "[none] integrity confidentiality\n"),
	  .value = "none" },
	{ "lockdown integrity", "lockdown", AT("sys/kernel/security/lockdown", "none [integrity] confidentiality\n"),
	  .value = "does not hinder" },
	{ "lockdown", "lockdown", AT("sys/kernel/security/lockdown", "none integrity [confidentiality]\n"),
	  .level = CHECK_LEVEL_FAIL, .value = "confidentiality", .way_out = "lockdown=integrity" },
	{ "root", "capabilities", AT(STATUS, ALL_CAPABILITIES), .is_root = true, .value = "all" },
	/* CAP_SYS_ADMIN, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH alone */
	{ "an administrator of old", "capabilities", AT(STATUS, "Name:\tx\nCapEff:\t0000000000280004\n"),
	  .is_root = true, .value = "all" },
	{ "root of a container", "capabilities", AT(STATUS, "Name:\tx\nCapEff:\t00000000a80425fb\n"), .is_root = true,
	  .level = CHECK_LEVEL_FAIL,
	  .value = "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE",
	  .way_out = "container" },
	{ "a user", "capabilities", AT(STATUS, NO_CAPABILITIES), .uid = 7, .level = CHECK_LEVEL_WARN,
	  .value = "no service", .way_out = "sudo ingero trace" },
	{ "a user with a service", "capabilities", AT(STATUS, NO_CAPABILITIES), .uid = 7, .daemon = SERVICE,
	  .value = "the service captures" },
	{ "no status", "capabilities", .level = CHECK_LEVEL_WARN, .value = "unknown", .way_out = "mount" },
	{ "no Yama", "ptrace_scope", .value = "not enabled" },
	{ "Yama", "ptrace_scope", AT("proc/sys/kernel/yama/ptrace_scope", "3\n"),
	  .value = "3, which does not hinder tracing" },
	{ "paranoid", "perf_event_paranoid", AT("proc/sys/kernel/perf_event_paranoid", "3\n"), .value = "3" },
	{ "not paranoid", "perf_event_paranoid", AT("proc/sys/kernel/perf_event_paranoid", "-1\n"), .value = "-1" },
	{ "no perf events", "perf_event_paranoid", .level = CHECK_LEVEL_WARN, .value = "no perf events",
	  .way_out = "CONFIG_PERF_EVENTS" },
	{ "service", "service", .daemon = SERVICE, .value = "answers: ingero-collectord 1.2.3, pid 4711" },
	{ "own daemon", "service", .daemon = OWN, .is_root = true, .level = CHECK_LEVEL_WARN, .value = "not running",
	  .way_out = "systemctl start" },
	{ "no service", "service", .level = CHECK_LEVEL_WARN, .value = "not running", .way_out = "systemctl start" },
	{ "a service that refuses", "service", .daemon = BROKEN, .level = CHECK_LEVEL_FAIL, .value = "another version",
	  .way_out = "systemctl status" },
	{ "a configuration", "configuration", .value = "/etc/x.yaml is valid" },
	{ "no configuration", "configuration", .configuration = -ENOENT, .value = "every option has its default" },
	{ "a wrong configuration", "configuration", .configuration = -EINVAL, .level = CHECK_LEVEL_FAIL,
	  .value = "x.yaml:3:1: unknown", .way_out = "ingero config check" },
	{ "a hidden configuration", "configuration", .configuration = -EACCES, .level = CHECK_LEVEL_WARN,
	  .value = "/etc/x.yaml cannot be read: Permission denied", .way_out = "chmod 644" },
	{ "best back end", "back_end", .daemon = SERVICE, .back_end = "session", .value = "session" },
	{ "multi", "back_end", .daemon = OWN, .back_end = "multi", .back_end_reason = "session links need 6.13",
	  .value = "multi; session links need 6.13" },
	{ "perf", "back_end", .daemon = OWN, .back_end = "perf", .back_end_reason = "too old",
	  .level = CHECK_LEVEL_WARN, .value = "perf; too old", .way_out = "Linux 6.6" },
	{ "no back end", "back_end", .daemon = OWN, .back_end = "none", .back_end_reason = "no right",
	  .level = CHECK_LEVEL_FAIL, .value = "none; no right", .way_out = "above" },
	{ "back end not tried", "back_end", .level = CHECK_LEVEL_WARN, .value = "not tried",
	  .way_out = "sudo ingero check" },
	{ "probes", "probes", .daemon = SERVICE, .family_state = "on", .value = "sched on" },
	{ "probes while nobody traces", "probes", .daemon = SERVICE, .family_state = "off",
	  .value = "sched: off, because nobody is tracing now" },
	{ "probes of a daemon of our own", "probes", .daemon = OWN, .family_state = "off",
	  .value = "sched: off, because this check traces nobody" },
	{ "a probe that cannot be", "probes", .daemon = SERVICE, .family_state = "absent", .level = CHECK_LEVEL_WARN,
	  .value = "sched absent (why)", .way_out = ANY },
	{ "probes not tried", "probes", .level = CHECK_LEVEL_WARN, .value = "not tried", .way_out = "sudo" },
	{ "the service's database", "database", .daemon = SERVICE, .store_path = "/var/lib/x.db",
	  .value = "/var/lib/x.db, 5" },
	{ "the service keeps nothing", "database", .daemon = SERVICE, .store_path = "/var/lib/x.db",
	  .store_problem = "disk full", .level = CHECK_LEVEL_FAIL, .value = "disk full", .way_out = "mend" },
	{ "own database", "database", AT("data/u/.ingero/ingero.db", "12345"), .database = "/data/u/.ingero/ingero.db",
	  .value = "ingero.db, 5 B" },
	{ "own database, nothing yet", "database", AT("data/u/x", ""), .database = "/data/u/.ingero/ingero.db",
	  .value = "not created yet" },
	{ "a directory", "database", AT("data/u/db/x", ""), .database = "/data/u/db", .level = CHECK_LEVEL_FAIL,
	  .value = "not a plain file", .way_out = "INGERO_DB" },
	{ "another's, under sudo", "database", AT("data/u/x.db", "1"), .is_root = true, .uid = 4711,
	  .database = "/data/u/x.db", .level = CHECK_LEVEL_FAIL, .value = "cannot be written", .way_out = "chown" },
	{ "a file to answer from", "database", AT("data/u/x", ""), .database = "/data/u/.ingero/ingero.db",
	  .dbs = { "a.db", "b.db" }, .value = "answers come from a.db, b.db" },
	{ "a file to answer from beside a service", "database", .daemon = SERVICE, .store_path = "/var/lib/x.db",
	  .dbs = { "a.db" }, .value = "answers come from a.db" },
	{ "a file that cannot be read", "database", .dbs = { "a.db" }, .files_problem = "no database",
	  .level = CHECK_LEVEL_FAIL, .value = "a.db: no database", .way_out = "--db" },
	{ "no home", "database", .level = CHECK_LEVEL_WARN, .value = "no home", .way_out = "INGERO_DB" },
	{ "driver", "gpu_driver", AT("proc/driver/nvidia/version", DRIVER_CLOSED), .value = "NVIDIA 535.161.07" },
	{ "open driver", "gpu_driver", AT("proc/driver/nvidia/version", DRIVER_OPEN),
	  .value = "NVIDIA 550.54.15, open" },
	{ "driver of another wording", "gpu_driver",
	  .files = { { "proc/driver/nvidia/version", "what\n" }, { "sys/module/nvidia/version", "570.1\n" } },
	  .value = "NVIDIA 570.1" },
	{ "no driver", "gpu_driver", .level = CHECK_LEVEL_WARN, .value = "no driver", .way_out = "install" },
	{ "GPUs by the library", "gpu", .nvml = NVML, .value = "2 GPUs",
	  .detail = "NVIDIA Stand-in 9000, 80 GiB\nNVIDIA Stand-in Shared\n" },
	{ "GPU by proc", "gpu", AT(GPU("1"), "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   	 1\n"),
	  .value = "NVIDIA A100-SXM4-40GB" },
	{ "GPUs by proc", "gpu", .files = { { GPU("1"), "Model: a\n" }, { GPU("2"), "Model: b\n" } }, .value = "2 GPUs",
	  .detail = "b\n" },
	{ "driver and library differ", "gpu", .files = { { GPU("1"), "Model: a\n" } }, .nvml = NVML,
	  .nvml_result = "18", .level = CHECK_LEVEL_WARN, .value = "a", .way_out = "mismatch" },
	{ "nothing but a library that fails", "gpu", .nvml = NVML, .nvml_result = "9", .level = CHECK_LEVEL_WARN,
	  .value = "unknown", .way_out = "Unknown Error" },
	{ "no GPU", "gpu", .level = CHECK_LEVEL_WARN, .value = "no GPU", .way_out = "container" },
	{ "libraries", "cuda_libraries",
	  .files = { { "etc/ld.so.cache", "glibc-ld.so.cache1.1 12 /usr/lib/libm.so" },
		     { "usr/local/cuda/lib64/libcudart.so.12.4", "" },
		     { "usr/local/cuda/lib64/libcudnn.so", "" },
		     { "usr/lib/libm.so", "" } },
	  .value = "1 system-wide", .detail = "/usr/local/cuda/lib64/libcudart.so.12.4\n" },
	{ "a cache", "cuda_libraries",
	  .files = { { "etc/ld.so.cache", "glibc-ld.so.cache1.1\x01/usr/lib/libcuda.so.1" },
		     { "usr/lib/libcuda.so.1", "" } },
	  .value = "1 system-wide", .detail = "/usr/lib/libcuda.so.1\n" },
	{ "no libraries", "cuda_libraries", .level = CHECK_LEVEL_WARN, .value = "no system-wide", .way_out = "own" },
	{ "processes", "cuda_processes",
	  .files = { { "proc/12/maps", MAPS("/a/libcudart-80664282.so.10.2") MAPS("/a/libcudart-80664282.so.10.2")
					       MAPS("/b/libcuda.so.535.1") },
		     { "proc/12/comm", "python\n" },
		     { "proc/13/maps", MAPS("/b/libcudnn.so.8") MAPS("[stack]") },
		     { "proc/x/maps", MAPS("/libcuda.so.1") } },
	  .value = "1 of your processes", .detail = "python 12: libcudart-80664282.so.10.2, libcuda.so.535.1\n" },
	{ "no processes", "cuda_processes", AT("proc/1/maps", ""), .value = "0 of your" },
	{ "Python", "python",
	  .files = { { "proc/71/maps", MAPS("/usr/bin/python3.11") MAPS("/usr/lib/libpython3.11.so.1.0") },
		     { "proc/72/maps", MAPS("/x/libpython3.so") MAPS("/x/python3-config") MAPS("/x/python3.x") } },
	  .value = "1 running interpreter, frames are shown",
	  .detail = "Python 3.11 (pid 71): frames are walked in the kernel\n" },
	{ "old Python", "python", AT("proc/7/maps", MAPS("/usr/bin/python3.8")), .level = CHECK_LEVEL_WARN,
	  .value = "1 of 1 interpreter", .detail = "Python 3.8 (pid 7): Python frames are not shown (3.9",
	  .way_out = "3.9 to 3.15" },
	{ "Python with letters of its build", "python",
	  .files = { { "proc/71/maps", MAPS("/lib/libpython3.6m.so.1.0") },
		     { "proc/72/maps", MAPS("/bin/python3.7dm") },
		     { "proc/73/maps", MAPS("/lib/libpython3.13td.so.1.0") } },
	  .level = CHECK_LEVEL_WARN, .value = "3 of 3 interpreters",
	  .detail = "Python 3.6 (pid 71): Python frames are not", .way_out = "3.9 to 3.15" },
	{ "Python 2", "python", AT("proc/7/maps", MAPS("/usr/bin/python2.7")), .level = CHECK_LEVEL_WARN,
	  .value = "1 of 1 interpreter", .detail = "Python 2.7 (pid 7): Python frames are not shown (3.9",
	  .way_out = "3.9 to 3.15" },
	{ "PyPy", "python",
	  .files = { { "proc/71/maps", MAPS("/usr/lib/libpypy3.11-c.so") }, { "proc/72/maps", MAPS("/bin/pypy3.10") } },
	  .level = CHECK_LEVEL_WARN, .value = "2 of 2 interpreters",
	  .detail = "Python 3.11 (pid 71): PyPy: Python frames are", .way_out = "3.9 to 3.15" },
	{ "later Python", "python", AT("proc/7/maps", MAPS("/usr/lib/libpython3.16.so.1.0")), .level = CHECK_LEVEL_WARN,
	  .value = "1 of 1 interpreter", .detail = "Python 3.16 (pid 7): Python frames are not shown (3.9",
	  .way_out = "3.9 to 3.15" },
	{ "Python without the GIL", "python",
	  .files = { { "proc/71/maps", MAPS("/lib/libpython3.14t.so.1.0 (deleted)") },
		     { "proc/72/maps", MAPS("/bin/python3.15") } },
	  .level = CHECK_LEVEL_WARN, .value = "1 of 2 interpreters", .detail = "3.14 (pid 71): free-threaded build",
	  .way_out = "usual build" },
	{ "Python for debugging", "python", AT("proc/7/maps", MAPS("/bin/python3.13d")), .level = CHECK_LEVEL_WARN,
	  .value = "1 of 1", .detail = "debug build", .way_out = "usual build" },
	{ "no Python", "python", AT("proc/1/maps", ""), .value = "0 running interpreters" },
};

static void file_make(int root, const struct file *file)
{
	char path[512];
	CLEANUP(closep) int fd = -1;

	(void)snprintf(path, sizeof(path), "%s", file->path);
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		(void)mkdirat(root, path, 0700);
		*slash = '/';
	}
	fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK_INT_EQ(path, fd_write_full(fd, file->text, strlen(file->text)), 0);
}

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static size_t index_of(const char *name)
{
	static const char *const names[] = {
#define CHECK_ITEM(item, need) #item,
#include "libingero/check/list.h"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return i;
	CHECK(name, false);
	return 0;
}

static void compare(const char *name, const char *what, struct buf *got, const char *part)
{
	bool is_right = part ? strstr(buf_text(got), part) && got->n : !got->n;

	if (!is_right)
		fprintf(stderr, "[%s] %s is '%s', want '%s'\n", name, what, buf_text(got), part ? part : "");
	CHECK(name, is_right);
}

/* "all_passed" is whether all checks that are not optional pass. */
static const struct {
	enum check_level level;
	bool is_optional;
	const char *pass, *all_passed;
} passes[] = {
	{ CHECK_LEVEL_OK, false, "\"pass\":true", "\"all_passed\":true" },
	{ CHECK_LEVEL_WARN, false, "\"pass\":true", "\"all_passed\":true" },
	{ CHECK_LEVEL_FAIL, false, "\"pass\":false", "\"all_passed\":false" },
	{ CHECK_LEVEL_OK, true, "\"pass\":true", "\"all_passed\":true" },
	{ CHECK_LEVEL_WARN, true, "\"pass\":false", "\"all_passed\":true" },
};

static void json_test(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(passes); i++) {
		struct check_result result = { .name = "service",
					       .level = passes[i].level,
					       .is_optional = passes[i].is_optional };
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		CHECK_INT_EQ("json", check_json_append(&result, 1, &out), 0);
		CHECK(passes[i].pass, strstr(buf_text(&out), passes[i].pass));
		CHECK(passes[i].all_passed, strstr(buf_text(&out), passes[i].all_passed));
		check_result_done(&result);
	}
}

int main(int argc, char **argv)
{
	const char *temporary = getenv("TMPDIR");
	size_t n_of_check[64] = { 0 };

	(void)argc;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__ProbeFamily family = INGERO__V1__PROBE_FAMILY__INIT, *families[] = { &family };
		Ingero__V1__StatusReply status = INGERO__V1__STATUS_REPLY__INIT;
		Ingero__V1__Store store = INGERO__V1__STORE__INIT;
		struct database database = { .is_named = false };
		struct check_world world = { .uid = cases[i].uid,
					     .is_root = cases[i].is_root,
					     .bpf_error = cases[i].bpf_error };
		struct check_result result;
		char path[256];

		(void)snprintf(path, sizeof(path), "%s/unit_check_XXXXXX", temporary ? temporary : P_tmpdir);
		CHECK("directory", mkdtemp(path) != NULL);
		world.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		for (size_t k = 0; k < FILES_MAX && cases[i].files[k].path; k++)
			file_make(world.root, &cases[i].files[k]);

		status.version = (char *)(uintptr_t) "1.2.3";
		status.pid = 4711;
		if (cases[i].back_end)
			status.back_end = (char *)(uintptr_t)cases[i].back_end;
		if (cases[i].back_end_reason)
			status.back_end_reason = (char *)(uintptr_t)cases[i].back_end_reason;
		if (cases[i].family_state) {
			family.name = (char *)(uintptr_t) "sched";
			family.state = (char *)(uintptr_t)cases[i].family_state;
			family.reason = (char *)(uintptr_t)(strcmp(family.state, "absent") == 0 ? "why" : "");
			status.families = families;
			status.n_families = 1;
		}
		if (cases[i].store_path) {
			store.path = (char *)(uintptr_t)cases[i].store_path;
			store.problem = (char *)(uintptr_t)(cases[i].store_problem ? cases[i].store_problem : "");
			store.bytes = 5;
			status.store = &store;
		}
		world.daemon.error = cases[i].daemon == NOBODY ? -ENOENT : cases[i].daemon == BROKEN ? -EPROTO : 0;
		world.daemon.is_private = cases[i].daemon == OWN;
		world.daemon.status = world.daemon.error ? NULL : &status;
		(void)snprintf(world.daemon.sentence, sizeof(world.daemon.sentence), "another version");
		world.configuration = (struct check_configuration){ .path = "/etc/x.yaml",
								    .error = cases[i].configuration,
								    .sentence = "x.yaml:3:1: unknown key 'y'" };
		if (cases[i].dbs[0])
			world.files = cases[i].dbs;
		world.files_problem = cases[i].files_problem;
		if (cases[i].database) {
			(void)snprintf(database.path, sizeof(database.path), "%s", cases[i].database);
			world.database = &database;
		}
		world.nvml = cases[i].nvml ? argv[1] : "libno-such-library.so";
		if (cases[i].nvml_result)
			(void)setenv("INGERO_STANDIN_NVML", cases[i].nvml_result, 1);
		else
			(void)unsetenv("INGERO_STANDIN_NVML");

		check_run(index_of(cases[i].check), &world, &result);
		n_of_check[index_of(cases[i].check)]++;
		CHECK_INT_EQ(cases[i].name, result.level, cases[i].level);
		compare(cases[i].name, "value", &result.value, cases[i].value);
		compare(cases[i].name, "detail", &result.detail, cases[i].detail);
		compare(cases[i].name, "way out", &result.way_out, cases[i].way_out);
		/* What is not well has a way out, and what is well needs none. */
		CHECK_INT_EQ(cases[i].name, result.way_out.n > 0, result.level != CHECK_LEVEL_OK);
		check_result_done(&result);
		(void)close(world.root);
		(void)nftw(path, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
	}
	json_test();
	for (size_t i = 0; i < check_count(); i++)
		CHECK("every check has a case that is well and one that is not", n_of_check[i] >= 2);
	return check_result();
}
