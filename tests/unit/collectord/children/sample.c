// SPDX-License-Identifier: Apache-2.0
/*
 * A small library with exports like the real ones: families, aliases, near misses,
 * data and an indirect function. Each function returns a number of its own, so that no
 * two have the same bytes. Built several times with different sonames and hash tables.
 */
#define EXPORT __attribute__((visibility("default"), noinline))

#define FUNCTION(name, number)                                                                                         \
	EXPORT int name(void);                                                                                         \
	int name(void)                                                                                                 \
	{                                                                                                              \
		return number;                                                                                         \
	}

#ifdef SAMPLE_RUNTIME
FUNCTION(cudaMalloc, 1001)
FUNCTION(cudaFree, 1002)
FUNCTION(cudaFree_v2, 1003)
FUNCTION(cudaLaunchKernel, 1004)
FUNCTION(cudaLaunchKernel_ptsz, 1005)
FUNCTION(cudaMemcpyAsync_v3_ptds, 1006)
FUNCTION(cudaStreamSynchronize_spt, 1007)
/* one function, two names of one operation */
extern __typeof(cudaMalloc) cudaMalloc_v9 __attribute__((alias("cudaMalloc"), visibility("default")));
/* none of ours */
FUNCTION(cudaMallocPitched, 1)
FUNCTION(cudaMalloc_v1, 2)
FUNCTION(cudaMalloc_v10, 3)
FUNCTION(cudaMalloc_ptsz_v2, 4)
FUNCTION(cudaMalloc_v2_v3, 5)
FUNCTION(cudaMalloc_, 6)
FUNCTION(__cudaLaunchKernel, 7)
FUNCTION(cuda, 8)
EXPORT int cudaFree_v3 = 9; /* data */
static int resolved(void)
{
	return 10;
}
static void *resolve(void)
{
	return (void *)resolved;
}
EXPORT int cudaFree_v4(void) __attribute__((ifunc("resolve")));
#endif

#ifdef SAMPLE_DRIVER
/* as a careless assembler exports it: neither type nor size */
__asm__(".text\n.globl cuMemcpyHtoDAsync_v2\ncuMemcpyHtoDAsync_v2:\n.long 0x01020304, 0x05060708\n");
FUNCTION(cuMemAlloc_v2, 2001)
FUNCTION(cuMemFree_v2, 2002)
FUNCTION(cuLaunchKernel, 2003)
FUNCTION(cuStreamSynchronize_ptsz, 2004)
FUNCTION(cuDeviceGet, 11)
#endif

#ifdef SAMPLE_COLLECTIVES
FUNCTION(ncclAllReduce, 4001)
FUNCTION(ncclBroadcast, 4002)
/* no rows */
FUNCTION(ncclAllReducer, 12)
FUNCTION(ncclSend, 14)
extern __typeof(ncclSend) ncclSendToo __attribute__((alias("ncclSend"), visibility("default")));
/* a second name of a row's, before it in order */
extern __typeof(ncclBroadcast) ncclBcast __attribute__((alias("ncclBroadcast"), visibility("default")));
/* no name to show */
__asm__(".globl \"nccl.odd\"\n.type \"nccl.odd\", @function\n.set \"nccl.odd\", ncclAllReducer\n");
/* its second name is another one */
extern __typeof(ncclAllReduce) pncclAllReduce __attribute__((alias("ncclAllReduce"), visibility("default")));
FUNCTION(pncclBroadcast, 13)
#endif

#ifdef SAMPLE_ONE
FUNCTION(cuLaunchKernel, 3001)
#endif

#ifdef SAMPLE_FOLDED
FUNCTION(cuMemAlloc_v2, 4001)
FUNCTION(cuMemFree_v2, 4002)
/* two operations on one address: nothing can tell which was called */
FUNCTION(cuLaunchKernel, 4003)
extern __typeof(cuLaunchKernel) cuStreamSynchronize __attribute__((alias("cuLaunchKernel"), visibility("default")));
#endif

#ifdef SAMPLE_INTERPRETER
/* No bytes of it are in the file. */
EXPORT char _PyRuntime[656];
FUNCTION(Py_Main, 6001)
#endif

#ifdef SAMPLE_OLD_PYTHON
/* CPython up to 3.6 has no state with a name. */
FUNCTION(PyEval_EvalCode, 6201)
#endif

#ifdef SAMPLE_PYPY
FUNCTION(PyPyEval_EvalCode, 6203)
#endif

#ifdef SAMPLE_HIDDEN_PYTHON
/* A program that exports nothing of its interpreter, without its table of symbols. */
__attribute__((section(".PyRuntime"), visibility("hidden"), used)) char _PyRuntime[672] = { 1 };
FUNCTION(Py_Main, 6202)
#endif

#ifdef SAMPLE_COLLECTOR
/* Local, as the interpreter's own is. */
static __attribute__((used, noinline)) int SAMPLE_COLLECTOR(void)
{
	return 6101;
}
#endif

#ifdef SAMPLE_HELPER
FUNCTION(_PyGC_CollectIfEnabled, 6102)
#endif

#ifdef SAMPLE_MARKS
/* As sys/sdt.h writes them, with a mark of another name between the two. */
EXPORT unsigned short semaphores[3] = { 0, 0, 7 };
__asm__(".text\n"
	".globl gc_marks\n.type gc_marks, @function\ngc_marks:\n"
	"990: nop\n mov %eax, %eax\n 991: nop\n 992: nop\n ret\n .size gc_marks, . - gc_marks\n"
	".pushsection .note.stapsdt, \"\", \"note\"\n"
	".macro MARK at:req semaphore:req name:req\n"
	".balign 4\n .4byte 995f-994f, 997f-996f, 3\n 994: .asciz \"stapsdt\"\n 995: .balign 4\n"
	"996: .8byte \\at, 0, \\semaphore\n .asciz \"python\"\n .asciz \"\\name\"\n .asciz \"-4@%eax\"\n"
	"997: .balign 4\n .endm\n"
	"MARK 990b, 0, gc__start\n MARK 991b, 0, line\n MARK 992b, 0, gc__done\n"
	".popsection\n");
#endif

#ifdef SAMPLE_LOADER
EXPORT struct {
	int version;
	void *map;
} _r_debug;
FUNCTION(_dl_debug_state, 5001)
#endif

#ifdef SAMPLE_PYTHON
/* The exports of an interpreter by which its layout is known; numbers of CPython 3.12 unless told otherwise. */
#ifndef PYTHON_VERSION
#define PYTHON_VERSION 0x030c01f0
#endif
#ifndef PYTHON_CODE
#define PYTHON_CODE 192
#endif
#ifndef PYTHON_FRAME
#define PYTHON_FRAME 120
#endif
#ifndef PYTHON_QUALNAME
#define PYTHON_QUALNAME 128
#endif
struct member {
	const char *name;
	int type;
	long offset;
	int flags;
	const char *text;
};
struct type {
	long head[4];
	long basic_size;
	long item_size;
	void (*freed)(void *object);
	long middle[23];
	const struct member *members;
	long tail[10];
};
static struct member members[] = {
	{ "co_argcount", 1, 52, 1, 0 },
	{ "co_firstlineno", 1, 68, 1, 0 },
	{ "co_filename", 6, 112, 1, 0 },
	{ "co_name", 6, 120, 1, 0 },
	{ "co_qualname", 6, PYTHON_QUALNAME, 1, 0 },
	{ "co_linetable", 6, 136, 1, 0 },
	{ 0, 0, 0, 0, 0 },
};
#ifndef PYTHON_NO_FREED
static __attribute__((used, noinline)) void code_dealloc(void *object)
{
	*(int *)object = 7001;
}
#else
#define code_dealloc ((void (*)(void *))members) /* data */
#endif
FUNCTION(Py_Main, 7002)
EXPORT struct type PyCode_Type = { .basic_size = PYTHON_CODE, .freed = code_dealloc, .members = members };
EXPORT struct type PyFrame_Type = { .basic_size = PYTHON_FRAME };
EXPORT struct type PyUnicode_Type = { .basic_size = 64 };
EXPORT struct type PyBytes_Type = { .basic_size = 33 };
EXPORT unsigned long Py_Version = PYTHON_VERSION;
#ifdef PYTHON_OFFSETS
#ifndef PYTHON_THREADED
#define PYTHON_THREADED 0
#endif
#ifndef PYTHON_LINK
#define PYTHON_LINK 8
#endif
#define WORD(at) [(at) / 8]
EXPORT unsigned long _PyRuntime[128] = {
	0x7970677562656478, /* "xdebugpy" */
	PYTHON_OFFSETS,		 PYTHON_THREADED, WORD(40) = 632,  WORD(176) = 16,  WORD(184) = 72,  WORD(192) = 152,
	WORD(232) = PYTHON_LINK, WORD(248) = 56,  WORD(264) = 70,  WORD(280) = 112, WORD(288) = 120, WORD(296) = 128,
	WORD(304) = 136,	 WORD(312) = 68,  WORD(344) = 200, WORD(360) = 8,   WORD(520) = 16,  WORD(528) = 32,
	WORD(544) = 32,		 WORD(552) = 16,  WORD(560) = 40
};
#else
EXPORT char _PyRuntime[1024];
#endif
#ifdef PYTHON_DEBUG
EXPORT long _Py_RefTotal = 0;
#endif
#endif
