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

static const struct account *account_then(const struct account_moment *then, uint32_t tid)
{
	for (size_t i = 0; then && i < then->accounts.n; i++)
		if (then->accounts.items[i].tid == tid)
			return &then->accounts.items[i];
	return NULL;
}

double account_call_rate(const struct account *accounts, size_t n_accounts, const struct account_moment *then)
{
	double most = -1;

	for (size_t i = 0; i < n_accounts; i++) {
		const struct account *before = account_then(then, accounts[i].tid);
		uint64_t cpu_ns = account_cpu_ns(&accounts[i]), calls = accounts[i].calls;

		if (before) {
			cpu_ns -= MIN(cpu_ns, account_cpu_ns(before));
			calls -= MIN(calls, before->calls);
		}
		if (cpu_ns)
			most = MAX(most, (double)calls / (double)cpu_ns);
	}
	return most;
}

double account_worst_share(double rate, uint64_t n_calls, uint64_t ns)
{
	return n_calls ? MIN((double)ns * rate / (double)n_calls, 1.0) : 0;
}
