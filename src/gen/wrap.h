/* Inside src/gen/: the width of a text's lines. */
#ifndef TPAT_GEN_WRAP_H
#define TPAT_GEN_WRAP_H

#include "base/str.h"

/* Appends the text; lines of code longer than 120 columns are broken. */
void gen_wrap(struct str *out, const char *text);

#endif
