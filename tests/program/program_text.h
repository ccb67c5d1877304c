/* Reads the text form of programs, which ir/print.c prints. */
#ifndef TPAT_TESTS_PROGRAM_TEXT_H
#define TPAT_TESTS_PROGRAM_TEXT_H

#include "ir/ir.h"

/* Sets *out to the program, in `a`. Errors name the line. */
int ir_parse_program(struct ir_program **out, const char *text, struct arena *a, struct err *e);
enum type type_from_name(const char *name); /* "f32" or "float"; TYPE_NONE when unknown */

#endif
