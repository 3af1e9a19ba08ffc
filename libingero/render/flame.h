// SPDX-License-Identifier: Apache-2.0
/*
 * A profile: stacks, each with a weight of every measure; and its writers, for flame graphs and for other programs.
 *
 * Stacks are added from the outermost frame on; equal ones become one, and their weights are summed. Whatever is
 * stacked is a frame: functions of programs, paths, names of processes. Texts may come from anybody: control
 * characters, characters of direction and bytes that are not UTF-8 become '?' when they are added, and each writer
 * escapes what its format needs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buf.h"

#define FLAME_VALUES_MAX 16
#define FLAME_DEPTH_MAX 1024	    /* frames of a stack; outer ones beyond are left out */
#define FLAME_TEXT_BYTES 1024u	    /* longer texts are cut */
#define FLAME_NOT_KNOWN "[unknown]" /* a frame without a name and a module */
#define FLAME_NONE SIZE_MAX

enum flame_unit { FLAME_COUNT, FLAME_NANOSECONDS, FLAME_BYTES };
enum flame_kind { FLAME_PLAIN, FLAME_NATIVE, FLAME_PYTHON, FLAME_KIND_COUNT };

/* A measure. */
struct flame_value {
	char name[32]; /* "time", "bytes" */
	enum flame_unit unit;
};

/* Texts are borrowed until flame_add() returns; "": not known. */
struct flame_frame {
	const char *name;   /* function, without an offset */
	const char *file;   /* its source */
	const char *module; /* library or program that has it */
	uint32_t line;	    /* in `file`; 0: not known */
	enum flame_kind kind;
};

/* Where an equal entry is: ids by the hash of what they stand for. */
struct flame_index {
	struct flame_slot {
		uint64_t hash;
		uint32_t id; /* from 1 on; 0: free */
	} * slots;
	size_t n;
	size_t room; /* a power of two */
};

/* Texts by index. */
struct flame_entry {
	uint32_t name, file, module;
	uint32_t line;
	enum flame_kind kind;
};

struct flame_stack {
	size_t first; /* in `places`, outermost first */
	uint32_t n;
};

struct flame {
	struct flame_value values[FLAME_VALUES_MAX];
	size_t n_values;
	uint64_t seed;	     /* of the hashes: whoever writes the texts does not know it */
	ARRAY(char *) texts; /* the first is "" */
	ARRAY(struct flame_entry) frames;
	ARRAY(uint32_t) places; /* frames of stacks */
	ARRAY(struct flame_stack) stacks;
	ARRAY(uint64_t) weights; /* n_values of each stack */
	struct flame_index by_text, by_frame, by_stack;
};

#define FLAME_INIT                                                                                                     \
	{                                                                                                              \
		.n_values = 0                                                                                          \
	}

/** flame_init() - prepare an empty profile. @values: copied. Return: 0 or -ENOMEM */
int flame_init(struct flame *flame, const struct flame_value *values, size_t n_values);
void flame_done(struct flame *flame);
/**
 * flame_add() - add a stack
 * @frames:  outermost first, at least one
 * @weights: n_values; each sum stops at UINT64_MAX
 * Return: 0; -ENOMEM, without the stack
 */
int flame_add(struct flame *flame, const struct flame_frame *frames, size_t n_frames, const uint64_t *weights);
/** flame_weight() - weight of a stack */
uint64_t flame_weight(const struct flame *flame, size_t stack, size_t value);
/** flame_total() - sum of all stacks; stops at UINT64_MAX */
uint64_t flame_total(const struct flame *flame, size_t value);
/** flame_text() - a text of an entry, never NULL */
const char *flame_text(const struct flame *flame, uint32_t text);
/**
 * flame_label_append() - append what stands in a box: "forward (train.py:142)", "cublasSgemm_v2", "[libtorch_cuda.so]"
 */
void flame_label_append(const struct flame *flame, uint32_t frame, struct buf *out);

/* What a picture or file says of itself; texts are untrusted, too. */
struct flame_head {
	const char *title;
	const char *subtitle;		   /* "": none */
	size_t value;			   /* the measure to show, or to begin with */
	size_t before;			   /* a measure of an earlier time to compare with; FLAME_NONE: none */
	uint64_t from_unix_ns, to_unix_ns; /* 0: not known */
};

/**
 * flame_folded_append() - append lines "outermost;...;innermost weight", sorted; with `before`, "stack before now"
 *
 * The format of FlameGraph and Inferno. A ';' in a name becomes ':', and a space before digits at the end of a line's
 * last name '_', since readers would take them for a weight. Stacks without weight are left out.
 *
 * Return: 0 or -ENOMEM
 */
int flame_folded_append(const struct flame *flame, const struct flame_head *head, struct buf *out);
/**
 * flame_svg_append() - append one picture with its script: outermost frames on top, a click zooms, names can be
 * searched. It loads nothing
 *
 * With `before`, boxes that have a larger share of the whole than before are red, and those with a smaller one blue.
 * Boxes of less than a ten-thousandth of the whole are left out.
 *
 * Return: 0 or -ENOMEM
 */
int flame_svg_append(const struct flame *flame, const struct flame_head *head, struct buf *out);
/** flame_speedscope_append() - append a file for speedscope, a profile for each measure. Return: 0 or -ENOMEM */
int flame_speedscope_append(const struct flame *flame, const struct flame_head *head, struct buf *out);
/**
 * flame_pprof_append() - append a compressed profile.proto, as pprof reads it, with all measures
 * Return: 0; -ENOMEM; -EIO: it could not be compressed
 */
int flame_pprof_append(const struct flame *flame, const struct flame_head *head, struct buf *out);
