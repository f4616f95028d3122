/* Ten threads, started one after the other, allocate and free at random, each in an arena
 * of its own. Faulty: of 100 blocks one is lost. */
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <unistd.h>
#include <vector>

static void work(time_t end, bool healthy, unsigned seed)
{
	std::vector<char *> slots(300);
	for (long i = 0; time(nullptr) < end; usleep(2000), i++) {
		char *&p = slots[size_t(rand_r(&seed)) % slots.size()];
		size_t size = 200 + size_t(rand_r(&seed)) % 20000;
		if (healthy || i % 100)
			free(p);
		p = static_cast<char *>(memset(malloc(size), 1, size));
	}
}

int main(int argc, char **argv)
{
	time_t end = time(nullptr) + atoi(argv[1]);
	std::vector<std::thread> all;
	for (unsigned k = 0; k < 10; k++, sleep(1))
		all.emplace_back(work, end, argc > 2, k);
	for (std::thread &t : all)
		t.join();
}
