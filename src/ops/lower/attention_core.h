/* Scaled dot-product attention, shared by all attention operators.
 *   score[b,h,i,j] = bias(cap(scale * sum over d of q[b,h,i,d] * k[b,h',j,d])), h' the key head of query head h
 *   y[b,h,i,:]     = sum over j of exp(score - largest) * v[b,h',j,:] / sum over j of exp(score - largest)
 * A row whose scores are all minus infinity gives zeros. */
#ifndef TPAT_OPS_ATTENTION_CORE_H
#define TPAT_OPS_ATTENTION_CORE_H

#include "ops/lower/lower.h"

/* The position of element (b, h, s, d) of queries, keys or values. */
enum heads_layout {
	HEADS_BNSH,   /* [batch, heads, length, size] */
	HEADS_BSD,    /* [batch, length, columns]; the first head starts at column `offset` */
	HEADS_PACKED, /* [batch, length, heads, parts, size]; `offset` is the part */
};
struct heads {
	struct value v;
	enum heads_layout layout;
	expr offset;                     /* null: 0 */
	struct value bias;               /* [heads * size] from `bias_offset` on, added to the elements; or not given */
	expr bias_offset;                /* null: 0 */
	expr batch, heads, length, size; /* extents */
};
/* The element: in its own type, or with a bias in the compute type. */
expr heads_at(const struct heads *x, expr b, expr h, expr s, expr d);
/* Sets layout and extents from the value: [b,h,s,d], or [b,s,h*d] with a given number of heads. Fails on other ranks;
 * `what` names the value in messages. */
int heads_read(struct lower *l, struct value v, int64_t heads, const char *what, struct heads *out);
/* Demands that the extents of queries, keys and values agree. */
int heads_agree(struct lower *l, const struct heads *q, const struct heads *k, const struct heads *v);
/* All elements as [batch, heads, length, size]; `past`, if given, comes before them along the length. */
struct value heads_join(struct lower *l, const char *name, const struct heads *x, struct value past);
struct heads heads_of(struct value v); /* for a value [b,h,s,d] */
/* Columns from..from+width-1 of v, [b,s,columns], as `heads` heads. A null `from` means 0. */
struct heads heads_part(struct lower *l, struct value v, int64_t heads, expr from, expr width);

enum attention_stage { ATTENTION_RAW, ATTENTION_CAPPED, ATTENTION_BIASED, ATTENTION_SOFTMAX, ATTENTION_NOTHING };
struct attention {
	struct heads q, k, v;
	expr scale;     /* in the compute type of q */
	double softcap; /* 0: none */
	bool f64;       /* the softmax in f64 */
	expr (*bias)(struct lower *l, const struct attention *a, const struct space *s, expr score); /* null: none */
	const void *user;
	expr extra;                /* null, or one more score in each row (over b, h, i) that has no value */
	enum attention_stage keep; /* the scores to keep as a result of their own */
	struct value kept;         /* those scores, [b,h,i,j] in the compute type; set by attention_lower() */
};
/* Minus infinity of score's type. */
expr attention_masked(expr score);
/* 1 / sqrt(size), of type t. */
expr attention_scale(struct lower *l, enum type t, expr size);
/* Attention in type t: [b,h,i,d], or [b,i,h*d] with `flat`. */
struct value attention_lower(struct lower *l, struct attention *a, enum type t, bool flat);

#endif
