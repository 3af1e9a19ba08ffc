// SPDX-License-Identifier: Apache-2.0
/* NVIDIA's driver and the GPUs, from /proc and from the management library. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "libingero/check/item.h"
#include "libingero/check/nvml.h"
#include "libingero/render/units.h"

#define DRIVER_VERSION "proc/driver/nvidia/version"
#define MODULE_VERSION "sys/module/nvidia/version"
#define GPUS "proc/driver/nvidia/gpus"

/*
 * "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.07  Sat Feb 17 22:55:48 UTC 2024", or with
 * "Open Kernel Module for x86_64": the version is the first word of digits and stops.
 */
static bool version_find(const char *line, char *version, size_t room)
{
	for (const char *at = strstr(line, "Module"); at && *at; at += strcspn(at, " ")) {
		size_t n;

		at += strspn(at, " ");
		n = strspn(at, "0123456789.");
		if (n && n < room && memchr(at, '.', n) && (at[n] == ' ' || at[n] == 0)) {
			memcpy(version, at, n);
			version[n] = 0;
			return true;
		}
	}
	return false;
}

void check_gpu_driver(const struct check_world *world, struct check_result *result)
{
	char line[256], version[32];

	if (check_read_line(world, DRIVER_VERSION, line, sizeof(line)) == 0 &&
	    version_find(line, version, sizeof(version)))
		check_say(result, CHECK_LEVEL_OK, NULL, "NVIDIA %s%s", version,
			  strstr(line, "Open Kernel") ? ", open kernel modules" : "");
	else if (check_read_line(world, MODULE_VERSION, line, sizeof(line)) == 0 && line[0])
		check_say(result, CHECK_LEVEL_OK, NULL, "NVIDIA %s", line);
	else
		check_say(result, CHECK_LEVEL_WARN,
			  "install NVIDIA's driver to run CUDA programs; 'ingero demo' needs none", "no driver loaded");
}

/* "Model:           NVIDIA H100 PCIe" of each directory that is named after a bus address. */
static size_t models_read(const struct check_world *world, struct buf *out)
{
	int fd = openat(world->root, GPUS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	size_t n = 0;

	if (!dir) {
		closep(&fd);
		return 0;
	}
	while ((entry = readdir(dir))) {
		CLEANUP(buf_done) struct buf text = BUF_INIT;
		char path[512];
		const char *model;

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), GPUS "/%s/information", entry->d_name);
		if (check_read(world, path, &text) < 0)
			continue;
		model = strstr(buf_text(&text), "Model:");
		if (!model)
			continue;
		model += strlen("Model:");
		model += strspn(model, " \t");
		(void)buf_printf(out, "%.*s\n", (int)strcspn(model, "\n"), model);
		n++;
	}
	(void)closedir(dir);
	return n;
}

static void gpus_say(struct check_result *result, struct buf *lines, size_t n, size_t n_more, const char *way_out)
{
	enum check_level level = way_out ? CHECK_LEVEL_WARN : CHECK_LEVEL_OK;

	if (n == 1 && !n_more) {
		check_say(result, level, way_out, "%.*s", (int)strcspn(buf_text(lines), "\n"), buf_text(lines));
		return;
	}
	check_say(result, level, way_out, "%zu GPUs", n + n_more);
	if (n_more)
		(void)buf_printf(lines, "and %zu more\n", n_more);
	(void)buf_append_text(&result->detail, buf_text(lines));
}

void check_gpu(const struct check_world *world, struct check_result *result)
{
	CLEANUP(buf_done) struct buf lines = BUF_INIT;
	CLEANUP(freep) struct nvml_report *nvml = malloc(sizeof(*nvml));
	bool has_nvml = nvml && nvml_read(world->nvml, nvml) == 0;
	char way_out[256];
	size_t n;

	if (has_nvml && !nvml->problem[0] && nvml->n_gpus) {
		for (size_t i = 0; i < nvml->n_gpus; i++) {
			(void)buf_append_text(&lines, nvml->gpus[i].model);
			if (nvml->gpus[i].memory_bytes)
				(void)buf_printf(&lines, ", %s", units_bytes(nvml->gpus[i].memory_bytes).text);
			(void)buf_append_text(&lines, "\n");
		}
		gpus_say(result, &lines, nvml->n_gpus, nvml->n_more, NULL);
		return;
	}
	n = models_read(world, &lines);
	if (has_nvml && nvml->problem[0])
		(void)snprintf(way_out, sizeof(way_out),
			       "NVIDIA's management library says '%s': after an update of the driver reboot",
			       nvml->problem);
	if (n)
		gpus_say(result, &lines, n, 0, has_nvml && nvml->problem[0] ? way_out : NULL);
	else if (has_nvml && nvml->problem[0])
		check_say(result, CHECK_LEVEL_WARN, way_out, "unknown");
	else
		check_say(result, CHECK_LEVEL_WARN,
			  "no GPU is needed to read files and to run demos; in a container, pass the GPU through",
			  "no GPU visible");
}
