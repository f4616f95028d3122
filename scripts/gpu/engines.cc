// Native engines with a known truth, for more.sh with SOURCE=engines: what a server of
// models builds upon the driver's mapped memory, its pools, graphs and modules. Each is
// faulty, or with --healthy its twin. No compiler for the device is needed.
//
//   engines NAME [--healthy] [--seconds N]
//   engines --list     name, verdict, sites of the fault, of which one is to be named
#include "apps.h"

#include <algorithm>
#include <array>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace {

// ---- adapters that hold each other ----

struct Slot;

// Weights for one tenant, loaded when it asks. It knows its slot, which knows it.
struct Adapter {
	APART explicit Adapter(size_t size) { DO(cudaMalloc(&weights, size)); }
	~Adapter() { cudaFree(weights); }
	void *weights;
	std::shared_ptr<Slot> slot;
};

struct Slot {
	std::shared_ptr<Adapter> adapter;
	std::weak_ptr<Adapter> seen;
};

std::shared_ptr<Adapter> load_adapter(size_t size)
{
	auto adapter = std::make_shared<Adapter>(size);
	adapter->slot = std::make_shared<Slot>();
	if (healthy)
		adapter->slot->seen = adapter;
	else
		adapter->slot->adapter = adapter;
	DO(cudaMemset(adapter->weights, 1, size));
	return adapter;
}

// Twenty tenants have their adapters loaded at a time; one that comes takes the place of
// another.
void serve_adapters()
{
	load_weights(300 * MiB);
	std::deque<std::shared_ptr<Adapter>> loaded;
	Dice dice;
	while (turn(300)) {
		loaded.push_back(load_adapter(dice.roll(8, 24) * 128 * KiB));
		if (loaded.size() > 20)
			loaded.pop_front();
	}
}

// ---- keys and values in mapped pages ----

// A range of addresses for one sequence, into which pages are mapped as it becomes longer.
class Sequence {
public:
	APART void add_page()
	{
		const CUmemAllocationProp kind = on_device();
		CUmemGenericAllocationHandle page;
		DO(DRIVER(cuMemCreate)(&page, size, &kind, 0));
		CUdeviceptr at = start() + pages.size() * size;
		DO(DRIVER(cuMemMap)(at, size, 0, page, 0));
		CUmemAccessDesc access = {kind.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
		DO(DRIVER(cuMemSetAccess)(at, size, &access, 1));
		pages.push_back(page);
	}
	// The addresses stay for the next sequence.
	void clear()
	{
		DO(DRIVER(cuMemUnmap)(start(), pages.size() * size));
		for (size_t i = 0; healthy && i < pages.size(); i++)
			DO(DRIVER(cuMemRelease)(pages[i]));
		pages.clear();
	}
	size_t length() const { return pages.size(); }

private:
	static constexpr size_t size = 2 * MiB, most = 32;
	static CUmemAllocationProp on_device()
	{
		CUmemAllocationProp kind = {};
		kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
		kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		return kind;
	}
	CUdeviceptr start()
	{
		if (!base)
			DO(DRIVER(cuMemAddressReserve)(&base, most * size, 0, 0, 0));
		return base;
	}
	CUdeviceptr base = 0;
	std::vector<CUmemGenericAllocationHandle> pages;
};

// Four sequences at a time, each of its own length.
void page_sequences()
{
	load_weights(300 * MiB);
	std::array<Sequence, 4> sequences;
	std::array<size_t, 4> lengths = {4, 7, 10, 13};
	Dice dice;
	for (size_t i = 0; turn(150); i++) {
		auto &sequence = sequences[i % 4];
		sequence.add_page();
		if (sequence.length() < lengths[i % 4])
			continue;
		sequence.clear();
		lengths[i % 4] = dice.roll(4, 16);
	}
}

// ---- graphs for shapes ----

// A graph for each shape that was asked for. Faulty: the length is a part of the shape, and
// they are all kept. Healthy: the last eight are.
class Graphs {
public:
	Graphs() : block(load_weights(8 * MiB)) { DO(cudaStreamCreate(&stream)); }
	void run(size_t batch, size_t tokens)
	{
		const auto shape = std::make_pair(batch, healthy ? 0 : tokens);
		auto found = std::find_if(recent.begin(), recent.end(),
			[&](const auto &entry) { return entry.first == shape; });
		if (found == recent.end())
			recent.emplace_front(shape, capture(batch));
		else
			recent.splice(recent.begin(), recent, found);
		DO(cudaGraphLaunch(recent.front().second, stream));
		DO(cudaStreamSynchronize(stream));
		if (healthy && recent.size() > 8) {
			DO(cudaGraphExecDestroy(recent.back().second));
			recent.pop_back();
		}
	}

private:
	APART cudaGraphExec_t capture(size_t batch)
	{
		cudaGraph_t graph;
		cudaGraphExec_t instance;
		DO(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
		for (size_t layer = 0; layer < 100; layer++)
			DO(cudaMemsetAsync(block + layer * 64 * KiB, 1, batch * KiB, stream));
		DO(cudaStreamEndCapture(stream, &graph));
		DO(cudaGraphInstantiateWithFlags(&instance, graph, 0));
		DO(cudaGraphDestroy(graph));
		return instance;
	}
	char *block;
	cudaStream_t stream;
	std::list<std::pair<std::pair<size_t, size_t>, cudaGraphExec_t>> recent;
};

void run_shapes()
{
	load_weights(200 * MiB);
	Graphs graphs;
	Dice dice;
	while (turn(50))
		graphs.run(dice.roll(1, 16), dice.roll(1, 100000));
}

// ---- results that are handed from stream to stream ----

struct Result {
	void *data;
	cudaEvent_t ready;
};

// Workers' streams make results; another one takes them in, and frees them. One of fifty
// comes too late for its deadline: who takes in skips it.
class Pipeline {
public:
	Pipeline()
	{
		for (auto &stream : producers)
			DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		DO(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
	}
	APART void produce(size_t size)
	{
		cudaStream_t stream = producers[made++ % producers.size()];
		Result result;
		DO(cudaMallocAsync(&result.data, size, stream));
		DO(cudaMemsetAsync(result.data, 1, size, stream));
		DO(cudaEventCreateWithFlags(&result.ready, cudaEventDisableTiming));
		DO(cudaEventRecord(result.ready, stream));
		waiting.push_back(result);
	}
	void consume()
	{
		for (; !waiting.empty(); waiting.pop_front(), taken++) {
			const Result &result = waiting.front();
			DO(cudaStreamWaitEvent(consumer, result.ready, 0));
			DO(cudaEventDestroy(result.ready));
			bool late = taken % 50 == 49;
			if (!late || healthy)
				DO(cudaFreeAsync(result.data, consumer));
		}
		DO(cudaStreamSynchronize(consumer));
	}

private:
	std::array<cudaStream_t, 8> producers;
	cudaStream_t consumer;
	std::deque<Result> waiting;
	size_t made = 0, taken = 0;
};

void hand_over()
{
	load_weights(200 * MiB);
	Pipeline pipeline;
	Dice dice;
	while (turn(40)) {
		for (size_t n = dice.roll(0, 1) * dice.roll(1, 40); n > 0; n--)
			pipeline.produce(dice.roll(2, 8) * 128 * KiB);
		pipeline.consume();
	}
}

// ---- a pool that keeps what it had ----

// A batch needs workspaces for a moment, which become longer with what users send. The
// driver's pool is told to keep all. Healthy: there is a longest, and the pool is trimmed.
class Workspaces {
public:
	Workspaces()
	{
		cuuint64_t all = ~0ull;
		DO(cudaDeviceGetDefaultMemPool(&pool, 0));
		DO(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
	}
	APART void run_batch(size_t size)
	{
		std::array<void *, 12> spaces;
		for (auto &p : spaces) {
			DO(cudaMallocAsync(&p, size, nullptr));
			DO(cudaMemsetAsync(p, 0, size, nullptr));
		}
		for (void *p : spaces)
			DO(cudaFreeAsync(p, nullptr));
		DO(cudaStreamSynchronize(nullptr));
		if (healthy)
			DO(cudaMemPoolTrimTo(pool, 0));
	}

private:
	cudaMemPool_t pool;
};

void run_batches()
{
	load_weights(300 * MiB);
	Workspaces workspaces;
	Dice dice;
	while (turn(150)) {
		double longest = healthy ? std::min(seconds(), 8.) : seconds();
		size_t most = 2 * MiB + static_cast<size_t>(longest * MiB);
		workspaces.run_batch(most / 4 * dice.roll(1, 4));
	}
}

// ---- sound ones that look like faults ----

struct Variant {
	CUmodule module;
	CUfunction kernel;
};

APART Variant load_variant(size_t number)
{
	const std::string size = std::to_string((number + 1) * 65536);
	const std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n"
				 ".visible .global .align 4 .b8 table[" + size + "];\n"
				 ".visible .entry tuned()\n{\n\tret;\n}\n";
	Variant variant;
	DO(DRIVER(cuModuleLoadData)(&variant.module, text.c_str()));
	DO(DRIVER(cuModuleGetFunction)(&variant.kernel, variant.module, "tuned"));
	return variant;
}

void launch(const Variant &variant)
{
	DO(DRIVER(cuLaunchKernel)(variant.kernel, 32, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr));
	DO(cudaDeviceSynchronize());
}

// Within the first eight seconds forty variants of a kernel are loaded and tried, with a
// workspace for each; the best is kept.
void tune()
{
	load_weights(200 * MiB);
	std::vector<Variant> variants;
	std::vector<void *> workspaces;
	while (variants.size() < 40 && turn(200)) {
		variants.push_back(load_variant(variants.size()));
		workspaces.push_back(load_weights(4 * MiB));
		launch(variants.back());
	}
	while (variants.size() > 1) {
		DO(DRIVER(cuModuleUnload)(variants.back().module));
		DO(cudaFree(workspaces.back()));
		variants.pop_back();
		workspaces.pop_back();
	}
	while (turn(20))
		launch(variants.front());
}

const Program programs[] = {
	{"adapters", "app-leak", "Adapter::Adapter|load_adapter", serve_adapters},
	{"paged", "app-leak", "Sequence::add_page", page_sequences},
	{"shapes", "driver-growth", "Graphs::capture", run_shapes},
	{"handover", "app-leak", "Pipeline::produce", hand_over},
	{"workspaces", "pool-growth", "-", run_batches},
	{"tuning", "none", "-", tune},
};

} // namespace

int main(int argc, char **argv) { return choose(programs, argc, argv); }
