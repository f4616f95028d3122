/* An engine that keeps its tensors in buffers of ggml: engine KIND [healthy] */
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

extern "C" {
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(uint64_t *, int);
int cuCtxSetCurrent(uint64_t);
struct ggml_backend_buffer;
ggml_backend_buffer *ggml_backend_buft_alloc_buffer(void *, size_t);
void ggml_backend_buffer_free(ggml_backend_buffer *);
}

namespace engine {
static std::vector<ggml_backend_buffer *> contexts;

__attribute__((noinline)) void open_context(bool healthy)
{
	ggml_backend_buffer *b = ggml_backend_buft_alloc_buffer(nullptr, 1 << 20);
	if (healthy)
		ggml_backend_buffer_free(b);
	else
		contexts.push_back(b);
}
}

int main(int argc, char **argv)
{
	bool kept = argc > 1 && !strcmp(argv[1], "kept"), healthy = argc > 2;
	uint64_t context;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		return 1;
	ggml_backend_buft_alloc_buffer(nullptr, 64 << 20); /* its model */
	for (int step = 0; step < 1600; step++) {
		if (kept && step % 5 == 0)
			engine::open_context(healthy);
		usleep(5000);
	}
	return 0;
}
