// Native services with a known truth, for more.sh with SOURCE=services: what serves
// requests, connections and jobs with a GPU, in threads and in processes. Each is faulty,
// or with --healthy its twin. Without the header of cuBLAS its program is left out. No
// compiler for the device is needed.
//
//   services NAME [--healthy] [--seconds N]
//   services --list    name, verdict, sites of the fault, of which one is to be named
#include "apps.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#if __has_include(<cublas_v2.h>) && !defined(NO_LIBRARIES)
#include <cublas_v2.h>
#define HAS_CUBLAS
#endif

namespace {

// ---- sessions of clients ----

// What a client has said so far, as keys and values for each token.
class Session {
public:
	explicit Session(size_t tokens) : left(tokens) {}
	bool done() const { return left == 0; }
	void next_token()
	{
		left--;
		if (used++ % 16 == 0)
			add_page();
		DO(cudaMemsetAsync(pages.back(), static_cast<int>(used), MiB / 16, nullptr));
	}
	~Session()
	{
		for (void *p : pages)
			cudaFree(p);
	}

private:
	APART void add_page()
	{
		void *p;
		DO(cudaMalloc(&p, MiB));
		pages.push_back(p);
	}
	size_t left, used = 0;
	std::vector<void *> pages;
};

// Clients come in bursts. One that hangs up in the middle of its answer is never removed.
void serve_sessions()
{
	load_weights(400 * MiB);
	std::map<int, Session> sessions;
	std::set<int> gone;
	Dice dice;
	Every burst(2, 0);
	int clients = 0;
	while (turn(20)) {
		for (size_t n = burst.due() ? dice.roll(4, 16) : 0; n > 0; n--)
			sessions.emplace(clients++, dice.roll(30, 150));
		for (auto i = sessions.begin(); i != sessions.end();) {
			auto &[client, session] = *i;
			if (!gone.count(client)) {
				session.next_token();
				if (dice.roll(1, 300) == 1)
					gone.insert(client);
			}
			bool over = session.done() || (healthy && gone.count(client));
			if (over)
				gone.erase(client);
			i = over ? sessions.erase(i) : std::next(i);
		}
		DO(cudaDeviceSynchronize());
	}
}

// ---- requests that are refused ----

struct Free {
	void operator()(void *p) const { cudaFree(p); }
};

void decode(void *input, size_t number)
{
	DO(cudaMemset(input, 1, MiB));
	if (number % 15 == 14)
		throw std::runtime_error("request " + std::to_string(number) + " is cut off");
}

APART void *make_input(size_t size)
{
	void *p;
	DO(cudaMalloc(&p, size));
	return p;
}

APART void handle_safely(size_t number, size_t size)
{
	std::unique_ptr<void, Free> input(make_input(size));
	decode(input.get(), number);
}

APART void handle(size_t number, size_t size)
{
	void *input = make_input(size);
	decode(input, number);
	DO(cudaFree(input));
}

void refuse_requests()
{
	load_weights(200 * MiB);
	Dice dice;
	size_t refused = 0;
	for (size_t number = 0; turn(50); number++) {
		try {
			(healthy ? handle_safely : handle)(number, dice.roll(3, 6) * MiB);
		} catch (const std::runtime_error &) {
			refused++;
		}
	}
	std::printf("%zu refused\n", refused);
}

// ---- connections ----

struct Connection {
	size_t chunks; // that are still to come
};

// Pinned memory that a connection's data come in by.
class Uploads {
public:
	void receive(int connection, char *target)
	{
		auto &buffer = staging[connection];
		if (!buffer)
			buffer = pin();
		std::memset(buffer, connection, 256 * KiB);
		DO(cudaMemcpy(target, buffer, size, cudaMemcpyHostToDevice));
	}
	void close(int connection)
	{
		if (!healthy)
			return;
		DO(cudaFreeHost(staging[connection]));
		staging.erase(connection);
	}

private:
	static constexpr size_t size = 2 * MiB;
	APART char *pin()
	{
		void *p;
		DO(cudaHostAlloc(&p, size, cudaHostAllocDefault));
		std::memset(p, 0, size);
		return static_cast<char *>(p);
	}
	std::map<int, char *> staging;
};

void take_uploads()
{
	char *target = load_weights(64 * MiB);
	std::map<int, Connection> open;
	Uploads uploads;
	Dice dice;
	Every arrival(0.3, 0);
	for (int connections = 0; turn(40);) {
		if (arrival.due())
			open[connections++] = {dice.roll(10, 80)};
		for (auto i = open.begin(); i != open.end();) {
			uploads.receive(i->first, target);
			bool over = --i->second.chunks == 0;
			if (over)
				uploads.close(i->first);
			i = over ? open.erase(i) : std::next(i);
		}
	}
}

// ---- a log of requests ----

// Prompts are kept for a report that nobody asks for. Healthy: they are written out.
APART void log_request(std::vector<std::string> &log, std::string prompt)
{
	log.push_back(std::move(prompt));
	if (!healthy || log.size() < 400)
		return;
	FILE *file = std::fopen("/dev/null", "w");
	for (const auto &line : log)
		std::fputs(line.c_str(), file);
	std::fclose(file);
	log.clear();
}

void log_requests()
{
	char *weights = load_weights(300 * MiB);
	std::vector<std::string> log;
	Dice dice;
	while (turn(10)) {
		DO(cudaMemsetAsync(weights, 1, 16 * MiB, nullptr));
		DO(cudaDeviceSynchronize());
		log_request(log, std::string(dice.roll(4, 40) * KiB, 'x'));
	}
}

// ---- a pool of processes ----

// A worker has a cache of 30 answers; one of the three puts every job's into another, too.
APART void *run_job()
{
	void *p;
	DO(cudaMalloc(&p, MiB));
	DO(cudaMemset(p, 1, MiB));
	return p;
}

void work_for_parent()
{
	load_weights(80 * MiB);
	std::deque<void *> cache;
	for (char job; read(STDIN_FILENO, &job, 1) == 1;) {
		cache.push_back(run_job());
		bool full = cache.size() > 30;
		if (!full || (!healthy && worker == 1))
			continue;
		DO(cudaFree(cache.front()));
		cache.pop_front();
	}
	for (void *p : cache)
		DO(cudaFree(p));
}

// A process that takes jobs from its standard input until that ends.
class Process {
public:
	void start(int number)
	{
		int ends[2];
		check(pipe2(ends, O_CLOEXEC), "pipe2");
		const std::string which = std::to_string(number);
		const char *args[] = {"/proc/self/exe", self.c_str(), "--worker", which.c_str(),
			healthy ? "--healthy" : nullptr, nullptr};
		pid = fork();
		if (pid == 0) {
			dup2(ends[0], STDIN_FILENO);
			execv(args[0], const_cast<char **>(args));
			_exit(127);
		}
		check(pid < 0, "fork");
		close(ends[0]);
		jobs = ends[1];
	}
	void give_job() { check(write(jobs, "j", 1) != 1, "write"); }
	void finish()
	{
		int status;
		close(jobs);
		check(waitpid(pid, &status, 0) != pid || status != 0, "worker");
	}

private:
	pid_t pid = -1;
	int jobs = -1;
};

// Healthy: no worker keeps more than its cache, and each is replaced every nine seconds.
void run_workers()
{
	if (worker >= 0)
		return work_for_parent();
	std::array<Process, 3> workers;
	for (int i = 0; i < 3; i++)
		workers[i].start(i);
	Every replace(3);
	for (size_t job = 0, oldest = 0; turn(50); job++) {
		workers[job % 3].give_job();
		if (!healthy || !replace.due())
			continue;
		workers[oldest].finish();
		workers[oldest].start(static_cast<int>(oldest));
		oldest = (oldest + 1) % 3;
	}
	for (auto &process : workers)
		process.finish();
}

// ---- jobs in threads ----

#ifdef HAS_CUBLAS
// A job has a stream and a handle of its own.
APART void compute(float *m, double until)
{
	cudaStream_t stream;
	cublasHandle_t handle;
	const float one = 1, zero = 0;
	DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	DO(cublasCreate(&handle));
	DO(cublasSetStream(handle, stream));
	while (seconds() < until) {
		DO(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 256, 256, 256, &one, m, 256, m + MiB / 4, 256,
			&zero, m + MiB / 2, 256));
		DO(cudaStreamSynchronize(stream));
		usleep(20000);
	}
	if (healthy) {
		DO(cublasDestroy(handle));
		DO(cudaStreamDestroy(stream));
	}
}

void compute_jobs(float *m)
{
	while (turn(100))
		compute(m, seconds() + 2.5);
}

void run_threads()
{
	char *weights = load_weights(100 * MiB);
	std::vector<std::thread> threads;
	for (size_t i = 0; i < 3; i++) {
		threads.emplace_back(compute_jobs, reinterpret_cast<float *>(weights + i * 4 * MiB));
		usleep(700000);
	}
	for (auto &thread : threads)
		thread.join();
}
#endif

const Program programs[] = {
	{"sessions", "app-leak", "Session::add_page", serve_sessions},
	{"refused", "app-leak", "make_input|handle", refuse_requests},
	{"uploads", "host-growth", "Uploads::pin", take_uploads},
	{"requestlog", "host-growth", "-", log_requests},
	{"workers", "app-leak", "run_job", run_workers},
#ifdef HAS_CUBLAS
	{"jobs", "driver-growth", "compute|cublas", run_threads},
#endif
};

} // namespace

int main(int argc, char **argv) { return choose(programs, argc, argv); }
