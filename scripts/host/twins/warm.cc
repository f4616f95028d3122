/* Of 1,500 things one is drawn at random, and made at its first use: growth slows down and
 * stops. Faulty: each is made anew. */
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <unistd.h>

static std::multimap<int, std::string> compiled;

static void compile(int i) { compiled.emplace(i, std::string(30000, 'x')); }

int main(int argc, char **argv)
{
	time_t end = time(nullptr) + atoi(argv[1]);
	for (unsigned seed = 3; time(nullptr) < end; usleep(6000)) {
		int i = rand_r(&seed) % 1500;
		if (argc < 3 || !compiled.count(i))
			compile(i);
	}
}
