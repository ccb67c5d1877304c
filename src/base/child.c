/* Child processes and their messages. See child.h. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"

enum { MAX_SOCKETS = 256, OUT_OF_MEMORY = 99, PATIENCE_MS = 5000 };

_Noreturn static void be_child(void (*fn)(void *, int), void *arg, int fd, const char *log, pid_t parent)
{
	struct arena_guard guard;
	struct rlimit none = { 0, 0 };
	sigset_t none_blocked;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* the parent ended before the line above */
		_exit(0);
	setrlimit(RLIMIT_CORE, &none);
	sigemptyset(&none_blocked);
	sigprocmask(SIG_SETMASK, &none_blocked, NULL); /* the parent may block some */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_IGN); /* as SIGINT: the parent ends its children */
	int to = open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (to >= 0) {
		dup2(to, 1);
		dup2(to, 2);
	}
	if (setjmp(*arena_guard_push(&guard))) {
		if (!arena_guard_bug())
			_exit(OUT_OF_MEMORY);
		fprintf(stderr, "%s\n", arena_guard_bug());
		abort();
	}
	fn(arg, fd);
	_exit(0);
}

int child_start(struct child *c, void (*fn)(void *arg, int fd), void *arg, const char *log, struct err *e)
{
	int fd[2];
	pid_t parent = getpid();
	*c = (struct child){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
		return err_set(e, ERR_DEVICE, "A worker process cannot be started: %s.", strerror(errno));
	fflush(NULL); /* buffered output belongs to the parent */
	pid_t pid = fork();
	if (pid == 0) {
		close(fd[0]);
		be_child(fn, arg, fd[1], log, parent);
	}
	close(fd[1]);
	if (pid < 0) {
		int why = errno;
		close(fd[0]);
		return err_set(e, ERR_DEVICE, "A worker process cannot be started: %s.", strerror(why));
	}
	setpgid(pid, pid); /* parent and child both set it, whichever runs first */
	*c = (struct child){ pid, fd[0] };
	return 0;
}

/* True if the child ends within `ms`. */
static bool ended(pid_t pid, int *status, int ms)
{
	for (int waited = 0;; waited++) {
		pid_t got = waitpid(pid, status, WNOHANG);
		if (got == pid || (got < 0 && errno != EINTR))
			return got == pid;
		if (waited >= ms)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

void child_kill(struct child *c, char how[64])
{
	int status = 0;
	bool was_over;
	if (how)
		*how = 0;
	if (!c->pid)
		return;
	/* The socket closes shortly before waitpid() succeeds. */
	was_over = ended(c->pid, &status, how ? 50 : 0);
	kill(-c->pid, SIGKILL);
	if (!was_over) {
		kill(c->pid, SIGKILL);
		ended(c->pid, &status, PATIENCE_MS); /* a driver may delay its exit */
	} else if (how && WIFSIGNALED(status)) {
		snprintf(how, 64, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	} else if (how && WIFEXITED(status) && WEXITSTATUS(status) == OUT_OF_MEMORY) {
		snprintf(how, 64, "memory is out");
	} else if (how) {
		snprintf(how, 64, "exit %d", WEXITSTATUS(status));
	}
	close(c->fd);
	file_forget_process(c->pid);
	*c = (struct child){ .fd = -1 };
}

bool child_send(int fd, const void *data, size_t size)
{
	ssize_t n;
	ck(size > 0 && size <= CHILD_MESSAGE);
	do
		n = send(fd, data, size, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size;
}

size_t child_receive(int fd, void *data, size_t size)
{
	ssize_t n;
	do
		n = recv(fd, data, size, 0);
	while (n < 0 && errno == EINTR);
	return n > 0 ? (size_t)n : 0;
}

void child_wait(const int *fd, bool *ready, int n, int ms)
{
	struct pollfd p[MAX_SOCKETS];
	ck(n <= MAX_SOCKETS);
	for (int i = 0; i < n; i++)
		p[i] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
	int rc = poll(p, (nfds_t)n, ms);
	for (int i = 0; i < n; i++)
		ready[i] = rc > 0 && fd[i] >= 0 && p[i].revents;
}
