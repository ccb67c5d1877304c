/* Child processes that run other programs to their end. */
#ifndef TPAT_BASE_PROC_H
#define TPAT_BASE_PROC_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* Runs a program (searched in PATH) and waits for it; it speaks English. Gives its exit status (128 + signal if killed)
 * and everything it printed to stdout and stderr. argv ends with null. */
int proc_run(int *status, char **output, const char *const *argv, struct arena *a, struct err *e);
/* The same in `folder`; null: the current one. */
int proc_run_in(int *status, char **output, const char *folder, const char *const *argv, struct arena *a,
                struct err *e);

/* Runs a compiler or linker that makes the file after "-o" in argv. Errors: *said is null if it cannot be started; else
 * it failed or made no such file, and the text is `what` ("The C compiler failed on x.c"), a colon and why. */
int proc_compile(char **said, const char *what, const char *folder, const char *const *argv, struct arena *a,
                 struct err *e);

/* Returns the line in what a compiler or linker printed that says why it failed: the first with "error", but not one
 * that only tells that a program which it called failed; without such a line the first. */
const char *proc_error_line(const char *said, struct arena *a);

/* A program with its first arguments: what the user's environment variable says, such as "ccache gcc -m64", split at
 * blanks as make and the shell do; or else the first of some programs that is there, or the first one. */
struct proc_command {
	const char *const *word; /* ends with null */
	int n;
	const char *text; /* the words, for messages */
	bool named;       /* the environment variable says it */
	bool found;       /* there is such a program */
};
/* `program` ends with null. */
struct proc_command proc_command(const char *variable, const char *const *program, struct arena *a);
extern const char *const proc_c_compilers[], *const proc_cxx_compilers[]; /* for CC and CXX; end with null */

#endif
