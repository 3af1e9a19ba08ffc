// SPDX-License-Identifier: Apache-2.0
#include "figures/op_message.h"

static void op_errors_tell(const struct op_figures *f, Ingero__V1__Operation *row)
{
	double count = op_figures_count_error(f), time = op_figures_time_error(f);

	row->rung_told_case = INGERO__V1__OPERATION__RUNG_TOLD_RUNG;
	row->rung = (char *)(op_figures_is_exact(f) ? "exact" : "duty");
	if (count >= 0) {
		row->count_error_told_case = INGERO__V1__OPERATION__COUNT_ERROR_TOLD_COUNT_ERROR;
		row->count_error = count;
	}
	if (time >= 0) {
		row->time_error_told_case = INGERO__V1__OPERATION__TIME_ERROR_TOLD_TIME_ERROR;
		row->time_error = time;
	}
}

void op_figures_to_message(const struct op_figures *f, Ingero__V1__Operation *row)
{
	row->count = op_figures_count(f);
	row->errors = f->errors;
	row->total_ns = op_figures_total_ns(f);
	row->total_raw_ns = f->raw_ns;
	row->max_ns = f->max_ns;
	row->p50_ns = histogram_quantile(&f->durations, 0.50, f->max_ns);
	row->p95_ns = histogram_quantile(&f->durations, 0.95, f->max_ns);
	row->p99_ns = histogram_quantile(&f->durations, 0.99, f->max_ns);
	row->bytes = op_figures_bytes(f);
	row->abandoned = f->abandoned;
	row->untimed = f->untimed;
	op_errors_tell(f, row);
}
