/* Error bounds of loops accept another order of additions in a recurrence, and reject a wrong weight or a swapped
 * gate. */
#include "check/error_bound.h"

#include <math.h>
#include <string.h>

#include "eval/eval.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

enum { STEPS = 76, BATCH = 2, HIDDEN = 64, GATES = 4 * HIDDEN };

#define LSTM(type, result, more) \
	"program lstm(inputs: f32[76,2,256], weights: f32[256,64]) -> (" result ")\n" \
	"  loop turn<76 {\n" \
	"    carry h: " type "[2,64] (i, j) " type "(0.0)\n" \
	"    carry c: f32[2,64] (i, j) 0.0\n" \
	"    gates: f32[2,256] = sum (i, j | r<64) f32(h[i, r]) * weights[j, r] then it + inputs[turn, i, j]\n" \
	"    next_c: f32[2,64] = map (i, j) 1.0 / (1.0 + exp(neg(gates[i, j + 128]))) * c[i, j]" \
	" + 1.0 / (1.0 + exp(neg(gates[i, j]))) * tanh(gates[i, j + 192])\n" \
	"    next_h: " type "[2,64] = map (i, j) " type \
	"(1.0 / (1.0 + exp(neg(gates[i, j + 64]))) * tanh(next_c[i, j]))\n" \
	"    next h = next_h\n" \
	"    next c = next_c\n" \
	"    collect y: " type "[76,2,64] at turn = next_h\n" \
	"  }\n" more

struct case_ {
	struct arena *arena;
	struct ir_program *program;
	struct tensor input[3];
	const struct tensor *in[3];
	struct tensor want[2], bound[2];
	const char *report;
};

static void run(struct case_ *c)
{
	struct err e = { 0 };
	ck(eval_program(c->program, c->in, c->want, NULL, c->arena, &e) == 0);
	error_bounds(c->bound, &c->report, c->program, c->in, c->arena);
}

/* Runs the program on random inputs, input i from -range[i] to range[i]. */
static void begin(struct case_ *c, const char *text, const double *range)
{
	struct err e = { 0 };
	*c = (struct case_){ .arena = arena_new() };
	if (ir_parse_program(&c->program, text, c->arena, &e) < 0)
		fprintf(stderr, "%s\n", e.text);
	ck(!e.code && c->program->inputs.n <= 3);
	for (int i = 0; i < c->program->inputs.n; i++) {
		const struct ir_buffer *b = c->program->inputs.at[i];
		int64_t dim[IR_MAX_RANK];
		for (int k = 0; k < b->rank; k++)
			ck(ir_const_int(b->dim[k], &dim[k]));
		ck(tensor_new(&c->input[i], b->type, b->rank, dim, c->arena, &e) == 0);
		tensor_random(&c->input[i], (uint64_t)i + 1, -range[i], range[i]);
		c->in[i] = &c->input[i];
	}
	run(c);
}

/* The tolerance of `tpat verify`: of the type, relative to the element and to the root mean square; and the bounds if
 * `bounded`. */
static bool right(const struct case_ *c, const struct tensor *got, bool bounded)
{
	struct tensor_tolerance t = tensor_tolerance_of(got->type);
	struct tensor_difference d;
	double square = 0;
	int64_t n = tensor_count(got);
	for (int64_t i = 0; i < n; i++)
		square += tensor_float(&c->want[0], i) * tensor_float(&c->want[0], i);
	if (type_is_float(got->type))
		t.absolute += t.relative * sqrt(square / (double)n);
	ck(tensor_compare_within(&d, got, &c->want[0], t,
	                         bounded && c->bound[0].type == TYPE_F64 ? c->bound[0].data : NULL));
	return d.differing == 0;
}

static struct tensor copy_of(const struct case_ *c, const struct tensor *t)
{
	struct tensor out;
	struct err e = { 0 };
	ck(tensor_new(&out, t->type, t->rank, t->dim, c->arena, &e) == 0);
	memcpy(out.data, t->data, (size_t)tensor_bytes(t));
	return out;
}

/* ---- The LSTM as a kernel computes it. */

enum fault { NONE, WEIGHT, SWAPPED, FORGOTTEN, LATE };

/* A sum in four parts, from the end: not the interpreter's order. */
static float dot(const float *h, const float *w)
{
	float part[4] = { 0 };
	for (int r = HIDDEN - 1; r >= 0; r--)
		part[r % 4] += h[r] * w[r];
	return (part[0] + part[1]) + (part[2] + part[3]);
}

static float sigmoid(float x)
{
	return 1 / (1 + expf(-x));
}

struct step {
	float h[HIDDEN], c[HIDDEN], gate[GATES];
};

static void lstm_step(struct step *s, const float *inputs, const float *weights, enum fault f, int step, enum type type)
{
	for (int k = 0; k < GATES; k++)
		s->gate[k] = dot(s->h, weights + k * HIDDEN) + inputs[k];
	int in = f == SWAPPED ? 2 * HIDDEN : 0, forget = f == SWAPPED ? 0 : 2 * HIDDEN;
	for (int j = 0; j < HIDDEN; j++) {
		float kept = f == FORGOTTEN && j == 5 && step == 3 ? 0 : s->c[j];
		s->c[j] =
		        sigmoid(s->gate[forget + j]) * kept + sigmoid(s->gate[in + j]) * tanhf(s->gate[3 * HIDDEN + j]);
		float h = sigmoid(s->gate[HIDDEN + j]) * tanhf(s->c[j]);
		uint8_t stored[8];
		type_store_float(type, stored, 0, h, false);
		s->h[j] = (float)type_load_float(type, stored, 0);
	}
}

/* y of all steps, with a fault. `many` results of the type of h. */
static struct tensor lstm(const struct case_ *c, enum fault f, enum type type)
{
	struct tensor y, weights = copy_of(c, &c->input[1]);
	struct err e = { 0 };
	ck(tensor_new(&y, type, 3, (const int64_t[]){ STEPS, BATCH, HIDDEN }, c->arena, &e) == 0);
	if (f == WEIGHT)
		((float *)weights.data)[17 * HIDDEN + 3] *= -1;
	for (int b = 0; b < BATCH; b++) {
		struct step s = { { 0 }, { 0 }, { 0 } };
		for (int t = 0; t < STEPS; t++) {
			int from = f == LATE && t > 0 ? t - 1 : t; /* the inputs of the step before */
			lstm_step(&s, (const float *)c->input[0].data + (from * BATCH + b) * GATES, weights.data, f, t,
			          type);
			for (int j = 0; j < HIDDEN; j++)
				tensor_set_float(&y, (t * BATCH + b) * HIDDEN + j, s.h[j]);
		}
	}
	return y;
}
/* A sensitive recurrence: rounding differs by more than the type's tolerance, and by less than the bounds. */
static void faults_in_lstm(const char *text, enum type type, double range)
{
	struct case_ c;
	begin(&c, text, (const double[]){ 1, range });
	struct tensor got = lstm(&c, NONE, type);
	CHECK(right(&c, &got, true));
	CHECK(c.bound[0].type == TYPE_F64 && c.report && strstr(c.report, "grows without limit"));
	CHECK(c.report && !strstr(c.report, "chaotic"));
	for (int f = WEIGHT; f <= LATE; f++) {
		got = lstm(&c, f, type);
		CHECK(!right(&c, &got, true));
	}
	arena_free(c.arena);
}

/* The same where the type's tolerance does not suffice. */
static void sensitive(void)
{
	struct case_ c;
	begin(&c, LSTM("f32", "y: f32[76,2,64]", ""), (const double[]){ 1, 0.94 });
	struct tensor got = lstm(&c, NONE, TYPE_F32);
	CHECK(!right(&c, &got, false));
	CHECK(right(&c, &got, true));
	for (int f = WEIGHT; f <= LATE; f++) {
		got = lstm(&c, f, TYPE_F32);
		CHECK(!right(&c, &got, true));
	}
	arena_free(c.arena);
}

/* Quantised results of a recurrence: the next integer is right near a tie only. */
static void quantised(void)
{
	struct case_ c;
	begin(&c, LSTM("f32", "q: i32[76,2,64]", "  q: i32[76,2,64] = map (i, j, k) i32(rint(y[i, j, k] * 20000.0))\n"),
	      (const double[]){ 1, 0.5 });
	struct tensor exact = lstm(&c, NONE, TYPE_F32), got = copy_of(&c, &c.want[0]);
	int64_t n = tensor_count(&got), moved = 0, loose = 0;
	for (int64_t i = 0; i < n; i++) {
		tensor_set_int(&got, i, (int64_t)rintf(tensor_float(&exact, i) * 20000.0f));
		moved += tensor_int(&got, i) != tensor_int(&c.want[0], i);
		loose += tensor_float(&c.bound[0], i) > 0;
	}
	CHECK(moved > 0); /* else this tests nothing */
	CHECK(!right(&c, &got, false));
	CHECK(right(&c, &got, true));
	CHECK(loose < n / 4);
	int caught = 0, planted = 0;
	for (int64_t i = 0; i < n; i += 17) {
		if (tensor_float(&c.bound[0], i) > 0)
			continue;
		int64_t kept = tensor_int(&got, i);
		tensor_set_int(&got, i, tensor_int(&c.want[0], i) + 1);
		caught += !right(&c, &got, true);
		tensor_set_int(&got, i, kept);
		planted++;
	}
	CHECK(planted > 300);
	CHECK_INT(caught, planted);
	arena_free(c.arena);
}

enum { STATES = 48, TURNS = 40, TIE_TURN = 3, TIE_STATE = 7 };

/* The quantised recurrence below as a kernel computes it: with the other neighbour of a tie if `other`. Writes y. */
static void quantised_steps(float *y, const struct case_ *c, bool other)
{
	const float *x = c->input[0].data, *w = c->input[1].data;
	float q[STATES] = { 0 }, next[STATES];
	for (int t = 0; t < TURNS; t++) {
		for (int i = 0; i < STATES; i++) {
			float sum = 0;
			for (int r = STATES - 1; r >= 0; r--)
				sum += q[r] * w[i * STATES + r];
			y[t * STATES + i] = tanhf(sum * 0.01f + x[t * STATES + i]);
			float scaled = y[t * STATES + i] * 100;
			next[i] = rintf(scaled);
			if (other && t == TIE_TURN && i == TIE_STATE)
				next[i] = 2 * floorf(scaled) + 1 - next[i];
		}
		memcpy(q, next, sizeof q);
	}
}

/* A state that is itself rounded to integers: at a tie a kernel's sum may round the other way, and all later steps
 * follow from that. */
static void quantised_state(void)
{
	struct case_ c;
	begin(&c,
	      "program quantised(inputs: f32[40,48], weights: f32[48,48]) -> (y: f32[40,48])\n"
	      "  loop turn<40 {\n"
	      "    carry q: i8[48] (i) i8(0)\n"
	      "    sums: f32[48] = sum (i | r<48) f32(q[r]) * weights[i, r] then it * 0.01 + inputs[turn, i]\n"
	      "    next_q: i8[48] = map (i) i8(rint(tanh(sums[i]) * 100.0))\n"
	      "    next_y: f32[48] = map (i) tanh(sums[i])\n"
	      "    next q = next_q\n"
	      "    collect y: f32[40,48] at turn = next_y\n"
	      "  }\n",
	      (const double[]){ 2, 0.3 });
	struct tensor got = copy_of(&c, &c.want[0]);
	quantised_steps(got.data, &c, true);
	CHECK(!right(&c, &got, true)); /* far from a tie here */
	double y = tensor_float(&c.want[0], TIE_TURN * STATES + TIE_STATE), tie = (floor(y * 100) + 0.5) / 100;
	((float *)c.input[0].data)[TIE_TURN * STATES + TIE_STATE] += (float)(atanh(tie) - atanh(y));
	run(&c);
	for (int other = 0; other < 2; other++) {
		quantised_steps(got.data, &c, other);
		CHECK(right(&c, &got, true));
	}
	CHECK(!right(&c, &got, false) || (quantised_steps(got.data, &c, false), !right(&c, &got, false)));
	((float *)got.data)[20 * STATES + 7] += 0.03f;
	CHECK(!right(&c, &got, true));
	arena_free(c.arena);
}

/* A chaotic loop has no bound where its steps have doubled the rounding often enough, and says so. */
static void chaotic(void)
{
	struct case_ c;
	begin(&c,
	      "program logistic(x: f32[8]) -> (y: f32[100,8])\n"
	      "  loop turn<100 {\n"
	      "    carry level: f32[8] (i) x[i] * 0.1 + 0.4\n"
	      "    next_level: f32[8] = map (i) 3.9 * level[i] * (1.0 - level[i])\n"
	      "    next level = next_level\n"
	      "    collect y: f32[100,8] at turn = next_level\n"
	      "  }\n",
	      (const double[]){ 1 });
	CHECK(c.report && strstr(c.report, "chaotic"));
	for (int i = 0; i < 8; i++) {
		CHECK(tensor_float(&c.bound[0], i) > 0 && tensor_float(&c.bound[0], i) < 1e-5);
		CHECK(tensor_float(&c.bound[0], 99 * 8 + i) == 0);
	}
	arena_free(c.arena);
}

/* The bound of a contracting loop stays, and is that of the arithmetic: no estimate. */
static void contracting(void)
{
	struct case_ c;
	begin(&c,
	      "program average(x: f32[50,8]) -> (y: f32[8])\n"
	      "  loop turn<50 {\n"
	      "    carry y: f32[8] (i) 0.0\n"
	      "    next_y: f32[8] = map (i) y[i] * 0.5 + x[turn, i]\n"
	      "    next y = next_y\n"
	      "  }\n",
	      (const double[]){ 1 });
	CHECK(c.bound[0].type == TYPE_F64 && !c.report);
	for (int i = 0; c.bound[0].type && i < 8; i++)
		CHECK(tensor_float(&c.bound[0], i) > 0 && tensor_float(&c.bound[0], i) < 1e-5);
	arena_free(c.arena);
}

/* Exact states have no error; a loop that rounding may end earlier has no bound. */
static void exact_and_lost(void)
{
	struct case_ c;
	begin(&c,
	      "program counts(x: f32[9]) -> (count: i32[9], final: f32[9])\n"
	      "  loop turn<5 {\n"
	      "    carry count: i32[9] (i) i32(0)\n"
	      "    next_count: i32[9] = map (i) count[i] + i32(turn)\n"
	      "    next count = next_count\n"
	      "  }\n"
	      "  loop turn_2<50 while total[] < 3.0 {\n"
	      "    carry total: f32[] () 0.0\n"
	      "    carry final: f32[9] (i) 0.0\n"
	      "    next_total: f32[] = sum ( | r<9) x[r] * x[r] then total[] + it\n"
	      "    next_final: f32[9] = map (i) final[i] * 0.3 + x[i]\n"
	      "    next total = next_total\n"
	      "    next final = next_final\n"
	      "  }\n",
	      (const double[]){ 0.3 });
	CHECK(c.bound[0].type == TYPE_NONE);
	CHECK(c.bound[1].type == TYPE_NONE);
	arena_free(c.arena);
}

/* Errors go into loops, through loops inside of them, and out of them. */
static void nested(void)
{
	struct case_ c;
	struct tensor got;
	begin(&c,
	      "program nested(x: f32[6,300]) -> (y: f32[6])\n"
	      "  mean: f32[6] = sum (i | r<300) x[i, r] then it / 300.0\n"
	      "  loop turn<4 {\n"
	      "    carry level: f32[6] (i) mean[i]\n"
	      "    loop inner<3 {\n"
	      "      carry deep: f32[6] (i) level[i]\n"
	      "      next_deep: f32[6] = map (i) tanh(deep[i] * 3.0) + mean[i]\n"
	      "      next deep = next_deep\n"
	      "    }\n"
	      "    next_level: f32[6] = map (i) deep[i] - level[i] * 0.5\n"
	      "    next level = next_level\n"
	      "  }\n"
	      "  y: f32[6] = map (i) level[i] * 2.0\n",
	      (const double[]){ 1 });
	CHECK(c.bound[0].type == TYPE_F64);
	got = copy_of(&c, &c.want[0]);
	for (int i = 0; i < 6; i++) { /* another order of the sum */
		double sum = 0, s, mean;
		for (int r = 0; r < 300; r++)
			sum += ((const float *)c.input[0].data)[i * 300 + r];
		s = mean = sum / 300;
		for (int t = 0; t < 4; t++) {
			double v = s;
			for (int k = 0; k < 3; k++)
				v = tanh(v * 3) + mean;
			s = v - s * 0.5;
		}
		tensor_set_float(&got, i, s * 2);
		CHECK(tensor_float(&c.bound[0], i) > 0 && tensor_float(&c.bound[0], i) < 1e-3);
	}
	CHECK(right(&c, &got, true));
	arena_free(c.arena);
}

int main(void)
{
	faults_in_lstm(LSTM("f32", "y: f32[76,2,64]", ""), TYPE_F32, 0.5);
	faults_in_lstm(LSTM("f16", "y: f16[76,2,64]", ""), TYPE_F16, 0.5);
	sensitive();
	quantised();
	quantised_state();
	chaotic();
	contracting();
	exact_and_lost();
	nested();
	return test_done();
}
