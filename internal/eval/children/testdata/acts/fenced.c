// Fences around a process: filters of system calls, namespaces, users.
#include "acts.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static int filter(const int *listed, int n, int allowed, unsigned other) {
	struct sock_filter code[256];
	int at = 0;
	code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < n; i++) {
		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, listed[i], 0, 1);
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, allowed ? SECCOMP_RET_ALLOW : other);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, allowed ? other : SECCOMP_RET_ALLOW);
	struct sock_fprog program = {at, code};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return perror("seccomp"), 1;
	return 0;
}

// strict allows reading, writing and ending, as the kernel's own strict mode.
static int strict(int argc, char **argv) {
	printf("before\n");
	fflush(stdout);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 1;
	static const char text[] = "within\n";
	syscall(SYS_write, 1, text, sizeof text - 1);
	syscall(SYS_exit, 14);
	return 0;
}

// needs are the system calls of a small dynamic program of the C library: to be
// loaded, to print and to end.
static const int needs[] = {
	SYS_execve, SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_openat, SYS_read,
	SYS_pread64, SYS_write, SYS_close,
	SYS_fstat, SYS_newfstatat, SYS_exit, SYS_exit_group, SYS_set_tid_address, SYS_set_robust_list, SYS_rseq,
	SYS_prlimit64, SYS_getrandom, SYS_futex,
#ifdef SYS_access
	SYS_access,
#endif
#ifdef SYS_arch_prctl
	SYS_arch_prctl,
#endif
};

#define LENGTH(a) ((int)(sizeof a / sizeof *a))

// only runs a program that may do what it needs: others end it (kill) or fail
// (refuse).
static int only(int argc, char **argv) {
	unsigned other = !strcmp(argv[1], "kill") ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
	if (filter(needs, LENGTH(needs), 1, other))
		return 1;
	execvp(argv[2], argv + 2);
	return perror(argv[2]), 127;
}

// greet does no more than what a filter of needs allows.
static int greet(int argc, char **argv) {
	static const char text[] = "greetings\n";
	if (write(1, text, sizeof text - 1) < 0)
		return 1;
	_exit(15);
}

// fence filters at the start of main: only writing and ending are left.
static int fence(int argc, char **argv) {
	static const int few[] = {SYS_write, SYS_exit_group, SYS_exit};
	printf("before\n");
	fflush(stdout);
	if (filter(few, LENGTH(few), 1, SECCOMP_RET_KILL_PROCESS))
		return 1;
	printf("within\n");
	fflush(stdout);
	return 16; // through the destructors of all libraries
}

// without refuses the system calls of a name, and becomes another program.
static int without(int argc, char **argv) {
	static const int sockets[] = {SYS_socket, SYS_connect},
		files[] = {SYS_ftruncate, SYS_memfd_create, SYS_fallocate},
		threads[] = {SYS_clone, SYS_clone3}, signals[] = {SYS_kill, SYS_tgkill};
	const int *which = !strcmp(argv[1], "sockets") ? sockets : !strcmp(argv[1], "files") ? files
		: !strcmp(argv[1], "threads") ? threads : signals;
	int n = which == files ? LENGTH(files) : 2;
	if (filter(which, n, 0, !strcmp(argv[2], "kill") ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM))
		return 1;
	execvp(argv[3], argv + 3);
	return perror(argv[3]), 127;
}

static int namespaces(int argc, char **argv) {
	static const struct {
		const char *name;
		int flag;
	} all[] = {{"user", CLONE_NEWUSER}, {"mount", CLONE_NEWNS}, {"uts", CLONE_NEWUTS}, {"ipc", CLONE_NEWIPC},
		{"net", CLONE_NEWNET}, {"pid", CLONE_NEWPID}, {"files", CLONE_FILES}};
	for (int i = 0; i < LENGTH(all); i++)
		printf("unshare %s: %s\n", all[i].name, unshare(all[i].flag) ? strerror(errno) : "ok");
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		printf("the child is process %d\n", getpid());
		exit(0);
	}
	return told("child", pid);
}

static int drop(int argc, char **argv) {
	if (setgid(65534) || setuid(65534))
		return perror("setuid"), 1;
	printf("dumpable after it: %d\n", prctl(PR_GET_DUMPABLE));
	fflush(stdout);
	if (argc > 1)
		execvp(argv[1], argv + 1);
	return 0;
}

const struct act fencedActs[] = {
	{"strict", strict}, {"only", only}, {"greet", greet}, {"fence", fence}, {"without", without},
	{"unshare", namespaces}, {"drop", drop}, {0},
};
