/* ASCII character tests, the same in every locale. C's own functions depend on it: some locales count bytes of umlauts
 * as letters, and in Turkish ones "i" is not the lower case of "I". */
#ifndef TPAT_BASE_ASCII_H
#define TPAT_BASE_ASCII_H

#include <stdbool.h>
#include <stddef.h>

static inline bool ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool ascii_is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static inline bool ascii_is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static inline bool ascii_is_letter(char c)
{
	return ascii_is_upper(c) || ascii_is_lower(c);
}

static inline bool ascii_is_alnum(char c)
{
	return ascii_is_letter(c) || ascii_is_digit(c);
}

/* Of names in C. */
static inline bool ascii_is_word(char c)
{
	return ascii_is_alnum(c) || c == '_';
}

static inline bool ascii_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool ascii_is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

static inline char ascii_lower(char c)
{
	return ascii_is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static inline char ascii_upper(char c)
{
	return ascii_is_lower(c) ? (char)(c - 'a' + 'A') : c;
}

/* True if the first n characters, or all of two shorter strings, are equal ignoring case. */
static inline bool ascii_same_n(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ascii_lower(a[i]) != ascii_lower(b[i]))
			return false;
		if (!a[i])
			return true;
	}
	return true;
}

static inline bool ascii_same(const char *a, const char *b)
{
	return ascii_same_n(a, b, (size_t)-1);
}

#endif
