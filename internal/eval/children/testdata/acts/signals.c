// Signals, timers and ends.
#include "acts.h"
#include <setjmp.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <ucontext.h>

static sigjmp_buf back;
static char alternate[65536];

static void onFault(int number) {
	char here;
	int on = &here >= alternate && &here < alternate + sizeof alternate;
	char text[] = "fault on the other stack: ?\n";
	text[sizeof text - 3] = on ? 'y' : 'n';
	if (write(1, text, sizeof text - 1) < 0)
		_exit(1);
	siglongjmp(back, number);
}

static int handledFault(int argc, char **argv) {
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate}, old;
	sigaltstack(&stack, &old);
	printf("there was a signal stack: %s\n", old.ss_flags & SS_DISABLE ? "no" : "yes");
	fflush(stdout);
	struct sigaction action = {.sa_handler = onFault, .sa_flags = SA_ONSTACK}, before;
	sigaction(SIGSEGV, &action, &before);
	printf("there was a handler: %s\n", before.sa_handler == SIG_DFL ? "no" : "yes");
	fflush(stdout);
	int number = sigsetjmp(back, 1);
	if (!number)
		*(volatile int *)8 = 1;
	printf("came back from signal %d\n", number);
	return 0;
}

static int deep(volatile char *p) {
	volatile char room[4096];
	room[0] = *p;
	return *p ? deep(room) + room[0] : 0;
}

static int overflow(int argc, char **argv) {
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
	sigaltstack(&stack, 0);
	struct sigaction action = {.sa_handler = onFault, .sa_flags = SA_ONSTACK};
	sigaction(SIGSEGV, &action, 0);
	char c = 1;
	if (!sigsetjmp(back, 1))
		deep(&c);
	printf("the stack's end was met\n");
	return 0;
}

static int faultBare(int argc, char **argv) {
	printf("before the fault\n");
	fflush(stdout);
	*(volatile int *)8 = 1;
	return 0;
}

static int aborting(int argc, char **argv) { abort(); }

static volatile int ticks;
static void onTick(int number) { ticks++; }

static int timers(int argc, char **argv) {
	int which[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}, numbers[] = {SIGALRM, SIGVTALRM, SIGPROF};
	for (int i = 0; i < 3; i++) {
		ticks = 0;
		signal(numbers[i], onTick);
		struct itimerval t = {{0, 2000}, {0, 2000}};
		setitimer(which[i], &t, 0);
		while (ticks < 5)
			;
		memset(&t, 0, sizeof t);
		setitimer(which[i], &t, 0);
		printf("timer %d came\n", which[i]);
	}
	return 0;
}

static int alarmEnds(int argc, char **argv) {
	struct itimerval t = {{0, 0}, {0, 50000}};
	setitimer(ITIMER_REAL, &t, 0);
	pause();
	return 0;
}

static int posixTimer(int argc, char **argv) {
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
	timer_t timer;
	signal(SIGRTMIN + 3, onTick);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	struct itimerspec t = {{0, 2000000}, {0, 2000000}};
	timer_settime(timer, 0, &t, 0);
	while (ticks < 3)
		pause();
	printf("timer_create works, SIGRTMIN is %d, SIGRTMAX %d\n", SIGRTMIN, SIGRTMAX);
	return 0;
}

static int queued(int argc, char **argv) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, 0);
	for (int i = 0; i < 3; i++)
		sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i});
	for (int i = 0; i < 3; i++) {
		siginfo_t info;
		sigwaitinfo(&set, &info);
		printf("queued %d\n", info.si_value.sival_int);
	}
	return 0;
}

static int byFile(int argc, char **argv) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, 0);
	int fd = signalfd(-1, &set, 0);
	kill(getpid(), SIGUSR1);
	struct signalfd_siginfo info;
	if (read(fd, &info, sizeof info) != sizeof info)
		return 1;
	printf("signal %u from itself: %d, descriptor %d\n", info.ssi_signo, info.ssi_pid == (unsigned)getpid(), fd);
	return 0;
}

// all tells of every signal what is done at it.
static int dispositions(int argc, char **argv) {
	for (int number = 1; number <= SIGRTMAX; number++) {
		struct sigaction action;
		if (sigaction(number, 0, &action) == 0 && action.sa_handler != SIG_DFL)
			printf("signal %d is %s\n", number, action.sa_handler == SIG_IGN ? "ignored" : "handled");
	}
	sigset_t set;
	sigprocmask(SIG_BLOCK, 0, &set);
	for (int number = 1; number <= SIGRTMAX; number++)
		if (sigismember(&set, number) == 1)
			printf("signal %d is blocked\n", number);
	return 0;
}

static int ending(int argc, char **argv) {
	signal(atoi(argv[1]), SIG_DFL);
	raise(atoi(argv[1]));
	return 0;
}

static void last(void) { printf("last\n"); }
static void first(void) { printf("first\n"); }

static int atExit(int argc, char **argv) {
	atexit(last);
	atexit(first);
	printf("body\n");
	return 11;
}

static int quickExit(int argc, char **argv) {
	atexit(last);
	at_quick_exit(first);
	fflush(stdout);
	quick_exit(12);
}

// traced runs a child under ptrace and counts where it stops.
static int traced(int argc, char **argv) {
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		raise(SIGUSR1);
		_exit(4);
	}
	for (int status;;) {
		if (waitpid(pid, &status, 0) != pid)
			return 1;
		if (WIFEXITED(status))
			return printf("the child ended with %d\n", WEXITSTATUS(status)), 0;
		printf("the child stopped by %d\n", WSTOPSIG(status));
		ptrace(PTRACE_CONT, pid, 0, 0);
	}
}

static int cpuLimit(int argc, char **argv) {
	struct rlimit limit = {1, 10};
	setrlimit(RLIMIT_CPU, &limit);
	while (ticks == 0)
		;
	return 1;
}

static int usage(int argc, char **argv) {
	struct rusage u;
	getrusage(RUSAGE_CHILDREN, &u);
	printf("children took %ld s, %ld KiB\n", (long)u.ru_utime.tv_sec, u.ru_maxrss);
	int status;
	printf("has children: %s\n", waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD ? "no" : "yes");
	return 0;
}

const struct act signalActs[] = {
	{"segv", handledFault}, {"overflow", overflow}, {"fault", faultBare}, {"abort", aborting},
	{"timers", timers},
	{"alarm", alarmEnds}, {"timer", posixTimer}, {"queued", queued},
	{"signalfd", byFile}, {"dispositions", dispositions},
	{"end", ending}, {"atexit", atExit}, {"quickexit", quickExit}, {"traced", traced}, {"cpulimit", cpuLimit},
	{"usage", usage}, {0},
};
