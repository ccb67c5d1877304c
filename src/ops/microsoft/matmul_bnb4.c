/* MatMulBnb4: y = a w' with w [N, K], w[n, k] = table[b] * absmax of its block. All of w is one row of numbers: `b`
 * packs two to a byte, high bits first, and a block is block_size of them. With transB 0: y = a w. The tables are FP4
 * (sign, and 0, 1/192, 2/3, 1, 1/3, 1/2, 1/6, 1/4) and NF4, the quantiles of the normal distribution.
 * Source: ONNX Runtime, com.microsoft.MatMulBnb4; Dettmers and others, QLoRA (2023), appendix E, for NF4. */
#include "ops/microsoft/packed_bytes.h"

static const double fp4[16] = { 0,    5.208333333e-03,  0.66666667,  1,  0.33333333,  0.5,  0.16666667,  0.25,
	                        -0.0, -5.208333333e-03, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25 };
static const double nf4[16] = { -1,
	                        -0.6961928009986877,
	                        -0.5250730514526367,
	                        -0.39491748809814453,
	                        -0.28444138169288635,
	                        -0.18477343022823334,
	                        -0.09105003625154495,
	                        0,
	                        0.07958029955625534,
	                        0.16093020141124725,
	                        0.24611230194568634,
	                        0.33791524171829224,
	                        0.44070982933044434,
	                        0.5626170039176941,
	                        0.7229568362236023,
	                        1 };

static int table_of(struct lower *l, int64_t kind, struct value *out)
{
	struct tensor *t = NEW(l->program->arena, struct tensor);
	int64_t n = 16;

	TRY(tensor_new(t, TYPE_F32, 1, &n, l->program->arena, l->err));
	for (int i = 0; i < n; i++)
		tensor_set_float(t, i, kind ? nf4[i] : fp4[i]);
	*out = lower_data(l, kind ? "nf4" : "fp4", t);
	return 0;
}

static int lower(struct lower *l)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 1), absmax = lower_input(l, 2), table;
	int64_t n = lower_int(l, "N"), k = lower_int(l, "K"), block = lower_int(l, "block_size"),
	        kind = lower_int(l, "quant_type"), inner;
	bool turned = lower_int(l, "transB") != 0;
	int last = value_rank(a) - 1;
	expr index[IR_MAX_RANK], out, flat, byte, e;
	struct space s = { 0 };

	if (n < 1 || k < 1 || block < 1 || kind < 0 || kind > 1)
		return lower_fail(l, ERR_MODEL,
		                  "K is %lld, N %lld and block_size %lld, which must be positive, and quant_type %lld, "
		                  "which can be 0 or 1.",
		                  (long long)k, (long long)n, (long long)block, (long long)kind);
	if (last < 0 || (ir_const_int(value_dim(a, last), &inner) && inner != (turned ? k : n)))
		return lower_fail(l, ERR_MODEL, "the last axis of a does not have %lld elements.",
		                  (long long)(turned ? k : n));
	TRY(lower_demand_extent(l, IR_SAME, idx(l, turned ? k : n), a, last));
	TRY(lower_demand_of(l, IR_AT_MOST, NULL, idx(l, (n * k + 1) / 2), "the number of bytes of b", value_count(b)));
	TRY(lower_demand_of(l, IR_AT_MOST, NULL, idx(l, (n * k + block - 1) / block),
	                    "the number of elements of absmax", value_count(absmax)));
	TRY(table_of(l, kind, &table));
	for (int i = 0; i < last; i++)
		index[i] = space_push(l, &s, value_dim(a, i));
	out = space_push(l, &s, idx(l, turned ? n : k));
	index[last] = space_push(l, &s, idx(l, turned ? k : n));
	flat = turned ? add(muli(out, k), index[last]) : add(muli(index[last], k), out);
	byte = cast(at_flat(b, floordiv(flat, packed_a_byte(flat, 4))), TYPE_I32);
	byte = cast(packed_half(byte, flat, true), TYPE_INDEX);
	e = wide(load(a, index));
	e = mul(e,
	        mul(cast(load(table, &byte), e->type), cast(at_flat(absmax, floordiv(flat, idx(l, block))), e->type)));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(a), &s, last + 1, IR_SUM, e, NULL));
	return 0;
}

const struct op_def op_matmul_bnb4 = {
	.name = "MatMulBnb4",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y = a w', w = table[b] * absmax of each block",
	.inputs = { IN("a", TS_FLOAT32), IN("b", TS(U8)), IN("absmax", TS_FLOAT32) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_INT_REQUIRED("K", "columns of w"), ATTR_INT_REQUIRED("N", "rows of w"),
	           ATTR_INT_REQUIRED("block_size", "numbers that share an absmax"),
	           ATTR_INT_REQUIRED("quant_type", "0 FP4, 1 NF4"), ATTR_INT("transB", 1, "0: y = a w"),
	           ATTR_INT("training_mode", 0, "has no effect") },
	.lower = lower,
	.cases = { "a:f16[B,S,64] b:u8[1056] absmax:f16[66] K=64 N=33 block_size=32 quant_type=1",
	           "a:f32[M,33] b:u8[545] absmax:f32[69] K=33 N=33 block_size=16 quant_type=0",
	           "a:f32[M,8] b:u8[132] absmax:f32[17] K=33 N=8 block_size=16 quant_type=1 transB=0" },
};
