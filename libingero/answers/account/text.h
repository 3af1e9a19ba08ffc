// SPDX-License-Identifier: Apache-2.0
/* Accounts as text: a block of lines with bars, or one line. */
#pragma once

#include "libingero/answers/account/view.h"
#include "libingero/render/text.h"

struct account_title {
	char text[240];
};

/* Why a finding has less time than the account of its thread. */
#define ACCOUNT_JUDGED_FORMAT "judged from %d s after the first call on"

/** account_is_on() - whether a thread is of a machine; NULL: of the only one, which answers do not name */
bool account_is_on(const Ingero__V1__Account *account, const char *node);
struct account_thread {
	char text[32];
};

/** account_thread() - name of a thread: "main thread", "thread 4713"; of tid 0 "several threads" */
struct account_thread account_thread(uint32_t pid, uint32_t tid);
/** account_title() - whose time it is: "python3 train.py 4711 · main thread · 60 s" */
struct account_title account_title(const Ingero__V1__Account *account);

/**
 * account_append() - append a title, then a line for each cause
 * @most: maximum number of lines after the title, at least 1
 * Return: 0 or -ENOMEM; nothing for an account without time
 */
int account_append(const Ingero__V1__Account *account, size_t most, const struct text_style *style, struct buf *out);

/**
 * account_append_short() - append one line: "61 % waits for a pipe · 19 % cudaStreamSynchronize", with the causes that
 * fit and, where there is room, who ends the first: "70 % waits for a lock released by thread 17470"
 * @first: start of the line
 * Return: 0 or -ENOMEM; nothing for an account without time
 */
int account_append_short(const Ingero__V1__Account *account, const char *first, const struct text_style *style,
			 struct buf *out);

/**
 * account_append_processes() - append a short line for the first driving thread of each process
 * @accounts: accounts, driving threads first
 * @most:     maximum number of lines, the last of which counts the processes left out
 * Return: 0 or -ENOMEM
 */
int account_append_processes(Ingero__V1__Account *const *accounts, size_t n, size_t most,
			     const struct text_style *style, struct buf *out);

/**
 * account_append_waits() - append a sentence on the waits between calls that took most of the time of a driving thread:
 * "95 % of the time python3 4711 waited for a pipe from loader (4720)", and when such waits are judged; or that it
 * slept Return: 0 or -ENOMEM; nothing where all waits took less than a tenth, and sleep less than half of the time
 */
int account_append_waits(Ingero__V1__Account *const *accounts, size_t n, struct buf *text);

struct account_part {
	uint64_t ns;
	unsigned int percent; /* of the time of the thread; 0: none that is worth a sentence */
	bool is_without_cpu;  /* ready, or throttled */
};

/**
 * account_largest() - the largest part of the time of a driving thread, if that is a wait between calls or sleep as
 * above, or half of the time and no call
 * Return: 0 or -ENOMEM
 */
int account_largest(const Ingero__V1__Account *account, struct account_part *ret);
/** account_append_largest() - append the sentence on it, as above and as below. Return: 0 or -ENOMEM */
int account_append_largest(Ingero__V1__Account *account, struct buf *text);

/**
 * account_append_most() - append what took most of the time of a driving thread: "Most of the time of python3 4711,
 * 97 %: Python on the CPU."
 * Return: 0 or -ENOMEM; nothing where it is calls, or less than half
 */
int account_append_most(Ingero__V1__Account *const *accounts, size_t n, struct buf *text);

struct account_most {
	char text[80]; /* "waits for a pipe", "ready behind ffmpeg"; "": none */
	double ratio;  /* of the time of its thread in the interval */
	bool is_loss;  /* not asked for by the program as sleep is */
};

/**
 * account_most_idle() - what kept a driving thread most from its work in an interval: a wait, sleep, or a CPU that it
 * did not get
 * @now, @before: accounts at the end and at the start of the interval, of the same beginning
 * Return: 0 or -ENOMEM
 */
int account_most_idle(Ingero__V1__Account *const *now, size_t n_now, Ingero__V1__Account *const *before,
		      size_t n_before, struct account_most *ret_most);

/**
 * account_append_waiting() - append a line for the first driving thread of each process that is in a wait between
 * calls: "between calls: waits 14.2 s so far for a pipe from loader (4720): pipe:[4026]"
 * @accounts: accounts, driving threads first
 * @least_ns: shorter waits have no line
 * @most:     maximum number of lines
 */
void account_append_waiting(Ingero__V1__Account *const *accounts, size_t n, uint64_t least_ns, size_t most,
			    const struct text_style *style, struct buf *out);
