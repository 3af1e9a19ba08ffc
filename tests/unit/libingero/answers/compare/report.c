// SPDX-License-Identifier: Apache-2.0
/* The report of a comparison at 80 columns: every verdict, the parts that changed, and what stands behind them. */
#include "libingero/answers/compare/report.h"

#include <locale.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "tests/support/check.h"

#define SECOND 1000000000ull
#define MS 1000000ull
#define US 1000ull
#define NOW (1700000000 * SECOND)
#define TEXT(text) ((char *)(uintptr_t)(text))

static Ingero__V1__Program program = INGERO__V1__PROGRAM__INIT;
static uint32_t a_pids[] = { 4711 }, b_pids[] = { 4890, 4891 };

struct made {
	Ingero__V1__CompareReply reply;
	Ingero__V1__Compared compared;
	Ingero__V1__ComparedSide a, b;
	Ingero__V1__Window a_window, b_window;
	Ingero__V1__Lost lost;
	Ingero__V1__ComparedPart parts[4], *part_list[4];
	Ingero__V1__ComparedOperation operations[2], *operation_list[2];
	Ingero__V1__ComparedFigures figures[4];
};

static void part_make(struct made *m, size_t i, const char *where, const char *class, const char *op, uint64_t a_us,
		      uint64_t b_us, bool is_told)
{
	Ingero__V1__ComparedPart *part = &m->parts[i];

	ingero__v1__compared_part__init(part);
	part->where = TEXT(where);
	part->class_ = TEXT(class);
	if (op) {
		part->op_told_case = INGERO__V1__COMPARED_PART__OP_TOLD_OP;
		part->op = TEXT(op);
	}
	part->a_ns = a_us * US;
	part->b_ns = b_us * US;
	part->change_ns = (int64_t)(part->b_ns - part->a_ns);
	part->error_ns = 40 * US;
	part->change_ratio = (double)part->change_ns / (double)(7 * MS);
	part->is_told = is_told;
	m->part_list[i] = part;
	m->reply.n_parts = MAX(m->reply.n_parts, i + 1);
}

static void operation_make(struct made *m, size_t i, const char *source, const char *op, double a_per_unit,
			   double b_per_unit)
{
	Ingero__V1__ComparedFigures *a = &m->figures[2 * i], *b = &m->figures[2 * i + 1];

	ingero__v1__compared_operation__init(&m->operations[i]);
	ingero__v1__compared_figures__init(a);
	ingero__v1__compared_figures__init(b);
	a->per_unit = a_per_unit;
	b->per_unit = b_per_unit;
	a->p50_ns = 5 * MS;
	b->p50_ns = 5200 * US;
	a->p99_ns = 5100 * US;
	b->p99_ns = 17 * MS;
	m->operations[i].source = TEXT(source);
	m->operations[i].op = TEXT(op);
	m->operations[i].a = a;
	m->operations[i].b = b;
	m->operation_list[i] = &m->operations[i];
	m->reply.n_operations = MAX(m->reply.n_operations, i + 1);
}

static void made_init(struct made *m, const char *verdict, double change, double error, const char *basis)
{
	*m = (struct made){ .reply = INGERO__V1__COMPARE_REPLY__INIT,
			    .compared = INGERO__V1__COMPARED__INIT,
			    .a = INGERO__V1__COMPARED_SIDE__INIT,
			    .b = INGERO__V1__COMPARED_SIDE__INIT,
			    .a_window = INGERO__V1__WINDOW__INIT,
			    .b_window = INGERO__V1__WINDOW__INIT,
			    .lost = INGERO__V1__LOST__INIT };
	program.script = TEXT("train.py");
	m->compared.verdict = TEXT(verdict);
	m->compared.basis = TEXT(basis);
	m->compared.change_ratio = change;
	m->compared.error_ratio = error;
	m->compared.process_name = TEXT("python3");
	m->compared.program = &program;
	m->compared.per = TEXT("cudaStreamSynchronize");
	m->a.pids = a_pids;
	m->a.n_pids = ARRAY_SIZE(a_pids);
	m->b.pids = b_pids;
	m->b.n_pids = ARRAY_SIZE(b_pids);
	m->a.units = m->b.units = 12345;
	m->a.unit_ns = 7 * MS;
	m->b.unit_ns = 7210 * US;
	m->a.samples = m->b.samples = 12;
	m->a.sample_ns = m->b.sample_ns = 5 * SECOND;
	m->compared.a = &m->a;
	m->compared.b = &m->b;
	m->a_window.from_unix_ns = NOW - 600 * SECOND;
	m->a_window.to_unix_ns = NOW - 540 * SECOND;
	m->b_window.from_unix_ns = NOW - 60 * SECOND;
	m->b_window.to_unix_ns = NOW;
	m->reply.compared = &m->compared;
	m->reply.a_window = &m->a_window;
	m->reply.b_window = &m->b_window;
	m->reply.parts = m->part_list;
	m->reply.operations = m->operation_list;
	m->reply.confidence_ratio = 0.99;
	part_make(m, 0, "in", "device", "cudaStreamSynchronize", 5000, 5210, true);
	part_make(m, 1, "between", "on_cpu", NULL, 2000, 2001, false);
	part_make(m, 2, "in", "on_cpu", NULL, 0, 1, false);
	operation_make(m, 0, "driver", "cuStreamSynchronize", 1, 1);
	operation_make(m, 1, "cuda", "cudaStreamSynchronize", 1, 1);
}

static void report_check(const char *name, const struct made *m, const char *want)
{
	const struct text_style style = { .is_utf8 = true, .columns = 80 };
	CLEANUP(buf_done) struct buf out = BUF_INIT;
	size_t widest = 0;

	CHECK_INT_EQ(name, compare_report_append(&m->reply, NOW, &style, &out), 0);
	CHECK_STR_EQ(name, buf_text(&out), want);
	for (const char *line = buf_text(&out); *line; line += strcspn(line, "\n") + (*line != '\0')) {
		char text[512];

		(void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(line, "\n"), line);
		widest = MAX(widest, text_columns(text));
	}
	CHECK_INT_IN(name, widest, 1, 80);
}

#define SIDES                                                                                                          \
	"A  22:03:20 to 22:04:20 · pid 4711 · 12 345 × cudaStreamSynchronize, 7.0 ms each\n"                        \
	"B  22:12:20 to 22:13:20 · 2 processes · 12 345 × cudaStreamSynchronize, 7.2 ms\n"                          \
	"   each\n"                                                                                                    \
	"\n"
#define TABLE_HEAD "per cudaStreamSynchronize                      A         B  change\n"
#define COMPUTES "between calls: cpu                        2.0 ms    2.0 ms  ±40 µs\n"
#define P99 "cudaStreamSynchronize, p99                5.1 ms     17 ms  p50 5.0ms → 5.2ms\n"
#define METHOD "\n12 pieces of 5.0 s in A, 12 of 5.0 s in B, compared by ranks; 99 % sure\n"

static void slower_check(void)
{
	struct made m;

	made_init(&m, "slower", 0.03, 0.006, "wall");
	report_check(
		"slower", &m,
		"slower: python3 train.py takes 3.0 % longer per cudaStreamSynchronize (±0.6 %)\n"
		"mostly: waiting in the GPU driver in cudaStreamSynchronize, +210 µs (+3.0 %)\n" SIDES TABLE_HEAD
		"cudaStreamSynchronize: device             5.0 ms    5.2 ms  +3.0 %  +210 µs\n" COMPUTES P99 METHOD);
}

/* What the CPU's other users did is no part of this change, and is not named as its cause. */
static void without_runnable_check(void)
{
	struct made m;

	made_init(&m, "slower", 0.03, 0.006, "without_runnable");
	part_make(&m, 0, "between", "runnable", NULL, 500, 1500, true);
	part_make(&m, 1, "between", "on_cpu", NULL, 2000, 2210, true);
	report_check("without time ready", &m,
		     "slower: python3 train.py takes 3.0 % longer per cudaStreamSynchronize (±0.6 %),\n"
		     "not counting time ready without a CPU\n"
		     "mostly: running on the CPU between calls, +210 µs (+3.0 %)\n" SIDES TABLE_HEAD
		     "between calls: runnable                   500 µs    1.5 ms  +14.3 %  +1.0 ms\n"
		     "between calls: cpu                        2.0 ms    2.2 ms  +3.0 %  +210 µs\n" P99 METHOD);
}

static void same_check(void)
{
	struct made m;

	made_init(&m, "same", 0.002, 0.006, "wall");
	m.parts[0].is_told = false;
	m.parts[0].b_ns = m.parts[0].a_ns;
	m.compared.b_process_name = TEXT("train2");
	operation_make(&m, 1, "cuda", "cudaLaunchKernel", 8, 12.5);
	report_check("same", &m,
		     "same: python3 train.py takes as long per cudaStreamSynchronize (+0.2 % ±0.6 %)\n"
		     "B is another program: train2\n" SIDES TABLE_HEAD
		     "cudaStreamSynchronize: device             5.0 ms    5.0 ms  ±40 µs\n" COMPUTES
		     "cudaLaunchKernel, p99                     5.1 ms     17 ms  8 → 12.5 calls\n" METHOD);
}

static void faster_check(void)
{
	struct made m;

	made_init(&m, "faster", -0.03, 0.006, "wall");
	part_make(&m, 0, "in", "device", "cudaStreamSynchronize", 5210, 5000, true);
	report_check(
		"faster", &m,
		"faster: python3 train.py takes 3.0 % less time per cudaStreamSynchronize\n"
		"(±0.6 %)\n"
		"mostly: waiting in the GPU driver in cudaStreamSynchronize, -210 µs (-3.0 %)\n" SIDES TABLE_HEAD
		"cudaStreamSynchronize: device             5.2 ms    5.0 ms  -3.0 %  -210 µs\n" COMPUTES P99 METHOD);
}

/* What is missing of a side is said, and which programs are not compared. */
static void unknown_check(void)
{
	char *only[] = { TEXT("etl"), TEXT("serve") };
	Ingero__V1__Compared *others[1];
	struct made m, other;

	made_init(&other, "same", 0, 0.01, "wall");
	other.compared.per = TEXT("call");
	other.compared.program = NULL;
	others[0] = &other.compared;
	made_init(&m, "unknown", 0, 0, "wall");
	m.compared.why = TEXT("A has 2 of the 5 pieces of time with work that are needed: compare a longer time");
	m.reply.others = others;
	m.reply.n_others = 1;
	m.reply.more_programs = 1;
	m.reply.only_b = only;
	m.reply.n_only_b = 2;
	m.lost.cells = 3;
	m.reply.a_lost = &m.lost;
	m.parts[0].is_told = false;
	m.parts[0].error_ns = 0;
	report_check("unknown", &m,
		     "cannot judge python3 train.py: A has 2 of the 5 pieces of time with work that\n"
		     "are needed: compare a longer time\n" SIDES TABLE_HEAD
		     "cudaStreamSynchronize: device             5.0 ms    5.2 ms  not known\n" COMPUTES P99 METHOD
		     "same: python3 takes as long per call (+0.0 % ±1.0 %)\n"
		     "and 1 more program; 'pid:N' compares one process\n"
		     "only in B: etl, serve\n"
		     "A: 3 calls counted without their operation\n");
}

int main(void)
{
	(void)setlocale(LC_ALL, "C.UTF-8");
	(void)setenv("TZ", "UTC", 1);
	tzset();
	slower_check();
	without_runnable_check();
	same_check();
	faster_check();
	unknown_check();
	return check_result();
}
