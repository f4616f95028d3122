/* A program may start another one where our library cannot be had: in another
 * root directory, in another mount namespace, as a user who may not read it.
 * The loader there would complain on the program's stderr. So the functions
 * that start a program look first, and then leave us out of its LD_PRELOAD and
 * LD_AUDIT; everything else in its environment stays as it is.
 *
 * They may run between vfork and exec, or in a signal handler: they take no
 * lock, allocate nothing and look nothing up.
 */
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define LARGEST (256u << 10) /* of an environment that is copied onto the stack */
#define MOST_ARGS 16384

extern char **environ;

typedef const posix_spawn_file_actions_t *actions_t;
typedef const posix_spawnattr_t *attr_t;
typedef int (*spawn_fn)(pid_t *, const char *, actions_t, attr_t, char *const[], char *const[]);

static struct {
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*execv)(const char *, char *const[]);
	int (*execvp)(const char *, char *const[]);
	spawn_fn posix_spawn, posix_spawnp;
} next;

static const char *library; /* our file, null when nothing is to be done */

void prepare_exec(const char *us, void *(*find)(const char *))
{
	next.execve = find("execve");
	next.execvpe = find("execvpe");
	next.execv = find("execv");
	next.execvp = find("execvp");
	next.posix_spawn = find("posix_spawn");
	next.posix_spawnp = find("posix_spawnp");
	if (next.execve && next.execvpe && us && us[0] == '/')
		library = us;
}

static int within_reach(void)
{
	int fd = open(library, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT && errno != EACCES && errno != ENOTDIR && errno != EPERM && errno != ELOOP;
	close(fd);
	return 1;
}

static int begins(const char *text, const char *with)
{
	while (*with)
		if (*text++ != *with++)
			return 0;
	return 1;
}

/* end is where the name of a file in a list ends. */
static const char *end(const char *at, int spaces)
{
	while (*at && *at != ':' && !(spaces && *at == ' '))
		at++;
	return at;
}

/* ours reports whether the name in a list is that of our library. */
static int ours(const char *at, const char *to)
{
	const char *base = at;
	for (; at < to; at++)
		if (*at == '/')
			base = at + 1;
	return begins(base, "libgpumem_");
}

/* list_of is the list in a variable of the loader's, or null. */
static const char *list_of(const char *entry, int *spaces)
{
	*spaces = begins(entry, "LD_PRELOAD=");
	return *spaces ? entry + 11 : begins(entry, "LD_AUDIT=") ? entry + 9 : 0;
}

/* room is how much a copy of the environment needs; 0: leave it as it is. */
static size_t room(char *const *env)
{
	size_t n = 0, text = 0;
	int found = 0, spaces, saved = errno;
	if (!library || !env)
		return 0;
	for (; env[n]; n++) {
		const char *at = list_of(env[n], &spaces);
		for (const char *to; at && *at; at = *to ? to + 1 : to) {
			to = end(at, spaces);
			found |= ours(at, to);
		}
		if (list_of(env[n], &spaces))
			text += __builtin_strlen(env[n]) + 1;
	}
	if (!found || within_reach())
		n = LARGEST;
	errno = saved;
	n = (n + 1) * sizeof *env + text;
	return n <= LARGEST ? n : 0;
}

/* without copies one variable and leaves us out; it returns where the copy
 * ends, or at when nothing but us was in the list. */
static char *without(const char *entry, const char *list, int spaces, char *at)
{
	char *out = at;
	int some = 0;
	for (const char *c = entry; c < list; c++)
		*out++ = *c;
	while (*list) {
		const char *to = end(list, spaces);
		if (to > list && !ours(list, to)) {
			if (some++)
				*out++ = ':';
			while (list < to)
				*out++ = *list++;
		}
		list = *to ? to + 1 : to;
	}
	*out++ = 0;
	return some ? out : at;
}

/* cleaned copies the environment into memory of the size that room told. */
static char *const *cleaned(char *const *env, void *memory)
{
	size_t n = 0, kept = 0;
	char **out = memory, *text;
	int spaces;
	while (env[n])
		n++;
	text = (char *)(out + n + 1);
	for (size_t i = 0; i < n; i++) {
		const char *list = list_of(env[i], &spaces);
		char *to = list ? without(env[i], list, spaces, text) : 0;
		if (!list)
			out[kept++] = env[i];
		else if (to != text)
			out[kept++] = text, text = to;
	}
	out[kept] = 0;
	return out;
}

/* CLEAN is the environment to use, in the frame of the function it stands in. */
#define CLEAN(env, size) ((size) ? cleaned((env), alloca(size)) : (env))
#define MISSING(function) \
	if (!next.function) { \
		errno = ENOSYS; \
		return -1; \
	}

EXPORT int execve(const char *file, char *const args[], char *const env[])
{
	size_t size = room(env);
	MISSING(execve)
	return next.execve(file, args, CLEAN(env, size));
}

EXPORT int execvpe(const char *file, char *const args[], char *const env[])
{
	size_t size = room(env);
	MISSING(execvpe)
	return next.execvpe(file, args, CLEAN(env, size));
}

EXPORT int execv(const char *file, char *const args[])
{
	size_t size = room(environ);
	MISSING(execv)
	return size ? next.execve(file, args, CLEAN(environ, size)) : next.execv(file, args);
}

EXPORT int execvp(const char *file, char *const args[])
{
	size_t size = room(environ);
	MISSING(execvp)
	return size ? next.execvpe(file, args, CLEAN(environ, size)) : next.execvp(file, args);
}

EXPORT int posix_spawn(pid_t *pid, const char *file, actions_t actions, attr_t attr,
		       char *const args[], char *const env[])
{
	size_t size = room(env);
	if (!next.posix_spawn)
		return ENOSYS;
	return next.posix_spawn(pid, file, actions, attr, args, CLEAN(env, size));
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, actions_t actions, attr_t attr,
		       char *const args[], char *const env[])
{
	size_t size = room(env);
	if (!next.posix_spawnp)
		return ENOSYS;
	return next.posix_spawnp(pid, file, actions, attr, args, CLEAN(env, size));
}

/* GATHER makes an array of a function's variable arguments. */
#define GATHER(args, first, list) \
	size_t count = 0; \
	va_start(list, first); \
	for (const char *arg = first; arg && count < MOST_ARGS; arg = va_arg(list, char *)) \
		count++; \
	va_end(list); \
	if (count == MOST_ARGS) { \
		errno = E2BIG; \
		return -1; \
	} \
	char **args = alloca((count + 1) * sizeof *args); \
	args[0] = (char *)first; \
	va_start(list, first); \
	for (size_t i = 1; i <= count; i++) \
		args[i] = va_arg(list, char *);

EXPORT int execl(const char *file, const char *first, ...)
{
	va_list list;
	GATHER(args, first, list)
	va_end(list);
	return execv(file, args);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	va_list list;
	GATHER(args, first, list)
	va_end(list);
	return execvp(file, args);
}

EXPORT int execle(const char *file, const char *first, ...)
{
	va_list list;
	GATHER(args, first, list)
	char *const *env = va_arg(list, char *const *);
	va_end(list);
	return execve(file, args, env);
}
