/* Numbers as text, the same in every locale. A host process (GTK, Qt, Python) may call setlocale(), and then C's own
 * functions write and read 0,5 for one half. Only number.c calls them with floating-point numbers (tests/layers). Any
 * thread may call these. */
#ifndef TPAT_BASE_NUMBER_H
#define TPAT_BASE_NUMBER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_TEXT = 40 };

/* The shortest of C's %g texts that reads back as the same double or, with `f32`, as the same float: "0.1", "1e-05",
 * "3". NaN and infinities are "nan", "inf" and "-inf". Returns out. */
char *number_text(char out[NUMBER_TEXT], double x, bool f32);
/* As strtod() and strtof(); `end` may be null. */
double number_read(const char *text, char **end);
float number_read_float(const char *text, char **end);
/* The nearest int64_t toward zero: the least or the greatest one for numbers beyond them, 0 for NaN. */
int64_t number_int(double x);
/* As vsnprintf() and snprintf(). */
int number_vsnprintf(char *out, size_t size, const char *fmt, va_list ap);
int number_snprintf(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Gives the calling thread the C locale for good, whatever the process's is. For the program's main(), not for the
 * library. */
void number_use_c_locale(void);

#endif
