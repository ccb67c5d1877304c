/* Memory whose wrong use is named: bytes that end where memory cannot be read, and bytes that are taken away later. An
 * access to either calls a function with a number that says which, and then ends the process. For processes that run
 * code of others (child.h). */
#ifndef TPAT_BASE_TRAP_H
#define TPAT_BASE_TRAP_H

#include <stddef.h>

/* Names accesses from now on: told(user, meaning) runs in a signal handler, once. */
void trap_begin(void (*told)(void *user, int meaning), void *user);

/* Returns `bytes` zeroed bytes which end, but for alignment (8, or less for fewer bytes), at memory that cannot be
 * read; an access to that has the meaning `beyond`. Never null; lives until trap_free() or the end of the process. One
 * thread at a time calls these three. */
void *trap_new(size_t bytes, int beyond);
void trap_close(void *memory, int meaning); /* takes trap_new()'s memory away; an access has this meaning */
void trap_free(void *memory);

#endif
