/* Names reserved by the languages of kernels and by the headers that kernels include. */
#ifndef TPAT_IR_RESERVED_H
#define TPAT_IR_RESERVED_H

#include <stdbool.h>

#include "base/embed.h"
#include "base/map.h"

/* Returns the words of a language that a kernel's text must not define. Computed once. */
const struct map *names_reserved(enum kernel_language language);
bool names_is_reserved(const char *name); /* in any language */

#endif
