/* Child processes that are copies of this one, for work that may crash, hang or be killed. They and their parent speak
 * in whole messages over a socket. A child ends with its parent, whatever ends that. */
#ifndef TPAT_BASE_CHILD_H
#define TPAT_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct child {
	int pid; /* 0: there is none */
	int fd;  /* the parent's end of the socket */
};

enum { CHILD_MESSAGE = 1 << 16 }; /* no message is longer */

/* Forks; the child calls fn with its end of the socket, and ends when fn returns. It is the head of a process group of
 * its own (so that Ctrl-C in a terminal reaches the parent alone, and a kill all that the child has started), leaves no
 * core, and writes its standard output and error to the file `log` (null: nowhere). Memory that runs out ends it. */
int child_start(struct child *c, void (*fn)(void *arg, int fd), void *arg, const char *log, struct err *e);

/* Ends the child and all that it has started, and waits for it; *how (may be null) gets how it had ended before, if it
 * had: "signal 9 (Killed)", "exit 3"; "" when it was still running. */
void child_kill(struct child *c, char how[64]);

/* One message. Send gives false when the other side is gone. Receive waits and gives its bytes, 0 when the other side
 * is gone, cutting off what is longer than `size`. */
bool child_send(int fd, const void *data, size_t size);
size_t child_receive(int fd, void *data, size_t size);

/* Waits up to `ms` milliseconds until some of the sockets can be read (a child that ended counts) or a signal comes;
 * sets ready[i]. Negative sockets are passed over. */
void child_wait(const int *fd, bool *ready, int n, int ms);

#endif
