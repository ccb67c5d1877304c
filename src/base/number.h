/* Numbers as text, the same in every locale. A host process (GTK, Qt, Python) may call setlocale(); C's own functions
 * then write and read one half as 0,5. Only number.c calls them with floating-point numbers (tests/layers).
 * Thread-safe. */
#ifndef TPAT_BASE_NUMBER_H
#define TPAT_BASE_NUMBER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_TEXT = 40 };

/* The shortest %g text that reads back as the same double or, with `f32`, the same float: "0.1", "1e-05"; whole numbers
 * below a million without an exponent: "3", "30"; "nan", "inf" and "-inf". Returns out. */
char *number_text(char out[NUMBER_TEXT], double x, bool f32);
/* For a table of times and the like: four significant digits, and without an exponent from 1e-4 on: "3.187", "20150".
 * Returns out. */
char *number_short(char out[NUMBER_TEXT], double x);
/* As strtod() and strtof(); `end` may be null. */
double number_read(const char *text, char **end);
float number_read_float(const char *text, char **end);
/* Truncates to int64_t; saturates out of range, 0 for NaN. */
int64_t number_int(double x);
/* As vsnprintf() and snprintf(). */
int number_vsnprintf(char *out, size_t size, const char *fmt, va_list ap);
int number_snprintf(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Switches the calling thread to the C locale permanently. For the program's main(), not for the library. */
void number_use_c_locale(void);

#endif
