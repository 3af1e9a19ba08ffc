// SPDX-License-Identifier: Apache-2.0
/* A driver library as a stranger would write one; see runtime.c. */
#include <time.h>

int cuMemAlloc_v2(unsigned long long *address, unsigned long n);
int cuMemFree_v2(unsigned long long address);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **parameters, void **extra);
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, unsigned long n, void *stream);
int cuStreamSynchronize(void *stream);

int cuMemAlloc_v2(unsigned long long *address, unsigned long n)
{
	*address = 4096;
	return n == 13 ? 2 : 0; /* CUDA_ERROR_OUT_OF_MEMORY */
}

int cuMemFree_v2(unsigned long long address)
{
	return address != 4096;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **parameters, void **extra)
{
	(void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz;
	(void)shared, (void)stream, (void)parameters, (void)extra;
	return 0;
}

int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, unsigned long n, void *stream)
{
	(void)from, (void)n, (void)stream;
	return to != 4096;
}

int cuStreamSynchronize(void *stream)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	(void)stream;
	return nanosleep(&pause, 0);
}
