// SPDX-License-Identifier: Apache-2.0
#define LOG_TOPIC "capture"
#include "capture.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "children/child.h"
#include "clock.h"
#include "demo/demo.h"
#include "detect/engine.h"
#include "events/host.h"
#include "events/life.h"
#include "events/source.h"
#include "figures/tick.h"
#include "pipeline.h"
#include "probes/budget.h"
#include "probes/kernel_source.h"
#include "probes/lease.h"
#include "probes/target.h"
#include "stacks/stacks.h"
#include "procs/cgroup.h"
#include "procs/process_table.h"
#include "procs/procfs.h"
#include "procs/subordinate.h"

/* Every run of a demo is the same. */
#define DEMO_SEED 1
/* Minimum interval between forced ticks and commits, nanoseconds: answers within it are of the same moment. */
#define SETTLE_NS 200000000ull
/* Bits that sched_getscheduler() adds to the policy: SCHED_RESET_ON_FORK of sched(7). */
#define POLICY_FLAGS 0x40000000

void capture_init(struct capture *c, uv_loop_t *loop, const struct capture_events *events, void *data)
{
	*c = (struct capture){
		.loop = loop, .events = *events, .data = data, .loop_times = { .together = subordinate_read() }
	};
}

/* ---- records ---- */

static void source_call(const struct call_record *call, void *data)
{
	const struct capture *c = data;

	own_cpu_record(c->own_cpu, call->slot, OWN_CPU_CALL);
	pipeline_call(c->pipeline, call);
}

static void source_file(const struct file_record *file, void *data)
{
	const struct capture *c = data;

	own_cpu_record(c->own_cpu, 0, OWN_CPU_OTHER);
	pipeline_file(c->pipeline, file);
}

static void source_stack(const struct stack_record *record, size_t n_bytes, void *data)
{
	const struct capture *c = data;

	(void)n_bytes; /* its decoder has checked it */
	own_cpu_stack_begin(c->own_cpu);
	if (c->stacks)
		stacks_take(c->stacks, record);
	own_cpu_stack_end(c->own_cpu, record->header.slot, OWN_CPU_CALL);
}

static void source_code(const struct code_record *record, size_t n_bytes, void *data)
{
	const struct capture *c = data;

	(void)n_bytes;
	own_cpu_stack_begin(c->own_cpu);
	if (c->stacks)
		stacks_take_code(c->stacks, record);
	own_cpu_stack_end(c->own_cpu, 0, OWN_CPU_OTHER);
}

static void source_mappings(const struct mappings_record *record, void *data)
{
	const struct capture *c = data;

	own_cpu_stack_begin(c->own_cpu);
	if (c->stacks)
		stacks_take_mappings(c->stacks, record);
	own_cpu_stack_end(c->own_cpu, 0, OWN_CPU_OTHER);
}

static void source_wait(const struct wait_record *wait, void *data)
{
	const struct capture *c = data;

	own_cpu_record(c->own_cpu, 0, OWN_CPU_OTHER);
	pipeline_wait(c->pipeline, wait);
}

/* The record of a stack is on its ring before that of the call or wait: if it was not read yet, it is now. */
static struct stack *record_stack(const struct record_header *of, uint64_t id, void *data)
{
	const struct capture *c = data;
	struct stack *stack;

	if (!c->stacks)
		return NULL;
	stack = stacks_find(c->stacks, of, id);
	if (!stack) {
		c->source->ops->drain_stacks(c->source);
		stack = stacks_find(c->stacks, of, id);
	}
	if (!stack)
		probe_set_share_lose(c->probes, of->slot, LOSS_STACKS);
	return stack;
}

static void stack_ready(struct stack *stack, void *data)
{
	const struct capture *c = data;

	pipeline_stack(c->pipeline, stack);
}

static void source_drained(void *data)
{
	const struct capture *c = data;

	own_cpu_turn_end(c->own_cpu);
	pipeline_drained(c->pipeline);
}

/* A demo has no watchers to notify: when its process ends, so does every Trace call. */
static void demo_life(struct capture *c, const struct life_record *life)
{
	if (life->type != RECORD_EXIT)
		return;
	pipeline_finish(c->pipeline);
	c->events.ended(c->data);
}

static void host_tell(struct capture *c, const struct life_record *told)
{
	struct life_record whole = *told, *life = &whole;
	struct host_event host;
	bool is_unknown = life->flags & LIFE_UNKNOWN;

	if (is_unknown && life_complete(life, c->source->ops->slots(c->source)) < 0) {
		probe_set_loss_add(c->probes, LOSS_LIFE_FULL, 1);
		return;
	}
	if (is_unknown && !lease_set_covers(c->leases, life->tgid, life->uid))
		return;
	if (host_life(c->host, life, clock_boot_to_unix_ns(life->start_boot_ns), &host))
		pipeline_host(c->pipeline, &host, life);
}

static void source_life(const struct life_record *life, void *data)
{
	struct capture *c = data;

	if (!c->probes) {
		demo_life(c, life);
		return;
	}

	own_cpu_record(c->own_cpu, 0, OWN_CPU_OTHER);
	probe_set_life_taken(c->probes, life);
	host_tell(c, life);
	switch ((enum record_type)life->type) {
	case RECORD_FORK:
		if (life->flags & LIFE_NAMED)
			lease_set_fork(c->leases, life->tgid, life->fork.child);
		return;
	case RECORD_EXIT:
		stacks_exit(c->stacks, life->tgid);
		lease_set_exit(c->leases, life->tgid, life->start_boot_ns);
		c->events.exited(c->data);
		target_set_forget(c->targets, life->tgid);
		return;
	case RECORD_EXEC: /* it may have a loader not seen before */
		stacks_exec(c->stacks, life->tgid, life->exec_gen);
		target_set_exec(c->targets, life->tgid, life->time_ns);
		return;
	case RECORD_LIBRARY:
		stacks_look(c->stacks, life->tgid, life->exec_gen, life->uid);
		hold_library(&c->hold, life);
		return;
	default: /* only reported */
		return;
	}
}

/* A demo is watched as long as it plays. */
static bool capture_is_watched(const struct capture *c)
{
	return !c->leases || lease_set_count(c->leases) > 0;
}

/* Records of ends may have been lost: see who is gone, for so long that most parents have waited for their children. */
#define ENDS_LOOK_NS (60 * NSEC_PER_SEC)

static void lost_ends_look(struct capture *c)
{
	uint64_t now_ns = clock_now_ns();

	if (discover_second(&c->discover))
		c->ends_look_until_ns = now_ns + ENDS_LOOK_NS;
	if (now_ns >= c->ends_look_until_ns)
		return;
	host_look(c->host);
	if (lease_set_look(c->leases))
		c->events.exited(c->data);
}

static void source_second(void *data)
{
	struct capture *c = data;

	pipeline_tick(c->pipeline, capture_is_watched(c));
	if (c->host && !capture_is_watched(c))
		host_clear(c->host);
	c->events.second(capture_is_watched(c), c->data);
	lost_ends_look(c);
	own_cpu_second(c->own_cpu);
}

static const struct source_sinks source_sinks = {
	.ring = { .on_call = source_call,
		  .on_file = source_file,
		  .on_wait = source_wait,
		  .on_life = source_life,
		  .on_stack = source_stack,
		  .on_code = source_code,
		  .on_mappings = source_mappings,
		  .on_drained = source_drained },
	.on_second = source_second,
};

/* ---- starting ---- */

static void finding_told(const struct finding *finding, enum engine_change change, void *data)
{
	const struct capture *c = data;

	(void)change;
	pipeline_finding(c->pipeline, finding);
}

static void sinks_add(struct pipeline_options *options, size_t *n, const struct sink sinks[CAPTURE_SINKS_MAX])
{
	for (size_t i = 0; i < CAPTURE_SINKS_MAX; i++)
		if (sinks[i].ops)
			options->sinks[(*n)++] = sinks[i];
}

_Static_assert(2 * CAPTURE_SINKS_MAX + 1 <= PIPELINE_SINKS_MAX, "room for all of them");

/* Start of the main thread, as it is now. */
static int affinity_now(uint32_t pid, cpu_set_t *ret_cpus)
{
	return sched_getaffinity((pid_t)pid, sizeof(*ret_cpus), ret_cpus) ? -errno : 0;
}

static int parent_now(uint32_t pid, uint32_t *ret_parent)
{
	CLEANUP(closep) int fd = procfs_find(pid);
	struct procfs_stat stat;
	int r = fd < 0 ? fd : procfs_stat_read(fd, &stat);

	if (r == 0)
		*ret_parent = stat.ppid;
	return r;
}

static int priority_now(uint32_t tid, struct advice_priority *ret_priority)
{
	int policy = sched_getscheduler((pid_t)tid), nice;

	if (policy < 0)
		return -errno;
	errno = 0;
	nice = getpriority(PRIO_PROCESS, tid);
	if (errno)
		return -errno;
	*ret_priority = (struct advice_priority){ .is_known = true, .policy = policy & ~POLICY_FLAGS, .nice = nice };
	return 0;
}

static int quota_now(uint32_t pid, struct advice_quota *ret_quota)
{
	CLEANUP(closep) int fd = procfs_find(pid);
	struct cgroup_cpu group;
	int r = fd < 0 ? fd : cgroup_cpu_read(fd, &group);

	if (r < 0)
		return r;
	ret_quota->is_v1 = group.is_v1;
	if (strlen(group.path) < sizeof(ret_quota->path))
		memcpy(ret_quota->path, group.path, strlen(group.path) + 1);
	return 0;
}

static void behind_ask(uint32_t tgid, struct behind_value *value, void *data)
{
	const struct capture *c = data;

	if (c->events.behind)
		c->events.behind(tgid, value, c->data);
}

/* Without memory it is everybody's loss. */
static bool late_note(const struct target_late *late, void *data)
{
	struct tick *tick = data;
	const struct tick_late row = { .from_ns = late->from_ns,
				       .to_ns = late->to_ns,
				       .uid = owner_uid(&late->owner.of),
				       .is_guarded = late->owner.of.is_guarded };

	if (late->owner.is_known)
		(void)ARRAY_PUSH(&tick->lates, row);
	return false;
}

static void lates_note(struct tick *tick, uint64_t from, void *data)
{
	const struct capture *c = data;

	if (c->targets)
		(void)target_set_lates(c->targets, from, late_note, tick);
}

/* In this order everything that comes goes down: who watches, who judges, what keeps. */
static int pipeline_start(struct capture *c, const struct capture_wish *wish)
{
	struct pipeline_options options = { .source = c->source,
					    .on_behind = behind_ask,
					    .on_lates = lates_note,
					    .on_stack = record_stack,
					    .data = c };
	size_t n = 0;
	int r = process_table_new(&c->processes);

	if (r == 0)
		r = engine_new(c->processes, finding_told, c, &c->engine);
	if (r < 0)
		return r;
	c->facts.n_cpus = (uint32_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 0);
	c->facts.affinity = c->probes ? affinity_now : NULL; /* processes of a demo do not exist */
	c->facts.parent = c->probes ? parent_now : NULL;
	c->facts.priority = c->probes ? priority_now : NULL;
	c->facts.quota = c->probes ? quota_now : NULL;
	engine_set_facts(c->engine, &c->facts);
	options.processes = c->processes;
	sinks_add(&options, &n, wish->before);
	options.sinks[n++] = engine_sink(c->engine);
	sinks_add(&options, &n, wish->behind);
	r = pipeline_new(&options, &c->pipeline);
	if (r < 0)
		return r;
	c->figures = pipeline_figures(c->pipeline);
	c->source_started_ns = c->source->ops->now_ns(c->source);
	return 0;
}

static bool held_process_ask(uint32_t tgid, void *data)
{
	const struct capture *c = data;

	return c->events.ask(tgid, c->data);
}

static void held_drain(void *data)
{
	const struct capture *c = data;

	if (c->source)
		c->source->ops->drain(c->source);
}

static const struct hold_events hold_events = { .ask = held_process_ask, .drain = held_drain };

static void library_told(const struct target_library *library, void *data)
{
	const struct capture *c = data;

	c->events.library(library, c->data);
}

int capture_load(struct capture *c, const struct probe_set_options *options)
{
	int r = probe_set_open(options, c->probes_reason, sizeof(c->probes_reason), &c->probes);
	struct subordinate ids;

	if (r < 0) {
		c->probes = NULL;
		return r;
	}
	ids = subordinate_read();
	probe_set_subordinate(c->probes, ids.first, ids.n);
	return r;
}

/* Without one, everything is traced, whatever it costs. */
static int budget_start(struct capture *c, double share)
{
	int r = share > 0 ? budget_open(c->loop, c->probes, c->targets, share, &c->budget) : 0;

	if (r != -EOPNOTSUPP)
		return r;
	(void)log_warning(r, "the budget is not kept: it needs session or multi probes, and a kernel that reports "
			     "task switches");
	return 0;
}

int capture_start(struct capture *c, const struct capture_wish *wish)
{
	int r = lease_set_new(c->probes, &c->leases);

	if (r == 0)
		r = child_open(c->loop, "parser", &c->parser);
	if (r == 0)
		r = target_set_open(c->loop, c->parser, c->probes, library_told, c, &c->targets);
	if (r == 0 && wish->libraries)
		r = target_set_remember(c->targets, wish->libraries);
	if (r == 0)
		hold_open(&c->hold, c->loop, c->targets, &hold_events, c);
	if (r == 0)
		r = graces_open(&c->graces, c->loop);
	if (r == 0)
		r = discover_open(&c->discover, c->probes, c->targets, c->leases);
	if (r == 0)
		r = kernel_open(c->loop, c->probes, wish->ring_bytes, &source_sinks, c, &c->source);
	if (r == 0)
		r = pipeline_start(c, wish);
	if (r == 0)
		r = stacks_open(c->loop, c->probes, &c->loop_times, &(struct stacks_events){ stack_ready, c },
				&c->stacks);
	if (r == 0)
		r = host_new(c->processes, &c->host);
	if (r == 0)
		r = budget_start(c, wish->budget);
	if (r == 0 && wish->own_cpu > 0)
		r = own_cpu_open(c->probes, wish->own_cpu, &wish->stored, &c->own_cpu);
	if (r < 0)
		return r;

	r = target_set_scan_loader(c->targets, NULL, NULL);
	if (r < 0)
		(void)log_warning(r, "cannot watch the dynamic loader; libraries loaded later are found late");
	return 0;
}

int capture_demo_open(struct capture *c, const char *demo, double speed)
{
	return demo_open(c->loop, demo, speed, DEMO_SEED, &source_sinks, c, &c->source);
}

int capture_demo_start(struct capture *c, const struct capture_wish *wish)
{
	return pipeline_start(c, wish);
}

/* ---- while capturing ---- */

bool capture_uses_perf(const struct capture *c)
{
	return c->probes && probe_set_back_end(c->probes) == PROBE_BACK_END_PERF;
}

const char *capture_back_end(const struct capture *c)
{
	return c->probes ? probe_back_end_to_string(probe_set_back_end(c->probes)) : "none";
}

uint64_t capture_now_ns(void *capture)
{
	const struct capture *c = capture;

	return c->source->ops->now_ns(c->source);
}

void capture_collect(struct capture *c)
{
	if (c->pipeline)
		pipeline_collect(c->pipeline);
}

bool capture_settle(struct capture *c)
{
	uint64_t now_ns = clock_now_ns();

	if (!c->pipeline)
		return false;
	if (c->targets) {
		target_set_look_gone(c->targets);
		c->source->ops->drain(c->source); /* of the libraries loaded until now */
		target_set_settle(c->targets);
	}
	if (now_ns - c->settled_ns < SETTLE_NS) {
		capture_collect(c); /* the figures of an answer are up to date in any case */
		return false;
	}
	source_second(c);
	c->settled_ns = now_ns;
	return true;
}

void capture_unsettle(struct capture *c)
{
	c->settled_ns = 0;
}

bool capture_let_go(struct capture *c, const struct lease *lease)
{
	return hold_end(&c->hold, lease);
}

/* ---- stopping ---- */

void capture_finish(struct capture *c)
{
	if (c->stacks) {
		capture_collect(c);
		stacks_finish(c->stacks);
	}
	if (c->pipeline)
		pipeline_finish(c->pipeline);
	hold_release(&c->hold);
}

void capture_close(struct capture *c)
{
	if (c->source)
		c->source->ops->close(c->source);
	c->source = NULL;
	stacks_close(c->stacks);
	c->stacks = NULL;
	budget_close(c->budget);
	c->budget = NULL;
	own_cpu_close(c->own_cpu);
	c->own_cpu = NULL;
	graces_close(&c->graces);
	discover_close(&c->discover);
	target_set_close(c->targets);
	c->targets = NULL;
	child_close(c->parser);
	c->parser = NULL;
}

void capture_done(struct capture *c)
{
	pipeline_free(c->pipeline);
	engine_free(c->engine);
	host_free(c->host);
	process_table_free(c->processes);
	lease_set_free(c->leases);
	probe_set_close(c->probes);
	hold_done(&c->hold);
	loop_times_done(&c->loop_times);
}
