/* Forked child processes, for work that may crash, hang or be killed. Child and parent exchange whole messages over a
 * socket. A child ends when its parent does, for whatever reason. */
#ifndef TPAT_BASE_CHILD_H
#define TPAT_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct child {
	int pid; /* 0: none */
	int fd;  /* the parent's end of the socket */
};

enum { CHILD_MESSAGE = 1 << 16 }; /* longest message, bytes */

/* Forks; the child calls fn with its end of the socket, and exits when fn returns. It leads its own process group, so
 * that Ctrl-C in a terminal reaches the parent only and a kill reaches everything the child started. It leaves no core
 * file and writes its standard output and error to the file `log` (null: discarded). It exits when memory runs out. */
int child_start(struct child *c, void (*fn)(void *arg, int fd), void *arg, const char *log, struct err *e);

/* Kills the child and everything it started, and waits for it. *how (may be null) tells how it had ended before that:
 * "signal 9 (Killed)", "exit 3"; "" if it was still running. */
void child_kill(struct child *c, char how[64]);

/* Send or receive one message. Send returns false if the peer is gone. Receive waits and returns the message's bytes,
 * cut off at `size`; 0 if the peer is gone. */
bool child_send(int fd, const void *data, size_t size);
size_t child_receive(int fd, void *data, size_t size);

/* Waits up to `ms` milliseconds until a socket is readable (also when its child ended) or a signal arrives; sets
 * ready[i]. Ignores negative sockets. */
void child_wait(const int *fd, bool *ready, int n, int ms);

#endif
