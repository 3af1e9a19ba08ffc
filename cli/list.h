// SPDX-License-Identifier: Apache-2.0
/*
 * All commands, one line each: COMMAND(name) is the row command_<name> in cli/commands/<name>.c. ABSENT(name, way out)
 * is a command of Ingero that this program does not have. OTHER(name, way out) is a word for what another command does.
 *
 * No include guard: included wherever something is derived.
 */
#ifndef COMMAND
#define COMMAND(name)
#endif
#ifndef ABSENT
#define ABSENT(name, way_out)
#endif
#ifndef OTHER
#define OTHER(name, way_out)
#endif

COMMAND(trace)
COMMAND(explain)
COMMAND(blame)
COMMAND(compare)
COMMAND(stacks)
COMMAND(query)
COMMAND(export)
COMMAND(demo)
COMMAND(status)
COMMAND(config)
COMMAND(check)
COMMAND(mcp)
COMMAND(completion)
COMMAND(version)
COMMAND(help)

ABSENT(dashboard, "'ingero trace' shows the live table in a terminal")
ABSENT(merge, "'ingero export --format db' writes files that sqlite3 can attach and join")
ABSENT(annotate, "add labels to the lines of 'ingero trace --json'")
ABSENT(migrate, "databases of older versions are brought up to date when they are opened")
ABSENT(fleet_push, "outputs of 'ingero trace --json' can be sent by any program that reads lines")
ABSENT(rates, "this version knows no prices")

OTHER(account, "'ingero blame' shows where the time of each thread went")
OTHER(accounts, "'ingero blame' shows where the time of each thread went")
OTHER(stack, "'ingero stacks' shows where calls are made")
OTHER(flame, "'ingero stacks --format svg' draws a flame graph of recorded calls")
OTHER(flamegraph, "'ingero stacks --format svg' draws a flame graph of recorded calls")
OTHER(sites, "'ingero stacks' shows where calls are made")
OTHER(waits, "to list them: ingero query 'SELECT * FROM waits'")
OTHER(sql, "SQL goes to query: ingero query 'SELECT ...'")
OTHER(calls, "'ingero query' lists recorded calls")
OTHER(events, "'ingero query' lists recorded calls")
OTHER(diff, "'ingero compare A B' shows what got slower")
OTHER(top, "'ingero trace' shows the live table in a terminal")
OTHER(watch, "'ingero trace' shows the live table in a terminal")
OTHER(record, "'ingero trace' records what it traces")
OTHER(report, "'ingero explain' reports what went wrong")
OTHER(findings, "'ingero explain --chains' lists them")
OTHER(diagnose, "'ingero explain' reports what went wrong")
OTHER(doctor, "'ingero check' tells whether this machine is ready")

#undef COMMAND
#undef ABSENT
#undef OTHER
