/* Runs a plugin: host PLUGIN plain|deep|lazy|told SCENARIO [N]. It is opened with
 * RTLD_DEEPBIND but for plain, bound at each first call with lazy; with told it says
 * itself what is to be called, and nobody looks it up. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int (*told)(int, char **);

__attribute__((visibility("default"))) void host_register(int (*run)(int, char **)) { told = run; }

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	int flags = (strcmp(how, "lazy") ? RTLD_NOW : RTLD_LAZY) | (strcmp(how, "plain") ? RTLD_DEEPBIND : 0);
	void *lib = dlopen(argv[1], flags);
	int (*run)(int, char **) = !lib ? 0 : strcmp(how, "told") ? dlsym(lib, "plugin_main") : told;
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 20;
	}
	return run(argc - 2, argv + 2);
}
