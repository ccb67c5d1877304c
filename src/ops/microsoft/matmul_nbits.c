/* MatMulNBits: y[.., n] = sum over k of a[.., k] * (b(n, k) - zero) * scale + bias[n], where b holds numbers of 2, 4
 * or 8 bits, packed low bits first: [N, blocks, bytes a block]; a scale and zero point apply to a block of block_size
 * numbers along k. Zero points are packed like b, [N, bytes of a row of blocks], or floats; the default is 2^(bits -
 * 1). Source: ONNX Runtime, com.microsoft.MatMulNBits. */
#include "ops/microsoft/matmul_nbits.h"
#include "ops/microsoft/packed_bytes.h"

/* The number at place `i` of a row of bytes, which starts at byte `start`. */
static expr unpack(struct value bytes, expr start, expr i, int64_t bits)
{
	return packed_number(cast(at_flat(bytes, add(start, floordiv(i, packed_a_byte(i, bits)))), TYPE_I32), i, bits);
}

static expr zero_point(const struct nbits *p, struct value zero, expr n, expr block, enum type t, expr like)
{
	expr bytes;

	if (!zero.given)
		return with(like, (double)(1 << (p->bits - 1)));
	if (type_is_float(value_type(zero)))
		return cast(at_flat(zero, add(mul(n, p->blocks), block)), t);
	bytes = ceildiv(muli(p->blocks, p->bits), with(n, 8));
	return cast(unpack(zero, mul(n, bytes), block, p->bits), t);
}

static int check_count(struct lower *l, const char *name, expr want, struct value v)
{
	return v.given ? lower_demand_of(l, IR_AT_MOST, NULL, want, name, value_count(v)) : 0;
}

/* Packed tensors are read as if they had one axis. */
static int check_counts(struct lower *l, const struct nbits *p)
{
	expr rows = idx(l, p->rows), all = mul(rows, p->blocks), bytes = ceildiv(muli(p->blocks, p->bits), idx(l, 8));

	TRY(check_count(l, "the number of bytes of b", muli(all, p->block * p->bits / 8), p->b));
	TRY(check_count(l, "the number of scales", all, p->scale));
	return check_count(l, "the number of zero points",
	                   p->zero.given && type_is_float(value_type(p->zero)) ? all : mul(rows, bytes), p->zero);
}

int nbits_check(struct lower *l, struct nbits *p)
{
	if (p->bits != 2 && p->bits != 4 && p->bits != 8)
		return lower_fail(l, ERR_UNSUPPORTED, "bits is %lld; it can be 2, 4 or 8.", (long long)p->bits);
	if (p->block < 1 || p->rows < 1 || p->k < 1 || p->block * p->bits % 8)
		return lower_fail(l, ERR_MODEL,
		                  "K is %lld, N %lld and block_size %lld; all must be positive, and a block must fill "
		                  "whole bytes.",
		                  (long long)p->k, (long long)p->rows, (long long)p->block);
	p->blocks = idx(l, (p->k + p->block - 1) / p->block);
	return check_counts(l, p);
}

expr nbits_weight(struct lower *l, const struct nbits *p, enum type c, expr n, expr k)
{
	expr block = floordiv(k, idx(l, p->block)), w;

	w = cast(unpack(p->b, mul(n, muli(p->blocks, p->block * p->bits / 8)), k, p->bits), c);
	w = sub(w, zero_point(p, p->zero, n, block, c, w));
	return mul(w, cast(at_flat(p->scale, add(mul(n, p->blocks), block)), c));
}

static int lower(struct lower *l)
{
	struct value a = lower_input(l, 0), bias = lower_input(l, 5);
	struct nbits p = { .bits = lower_int(l, "bits"),
		           .block = lower_int(l, "block_size"),
		           .rows = lower_int(l, "N"),
		           .k = lower_int(l, "K"),
		           .b = lower_input(l, 1),
		           .scale = lower_input(l, 2),
		           .zero = lower_input(l, 3) };
	int rank = value_rank(a);
	enum type c = compute_type(value_type(a));
	expr index[IR_MAX_RANK], n, k, w, y;
	struct space s = { 0 };
	int64_t inner;

	TRY(nbits_check(l, &p));
	if (lower_input(l, 4).given)
		return lower_fail(l, ERR_UNSUPPORTED, "g_idx is not supported; rows must be in their own order.");
	if (rank < 1 || (ir_const_int(value_dim(a, rank - 1), &inner) && inner != p.k))
		return lower_fail(l, ERR_MODEL, "the last axis of a does not have K = %lld elements.", (long long)p.k);

	TRY(lower_demand_extent(l, IR_SAME, idx(l, p.k), a, rank - 1));
	TRY(check_count(l, "the number of elements of the bias", n = idx(l, p.rows), bias));
	for (int i = 0; i + 1 < rank; i++)
		index[i] = space_push(l, &s, value_dim(a, i));
	n = space_push(l, &s, idx(l, p.rows));
	k = index[rank - 1] = space_push(l, &s, idx(l, p.k));
	w = nbits_weight(l, &p, c, n, k);
	y = acc(l, c);
	if (bias.given)
		y = add(y, cast(at_flat(bias, n), c));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(a), &s, rank, IR_SUM, mul(wide(load(a, index)), w), y));
	return 0;
}

const struct op_def op_matmul_nbits = {
	.name = "MatMulNBits",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y = a w', w = (b - zero_points) * scales of each block",
	.inputs = { IN("a", TS_FLOAT), IN("b", TS(U8)), IN("scales", TS_FLOAT), OPT("zero_points", TS_FLOAT | TS(U8)),
	            OPT("g_idx", TS(I32)), OPT("bias", TS_FLOAT) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_INT_REQUIRED("K", "columns of w"), ATTR_INT_REQUIRED("N", "rows of w"),
	           ATTR_INT("bits", 4, "of a number: 2, 4 or 8"),
	           ATTR_INT_REQUIRED("block_size", "numbers that share a scale"),
	           ATTR_INT("accuracy_level", 0, "has no effect: sums are in f32"),
	           ATTR_INT("weight_prepacked", 0, "has no effect") },
	.lower = lower,
	.cases = { "a:f16[B,S,128] b:u8[64,4,16] scales:f16[256] zero_points:u8[128] K=128 N=64 block_size=32",
	           "a:f32[M,70] b:u8[33,3,16] scales:f32[99] K=70 N=33 block_size=32" },
};
