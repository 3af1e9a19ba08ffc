// SPDX-License-Identifier: Apache-2.0
/*
 * Launches: a kernel does nothing, and takes its time.
 */
#include "driver.h"

static int launch(const void *function, struct stream *handle, bool is_per_thread)
{
	struct stream *stream = stream_find(handle, is_per_thread);

	if (!function || !stream)
		return INVALID_HANDLE;
	return stream_work(stream, &(struct graph_work){ .time_ns = standin_device.kernel_ns });
}

int driver_launch(const void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		  unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
		  struct stream *handle, void **params, void **extra)
{
	(void)shared_bytes, (void)params, (void)extra;
	if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z)
		return INVALID_VALUE;
	return launch(function, handle, false);
}

int driver_launch_ptsz(const void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		       unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
		       struct stream *handle, void **params, void **extra)
{
	(void)shared_bytes, (void)params, (void)extra;
	if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z)
		return INVALID_VALUE;
	return launch(function, handle, true);
}

struct launch_config {
	unsigned int grid[3], block[3];
	unsigned int shared_bytes;
	struct stream *stream;
	void *attributes;
	unsigned int n_attributes;
};

static int launch_ex(const struct launch_config *config, const void *function, bool is_per_thread)
{
	if (!config)
		return INVALID_VALUE;
	for (size_t i = 0; i < ARRAY_SIZE(config->grid); i++) {
		if (!config->grid[i] || !config->block[i])
			return INVALID_VALUE;
	}
	return launch(function, config->stream, is_per_thread);
}

int driver_launch_ex(const struct launch_config *config, const void *function, void **params, void **extra)
{
	(void)params, (void)extra;
	return launch_ex(config, function, false);
}

int driver_launch_ex_ptsz(const struct launch_config *config, const void *function, void **params, void **extra)
{
	(void)params, (void)extra;
	return launch_ex(config, function, true);
}
