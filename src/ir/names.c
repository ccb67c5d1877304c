/* Names that a buffer cannot have, since programs or kernels use them for something else. */
#include <string.h>

#include "ir/axis_names.h"

static const char *const words[] = {
	/* C, C++ and CUDA */
	"auto",
	"bool",
	"break",
	"case",
	"char",
	"class",
	"const",
	"continue",
	"default",
	"delete",
	"do",
	"double",
	"else",
	"enum",
	"extern",
	"false",
	"float",
	"for",
	"goto",
	"half",
	"if",
	"inline",
	"int",
	"long",
	"namespace",
	"new",
	"operator",
	"private",
	"public",
	"register",
	"restrict",
	"return",
	"short",
	"signed",
	"sizeof",
	"static",
	"struct",
	"switch",
	"template",
	"this",
	"true",
	"typedef",
	"typename",
	"union",
	"unsigned",
	"using",
	"virtual",
	"void",
	"volatile",
	"while",
	"asm",
	"abs",
	"log",
	"exp",
	"pow",
	"gamma",
	"warpSize",
	"main",
	/* the device header */
	"load",
	"store",
	"load_vector",
	"store_vector",
	"limits",
	"apply",
	"indexed",
	"words",
	"vector_part",
	"as_bits",
	"as_float",
	"atomic_add",
	"atomic_max",
	"atomic_min",
	"atomic_mul",
	"atomic_update",
	"bit_cast_to",
	"block_reduce",
	"block_scan",
	"block_scan_items_on",
	"block_scan_on",
	"block_thread",
	"tile_next",
	"tiles_before",
	"copy_vector",
	"floor_div",
	"floor_mod",
	"ipow",
	"nan_max",
	"neg",
	"nan_min",
	"odd_float",
	"op_and",
	"op_argmax",
	"op_argmin",
	"op_max",
	"op_min",
	"op_or",
	"op_prod",
	"op_sum",
	"op_xor",
	"shift_left",
	"shift_right",
	"shuffle",
	"shuffle_down",
	"shuffle_up",
	"shuffle_xor",
	"to_bf16",
	"to_bool",
	"to_f16",
	"to_f32",
	"to_f64",
	"to_f8e4m3fn",
	"to_f8e4m3fn_sat",
	"to_f8e4m3fnuz",
	"to_f8e4m3fnuz_sat",
	"to_f8e5m2",
	"to_f8e5m2_sat",
	"to_f8e5m2fnuz",
	"to_f8e5m2fnuz_sat",
	"to_f8e8m0",
	"to_f8e8m0_sat",
	"to_f4e2m1",
	"to_f4e2m1_sat",
	"to_i2",
	"to_i4",
	"to_u2",
	"to_u4",
	"to_i16",
	"to_i32",
	"to_i64",
	"to_i8",
	"to_integer",
	"to_u16",
	"to_u32",
	"to_u64",
	"to_u8",
	"trunc_div",
	"trunc_rem",
	"warp_lane",
	"warp_reduce",
	"warp_scan",
	"warp_scan_on",
	"mma",
	"shared_tile",
	"tile_copy",
	"tile_gather",
	"sums_get",
	"sums_put",
	"copy_async",
	"copy_commit",
	"copy_wait",
	"within",
	"DIGITS",
	"PLACE_NONE",
	"digit_of",
	"item_of",
	"key_ascending",
	"key_descending",
	"key_of",
	"lanes_with",
	"long_item",
	"mark_points",
	"marked_points",
	"put_marked",
	"from_ascending",
	"from_descending",
	"total_ascending",
	"total_descending",
	"order_of",
	"order_of_bits",
	"place_of",
	"put_key_ascending",
	"put_key_descending",
	"radix_before",
	"radix_count",
	"radix_counts",
	"radix_pass",
	"radix_pass_alone",
	"radix_move",
	"radix_tile",
	"radix_turn",
	"select_bound",
	"select_row",
	"select_delegates",
	"sort_delegates",
	"load_segment",
	"first_key",
	"first_pair",
	"key_in_order",
	"sort_items",
	"sort_item",
	"sort_kept",
	"sort_new",
	"sort_row",
	"sort_rows",
	"uint2",
	"uint4",
	/* libc and CUDA */
	"min",
	"max",
	"fabs",
	"fabsf",
	"fmod",
	"fmodf",
	"powf",
	"memcpy",
	"free",
	"malloc",
	"abort",
	"NAN",
	"INFINITY",
	"threadIdx",
	"blockIdx",
	"blockDim",
	"gridDim",
	/* programs */
	"it",
	"let",
	"map",
	"index",
	"program",
	"where",
	"then",
	"value",
	"init",
	"at",
	"scan",
	"along",
	"exclusive",
	"reverse",
	/* kernels' own variables */
	"element",
	"place",
	"rank",
	"lane",
	"plane",
	"line",
	"corner_a",
	"corner_b",
	"row",
	"sum",
	"best",
	"best_at",
	"part",
	"point",
	"across",
	"thread",
	"block",
	"block_x",
	"own_block",
	"args",
	"v",
	"chunk",
	"step",
	"before",
	"before_all",
	"item",
	"keep",
	"query_at",
	"key_at",
	"value_at",
	"score_at",
	"weight_at",
	"largest_at",
	"sum_at",
	"query_tile",
	"first_query",
	"tiles",
	"parts",
	"tile",
	"tile_taken",
	"outer",
	"batch",
	"column",
	"depth",
	"first_column",
	"warp_row",
	"warp_column",
	"left",
	"right",
	"left_tile",
	"right_tile",
	"left_at",
	"right_at",
	"left_next",
	"left_sum",
	"right_sum",
	"left_zero",
	"right_zero",
	"right_next",
	"from",
	"slot",
	"ahead",
	"piece",
	"sums",
	"inner",
	"warp",
	"first_row",
	"own_row",
	"in_row",
	"first",
	"kept",
	"quotient",
	"one_plus_erf",
	"erf_to_16",
	"load_once",
	"load_if",
	"store_once",
	"half_add",
	"half_sub",
	"half_mul",
	"round_to_i8",
	"round_to_u8",
	"round_to_i16",
	"round_to_u16",
	"byte_to_f32",
	"coarse_exp",
	"coarse_log1p",
	"coarse_tanh",
	"coarse_quotient",
	"coarse_division",
	"rough_exp2",
	"rough_log2",
	"rough_reciprocal",
	"key",
	"keys",
	"loaded",
	"own",
	"vector",
	"put",
	"shared",
	"shared_memory",
	"slab",
	"sorted",
	NULL,
};

static bool is_word(const char *name, size_t n)
{
	for (const char *const *w = words; *w; w++)
		if (strncmp(*w, name, n) == 0 && !(*w)[n])
			return true;
	return false;
}

/* C text has the type behind a function's name: floor_div_i32, f16_of_f32. */
static bool typed_function(const char *name)
{
	const char *type = strrchr(name, '_');
	if (!type || (strcmp(type, "_index") != 0 && type_from_name(type + 1) == TYPE_NONE))
		return false;
	return is_word(name, (size_t)(type - name)) || (type - name > 3 && strncmp(type - 3, "_of", 3) == 0);
}

/* tmp0 and the like. */
static bool numbered_tmp(const char *name)
{
	return strncmp(name, "tmp", 3) == 0 && name[3] && !name[3 + strspn(name + 3, "0123456789")];
}

/* What ends with _v, or _v and digits: vectors in kernels. */
static bool vector_of(const char *name)
{
	const char *end = name + strlen(name);
	while (end > name && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return end - name > 2 && end[-1] == 'v' && end[-2] == '_';
}

/* What kernels call their own after a buffer: an element that a thread holds, shared memory, values of a row. */
static bool own_of_kernel(const char *name)
{
	static const char *const behind[] = { "_here", "_shared", "_square", "_along", "_across", "_of_row" };
	size_t n = strlen(name);
	while (n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
		size_t k = strlen(behind[i]);
		if (n > k && strncmp(name + n - k, behind[i], k) == 0)
			return true;
	}
	return strncmp(name, "this_", 5) == 0;
}

bool ir_name_reserved(const char *name)
{
	size_t n = strlen(name);
	if (is_word(name, n) || typed_function(name) || numbered_tmp(name) || vector_of(name) ||
	    own_of_kernel(name))
		return true;
	for (int i = 0; i < IR_MAX_RANK; i++)
		if (strcmp(name, ir_axis_names[0][i]) == 0 || strcmp(name, ir_axis_names[1][i]) == 0)
			return true;
	for (enum ir_op op = IR_ADD; op < IR_OP_COUNT; op++) {
		const char *c = ir_op_info[op].ctext;
		size_t k = strlen(c);
		if (strcmp(name, ir_op_info[op].text) == 0)
			return true;
		if (k && strncmp(name, c, k) == 0 && (n == k || (name[k] == 'f' && n == k + 1))) /* exp, expf */
			return true;
	}
	for (enum type t = TYPE_F32; t < TYPE_COUNT; t++)
		if (strcmp(name, type_name(t)) == 0)
			return true;
	return false;
}
