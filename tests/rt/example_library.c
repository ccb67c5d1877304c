/* A plugin library as tpat would generate it, written by hand: the tables of a few plugins, and their kernels as C
 * functions for the tests' CPU device (void NAME(grid, block, args), one call a launch). Three of them also carry PTX.
 *
 * Build it by hand: cc -O2 -fPIC -shared -Iinclude -Irt -o libexample_library.so tests/rt/example_library.c
 * rt/core/(all).c rt/tensorrt/(all).c -ldl -lpthread */
/* Rows end where only zeros follow. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#include <math.h>

#include "tpat/tpat_rt.h"

#define COUNT(x) ((int32_t)(sizeof(x) / sizeof *(x)))
#define KERNEL(name) TPAT_RT_EXPORT void name(const uint32_t grid[3], const int32_t block[3], void **args)
#define UNUSED ((void)grid, (void)block)
#define ARG(i, T) (*(T *)args[i])

KERNEL(double_f32);
KERNEL(row_statistics);
KERNEL(row_normalize);
KERNEL(row_softmax);
KERNEL(add_table_even);
KERNEL(add_table_any);
KERNEL(repeat_stage);
KERNEL(repeat);
KERNEL(find_even);
KERNEL(halve_f64);
KERNEL(bump_stage);
KERNEL(copy_mapped);
KERNEL(copy_pair);
TPAT_RT_EXPORT extern int example_even_launches, example_whole_launches, example_pair_launches;
int example_whole_launches;

static const int32_t dims_01[] = { 0, 1 };

/* Double: y[N,H] = 2 x[N,H] */
static const struct tpat_rt_expr double_expr[] = {
	{ TPAT_RT_DIM, 0, 0, 0, 0 },     { TPAT_RT_DIM, 0, 1, 0, 0 },     { TPAT_RT_MUL, 0, 1, 0, 0 },
	{ TPAT_RT_CONST, 0, 0, 0, 256 }, { TPAT_RT_CEILDIV, 2, 3, 0, 0 }, { TPAT_RT_CONST, 0, 0, 0, 1 },
};
static const struct tpat_rt_tensor double_x = { "x", 1, 2, dims_01, 0, 0 }, double_y = { "y", 1, 2, dims_01, 0, 0 };
static const struct tpat_rt_arg double_arg[] = { { TPAT_RT_ARG_INPUT, 0 },
	                                         { TPAT_RT_ARG_OUTPUT, 0 },
	                                         { TPAT_RT_ARG_LONG, 2 } };
static const struct tpat_rt_kernel double_kernel = { "double_f32", double_arg, 3, { 4, 5, 5 }, { 256, 1, 1 }, 0, -1, 0,
	                                             NULL,         0,          0, 0,           NULL,          0 };
static const struct tpat_rt_step double_step = { &double_kernel, 1 };
static const struct tpat_rt_tactic double_tactic[] = { { &double_step, 1 } };
static const char double_ptx[] =
        ".version 6.0\n.target sm_50\n.address_size 64\n"
        ".visible .entry double_f32(.param .u64 x, .param .u64 y, .param .u64 n)\n{\n"
        ".reg .pred %p; .reg .f32 %f; .reg .b32 %r<4>; .reg .b64 %d<6>;\n"
        "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;\n"
        "mul.wide.u32 %d0, %r0, %r1; cvt.u64.u32 %d1, %r2; add.s64 %d0, %d0, %d1;\n"
        "ld.param.u64 %d2, [n]; setp.ge.s64 %p, %d0, %d2; @%p bra done;\n"
        "ld.param.u64 %d3, [x]; ld.param.u64 %d4, [y]; cvta.to.global.u64 %d3, %d3; cvta.to.global.u64 %d4, %d4;\n"
        "shl.b64 %d0, %d0, 2; add.s64 %d3, %d3, %d0; add.s64 %d4, %d4, %d0;\n"
        "ld.global.f32 %f, [%d3]; add.f32 %f, %f, %f; st.global.f32 [%d4], %f;\ndone: ret;\n}\n";
static const struct tpat_rt_image double_image = { 50, 1, double_ptx, double_ptx + sizeof double_ptx };

KERNEL(double_f32)
{
	const float *x = ARG(0, const float *);
	float *y = ARG(1, float *);

	/* Every thread of every block, to check grid and block. */
	for (int64_t i = 0; i < (int64_t)grid[0] * block[0]; i++)
		if (i < ARG(2, int64_t))
			y[i] = 2 * x[i];
}

/* RowSoftmax: statistics of each row into the workspace, then the result; as another tactic, all in one kernel. */
static const struct tpat_rt_expr softmax_expr[] = {
	{ TPAT_RT_DIM, 0, 0, 0, 0 },   { TPAT_RT_DIM, 0, 1, 0, 0 },
	{ TPAT_RT_CONST, 0, 0, 0, 4 }, { TPAT_RT_MUL, 0, 2, 0, 0 }, /* bytes of one number a row */
	{ TPAT_RT_CONST, 0, 0, 0, 1 },
};
static const struct tpat_rt_buffer softmax_buffer[] = { { "largest", 3, NULL }, { "sum", 3, NULL } };
static const struct tpat_rt_arg statistics_arg[] = {
	{ TPAT_RT_ARG_INPUT, 0 }, { TPAT_RT_ARG_BUFFER, 0 }, { TPAT_RT_ARG_BUFFER, 1 }, { TPAT_RT_ARG_INT, 1 }
};
static const struct tpat_rt_arg normalize_arg[] = { { TPAT_RT_ARG_INPUT, 0 },
	                                            { TPAT_RT_ARG_BUFFER, 0 },
	                                            { TPAT_RT_ARG_BUFFER, 1 },
	                                            { TPAT_RT_ARG_OUTPUT, 0 },
	                                            { TPAT_RT_ARG_INT, 1 } };
static const struct tpat_rt_kernel softmax_kernel[] = {
	{ "row_statistics", statistics_arg, 4, { 0, 4, 4 }, { 32, 1, 1 }, 128, -1, 0, NULL, 0, 0, 0, NULL, 0 },
	{ "row_normalize", normalize_arg, 5, { 0, 4, 4 }, { 32, 1, 1 }, 0, -1, 0, NULL, 0, 0, 0, NULL, 0 },
};
static const struct tpat_rt_arg whole_arg[] = { { TPAT_RT_ARG_INPUT, 0 },
	                                        { TPAT_RT_ARG_OUTPUT, 0 },
	                                        { TPAT_RT_ARG_INT, 1 } };
static const struct tpat_rt_kernel whole_kernel = { "row_softmax", whole_arg, 3, { 0, 4, 4 }, { 32, 1, 1 }, 0, -1, 0,
	                                            NULL,          0,         0, 0,           NULL,         0 };
static const struct tpat_rt_step softmax_step[] = { { &softmax_kernel[0], 1 }, { &softmax_kernel[1], 1 } };
static const struct tpat_rt_step whole_step = { &whole_kernel, 1 };
static const struct tpat_rt_tactic softmax_tactic[] = { { softmax_step, 2 }, { &whole_step, 1 } };

KERNEL(row_statistics)
{
	int h = ARG(3, int32_t);

	(void)block;
	for (uint32_t n = 0; n < grid[0]; n++) {
		const float *x = ARG(0, const float *) + (int64_t)n * h;
		float largest = -INFINITY, sum = 0;
		for (int i = 0; i < h; i++)
			largest = fmaxf(largest, x[i]);
		for (int i = 0; i < h; i++)
			sum += expf(x[i] - largest);
		ARG(1, float *)[n] = largest;
		ARG(2, float *)[n] = sum;
	}
}

KERNEL(row_normalize)
{
	const float *x = ARG(0, const float *), *largest = ARG(1, const float *), *sum = ARG(2, const float *);
	float *y = ARG(3, float *);
	int h = ARG(4, int32_t);

	(void)block;
	for (int64_t n = 0; n < grid[0]; n++)
		for (int i = 0; i < h; i++)
			y[n * h + i] = expf(x[n * h + i] - largest[n]) / sum[n];
}

KERNEL(row_softmax)
{
	int h = ARG(2, int32_t);

	(void)block;
	example_whole_launches++;
	for (uint32_t n = 0; n < grid[0]; n++) {
		const float *x = ARG(0, const float *) + (int64_t)n * h;
		float *y = ARG(1, float *) + (int64_t)n * h, largest = -INFINITY, sum = 0;
		for (int i = 0; i < h; i++)
			largest = fmaxf(largest, x[i]);
		for (int i = 0; i < h; i++)
			sum += expf(x[i] - largest);
		for (int i = 0; i < h; i++)
			y[i] = expf(x[i] - largest) / sum;
	}
}

/* AddTable: y[N,4] = x[N,4] + table[4]; a guard picks the kernel for even N. AddOther is the same with other weights,
 * AddAgain with the same ones. */
static const struct tpat_rt_expr table_expr[] = {
	{ TPAT_RT_DIM, 0, 0, 0, 0 },   { TPAT_RT_CONST, 0, 0, 0, 4 }, { TPAT_RT_CONST, 0, 0, 0, 2 },
	{ TPAT_RT_MOD, 0, 2, 0, 0 },   { TPAT_RT_NOT, 3, -1, -1, 0 }, { TPAT_RT_CONST, 0, 0, 0, 16 },
	{ TPAT_RT_CONST, 0, 0, 0, 1 },
};
static const struct tpat_rt_tensor table_x = { "x", 6, 2, dims_01, 0, 0 }, table_y = { "y", 6, 2, dims_01, 0, 0 };
static const int32_t table_data[4] = { 1, 10, 100, 1000 };
static const int32_t other_data[4] = { 2, 20, 200, 2000 };
static const struct tpat_rt_buffer table_buffer = { "table", 5, table_data };
static const struct tpat_rt_buffer other_buffer = { "table", 5, other_data };
static const struct tpat_rt_arg table_arg[] = {
	{ TPAT_RT_ARG_INPUT, 0 }, { TPAT_RT_ARG_BUFFER, 0 }, { TPAT_RT_ARG_OUTPUT, 0 }, { TPAT_RT_ARG_INT, 0 }
};
static const struct tpat_rt_kernel table_kernel[] = {
	{ "add_table_even", table_arg, 4, { 0, 6, 6 }, { 4, 1, 1 }, 0, 4, 0, NULL, 0, 0, 0, NULL, 0 },
	{ "add_table_any", table_arg, 4, { 0, 6, 6 }, { 4, 1, 1 }, 0, -1, 0, NULL, 0, 0, 0, NULL, 0 },
};
static const struct tpat_rt_step table_step = { table_kernel, 2 };
static const struct tpat_rt_tactic table_tactic[] = { { &table_step, 1 } };
#define TABLE_PTX(name) \
	".visible .entry " name "(.param .u64 x, .param .u64 t, .param .u64 y, .param .u32 n)\n{\n" \
	".reg .b32 %r<5>; .reg .b64 %d<8>;\n" \
	"mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mul.wide.u32 %d0, %r0, 16; mul.wide.u32 %d1, %r1, 4;\n" \
	"ld.param.u64 %d2, [x]; ld.param.u64 %d3, [t]; ld.param.u64 %d4, [y];\n" \
	"cvta.to.global.u64 %d2, %d2; cvta.to.global.u64 %d3, %d3; cvta.to.global.u64 %d4, %d4;\n" \
	"add.s64 %d0, %d0, %d1; add.s64 %d2, %d2, %d0; add.s64 %d4, %d4, %d0; add.s64 %d3, %d3, %d1;\n" \
	"ld.global.u32 %r2, [%d2]; ld.global.u32 %r3, [%d3]; add.s32 %r2, %r2, %r3; st.global.u32 [%d4], %r2;\n" \
	"ret;\n}\n"
static const char table_ptx[] =
        ".version 6.0\n.target sm_50\n.address_size 64\n" TABLE_PTX("add_table_even") TABLE_PTX("add_table_any");
static const struct tpat_rt_image table_image = { 50, 1, table_ptx, table_ptx + sizeof table_ptx };
int example_even_launches;

KERNEL(add_table_any)
{
	UNUSED;
	for (int i = 0; i < 4 * ARG(3, int32_t); i++)
		ARG(2, int32_t *)[i] = ARG(0, const int32_t *)[i] + ARG(1, const int32_t *)[i % 4];
}

KERNEL(add_table_even)
{
	__atomic_fetch_add(&example_even_launches, 1, __ATOMIC_RELAXED);
	add_table_any(grid, block, args);
}

/* Repeat: y[size] = x[i mod N], through a workspace of y's size; size is the value of a shape input. */
static const struct tpat_rt_expr repeat_expr[] = {
	{ TPAT_RT_DIM, 0, 0, 0, 0 },   { TPAT_RT_CONST, 0, 0, 0, 1 }, { TPAT_RT_VALUE, 1, 0, 0, 0 },
	{ TPAT_RT_CONST, 0, 0, 0, 4 }, { TPAT_RT_MUL, 2, 3, 0, 0 },
};
static const int32_t dims_0[] = { 0 }, dims_1[] = { 1 }, dims_2[] = { 2 };
static const struct tpat_rt_tensor repeat_in[] = { { "x", 1, 1, dims_0, 0, 0 }, { "size", 7, 1, dims_1, 1, 0 } };
static const struct tpat_rt_tensor repeat_out = { "y", 1, 1, dims_2, 0, 0 }, blind_out = { "y", 1, 1, dims_0, 0, 0 };
static const struct tpat_rt_buffer repeat_buffer = { "stage", 4, NULL };
static const struct tpat_rt_arg repeat_stage_arg[] = {
	{ TPAT_RT_ARG_INPUT, 0 }, { TPAT_RT_ARG_BUFFER, 0 }, { TPAT_RT_ARG_LONG, 0 }, { TPAT_RT_ARG_LONG, 2 }
};
static const struct tpat_rt_arg repeat_arg[] = { { TPAT_RT_ARG_BUFFER, 0 },
	                                         { TPAT_RT_ARG_OUTPUT, 0 },
	                                         { TPAT_RT_ARG_LONG, 2 } };
static const struct tpat_rt_kernel repeat_kernel[] = {
	{ "repeat_stage", repeat_stage_arg, 4, { 2, 1, 1 }, { 1, 1, 1 }, 0, -1, 0, NULL, 0, 0, 0, NULL, 0 },
	{ "repeat", repeat_arg, 3, { 2, 1, 1 }, { 1, 1, 1 }, 0, -1, 0, NULL, 0, 0, 0, NULL, 0 },
};
static const struct tpat_rt_step repeat_step[] = { { &repeat_kernel[0], 1 }, { &repeat_kernel[1], 1 } };
static const struct tpat_rt_tactic repeat_tactic[] = { { repeat_step, 2 } };

KERNEL(repeat_stage)
{
	UNUSED;
	for (int64_t i = 0; i < ARG(3, int64_t); i++)
		ARG(1, float *)[i] = ARG(0, const float *)[i % ARG(2, int64_t)];
}

KERNEL(repeat)
{
	UNUSED;
	for (int64_t i = 0; i < ARG(2, int64_t); i++)
		ARG(1, float *)[i] = ARG(0, const float *)[i];
}

/* Shapes: every operation, as an output extent of x[A,B]; nothing is launched. Node 26 is a product that overflows for
 * large A, used only where A is small. */
static const struct tpat_rt_expr shapes_expr[] = {
	{ TPAT_RT_DIM, 0, 0, 0, 0 },      /* 0: A */
	{ TPAT_RT_DIM, 0, 1, 0, 0 },      /* 1: B */
	{ TPAT_RT_CONST, 0, 0, 0, 0 },    /* 2 */
	{ TPAT_RT_CONST, 0, 0, 0, 3 },    /* 3 */
	{ TPAT_RT_ADD, 0, 1, 0, 0 },      /* 4: A + B */
	{ TPAT_RT_SUB, 0, 1, 0, 0 },      /* 5: A - B */
	{ TPAT_RT_MAX, 5, 2, 0, 0 },      /* 6: max(A - B, 0) */
	{ TPAT_RT_MUL, 0, 1, 0, 0 },      /* 7 */
	{ TPAT_RT_FLOORDIV, 5, 3, 0, 0 }, /* 8: floor((A - B) / 3) */
	{ TPAT_RT_CEILDIV, 5, 3, 0, 0 },  /* 9 */
	{ TPAT_RT_CONST, 0, 0, 0, 1000 }, /* 10 */
	{ TPAT_RT_ADD, 8, 10, 0, 0 },     /* 11 */
	{ TPAT_RT_ADD, 9, 10, 0, 0 },     /* 12 */
	{ TPAT_RT_MOD, 5, 3, 0, 0 },      /* 13: (A - B) mod 3 */
	{ TPAT_RT_MIN, 0, 1, 0, 0 },      /* 14 */
	{ TPAT_RT_EQ, 0, 1, 0, 0 },       /* 15 */
	{ TPAT_RT_LT, 0, 1, 0, 0 },       /* 16 */
	{ TPAT_RT_LE, 0, 1, 0, 0 },       /* 17 */
	{ TPAT_RT_AND, 5, 13, 0, 0 },     /* 18: A != B and (A - B) mod 3 != 0 */
	{ TPAT_RT_OR, 13, 16, 0, 0 },     /* 19 */
	{ TPAT_RT_NOT, 5, -1, -1, 0 },    /* 20 */
	{ TPAT_RT_MUL, 1, 3, 0, 0 },      /* 21 */
	{ TPAT_RT_SELECT, 16, 4, 21, 0 }, /* 22: A < B ? A + B : 3 B */
	{ TPAT_RT_SELECT, 5, 0, 7, 0 },   /* 23: A != B ? A : A B */
	{ TPAT_RT_FLOORDIV, 0, 2, 0, 0 }, /* 24: 0 */
	{ TPAT_RT_CONST, 0, 0, 0, INT64_MAX / 4 },
	{ TPAT_RT_MUL, 25, 0, 0, 0 },     /* 26: overflows from A = 5 on */
	{ TPAT_RT_CONST, 0, 0, 0, 5 },    /* 27 */
	{ TPAT_RT_LT, 0, 27, 0, 0 },      /* 28 */
	{ TPAT_RT_SELECT, 28, 26, 1, 0 }, /* 29: A < 5 ? node 26 : B */
	{ TPAT_RT_SELECT, 2, 26, 1, 0 },  /* 30: 0 ? node 26 : B */
	{ TPAT_RT_MOD, 1, 2, 0, 0 },      /* 31: B mod 0 = B */
};
static const int32_t shapes_dim_0[] = { 4, 6, 7, 11, 12, 13, 14, 24 },
                     shapes_dim_1[] = { 15, 16, 17, 18, 19, 20, 22, 23 }, shapes_dim_2[] = { 29, 30, 31 };
static const struct tpat_rt_tensor shapes_x = { "x", 6, 2, dims_01, 0, 0 };
static const struct tpat_rt_tensor shapes_out[] = { { "arithmetic", 1, 8, shapes_dim_0, 0, 0 },
	                                            { "logic", 1, 8, shapes_dim_1, 0, 0 },
	                                            { "partial", 1, 3, shapes_dim_2, 0, 0 } };

/* FindEven: the indices of x's even elements; their number is a second output. */
static const struct tpat_rt_expr find_expr[] = {
	{ TPAT_RT_DIM, 0, 0, 0, 0 },  { TPAT_RT_CONST, 0, 0, 0, 2 }, { TPAT_RT_FLOORDIV, 0, 1, 0, 0 },
	{ TPAT_RT_SIZE, 1, 2, 0, 0 }, { TPAT_RT_CONST, 0, 0, 0, 1 },
};
static const int32_t dims_3[] = { 3 };
static const struct tpat_rt_tensor find_x = { "x", 6, 1, dims_0, 0, 0 },
                                   find_out[] = { { "index", 6, 1, dims_3, 0, 0 }, { "count", 6, 0, NULL, 0, 0 } };
static const struct tpat_rt_arg find_arg[] = {
	{ TPAT_RT_ARG_INPUT, 0 }, { TPAT_RT_ARG_OUTPUT, 0 }, { TPAT_RT_ARG_OUTPUT, 1 }, { TPAT_RT_ARG_INT, 0 }
};
static const struct tpat_rt_kernel find_kernel = { "find_even", find_arg, 4, { 4, 4, 4 }, { 1, 1, 1 }, 0,    -1,
	                                           0,           NULL,     0, 0,           0,           NULL, 0 };
static const struct tpat_rt_step find_step = { &find_kernel, 1 };
static const struct tpat_rt_tactic find_tactic[] = { { &find_step, 1 } };

KERNEL(find_even)
{
	int n = 0;

	UNUSED;
	for (int i = 0; i < ARG(3, int32_t); i++)
		if (ARG(0, const int32_t *)[i] % 2 == 0)
			ARG(1, int32_t *)[n++] = i;
	*ARG(2, int32_t *) = n;
}

/* FindOdd: the same for odd elements, with an INT64 count. */
static const struct tpat_rt_tensor find_odd_out[] = { { "index", 6, 1, dims_3, 0, 0 }, { "count", 7, 0, NULL, 0, 0 } };
static const char find_odd_ptx[] =
        ".version 6.0\n.target sm_50\n.address_size 64\n"
        ".visible .entry find_odd(.param .u64 x, .param .u64 y, .param .u64 count, .param .u32 n)\n{\n"
        ".reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %d<4>;\n"
        "ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y]; ld.param.u64 %d2, [count]; ld.param.u32 %r0, [n];\n"
        "cvta.to.global.u64 %d0, %d0; cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2;\n"
        "mov.u32 %r1, 0; mov.u32 %r2, 0;\n"
        "turn: setp.ge.s32 %p0, %r1, %r0; @%p0 bra done;\n"
        "ld.global.u32 %r3, [%d0]; and.b32 %r4, %r3, 1; setp.eq.s32 %p1, %r4, 0; @%p1 bra next;\n"
        "st.global.u32 [%d1], %r1; add.s64 %d1, %d1, 4; add.s32 %r2, %r2, 1;\n"
        "next: add.s64 %d0, %d0, 4; add.s32 %r1, %r1, 1; bra turn;\n"
        "done: cvt.u64.u32 %d3, %r2; st.global.u64 [%d2], %d3; ret;\n}\n";
static const struct tpat_rt_image find_odd_image = { 50, 1, find_odd_ptx, find_odd_ptx + sizeof find_odd_ptx };
static const struct tpat_rt_kernel find_odd_kernel = { "find_odd", find_arg, 4, { 4, 4, 4 }, { 1, 1, 1 }, 0,    -1,
	                                               0,          NULL,     0, 0,           0,           NULL, 0 };
static const struct tpat_rt_step find_odd_step = { &find_odd_kernel, 1 };
static const struct tpat_rt_tactic find_odd_tactic[] = { { &find_odd_step, 1 } };

KERNEL(find_odd)
{
	int n = 0;

	UNUSED;
	for (int i = 0; i < ARG(3, int32_t); i++)
		if (ARG(0, const int32_t *)[i] % 2)
			ARG(1, int32_t *)[n++] = i;
	*ARG(2, int64_t *) = n;
}

/* HalveDouble: a type that TensorRT lacks. */
static const struct tpat_rt_tensor halve_x = { "x", 11, 2, dims_01, 0, 0 }, halve_y = { "y", 11, 2, dims_01, 0, 0 };
static const struct tpat_rt_kernel halve_kernel = { "halve_f64", double_arg, 3, { 4, 5, 5 }, { 256, 1, 1 }, 0, -1, 0,
	                                            NULL,        0,          0, 0,           NULL,          0 };
static const struct tpat_rt_step halve_step = { &halve_kernel, 1 };
static const struct tpat_rt_tactic halve_tactic[] = { { &halve_step, 1 } };

KERNEL(halve_f64)
{
	UNUSED;
	for (int64_t i = 0; i < ARG(2, int64_t); i++)
		ARG(1, double *)[i] = ARG(0, const double *)[i] / 2;
}

/* Bump: the workspace is largest in the middle of the range, not at its end. */
static const struct tpat_rt_expr bump_expr[] = {
	{ TPAT_RT_DIM, 0, 0, 0, 0 },      { TPAT_RT_CONST, 0, 0, 0, 10 }, { TPAT_RT_LT, 0, 1, 0, 0 },
	{ TPAT_RT_CONST, 0, 0, 0, 1000 }, { TPAT_RT_MUL, 0, 3, 0, 0 },    { TPAT_RT_SELECT, 2, 4, 0, 0 },
	{ TPAT_RT_CONST, 0, 0, 0, 1 },
};
static const struct tpat_rt_buffer bump_buffer = { "stage", 5, NULL };
static const struct tpat_rt_arg bump_arg[] = { { TPAT_RT_ARG_BUFFER, 0 }, { TPAT_RT_ARG_LONG, 5 } };
static const struct tpat_rt_kernel bump_kernel = { "bump_stage", bump_arg, 2, { 6, 6, 6 }, { 1, 1, 1 }, 0, -1, 0,
	                                           NULL,         0,        0, 0,           NULL,        0 };
static const struct tpat_rt_step bump_step = { &bump_kernel, 1 };
static const struct tpat_rt_tactic bump_tactic[] = { { &bump_step, 1 } }, no_tactic[] = { { NULL, 0 } };

KERNEL(bump_stage)
{
	UNUSED;
	for (int64_t i = 0; i < ARG(1, int64_t); i++)
		ARG(0, char *)[i] = 0;
}

/* Mapped: y[N] = x[N], where x comes as a tensor map of halves of its elements. */
static const struct tpat_rt_map mapped_map = { { TPAT_RT_ARG_INPUT, 0 }, 2, 1, { 3 }, { 1 }, { 64 }, .pixels = 0 };
static const struct tpat_rt_arg mapped_arg[] = { { TPAT_RT_ARG_OUTPUT, 0 } };
static const struct tpat_rt_expr mapped_expr[] = { { TPAT_RT_DIM, 0, 0, 0, 0 },
	                                           { TPAT_RT_CONST, 0, 0, 0, 1 },
	                                           { TPAT_RT_CONST, 0, 0, 0, 2 },
	                                           { TPAT_RT_MUL, 0, 2, 0, 0 } };
static const struct tpat_rt_kernel mapped_kernel = { "copy_mapped", mapped_arg, 1, { 1, 1, 1 }, { 1, 1, 1 }, 0, -1, 0,
	                                             &mapped_map,   1,          0, 0,           NULL,        0 };
static const struct tpat_rt_step mapped_step = { &mapped_kernel, 1 };
static const struct tpat_rt_tactic mapped_tactic[] = { { &mapped_step, 1 } };

KERNEL(copy_mapped)
{
	const struct tpat_rt_map_values *map = args[1]; /* as the tests' device makes it */

	UNUSED;
	for (int64_t i = 0; i < map->dim[0]; i++)
		ARG(0, int16_t *)[i] = ((const int16_t *)map->from)[i];
}

/* Pair: y[N,H] = a[N,H], where b[M,H] must have as many rows as a, or one, and H at least 2 columns. */
static const struct tpat_rt_expr pair_expr[] = {
	{ TPAT_RT_DIM, 0, 0, 0, 0 }, { TPAT_RT_DIM, 0, 1, 0, 0 },   { TPAT_RT_DIM, 1, 0, 0, 0 },
	{ TPAT_RT_EQ, 0, 2, 0, 0 },  { TPAT_RT_CONST, 0, 0, 0, 1 }, { TPAT_RT_EQ, 2, 4, 0, 0 },
	{ TPAT_RT_OR, 3, 5, 0, 0 },  { TPAT_RT_CONST, 0, 0, 0, 2 }, { TPAT_RT_LE, 7, 1, 0, 0 },
	{ TPAT_RT_MUL, 0, 1, 0, 0 },
};
static const int32_t pair_b[] = { 2, 1 };
static const struct tpat_rt_tensor pair_in[] = { { "a", 6, 2, dims_01, 0, 0 }, { "b", 6, 2, pair_b, 0, 0 } },
                                   pair_y = { "y", 6, 2, dims_01, 0, 0 };
static const struct tpat_rt_demand pair_demand[] = {
	{ 6, { 2, 0 }, { "extent 0 of b", "extent 0 of a" }, "pair", "the first must be 1 or equal to the second" },
	{ 8, { 7, 1 }, { NULL, "extent 1 of a" }, "pair", "it must be at least" },
};
static const struct tpat_rt_arg pair_arg[] = { { TPAT_RT_ARG_INPUT, 0 },
	                                       { TPAT_RT_ARG_OUTPUT, 0 },
	                                       { TPAT_RT_ARG_LONG, 9 } };
static const struct tpat_rt_kernel pair_kernel = { "copy_pair", pair_arg, 3, { 4, 4, 4 }, { 1, 1, 1 }, 0,    -1,
	                                           0,           NULL,     0, 0,           0,           NULL, 0 };
static const struct tpat_rt_step pair_step = { &pair_kernel, 1 };
static const struct tpat_rt_tactic pair_tactic[] = { { &pair_step, 1 } };
int example_pair_launches;

KERNEL(copy_pair)
{
	UNUSED;
	example_pair_launches++;
	for (int64_t i = 0; i < ARG(2, int64_t); i++)
		ARG(1, int32_t *)[i] = ARG(0, const int32_t *)[i];
}

/* A hash of the program stands for that of the kernels, too. */
#define HEAD(name, hash, about) name, "1", "tpat", hash, hash, name, about
#define TACTICS(t) t, COUNT(t)
#define EXPRS(e) e, COUNT(e)
static const struct tpat_rt_plugin plugins[] = {
	{ HEAD("Double", "d0", "y = 2 x"), &double_x, &double_y, 1, 1, EXPRS(double_expr), NULL, 0,
	  TACTICS(double_tactic), &double_image, 1, NULL, 0 },
	{ HEAD("RowSoftmax", "5f", "softmax along rows"), &double_x, &double_y, 1, 1, EXPRS(softmax_expr),
	  softmax_buffer, 2, TACTICS(softmax_tactic), NULL, 0, NULL, 0 },
	{ HEAD("AddTable", "ad", "y = x + table"), &table_x, &table_y, 1, 1, EXPRS(table_expr), &table_buffer, 1,
	  TACTICS(table_tactic), &table_image, 1, NULL, 0 },
	{ "AddOther", "1", "tpat", "ad", "ad", "AddTable", "y = x + another table", &table_x, &table_y, 1, 1,
	  EXPRS(table_expr), &other_buffer, 1, TACTICS(table_tactic), &table_image, 1, NULL, 0 },
	{ "AddAgain", "1", "tpat", "ad", "ad", "AddTable", "y = x + table", &table_x, &table_y, 1, 1, EXPRS(table_expr),
	  &table_buffer, 1, TACTICS(table_tactic), &table_image, 1, NULL, 0 },
	{ HEAD("Repeat", "4e", "x repeated up to a size"), repeat_in, &repeat_out, 2, 1, EXPRS(repeat_expr),
	  &repeat_buffer, 1, TACTICS(repeat_tactic), NULL, 0, NULL, 0 },
	{ HEAD("Blind", "b1", "needs a value that no extent shows"), repeat_in, &blind_out, 2, 1, EXPRS(repeat_expr),
	  &repeat_buffer, 1, TACTICS(repeat_tactic), NULL, 0, NULL, 0 },
	{ HEAD("Shapes", "54", "every operation"), &shapes_x, shapes_out, 1, 3, EXPRS(shapes_expr), NULL, 0,
	  TACTICS(no_tactic), NULL, 0, NULL, 0 },
	{ HEAD("FindEven", "fe", "indices of even elements"), &find_x, find_out, 1, 2, EXPRS(find_expr), NULL, 0,
	  TACTICS(find_tactic), NULL, 0, NULL, 0 },
	{ HEAD("FindOdd", "f0", "indices of odd elements"), &find_x, find_odd_out, 1, 2, EXPRS(find_expr), NULL, 0,
	  TACTICS(find_odd_tactic), &find_odd_image, 1, NULL, 0 },
	{ HEAD("Bump", "b0", "fills its workspace"), &find_x, &find_x, 1, 1, EXPRS(bump_expr), &bump_buffer, 1,
	  TACTICS(bump_tactic), NULL, 0, NULL, 0 },
	{ HEAD("Mapped", "4a", "y = x"), &find_x, &find_x, 1, 1, EXPRS(mapped_expr), NULL, 0, TACTICS(mapped_tactic),
	  NULL, 0, NULL, 0 },
	{ HEAD("HalveDouble", NULL, NULL), &halve_x, &halve_y, 1, 1, EXPRS(double_expr), NULL, 0, TACTICS(halve_tactic),
	  NULL, 0, NULL, 0 },
	{ HEAD("Pair", "9a", "y = a, of b's extents"), pair_in, &pair_y, 2, 1, EXPRS(pair_expr), NULL, 0,
	  TACTICS(pair_tactic), NULL, 0, pair_demand, COUNT(pair_demand) },
};

const struct tpat_rt_library tpat_library = { TPAT_RT_VERSION, "example.onnx", "by hand", plugins, COUNT(plugins) };
