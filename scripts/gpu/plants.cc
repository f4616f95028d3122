// Native programs with a known truth, for more.sh with SOURCE=plants, written without a look at
// what finds their faults: genomes, drawings, games, markets, the sky, screens and robots. Each
// is faulty, or with --healthy its twin. No compiler for the device is needed.
//
//   plants NAME [--healthy] [--seconds N]
//   plants --list     name, verdict, sites of the fault, of which one is to be named
#include "apps.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

extern char **environ;

namespace {

bool some_turn(Dice &dice, size_t low, size_t high) { return turn(static_cast<int>(dice.roll(low, high))); }

// ---- an aligner of reads to a genome ----
// Reads as they come from the sequencer: a byte for a base and its quality.
class Reads {
public:
	Reads() = default;
	APART Reads(size_t count, size_t bases) : size(count * bases)
	{
		DO(cudaMalloc(&codes, size));
		DO(cudaMemset(codes, 'A', size));
	}
	Reads(Reads &&other) noexcept : codes(std::exchange(other.codes, nullptr)), size(other.size) {}
	Reads &operator=(Reads &&other) noexcept
	{
		if (healthy)
			cudaFree(codes);
		codes = std::exchange(other.codes, nullptr);
		size = other.size;
		return *this;
	}
	~Reads() { cudaFree(codes); }
	void seed(const char *genome) const
	{
		DO(cudaMemcpy(codes, genome, std::min(size, MiB), cudaMemcpyDeviceToDevice));
	}

private:
	void *codes = nullptr;
	size_t size = 0;
};

// Two batches are ahead of the one that is aligned.
void align()
{
	char *genome = load_weights(190 * MiB);
	std::deque<Reads> ahead;
	Reads current;
	const size_t lengths[] = {75, 100, 150, 250};
	for (Dice dice; some_turn(dice, 150, 700);) {
		while (ahead.size() < 3)
			ahead.emplace_back(dice.roll(12000, 50000), lengths[dice.roll(0, 3)]);
		current = std::move(ahead.front());
		ahead.pop_front();
		current.seed(genome);
	}
}

// ---- a kernel of a CAD program ----
struct Face {
	size_t u, v;
	bool pole; // where the surface has no normal
};

struct Mesh {
	size_t count;
	float3 *points;
};

// The points are read by the host, too.
APART Mesh tessellate(const Face &face)
{
	const size_t count = face.u * face.v;
	void *points;
	DO(cudaMallocManaged(&points, count * sizeof(float3), cudaMemAttachGlobal));
	DO(cudaMemset(points, 0, count * sizeof(float3)));
	DO(cudaDeviceSynchronize());
	if (face.pole) {
		if (healthy)
			DO(cudaFree(points));
		throw std::domain_error("no normal at the pole");
	}
	return {count, static_cast<float3 *>(points)};
}

// A face that cannot be drawn is shown by its edges.
void draw_solids()
{
	char *screen = load_weights(110 * MiB);
	double area = 0;
	size_t edges = 0;
	for (Dice dice; some_turn(dice, 20, 90);) {
		const Face face = {dice.roll(200, 700), dice.roll(200, 700), dice.roll(1, 6) == 1};
		try {
			Mesh mesh = tessellate(face);
			area += mesh.points[mesh.count / 2].x;
			DO(cudaMemcpy(screen, mesh.points, 256 * KiB, cudaMemcpyDefault));
			DO(cudaFree(mesh.points));
		} catch (const std::domain_error &) {
			edges++;
			DO(cudaMemset(screen, 0, (face.u + face.v) * 4));
		}
	}
	std::printf("area %g, %zu faces by their edges\n", area, edges);
}

// ---- a game in a valley ----
struct Chunk {
	cudaArray_t cells = nullptr;
	int detail = -1;
};

// The cells of a chunk: 128 in each direction, or half as many, or a quarter.
APART cudaArray_t upload_cells(std::vector<uint16_t> &generated, int detail)
{
	const size_t edge = 128u >> detail;
	const cudaChannelFormatDesc kind = {16, 0, 0, 0, cudaChannelFormatKindUnsigned};
	cudaArray_t cells;
	DO(cudaMalloc3DArray(&cells, &kind, cudaExtent{edge, edge, edge}, 0));
	cudaMemcpy3DParms copy = {};
	copy.srcPtr = {generated.data(), edge * sizeof(uint16_t), edge, edge};
	copy.dstArray = cells;
	copy.extent = {edge, edge, edge};
	copy.kind = cudaMemcpyHostToDevice;
	DO(cudaMemcpy3D(&copy));
	return cells;
}

// What is near is seen in detail; what is far behind is forgotten.
APART void look_around(std::map<int, Chunk> &chunks, int here, std::vector<uint16_t> &generated)
{
	while (!chunks.empty() && chunks.begin()->first < here - 4) {
		DO(cudaFreeArray(chunks.begin()->second.cells));
		chunks.erase(chunks.begin());
	}
	for (int at = here - 4; at <= here + 4; at++) {
		const int detail = std::abs(at - here) / 2;
		Chunk &chunk = chunks[at];
		if (chunk.detail == detail)
			continue;
		if (healthy && chunk.cells)
			DO(cudaFreeArray(chunk.cells));
		chunk.cells = upload_cells(generated, detail);
		chunk.detail = detail;
	}
}

void walk()
{
	char *picture = load_weights(70 * MiB);
	std::vector<uint16_t> generated(128 * 128 * 128, 7);
	std::map<int, Chunk> chunks;
	size_t walked = 0;
	for (Dice dice; some_turn(dice, 20, 80); walked += dice.roll(0, 30)) {
		look_around(chunks, static_cast<int>(walked / 128), generated);
		DO(cudaMemset(picture, static_cast<int>(walked & 255), 8 * MiB));
	}
	for (auto &chunk : chunks)
		DO(cudaFreeArray(chunk.second.cells));
}

// ---- a database of columns ----
// Grows in place, as its addresses are reserved.
class Column {
public:
	Column() { DO(DRIVER(cuMemAddressReserve)(&base, 64 * piece, 0, 0, 0)); }
	~Column()
	{
		truncate(0);
		DO(DRIVER(cuMemAddressFree)(base, 64 * piece));
	}
	size_t count() const { return pieces.size(); }

	APART void grow(size_t more)
	{
		CUmemAllocationProp kind = {};
		kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
		kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		CUmemAccessDesc access = {};
		access.location = kind.location;
		access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		for (; more > 0; more--) {
			const CUdeviceptr end = base + count() * piece;
			CUmemGenericAllocationHandle memory;
			DO(DRIVER(cuMemCreate)(&memory, piece, &kind, 0));
			DO(DRIVER(cuMemMap)(end, piece, 0, memory, 0));
			DO(DRIVER(cuMemSetAccess)(end, piece, &access, 1));
			DO(cudaMemset(reinterpret_cast<void *>(end), 0, piece));
			pieces.push_back(memory);
		}
	}

	void truncate(size_t rest)
	{
		DO(cudaDeviceSynchronize());
		for (; count() > rest; pieces.pop_back()) {
			DO(DRIVER(cuMemUnmap)(base + (count() - 1) * piece, piece));
			if (healthy)
				DO(DRIVER(cuMemRelease)(pieces.back()));
		}
	}

private:
	static constexpr size_t piece = 2 * MiB;
	CUdeviceptr base = 0;
	std::vector<CUmemGenericAllocationHandle> pieces;
};

// What is new is written to a column, and when there is much of it, it is merged into the table.
void ingest()
{
	load_weights(130 * MiB);
	Column news;
	for (Dice dice; some_turn(dice, 200, 800);) {
		news.grow(dice.roll(1, 3));
		if (news.count() > 14)
			news.truncate(dice.roll(2, 6));
	}
}

// ---- a desk for options ----
// The paths of prices of each instrument are drawn ahead, on a stream of their own.
class Desk {
public:
	explicit Desk(size_t instruments) : ahead(instruments)
	{
		DO(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
		DO(cudaStreamCreateWithFlags(&main, cudaStreamNonBlocking));
	}
	~Desk()
	{
		for (void *paths : ahead)
			if (paths)
				DO(cudaFreeAsync(paths, side));
		DO(cudaStreamDestroy(side));
		DO(cudaStreamDestroy(main));
	}

	APART void draw_paths(size_t instrument, size_t paths)
	{
		const size_t size = paths * 16 * sizeof(float);
		if (healthy && ahead[instrument])
			DO(cudaFreeAsync(ahead[instrument], side));
		DO(cudaMallocAsync(&ahead[instrument], size, side));
		DO(cudaMemsetAsync(ahead[instrument], 1, size, side));
	}

	void price(size_t instrument, char *greeks)
	{
		DO(cudaStreamSynchronize(side));
		void *paths = std::exchange(ahead[instrument], nullptr);
		DO(cudaMemcpyAsync(greeks, paths, 64 * KiB, cudaMemcpyDeviceToDevice, main));
		DO(cudaFreeAsync(paths, main));
		DO(cudaStreamSynchronize(main));
	}

private:
	std::vector<void *> ahead;
	cudaStream_t side, main;
};

// Sometimes the market moves before a price is asked for, and the paths are drawn anew.
void quote()
{
	char *greeks = load_weights(85 * MiB);
	const size_t counts[] = {16384, 32768, 32768, 65536};
	Dice dice;
	Desk desk(12);
	for (size_t i = 0; i < 12; i++)
		desk.draw_paths(i, counts[i % 4]);
	while (some_turn(dice, 30, 120)) {
		const size_t instrument = dice.roll(0, 11), paths = counts[dice.roll(0, 3)];
		if (dice.roll(1, 4) > 1)
			desk.price(instrument, greeks);
		desk.draw_paths(instrument, paths);
	}
}

// ---- a search for pulsars ----
// What a thread needs while it works. Healthy: it goes with its thread.
struct Scratch {
	~Scratch()
	{
		if (healthy)
			cudaFree(data);
	}
	void *data = nullptr;
	size_t size = 0;
};
thread_local Scratch scratch;

APART void *scratch_for(size_t size)
{
	if (size > scratch.size) {
		DO(cudaFree(scratch.data));
		DO(cudaMalloc(&scratch.data, size));
		scratch.size = size;
	}
	return scratch.data;
}

// One beam at several dispersions, each of which needs less than the one before.
APART void dedisperse(const char *spectra, size_t samples)
{
	for (size_t channels = 32; channels >= 4; channels /= 2) {
		void *sums = scratch_for(samples * channels);
		DO(cudaMemcpy(sums, spectra, samples, cudaMemcpyDeviceToDevice));
		usleep(8000);
	}
}

void search_sky()
{
	char *spectra = load_weights(220 * MiB);
	for (Dice dice; some_turn(dice, 250, 900);) {
		std::vector<std::thread> beams;
		for (size_t i = dice.roll(2, 4); i > 0; i--)
			beams.emplace_back(dedisperse, spectra + i * 16 * MiB, dice.roll(32, 128) * KiB);
		for (auto &beam : beams)
			beam.join();
	}
}

// ---- a wall of screens ----
struct Ring {
	void *frames[3];
	size_t size, until; // the frame of the wall after which nobody reads it
};

// A camera, which comes back with another size when its line was bad.
class Source {
public:
	APART void connect(size_t width, size_t height, size_t shown)
	{
		if (ring.size > 0) {
			ring.until = shown + 4;
			retired.push_back(ring);
		}
		ring.size = width * height * 3 / 2;
		for (auto &frame : ring.frames) {
			DO(cudaHostAlloc(&frame, ring.size, cudaHostAllocWriteCombined));
			std::memset(frame, 16, ring.size);
		}
	}
	void collect(size_t shown)
	{
		while (!retired.empty() && retired.front().until <= shown) {
			for (void *frame : retired.front().frames)
				DO(cudaFreeHost(frame));
			retired.pop_front();
		}
	}
	void show(char *screen, size_t shown) const
	{
		if (ring.size > 0)
			DO(cudaMemcpy(screen, ring.frames[shown % 3], ring.size, cudaMemcpyHostToDevice));
	}

private:
	Ring ring = {};
	std::deque<Ring> retired;
};

void show_wall()
{
	char *wall = load_weights(64 * MiB);
	const size_t sizes[][2] = {{640, 360}, {854, 480}, {960, 540}, {1280, 720}};
	std::vector<Source> sources(6);
	Dice dice;
	size_t shown = 0;
	for (; some_turn(dice, 25, 50); shown++) {
		if (shown < 6 || dice.roll(1, 9) == 1) {
			const auto &size = sizes[dice.roll(0, 3)];
			sources[shown < 6 ? shown : dice.roll(0, 5)].connect(size[0], size[1], shown);
		}
		for (size_t i = 0; i < 6; i++) {
			sources[i].show(wall + i * 2 * MiB, shown);
			if (healthy)
				sources[i].collect(shown);
		}
	}
	for (auto &source : sources)
		source.collect(shown + 4);
}

// ---- a compiler that fuses operations ----
struct Lowered {
	std::string listing;
	std::vector<uint32_t> code;
};

// The graphs of a model are few, but each of its calls numbers the values anew.
Lowered &lower(std::map<std::string, Lowered> &known, size_t graph, size_t first_value)
{
	std::string key = "graph" + std::to_string(graph);
	if (!healthy)
		key += "(%" + std::to_string(first_value) + ")";
	Lowered &result = known[key];
	for (size_t i = result.code.size(); i < 18000 + graph * 4000; i++) {
		result.code.push_back(static_cast<uint32_t>(i * 2654435761u));
		result.listing += "fma r" + std::to_string(i % 64) + "\n";
	}
	return result;
}

void fuse()
{
	char *instructions = load_weights(100 * MiB);
	std::map<std::string, Lowered> known;
	size_t value = 0;
	for (Dice dice; some_turn(dice, 20, 80); value += dice.roll(10, 200)) {
		const Lowered &lowered = lower(known, dice.roll(0, 15), value);
		const size_t size = lowered.code.size() * sizeof(uint32_t);
		DO(cudaMemcpy(instructions, lowered.code.data(), size, cudaMemcpyHostToDevice));
	}
}

// ---- questions to a graph ----
// The vertices of one level stay until the way back is known.
APART void *expand_level(size_t vertices, cudaStream_t stream)
{
	void *level;
	DO(cudaMallocAsync(&level, vertices * 16, stream));
	DO(cudaMemsetAsync(level, 0, vertices * 16, stream));
	return level;
}

void find_way(Dice &dice, size_t depth, cudaStream_t stream)
{
	std::vector<void *> levels;
	while (levels.size() < depth)
		levels.push_back(expand_level(dice.roll(120, 480) * KiB, stream));
	for (; !levels.empty(); levels.pop_back())
		DO(cudaFreeAsync(levels.back(), stream));
	DO(cudaStreamSynchronize(stream));
}

// The graph gets deeper with what is added. Healthy: ways are sought from both ends up to a
// length, and little is kept.
void traverse()
{
	load_weights(170 * MiB);
	cudaMemPool_t pool;
	uint64_t keep = healthy ? 32 * MiB : UINT64_MAX;
	DO(cudaDeviceGetDefaultMemPool(&pool, 0));
	DO(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	cudaStream_t stream;
	DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (Dice dice; some_turn(dice, 40, 260);) {
		const auto deepest = static_cast<size_t>(8 + 3 * seconds());
		const size_t depth = dice.roll(1, 3) == 1 ? deepest : dice.roll(3, deepest);
		find_way(dice, healthy ? std::min<size_t>(depth, 12) : depth, stream);
	}
	DO(cudaStreamDestroy(stream));
}

// ---- a server of matches ----
// A match has a stream and a pool, so that none waits for another.
class Match {
public:
	explicit Match(size_t players) : players(players)
	{
		cudaMemPoolProps kind = {};
		kind.allocType = cudaMemAllocationTypePinned;
		kind.location.type = cudaMemLocationTypeDevice;
		uint64_t keep = UINT64_MAX;
		DO(cudaMemPoolCreate(&pool, &kind));
		DO(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
		DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	}
	~Match()
	{
		DO(cudaStreamSynchronize(stream));
		DO(cudaStreamDestroy(stream));
		if (healthy)
			DO(cudaMemPoolDestroy(pool));
	}
	APART void step(size_t contacts) const
	{
		void *pairs, *impulses;
		DO(cudaMallocFromPoolAsync(&pairs, players * contacts * 64, pool, stream));
		DO(cudaMallocFromPoolAsync(&impulses, players * contacts * 32, pool, stream));
		DO(cudaMemsetAsync(pairs, 0, players * contacts * 64, stream));
		DO(cudaMemsetAsync(impulses, 0, players * contacts * 32, stream));
		DO(cudaFreeAsync(impulses, stream));
		DO(cudaFreeAsync(pairs, stream));
	}

private:
	size_t players;
	cudaMemPool_t pool;
	cudaStream_t stream;
};

// Three matches at a time; the oldest ends when the next begins.
void serve_matches()
{
	load_weights(95 * MiB);
	std::deque<std::unique_ptr<Match>> matches;
	Dice dice;
	double next = 0;
	while (some_turn(dice, 12, 25)) {
		if (seconds() >= next) {
			next = seconds() + static_cast<double>(dice.roll(1100, 2100)) / 1000;
			matches.push_back(std::make_unique<Match>(dice.roll(24, 64)));
			if (matches.size() > 3)
				matches.pop_front();
		}
		for (auto &match : matches)
			match->step(dice.roll(1500, 4000));
	}
}

// ---- a synthesizer ----
// A note that sounds; what it adds is mixed when its event has come.
class Voice {
public:
	APART Voice(char *wave, size_t samples, double end) : wave(wave), samples(samples), end(end)
	{
		DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		DO(cudaEventCreateWithFlags(&rendered, cudaEventDisableTiming));
	}
	~Voice()
	{
		DO(cudaEventSynchronize(rendered));
		DO(cudaEventDestroy(rendered));
		if (healthy)
			DO(cudaStreamDestroy(stream));
	}
	void render() const
	{
		DO(cudaMemsetAsync(wave, 3, samples, stream));
		DO(cudaEventRecord(rendered, stream));
	}
	bool silent() const { return seconds() >= end; }

private:
	char *wave;
	size_t samples;
	double end;
	cudaStream_t stream;
	cudaEvent_t rendered;
};

void play()
{
	char *waves = load_weights(75 * MiB);
	std::vector<std::unique_ptr<Voice>> voices;
	const size_t samples[] = {1024, 2048, 4096};
	for (Dice dice; some_turn(dice, 15, 50);) {
		const double end = seconds() + static_cast<double>(dice.roll(150, 900)) / 1000;
		char *wave = waves + dice.roll(0, 60) * MiB;
		voices.push_back(std::make_unique<Voice>(wave, samples[dice.roll(0, 2)], end));
		for (auto &voice : voices)
			voice->render();
		auto silent = [](const auto &voice) { return voice->silent(); };
		voices.erase(std::remove_if(voices.begin(), voices.end(), silent), voices.end());
	}
}

// ---- an arm that plans ahead ----
// The steps up to the horizon, one after the other.
APART cudaGraphExec_t plan_horizon(char *states, size_t steps)
{
	cudaGraph_t graph;
	cudaGraphNode_t node = nullptr;
	DO(cudaGraphCreate(&graph, 0));
	for (size_t i = 0; i < steps; i++) {
		cudaMemsetParams step = {};
		step.dst = states + i * 4 * KiB;
		step.elementSize = 4;
		step.width = 1024;
		step.height = 1;
		step.value = static_cast<unsigned>(i);
		const cudaGraphNode_t before = node;
		DO(cudaGraphAddMemsetNode(&node, graph, &before, i > 0, &step));
	}
	cudaGraphExec_t plan;
	DO(cudaGraphInstantiateWithFlags(&plan, graph, 0));
	DO(cudaGraphDestroy(graph));
	return plan;
}

// When something is in the way the horizon is another.
void move_arm()
{
	char *states = load_weights(55 * MiB);
	cudaStream_t stream;
	DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	cudaGraphExec_t plan = nullptr;
	for (Dice dice; some_turn(dice, 10, 30); DO(cudaStreamSynchronize(stream))) {
		if (!plan || dice.roll(1, 2) == 1) {
			cudaGraphExec_t next = plan_horizon(states, dice.roll(40, 160));
			if (healthy && plan)
				DO(cudaGraphExecDestroy(plan));
			plan = next;
		}
		DO(cudaGraphLaunch(plan, stream));
	}
	if (plan)
		DO(cudaGraphExecDestroy(plan));
	DO(cudaStreamDestroy(stream));
}

// ---- an agent that learns in simulated worlds ----
// A world is a process without a device; what happens in it is kept on ours.
class World {
public:
	APART explicit World(size_t size) : size(size)
	{
		int ends[2];
		DO(cudaMalloc(&rollout, size));
		DO(cudaMemset(rollout, 0, size));
		check(pipe2(ends, O_CLOEXEC), "pipe");
		std::string program = "/proc/self/exe", option = "--worker", number = "1";
		char *args[] = {program.data(), self.data(), option.data(), number.data(), nullptr};
		posix_spawn_file_actions_t actions;
		check(posix_spawn_file_actions_init(&actions), "actions");
		check(posix_spawn_file_actions_adddup2(&actions, ends[0], 0), "actions");
		check(posix_spawn(&process, program.c_str(), &actions, nullptr, args, environ), "spawn");
		posix_spawn_file_actions_destroy(&actions);
		close(ends[0]);
		actions_to = ends[1];
	}
	~World()
	{
		close(actions_to);
		check(waitpid(process, nullptr, 0) != process, "world");
		DO(cudaFree(rollout));
	}
	void act(char action)
	{
		check(write(actions_to, &action, 1) != 1, "write");
		DO(cudaMemset(static_cast<char *>(rollout) + steps++ * 4 * KiB % size, action, 4 * KiB));
	}

private:
	size_t size, steps = 0;
	void *rollout;
	pid_t process;
	int actions_to;
};

void simulate_world()
{
	std::vector<char> state(512 * KiB, 1);
	for (char action; read(0, &action, 1) == 1;)
		state[static_cast<size_t>(action) * 1000] ^= 1;
}

// Four worlds at a time. Healthy: one whose episode is over is ended.
void learn()
{
	if (worker >= 0)
		return simulate_world();
	load_weights(145 * MiB);
	std::vector<std::unique_ptr<World>> worlds(4), finished;
	Dice dice;
	double next = 0;
	for (size_t episode = 0; some_turn(dice, 15, 40);) {
		if (episode < 4 || seconds() >= next) {
			auto &world = worlds[episode++ % 4];
			if (world && !healthy)
				finished.push_back(std::move(world));
			world = std::make_unique<World>(dice.roll(8, 32) * 256 * KiB);
			next = seconds() + static_cast<double>(dice.roll(400, 900)) / 1000;
		}
		for (auto &world : worlds)
			if (world)
				world->act(static_cast<char>(dice.roll(0, 100)));
	}
}

// ---- a film in several sizes ----
// A picture and the one before it, for what has moved.
struct Pictures {
	void *now = nullptr, *before = nullptr;
	size_t size = 0;
};

// The picture that was last shown is the one before until there is another.
APART void resize(Pictures &pictures, size_t size)
{
	if (healthy)
		DO(cudaFree(pictures.before));
	pictures.before = pictures.now;
	if (pictures.before && pictures.size < size) {
		void *larger;
		DO(cudaMalloc(&larger, size));
		DO(cudaMemcpy(larger, pictures.before, pictures.size, cudaMemcpyDeviceToDevice));
		DO(cudaFree(pictures.before));
		pictures.before = larger;
	}
	DO(cudaMalloc(&pictures.now, size));
	pictures.size = size;
}

void encode(int parts)
{
	char *coder = load_weights(40 * MiB);
	Pictures pictures;
	for (size_t size; read(parts, &size, sizeof size) == sizeof size;) {
		if (size != pictures.size)
			resize(pictures, size);
		DO(cudaMemset(pictures.now, 8, size));
		DO(cudaMemcpy(coder, pictures.now, MiB, cudaMemcpyDeviceToDevice));
		if (pictures.before)
			std::swap(pictures.now, pictures.before);
	}
	DO(cudaFree(pictures.now));
	DO(cudaFree(pictures.before));
}

// Two of three encoders have films, of one size each; the third has what is sent from the
// street, where the size changes with the line.
void transcode()
{
	const size_t sizes[] = {640 * 360 * 6, 854 * 480 * 6, 960 * 540 * 6, 1280 * 720 * 6};
	int pipes[3][2];
	pid_t encoders[3];
	for (auto &ends : pipes)
		check(pipe(ends), "pipe");
	for (int i = 0; i < 3; i++) {
		encoders[i] = fork();
		check(encoders[i] < 0, "fork");
		if (encoders[i] == 0) {
			for (auto &ends : pipes)
				close(ends[1]);
			return encode(pipes[i][0]);
		}
	}
	size_t live = sizes[0];
	for (Dice dice; some_turn(dice, 80, 260);) {
		if (dice.roll(1, 3) == 1)
			live = sizes[dice.roll(0, 3)];
		const size_t parts[] = {sizes[3], live, sizes[1]};
		for (int i = 0; i < 3; i++)
			check(write(pipes[i][1], &parts[i], sizeof parts[i]) != sizeof parts[i], "write");
	}
	for (auto &ends : pipes)
		close(ends[1]);
	for (pid_t encoder : encoders) {
		int status = 1;
		check(waitpid(encoder, &status, 0) != encoder || status != 0, "encoder");
	}
}

const Program programs[] = {
	{"aligner", "app-leak", "Reads::Reads", align},
	{"tessellator", "app-leak", "tessellate", draw_solids},
	{"terrain", "app-leak", "upload_cells|look_around", walk},
	{"columns", "app-leak", "Column::grow", ingest},
	{"options", "app-leak", "Desk::draw_paths", quote},
	{"pulsars", "app-leak", "scratch_for|dedisperse", search_sky},
	{"videowall", "host-growth", "Source::connect", show_wall},
	{"fusion", "host-growth", "-", fuse},
	{"traversal", "pool-growth", "expand_level", traverse},
	{"matches", "pool-growth", "Match::step", serve_matches},
	{"voices", "driver-growth", "Voice::Voice|cudaStreamCreate", play},
	{"arm", "driver-growth", "plan_horizon|cudaGraphInstantiate", move_arm},
	{"worlds", "app-leak", "World::World", learn},
	{"renditions", "app-leak", "resize", transcode},
};

} // namespace

int main(int argc, char **argv) { return choose(programs, argc, argv); }
