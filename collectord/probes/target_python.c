// SPDX-License-Identifier: Apache-2.0
#include "probes/target_python.h"

#include <errno.h>

#include "children/parser.h"
#include "clock.h"
#include "probes/place.h"
#include "probes/target_memory.h"
#include "probes/target_process.h"

#define LOG_TOPIC "targets"
#include "base/log.h"

/* Limits of attached interpreters; guesses: few machines use more than a few interpreters. */
#define WATCHES_MAX (CODE_WATCHES / 2)
#define WATCHES_OF_USER_MAX (CODE_WATCHES / 8)

void target_python_take(struct target_file *file, const struct parser_python *p, uint16_t machine)
{
	static const struct python_layout none;
	struct target_python *to = &file->python;

	to->version = p->version;
	to->layout = none;
	to->has_freed = false;
	if (p->state != PARSER_PYTHON_OK)
		return;
	to->layout = p->layout;
	to->has_freed = p->freed.n_head != 0;
	to->freed = (struct probe_site){ .offset = p->freed.offset +
						   place_find(machine, p->freed.head, p->freed.n_head).delta };
}

struct python_layout target_python_layout(const struct target_file *file, uint64_t start)
{
	struct python_layout layout = file->python.layout;

	if (!layout.minor)
		return layout;
	layout.key += start;
	layout.main += start;
	layout.code_type += start;
	layout.text_type += start;
	layout.bytes_type += start;
	return layout;
}

void target_python_unwatch(struct target_files *files, struct target_file *file)
{
	if (!file->python.watch)
		return;
	probe_set_detach_library(files->probes, file->python.watch);
	file->python.watch = NULL;
	file->python.watch_number = 0;
	for (size_t i = files->watched.n; i-- > 0;)
		if (files->watched.items[i] == file)
			ARRAY_REMOVE_SWAP(&files->watched, i);
}

/* Detach the probe of an earlier state of the file: probes belong to the inode. */
static void earlier_unwatch(struct target_files *files, const struct target_file *file)
{
	for (size_t i = files->watched.n; i-- > 0;) {
		struct target_file *other = files->watched.items[i];

		if (other->id.device == file->id.device && other->id.inode == file->id.inode)
			target_python_unwatch(files, other);
	}
}

static bool watches_have_room(const struct target_files *files, uint32_t uid)
{
	size_t n_of_user = 0;

	for (size_t i = 0; i < files->watched.n; i++)
		n_of_user += files->watched.items[i]->library.owner.uid == uid;
	return files->watched.n < WATCHES_MAX && n_of_user < WATCHES_OF_USER_MAX;
}

uint32_t target_python_watch(struct target_files *files, struct target_file *file, int path_fd,
			     const struct file_identity *id)
{
	struct target_python *p = &file->python;
	int r;

	p->used_ns = clock_now_ns();
	if (p->watch)
		return p->watch_number;
	if (path_fd < 0 || !p->has_freed || p->is_refused || !file_identity_equal(id, &file->id))
		return 0;
	earlier_unwatch(files, file);
	r = watches_have_room(files, file->library.owner.uid) ? ARRAY_PUSH(&files->watched, file) : -ENOSPC;
	if (r == 0) {
		r = probe_set_attach_code_watch(files->probes, path_fd, &p->freed, &p->watch, &p->watch_number);
		if (r < 0)
			files->watched.n--;
	}
	if (r < 0) {
		p->is_refused = true;
		(void)log_warning(r, "code objects that '%s' frees are not seen: stacks with its frames cost more",
				  file->library.path);
	}
	return p->watch_number;
}

void target_pythons_let_go(struct target_files *files, uint64_t now_ns, uint64_t unused_limit_ns)
{
	for (size_t i = files->watched.n; i-- > 0;) {
		struct target_file *file = files->watched.items[i];

		if (target_processes_interpret(files->processes, &file->id))
			file->python.used_ns = now_ns;
		else if (now_ns - file->python.used_ns > unused_limit_ns)
			target_python_unwatch(files, file);
	}
}
