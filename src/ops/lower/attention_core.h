/* Scaled dot-product attention: what all operators of that name share.
 *   score[b,h,i,j] = bias(cap(scale * sum over d of q[b,h,i,d] * k[b,h',j,d])), h' the key head of query head h
 *   y[b,h,i,:]     = sum over j of exp(score - largest) * v[b,h',j,:] / sum over j of exp(score - largest)
 * A row whose scores are all minus infinity gives zeros. */
#ifndef TPAT_OPS_ATTENTION_CORE_H
#define TPAT_OPS_ATTENTION_CORE_H

#include "ops/lower/lower.h"

/* Where the element (b, h, s, d) of queries, keys or values lies. */
enum heads_layout {
	HEADS_BNSH,   /* [batch, heads, length, size] */
	HEADS_BSD,    /* [batch, length, ... heads * size ...], the first head at `offset` */
	HEADS_PACKED, /* [batch, length, heads, parts, size], this being part `offset` */
};
struct heads {
	struct value v;
	enum heads_layout layout;
	expr offset;                     /* null: 0 */
	struct value bias;               /* one number an element of heads * size, or not given */
	expr bias_offset;                /* null: 0 */
	expr batch, heads, length, size; /* extents */
};
/* The element in its own type, or with a bias in the compute type. */
expr heads_at(const struct heads *x, expr b, expr h, expr s, expr d);
/* Layout and extents from the value: [b,h,s,d] or, with a number of heads, [b,s,h*d]. Fails on other ranks. */
int heads_read(struct lower *l, struct value v, int64_t heads, const char *what, struct heads *out);
/* Demands what of queries, keys and values must agree. */
int heads_agree(struct lower *l, const struct heads *q, const struct heads *k, const struct heads *v);
/* All of it as [batch, heads, length, size]: `past`, when given, before it. */
struct value heads_join(struct lower *l, const char *name, const struct heads *x, struct value past);
struct heads heads_of(struct value v); /* of a value [b,h,s,d] */
/* The `width` columns of v, [b,s,columns], from column `from` on (null: 0), as so many heads. */
struct heads heads_part(struct lower *l, struct value v, int64_t heads, expr from, expr width);

enum attention_stage { ATTENTION_RAW, ATTENTION_CAPPED, ATTENTION_BIASED, ATTENTION_SOFTMAX, ATTENTION_NOTHING };
struct attention {
	struct heads q, k, v;
	expr scale;     /* of the compute type of q */
	double softcap; /* 0: none */
	bool f64;       /* the softmax in f64 */
	expr (*bias)(struct lower *l, const struct attention *a, const struct space *s, expr score); /* or null */
	const void *user;
	expr extra;                /* null, or a score without a value in every row, over b, h, i */
	enum attention_stage keep; /* which scores are wanted beside the result */
	struct value kept;         /* and these, [b,h,i,j] in the compute type (set by attention_lower) */
};
/* Minus infinity of score's type. */
expr attention_masked(expr score);
/* 1 / sqrt(size), of type t. */
expr attention_scale(struct lower *l, enum type t, expr size);
/* The result in type t: [b,h,i,d], or with `flat` [b,i,h*d]. */
struct value attention_lower(struct lower *l, struct attention *a, enum type t, bool flat);

#endif
