/* A stand-in for ggml's library of CUDA: its names, and nothing of what it computes.
 * The buffers of a program are asked for here, as deep in the library as there. */
#include <stdint.h>
#include <stdlib.h>

int cuMemAlloc_v2(uint64_t *p, size_t size);
int cuMemFree_v2(uint64_t p);

struct ggml_backend_buffer {
	uint64_t base;
	size_t size;
};

__attribute__((noinline)) static int ggml_cuda_device_malloc(uint64_t *p, size_t size)
{
	int rc = cuMemAlloc_v2(p, size);
	__asm__ volatile("" ::: "memory");
	return rc;
}

__attribute__((noinline)) static struct ggml_backend_buffer *alloc_buffer(size_t size)
{
	struct ggml_backend_buffer *b = malloc(sizeof *b);
	if (b && ggml_cuda_device_malloc(&b->base, b->size = size))
		abort();
	return b;
}

struct ggml_backend_buffer *ggml_backend_buft_alloc_buffer(void *type, size_t size)
{
	(void)type;
	struct ggml_backend_buffer *b = alloc_buffer(size);
	__asm__ volatile("" ::: "memory");
	return b;
}

size_t ggml_backend_buffer_get_size(const struct ggml_backend_buffer *b)
{
	return b->size;
}

void ggml_backend_buffer_free(struct ggml_backend_buffer *b)
{
	cuMemFree_v2(b->base);
	free(b);
}
