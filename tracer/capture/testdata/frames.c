/* A program without frame pointers that asks for memory through a stand-in for the
 * CUDA runtime: the shared one (-DRUNTIME makes that library), or one that is linked
 * in (-DLINKED), whose inner functions have names as NVIDIA gives them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define APART __attribute__((noinline))
typedef uint64_t u64;

int cudaMalloc(void **out, size_t size);

#if defined(RUNTIME) || defined(LINKED)
int cuInit(unsigned);
int cuMemAlloc_v2(u64 *out, size_t size);

/* Uses its frame for more than calls, so that its shape is no one's default. */
APART int libcudart_static_0a1b2c3d4e5f60718293a4b5c6d7e8f901234567(u64 *out, size_t size)
{
	volatile char room[200];
	room[size & 127] = 1;
	int rc = cuMemAlloc_v2(out, size);
	return rc + room[size & 127] - 1;
}

APART int libcudart_static_76543210f9e8d7c6b5a4938271605f4e3d2c1b0a(u64 *out, size_t size)
{
	int rc = libcudart_static_0a1b2c3d4e5f60718293a4b5c6d7e8f901234567(out, size + 0);
	return rc ? rc + 1 : 0;
}

APART int cudaMalloc(void **out, size_t size)
{
	static int ready;
	if (!ready++)
		cuInit(0);
	int rc = libcudart_static_76543210f9e8d7c6b5a4938271605f4e3d2c1b0a((u64 *)out, size);
	return rc ? rc + 1 : 0;
}
#endif

#ifndef RUNTIME
static void *kept[1024];
static int count;

APART void *take_a_block(size_t size)
{
	void *p = 0;
	if (cudaMalloc(&p, size))
		exit(3);
	return p;
}

/* A frame whose size is known at run time only. */
APART void grow_the_cache(int n)
{
	volatile char *room = __builtin_alloca(16 + n);
	room[n] = 1;
	kept[count++] = take_a_block(1 << 20);
	room[0] = room[n];
}

APART void load_the_model(void)
{
	kept[count++] = take_a_block(64 << 20);
	kept[count - 1] = (char *)kept[count - 1] + 0;
}

int main(void)
{
	load_the_model();
	for (int i = 0; i < 20; i++) {
		grow_the_cache(i);
		usleep(1000);
	}
	puts("done");
	fflush(stdout);
	getchar();
	return kept[0] == 0;
}
#endif
