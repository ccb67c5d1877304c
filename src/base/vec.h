/* Growing arrays in an arena: `struct { VEC(T); } v` or a named struct with VEC(T) as its first member. */
#ifndef TPAT_BASE_VEC_H
#define TPAT_BASE_VEC_H

#include <stddef.h>

#include "base/arena.h"

#define VEC(T) \
	T *at; \
	int n, cap

/* Append `x` to vector `v` (a struct with VEC(T)); memory comes from arena `a`. */
#define vec_push(a, v, x) \
	(vec_room((a), (void **)&(v)->at, (v)->n, &(v)->cap, sizeof *(v)->at), (v)->at[(v)->n++] = (x))

/* `for` over all elements: `p` points at each in turn. */
#define vec_each(p, v) for (__typeof__(*(v)->at) *p = (v)->at; p && p < (v)->at + (v)->n; p++)

void vec_room(struct arena *a, void **at, int n, int *cap, size_t size);

/* Sorts n numbers in ascending order. */
void vec_sort_ints(int *at, int n);
/* Sorts n texts by their bytes. */
void vec_sort_texts(const char **at, int n);

#endif
