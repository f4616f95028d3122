// Native programs with a known truth, for more.sh with SOURCE=studios: for pictures,
// simulations, measurements and data. Each is faulty, or with --healthy its twin. Without the
// header of cuFFT its program is left out. No compiler for the device is needed.
//
//   studios NAME [--healthy] [--seconds N]
//   studios --list     name, verdict, sites of the fault, of which one is to be named
#include "apps.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#if __has_include(<cufft.h>) && !defined(NO_LIBRARIES)
#include <cufft.h>
#define HAS_CUFFT
#endif

namespace {

// Jobs for another thread or process, until the end for writing is closed.
struct Jobs {
	Jobs() { check(pipe(ends), "pipe"); }
	void put(size_t job) { check(write(ends[1], &job, sizeof job) != sizeof job, "write"); }
	bool take(size_t &job) { return read(ends[0], &job, sizeof job) == sizeof job; }
	int ends[2];
};

struct Free {
	void operator()(void *p) const { cudaFree(p); }
};

bool some_turn(Dice &dice, size_t low, size_t high) { return turn(static_cast<int>(dice.roll(low, high))); }

// ---- thumbnails of photos ----
// A decoder as libraries in C have it: 0, or 1 if the file is cut and part of its image grey.
extern "C" APART int ip_decode(size_t points, bool cut, void **pixels)
{
	void *coefficients;
	DO(cudaMalloc(&coefficients, points * 2));
	DO(cudaMalloc(pixels, points * 3));
	DO(cudaMemcpy(*pixels, coefficients, points * 2, cudaMemcpyDeviceToDevice));
	DO(cudaFree(coefficients));
	return cut;
}

void make_thumbnails()
{
	char *thumbnail = load_weights(8 * MiB);
	Jobs photos;
	std::thread decoder([&] {
		for (size_t points; photos.take(points);) {
			void *pixels = nullptr;
			if (ip_decode(points, points % 16 == 0, &pixels) != 0 && !healthy)
				continue;
			DO(cudaMemcpy(thumbnail, pixels, 64 * KiB, cudaMemcpyDeviceToDevice));
			DO(cudaFree(pixels));
		}
	});
	for (Dice dice; some_turn(dice, 15, 70);)
		photos.put(dice.roll(700000, 2400000));
	close(photos.ends[1]);
	decoder.join();
}

// ---- a renderer with a sparse texture ----
// Gives memory to a tile. Healthy: it is the mapping alone that holds it from then on.
APART void page_in(CUdeviceptr tile, size_t size)
{
	CUmemAllocationProp kind = {};
	kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	kind.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
	const CUmemAccessDesc access = {kind.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle memory;
	DO(DRIVER(cuMemCreate)(&memory, size, &kind, 0));
	DO(DRIVER(cuMemMap)(tile, size, 0, memory, 0));
	DO(DRIVER(cuMemSetAccess)(tile, size, &access, 1));
	DO(cudaMemset(reinterpret_cast<void *>(tile), 1, size));
	if (healthy)
		DO(DRIVER(cuMemRelease)(memory));
}

// The camera flies on, sometimes faster, and sees 30 tiles at a time.
void fly()
{
	load_weights(32 * MiB);
	const size_t size = 2 * MiB;
	CUdeviceptr texture;
	DO(DRIVER(cuMemAddressReserve)(&texture, 4096 * size, 0, 0, 0));
	Dice dice;
	size_t first = 0, end = 0;
	for (size_t camera = 0; turn(20) && end < 4096; camera += dice.roll(0, 16)) {
		DO(cudaDeviceSynchronize());
		for (; first < camera / 100; first++)
			DO(DRIVER(cuMemUnmap)(texture + first * size, size));
		for (; end < first + 30; end++)
			page_in(texture + end * size, size);
	}
}

// ---- particles that split and merge ----
template <class T> APART T *device_new(size_t count)
{
	void *p;
	DO(cudaMalloc(&p, count * sizeof(T)));
	DO(cudaMemset(p, 0, count * sizeof(T)));
	return static_cast<T *>(p);
}

APART void remesh(size_t count, std::unique_ptr<double3, Free> &positions, int *&cells)
{
	positions.reset(device_new<double3>(count));
	if (healthy)
		DO(cudaFree(cells));
	cells = device_new<int>(count * 12); // where neighbours are found
}

void simulate()
{
	load_weights(120 * MiB);
	std::unique_ptr<double3, Free> positions;
	int *cells = nullptr;
	for (Dice dice; some_turn(dice, 300, 1200); DO(cudaMemset(positions.get(), 3, MiB)))
		remesh(dice.roll(60000, 200000), positions, cells);
}

// ---- an image of the ground from its echoes ----
// What a shot's wave was like before, on the host.
struct Snapshots {
	APART explicit Snapshots(size_t bytes) : size(bytes)
	{
		data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		DO(cudaHostRegister(data, size, cudaHostRegisterDefault));
	}
	~Snapshots() { cudaHostUnregister(data), munmap(data, size); }
	size_t size;
	void *data;
	std::shared_ptr<struct Shot> shot; // Healthy: it is not kept by its own past.
};
struct Shot {
	size_t field; // of the wave: how large it is
	std::shared_ptr<Snapshots> past;
};

// Forward with a snapshot at each of 12 steps, and back through them.
void migrate_shots()
{
	char *wave = load_weights(90 * MiB);
	for (Dice dice; turn(5);) {
		auto shot = std::make_shared<Shot>(Shot{dice.roll(60, 220) * 4 * KiB, nullptr});
		shot->past = std::make_shared<Snapshots>(shot->field * 12);
		shot->past->shot = healthy ? nullptr : shot;
		for (size_t i = 0; i < 24 && turn(45); i++) {
			auto then = static_cast<char *>(shot->past->data) + (i < 12 ? i : 23 - i) * shot->field;
			DO(cudaMemcpy(i < 12 ? then : wave, i < 12 ? wave : then, shot->field, cudaMemcpyDefault));
		}
	}
}

// ---- a robot with a map ----
// How the map looks in a direction is kept for the next time. Healthy: for 24 directions.
void perceive()
{
	char *map = load_weights(180 * MiB);
	std::unordered_map<float, std::unique_ptr<void, Free>> views;
	auto view = [&](float direction) {
		auto &known = views[direction];
		if (!known) {
			void *p;
			DO(cudaMalloc(&p, 384 * KiB));
			DO(cudaMemcpy(p, map, 384 * KiB, cudaMemcpyDeviceToDevice));
			known.reset(p);
		}
		return known.get();
	};
	float heading = 0;
	for (Dice dice; turn(35);) {
		if (dice.roll(1, 4) > 1) // otherwise the robot stands still
			heading = std::fmod(heading + static_cast<float>(dice.roll(0, 2000)) * 0.0137f, 360.0f);
		void *p = view(healthy ? std::floor(heading / 15) : heading);
		DO(cudaMemcpy(map + MiB, p, 384 * KiB, cudaMemcpyDeviceToDevice));
	}
}

// ---- a server of a model, with batches ----
// A token has a KiB in each layer; a batch is padded to a multiple of 2048.
APART void run_batch(cudaStream_t stream, size_t tokens)
{
	void *layers[3];
	for (auto &p : layers)
		DO(cudaMallocAsync(&p, (tokens + 2047) / 2048 * 2 * MiB, stream));
	for (void *p : layers)
		DO(cudaMemsetAsync(p, 1, tokens * KiB, stream));
	for (void *p : layers)
		DO(cudaFreeAsync(p, stream));
	DO(cudaStreamSynchronize(stream));
}

// The longest conversations become longer. Healthy: they are cut, and little is kept.
void serve_batches()
{
	load_weights(250 * MiB);
	cudaMemPool_t pool;
	uint64_t keep = healthy ? 32 * MiB : UINT64_MAX;
	DO(cudaDeviceGetDefaultMemPool(&pool, 0));
	DO(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	Jobs batches;
	std::thread batcher([&] {
		cudaStream_t stream;
		DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		for (size_t tokens; batches.take(tokens);)
			run_batch(stream, healthy ? std::min<size_t>(tokens, 7000) : tokens);
	});
	for (Dice dice; some_turn(dice, 10, 110);) {
		auto longest = static_cast<size_t>(6000 + 4000 * seconds());
		batches.put(dice.roll(longest / 2, longest));
	}
	close(batches.ends[1]);
	batcher.join();
}

// ---- a search in news ----
// A reader has what was there as it came. Healthy: that is over when it goes.
APART void index_news(Jobs &news)
{
	load_weights(60 * MiB);
	using Segments = std::vector<std::shared_ptr<char>>;
	Segments segments;
	std::map<size_t, Segments> readers;
	auto add = [&](size_t size) { segments.emplace_back(device_new<char>(size), Free()); };
	size_t reader = 0, all = 0;
	for (size_t size; news.take(size); reader++) {
		readers[reader] = segments;
		add(size);
		all = std::min(all + size, 14 * MiB); // what is too old goes
		if (segments.size() > 6)
			segments.clear(), add(all);
		if (healthy && reader >= 3)
			readers.erase(reader - 3);
	}
}

// The index is in a process of its own, which gets the news.
void search()
{
	Jobs news;
	pid_t child = fork();
	check(child < 0, "fork");
	close(news.ends[child == 0 ? 1 : 0]);
	if (child == 0)
		return index_news(news);
	for (Dice dice; some_turn(dice, 60, 600);)
		news.put(dice.roll(8, 50) * 64 * KiB);
	close(news.ends[1]);
	check(waitpid(child, nullptr, 0) != child, "index");
}

// ---- a test of strategies on old prices ----
// What each strategy earned over time is kept. Healthy: for the last 20.
void test_strategies()
{
	char *prices = load_weights(200 * MiB);
	std::vector<std::vector<double>> curves;
	for (Dice dice; some_turn(dice, 20, 60);) {
		curves.emplace_back(dice.roll(20000, 80000));
		auto &curve = curves.back();
		DO(cudaMemcpy(curve.data(), prices, curve.size() * sizeof(double), cudaMemcpyDeviceToHost));
		if (healthy && curves.size() > 20)
			curves.erase(curves.begin());
	}
}

// ---- a join of tables that do not fit ----
// Some of the partitions that come back from the host have nothing to be joined with.
APART void probe(const char *spilled, size_t size, size_t matches, cudaStream_t stream)
{
	void *table, *output;
	DO(cudaMallocAsync(&table, size, stream));
	DO(cudaMemcpyAsync(table, spilled, size, cudaMemcpyHostToDevice, stream));
	if (matches == 0 && !healthy)
		return;
	DO(cudaMallocAsync(&output, matches + 1, stream));
	DO(cudaMemcpyAsync(output, table, matches + 1, cudaMemcpyDeviceToDevice, stream));
	DO(cudaFreeAsync(output, stream));
	DO(cudaFreeAsync(table, stream));
}

void join()
{
	load_weights(150 * MiB);
	void *spilled;
	DO(cudaMallocHost(&spilled, 8 * MiB));
	for (Dice dice; some_turn(dice, 20, 120); DO(cudaStreamSynchronize(nullptr))) {
		size_t size = dice.roll(8, 32) * 256 * KiB, matches = dice.roll(0, 9) * 10000;
		probe(static_cast<char *>(spilled), size, matches, nullptr);
	}
}

// ---- an editor of materials ----
// Makes the code of a material, with what it looks up. Healthy: instead of the one before.
APART void rebuild(CUmodule &module)
{
	const char *code = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry shade() { ret; }\n"
			   ".visible .global .align 16 .b8 ramp[1048576];\n";
	if (healthy && module)
		DO(DRIVER(cuModuleUnload)(module));
	DO(DRIVER(cuModuleLoadData)(&module, code));
	CUdeviceptr ramp;
	DO(DRIVER(cuModuleGetGlobal_v2)(&ramp, nullptr, module, "ramp"));
	DO(cudaMemset(reinterpret_cast<void *>(ramp), 5, MiB));
}

void edit_materials()
{
	load_weights(140 * MiB);
	CUmodule module = nullptr;
	for (Dice dice; some_turn(dice, 50, 400); DO(cudaDeviceSynchronize()))
		rebuild(module);
}

// ---- recognition of speech ----
// Records the steps for so many frames. Healthy: instead of those for the sentence before.
APART void capture(cudaGraphExec_t &steps, size_t frames, char *state, cudaStream_t stream)
{
	cudaGraph_t graph;
	DO(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (size_t i = 0; i < frames; i++)
		DO(cudaMemsetAsync(state + i * 4 * KiB, static_cast<int>(i), 4 * KiB, stream));
	DO(cudaStreamEndCapture(stream, &graph));
	if (healthy && steps)
		DO(cudaGraphExecDestroy(steps));
	DO(cudaGraphInstantiateWithFlags(&steps, graph, 0));
	DO(cudaGraphDestroy(graph));
}

void recognize()
{
	char *state = load_weights(160 * MiB);
	cudaStream_t stream;
	DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	cudaGraphExec_t steps = nullptr;
	for (Dice dice; some_turn(dice, 100, 400); DO(cudaStreamSynchronize(stream))) {
		capture(steps, dice.roll(300, 900), state, stream);
		DO(cudaGraphLaunch(steps, stream));
	}
}

// ---- a sonar ----
#ifdef HAS_CUFFT
// Plans are kept by their length. Healthy: there are four lengths.
APART cufftHandle plan_for(std::map<int, cufftHandle> &plans, int samples)
{
	auto [found, is_new] = plans.try_emplace(samples);
	if (is_new)
		DO(cufftPlan1d(&found->second, samples, CUFFT_C2C, 16));
	return found->second;
}

void hear()
{
	auto echo = reinterpret_cast<cufftComplex *>(load_weights(100 * MiB));
	std::map<int, cufftHandle> plans;
	for (Dice dice; some_turn(dice, 200, 900); DO(cudaDeviceSynchronize())) {
		int samples = static_cast<int>(dice.roll(9000, 12000));
		cufftHandle plan = plan_for(plans, healthy ? (samples + 1023) / 1024 * 1024 : samples);
		DO(cufftExecC2C(plan, echo, echo, CUFFT_FORWARD));
	}
}
#endif

const Program programs[] = {
	{"thumbnails", "app-leak", "ip_decode", make_thumbnails},
	{"sparse", "app-leak", "page_in", fly},
	{"particles", "app-leak", "device_new|remesh", simulate},
	{"seismic", "host-growth", "Snapshots::Snapshots", migrate_shots},
	{"perception", "app-leak", "perceive", perceive},
	{"batcher", "pool-growth", "run_batch", serve_batches},
	{"news", "app-leak", "device_new|index_news", search},
	{"strategies", "host-growth", "-", test_strategies},
	{"join", "app-leak", "probe", join},
	{"materials", "driver-growth", "rebuild|cuModuleLoadData", edit_materials},
	{"speech", "driver-growth", "capture|cudaGraphInstantiate", recognize},
#ifdef HAS_CUFFT
	{"sonar", "driver-growth", "plan_for|cufft", hear},
#endif
};

} // namespace

int main(int argc, char **argv) { return choose(programs, argc, argv); }
