// SPDX-License-Identifier: Apache-2.0
/*
 * A second opinion on calls into libraries that are real: counts each call from
 * one shared object to a function of another, as the dynamic linker binds it
 * (rtld-audit(7)). It puts no breakpoint anywhere, replaces no library and
 * changes no code: the linker is told another address for the symbol, that of
 * three instructions which add one and jump to the function.
 *
 *   LD_AUDIT=libingero-boundary.so LD_BIND_NOW=1    in the program's environment
 *   INGERO_BOUNDARY=FILE              the counts, made anew (books.py reads it)
 *   INGERO_BOUNDARY_STACKS=FILE       their stacks, too (boundary_stacks.c)
 *   INGERO_BOUNDARY_LIBRARIES=NAME    objects whose file name begins so: their functions are counted
 *
 * LD_BIND_NOW because a linker with an auditor otherwise asks itself at every call.
 * Not seen: calls inside of one object, and by an address that stands in its data.
 * The file is one array of struct boundary_cell, for a process and its forked
 * children; a cell with an empty name ends it. x86-64 alone.
 */
#include "boundary.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CELLS_MAX BOUNDARY_CELLS_MAX
#define THUNK_BYTES 48u

struct boundary_cell {
	char name[120];
	uint64_t count;
};
_Static_assert(sizeof(struct boundary_cell) == 128, "books.py knows it");

static struct {
	struct boundary_cell *cells;
	uint8_t *thunks;
	unsigned int n;
	bool has_stacks;
} boundary; /* the linker calls with its lock held */

const void *boundary_functions[BOUNDARY_CELLS_MAX]; /* what each cell's thunk jumps to, in the end */

static void give_up(const char *what)
{
	perror(what);
	_exit(2);
}

static void open_counts(void)
{
	const char *path = getenv("INGERO_BOUNDARY");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;

	if (fd < 0 || ftruncate(fd, CELLS_MAX * sizeof(struct boundary_cell)) < 0)
		give_up("ingero boundary: INGERO_BOUNDARY names no file that can be made");
	boundary.cells =
		mmap(NULL, CELLS_MAX * sizeof(struct boundary_cell), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	boundary.thunks = mmap(NULL, CELLS_MAX * THUNK_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (boundary.cells == MAP_FAILED || boundary.thunks == MAP_FAILED)
		give_up("ingero boundary: mmap");
	(void)close(fd);
	boundary.has_stacks = boundary_stacks_open();
}

/* lock incq at the cell; jmp to the function: by r10 and r11, which are free between caller and callee. */
static void make_thunk(uint8_t *at, const uint64_t *count, const void *function, uint32_t cell)
{
	uint8_t *code = at;

	*code++ = 0x49, *code++ = 0xbb; /* movabs $count, %r11 */
	memcpy(code, &count, 8), code += 8;
	*code++ = 0xf0, *code++ = 0x49, *code++ = 0xff, *code++ = 0x03; /* lock incq (%r11) */
	*code++ = 0x41, *code++ = 0xbb;					/* mov $cell, %r11d */
	memcpy(code, &cell, 4), code += 4;
	*code++ = 0x49, *code++ = 0xba; /* movabs $function, %r10 */
	memcpy(code, &function, 8), code += 8;
	*code++ = 0x41, *code++ = 0xff, *code++ = 0xe2; /* jmp *%r10 */
}

/* One name in two objects, or two versions of it, are two functions and two cells. */
static uintptr_t thunk_of(const char *name, uintptr_t function)
{
	struct boundary_cell *cell;
	unsigned int i;

	for (i = 0; i < boundary.n; i++) {
		if (boundary_functions[i] == (const void *)function)
			return (uintptr_t)(boundary.thunks + (size_t)i * THUNK_BYTES);
	}
	if (i == CELLS_MAX || strlen(name) >= sizeof(cell->name))
		give_up("ingero boundary: more functions than there is room for");
	cell = &boundary.cells[i];
	boundary_functions[i] = (const void *)function;
	make_thunk(boundary.thunks + (size_t)i * THUNK_BYTES, &cell->count,
		   boundary.has_stacks ? (const void *)boundary_enter : (const void *)function, i);
	memcpy(cell->name, name, strlen(name) + 1);
	boundary.n = i + 1;
	return (uintptr_t)(boundary.thunks + (size_t)i * THUNK_BYTES);
}

EXPORT unsigned int la_version(unsigned int version);
EXPORT unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie);
EXPORT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *from, uintptr_t *to,
			      unsigned int *flags, const char *name);

unsigned int la_version(unsigned int version)
{
	(void)version;
	open_counts();
	return LAV_CURRENT;
}

/* The cookie says whether the object's functions are to be counted. */
unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	const char *wanted = getenv("INGERO_BOUNDARY_LIBRARIES"), *file = strrchr(map->l_name, '/');

	(void)space;
	file = file ? file + 1 : map->l_name;
	*cookie = wanted && *wanted && strncmp(file, wanted, strlen(wanted)) == 0;
	return LA_FLG_BINDFROM | (*cookie ? LA_FLG_BINDTO : 0);
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *from, uintptr_t *to, unsigned int *flags,
		       const char *name)
{
	(void)index;
	*flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
	if (*from || !*to || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
		return symbol->st_value;
	return thunk_of(name, symbol->st_value);
}
