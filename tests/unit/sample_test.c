/* Sampled results equal the whole results at these elements. */
#include "check/sample.h"
#include "eval/eval.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

static void inputs_of(const struct ir_program *p, struct arena *a, const struct tensor **in)
{
	struct err e = { 0 };
	for (int i = 0; i < p->inputs.n; i++) {
		const struct ir_buffer *b = p->inputs.at[i];
		struct tensor *t = NEW(a, struct tensor);
		int64_t dim[IR_MAX_RANK];
		for (int k = 0; k < b->rank; k++)
			dim[k] = b->dim[k]->op == IR_CONST_INT ? b->dim[k]->i : 96;
		ck(tensor_new(t, b->type, b->rank, dim, a, &e) == 0);
		tensor_random(t, (uint64_t)i + 1, type_is_int(b->type) ? 0 : -2, type_is_int(b->type) ? 95 : 2);
		in[i] = t;
	}
}

static struct ir_program *parse(const char *text, struct arena *a)
{
	struct ir_program *p;
	struct err e = { 0 };
	if (ir_parse_program(&p, text, a, &e) < 0)
		fprintf(stderr, "%s\n", e.text);
	ck(!e.code);
	return p;
}

static void check(const char *text)
{
	struct arena *a = arena_new();
	struct ir_program *p = parse(text, a);
	const struct tensor *in[8];
	struct tensor whole[4], got[4];
	struct sample *s;
	struct err e = { 0 };
	inputs_of(p, a, in);
	ck(eval_program(p, in, whole, NULL, a, &e) == 0);
	CHECK_INT(sample_new(&s, p, in, 1, a, &e), 0);
	if (e.code)
		printf("  %s\n", e.text);
	ck(s);
	CHECK_INT(sample_take(got, s, whole, a, &e), 0);
	for (int o = 0; o < p->outputs.n; o++) {
		const struct tensor *want = &sample_want(s)[o];
		struct tensor_difference d;
		CHECK(tensor_compare(&d, &got[o], want, (struct tensor_tolerance){ 0, 0 }));
		CHECK_INT(d.differing, 0);
		if (d.differing)
			printf("  %s: element %lld is %g, not %g\n", p->name, (long long)d.worst, d.worst_got,
			       d.worst_want);
		CHECK(want->rank == 0 || want->dim[0] >= 64);
	}
	arena_free(a);
}

/* Refuses programs that cannot be computed per element, or not with less work. */
static void check_refused(const char *text)
{
	struct arena *a = arena_new();
	struct ir_program *p = parse(text, a);
	const struct tensor *in[8];
	struct sample *s;
	struct err e = { 0 };
	inputs_of(p, a, in);
	CHECK_INT(sample_new(&s, p, in, 1, a, &e), 0);
	CHECK(!s);
	arena_free(a);
}

int main(void)
{
	check("program product(x: f16[N,200], matrix: f16[200,96]) -> (result: f16[N,96])\n"
	      "  result: f16[N,96] = sum (i, j | r<200) f32(x[i, r]) * f32(matrix[r, j]) then f16(it)\n");
	check("program window(x: f32[4,66,66]) -> (result: f32[4,64,64])\n"
	      "  result: f32[4,64,64] = max (i, j, k | r<3, s<3) x[i, j + r, k + s]\n");
	check("program softmax(x: f32[N,128]) -> (result: f32[N,128])\n"
	      "  most: f32[N,1] = max (i, j | r<128) x[i, r]\n"
	      "  total: f32[N,1] = sum (i, j | r<128) exp(x[i, r] - most[i, 0])\n"
	      "  result: f32[N,128] = map (i, j) exp(x[i, j] - most[i, 0]) / total[i, 0]\n");
	check("program attention(query: f32[96,32], against: f32[96,32], vals: f32[96,64]) -> (result: f32[96,64])\n"
	      "  score: f32[96,96] = sum (i, j | r<32) query[i, r] * against[j, r]\n"
	      "  weight: f32[96,96] = map (i, j) exp(score[i, j])\n"
	      "  result: f32[96,64] = sum (i, j | r<96) weight[i, r] * vals[r, j]\n");
	check("program two(x: f32[N,256], chosen: i64[N]) -> (result: f32[N,256], where_most: i64[N], total: f32[])\n"
	      "  mean: f32[N] = sum (i | r<256) x[i, r] then it / 256.0\n"
	      "  result: f32[N,256] = map (i, j) x[min(max(index(chosen[i]), 0), N - 1), 255 - j] - mean[i]\n"
	      "  where_most: i64[N] = argmax (i | r<256) x[i, r]\n"
	      "  total: f32[] = sum ( | r<N) mean[r]\n");
	check_refused("program running(x: f32[96,128]) -> (result: f32[96,128])\n"
	              "  result: f32[96,128] = scan sum along j (i, j) x[i, j]\n");
	check_refused("program little(x: f32[8]) -> (result: f32[8])\n"
	              "  result: f32[8] = map (i) x[i] + 1.0\n");
	return test_done();
}
