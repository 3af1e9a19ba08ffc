// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bpf/unwind_find.h"
#include "children/child_role.h"
#include "children/elf_unwind.h"
#include "probes/probe_stacks.h"
#include "tests/support/check.h"

_Noreturn static void rules_die(const char *what, int r)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-r));
	exit(1);
}

static void page_put(struct rules *rules, struct rig *rig, uint32_t page, const uint32_t *rows, uint32_t n,
		     const uint32_t *sides)
{
	uint32_t own[UNWIND_PAGE_ROWS_MAX];
	int r;

	if (!n) {
		probe_stacks_page_put(rig->set, page, UNWIND_PAGE_BARE);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t rule = UNWIND_ROW_RULE(rows[i]);

		if (UNWIND_RULE_SLOT(rule) == UNWIND_SLOT_ESCAPE && UNWIND_ESCAPE_KIND(rule) == UNWIND_SIDE)
			rule = UNWIND_ESCAPE(UNWIND_SIDE, sides[UNWIND_ESCAPE_VALUE(rule)]);
		own[i] = UNWIND_ROW(UNWIND_ROW_OFFSET(rows[i]), rule);
	}
	if (rules->n_rows % UNWIND_BLOCK + n > UNWIND_BLOCK)
		rules->n_rows = (rules->n_rows / UNWIND_BLOCK + 1) * UNWIND_BLOCK;
	r = probe_stacks_rows_put(rig->set, rules->n_rows, own, n);
	if (r < 0)
		rules_die("rows", r);
	probe_stacks_page_put(rig->set, page, UNWIND_PAGE_ENTRY(rules->n_rows, n));
	rules->n_rows += n;
}

static uint32_t side_put(struct rules *rules, struct rig *rig, const struct unwind_side *side)
{
	for (uint32_t i = 0; i < rules->n_sides; i++)
		if (memcmp(probe_stacks_side(rig->set, i), side, sizeof(*side)) == 0)
			return i;
	probe_stacks_side_put(rig->set, rules->n_sides, side);
	return rules->n_sides++;
}

/* Return: number of pages in the answer */
static uint32_t pages_read(struct rules *rules, struct rig *rig, int fd, uint32_t first_page,
			   const struct parser_rows_question *question)
{
	CLEANUP(freep) struct parser_rows *answer = calloc(1, CHILD_ANSWER_MAX);
	uint32_t sides[UNWIND_SIDES];
	const struct unwind_side *side;
	const struct parser_page *pages;
	const uint32_t *rows;

	if (!answer)
		rules_die("rows", -ENOMEM);
	(void)elf_read_rows(fd, question, answer, CHILD_ANSWER_MAX);
	if (answer->result != PARSER_OK || !answer->n_pages)
		rules_die("rules of a file", -ENODATA);
	pages = (const struct parser_page *)(answer + 1);
	rows = (const uint32_t *)(pages + answer->n_pages);
	side = (const struct unwind_side *)(rows + answer->n_rows);
	for (uint32_t i = 0; i < answer->n_sides; i++)
		sides[i] = side_put(rules, rig, &side[i]);
	for (uint32_t i = 0; i < answer->n_pages; i++) {
		page_put(rules, rig, first_page + pages[i].page, rows, pages[i].n_rows, sides);
		rows += pages[i].n_rows;
	}
	return answer->n_pages;
}

/* All pages of the file from its start up to `end`, so that a page's number in the table is that in the file and more.
 */
static uint32_t file_read(struct rules *rules, struct rig *rig, const char *path, uint64_t end)
{
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint32_t n = (uint32_t)(end >> UNWIND_PAGE_SHIFT), done = 0, first = rules->n_pages;
	struct parser_rows_question question = { .kind = PARSER_ASK_ROWS };
	struct stat st;

	for (uint32_t i = 0; i < rules->n_files; i++)
		if (strcmp(rules->files[i].path, path) == 0)
			return rules->files[i].first_page;
	if (fd < 0 || fstat(fd, &st) < 0 || rules->n_files == ARRAY_SIZE(rules->files))
		rules_die(path, -errno);
	question.file_bytes = (uint64_t)st.st_size;
	while (done < n) {
		question.n = MIN(n - done, (uint32_t)PARSER_PAGES_MAX);
		for (uint32_t i = 0; i < question.n; i++)
			question.pages[i] = done + i;
		done += pages_read(rules, rig, fd, first, &question);
	}
	(void)snprintf(rules->files[rules->n_files].path, sizeof(rules->files[0].path), "%s", path);
	rules->files[rules->n_files++].first_page = first;
	rules->n_pages += n;
	return first;
}

static void mapping_put(struct rules *rules, struct rig *rig, struct stack_maps *maps, const char *line)
{
	unsigned long long start, end, offset;
	char permissions[8], path[256] = "";

	if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &start, &end, permissions, &offset, path) < 4 ||
	    permissions[2] != 'x' || start >> 63 || maps->n == STACK_MAPPINGS_MAX)
		return;
	if (permissions[1] != 'w')
		maps->exec_vm += (end - start) >> UNWIND_PAGE_SHIFT;
	maps->mappings[maps->n++] = (struct stack_mapping){
		.start = start,
		.n_pages = (uint32_t)((end - start) >> UNWIND_PAGE_SHIFT),
		.first_page = path[0] == '/' ? file_read(rules, rig, path, offset + (end - start)) +
						       (uint32_t)(offset >> UNWIND_PAGE_SHIFT)
					     : 0,
	};
}

/* Which files they are, as the kernel knows them. */
static void files_put(struct rig *rig, struct stack_maps *maps)
{
	static struct mapped_record records[STACK_MAPPINGS_MAX];
	int n = probe_set_mapped(rig->set, (uint32_t)getpid(), records, ARRAY_SIZE(records));

	for (uint32_t i = 0; i < maps->n; i++)
		for (int k = 0; k < n; k++)
			if (records[k].start == maps->mappings[i].start)
				maps->files[i] = unwind_mapping_file(records[k].offset, &records[k].file);
}

void rules_put(struct rules *rules, struct rig *rig)
{
	static uint32_t last_tag;
	CLEANUP(fclosep) FILE *file = fopen("/proc/self/maps", "re");
	struct stack_maps maps = { .tag = ++last_tag };
	struct probe_stacks_process process = { .exec_gen = 0 };
	char line[512];
	int r;

	r = probe_stacks_process(rig->set, (uint32_t)getpid(), &process);
	if (!file || r < 0)
		rules_die("process", r);
	while (fgets(line, sizeof(line), file))
		mapping_put(rules, rig, &maps, line);
	files_put(rig, &maps);
	maps.exec_gen = process.exec_gen;
	maps.loader_changes = process.loader_changes;
	r = probe_stacks_maps_put(rig->set, (uint32_t)getpid(), &maps);
	if (r < 0)
		rules_die("mappings", r);
}
