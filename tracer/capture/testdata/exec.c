/* Hides a folder, then starts a program in the way that the first argument
 * names. Usage: exec WAY FOLDER PROGRAM ARG ARG; FOLDER may be "". */
#define _GNU_SOURCE
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* pid is where the same expression has put it: arguments are computed in any order. */
static int spawned(int rc, const pid_t *pid)
{
	int status;
	if (rc != 0 || waitpid(*pid, &status, 0) < 0)
		return 1;
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	const char *way = argv[1], *hide = argv[2], *p = argv[3], *a = argv[4], *b = argv[5];
	char **args = argv + 3;
	pid_t pid;
	if (argc != 6)
		return 2;
	if (*hide && (unshare(CLONE_NEWNS) || mount("none", "/", 0, MS_REC | MS_PRIVATE, 0) || mount("none", hide, "tmpfs", 0, 0)))
		return perror("hide"), 3;
	if (!strcmp(way, "execve"))
		execve(p, args, environ);
	if (!strcmp(way, "execv"))
		execv(p, args);
	if (!strcmp(way, "execvp"))
		execvp(p, args);
	if (!strcmp(way, "execvpe"))
		execvpe(p, args, environ);
	if (!strcmp(way, "execl"))
		execl(p, p, a, b, (char *)0);
	if (!strcmp(way, "execlp"))
		execlp(p, p, a, b, (char *)0);
	if (!strcmp(way, "execle"))
		execle(p, p, a, b, (char *)0, environ);
	if (!strcmp(way, "vfork")) {
		pid = vfork();
		if (pid == 0) {
			execve(p, args, environ);
			_exit(9);
		}
		return spawned(0, &pid);
	}
	if (!strcmp(way, "posix_spawn"))
		return spawned(posix_spawn(&pid, p, 0, 0, args, environ), &pid);
	if (!strcmp(way, "posix_spawnp"))
		return spawned(posix_spawnp(&pid, p, 0, 0, args, environ), &pid);
	return 4;
}
