// SPDX-License-Identifier: Apache-2.0
/*
 * The tables of an exported file, as Ingero's tools expect them.
 */
#include "archive/export/schema.h"

const char export_schema[] =
	"PRAGMA user_version = 10;"
	"CREATE TABLE events (id TEXT PRIMARY KEY, timestamp INTEGER NOT NULL DEFAULT 0, pid INTEGER NOT NULL DEFAULT "
	"0,"
	" tid INTEGER NOT NULL DEFAULT 0, source INTEGER NOT NULL DEFAULT 0, op INTEGER NOT NULL DEFAULT 0,"
	" duration INTEGER NOT NULL DEFAULT 0, gpu_id INTEGER NOT NULL DEFAULT 0, arg0 INTEGER NOT NULL DEFAULT 0,"
	" arg1 INTEGER NOT NULL DEFAULT 0, ret_code INTEGER NOT NULL DEFAULT 0, stack_hash INTEGER NOT NULL DEFAULT 0,"
	" cgroup_id INTEGER NOT NULL DEFAULT 0, node TEXT NOT NULL DEFAULT '', rank INTEGER, local_rank INTEGER,"
	" world_size INTEGER, comm TEXT NOT NULL DEFAULT '');"
	"CREATE TABLE stack_traces (hash INTEGER PRIMARY KEY, ips TEXT NOT NULL DEFAULT '', frames TEXT NOT NULL "
	"DEFAULT '');"
	"CREATE TABLE causal_chains (id TEXT PRIMARY KEY, detected_at INTEGER NOT NULL, severity TEXT NOT NULL,"
	" summary TEXT NOT NULL, root_cause TEXT NOT NULL, explanation TEXT NOT NULL,"
	" recommendations TEXT NOT NULL DEFAULT '', cuda_op TEXT NOT NULL DEFAULT '',"
	" cuda_p99_us INTEGER NOT NULL DEFAULT 0, cuda_p50_us INTEGER NOT NULL DEFAULT 0,"
	" tail_ratio REAL NOT NULL DEFAULT 0, timeline TEXT NOT NULL DEFAULT '', node TEXT NOT NULL DEFAULT '');"
	"CREATE TABLE system_snapshots (id INTEGER PRIMARY KEY, timestamp INTEGER NOT NULL UNIQUE, cpu_pct REAL NOT "
	"NULL,"
	" mem_pct REAL NOT NULL, mem_avail INTEGER NOT NULL, swap_mb INTEGER NOT NULL, load_avg REAL NOT NULL);"
	"CREATE TABLE sessions (id INTEGER PRIMARY KEY, started_at INTEGER NOT NULL, stopped_at INTEGER NOT NULL "
	"DEFAULT 0,"
	" gpu_model TEXT NOT NULL DEFAULT '', gpu_driver TEXT NOT NULL DEFAULT '', cpu_model TEXT NOT NULL DEFAULT '',"
	" cpu_cores INTEGER NOT NULL DEFAULT 0, mem_total INTEGER NOT NULL DEFAULT 0, kernel TEXT NOT NULL DEFAULT '',"
	" os_release TEXT NOT NULL DEFAULT '', cuda_ver TEXT NOT NULL DEFAULT '', python_ver TEXT NOT NULL DEFAULT '',"
	" ingero_ver TEXT NOT NULL DEFAULT '', pid_filter TEXT NOT NULL DEFAULT '', flags TEXT NOT NULL DEFAULT '',"
	" node TEXT NOT NULL DEFAULT '', rank INTEGER, local_rank INTEGER, world_size INTEGER);"
	"CREATE TABLE process_names (pid INTEGER PRIMARY KEY, name TEXT NOT NULL, seen_at INTEGER NOT NULL DEFAULT 0);"
	"CREATE TABLE event_aggregates (bucket INTEGER NOT NULL, source INTEGER NOT NULL, op INTEGER NOT NULL,"
	" pid INTEGER NOT NULL DEFAULT 0, count INTEGER NOT NULL DEFAULT 0, stored INTEGER NOT NULL DEFAULT 0,"
	" sum_dur INTEGER NOT NULL DEFAULT 0, min_dur INTEGER NOT NULL DEFAULT 0, max_dur INTEGER NOT NULL DEFAULT 0,"
	" sum_arg0 INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (bucket, source, op, pid));"
	"CREATE TABLE event_aggregates_5s (bucket INTEGER NOT NULL, source INTEGER NOT NULL, op INTEGER NOT NULL,"
	" pid INTEGER NOT NULL DEFAULT 0, count INTEGER NOT NULL DEFAULT 0, stored INTEGER NOT NULL DEFAULT 0,"
	" sum_dur INTEGER NOT NULL DEFAULT 0, min_dur INTEGER NOT NULL DEFAULT 0, max_dur INTEGER NOT NULL DEFAULT 0,"
	" sum_arg0 INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (bucket, source, op, pid));"
	"CREATE TABLE cgroup_metadata (cgroup_id INTEGER PRIMARY KEY, container_id TEXT NOT NULL DEFAULT '',"
	" cgroup_path TEXT NOT NULL DEFAULT '', pod_name TEXT NOT NULL DEFAULT '', namespace TEXT NOT NULL DEFAULT '');"
	"CREATE TABLE cgroup_schedstat (cgroup_id INTEGER NOT NULL, p99_off_cpu INTEGER NOT NULL,"
	" total_off_cpu INTEGER NOT NULL, event_count INTEGER NOT NULL, window_start INTEGER NOT NULL DEFAULT 0,"
	" window_end INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (cgroup_id, window_end));"
	"CREATE TABLE annotations (id INTEGER PRIMARY KEY, timestamp INTEGER NOT NULL, labels TEXT NOT NULL DEFAULT '',"
	" pid INTEGER NOT NULL DEFAULT 0, start_time INTEGER NOT NULL DEFAULT 0, span_start INTEGER NOT NULL DEFAULT 0,"
	" span_end INTEGER NOT NULL DEFAULT 0, peer_uid INTEGER NOT NULL DEFAULT 0, peer_gid INTEGER NOT NULL DEFAULT "
	"0,"
	" peer_pid INTEGER NOT NULL DEFAULT 0);"
	"CREATE TABLE sources (id INTEGER PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL);"
	"CREATE TABLE ops (source_id INTEGER NOT NULL, op_id INTEGER NOT NULL, name TEXT NOT NULL,"
	" description TEXT NOT NULL, PRIMARY KEY (source_id, op_id));"
	"CREATE TABLE schema_info (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
	"INSERT INTO schema_info VALUES"
	" ('version', '0.10'),"
	" ('timestamp_unit', 'nanoseconds since 1970 (UTC); of a call: its entry'),"
	" ('duration_unit', 'nanoseconds; the tracer''s own share is taken out'),"
	" ('arg0_note', 'by operation: bytes of allocations and copies, device pointer of frees, function of launches, "
	"stream of waits'),"
	" ('arg1_note', 'by operation: device pointer of a successful allocation, kind of cudaMemcpyAsync, stream of "
	"copies with a direction; else 0'),"
	" ('ret_code_note', 'what the call returned: 0 is success'),"
	" ('stack_traces_note', 'events.stack_hash = stack_traces.hash, 0: none was taken; frames is a JSON array, "
	"innermost first'),"
	" ('example_query', 'SELECT e.id, s.name AS source, o.name AS op, e.duration / 1000 AS dur_us, e.pid FROM "
	"events e JOIN sources s ON e.source = s.id JOIN ops o ON e.source = o.source_id AND e.op = o.op_id ORDER BY "
	"e.timestamp DESC LIMIT 20'),"
	" ('system_snapshots_note', 'the machine about once a second; memory in MiB'),"
	" ('sessions_note', 'one row per run of a recorder; columns that it does not know are empty'),"
	" ('process_names_note', 'by process id alone: of several processes that had one, the last'),"
	" ('event_aggregates_note', 'count, sum_dur and max_dur are exact and of all calls, stored is how many are in "
	"events; min_dur is the lower edge of a histogram bucket, at most 1/16 below the shortest call; a bucket that "
	"was kept for more than a minute is that minute in which it begins'),"
	" ('cgroup_metadata_note', 'not recorded: empty'),"
	" ('node_note', 'events.id is NODE:NUMBER, numbers begin at 1 in each file'),"
	" ('comm_note', 'the process''s name');";

const char export_nodes[] =
	"DROP TABLE event_aggregates;"
	"CREATE TABLE event_aggregates (bucket INTEGER NOT NULL, source INTEGER NOT NULL, op INTEGER NOT NULL,"
	" pid INTEGER NOT NULL DEFAULT 0, count INTEGER NOT NULL DEFAULT 0, stored INTEGER NOT NULL DEFAULT 0,"
	" sum_dur INTEGER NOT NULL DEFAULT 0, min_dur INTEGER NOT NULL DEFAULT 0, max_dur INTEGER NOT NULL DEFAULT 0,"
	" sum_arg0 INTEGER NOT NULL DEFAULT 0, node TEXT NOT NULL DEFAULT '',"
	" PRIMARY KEY (bucket, source, op, pid, node));";

/*
 * Figures are read a little after the full minute: calls that were kept in this one were counted in the one
 * before. Calls that end in the next minute are kept in this one and counted there. The sum over all minutes stays
 * what was counted.
 */
#define TAKE_FROM(minute, is_same_node)                                                                                \
	"CREATE TABLE taken AS SELECT a.rowid AS giver, b.rowid AS taker,"                                             \
	" min(a.count - a.stored, b.stored - b.count) AS n"                                                            \
	" FROM event_aggregates AS a JOIN event_aggregates AS b ON a.bucket = b.bucket " minute                        \
	" AND b.source = a.source AND b.op = a.op AND b.pid = a.pid" is_same_node                                      \
	" WHERE a.count > a.stored AND b.stored > b.count;"                                                            \
	"UPDATE event_aggregates SET count = count - n FROM taken WHERE event_aggregates.rowid = giver;"               \
	"UPDATE event_aggregates SET count = count + n FROM taken WHERE event_aggregates.rowid = taker;"               \
	"DROP TABLE taken;"

#define STORED(node)                                                                                                   \
	"INSERT INTO event_aggregates SELECT timestamp - timestamp % 60000000000 AS b, source, op, pid, 0, count(*),"  \
	" 0, min(duration), max(duration), 0" node " FROM events WHERE true GROUP BY b, source, op, pid" node          \
	" ON CONFLICT DO UPDATE SET stored = excluded.stored;"

#define BALANCED(is_same_node)                                                                                         \
	TAKE_FROM("- 60000000000", is_same_node)                                                                       \
	TAKE_FROM("+ 60000000000", is_same_node)

#define RAISED "UPDATE event_aggregates SET count = stored WHERE count < stored;"

const char export_stored[] = STORED("") BALANCED("") RAISED;
const char export_stored_nodes[] = STORED(", node") BALANCED(" AND b.node = a.node") RAISED;

const char export_finish[] =
	"CREATE INDEX idx_events_timestamp ON events(timestamp);"
	"CREATE INDEX idx_events_pid ON events(pid);"
	"CREATE INDEX idx_events_source_op_stack ON events(source, op, stack_hash);"
	"CREATE INDEX idx_events_cgroup ON events(cgroup_id) WHERE cgroup_id != 0;"
	"CREATE INDEX idx_chains_detected_at ON causal_chains(detected_at);"
	"CREATE INDEX idx_chains_severity ON causal_chains(severity);"
	"CREATE INDEX idx_sessions_started ON sessions(started_at);"
	"CREATE INDEX idx_aggregates_bucket ON event_aggregates(bucket);"
	"CREATE INDEX idx_aggregates_5s_bucket ON event_aggregates_5s(bucket);"
	"CREATE INDEX idx_cgroup_metadata_container_id ON cgroup_metadata(container_id) WHERE container_id != '';"
	"CREATE INDEX idx_cgroup_schedstat_cgroup ON cgroup_schedstat(cgroup_id);"
	"CREATE INDEX idx_annotations_timestamp ON annotations(timestamp);"
	"CREATE INDEX idx_annotations_pid ON annotations(pid) WHERE pid != 0;";
