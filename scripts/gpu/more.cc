// More native programs with a known truth, for more.sh: what programs in C++ do with the
// CUDA runtime, its libraries and the driver. Each is faulty, or with --healthy its twin.
// Without the headers of cuBLAS and cuFFT their programs are left out. No compiler for
// the device is needed.
//
//   more NAME [--healthy] [--seconds N]
//   more --list        name, verdict, sites of the fault, of which one is to be named
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#if __has_include(<cublas_v2.h>) && !defined(NO_LIBRARIES)
#include <cublas_v2.h>
#define HAS_CUBLAS
#endif
#if __has_include(<cufft.h>) && !defined(NO_LIBRARIES)
#include <cufft.h>
#define HAS_CUFFT
#endif

#define APART __attribute__((noinline))

namespace {

constexpr size_t KiB = 1u << 10, MiB = 1u << 20;
bool healthy;
int step;

void check(int code, const char *what)
{
	if (code == 0)
		return;
	std::fprintf(stderr, "%s: error %d at step %d\n", what, code, step);
	std::exit(1);
}
#define DO(call) check(static_cast<int>(call), #call)

bool every(int steps) { return step % steps == 0; }

// One function of the driver, found as programs find it that do not link to it.
template <class F> F driver(const char *name)
{
	static void *library = dlopen("libcuda.so.1", RTLD_NOW);
	auto f = library ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
	check(f == nullptr, name);
	return f;
}

// ---- libraries ----

#ifdef HAS_CUBLAS
float *matrix()
{
	static float *m;
	if (!m) {
		DO(cudaMalloc(reinterpret_cast<void **>(&m), 3 * MiB));
		DO(cudaMemset(m, 0, 3 * MiB));
	}
	return m;
}

void multiply(cublasHandle_t handle)
{
	const float one = 1, zero = 0;
	float *m = matrix();
	DO(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 256, 256, 256, &one, m, 256, m + MiB / 4, 256, &zero,
		m + MiB / 2, 256));
	DO(cudaDeviceSynchronize());
}

// A handle is made for a request, and forgotten.
APART void answer_gemm()
{
	if (!every(100))
		return;
	cublasHandle_t handle;
	DO(cublasCreate(&handle));
	multiply(handle);
	if (healthy)
		DO(cublasDestroy(handle));
}

// Sound: one handle for all.
APART void one_handle()
{
	static cublasHandle_t handle;
	if (!handle)
		DO(cublasCreate(&handle));
	multiply(handle);
}
#endif

#ifdef HAS_CUFFT
// A plan is made for a request, with a workspace of its own.
APART void plan_signal()
{
	static void *signal;
	if (!signal)
		DO(cudaMalloc(&signal, 8 * MiB));
	if (!every(40))
		return;
	cufftHandle plan;
	DO(cufftPlan1d(&plan, 500000, CUFFT_C2C, 1));
	auto *data = static_cast<cufftComplex *>(signal);
	DO(cufftExecC2C(plan, data, data, CUFFT_FORWARD));
	DO(cudaDeviceSynchronize());
	if (healthy)
		DO(cufftDestroy(plan));
}
#endif

// ---- kinds of memory ----

APART void share_result()
{
	static std::vector<void *> results;
	if (!every(5))
		return;
	void *p;
	DO(cudaMallocManaged(&p, MiB, cudaMemAttachGlobal));
	DO(cudaMemset(p, 1, MiB));
	DO(cudaDeviceSynchronize());
	if (healthy)
		DO(cudaFree(p));
	else
		results.push_back(p);
}

// A frame's own memory is pinned for a faster copy, and stays so.
APART void pin_frame()
{
	static std::vector<std::unique_ptr<char[]>> frames;
	static void *target;
	if (!target)
		DO(cudaMalloc(&target, MiB));
	if (!every(5))
		return;
	std::unique_ptr<char[]> frame(new char[MiB]);
	std::memset(frame.get(), step, MiB);
	DO(cudaHostRegister(frame.get(), MiB, cudaHostRegisterDefault));
	DO(cudaMemcpy(target, frame.get(), MiB, cudaMemcpyHostToDevice));
	if (healthy)
		DO(cudaHostUnregister(frame.get()));
	else
		frames.push_back(std::move(frame));
}

APART void load_texture()
{
	if (!every(5))
		return;
	cudaArray_t array;
	cudaTextureObject_t texture;
	const cudaChannelFormatDesc floats = {32, 0, 0, 0, cudaChannelFormatKindFloat};
	cudaResourceDesc resource = {};
	cudaTextureDesc how = {};
	DO(cudaMallocArray(&array, &floats, 512, 512, 0));
	resource.resType = cudaResourceTypeArray;
	resource.res.array.array = array;
	how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
	how.readMode = cudaReadModeElementType;
	DO(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
	if (healthy) {
		DO(cudaDestroyTextureObject(texture));
		DO(cudaFreeArray(array));
	}
}

APART void keep_mipmap()
{
	if (!every(5))
		return;
	cudaMipmappedArray_t levels;
	const cudaChannelFormatDesc bytes = {8, 8, 8, 8, cudaChannelFormatKindUnsigned};
	DO(cudaMallocMipmappedArray(&levels, &bytes, cudaExtent{512, 512, 0}, 5, 0));
	if (healthy)
		DO(cudaFreeMipmappedArray(levels));
}

APART void keep_volume()
{
	if (!every(5))
		return;
	cudaPitchedPtr volume;
	const cudaExtent size = {128 * sizeof(float), 64, 32};
	DO(cudaMalloc3D(&volume, size));
	DO(cudaMemset3D(volume, 0, size));
	if (healthy)
		DO(cudaFree(volume.ptr));
}

// A range of addresses that physical memory is mapped into, as caching allocators have.
class Segment {
public:
	APART void extend()
	{
		const CUmemAllocationProp kind = placed();
		CUmemGenericAllocationHandle physical;
		DO(driver<decltype(&cuMemCreate)>("cuMemCreate")(&physical, piece, &kind, 0));
		DO(driver<decltype(&cuMemMap)>("cuMemMap")(start() + end, piece, 0, physical, 0));
		DO(driver<decltype(&cuMemRelease)>("cuMemRelease")(physical));
		CUmemAccessDesc access = {kind.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
		DO(driver<decltype(&cuMemSetAccess)>("cuMemSetAccess")(start() + end, piece, &access, 1));
		end += piece;
	}
	APART void shrink()
	{
		end -= piece;
		DO(driver<decltype(&cuMemUnmap)>("cuMemUnmap")(start() + end, piece));
	}

private:
	static constexpr size_t piece = 2 * MiB;
	static CUmemAllocationProp placed()
	{
		CUmemAllocationProp kind = {};
		kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
		kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		return kind;
	}
	CUdeviceptr start()
	{
		if (!base)
			DO(driver<decltype(&cuMemAddressReserve)>("cuMemAddressReserve")(&base, 16384 * MiB, 0, 0, 0));
		return base;
	}
	CUdeviceptr base = 0;
	size_t end = 0;
};

APART void grow_segment()
{
	static Segment segment;
	if (!every(10))
		return;
	segment.extend();
	if (healthy)
		segment.shrink();
}

// ---- what programs build upon it ----

// Free lists by size; what was taken from the driver is never given back. Faulty: every
// request is of a size of its own, so that no list has a block for it.
class CachingAllocator {
public:
	APART void *take(size_t size)
	{
		auto &list = lists[size];
		if (list.empty())
			return from_driver(size);
		void *p = list.back();
		list.pop_back();
		return p;
	}
	APART void give(void *p, size_t size) { lists[size].push_back(p); }

private:
	APART void *from_driver(size_t size)
	{
		void *p;
		DO(cudaMalloc(&p, size));
		return p;
	}
	std::map<size_t, std::vector<void *>> lists;
};

APART void serve_cached()
{
	static CachingAllocator allocator;
	if (!every(5))
		return;
	size_t size = healthy ? (1 + step / 5 % 16) * 128 * KiB : MiB + static_cast<size_t>(step) * 256;
	void *p = allocator.take(size);
	DO(cudaMemset(p, 0, size));
	allocator.give(p, size);
}

// A buffer whose class has no destructor, or one that frees.
class Buffer {
public:
	APART explicit Buffer(size_t size) { DO(cudaMalloc(&data, size)); }
	Buffer(Buffer &&other) noexcept : data(other.data) { other.data = nullptr; }
	~Buffer()
	{
		if (healthy && data)
			cudaFree(data);
	}

private:
	void *data = nullptr;
};

APART void run_layers()
{
	if (!every(10))
		return;
	std::vector<Buffer> layers;
	for (int i = 0; i < 8; i++)
		layers.emplace_back(256 * KiB);
	DO(cudaDeviceSynchronize());
}

// A thread for a request, with a stream and a buffer of its own.
APART void work_alone()
{
	cudaStream_t stream;
	void *buffer;
	DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	DO(cudaMalloc(&buffer, MiB));
	DO(cudaMemsetAsync(buffer, 0, MiB, stream));
	DO(cudaStreamSynchronize(stream));
	if (healthy) {
		DO(cudaFree(buffer));
		DO(cudaStreamDestroy(stream));
	}
}

APART void start_thread()
{
	if (every(8))
		std::thread(work_alone).join();
}

// Scratch memory that grows with the longest request so far; the old one is forgotten.
// Healthy: that is freed, and requests have a longest.
class Scratch {
public:
	APART void reserve(size_t size)
	{
		if (size <= has)
			return;
		if (healthy && data)
			DO(cudaFree(data));
		DO(cudaMalloc(&data, size));
		has = size;
	}

private:
	void *data = nullptr;
	size_t has = 0;
};

APART void take_longest()
{
	static Scratch scratch;
	if (every(5))
		scratch.reserve(512 * KiB + static_cast<size_t>(healthy ? step % 500 : step) * 256);
}

// Pinned buffers that wait for who writes them out: one comes back for each that goes in,
// or at times none.
class Ring {
public:
	APART void push()
	{
		void *p;
		if (idle.empty()) {
			DO(cudaHostAlloc(&p, MiB, cudaHostAllocDefault));
			std::memset(p, 1, MiB);
		} else {
			p = idle.back();
			idle.pop_back();
		}
		waiting.push_back(p);
	}
	APART void pop()
	{
		idle.push_back(waiting.front());
		waiting.pop_front();
	}

private:
	std::deque<void *> waiting;
	std::vector<void *> idle;
};

APART void write_out()
{
	static Ring ring;
	if (step < 64 || every(5)) { // warm-up
		ring.push();
		if (step >= 64 && (healthy || every(15)))
			ring.pop();
	}
}

// The message of a callback is the callback's to delete.
struct Message {
	char text[64 * KiB];
};

void CUDART_CB told(void *message)
{
	if (healthy)
		delete static_cast<Message *>(message);
}

APART void send_message()
{
	auto *message = new Message;
	std::memset(message->text, step, sizeof message->text);
	DO(cudaLaunchHostFunc(nullptr, told, message));
	DO(cudaDeviceSynchronize());
}

// ---- handles ----

APART void build_graph()
{
	static cudaStream_t stream;
	static void *block;
	if (!stream) {
		DO(cudaStreamCreate(&stream));
		DO(cudaMalloc(&block, MiB));
	}
	if (!every(2))
		return;
	cudaGraph_t graph;
	cudaGraphExec_t instance;
	DO(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 10; i++)
		DO(cudaMemsetAsync(block, i, MiB, stream));
	DO(cudaStreamEndCapture(stream, &graph));
	DO(cudaGraphInstantiateWithFlags(&instance, graph, 0));
	DO(cudaGraphLaunch(instance, stream));
	DO(cudaStreamSynchronize(stream));
	DO(cudaGraphDestroy(graph));
	if (healthy)
		DO(cudaGraphExecDestroy(instance));
}

APART void load_kernel()
{
	static const char text[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
				   ".visible .global .align 4 .b8 table[65536];\n"
				   ".visible .entry nothing()\n{\n\tret;\n}\n";
	if (!every(10))
		return;
	CUmodule module;
	DO(driver<decltype(&cuModuleLoadData)>("cuModuleLoadData")(&module, text));
	if (healthy)
		DO(driver<decltype(&cuModuleUnload)>("cuModuleUnload")(module));
}

APART void track_request()
{
	static std::map<int, cudaEvent_t> requests;
	for (int i = 0; i < 10; i++) {
		cudaEvent_t done;
		DO(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
		DO(cudaEventRecord(done, nullptr));
		requests[step * 10 + i] = done;
	}
	for (int i = 0; healthy && i < 10; i++) {
		DO(cudaEventDestroy(requests[step * 10 + i]));
		requests.erase(step * 10 + i);
	}
}

// A pool for each tenant, that keeps what it had when the tenant is gone.
APART void serve_tenant()
{
	if (!every(100))
		return;
	cudaMemPoolProps kind = {};
	cudaMemPool_t pool;
	kind.allocType = cudaMemAllocationTypePinned;
	kind.location.type = cudaMemLocationTypeDevice;
	DO(cudaMemPoolCreate(&pool, &kind));
	cuuint64_t all = ~0ull;
	DO(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
	void *p;
	DO(cudaMallocFromPoolAsync(&p, 16 * MiB, pool, nullptr));
	DO(cudaMemsetAsync(p, 0, MiB, nullptr));
	DO(cudaFreeAsync(p, nullptr));
	DO(cudaDeviceSynchronize());
	if (healthy)
		DO(cudaMemPoolDestroy(pool));
}

// ---- sound ones that look like faults ----

// A cache of the last 200 results, which is full after a third of the run.
APART void cache_results()
{
	static std::list<std::pair<int, void *>> cache;
	if (!every(10))
		return;
	void *p;
	DO(cudaMalloc(&p, MiB));
	cache.emplace_back(step, p);
	if (cache.size() > 200) {
		DO(cudaFree(cache.front().second));
		cache.pop_front();
	}
}

// A model that is loaded anew every few seconds, in layers.
APART void reload_model()
{
	static std::vector<void *> layers;
	if (!every(20))
		return;
	if (layers.size() == 30) {
		for (void *p : layers)
			DO(cudaFree(p));
		layers.clear();
	}
	void *p;
	DO(cudaMalloc(&p, 8 * MiB));
	layers.push_back(p);
}

struct Program {
	const char *name, *verdict, *site; // sites that are as right are divided by |
	void (*work)();
};

const Program programs[] = {
#ifdef HAS_CUBLAS
	{"cublas", "driver-growth", "answer_gemm|cublas", answer_gemm},
	{"gemm", "none", "-", one_handle},
#endif
#ifdef HAS_CUFFT
	{"cufft", "driver-growth", "plan_signal|cufft", plan_signal},
#endif
	{"managed", "app-leak", "share_result", share_result},
	{"registered", "host-growth", "pin_frame", pin_frame},
	{"textures", "app-leak", "load_texture", load_texture},
	{"mipmaps", "app-leak", "keep_mipmap", keep_mipmap},
	{"volumes", "app-leak", "keep_volume", keep_volume},
	{"segment", "app-leak", "Segment::extend", grow_segment},
	{"allocator", "app-leak", "from_driver", serve_cached},
	{"buffers", "app-leak", "Buffer::Buffer", run_layers},
	{"threads", "app-leak", "work_alone", start_thread},
	{"scratch", "app-leak", "Scratch::reserve", take_longest},
	{"ring", "host-growth", "Ring::push", write_out},
	{"callbacks", "host-growth", "-", send_message},
	{"graphs", "driver-growth", "build_graph", build_graph},
	{"modules", "driver-growth", "load_kernel", load_kernel},
	{"requests", "driver-growth", "track_request", track_request},
	{"tenants", "pool-growth", "-", serve_tenant},
	{"lru", "none", "-", cache_results},
	{"reload", "none", "-", reload_model},
};

void run(const Program &program, double seconds)
{
	using clock = std::chrono::steady_clock;
	void *model;
	DO(cudaMalloc(&model, 200 * MiB));
	DO(cudaMemset(model, 0, 200 * MiB));
	const auto end = clock::now() + std::chrono::duration<double>(seconds);
	for (; clock::now() < end; step++) {
		program.work();
		usleep(5000);
	}
}

} // namespace

int main(int argc, char **argv)
{
	const std::string name = argc > 1 ? argv[1] : "";
	double seconds = 20;
	for (int i = 2; i < argc; i++) {
		if (!std::strcmp(argv[i], "--healthy"))
			healthy = true;
		else if (!std::strcmp(argv[i], "--seconds") && i + 1 < argc)
			seconds = std::atof(argv[++i]);
	}
	for (const Program &program : programs) {
		if (name == "--list")
			std::printf("%s %s %s\n", program.name, program.verdict, program.site);
		if (name == program.name) {
			run(program, seconds);
			return 0;
		}
	}
	return name == "--list" ? 0 : 2;
}
