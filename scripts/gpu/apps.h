// What the native applications with a known truth (apps.cc, services.cc) have in common:
// checks, time, chance that is the same in each run, and the choice of one by its name.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#define APART __attribute__((noinline))

namespace {

constexpr size_t KiB = 1u << 10, MiB = 1u << 20;
using Clock = std::chrono::steady_clock;

bool healthy;
double length = 20; // of the run, in seconds
std::string self;   // the name of the program, and the number of a worker of its
int worker = -1;
const Clock::time_point begun = Clock::now();

inline void check(int code, const char *what)
{
	if (code == 0)
		return;
	std::fprintf(stderr, "%s: error %d after %.1f s\n", what, code,
		std::chrono::duration<double>(Clock::now() - begun).count());
	std::exit(1);
}
#define DO(call) check(static_cast<int>(call), #call)

inline double seconds() { return std::chrono::duration<double>(Clock::now() - begun).count(); }

// Waits until the next turn, and says whether there is one.
inline bool turn(int ms)
{
	usleep(static_cast<useconds_t>(ms) * 1000);
	return seconds() < length;
}

// Whether so much time has passed since it last had; each place has a clock of its own.
class Every {
public:
	explicit Every(double period, double first = -1) : period(period), next(first < 0 ? period : first) {}
	bool due()
	{
		if (seconds() < next)
			return false;
		next += period;
		return true;
	}

private:
	double period, next;
};

// A number from low to high; not to be shared by threads.
class Dice {
public:
	explicit Dice(uint64_t seed = 1) : state(seed) {}
	size_t roll(size_t low, size_t high)
	{
		state = state * 6364136223846793005u + 1442695040888963407u;
		return low + (state >> 33) % (high - low + 1);
	}

private:
	uint64_t state;
};

// What a program has from its start to its end.
APART inline char *load_weights(size_t size)
{
	void *p;
	DO(cudaMalloc(&p, size));
	DO(cudaMemset(p, 1, size));
	return static_cast<char *>(p);
}

// One function of the driver, found as programs find it that do not link to it.
template <class F> F driver(const char *name)
{
	static void *library = dlopen("libcuda.so.1", RTLD_NOW);
	auto f = library ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
	check(f == nullptr, name);
	return f;
}
#define DRIVER(name) driver<decltype(&name)>(#name)

struct Program {
	const char *name, *verdict, *site; // sites that are as right are divided by |
	void (*work)();
};

template <size_t N> int choose(const Program (&programs)[N], int argc, char **argv)
{
	self = argc > 1 ? argv[1] : "";
	for (int i = 2; i < argc; i++) {
		if (!std::strcmp(argv[i], "--healthy"))
			healthy = true;
		else if (!std::strcmp(argv[i], "--seconds") && i + 1 < argc)
			length = std::atof(argv[++i]);
		else if (!std::strcmp(argv[i], "--worker") && i + 1 < argc)
			worker = std::atoi(argv[++i]);
	}
	for (const Program &program : programs) {
		if (self == "--list")
			std::printf("%s %s %s\n", program.name, program.verdict, program.site);
		if (self == program.name) {
			program.work();
			return 0;
		}
	}
	return self == "--list" ? 0 : 2;
}

} // namespace
