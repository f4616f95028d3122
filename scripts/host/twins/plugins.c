/* Loads a plugin and unloads it, over and over. Faulty: what it took stays. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	time_t end = time(NULL) + atoi(argv[1]);
	if (argc > 2)
		setenv("HEALTHY", "1", 1);
	while (time(NULL) < end) {
		void *plugin = dlopen("./plugin.so", RTLD_NOW);
		if (!plugin)
			return 1;
		usleep(60000);
		dlclose(plugin);
	}
}
