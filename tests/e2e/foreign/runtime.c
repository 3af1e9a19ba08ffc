// SPDX-License-Identifier: Apache-2.0
/*
 * A runtime library as a stranger would write one: plain C, whatever heads and tail
 * calls the compiler makes of it. Nothing of ours is included.
 */
int cuMemAlloc_v2(unsigned long long *address, unsigned long n);
int cuMemFree_v2(unsigned long long address);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **parameters, void **extra);
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, unsigned long n, void *stream);
int cuStreamSynchronize(void *stream);

struct dim3 {
	unsigned x, y, z;
};

int cudaMalloc(void **address, unsigned long n);
int cudaFree(void *address);
int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments, unsigned long shared,
		     void *stream);
int cudaMemcpyAsync(void *to, const void *from, unsigned long n, int kind, void *stream);
int cudaStreamSynchronize(void *stream);

int cudaMalloc(void **address, unsigned long n)
{
	unsigned long long device;
	int r = cuMemAlloc_v2(&device, n);

	*address = (void *)device;
	return r;
}

int cudaFree(void *address)
{
	return address ? cuMemFree_v2((unsigned long long)address) : 1;
}

int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments, unsigned long shared,
		     void *stream)
{
	return cuLaunchKernel((void *)function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
			      stream, arguments, 0);
}

int cudaMemcpyAsync(void *to, const void *from, unsigned long n, int kind, void *stream)
{
	return kind == 1 ? cuMemcpyHtoDAsync_v2((unsigned long long)to, from, n, stream) : 1;
}

int cudaStreamSynchronize(void *stream)
{
	return cuStreamSynchronize(stream);
}
