// SPDX-License-Identifier: Apache-2.0
/*
 * A scan reads the mappings of a process once, into candidates, and then works through
 * them a few at a time: open without reading, ask the kernel what file it is, and if
 * that one is new hand it to the parser. What is known already costs an open and a stat.
 * Candidates by name come first; a scan is done when those are settled, and goes on in
 * the background with files whose name says nothing, since a copy may be called anything.
 */
#include "probes/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "children/child.h"
#include "children/parser.h"
#include "clock.h"
#include "probes/place.h"
#include "procs/procfs.h"

#define LOG_TOPIC "targets"
#include "base/log.h"

#define ASKING_MAX 16			  /* files open and with the parser at once */
#define PARSE_LIMIT_NS (5 * NSEC_PER_SEC) /* guess: the largest library takes 30 ms */
#define CANDIDATES_MAX 4096		  /* of one process */
#define FILES_MAX 4096			  /* remembered; those of no interest are forgotten first */
#define LIBRARIES_MAX 1024		  /* listed, attached or not */
#define LIBRARIES_OF_USER_MAX 256	  /* of these, first met in processes of one user */
#define BUCKETS 1024
#define DEVICE_OVERLAY UINT64_MAX /* in struct file_id: of any overlay */

/* What the kernel says a file is. The change time tells a file that was written to from what it was. */
struct file_id {
	uint64_t device; /* major << 32 | minor */
	uint64_t inode;
	int64_t change_s;
	int64_t change_ns;
	uint64_t bytes;
};

struct target_file {
	struct target_file *next; /* of its bucket */
	struct file_id id;
	struct target_library library;
	struct probe_library *loader; /* attached as a loader */
	struct probe_site *sites;     /* n_symbols, while attached */
	uint64_t last_scan;	      /* number of the last scan that met it */
	int path_fd;		      /* O_PATH, while it is being asked about */
	bool is_settled;
	bool is_listed;
	bool is_named; /* by its name, a CUDA library */
	bool is_loader;
	bool is_deleted; /* had no name when it was first met */
	bool is_same;	 /* another state of a file whose probes are where they belong */
};

/* A file that a process maps executable. */
struct candidate {
	uint64_t start;
	uint64_t end;
	uint64_t inode;
	uint64_t device; /* major and minor as maps says, which for some file systems stat(2) says otherwise */
	char *path;
	bool is_deleted;
	bool is_named;
	bool is_loader;
	bool is_wanted; /* named, a loader, or pointed at by its load address */
};

struct awaited {
	struct target_file *file; /* borrowed from the set, which keeps it while it is not settled */
	bool is_wanted;
};

struct scan {
	struct scan *next;
	uint32_t tgid;
	uint32_t uid;
	int process_fd;
	target_done_func done;
	void *data;
	bool is_told;	 /* done was called */
	size_t i_next;	 /* candidate to look at next */
	size_t n_wanted; /* of the candidates; they come first */
	ARRAY(struct candidate) candidates;
	ARRAY(struct awaited) awaited;
};

/* A question on its way; outlives the set if that closes first. */
struct ask {
	struct ask *next;
	struct target_set *set; /* NULL once that is closed */
	struct target_file *file;
};

struct target_set {
	struct child *parser;	  /* borrowed */
	struct probe_set *probes; /* borrowed */
	target_found_func found;
	void *data;
	int proc_fd;
	uint64_t memory_device; /* of files in memory, which are mounted nowhere */
	uint64_t n_scans;
	struct scan *scans;
	struct ask *asks;
	size_t n_asking;
	size_t n_files;
	struct target_file *buckets[BUCKETS];
	ARRAY(struct target_file *) listed; /* borrowed from the buckets */
	bool is_full_told;
	bool is_pumping;
	bool is_pumped_again; /* a callback started another scan meanwhile */
};

static const enum op_layer layers[OP_ID_MAX] = {
#define OP(id, layer, name, short_name, arg_a, arg_b, flags) [id] = OP_LAYER_##layer,
#include "bpf/ops.def"
#undef OP
};

static void set_pump(struct target_set *set);

/* --- files --- */

static void file_free(struct target_file *file, struct probe_set *probes)
{
	if (file->library.probes)
		probe_set_detach_library(probes, file->library.probes);
	if (file->loader)
		probe_set_detach_library(probes, file->loader);
	closep(&file->path_fd);
	free(file->sites);
	free(file->library.path);
	free(file->library.soname);
	free(file->library.build_id);
	free(file->library.reason);
	free(file);
}

static struct target_file **bucket_of(struct target_set *set, const struct file_id *id)
{
	return &set->buckets[(id->inode ^ id->device * 31) % BUCKETS];
}

static bool id_equal(const struct file_id *a, const struct file_id *b)
{
	return a->device == b->device && a->inode == b->inode && a->change_s == b->change_s &&
	       a->change_ns == b->change_ns && a->bytes == b->bytes;
}

static struct target_file *file_find(struct target_set *set, const struct file_id *id)
{
	for (struct target_file *file = *bucket_of(set, id); file; file = file->next)
		if (id_equal(&file->id, id))
			return file;
	return NULL;
}

/* Forgets the file of no interest that was not met for longest. */
static void file_forget_one(struct target_set *set)
{
	struct target_file **oldest = NULL;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct target_file **f = &set->buckets[i]; *f; f = &(*f)->next)
			if ((*f)->is_settled && !(*f)->is_listed && !(*f)->library.probes && !(*f)->loader &&
			    (!oldest || (*f)->last_scan < (*oldest)->last_scan))
				oldest = f;
	if (oldest) {
		struct target_file *file = *oldest;

		*oldest = file->next;
		set->n_files--;
		file_free(file, set->probes);
	}
}

static struct target_file *file_add(struct target_set *set, const struct file_id *id, const struct candidate *c,
				    uint32_t uid)
{
	struct target_file *file = calloc(1, sizeof(*file)), **bucket = bucket_of(set, id);

	if (!file)
		return NULL;
	file->path_fd = -1;
	file->id = *id;
	file->is_named = c->is_named;
	file->is_loader = c->is_loader;
	file->is_deleted = c->is_deleted;
	file->library.owner_uid = uid;
	file->library.path = strdup(c->path);
	file->library.soname = strdup("");
	file->library.build_id = strdup("");
	file->library.reason = strdup("");
	if (!file->library.path || !file->library.soname || !file->library.build_id || !file->library.reason) {
		file_free(file, set->probes);
		return NULL;
	}

	if (set->n_files >= FILES_MAX)
		file_forget_one(set);
	file->next = *bucket;
	*bucket = file;
	set->n_files++;
	return file;
}

/* Keeps the first reason; without memory for it the file still counts as not attached. */
static void file_refuse(struct target_file *file, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void file_refuse(struct target_file *file, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (!*file->library.reason && vasprintf(&text, fmt, ap) >= 0) {
		free(file->library.reason);
		file->library.reason = text;
	}
	va_end(ap);
}

/* Whether another library of this user may be listed, so that nobody's copies leave no room for others'. */
static bool set_has_room(struct target_set *set, uint32_t uid)
{
	size_t n = 0;

	for (size_t i = 0; i < set->listed.n; i++)
		n += set->listed.items[i]->library.owner_uid == uid;
	return set->listed.n < LIBRARIES_MAX && n < LIBRARIES_OF_USER_MAX;
}

/* Nothing more will be found out about this file: list it if it matters. */
static void file_settle(struct target_set *set, struct target_file *file)
{
	closep(&file->path_fd);
	file->path_fd = -1;
	file->is_settled = true;
	for (struct scan *scan = set->scans; scan; scan = scan->next)
		for (size_t i = scan->awaited.n; i-- > 0;)
			if (scan->awaited.items[i].file == file)
				ARRAY_REMOVE_SWAP(&scan->awaited, i);

	if (file->is_same || (!file->is_named && !file->library.n_symbols && !*file->library.reason))
		return;
	if (!set_has_room(set, file->library.owner_uid) || ARRAY_PUSH(&set->listed, file) < 0) {
		if (!set->is_full_told)
			log_warning(0, "too many library files of user %" PRIu32 ", '%s' and later ones are not traced",
				    file->library.owner_uid, file->library.path);
		set->is_full_told = true;
		return;
	}
	file->is_listed = true;
	set->found(&file->library, set->data);
}

/* --- what the parser says --- */

static const char *const result_reasons[PARSER_RESULT_COUNT] = {
	[PARSER_OK] = "",
	[PARSER_NOT_ELF] = "is no library of this machine",
	[PARSER_DAMAGED] = "is damaged: it points outside itself",
	[PARSER_TOO_LARGE] = "has more symbols than are looked at",
	[PARSER_UNREADABLE] = "cannot be read",
};

/* Whatever turned the parser may have written this: every field is checked before anyone uses it. */
static bool answer_is_sound(const struct parser_library *a, size_t n, uint64_t file_bytes)
{
	uint64_t last = 0;

	if (n < sizeof(*a) || a->result >= PARSER_RESULT_COUNT || a->n_symbols > PARSER_SYMBOLS_MAX ||
	    n != sizeof(*a) + a->n_symbols * sizeof(a->symbols[0]))
		return false;
	if (a->result != PARSER_OK)
		return a->n_symbols == 0;
	if (!memchr(a->soname, 0, sizeof(a->soname)) || a->n_build_id > PARSER_BUILD_ID_BYTES || a->is_loader > 1 ||
	    (a->is_loader && a->debug_state_offset >= file_bytes))
		return false;

	for (uint32_t i = 0; i < a->n_symbols; i++) {
		const struct parser_symbol *s = &a->symbols[i];

		if (s->offset >= file_bytes || (i && s->offset <= last) || s->op >= OP_ID_MAX ||
		    layers[s->op] == OP_LAYER_NONE || s->n_head > PARSER_HEAD_BYTES ||
		    s->n_head > file_bytes - s->offset || !memchr(s->name, 0, sizeof(s->name)))
			return false;
		last = s->offset;
	}
	return true;
}

/* A copy that is fit to be shown: what the file calls itself may hold anything. */
static char *text_copy_printable(const char *text)
{
	char *copy = strdup(text);

	for (char *p = copy; p && *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	return copy;
}

static int library_describe(struct target_library *library, const struct parser_library *a)
{
	CLEANUP(freep) char *soname = text_copy_printable(a->soname), *build_id = calloc(1, 2 * a->n_build_id + 1u);
	size_t n_of_layer[OP_LAYER_COUNT] = { 0 };

	if (!soname || !build_id)
		return -ENOMEM;
	for (size_t i = 0; i < a->n_build_id; i++)
		(void)snprintf(build_id + 2 * i, 3, "%02x", a->build_id[i]);
	for (uint32_t i = 0; i < a->n_symbols; i++)
		n_of_layer[layers[a->symbols[i].op]]++;
	for (int i = 0; i < OP_LAYER_COUNT; i++)
		if (n_of_layer[i] > n_of_layer[library->layer])
			library->layer = (enum op_layer)i;

	free(library->soname);
	free(library->build_id);
	library->soname = TAKE_PTR(soname);
	library->build_id = TAKE_PTR(build_id);
	return 0;
}

/* One site for each function, in order of offset. */
static void sites_place(const struct parser_library *a, struct probe_site *sites)
{
	for (uint32_t i = 0; i < a->n_symbols; i++) {
		const struct parser_symbol *s = &a->symbols[i];
		struct place place = place_find(a->machine, s->head, s->n_head);

		/* A function that begins inside the head of this one: leave the shared instruction to it. */
		if (i + 1 < a->n_symbols && s->offset + place.delta >= a->symbols[i + 1].offset)
			place = (struct place){ 0, CALL_HEAD_STEPPED };
		sites[i] = (struct probe_site){ s->offset + place.delta, COOKIE(s->op, place.head) };
	}
}

/* What is attached, as people are told. */
static void library_count(struct target_library *library, const struct probe_site *sites, uint32_t n)
{
	library->n_symbols = n;
	for (uint32_t i = 0; i < n; i++) {
		library->ops[COOKIE_OP(sites[i].cookie)] = true;
		library->n_stepped += COOKIE_HEAD(sites[i].cookie) == CALL_HEAD_STEPPED;
	}
}

/*
 * Probes belong to device and inode: what this very file, since written to or just touched, has on it.
 * On an overlay a file that changed is most likely a copy that the change itself brought about, while
 * others go on using the one below; one that only lost its name is still the same.
 */
static struct target_file *file_find_attached(struct target_set *set, const struct target_file *file)
{
	if (file->id.device == DEVICE_OVERLAY && !file->is_deleted)
		return NULL;
	for (struct target_file *other = *bucket_of(set, &file->id); other; other = other->next)
		if (other != file && other->library.probes && other->id.device == file->id.device &&
		    other->id.inode == file->id.inode)
			return other;
	return NULL;
}

static void library_detach(struct target_set *set, struct target_file *file)
{
	probe_set_detach_library(set->probes, file->library.probes);
	file->library.probes = NULL;
	file->library.n_symbols = file->library.n_stepped = 0;
	memset(file->library.ops, 0, sizeof(file->library.ops));
	file_refuse(file, "was changed since");
}

static void library_attach(struct target_set *set, struct target_file *file, const struct parser_library *a)
{
	CLEANUP(freep) struct probe_site *sites = calloc(a->n_symbols, sizeof(*sites));
	struct target_file *before = file_find_attached(set, file);
	struct target_library *library = &file->library;
	uint64_t start_ns = clock_now_ns();
	uint32_t n = a->n_symbols;
	int r;

	if (!sites) {
		file_refuse(file, "cannot be attached: %s", strerror(ENOMEM));
		return;
	}
	sites_place(a, sites);
	if (before && before->library.n_symbols == n && memcmp(before->sites, sites, n * sizeof(*sites)) == 0) {
		file->is_same = true; /* touched: nothing to do, and no call to miss */
		return;
	}
	if (before)
		library_detach(set, before);
	if (!set_has_room(set, library->owner_uid)) {
		file_refuse(file, "is one of too many of this user");
		return;
	}

	r = probe_set_attach_library(set->probes, file->path_fd, sites, n, &library->probes);
	library->attach_ns = clock_now_ns() - start_ns;
	if (r < 0) {
		file_refuse(file, "cannot be attached: %s", strerror(-r));
		return;
	}
	library_count(library, sites, n);
	file->sites = TAKE_PTR(sites);
}

static void answer_take(struct target_set *set, struct target_file *file, int r, const void *answer, size_t n)
{
	const struct parser_library *a = answer;

	if (r == -ETIMEDOUT) {
		file_refuse(file, "took the parser too long");
	} else if (r < 0) {
		file_refuse(file, "ended the parser");
	} else if (!answer_is_sound(a, n, file->id.bytes)) {
		file_refuse(file, "made the parser say what cannot be");
	} else if (a->result != PARSER_OK) {
		if (file->is_named || file->is_loader)
			file_refuse(file, "%s", result_reasons[a->result]);
	} else if (library_describe(&file->library, a) < 0) {
		file_refuse(file, "cannot be described: %s", strerror(ENOMEM));
	} else if (a->n_symbols) {
		library_attach(set, file, a);
	} else if (file->is_named) {
		file_refuse(file, "exports none of the traced operations");
	}

	if (r < 0 || !file->is_loader || *file->library.reason)
		return;
	if (!a->is_loader) {
		file_refuse(file,
			    "is a dynamic loader that does not tell of libraries (no _r_debug), those loaded later "
			    "may be found late");
	} else {
		r = probe_set_attach_loader(set->probes, file->path_fd, a->debug_state_offset, a->r_debug_delta,
					    &file->loader);
		if (r < 0)
			file_refuse(file,
				    "is a dynamic loader that cannot be attached, libraries loaded later may be "
				    "found late: %s",
				    strerror(-r));
	}
}

static void on_answer(int r, const void *answer, size_t n, void *data)
{
	CLEANUP(freep) struct ask *ask = data;
	struct target_set *set = ask->set;

	if (!set)
		return;
	for (struct ask **a = &set->asks; *a; a = &(*a)->next) {
		if (*a == ask) {
			*a = ask->next;
			break;
		}
	}
	set->n_asking--;
	answer_take(set, ask->file, r, answer, n);
	file_settle(set, ask->file);
	set_pump(set);
}

/* --- candidates --- */

/* The descriptor names the file and cannot read it: no file system of a user's own is asked anything by this. */
static int candidate_open_mapped(const struct scan *scan, const struct candidate *c)
{
	char name[64];
	int fd;

	(void)snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, c->start, c->end);
	fd = openat(scan->process_fd, name, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Without the right to use map_files: by name, as the process itself would find it, and not outside its root. */
static int candidate_open_named(const struct scan *scan, const struct candidate *c)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	CLEANUP(closep) int root_fd = -1, fd = -1;
	struct stat st;

	if (c->is_deleted)
		return -ENOENT;
	root_fd = openat(scan->process_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root_fd, c->path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_ino != c->inode) /* replaced since; devices differ between maps and stat on overlays */
		return -ESTALE;
	return TAKE_FD(fd);
}

/*
 * Whose word opening and reading this file would depend on. A user's own FUSE server may
 * let anyone who asks it wait for ever, us and even the kernel as it places a probe. So
 * before anything is asked of a file system, mountinfo says what it is. What is mounted
 * nowhere could be such a server behind a lazy unmount; only memory files are known better.
 * Return: 0, or -EREMOTEIO when it is not to be touched
 */
static int candidate_check_mount(const struct target_set *set, const struct scan *scan, const struct candidate *c,
				 int fd, bool *ret_is_overlay)
{
	CLEANUP(closep) int self_fd = -1;
	struct procfs_mount mount;
	uint64_t id;
	int r;

	*ret_is_overlay = false;
	if (c->device >> 32 != 0) /* a disk */
		return 0;
	r = procfs_mount_id(set->proc_fd, fd, &id);
	if (r < 0)
		return r;
	r = procfs_mount_find(scan->process_fd, id, &mount);
	if (r < 0) { /* above its root, in our own namespace? */
		self_fd = procfs_open_process(set->proc_fd, (uint32_t)getpid());
		r = procfs_mount_find(self_fd, id, &mount);
	}
	if (r < 0)
		return c->device == set->memory_device ? 0 : -EREMOTEIO;
	if (strncmp(mount.type, "fuse", 4) == 0 && mount.owner_uid != 0)
		return -EREMOTEIO;
	*ret_is_overlay = strcmp(mount.type, "overlay") == 0;
	return 0;
}

static uint64_t device_number(dev_t device)
{
	return (uint64_t)major(device) << 32 | minor(device);
}

static int candidate_open(const struct target_set *set, const struct scan *scan, const struct candidate *c,
			  struct file_id *ret_id)
{
	CLEANUP(closep) int fd = candidate_open_mapped(scan, c);
	bool is_overlay = false;
	struct stat st;
	int r;

	if (fd == -EPERM || fd == -EACCES) {
		r = candidate_open_named(scan, c);
		if (r < 0)
			return fd;
		fd = r;
	}
	if (fd < 0)
		return fd;
	r = candidate_check_mount(set, scan, c, fd, &is_overlay);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;

	*ret_id = (struct file_id){
		.device = device_number(st.st_dev),
		.inode = st.st_ino,
		.change_s = st.st_ctim.tv_sec,
		.change_ns = st.st_ctim.tv_nsec,
		.bytes = (uint64_t)st.st_size,
	};
	/*
	 * Each overlay has a device of its own, but one file below several of them is one
	 * place for probes. Older kernels tell its own device in maps; where they do not,
	 * its inode and times, which an overlay passes through, must do.
	 */
	if (is_overlay)
		ret_id->device = DEVICE_OVERLAY;
	else if (major(st.st_dev) == 0 && c->device >> 32 != 0)
		ret_id->device = c->device;
	return TAKE_FD(fd);
}

static int scan_await(struct scan *scan, struct target_file *file, bool is_wanted)
{
	struct awaited a = { file, is_wanted };

	return ARRAY_PUSH(&scan->awaited, a);
}

static int file_ask(struct target_set *set, struct target_file *file, uint32_t uid)
{
	struct parser_question question = { .kind = PARSER_ASK_LIBRARY, .file_bytes = file->id.bytes };
	CLEANUP(freep) struct ask *ask = calloc(1, sizeof(*ask));
	CLEANUP(closep) int fd = -1;
	char name[32];
	int r;

	if (!ask)
		return -ENOMEM;
	/* O_NONBLOCK: a lease on the file must not hold us up. */
	(void)snprintf(name, sizeof(name), "self/fd/%d", file->path_fd);
	fd = openat(set->proc_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;

	*ask = (struct ask){ .next = set->asks, .set = set, .file = file };
	r = child_ask(set->parser, &question, sizeof(question), fd, uid, PARSE_LIMIT_NS, on_answer, ask);
	if (r < 0)
		return r;
	set->asks = TAKE_PTR(ask);
	set->n_asking++;
	return 0;
}

/* A file by the name of a CUDA library that cannot even be opened is told of once, by what maps says it is. */
static void candidate_refuse(struct target_set *set, struct scan *scan, const struct candidate *c, int r)
{
	struct file_id id = { .device = c->device, .inode = c->inode };
	struct procfs_stat stat;
	struct target_file *file;

	/* Gone, or as good as: nothing is left to trace. */
	if (!c->is_named || r == -ESRCH || procfs_stat_read(scan->process_fd, &stat) < 0 || stat.state == 'Z')
		return;
	if (file_find(set, &id))
		return;
	file = file_add(set, &id, c, scan->uid);
	if (!file)
		return;
	if (r == -EREMOTEIO)
		file_refuse(file, "lies on a file system that its user serves, and is left alone; copy it elsewhere");
	else if (r == -EINVAL)
		file_refuse(file, "is no regular file");
	else
		file_refuse(file, "cannot be opened: %s", strerror(-r));
	file_settle(set, file);
}

static void candidate_look_at(struct target_set *set, struct scan *scan, const struct candidate *c)
{
	CLEANUP(closep) int path_fd = -1;
	struct target_file *file;
	struct file_id id;
	int r;

	path_fd = candidate_open(set, scan, c, &id);
	if (path_fd < 0) {
		candidate_refuse(set, scan, c, path_fd);
		return;
	}
	file = file_find(set, &id);
	if (!file) {
		file = file_add(set, &id, c, scan->uid);
		if (!file)
			return;
		file->path_fd = TAKE_FD(path_fd);
		r = file_ask(set, file, scan->uid);
		if (r < 0) {
			if (c->is_wanted)
				file_refuse(file, "cannot be given to the parser: %s", strerror(-r));
			file_settle(set, file);
		}
	}
	file->last_scan = set->n_scans;
	if (!file->is_settled)
		(void)scan_await(scan, file, c->is_wanted); /* without memory the scan is merely done too early */
}

/* --- scans --- */

static void scan_free(struct scan *scan)
{
	if (!scan)
		return;
	for (size_t i = 0; i < scan->candidates.n; i++)
		free(scan->candidates.items[i].path);
	ARRAY_DONE(&scan->candidates);
	ARRAY_DONE(&scan->awaited);
	closep(&scan->process_fd);
	free(scan);
}

static void scan_freep(struct scan **scan)
{
	scan_free(*scan);
}

struct collect {
	struct scan *scan;
	uint64_t library_base;
	uint64_t base_device;
	uint64_t base_inode; /* 0: not met */
};

static bool name_is_cuda(const char *name)
{
	return strstr(name, "libcuda");
}

static bool name_is_loader(const char *name)
{
	static const char *const prefixes[] = { "ld-linux", "ld-musl-", "ld64.so", "ld.so", "ld-2." };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static int on_mapping(const struct procfs_mapping *m, void *data)
{
	struct collect *collect = data;
	struct scan *scan = collect->scan;
	uint64_t device = (uint64_t)m->dev_major << 32 | m->dev_minor;
	const char *slash = strrchr(m->path, '/'), *name = slash ? slash + 1 : m->path;
	struct candidate c;

	if (m->inode == 0)
		return 0;
	if (collect->library_base && m->start == collect->library_base) { /* its first segment need not be executable */
		collect->base_device = device;
		collect->base_inode = m->inode;
	}
	if (!m->is_executable || scan->candidates.n >= CANDIDATES_MAX)
		return 0;
	for (size_t i = scan->candidates.n; i-- > 0;)
		if (scan->candidates.items[i].inode == m->inode && scan->candidates.items[i].device == device)
			return 0;

	c = (struct candidate){
		.start = m->start,
		.end = m->end,
		.inode = m->inode,
		.device = device,
		.is_deleted = m->is_deleted,
		.is_named = name_is_cuda(name),
		.is_loader = name_is_loader(name),
		.path = strdup(m->path),
	};
	if (!c.path || ARRAY_PUSH(&scan->candidates, c) < 0) {
		free(c.path);
		return -ENOMEM;
	}
	return 0;
}

/*
 * Puts the wanted candidates first. A scan for one new library leaves the rest out; if
 * that library was not found, or no name said anything, all of them are wanted.
 */
static void scan_order(struct scan *scan, const struct collect *collect)
{
	bool is_base_met = false, is_named_met = false;
	size_t n = 0;

	for (size_t i = 0; i < scan->candidates.n; i++) {
		struct candidate *c = &scan->candidates.items[i];
		bool is_base =
			collect->base_inode && c->inode == collect->base_inode && c->device == collect->base_device;

		c->is_wanted = is_base || c->is_named || c->is_loader;
		is_base_met |= is_base;
		is_named_met |= c->is_named;
	}
	if (!is_base_met && !is_named_met)
		for (size_t i = 0; i < scan->candidates.n; i++)
			scan->candidates.items[i].is_wanted = true;

	for (size_t i = 0; i < scan->candidates.n; i++) {
		struct candidate c = scan->candidates.items[i];

		if (!c.is_wanted)
			continue;
		scan->candidates.items[i] = scan->candidates.items[n];
		scan->candidates.items[n++] = c;
	}
	scan->n_wanted = n;
	if (is_base_met) {
		for (size_t i = n; i < scan->candidates.n; i++)
			free(scan->candidates.items[i].path);
		scan->candidates.n = n;
	}
}

static bool scan_is_settled(const struct scan *scan)
{
	if (scan->i_next < scan->n_wanted)
		return false;
	for (size_t i = 0; i < scan->awaited.n; i++)
		if (scan->awaited.items[i].is_wanted)
			return false;
	return true;
}

/* Tells of scans that are settled and drops those that are over. `done` may start another scan. */
static void scans_finish(struct target_set *set)
{
	struct scan **at = &set->scans;

	while (*at) {
		struct scan *scan = *at;

		if (!scan->is_told && scan_is_settled(scan)) {
			scan->is_told = true;
			if (scan->done) {
				scan->done(scan->tgid, scan->data);
				at = &set->scans; /* the list may have changed */
				continue;
			}
		}
		if (scan->is_told && scan->i_next == scan->candidates.n && scan->awaited.n == 0) {
			*at = scan->next;
			scan_free(scan);
			continue;
		}
		at = &scan->next;
	}
}

static void scans_advance(struct target_set *set, bool only_wanted)
{
	for (struct scan *scan = set->scans; scan; scan = scan->next) {
		size_t n = only_wanted ? scan->n_wanted : scan->candidates.n;

		while (scan->i_next < n && set->n_asking < ASKING_MAX)
			candidate_look_at(set, scan, &scan->candidates.items[scan->i_next++]);
	}
}

/* Everything that can be done now. Callbacks from in here may start scans, which wait for the next round. */
static void set_pump(struct target_set *set)
{
	if (set->is_pumping) {
		set->is_pumped_again = true;
		return;
	}
	set->is_pumping = true;
	do {
		set->is_pumped_again = false;
		scans_advance(set, /* only_wanted= */ true);
		scans_advance(set, /* only_wanted= */ false);
		scans_finish(set);
	} while (set->is_pumped_again);
	set->is_pumping = false;
}

/* Reads what the process maps now. Return: 0 with a scan; -errno, -ESRCH or -ENOENT when it is gone */
static int scan_new(struct target_set *set, uint32_t tgid, uint64_t library_base, struct scan **ret_scan)
{
	CLEANUP(scan_freep) struct scan *scan = calloc(1, sizeof(*scan));
	struct collect collect = { .scan = scan, .library_base = library_base };
	struct procfs_status status;
	int r;

	if (!scan)
		return -ENOMEM;
	scan->tgid = tgid;
	scan->process_fd = procfs_open_process(set->proc_fd, tgid);
	if (scan->process_fd < 0)
		return scan->process_fd;
	r = procfs_status_read(scan->process_fd, &status);
	if (r < 0)
		return r;
	scan->uid = status.uids[0];
	r = procfs_maps_read(scan->process_fd, on_mapping, &collect);
	if (r < 0)
		return r;

	scan_order(scan, &collect);
	*ret_scan = TAKE_PTR(scan);
	return 0;
}

int target_set_scan(struct target_set *set, uint32_t tgid, uint64_t library_base, target_done_func done, void *data)
{
	struct scan *scan = NULL;
	int r;

	set->n_scans++;
	r = scan_new(set, tgid, library_base, &scan);
	if (r < 0) {
		if (done)
			done(tgid, data);
		return r == -ENOENT || r == -ESRCH ? 0 : r;
	}

	scan->done = done;
	scan->data = data;
	scan->next = set->scans;
	set->scans = scan;
	set_pump(set);
	return 0;
}

int target_set_scan_loader(struct target_set *set)
{
	struct scan *scan = NULL;
	size_t n = 0;
	int r;

	set->n_scans++;
	r = scan_new(set, (uint32_t)getpid(), 0, &scan);
	if (r < 0)
		return r;

	for (size_t i = 0; i < scan->candidates.n; i++) { /* of ourselves nothing else is of interest */
		if (scan->candidates.items[i].is_loader)
			scan->candidates.items[n++] = scan->candidates.items[i];
		else
			free(scan->candidates.items[i].path);
	}
	scan->candidates.n = scan->n_wanted = n;
	scan->next = set->scans;
	set->scans = scan;
	set_pump(set);
	return n ? 0 : -ENOENT;
}

/* Return: 0, which no file lies on, where it cannot be found out. */
static uint64_t memory_device(void)
{
	CLEANUP(closep) int fd = memfd_create("device", MFD_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? device_number(st.st_dev) : 0;
}

int target_set_open(uv_loop_t *loop, struct child *parser, struct probe_set *probes, target_found_func found,
		    void *data, struct target_set **ret_targets)
{
	CLEANUP(freep) struct target_set *set = calloc(1, sizeof(*set));

	(void)loop; /* all that waits, waits for the parser, which is on it */
	if (!set)
		return -ENOMEM;
	set->proc_fd = open("/proc", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (set->proc_fd < 0)
		return -errno;
	set->memory_device = memory_device();
	set->parser = parser;
	set->probes = probes;
	set->found = found;
	set->data = data;
	*ret_targets = TAKE_PTR(set);
	return 0;
}

void target_set_close(struct target_set *set)
{
	if (!set)
		return;
	for (struct ask *ask = set->asks; ask; ask = ask->next)
		ask->set = NULL;
	while (set->scans) {
		struct scan *scan = set->scans;

		set->scans = scan->next;
		if (!scan->is_told && scan->done)
			scan->done(scan->tgid, scan->data);
		scan_free(scan);
	}
	for (size_t i = 0; i < BUCKETS; i++) {
		while (set->buckets[i]) {
			struct target_file *file = set->buckets[i];

			set->buckets[i] = file->next;
			file_free(file, set->probes);
		}
	}
	ARRAY_DONE(&set->listed);
	closep(&set->proc_fd);
	free(set);
}

size_t target_set_count(const struct target_set *set)
{
	return set->listed.n;
}

const struct target_library *target_set_get(const struct target_set *set, size_t i)
{
	return &set->listed.items[i]->library;
}
