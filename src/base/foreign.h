/* Interfaces of other libraries that lack const: they take a pointer to data that they only read. */
#ifndef TPAT_BASE_FOREIGN_H
#define TPAT_BASE_FOREIGN_H

#include <stdint.h>

/* The pointer without its const. For arguments and fields of other libraries, and for containers of such pointers. */
static inline void *drop_const(const void *p)
{
	return (void *)(uintptr_t)p;
}

#endif
