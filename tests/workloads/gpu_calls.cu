// SPDX-License-Identifier: Apache-2.0
/*
 * Calls of the vendor's own runtime on a real GPU, counted and timed by the program itself: gpu_calls ROUNDS, for
 * tests/bench/gpu.py, which builds it with nvcc. Prints one JSON object. A round is 100 launches, one copy to the
 * device, one synchronisation, one allocation and its free, and a sleep.
 */
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LAUNCHES 100
#define COPY_BYTES 65536
#define SPIN_CYCLES 2000000ull
#define SPINS 50
#define SLEEP_US 2000

__global__ void nothing(void)
{
}

__global__ void spin(unsigned long long cycles)
{
	unsigned long long start = clock64();

	while (clock64() - start < cycles)
		;
}

static uint64_t ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint64_t now_ns(void)
{
	return ns_of(CLOCK_MONOTONIC);
}

static void check(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "gpu_calls: %s: %s\n", what, cudaGetErrorString(error));
	exit(1);
}

/* In a thread, since its account ends with it: the end of a process that used a device takes long. */
static void *work(void *data)
{
	long rounds = *(long *)data;
	uint64_t start_ns = now_ns(), launch_ns = 0, copy_ns = 0, wait_ns = 0, sleep_ns = 0, cpu_ns, end_ns;
	void *host, *device, *other;

	check(cudaMalloc(&device, COPY_BYTES), "cudaMalloc");
	host = malloc(COPY_BYTES);
	memset(host, 1, COPY_BYTES);
	nothing<<<1, 1>>>();
	check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	for (long i = 0; i < rounds; i++) {
		uint64_t from_ns = now_ns();

		for (int j = 0; j < LAUNCHES; j++)
			nothing<<<1, 1>>>();
		launch_ns += now_ns() - from_ns;
		check(cudaStreamSynchronize(0), "cudaStreamSynchronize");
		from_ns = now_ns();
		check(cudaMemcpyAsync(device, host, COPY_BYTES, cudaMemcpyHostToDevice, 0), "cudaMemcpyAsync");
		copy_ns += now_ns() - from_ns;
		check(cudaMalloc(&other, 4096 + i), "cudaMalloc");
		check(cudaFree(other), "cudaFree");
		from_ns = now_ns();
		usleep(SLEEP_US);
		sleep_ns += now_ns() - from_ns;
	}
	for (int i = 0; i < SPINS; i++) { /* the device works, and the program waits for it */
		uint64_t from_ns;

		spin<<<1, 1>>>(SPIN_CYCLES);
		from_ns = now_ns();
		check(cudaStreamSynchronize(0), "cudaStreamSynchronize");
		wait_ns += now_ns() - from_ns;
	}
	if (cudaMalloc(&other, 1ull << 50) == cudaSuccess) /* refused, so its bytes do not count */
		exit(1);
	(void)cudaGetLastError();
	check(cudaFree(device), "cudaFree");
	cpu_ns = ns_of(CLOCK_THREAD_CPUTIME_ID);
	end_ns = now_ns();
	printf("{\"tid\": %d, \"start_ns\": %llu, \"end_ns\": %llu, \"cpu_ns\": %llu, \"launch_ns\": %.1f, \"copy_ns\": %.1f, "
	       "\"wait_ns\": %llu, \"sleep_ns\": %llu, \"calls\": {\"cudaLaunchKernel\": %ld, \"cudaMemcpyAsync\": %ld, "
	       "\"cudaMalloc\": %ld, \"cudaFree\": %ld, \"cudaStreamSynchronize\": %ld, \"cudaDeviceSynchronize\": 1}, "
	       "\"copied\": %ld, \"allocated\": %llu}\n",
	       (int)gettid(), (unsigned long long)start_ns, (unsigned long long)end_ns, (unsigned long long)cpu_ns,
	       (double)launch_ns / rounds / LAUNCHES, (double)copy_ns / rounds, (unsigned long long)wait_ns,
	       (unsigned long long)sleep_ns, rounds * LAUNCHES + 1 + SPINS, rounds, rounds + 2, rounds + 1, rounds + SPINS,
	       rounds * COPY_BYTES, (unsigned long long)(COPY_BYTES + rounds * 4096 + rounds * (rounds - 1) / 2));
	return NULL;
}

int main(int argc, char *argv[])
{
	long rounds = argc > 1 ? atol(argv[1]) : 100;
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, &rounds))
		return 1;
	return pthread_join(thread, NULL) ? 1 : 0;
}
