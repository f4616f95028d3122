/* Programs with a known truth for machines without a GPU, for host/verify.sh: each is
 * faulty or sound by its name.
 *
 *   programs NAME SECONDS
 *   programs --list      name, verdict
 *
 * Those with a device call the stand-in for the driver that the tests have. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

extern "C" {
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(uint64_t *, int);
int cuCtxSetCurrent(uint64_t);
int cuMemAlloc_v2(uint64_t *, size_t);
int cuMemFree_v2(uint64_t);
int cuMemAllocAsync(uint64_t *, size_t, void *);
int cuMemFreeAsync(uint64_t, void *);
int cuStreamSynchronize(void *);
int cuModuleLoadData(uint64_t *, const void *);
int cuModuleUnload(uint64_t);
}

namespace {

const size_t KiB = 1 << 10, MiB = 1 << 20;
double seconds = 20, began;
std::vector<void *> kept;
volatile unsigned sum;

double now()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

bool more() { return now() - began < seconds; }
void nap(int ms) { usleep(unsigned(ms) * 1000); }

[[noreturn]] void fail(const char *what)
{
	perror(what);
	exit(1);
}

char *touched(size_t n)
{
	char *p = static_cast<char *>(malloc(n));
	return static_cast<char *>(memset(p, 1, n));
}

void keep(size_t n, bool leaks)
{
	char *p = touched(n);
	if (leaks)
		kept.push_back(p);
	else
		free(p);
}

/* A file on the disk of so many bytes, which is gone with the program. */
char *mapped(size_t size, int protection)
{
	char name[] = "./programs-XXXXXX";
	int fd = mkstemp(name);
	if (fd < 0)
		fail("mkstemp");
	unlink(name);
	std::vector<char> page(MiB, 3);
	for (size_t i = 0; i < size; i += MiB)
		if (write(fd, page.data(), MiB) != ssize_t(MiB))
			fail("write");
	void *p = mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		fail("mmap");
	close(fd);
	return static_cast<char *>(p);
}

void read_dataset(size_t leak)
{
	const size_t size = 600 * MiB;
	const char *data = mapped(size, PROT_READ);
	for (size_t at = 0; more(); at += MiB, nap(10)) {
		for (size_t i = at; i < at + MiB && i < size; i += 4096)
			sum = sum + unsigned(data[i]);
		if (leak)
			kept.push_back(touched(leak));
	}
}

void change_file()
{
	char *data = mapped(64 * MiB, PROT_READ | PROT_WRITE);
	for (size_t at = 0; more(); at = (at + MiB / 2) % (64 * MiB), nap(10))
		memset(data + at, 1, MiB / 2);
}

/* All of an array is reserved at once, and written piece by piece. */
void fill(char *p, size_t size, size_t leak)
{
	for (size_t at = 0; more(); nap(20), at += 64 * KiB) {
		if (at < size)
			memset(p + at, 1, 64 * KiB);
		if (leak)
			kept.push_back(touched(leak));
	}
}

char *reserved(size_t size, int flags, int fd)
{
	void *p = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (p == MAP_FAILED)
		fail("mmap");
	return static_cast<char *>(p);
}

char *shared_array(size_t size)
{
	int fd = memfd_create("programs", 0);
	if (fd < 0 || ftruncate(fd, off_t(size)))
		fail("memfd_create");
	return reserved(size, MAP_SHARED, fd);
}

void array_after_array()
{
	while (more()) {
		char *p = static_cast<char *>(malloc(8 * MiB));
		kept.push_back(p);
		for (size_t at = 0; at < 8 * MiB && more(); at += 64 * KiB, nap(10))
			memset(p + at, 1, 64 * KiB);
	}
}

[[noreturn]] void hold(size_t n, double life)
{
	kept.push_back(touched(n));
	for (double from = now(); now() - from < life && more();)
		nap(50);
	_exit(0);
}

const double forever = 1e9;

/* A worker every two seconds, which ends after so many. */
void start_workers(size_t n, double life)
{
	while (more()) {
		if (!fork())
			hold(n, life);
		for (int i = 0; i < 20 && more(); i++)
			nap(100);
		while (waitpid(-1, nullptr, WNOHANG) > 0)
			;
	}
	while (wait(nullptr) > 0)
		;
}

template <typename Work> void in_child(Work work)
{
	if (!fork()) {
		work();
		_exit(0);
	}
	wait(nullptr);
}

/* The parent of a daemon is gone before anybody sees it. */
void daemon_at_once(size_t leak)
{
	in_child([&] {
		if (!fork()) {
			setsid();
			fill(nullptr, 0, leak);
			_exit(0);
		}
	});
	while (more())
		nap(50);
}

/* The parent of a daemon is gone at once. */
void start_daemons(double life)
{
	while (more()) {
		in_child([&] {
			if (!fork()) {
				setsid();
				hold(20 * MiB, life);
			}
		});
		for (int i = 0; i < 20 && more(); i++)
			nap(100);
	}
}

void fork_ahead(bool leaks)
{
	for (int i = 0; i < 6; i++)
		if (!fork()) {
			for (touched(10 * MiB); more(); nap(20))
				keep(200 * KiB, leaks && i == 2);
			_exit(0);
		}
	while (wait(nullptr) > 0)
		;
}

void map_pages(size_t n, bool touch, bool shared, bool back)
{
	while (more()) {
		int fd = shared ? memfd_create("programs", 0) : -1;
		if (shared && ftruncate(fd, off_t(n)))
			fail("ftruncate");
		void *p = mmap(nullptr, n, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
		if (p == MAP_FAILED)
			fail("mmap");
		if (touch)
			memset(p, 1, n);
		if (back)
			munmap(p, n);
		close(fd);
		nap(50);
	}
}

void device()
{
	uint64_t ctx;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx))
		exit(1);
}

void device_workers(double life)
{
	while (more()) {
		if (!fork()) {
			uint64_t p;
			device();
			cuMemAlloc_v2(&p, 600 * MiB);
			hold(2 * MiB, life);
		}
		for (int i = 0; i < 20 && more(); i++)
			nap(100);
		while (waitpid(-1, nullptr, WNOHANG) > 0)
			;
	}
	while (wait(nullptr) > 0)
		;
}

void stream_ordered(bool leaks)
{
	uint64_t p;
	device();
	cuMemAlloc_v2(&p, 300 * MiB);
	for (int step = 0; more(); step++, nap(5)) {
		for (unsigned i = 0; i < 5; i++) {
			cuMemAllocAsync(&p, 256 * KiB * (1 + i), nullptr);
			if (!leaks || i || step % 4)
				cuMemFreeAsync(p, nullptr);
		}
		cuStreamSynchronize(nullptr);
	}
}

void threads_with_device(bool leaks)
{
	std::vector<std::thread> all;
	for (int k = 0; k < 4; k++)
		all.emplace_back([leaks] {
			std::vector<uint64_t> blocks;
			for (device(); more(); nap(20)) {
				blocks.emplace_back();
				cuMemAlloc_v2(&blocks.back(), 300000);
				if (leaks || blocks.size() <= 40)
					continue;
				for (uint64_t p : blocks)
					cuMemFree_v2(p);
				blocks.clear();
			}
		});
	for (std::thread &t : all)
		t.join();
}

void modules(bool leaks)
{
	uint64_t m;
	for (device(); more(); nap(10)) {
		cuModuleLoadData(&m, "");
		if (!leaks)
			cuModuleUnload(m);
	}
}

void ring_of_device()
{
	std::deque<uint64_t> ring;
	for (device(); more(); nap(20)) {
		ring.emplace_back();
		cuMemAlloc_v2(&ring.back(), MiB);
		if (ring.size() > 300) {
			cuMemFree_v2(ring.front());
			ring.pop_front();
		}
	}
}

void phases()
{
	for (int k = 0; more(); k++) {
		std::vector<char *> blocks;
		for (int i = 0; i < 8 + k % 3 * 24; i++, nap(20))
			blocks.push_back(touched(MiB));
		for (char *p : blocks)
			free(p);
	}
}

void cache(size_t most)
{
	std::unordered_map<size_t, std::string> all;
	for (size_t i = 0; more(); i++, nap(5))
		all[i % most] = std::string(40000, 'x');
}

void fragments()
{
	std::vector<void *> slots(4000);
	for (; more(); nap(5))
		for (int k = 0; k < 40; k++) {
			void *&p = slots[size_t(rand()) % slots.size()];
			free(p);
			p = touched(64 + size_t(rand() % 20000));
		}
}

const struct {
	const char *name, *verdict;
	void (*run)();
} programs[] = {
	{"dataset", "none", [] { read_dataset(0); }},
	{"dataset_leak", "host-growth", [] { read_dataset(256 * KiB); }},
	{"dataset_small_leak", "host-growth", [] { read_dataset(16 * KiB); }},
	{"file_changed", "none", change_file},
	{"workers_come", "none", [] { start_workers(20 * MiB, 1.5); }},
	{"workers_left", "host-growth", [] { start_workers(20 * MiB, forever); }},
	{"fork_server", "none", [] { in_child([] { start_workers(20 * MiB, 3); }); }},
	{"fork_server_left", "host-growth", [] { in_child([] { start_workers(20 * MiB, forever); }); }},
	{"daemons_come", "none", [] { start_daemons(2.5); }},
	{"daemons_left", "host-growth", [] { start_daemons(forever); }},
	{"daemon_at_once", "none", [] { daemon_at_once(0); }},
	{"daemon_at_once_leak", "host-growth", [] { daemon_at_once(64 * KiB); }},
	{"small_workers_come", "none", [] { start_workers(3 * MiB, 5); }},
	{"small_workers_left", "host-growth", [] { start_workers(3 * MiB, forever); }},
	{"array", "none", [] { fill(static_cast<char *>(malloc(800 * MiB)), 800 * MiB, 0); }},
	{"array_and_leak", "host-growth", [] { fill(static_cast<char *>(malloc(800 * MiB)), 800 * MiB, 64 * KiB); }},
	{"array_after_array", "host-growth", array_after_array},
	{"array_shared", "none", [] { fill(shared_array(400 * MiB), 400 * MiB, 0); }},
	{"array_of_a_file", "none", [] { fill(mapped(200 * MiB, PROT_READ | PROT_WRITE), 200 * MiB, 0); }},
	{"forked_ahead", "none", [] { fork_ahead(false); }},
	{"forked_ahead_leak", "host-growth", [] { fork_ahead(true); }},
	{"cache", "none", [] { cache(500); }},
	{"cache_leak", "host-growth", [] { cache(size_t(-1)); }},
	{"fragments", "none", fragments},
	{"small_leak", "host-growth", [] { for (; more(); nap(5)) keep(2000, true); }},
	{"phases", "none", phases},
	{"untouched", "none", [] { map_pages(4 * MiB, false, false, false); }},
	{"pages_leak", "host-growth", [] { map_pages(MiB, true, false, false); }},
	{"shared", "none", [] { map_pages(MiB, true, true, true); }},
	{"shared_leak", "host-growth", [] { map_pages(MiB, true, true, false); }},
	{"stream_ordered", "none", [] { stream_ordered(false); }},
	{"stream_ordered_leak", "app-leak", [] { stream_ordered(true); }},
	{"device_threads", "none", [] { threads_with_device(false); }},
	{"device_threads_leak", "app-leak", [] { threads_with_device(true); }},
	{"device_workers_come", "none", [] { device_workers(1.5); }},
	{"device_workers_left", "app-leak", [] { device_workers(forever); }},
	{"device_ring", "none", ring_of_device},
	{"modules", "none", [] { modules(false); }},
	{"modules_leak", "driver-growth", [] { modules(true); }},
};

} // namespace

int main(int argc, char **argv)
{
	const std::string name = argc > 1 ? argv[1] : "";
	if (argc > 2)
		seconds = atof(argv[2]);
	began = now();
	for (const auto &p : programs) {
		if (name == "--list")
			printf("%s %s\n", p.name, p.verdict);
		if (name == p.name) {
			p.run();
			return 0;
		}
	}
	return name == "--list" ? 0 : 2;
}
