// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "pipeline"
#include "pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "bpf/stack_record.h"
#include "events/event.h"
#include "events/host.h"
#include "events/op.h"
#include "events/source.h"
#include "events/stack.h"
#include "figures/figures.h"
#include "figures/tick.h"
#include "files/file_table.h"
#include "procs/process_table.h"
#include "procs/procfs.h"
#include "procs/system_sample.h"

/* Maximum number of ended processes whose figures are kept while a lease is active; older ones are forgotten first. */
#define GONE_MAX 10000
#define IN_FLIGHT_ROOM 64 /* initial room for calls in progress; it grows when there are more */
#define IN_FLIGHT_MOST 65536

struct pipeline {
	struct source *source;
	struct sink sinks[PIPELINE_SINKS_MAX];
	struct figures *figures;
	struct file_table *files;
	struct ticker *ticker;
	struct system_sampler *sampler;
	int proc_fd;
	void (*on_behind)(uint32_t tgid, struct behind_value *value, void *data);
	void (*on_lates)(struct tick *tick, uint64_t from, void *data);
	struct stack *(*on_stack)(const struct record_header *of, uint64_t id, void *data);
	void *data;
	uint16_t measured;
	bool was_watched;
	uint64_t refused; /* undecodable records, until the last tick */
	ARRAY(struct in_flight_record) in_flight;
	uint64_t unheld; /* events without memory for their process, until the last tick */
	struct process_table *processes;
	struct process *by_slot[PROCESS_SLOTS]; /* references: the last process of each slot, also when the slot is free
						   again */
};

/* Calls a function of each sink that has it, in order. */
#define TELL(p, what, ...)                                                                                             \
	do {                                                                                                           \
		for (size_t i_ = 0; i_ < PIPELINE_SINKS_MAX && (p)->sinks[i_].ops; i_++)                               \
			if ((p)->sinks[i_].ops->what)                                                                  \
				(p)->sinks[i_].ops->what(__VA_ARGS__ __VA_OPT__(, )(p)->sinks[i_].data);               \
	} while (0)

static void pipeline_freep(struct pipeline **p)
{
	pipeline_free(*p);
}

/* ---- creation and end ---- */

static void losses_read(const struct pipeline *p, uint64_t ret_losses[LOSS_COUNT])
{
	p->source->ops->losses(p->source, ret_losses);
	ret_losses[LOSS_ACCOUNTS] += figures_accounts_lost(p->figures);
	ret_losses[LOSS_PATHS] += file_table_lost(p->files);
}

int pipeline_new(const struct pipeline_options *options, struct pipeline **ret_pipeline)
{
	CLEANUP(pipeline_freep) struct pipeline *p = calloc(1, sizeof(*p));
	uint64_t losses[LOSS_COUNT];
	int r;

	if (!p)
		return -ENOMEM;
	p->source = options->source;
	p->processes = options->processes;
	memcpy(p->sinks, options->sinks, sizeof(p->sinks));
	p->on_behind = options->on_behind;
	p->on_lates = options->on_lates;
	p->on_stack = options->on_stack;
	p->data = options->data;
	p->measured = source_measured(p->source);

	p->proc_fd = procfs_open();
	if (p->proc_fd < 0)
		return p->proc_fd;
	p->files = file_table_new();
	r = p->files ? figures_new(p->processes, &p->figures) : -ENOMEM;
	if (r == 0)
		figures_set_files(p->figures, p->files);
	if (r == 0)
		r = ticker_new(&p->ticker);
	if (r == 0)
		r = system_sampler_new(p->proc_fd, &p->sampler);
	if (r < 0)
		return r;
	if (!p->source->ops->is_invented)
		process_table_look(p->processes, p->proc_fd);
	losses_read(p, losses);
	ticker_begin(p->ticker, p->source->ops->now_ns(p->source), losses);
	*ret_pipeline = TAKE_PTR(p);
	return 0;
}

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	ticker_free(p->ticker);
	figures_free(p->figures);
	file_table_free(p->files);
	for (size_t i = 0; i < PROCESS_SLOTS; i++)
		(void)process_unref(p->by_slot[i]);
	system_sampler_free(p->sampler);
	process_table_look(p->processes, -1);
	ARRAY_DONE(&p->in_flight);
	closep(&p->proc_fd);
	free(p);
}

struct figures *pipeline_figures(struct pipeline *p)
{
	return p->figures;
}

/* ---- calls ---- */

static bool is_process(const struct process *process, const struct call_record *call)
{
	return process && process->identity.tgid == call->tgid && process->identity.exec_gen == call->exec_gen;
}

/*
 * The process of a call. A slot is reassigned only after its process was read as gone and every record before that was
 * fetched. If that should fail, the record itself identifies the process.
 */
static struct process *process_of(struct pipeline *p, const struct call_record *call)
{
	const struct process_slot *slot = &p->source->ops->slots(p->source)[call->slot % PROCESS_SLOTS];
	struct process **process = &p->by_slot[call->slot % PROCESS_SLOTS];
	bool is_slot = slot->tgid == call->tgid && slot->exec_gen == call->exec_gen;
	struct process_identity identity = { .tgid = call->tgid, .uid = call->uid, .exec_gen = call->exec_gen };

	if (is_process(*process, call) &&
	    (!is_slot || ((*process)->identity.start_boot_ns == slot->start_boot_ns &&
			  (*process)->identity.flags == __atomic_load_n(&slot->flags, __ATOMIC_RELAXED))))
		return *process;

	if (is_slot)
		figures_slot_identity(slot, &identity);
	else
		memcpy(identity.comm, call->comm, sizeof(identity.comm) - 1);
	(void)process_unref(*process);
	*process = process_table_take(p->processes, &identity);
	if (*process && is_slot)
		process_called(*process, identity.comm);
	return *process;
}

void pipeline_call(struct pipeline *p, const struct call_record *call)
{
	struct event event = {
		.call = call, .process = process_of(p, call), .op = op_get(call->op), .measured = p->measured
	};

	if (!event.process) {
		p->unheld++;
		return;
	}
	if (call->reason & RECORD_REASON_ERROR)
		failures_note(&event.process->failures, call->op, call->ret, call->start_ns + call->raw_ns);
	if (call->stack && p->on_stack)
		event.stack = p->on_stack(&call->header, call->stack, p->data);
	TELL(p, event, &event);
	(void)stack_unref(event.stack);
}

void pipeline_wait(struct pipeline *p, const struct wait_record *wait)
{
	struct stack *stack = p->on_stack ? p->on_stack(&wait->header, wait->stack, p->data) : NULL;

	if (stack)
		figures_wait_stack(p->figures, wait, stack);
	(void)stack_unref(stack);
}

void pipeline_stack(struct pipeline *p, struct stack *stack)
{
	TELL(p, stack, stack);
}

void pipeline_file(struct pipeline *p, const struct file_record *file)
{
	int r = file_table_note(p->files, file);

	if (r < 0)
		(void)log_warning(r, "cannot keep the path of a file, it is known by its name alone");
}

void pipeline_host(struct pipeline *p, const struct host_event *host, const struct life_record *life)
{
	struct event event = { .life = life, .process = host->process, .op = op_get(host->op) };

	if (!event.process) {
		p->unheld++;
		return;
	}
	TELL(p, event, &event);
	(void)process_unref(event.process);
}

void pipeline_drained(struct pipeline *p)
{
	TELL(p, drained);
}

void pipeline_finding(struct pipeline *p, const struct finding *finding)
{
	TELL(p, finding, finding);
}

/* ---- figures ---- */

static void slot_release(uint32_t slot, void *data)
{
	const struct pipeline *p = data;

	(void)p->source->ops->slot_release(p->source, slot);
}

static void behind_note(const struct behind_key *key, const struct behind_value *value, void *data)
{
	struct pipeline *p = data;
	struct behind_value whose = *value;

	if (p->on_behind && !key->is_sum)
		p->on_behind(key->tgid, &whose, p->data);
	(void)figures_behind(p->figures, key, &whose);
}

/* The record of the stack is on its ring since the wait began. */
static void open_stack_note(const struct pipeline *p, const struct account_record *record)
{
	const struct process_figures *process = figures_find_slot(p->figures, record->slot);
	struct record_header of = { .tgid = record->tgid, .slot = record->slot };
	struct stack *stack;

	if (!process || !p->on_stack)
		return;
	of.exec_gen = process->process->identity.exec_gen;
	stack = p->on_stack(&of, record->wait_stack, p->data);
	if (stack)
		figures_open_stack(p->figures, record, stack);
	(void)stack_unref(stack);
}

static void account_noted(const struct account_record *record, void *data)
{
	const struct pipeline *p = data;

	(void)figures_account(p->figures, record);
	if (record->wait_since_ns && record->wait_stack && !account_is_torn(record))
		open_stack_note(p, record);
}

static void wait_noted(const struct wait_key *key, const struct wait_value *value, void *data)
{
	const struct pipeline *p = data;
	struct behind_value waker = { .uid = value->waker_uid, .is_guarded = value->is_waker_guarded };
	struct wait_value whose = *value;

	memcpy(waker.comm, value->waker_comm, sizeof(waker.comm));
	if (p->on_behind && key->waker_tgid)
		p->on_behind(key->waker_tgid, &waker, p->data);
	whose.waker_uid = waker.uid;
	whose.is_waker_guarded = waker.is_guarded;
	memcpy(whose.waker_comm, waker.comm, sizeof(whose.waker_comm));
	(void)figures_wait(p->figures, key, &whose);
}

/* A process is known by its slot: from its first collection until its slot is reassigned. */
static void accounts_collect(struct pipeline *p, const struct figures_source *source)
{
	const struct source_ops *ops = p->source->ops;
	int accounts = ops->accounts ? ops->accounts(p->source, account_noted, p) : -ENOSYS;
	int waits = ops->waits ? ops->waits(p->source, wait_noted, p) : -ENOSYS;
	int r;

	figures_guarded(p->figures, source);
	r = figures_accounts_read(p->figures, accounts >= 0, waits >= 0);
	if (r < 0)
		(void)log_warning(r, "cannot keep all accounts, those of some processes are of an earlier second");
}

static uint32_t cells_used(void *data)
{
	struct source *source = data;

	return source->ops->cells_used(source);
}

void pipeline_collect(struct pipeline *p)
{
	const struct source_ops *ops = p->source->ops;
	struct figures_source source = { .slots = ops->slots(p->source),
					 .cells = ops->cells(p->source),
					 .left_out = ops->left_out ? ops->left_out(p->source) : NULL,
					 .cells_used = cells_used,
					 .data = p->source };
	int r;

	ops->drain(
		p->source); /* what a record reports is in the figures, too, except for processes that end meanwhile */
	r = figures_collect(p->figures, &source);
	if (r < 0)
		(void)log_warning(r, "cannot keep all figures, reading them again later");
	r = figures_behind_read(p->figures, ops->behind(p->source, behind_note, p) >= 0);
	if (r < 0)
		(void)log_warning(r, "cannot keep who ran while others waited, reading it again later");
	accounts_collect(p, &source);
	/* Records identify their process by slot, also the last one before it was seen gone. */
	if (figures_gone(p->figures))
		ops->drain(p->source);
	figures_release_gone(p->figures, &source, slot_release, p);
}

/* Return: number of calls in p->in_flight */
static size_t in_flight_read(struct pipeline *p)
{
	size_t room = MAX(p->in_flight.room, IN_FLIGHT_ROOM);

	for (;;) {
		int n;

		if (room > p->in_flight.room) {
			void *grown = realloc(p->in_flight.items, room * sizeof(*p->in_flight.items));

			if (!grown)
				return 0;
			p->in_flight.items = grown;
			p->in_flight.room = room;
		}
		n = p->source->ops->in_flight(p->source, p->in_flight.items, p->in_flight.room);
		if (n < 0)
			return 0;
		if ((size_t)n <= p->in_flight.room || p->in_flight.room >= IN_FLIGHT_MOST)
			return MIN((size_t)n, p->in_flight.room);
		room = MIN((size_t)n + IN_FLIGHT_ROOM, IN_FLIGHT_MOST);
	}
}

/* Of processes that ended there is nothing to ask any more. */
static void collected_read(const struct pipeline *p, struct tick *tick)
{
	for (size_t i = 0; p->source->ops->interpreter && i < tick->processes.n; i++) {
		struct tick_process *process = &tick->processes.items[i];
		struct interpreter interpreter;

		process->is_collected =
			p->source->ops->interpreter(p->source, process->process->identity.tgid, &interpreter) == 0 &&
			interpreter.is_collected;
	}
}

/* Without memory everybody is told. */
static void user_loss_add(uint32_t uid, enum loss_reason reason, uint64_t n, void *data)
{
	const struct tick_user_loss loss = { .uid = uid, .reason = reason, .n = n };
	struct tick *tick = data;

	if (ARRAY_PUSH(&tick->user_losses, loss) < 0)
		tick->losses[reason] += n;
}

static void user_loss_pass(uint32_t uid, enum loss_reason reason, uint64_t n, void *data)
{
	(void)uid;
	(void)reason;
	(void)n;
	(void)data;
}

/* @is_last: nobody watches any more: what is open is closed, and kept with the rest of the second. */
static void tick(struct pipeline *p, bool is_last)
{
	uint64_t losses[LOSS_COUNT];
	struct system_sample sample;
	struct tick tick;
	uint64_t now_ns;
	int r;

	pipeline_collect(p);
	TELL(p, second);
	now_ns = p->source->ops->now_ns(p->source);
	losses_read(p, losses);
	r = ticker_take(p->ticker, p->figures, now_ns, losses, &tick);
	if (r < 0) {
		(void)log_warning(r, "cannot look at the last second, it comes with the next");
		return;
	}
	if (p->source->ops->user_losses_take)
		p->source->ops->user_losses_take(p->source, user_loss_add, &tick);
	tick.refused = p->source->ops->refused(p->source) - p->refused;
	p->refused += tick.refused;
	tick.refused += p->unheld;
	p->unheld = 0;
	tick.measured = p->measured;
	collected_read(p, &tick);
	tick.n_in_flight = in_flight_read(p);
	tick.in_flight = p->in_flight.items;
	if (!p->source->ops->is_invented && system_sampler_take(p->sampler, now_ns, &sample) == 0)
		tick.system = &sample;

	if (p->on_lates && tick.losses[LOSS_LATE_LOAD])
		p->on_lates(&tick, losses[LOSS_LATE_LOAD] - tick.losses[LOSS_LATE_LOAD], p->data);
	TELL(p, tick, &tick, is_last);
	tick_done(&tick);
}

/* Processes that will be forgotten, and whose end no tick reports. */
static void gone_tell(struct pipeline *p)
{
	for (size_t i = 0; i < figures_count(p->figures); i++) {
		const struct process_figures *f = figures_get(p->figures, i);

		if (f->gone_ns)
			TELL(p, gone, f);
	}
}

static void process_forget(const struct process_figures *process, void *data)
{
	const struct pipeline *p = data;

	TELL(p, forget, process);
}

/* Nobody watches: the next second that is judged and kept begins no earlier than here. */
static void second_pass(struct pipeline *p)
{
	uint64_t losses[LOSS_COUNT];

	pipeline_collect(p);
	gone_tell(p);
	figures_accounts_taken(p->figures);
	losses_read(p, losses);
	ticker_begin(p->ticker, p->source->ops->now_ns(p->source), losses);
	if (p->source->ops->user_losses_take)
		p->source->ops->user_losses_take(p->source, user_loss_pass, NULL);
	p->refused = p->source->ops->refused(p->source);
}

void pipeline_tick(struct pipeline *p, bool is_watched)
{
	if (is_watched || p->was_watched)
		tick(p, !is_watched);
	else
		second_pass(p);
	p->was_watched = is_watched;
	(void)figures_forget_gone(p->figures, is_watched ? 0 : UINT64_MAX, is_watched ? GONE_MAX : 0, process_forget,
				  p);
}

void pipeline_finish(struct pipeline *p)
{
	if (p->was_watched)
		tick(p, /* is_last= */ true);
	p->was_watched = false;
}
