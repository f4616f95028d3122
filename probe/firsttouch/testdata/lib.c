/* A library that makes memory grow, in the ways that programs do. It is built
 * several times under different names, with and without frame pointers. */
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default"), noinline))
#define BLOCK (256 << 10)
/* The compiler must believe that the block is used. */
#define USE(p) __asm__ volatile("" : : "r"(p) : "memory")

/* A block filled by the C library: the touching code is memset's. */
API void grow_memset(void) {
	char *p = malloc(BLOCK);
	memset(p, 1, BLOCK);
	USE(p);
}
/* The library's own code writes. */
API void grow_direct(void) {
	volatile char *p = malloc(BLOCK);
	for (long i = 0; i < BLOCK; i += 4096) p[i] = 1;
	USE(p);
}
/* Small blocks: the first touch is deep inside malloc. */
API void grow_small(void) {
	for (int i = 0; i < 2048; i++) {
		char *p = malloc(112);
		USE(p);
	}
	__asm__ volatile("");
}
/* Touched and given back. */
API void churn(void) {
	char *p = malloc(BLOCK);
	memset(p, 1, BLOCK);
	USE(p);
	free(p);
	USE(p);
}
