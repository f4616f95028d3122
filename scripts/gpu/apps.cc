// Native applications with a known truth, for more.sh with SOURCE=apps: a renderer, a
// decoder, solvers, a training and their like, each with a loop as such programs have it.
// Each is faulty, or with --healthy its twin. No compiler for the device is needed.
//
//   apps NAME [--healthy] [--seconds N]
//   apps --list        name, verdict, sites of the fault, of which one is to be named
#include "apps.h"

#include <algorithm>
#include <array>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <vector>

namespace {

// ---- a renderer that streams textures ----

// An image and its smaller levels, each an array of its own.
class Texture {
public:
	explicit Texture(size_t number) : number(number) {}
	APART void upload(const std::vector<char> &pixels)
	{
		const cudaChannelFormatDesc bytes = {8, 8, 8, 8, cudaChannelFormatKindUnsigned};
		for (size_t side = 1024; side >= 32; side /= 2) {
			cudaArray_t level;
			DO(cudaMallocArray(&level, &bytes, side, side, 0));
			DO(cudaMemcpy2DToArray(level, 0, 0, pixels.data(), side * 4, side * 4, side,
				cudaMemcpyHostToDevice));
			levels.push_back(level);
		}
	}
	void evict()
	{
		DO(cudaFreeArray(levels[0]));
		for (size_t i = 1; healthy && i < levels.size(); i++)
			DO(cudaFreeArray(levels[i]));
	}
	const size_t number;

private:
	std::vector<cudaArray_t> levels;
};

// The textures that were drawn last, so many.
class TextureCache {
public:
	void draw(size_t number)
	{
		auto found = std::find_if(recent.begin(), recent.end(),
			[&](const Texture &t) { return t.number == number; });
		if (found != recent.end()) {
			recent.splice(recent.begin(), recent, found);
			return;
		}
		recent.emplace_front(number);
		recent.front().upload(pixels);
		if (recent.size() > 40) {
			recent.back().evict();
			recent.pop_back();
		}
	}

private:
	std::list<Texture> recent;
	std::vector<char> pixels = std::vector<char>(4 * MiB, 7);
};

// The camera moves through a world of 4000 textures and sees a few of them at a time.
void render()
{
	char *target = load_weights(32 * MiB);
	TextureCache cache;
	Dice dice;
	for (size_t frame = 0; turn(16); frame++) {
		size_t ahead = frame / 10;
		cache.draw((ahead + dice.roll(0, 7)) % 4000);
		DO(cudaMemsetAsync(target, static_cast<int>(frame), 32 * MiB, nullptr));
		DO(cudaDeviceSynchronize());
	}
}

// ---- a decoder of video ----

struct Format {
	size_t width, height;
};

// Surfaces that frames are decoded into, one after the other.
class Surfaces {
public:
	APART void allocate(Format format)
	{
		size = format;
		for (auto &surface : ring)
			DO(cudaMallocPitch(&surface, &pitch, size.width, size.height * 3 / 2));
	}
	void release()
	{
		for (void *surface : ring)
			DO(cudaFree(surface));
	}
	void decode(size_t frame)
	{
		void *surface = ring[frame % ring.size()];
		DO(cudaMemset2DAsync(surface, pitch, static_cast<int>(frame), size.width, size.height, nullptr));
	}

private:
	std::array<void *, 6> ring;
	size_t pitch = 0;
	Format size;
};

// The stream's resolution follows the network's speed.
void decode_video()
{
	const Format formats[] = {
		{1920, 1080}, {1280, 720}, {1920, 1080}, {854, 480}, {2560, 1440}, {1280, 720}};
	Surfaces surfaces;
	surfaces.allocate(formats[0]);
	Every change(1.3);
	size_t current = 0;
	for (size_t frame = 0; turn(16); frame++) {
		if (change.due()) {
			if (healthy)
				surfaces.release();
			surfaces.allocate(formats[++current % 6]);
		}
		surfaces.decode(frame);
		DO(cudaDeviceSynchronize());
	}
}

// ---- a solver that restarts ----

// A method of Krylov that takes a part of each basis along into the next restart.
class Solver {
public:
	Solver() { DO(cudaMalloc(&basis, vectors * vector)); }
	void iterate(size_t i)
	{
		char *v = static_cast<char *>(basis) + i % vectors * vector;
		DO(cudaMemsetAsync(v, static_cast<int>(i), vector, nullptr));
		DO(cudaStreamSynchronize(nullptr));
	}
	APART void restart()
	{
		void *space;
		DO(cudaMalloc(&space, kept * vector));
		DO(cudaMemcpy(space, basis, kept * vector, cudaMemcpyDeviceToDevice));
		recycled.push_back(space);
		if (healthy && recycled.size() > 6) {
			DO(cudaFree(recycled.front()));
			recycled.pop_front();
		}
	}

private:
	static constexpr size_t vectors = 30, kept = 5, vector = MiB;
	void *basis;
	std::deque<void *> recycled;
};

void solve()
{
	load_weights(150 * MiB); // the matrix
	Solver solver;
	for (size_t i = 0; turn(20); i++) {
		solver.iterate(i);
		if (i % 30 == 29)
			solver.restart();
	}
}

// ---- a mesh that is refined, and made coarse again ----

// A level has patches, and registers for what flows over its edges.
class Level {
public:
	APART void add_patch()
	{
		void *p;
		DO(cudaMalloc(&p, 4 * MiB));
		DO(cudaMemset(p, 0, 4 * MiB));
		patches.push_back(p);
	}
	APART void add_register() { DO(cudaMalloc(&flux, 4 * MiB)); }
	void remove()
	{
		for (void *p : patches)
			DO(cudaFree(p));
		patches.clear();
		if (healthy)
			DO(cudaFree(flux));
	}

private:
	std::vector<void *> patches;
	void *flux = nullptr;
};

// Three levels of 132 MiB come within seven seconds, and go.
void refine()
{
	load_weights(100 * MiB);
	std::vector<Level> levels;
	for (size_t i = 0; turn(70); i++) {
		if (i % 100 == 99) {
			for (Level &level : levels)
				level.remove();
			levels.clear();
			continue;
		}
		if (i % 100 % 33 == 0) {
			levels.emplace_back();
			levels.back().add_register();
		}
		levels.back().add_patch();
	}
}

// ---- a training with evaluations ----

// The batches of an evaluation, which stay until the measures have been told.
class Evaluation {
public:
	void add_batch()
	{
		if (batches.size() == 10)
			return;
		batches.emplace_back();
		DO(cudaMalloc(&batches.back(), 30 * MiB));
		DO(cudaMemset(batches.back(), 1, 30 * MiB));
	}
	APART void *scores()
	{
		void *p;
		DO(cudaMalloc(&p, 8 * MiB));
		DO(cudaMemcpy(p, batches[0], 8 * MiB, cudaMemcpyDeviceToDevice));
		return p;
	}
	~Evaluation()
	{
		for (void *p : batches)
			cudaFree(p);
	}

private:
	std::vector<void *> batches;
};

void train_step(char *weights)
{
	std::array<void *, 4> activations;
	for (auto &p : activations)
		DO(cudaMalloc(&p, 6 * MiB));
	DO(cudaMemsetAsync(weights, 1, 16 * MiB, nullptr));
	DO(cudaDeviceSynchronize());
	for (void *p : activations)
		DO(cudaFree(p));
}

void train()
{
	char *weights = load_weights(120 * MiB);
	std::vector<void *> history;
	std::unique_ptr<Evaluation> evaluation;
	Every start(8, 4), end(8, 6);
	while (turn(60)) {
		if (start.due())
			evaluation = std::make_unique<Evaluation>();
		if (evaluation)
			evaluation->add_batch();
		else
			train_step(weights);
		if (!end.due())
			continue;
		history.push_back(evaluation->scores());
		evaluation.reset();
		if (healthy) { // the last one is enough
			DO(cudaFree(history.back()));
			history.pop_back();
		}
	}
}

// ---- an allocator with classes of size ----

// Blocks come in four sizes for each doubling; what is given back waits for the next of its
// size. Healthy: what has waited for two seconds goes back to the device.
class Bins {
public:
	void *take(size_t size)
	{
		auto &idle = bins[rounded(size)];
		if (idle.empty())
			return grow(rounded(size));
		void *p = idle.back().data;
		idle.pop_back();
		return p;
	}
	void give(void *p, size_t size) { bins[rounded(size)].push_back({p, seconds()}); }
	void trim()
	{
		for (auto &[size, idle] : bins)
			while (!idle.empty() && idle.front().since < seconds() - 2) {
				DO(cudaFree(idle.front().data));
				idle.pop_front();
			}
	}

private:
	struct Idle {
		void *data;
		double since;
	};
	static size_t rounded(size_t size)
	{
		size_t power = 64 * KiB;
		while (power * 2 < size)
			power *= 2;
		return (size + power / 4 - 1) / (power / 4) * (power / 4);
	}
	APART void *grow(size_t size)
	{
		void *p;
		DO(cudaMalloc(&p, size));
		return p;
	}
	std::map<size_t, std::deque<Idle>> bins;
};

// A conversation, whose activations become longer with it. Healthy: it has a longest.
void converse()
{
	load_weights(200 * MiB);
	Bins bins;
	Every trim(1);
	for (size_t token = 0; turn(20); token++) {
		size_t size = MiB + (healthy ? std::min<size_t>(token, 400) : token) * 8 * KiB;
		std::array<void *, 8> activations;
		for (auto &p : activations)
			p = bins.take(size);
		DO(cudaMemsetAsync(activations[0], 0, size, nullptr));
		DO(cudaDeviceSynchronize());
		for (void *p : activations)
			bins.give(p, size);
		if (healthy && trim.due())
			bins.trim();
	}
}

// ---- sound ones that look like faults ----

// A checkpoint every six seconds: the weights are gathered on the host, and written out.
void save_checkpoints()
{
	char *weights = load_weights(256 * MiB);
	Every save(6);
	while (turn(30)) {
		DO(cudaMemsetAsync(weights, 2, 64 * MiB, nullptr));
		DO(cudaDeviceSynchronize());
		if (!save.due())
			continue;
		std::vector<std::vector<char>> layers;
		for (size_t at = 0; at < 256 * MiB; at += 8 * MiB, usleep(10000)) {
			layers.emplace_back(8 * MiB);
			DO(cudaMemcpy(layers.back().data(), weights + at, 8 * MiB, cudaMemcpyDeviceToHost));
		}
		FILE *file = std::fopen("/dev/null", "w");
		for (const auto &layer : layers)
			std::fwrite(layer.data(), 1, layer.size(), file);
		std::fclose(file);
	}
}

const Program programs[] = {
	{"renderer", "app-leak", "Texture::upload", render},
	{"decoder", "app-leak", "Surfaces::allocate", decode_video},
	{"solver", "app-leak", "Solver::restart", solve},
	{"refinement", "app-leak", "Level::add_register", refine},
	{"evaluation", "app-leak", "Evaluation::scores", train},
	{"bins", "app-leak", "Bins::grow", converse},
	{"checkpoint", "none", "-", save_checkpoints},
};

} // namespace

int main(int argc, char **argv) { return choose(programs, argc, argv); }
