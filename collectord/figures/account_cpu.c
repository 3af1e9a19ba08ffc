// SPDX-License-Identifier: Apache-2.0
#include "figures/account_cpu.h"

#include "base/array.h"

uint64_t account_cpu_ns(const struct account *account)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < account->parts.n; i++)
		if (account->parts.items[i].class == BLAME_ON_CPU)
			sum_ns += account->parts.items[i].ns;
	return sum_ns;
}

uint64_t account_calls(const struct account *accounts, size_t n_accounts)
{
	uint64_t n = 0;

	for (size_t i = 0; i < n_accounts; i++)
		n += accounts[i].calls;
	return n;
}

double account_worst_share(const struct account *accounts, size_t n_accounts, const struct account_moment *then,
			   uint64_t n_calls, uint64_t ns)
{
	double worst = -1;

	for (size_t i = 0; i < n_accounts; i++) {
		uint64_t cpu_ns = account_cpu_ns(&accounts[i]), calls = accounts[i].calls;
		double share = 0;

		for (size_t k = 0; then && k < then->accounts.n; k++) {
			const struct account *before = &then->accounts.items[k];

			if (before->tid != accounts[i].tid)
				continue;
			cpu_ns -= MIN(cpu_ns, account_cpu_ns(before));
			calls -= MIN(calls, before->calls);
		}
		if (!cpu_ns)
			continue;
		if (n_calls)
			share = (double)ns * (double)calls / (double)n_calls / (double)cpu_ns;
		worst = MAX(worst, MIN(share, 1.0));
	}
	return worst;
}
