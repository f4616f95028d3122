/* Samples of what Python's allocators hand out. See heap.c. */
#ifndef GPUMEM_HEAP_H
#define GPUMEM_HEAP_H

#include "base.h"

/* PyMemAllocatorEx, of CPython's Include/cpython/pymem.h. */
struct allocator {
	void *ctx;
	void *(*malloc)(void *ctx, size_t n);
	void *(*calloc)(void *ctx, size_t count, size_t size);
	void *(*realloc)(void *ctx, void *block, size_t n);
	void (*free)(void *ctx, void *block);
};

/* What the interpreter has for them, and how many interpreters there are. */
struct heap_doors {
	void (*get)(int domain, struct allocator *); /* PyMem_GetAllocator */
	void (*set)(int domain, struct allocator *); /* PyMem_SetAllocator */
};

/* PyDataMem_Handler of version 1, of NumPy's numpy/ndarraytypes.h. */
struct array_handler {
	char name[127];
	uint8_t version;
	struct array_allocator {
		void *ctx;
		void *(*malloc)(void *ctx, size_t n);
		void *(*calloc)(void *ctx, size_t count, size_t size);
		void *(*realloc)(void *ctx, void *block, size_t n);
		void (*free)(void *ctx, void *block, size_t n);
	} allocator;
};

#endif
