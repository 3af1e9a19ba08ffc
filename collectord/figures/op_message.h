// SPDX-License-Identifier: Apache-2.0
/* Figures of an operation as a message, the same live and from a file. */
#pragma once

#include "figures/op_figures.h"
#include "ingero/v1/ingero.pb-c.h"

/**
 * op_figures_to_message() - set what follows from the figures: numbers of calls, times, bytes, and how exact they are.
 * Calls that were left out are in count, total_ns and bytes; the other numbers are of the calls that were counted.
 */
void op_figures_to_message(const struct op_figures *figures, Ingero__V1__Operation *row);
