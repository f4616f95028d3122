/* Runs a plugin: host PLUGIN deep|plain SCENARIO [N] */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int flags = RTLD_NOW | (argc > 2 && !strcmp(argv[2], "deep") ? RTLD_DEEPBIND : 0);
	void *lib = dlopen(argv[1], flags);
	int (*run)(int, char **) = lib ? dlsym(lib, "plugin_main") : 0;
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 20;
	}
	return run(argc - 2, argv + 2);
}
