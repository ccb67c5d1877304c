/* Growing arrays. See vec.h. */
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void vec_room(struct arena *a, void **at, int n, int *cap, size_t size)
{
	if (n < *cap)
		return;
	*cap = *cap ? *cap * 2 : 8;
	void *p = arena_alloc(a, (size_t)*cap * size);
	if (n)
		memcpy(p, *at, (size_t)n * size);
	*at = p;
}

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

void vec_sort_ints(int *at, int n)
{
	if (n > 1)
		qsort(at, (size_t)n, sizeof *at, compare_ints);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void vec_sort_texts(const char **at, int n)
{
	if (n > 1)
		qsort(at, (size_t)n, sizeof *at, compare_texts);
}
