/* Processors that a library can be for: by the names that compilers and uname have for them. */
#ifndef TPAT_BASE_MACHINE_H
#define TPAT_BASE_MACHINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct machine {
	const char *name; /* "aarch64" */
	int elf;          /* e_machine of its files */
};

bool machine_is_arm(const struct machine *m); /* null: this one */
/* Returns the machine of that name. Errors: ERR_USAGE, with the names that there are. */
int machine_find(const struct machine **out, const char *name, struct arena *a, struct err *e);
/* Fails if a file is a library for another processor than this one: dlopen() says of it that it does not exist. */
int machine_check(const char *library, struct err *e);

#endif
