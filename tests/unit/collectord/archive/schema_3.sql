-- SPDX-License-Identifier: Apache-2.0
-- A database as version 3 left it: its tables, and a row of some. Never changed.
-- Times are CLOCK_MONOTONIC
-- nanoseconds of the boot in column `boot`; table clock maps them to the wall clock.
-- Every row that belongs to somebody carries its owner in `uid`.

-- Each boot of the machine that recorded.
CREATE TABLE boot (
	id INTEGER PRIMARY KEY,
	boot_id TEXT NOT NULL UNIQUE -- /proc/sys/kernel/random/boot_id
);

-- unix_ns minus mono_ns from mono_ns on, until the next row of that boot: one at each start, each
-- step of the wall clock and each end of a suspend.
CREATE TABLE clock (
	boot INTEGER NOT NULL,
	mono_ns INTEGER NOT NULL,
	unix_ns INTEGER NOT NULL,
	PRIMARY KEY (boot, mono_ns)
) WITHOUT ROWID;

-- Each run of a recorder.
CREATE TABLE session (
	id INTEGER PRIMARY KEY,
	boot INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	end_ns INTEGER, -- NULL: recording, or ended without saying so
	version TEXT NOT NULL,
	kernel TEXT NOT NULL,
	back_end TEXT NOT NULL, -- session, multi, perf, demo, import
	cpus INTEGER NOT NULL,
	memory_bytes INTEGER NOT NULL,
	node TEXT NOT NULL,
	seen_ns INTEGER NOT NULL, -- last commit: how far an ended run is known to reach
	cost BLOB -- message ingero.v1.Cost, of all who were traced; NULL: not known
);

CREATE TABLE process (
	id INTEGER PRIMARY KEY,
	boot INTEGER NOT NULL,
	pid INTEGER NOT NULL,
	start_boot_ns INTEGER NOT NULL, -- CLOCK_BOOTTIME; 0: not known
	start_unix_ns INTEGER NOT NULL,
	exec_gen INTEGER NOT NULL,
	uid INTEGER NOT NULL,
	flags INTEGER NOT NULL, -- PROCESS_MIXED_IDS
	comm TEXT NOT NULL,
	first_ns INTEGER NOT NULL,
	gone_ns INTEGER, -- NULL: not seen to end; of one that ended while nobody recorded: when somebody last did
	script TEXT, -- from here on of struct program (procs/program.h), NULL: not known
	executable TEXT,
	container TEXT,
	cgroup_id INTEGER,
	rank INTEGER,
	local_rank INTEGER,
	world_size INTEGER
	-- an incarnation that was forgotten as long gone, and calls again, has a second row
);

-- Operations by the numbers used in packed columns; those of ops.def keep theirs.
CREATE TABLE op (
	id INTEGER PRIMARY KEY,
	source TEXT NOT NULL, -- cuda, driver, ...
	name TEXT NOT NULL,
	short_name TEXT NOT NULL,
	UNIQUE (source, name)
);

CREATE TABLE frame (
	id INTEGER PRIMARY KEY,
	symbol TEXT NOT NULL,
	file TEXT NOT NULL,
	line INTEGER NOT NULL, -- 0: none
	python INTEGER NOT NULL, -- 1: file, symbol and line are Python's
	UNIQUE (symbol, file, line, python)
);

CREATE TABLE stack (
	id INTEGER PRIMARY KEY,
	uid INTEGER NOT NULL,
	frames BLOB NOT NULL, -- varints: frame ids, innermost first
	is_complete INTEGER NOT NULL,
	UNIQUE (uid, frames)
);

-- The last minutes: one row per commit and owner (codec.h).
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

-- Everything before that: column blocks of one owner each; contents apart, so that looking
-- through headers does not read them.
CREATE TABLE block (
	id INTEGER PRIMARY KEY,
	uid INTEGER NOT NULL,
	boot INTEGER NOT NULL,
	process INTEGER NOT NULL, -- 0: several of this owner
	t0 INTEGER NOT NULL,
	t1 INTEGER NOT NULL,
	n INTEGER NOT NULL,
	max_ns INTEGER NOT NULL,
	slow INTEGER NOT NULL,
	ops BLOB NOT NULL, -- bitmap
	processes BLOB NOT NULL, -- u32 LE each, ascending; empty when more than 64
	format INTEGER NOT NULL,
	crc INTEGER NOT NULL
);
CREATE INDEX block_time ON block (uid, boot, t1);
CREATE TABLE block_data (
	id INTEGER PRIMARY KEY,
	data BLOB NOT NULL,
	data_crc INTEGER -- crc of block: a header that is lost is made again from contents that are whole
);

-- Packed rows whose checksum is wrong, out of the way of who reads; a gap row tells of each.
CREATE TABLE damaged (
	id INTEGER PRIMARY KEY,
	was TEXT NOT NULL, -- tail, block, figures
	uid INTEGER NOT NULL,
	boot INTEGER NOT NULL,
	t0 INTEGER NOT NULL,
	t1 INTEGER NOT NULL,
	n INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	data BLOB
);

-- Figures of every process and operation of one owner between two readings. level: length that
-- was aimed at, seconds (1, 10, 60, 3600); t0, t1: the readings themselves, at wall-clock multiples
-- of it as near as they were. Rows of level 1 are the parts of 10 s that are not over: one per commit.
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
-- All that is looked at to choose rows: their contents lie between them in the table.
CREATE INDEX figures_time ON figures (level, uid, boot, t0, t1, crc);

CREATE TABLE finding (
	id TEXT PRIMARY KEY, -- 16 hexadecimal digits
	uid INTEGER NOT NULL,
	boot INTEGER NOT NULL,
	process INTEGER NOT NULL,
	kind TEXT NOT NULL,
	severity INTEGER NOT NULL, -- enum finding_severity
	start_ns INTEGER NOT NULL,
	end_ns INTEGER, -- NULL: goes on
	crc INTEGER NOT NULL,
	data BLOB NOT NULL -- message ingero.v1.Finding
) WITHOUT ROWID;
CREATE INDEX finding_time ON finding (uid, boot, start_ns);

-- Times of which something is missing, and why. subscriber_slow of message Lost is never here: those
-- calls are in the file, it was one reader of the live stream who did not get them.
CREATE TABLE gap (
	id INTEGER PRIMARY KEY,
	boot INTEGER NOT NULL,
	t0 INTEGER NOT NULL,
	t1 INTEGER NOT NULL,
	reason TEXT NOT NULL, -- a field of message Lost, or store_queue, disk_full, damaged, retention, set_aside, recorder_ended, not_kept
	count INTEGER NOT NULL, -- what was lost, in the reason's unit; 0: not known
	uid INTEGER -- NULL: concerns everybody
);

CREATE TABLE snapshot (
	boot INTEGER NOT NULL,
	t INTEGER NOT NULL,
	cpu_ratio REAL NOT NULL,
	load_1min REAL NOT NULL,
	memory_bytes INTEGER NOT NULL,
	available_bytes INTEGER NOT NULL,
	swap_used_bytes INTEGER NOT NULL,
	major_faults INTEGER NOT NULL,
	pressure_cpu REAL, -- NULL: the kernel does not tell
	pressure_memory REAL,
	pressure_io REAL,
	PRIMARY KEY (boot, t)
) WITHOUT ROWID;
INSERT INTO boot VALUES (1, '11111111-2222-3333-4444-555555555555');
INSERT INTO clock VALUES (1, 1000, 1700000000000000000);
INSERT INTO session VALUES (1, 1, 1000, 2000, '0.1.0', '6.1', 'session', 2, 1000, 'before', 2000, NULL);
INSERT INTO figures VALUES (1, 3600, 1000, 1, 1000, 2000, 1, 0, x'0102');
PRAGMA application_id = 0x496e6772;
PRAGMA user_version = 3;
