/* Inside src/gen/: the names in a kernel's text. While a kernel is printed, buffers, symbols and variables are marked
 * names: a hint, a mark, and a distinguishing number. When the text is complete, each gets a unique name. */
#ifndef TPAT_GEN_NAMING_H
#define TPAT_GEN_NAMING_H

#include "ir/kernel.h"
#include "ir/reserved.h"

/* The marks, and the number of hexadecimal digits after each. */
#define NAMES_MARK_VARIABLE '\x01'
#define NAMES_MARK_SYMBOL '\x02'
#define NAMES_MARK_BUFFER '\x03'
/* Mark the start and end of a block's scope, which includes its loop variable or function parameters; a function's own
 * scope needs no marks. They are removed from the text. */
#define NAMES_SCOPE '\x04'
#define NAMES_SCOPE_END '\x05'
enum { NAMES_MARK_DIGITS = 8 };

/* Appends a function's text with all marked names replaced. Variables of disjoint scopes may share a name. */
void names_choose(struct str *out, const char *text, const struct map *reserved);

#endif
