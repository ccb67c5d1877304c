/* Numbers as text. See number.h. The calling thread has the C locale while one of C's functions runs (uselocale), which
 * leaves the process's locale, and all other threads, as they are. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale;

static void make_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* (locale_t)0, which changes nothing, if memory is out */
}

/* Returns the thread's locale, to be restored by uselocale(). */
static locale_t enter(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_locale);
	return uselocale(c_locale);
}

int64_t number_int(double x)
{
	return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : x == x ? (int64_t)x : 0;
}

int number_vsnprintf(char *out, size_t size, const char *fmt, va_list ap)
{
	locale_t before = enter();
	int n = vsnprintf(out, size, fmt, ap);
	uselocale(before);
	return n;
}

int number_snprintf(char *out, size_t size, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = number_vsnprintf(out, size, fmt, ap);
	va_end(ap);
	return n;
}

double number_read(const char *text, char **end)
{
	locale_t before = enter();
	double x = strtod(text, end);
	uselocale(before);
	return x;
}

float number_read_float(const char *text, char **end)
{
	locale_t before = enter();
	float x = strtof(text, end);
	uselocale(before);
	return x;
}

char *number_text(char out[NUMBER_TEXT], double x, bool f32)
{
	if (isnan(x) || isinf(x)) {
		snprintf(out, NUMBER_TEXT, "%s", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
		return out;
	}
	for (int digits = 1; digits <= 17; digits++) {
		number_snprintf(out, NUMBER_TEXT, "%.*g", digits, x);
		double back = number_read(out, NULL);
		if (back == x || (f32 && (float)back == (float)x))
			break;
	}
	if (strchr(out, 'e') && fabs(x) < 1e6 && x == floor(x)) /* 30 rather than 3e+01 */
		number_snprintf(out, NUMBER_TEXT, "%.0f", x);
	return out;
}

char *number_short(char out[NUMBER_TEXT], double x)
{
	number_snprintf(out, NUMBER_TEXT, fabs(x) < 9999.5 ? "%.4g" : fabs(x) < 1e15 ? "%.0f" : "%g", x);
	return out;
}

void number_use_c_locale(void)
{
	enter();
}
