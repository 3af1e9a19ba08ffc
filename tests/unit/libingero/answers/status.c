// SPDX-License-Identifier: Apache-2.0
/* What `ingero status` shows. */
#include <string.h>

#include "base/cleanup.h"
#include "libingero/answers/status.h"
#include "libingero/answers/libraries.h"
#include "tests/support/check.h"

#define NOBODY 4294900000u /* no account has such a number */

/* One owner, several, more than are named; one process and several. */
static void left_out_test(void)
{
	static const struct {
		const char *name;
		size_t n;
		uint32_t processes;
		const char *want;
	} cases[] = {
		{ "none", 0, 0, "" },
		{ "one", 1, 1, "1 CUDA process of root is not shown: '--all'\n" },
		{ "some of one", 1, 1200, "1 200 CUDA processes of root are not shown: '--all'\n" },
		{ "of two", 2, 1, "2 CUDA processes of root and uid 4294900001 are not shown: '--all'\n" },
		{ "of three", 3, 1,
		  "3 CUDA processes of root, uid 4294900001 and uid 4294900002 are not shown:\n'--all'\n" },
		{ "of four", 4, 1,
		  "4 CUDA processes of root, uid 4294900001, uid 4294900002 and 1 more user are not\nshown: "
		  "'--all'\n" },
		{ "of five", 5, 1,
		  "5 CUDA processes of root, uid 4294900001, uid 4294900002 and 2 more users are\nnot shown: "
		  "'--all'\n" },
	};
	struct text_style style = { .is_utf8 = true, .columns = 80 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Ingero__V1__NotShown owners[8], *list[ARRAY_SIZE(owners)];
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		for (uint32_t k = 0; k < ARRAY_SIZE(owners); k++) {
			owners[k] = (Ingero__V1__NotShown)INGERO__V1__NOT_SHOWN__INIT;
			owners[k].uid = k ? NOBODY + k : 0;
			owners[k].processes = cases[i].processes;
			list[k] = &owners[k];
		}
		not_shown_append(&out, &style, "", list, cases[i].n);
		CHECK_STR_EQ(cases[i].name, buf_text(&out), cases[i].want);
	}
}

static void status_test(void)
{
	Ingero__V1__NotShown left_out = INGERO__V1__NOT_SHOWN__INIT, *left_out_list[] = { &left_out };
	char version[] = "0.1.0", kernel[] = "6.1.0", multi[] = "multi", why[] = "this kernel has no session links";
	char call[] = "call", on[] = "on", sched[] = "sched", off[] = "absent", reason[] = "no BTF";
	char path[] = "/usr/lib/libcuda.so.1", soname[] = "libcuda.so.1", layer[] = "driver";
	Ingero__V1__ProbeFamily families[] = { INGERO__V1__PROBE_FAMILY__INIT, INGERO__V1__PROBE_FAMILY__INIT };
	Ingero__V1__ProbeFamily *family_list[] = { &families[0], &families[1] };
	Ingero__V1__Library library = INGERO__V1__LIBRARY__INIT, *library_list[] = { &library };
	char full[] = "full", partial[] = "partial", none[] = "none", renamed[] = "libcudart-1.so is damaged";
	char untraced[] = "no trace of this daemon covers it now", python[] = "python";
	Ingero__V1__MappedLibrary mapped[] = { INGERO__V1__MAPPED_LIBRARY__INIT, INGERO__V1__MAPPED_LIBRARY__INIT };
	Ingero__V1__MappedLibrary *mapped_list[] = { &mapped[0], &mapped[1] };
	Ingero__V1__CudaProcess processes[] = { INGERO__V1__CUDA_PROCESS__INIT, INGERO__V1__CUDA_PROCESS__INIT,
						INGERO__V1__CUDA_PROCESS__INIT };
	Ingero__V1__CudaProcess *process_list[] = { &processes[0], &processes[1], &processes[2] };
	Ingero__V1__Lost lost = INGERO__V1__LOST__INIT;
	Ingero__V1__Cost cost = INGERO__V1__COST__INIT;
	Ingero__V1__StatusReply status = INGERO__V1__STATUS_REPLY__INIT;
	struct text_style style = { .is_utf8 = true, .columns = 80 };
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	families[0].name = call;
	families[0].state = on;
	families[1].name = sched;
	families[1].state = off;
	families[1].reason = reason;
	library.path = path;
	library.soname = soname;
	library.layer = layer;
	library.back_end = multi;
	library.n_operations = 8;
	library.symbols = 19;
	library.stepped = 1;
	library.attach_ns = 258 * NSEC_PER_USEC;
	library.processes = 2;
	mapped[0].is_attached = true;
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
		processes[i].pid = 4711 + (uint32_t)i;
		processes[i].process_name = python;
		processes[i].libraries = mapped_list;
		processes[i].n_libraries = 2;
	}
	processes[0].coverage = none;
	processes[0].reason = untraced;
	processes[1].is_traced = processes[2].is_traced = true;
	processes[1].coverage = partial;
	processes[1].reason = renamed;
	processes[2].coverage = full;
	processes[2].n_libraries = 1;
	status.cuda_processes = process_list;
	status.n_cuda_processes = ARRAY_SIZE(process_list);
	status.more_cuda_processes = 4;
	left_out.processes = 1;
	status.not_shown = left_out_list;
	status.n_not_shown = 1;
	status.version = version;
	status.pid = 77;
	status.uptime_ns = 3725 * NSEC_PER_SEC;
	status.kernel = kernel;
	status.back_end = multi;
	status.back_end_reason = why;
	status.families = family_list;
	status.n_families = ARRAY_SIZE(family_list);
	status.libraries = library_list;
	status.n_libraries = 1;
	status.processes = 1;
	status.leases = 2;
	cost.per_call_ns = 1700;
	cost.bystander_calls = 3;
	status.cost = &cost;
	status.lost = &lost;
	status_append(&status, /* is_private= */ true, &style, &out);
	CHECK_STR_EQ("status", buf_text(&out),
		     "service    not running; this is the status of a private daemon, like the one\n"
		     "           'sudo ingero trace' starts\n"
		     "daemon     ingero-collectord 0.1.0, pid 77, for 1 h 2 min, kernel 6.1.0\n"
		     "back end   multi: this kernel has no session links\n"
		     "probes     call on · sched absent (no BTF)\n"
		     "watched    1 process in your scope, 2 running traces\n"
		     "libraries  libcuda.so.1 (driver) 8 operations, 19 exports, multi, attached in\n"
		     "           258 µs, 1 of them single-stepped (slower), in 2 processes:\n"
		     "           /usr/lib/libcuda.so.1\n"
		     "covered    python (pid 4711): no trace of this daemon covers it now\n"
		     "           python (pid 4712): traced in part, 1 of 2 CUDA libraries:\n"
		     "           libcudart-1.so is damaged\n"
		     "           python (pid 4713): fully traced, 1 CUDA library\n"
		     "           and 4 more\n"
		     "not shown  1 CUDA process of root is not shown: '--all'\n"
		     "cost       0 % of the CPU time of the most affected thread, 1.7 µs a call;\n"
		     "           daemon: 0 ns of CPU time, 0 B, kernel side 0 B; processes that are\n"
		     "           not traced paid for 3 calls, 0 ns\n"
		     "lost       every call counted · nothing lost\n");
}

/* A daemon does not know what another one traces, only that there is one. */
static void others_test(void)
{
	static const struct {
		const char *name;
		uint32_t n;
		const char *want; /* behind the line of what is watched */
	} rows[] = {
		{ "none", 0, "" },
		{ "one", 1,
		  "           1 other daemon of Ingero runs, as of another 'sudo ingero trace';\n"
		  "           what it traces is not shown here\n" },
		{ "two", 2,
		  "           2 other daemons of Ingero run, as of another 'sudo ingero trace';\n"
		  "           what they trace is not shown here\n" },
	};
	char none[] = "none", failed[] = "libcuda.so.1 is damaged", python[] = "python", text[] = "x";
	struct text_style style = { .is_utf8 = true, .columns = 80 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Ingero__V1__CudaProcess process = INGERO__V1__CUDA_PROCESS__INIT, *list[] = { &process };
		Ingero__V1__StatusReply status = INGERO__V1__STATUS_REPLY__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		char want[512];

		process.pid = 4711;
		process.process_name = python;
		process.coverage = none;
		process.reason = failed;
		process.is_traced = true;
		status.version = status.kernel = status.back_end = text;
		status.cuda_processes = list;
		status.n_cuda_processes = 1;
		status.other_daemons = rows[i].n;
		status_append(&status, /* is_private= */ true, &style, &out);
		(void)snprintf(want, sizeof(want), "0 running traces\n%slibraries", rows[i].want);
		CHECK(rows[i].name, strstr(buf_text(&out), want));
		CHECK(rows[i].name, strstr(buf_text(&out), "python (pid 4711): not traced: libcuda.so.1 is damaged\n"));
	}
}

/* What goes beyond the width is on the next line, not lost: kernels and reasons have no bound. */
static void long_test(void)
{
	char version
		[] = "0.1.0",
	 kernel[] = "6.12.107+deb13-cloud-amd64-of-somebody-with-much-to-say", perf[] = "perf", none[] = "",
	 why[] = "session back end: cannot load: Permission denied; multi back end: cannot attach: Invalid argument";
	Ingero__V1__StatusReply status = INGERO__V1__STATUS_REPLY__INIT;
	struct text_style style = { .is_utf8 = true, .columns = 80 };
	CLEANUP(buf_done) struct buf out = BUF_INIT;

	status.version = version;
	status.kernel = kernel;
	status.back_end = perf;
	status.back_end_reason = why;
	status.closing_probes = 57;
	status.recorded = status.record_whom = none;
	status_append(&status, /* is_private= */ false, &style, &out);
	CHECK("what goes on there",
	      strstr(buf_text(&out), "\n           closing 57 probes of an earlier trace, for up to 40 s\n"));
	CHECK("a long name of a kernel", strstr(buf_text(&out), kernel));
	CHECK("two reasons",
	      strstr(buf_text(&out), "back end   perf: session back end: cannot load: Permission denied; multi back\n"
				     "           end: cannot attach: Invalid argument\n"));
}

/* Each operation that is left out counts once, in however many files. */
static void not_traced_test(void)
{
	char launch[] = "cudaLaunchKernel", copy[] = "cudaMemcpyAsync", driver[] = "cuLaunchKernel", perf[] = "perf",
	     name[] = "libcudart.so.12";
	char *first[] = { launch, copy }, *second[] = { copy, driver };
	Ingero__V1__Library some[] = { INGERO__V1__LIBRARY__INIT, INGERO__V1__LIBRARY__INIT };
	Ingero__V1__Library *list[] = { &some[0], &some[1] };
	struct text_style style = { .is_utf8 = true, .columns = 100 };
	CLEANUP(buf_done) struct buf sum = BUF_INIT;
	CLEANUP(buf_done) struct buf line = BUF_INIT;

	some[0].not_traced = first;
	some[1].not_traced = second;
	some[0].n_not_traced = some[1].n_not_traced = 2;
	some[0].soname = name;
	some[0].back_end = perf;
	some[0].n_operations = 45;
	some[0].symbols = 60;
	not_traced_append(&sum, list, 2);
	CHECK_STR_EQ("of two files", buf_text(&sum),
		     " · 3 operations not traced with this kernel's probes ('--calls all' traces them)");
	library_append(&line, &style, "", &some[0]);
	CHECK_STR_EQ(
		"of one", buf_text(&line),
		"libcudart.so.12 45 operations, 60 exports, perf, attached in 0 ns, 2 more operations with '--calls\n"
		"all'\n");
	buf_done(&sum);
	not_traced_append(&sum, list, 0);
	CHECK_INT_EQ("none", sum.n, 0);
}

/* Who is wanted, and who is recorded by now. */
static void wanted_test(void)
{
	static const struct {
		const char *name;
		const char *recorded, *record_whom;
		bool has_process, is_traced;
		const char *line;
	} rows[] = {
		{ "nobody", "nobody", "nobody", false, false, "recorded   no users\n" },
		{ "everyone", "everyone", "everyone", false, false, "recorded   everyone\n" },
		{ "not yet", "nobody", "everyone", false, false,
		  "recorded   nobody now; the configuration names everyone\n" },
		{ "not any more", "everyone", "2 users", false, false,
		  "recorded   everyone now; the configuration names 2 users\n" },
		{ "an older daemon", "everyone", "", false, false, "recorded   everyone\n" },
		{ "no program", "nobody", "nobody", false, false,
		  "libraries  none: no traced process maps a CUDA library\n" },
		{ "a program of nobody's interest", "nobody", "nobody", true, false,
		  "libraries  none: no traced process maps a CUDA library\n" },
		{ "a trace begins", "nobody", "nobody", true, true,
		  "libraries  none yet: libraries of traced processes are being read\n" },
	};
	char none[] = "none", version[] = "0.1.0", kernel[] = "6.1.0", multi[] = "multi";
	struct text_style style = { .is_utf8 = true, .columns = 80 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Ingero__V1__CudaProcess process = INGERO__V1__CUDA_PROCESS__INIT, *list[] = { &process };
		Ingero__V1__StatusReply status = INGERO__V1__STATUS_REPLY__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;

		process.coverage = none;
		process.is_traced = rows[i].is_traced;
		status.version = version;
		status.kernel = kernel;
		status.back_end = multi;
		status.recorded = (char *)rows[i].recorded;
		status.record_whom = (char *)rows[i].record_whom;
		status.cuda_processes = list;
		status.n_cuda_processes = rows[i].has_process;
		status_append(&status, /* is_private= */ false, &style, &out);
		CHECK(rows[i].name, strstr(buf_text(&out), rows[i].line));
	}
}

/* What records of calls take of the daemon's CPU time, where a limit is kept. */
static void record_cpu_test(void)
{
	static const struct {
		const char *name;
		double limit, used; /* negative: absent */
		const char *want;   /* between the lines before and after */
	} rows[] = {
		{ "no limit", -1, -1, "" },
		{ "not yet measured", 0.5, -1,
		  "record CPU at most 50 % of one CPU for records of calls (service.cpu)\n" },
		{ "idle", 0.5, 0, "record CPU 0 % of one CPU for records of calls, at most 50 % (service.cpu)\n" },
		{ "busy", 0.05, 0.0425,
		  "record CPU 4.2 % of one CPU for records of calls, at most 5.0 % (service.cpu)\n" },
	};
	char none[] = "nobody", text[] = "x";
	struct text_style style = { .is_utf8 = true, .columns = 80 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		Ingero__V1__StatusReply status = INGERO__V1__STATUS_REPLY__INIT;
		CLEANUP(buf_done) struct buf out = BUF_INIT;
		char want[512];

		status.version = status.kernel = status.back_end = text;
		status.recorded = status.record_whom = none;
		if (rows[i].limit >= 0) {
			status.record_cpu_limit_ratio_told_case =
				INGERO__V1__STATUS_REPLY__RECORD_CPU_LIMIT_RATIO_TOLD_RECORD_CPU_LIMIT_RATIO;
			status.record_cpu_limit_ratio = rows[i].limit;
		}
		if (rows[i].used >= 0) {
			status.record_cpu_ratio_told_case =
				INGERO__V1__STATUS_REPLY__RECORD_CPU_RATIO_TOLD_RECORD_CPU_RATIO;
			status.record_cpu_ratio = rows[i].used;
		}
		status_append(&status, /* is_private= */ false, &style, &out);
		(void)snprintf(want, sizeof(want), "recorded   no users\n%swatched", rows[i].want);
		CHECK_INT_EQ(rows[i].name, strstr(buf_text(&out), want) != NULL, 1);
	}
}

int main(void)
{
	record_cpu_test();
	left_out_test();
	not_traced_test();
	status_test();
	others_test();
	long_test();
	wanted_test();
	return check_result();
}
