-- SPDX-License-Identifier: Apache-2.0
-- The tables of a database, version 5 (PRAGMA user_version). Times are CLOCK_MONOTONIC
-- nanoseconds of the boot in column `boot`; table clock maps them to the wall clock.
-- Rows that belong to one user have the user's id in column `uid`: their owner.

-- Boots of the machine that recorded.
CREATE TABLE boot (
	id INTEGER PRIMARY KEY,
	boot_id TEXT NOT NULL UNIQUE -- /proc/sys/kernel/random/boot_id
);

-- Maps the monotonic clock of a boot to the wall clock: the difference unix_ns - mono_ns holds from
-- mono_ns until the next row of the boot. A recorder writes a row at its start and when the difference
-- has changed by more than 1 ms, as after a step of the wall clock or a suspend.
CREATE TABLE clock (
	boot INTEGER NOT NULL,
	mono_ns INTEGER NOT NULL,
	unix_ns INTEGER NOT NULL,
	PRIMARY KEY (boot, mono_ns)
) WITHOUT ROWID;

-- Runs of a recorder.
CREATE TABLE session (
	id INTEGER PRIMARY KEY,
	boot INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	end_ns INTEGER, -- NULL: recording, or ended unexpectedly: the next recorder then sets it to seen_ns
	version TEXT NOT NULL,
	kernel TEXT NOT NULL,
	back_end TEXT NOT NULL, -- of the probes: session, multi, perf; without probes: demo, import
	cpus INTEGER NOT NULL,
	memory_bytes INTEGER NOT NULL,
	node TEXT NOT NULL,
	seen_ns INTEGER NOT NULL, -- time of the last commit
	cost BLOB, -- message ingero.v1.Cost, for all traced processes; NULL: not known
	last_stack INTEGER NOT NULL DEFAULT 0 -- last id of table stack that was given to calls, written or not
);

CREATE TABLE process (
	id INTEGER PRIMARY KEY,
	boot INTEGER NOT NULL,
	pid INTEGER NOT NULL,
	start_boot_ns INTEGER NOT NULL, -- CLOCK_BOOTTIME; 0: not known
	start_unix_ns INTEGER NOT NULL,
	exec_gen INTEGER NOT NULL,
	uid INTEGER NOT NULL,
	flags INTEGER NOT NULL, -- PROCESS_GUARDED (bpf/record.h)
	comm TEXT NOT NULL,
	first_ns INTEGER NOT NULL,
	gone_ns INTEGER, -- end; NULL: not seen; if no recorder ran then: last commit before
	script TEXT, -- this and the following columns: struct program (procs/program.h); NULL: not known
	executable TEXT,
	container TEXT,
	cgroup_id INTEGER,
	rank INTEGER,
	local_rank INTEGER,
	world_size INTEGER
	-- A process gets a second row when it becomes guarded, or when its entry was forgotten (known.h)
	-- and it makes calls again.
);

-- Operations. Packed columns refer to `id`; an operation of ops.def has its number there as id.
CREATE TABLE op (
	id INTEGER PRIMARY KEY,
	source TEXT NOT NULL, -- cuda, driver, ...
	name TEXT NOT NULL,
	short_name TEXT NOT NULL,
	UNIQUE (source, name)
);

-- Frames of the stacks of one owner, each once.
CREATE TABLE frame (
	id INTEGER PRIMARY KEY,
	uid INTEGER NOT NULL,
	symbol TEXT NOT NULL, -- native: function with the offset in it; Python: function; '': not known
	qualname TEXT NOT NULL, -- Python: qualified name; '': not known
	file TEXT NOT NULL, -- source file; '': not known
	line INTEGER NOT NULL, -- 0: not known
	module TEXT NOT NULL, -- native: path of the library or program; '': not known
	python INTEGER NOT NULL, -- 1: file, symbol and line are Python's
	n INTEGER NOT NULL, -- how often stacks have it; without one it is deleted
	UNIQUE (uid, symbol, line, file, module, qualname, python)
);

-- Stacks of calls. A call has the id of its stack before the row is written: a stack without a row was not named in
-- time, or was lost. Ids are never used again. Rows may be alike; readers take them for one (own_stacks.c).
CREATE TABLE stack (
	id INTEGER PRIMARY KEY,
	uid INTEGER NOT NULL,
	boot INTEGER NOT NULL,
	last_ns INTEGER NOT NULL, -- end of the last call with it, or up to 5 minutes before (known_stacks.h)
	guarded INTEGER NOT NULL, -- 1: of a guarded process, which its own user may not inspect
	is_complete INTEGER NOT NULL, -- 1: up to the start of the thread
	why TEXT NOT NULL, -- why it is not complete; '' if it is
	frames BLOB NOT NULL, -- frame ids and addresses, innermost first (codec/stack_frames.h)
	crc INTEGER NOT NULL -- of frames
);
CREATE INDEX stack_time ON stack (uid, boot, last_ns);

-- Recorded events of the last minutes, not yet in blocks: one row for each commit and owner (codec.h).
CREATE TABLE tail (
	id INTEGER PRIMARY KEY,
	uid INTEGER NOT NULL,
	boot INTEGER NOT NULL,
	t0 INTEGER NOT NULL,
	t1 INTEGER NOT NULL,
	n INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	data BLOB NOT NULL
);

-- Older recorded events: headers of column blocks, each of one owner. The contents of a block are in
-- table block_data, so that a search through the headers does not read them.
CREATE TABLE block (
	id INTEGER PRIMARY KEY,
	uid INTEGER NOT NULL,
	boot INTEGER NOT NULL,
	process INTEGER NOT NULL, -- 0: several processes of the owner
	t0 INTEGER NOT NULL,
	t1 INTEGER NOT NULL,
	n INTEGER NOT NULL,
	max_ns INTEGER NOT NULL,
	slow INTEGER NOT NULL,
	ops BLOB NOT NULL, -- bitmap of its operations (struct block_head)
	processes BLOB NOT NULL, -- ids of its processes, u32 LE each, ascending; empty: more than 64
	format INTEGER NOT NULL,
	crc INTEGER NOT NULL
);
CREATE INDEX block_time ON block (uid, boot, t1);
CREATE TABLE block_data (
	id INTEGER PRIMARY KEY,
	data BLOB NOT NULL,
	data_crc INTEGER -- equal to block.crc: verifies the contents when a lost header is rebuilt from them
);

-- Packed rows with a wrong checksum, moved here so that no reader finds them. Each has a row in table gap.
CREATE TABLE damaged (
	id INTEGER PRIMARY KEY,
	was TEXT NOT NULL, -- its former table: tail, block, figures
	uid INTEGER NOT NULL,
	boot INTEGER NOT NULL,
	t0 INTEGER NOT NULL,
	t1 INTEGER NOT NULL,
	n INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	data BLOB
);

-- Figures of all processes and operations of one owner between two readings. level: nominal length of
-- the interval, seconds (1, 10, 60, 3600). t0, t1: times of the two readings, those nearest to wall-clock
-- multiples of level. Rows of level 1 are the parts of a 10 s interval: one for each commit of the last
-- two minutes.
CREATE TABLE figures (
	id INTEGER PRIMARY KEY,
	level INTEGER NOT NULL,
	uid INTEGER NOT NULL,
	boot INTEGER NOT NULL,
	t0 INTEGER NOT NULL,
	t1 INTEGER NOT NULL,
	n INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	data BLOB NOT NULL
);
-- Has every column by which rows are chosen: a search in the table would pass the contents of each row.
CREATE INDEX figures_time ON figures (level, uid, boot, t0, t1, crc);

CREATE TABLE finding (
	id TEXT PRIMARY KEY, -- 16 hexadecimal digits
	uid INTEGER NOT NULL,
	boot INTEGER NOT NULL,
	process INTEGER NOT NULL,
	kind TEXT NOT NULL,
	severity INTEGER NOT NULL, -- enum finding_severity
	start_ns INTEGER NOT NULL,
	end_ns INTEGER, -- NULL: not ended
	crc INTEGER NOT NULL,
	data BLOB NOT NULL -- message ingero.v1.Finding
) WITHOUT ROWID;
CREATE INDEX finding_time ON finding (uid, boot, start_ns);

-- Intervals with missing data, and the reason. Field subscriber_slow of message Lost is never a reason:
-- the file has those calls; only a subscriber of the live stream missed them.
CREATE TABLE gap (
	id INTEGER PRIMARY KEY,
	boot INTEGER NOT NULL,
	t0 INTEGER NOT NULL,
	t1 INTEGER NOT NULL,
	reason TEXT NOT NULL, -- a field of message Lost, or a row GAP of bpf/losses.def
	count INTEGER NOT NULL, -- amount that was lost, in the unit of the reason; 0: not known
	uid INTEGER -- NULL: not assigned to a user
);

-- Samples of the machine's CPU, memory, swap and pressure (struct system_sample).
CREATE TABLE snapshot (
	boot INTEGER NOT NULL,
	t INTEGER NOT NULL,
	cpu_ratio REAL NOT NULL,
	load_1min REAL NOT NULL,
	memory_bytes INTEGER NOT NULL,
	available_bytes INTEGER NOT NULL,
	swap_used_bytes INTEGER NOT NULL,
	major_faults INTEGER NOT NULL,
	pressure_cpu REAL, -- NULL: the kernel does not report pressure
	pressure_memory REAL,
	pressure_io REAL,
	PRIMARY KEY (boot, t)
) WITHOUT ROWID;
