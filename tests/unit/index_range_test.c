/* The ranges of operators' integer inputs used as indices, as derived from their programs; random values stay in
 * them. */
#include <string.h>

#include "check/coordinate_range.h"
#include "check/index_range.h"
#include "check/verify.h"
#include "tests/program/op_case.h"
#include "tests/unit/test.h"

static struct arena *a;

/* "below N from the end": of input i. */
static const char *range_of(const struct ir_program *p, const char *input)
{
	const struct index_range *range = index_ranges(p, a);
	struct str s = str_new(a);

	vec_each (b, &p->inputs) {
		const struct index_range *r = &range[(*b)->id];

		if (strcmp((*b)->name, input) != 0)
			continue;
		if (!r->limit)
			return "any";
		str_add(&s, "below ");
		ir_print_expr(&s, r->limit, 0);
		str_add(&s, r->negative ? ", from the end" : "");
		return str_text(&s);
	}
	return "no such input";
}

static struct ir_program *program_of(const char *op, const char *text)
{
	struct err e = { 0 };
	struct ir_program *p = NULL;

	CHECK_INT(op_case_program(&p, op_find("", op), text, a, &e), 0);
	if (e.code)
		printf("  %s\n", e.text);
	return p;
}

static void ranges(void)
{
	static const struct {
		const char *op, *text, *input, *range;
	} cases[] = {
		{ "Gather", "data:f32[N,5] indices:i64[M]", "indices", "below N, from the end" },
		{ "Gather", "data:f32[N,5] indices:i64[M] axis=1", "indices", "below 5, from the end" },
		{ "Gather", "data:f32[N,5] indices:i64[M]", "data", "any" },
		{ "GatherElements", "data:f32[N,K] indices:i32[N,3] axis=1", "indices", "below K, from the end" },
		{ "GatherND", "data:f32[N,5,2] indices:i64[M,2]", "indices", "below min(5, N), from the end" },
		{ "ScatterElements", "data:f32[N,5] indices:i64[2,5] updates:f32[2,5]", "indices",
		  "below N, from the end" },
		{ "ScatterND", "data:f32[N,5] indices:i64[M,1] updates:f32[M,5]", "indices", "below N, from the end" },
		{ "OneHot", "indices:i64[N] depth:i64[]={7} values:f32[2]", "indices", "below 7, from the end" },
		{ "ReverseSequence", "input:f32[T,B] sequence_lens:i64[B]", "sequence_lens", "below T + 1" },
		{ "GRU", "X:f32[T,B,4] W:f32[1,9,4] R:f32[1,9,3] sequence_lens:i32[B] hidden_size=3", "sequence_lens",
		  "below T + 1" },
		{ "TensorScatter", "past_cache:f16[B,8,128,64] update:f16[B,8,3,64] write_indices:i64[B]",
		  "write_indices", "below 128" },
		{ "Add", "A:i64[N] B:i64[N]", "A", "any" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ir_program *p = program_of(cases[i].op, cases[i].text);
		if (p)
			CHECK_STR(range_of(p, cases[i].input), cases[i].range);
	}
}

/* "0 to H": of a float input. */
static const char *coordinates_of(const struct ir_program *p, const char *input)
{
	const struct coordinate_range *range = coordinate_ranges(p, a);

	vec_each (b, &p->inputs) {
		const struct coordinate_range *r = &range[(*b)->id];
		struct str limit = str_new(a);

		if (strcmp((*b)->name, input) != 0)
			continue;
		if (!r->limit)
			return "any";
		ir_print_expr(&limit, r->limit, 0);
		return arena_printf(a, "%.4g to %.4g + %.4g (%s)", r->low, r->low, r->step, str_text(&limit));
	}
	return "no such input";
}

static void coordinates(void)
{
	static const struct {
		const char *op, *text, *input, *range;
	} cases[] = {
		/* corners: start and end, of which the end decides with 7/6 of the image */
		{ "RoiAlign",
		  "x:f32[1,3,H,20] rois:f32[R,4] batch_indices:i64[R] output_height=7 output_width=7 sampling_ratio=2 "
		  "spatial_scale=0.25 opset=10",
		  "rois", "0 to 0 + 4.667 (max(20, H))" },
		{ "RoiAlign", "x:f32[1,3,H,20] rois:f32[R,4] batch_indices:i64[R] opset=16", "x", "any" },
		{ "GridSample", "X:f32[1,3,9,20] grid:f32[1,5,6,2] align_corners=1", "grid", "-1 to -1 + 0.25 (9)" },
		{ "GridSample", "X:f32[1,3,9,20] grid:f32[1,5,6,2]", "X", "any" },
		{ "DeformConv", "X:f32[1,4,9,9] W:f32[5,4,3,3] offset:f32[1,18,7,7]", "offset", "any" },
		{ "Add", "A:f32[N] B:f32[N]", "A", "any" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ir_program *p = program_of(cases[i].op, cases[i].text);
		if (p)
			CHECK_STR(coordinates_of(p, cases[i].input), cases[i].range);
	}
}

/* Random indices cover the axis, counted from both ends. */
static void drawn(void)
{
	struct ir_program *p = program_of("Gather", "data:f32[N,2] indices:i64[400]");
	struct verify_input given[2] = { { .rank = -1 }, { .rank = -1 } };
	struct verify_case c = { .plugin = "p", .reference = p, .input = given, .seed = 3 };

	for (int run = 0; run < 6; run++) {
		struct tensor in[2];
		struct err e = { 0 };
		int64_t least = 0, most = 0;

		CHECK_INT(verify_draw(in, NULL, &c, run, a, &e), 0);
		for (int64_t i = 0; i < 400; i++) {
			int64_t x = tensor_int(&in[1], i);

			least = x < least ? x : least;
			most = x > most ? x : most;
		}
		CHECK_INT(least, -in[0].dim[0]);
		CHECK_INT(most, in[0].dim[0] - 1);
	}
}

int main(void)
{
	a = arena_new();
	ranges();
	coordinates();
	drawn();
	arena_free(a);
	return test_done();
}
