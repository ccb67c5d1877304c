/* The language of tensor programs: text there and back, index arithmetic, fusion, canonical hash, the checker. */
#include <stdio.h>
#include <string.h>

#include "ir/ir.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

static const char layer_norm[] =
        "program LayerNormalization(x: f16[N,768], scale: f16[768], bias: f16[768]) -> (y: f16[N,768])\n"
        "  mean: f32[N] = sum (i | r<768) f32(x[i, r]) then it / 768.0\n"
        "  var: f32[N] = sum (i | r<768) let _0 = f32(x[i, r]) - mean[i]; _0 * _0 then it / 768.0\n"
        "  y: f16[N,768] = map (i, j) f16((f32(x[i, j]) - mean[i]) / sqrt(var[i] + 1e-05) * f32(scale[j]) + "
        "f32(bias[j]))\n";

/* The same in the ten nodes of an older exporter. */
static const char layer_norm_spelled[] =
        "program spelled(a: f16[B,768], scale: f16[768], b: f16[768]) -> (out: f16[B,768])\n"
        "  mean: f32[B,1] = sum (i, j | r<768) f32(a[i, r]) then it / 768.0\n"
        "  d: f32[B,768] = map (i, j) f32(a[i, j]) - mean[i, 0]\n"
        "  sq: f32[B,768] = map (i, j) pow(d[i, j], 2.0)\n"
        "  var: f32[B,1] = sum (i, j | r<768) sq[i, r] then it / 768.0\n"
        "  e: f32[B,1] = map (i, j) var[i, 0] + 1e-05\n"
        "  root: f32[B,1] = map (i, j) sqrt(e[i, 0])\n"
        "  q: f32[B,768] = map (i, j) d[i, j] / root[i, 0]\n"
        "  g: f32[B,768] = map (i, j) q[i, j] * f32(scale[j])\n"
        "  out: f16[B,768] = map (i, j) f16(g[i, j] + f32(b[j]))\n";

static struct ir_program *parse(struct arena *a, const char *text)
{
	struct err e = { 0 };
	struct ir_program *p = NULL;
	CHECK_INT(ir_parse_program(&p, text, a, &e), 0);
	if (e.code)
		printf("%s\n", e.text);
	return p;
}

static const char *print(struct arena *a, const struct ir_program *p)
{
	struct str s = str_new(a);
	ir_print_program(&s, p);
	return str_text(&s);
}

static void round_trip(struct arena *a)
{
	struct ir_program *p = parse(a, layer_norm);
	const char *once = print(a, p);
	CHECK_STR(print(a, parse(a, once)), once);
	CHECK_STR(once, layer_norm);
	static const char scatter[] = "program S(x: f32[5,N], at_row: i64[3], upd: f32[3,N]) -> (y: f32[5,N])\n"
	                              "  const c: i64[2] = {4, -2}\n"
	                              "  y: f32[5,N] = scatter sum (i, j | r<3, s<N) init x[i, j] at "
	                              "[index(at_row[r]), s] value upd[r, s] where and(0 <= index(at_row[r]), "
	                              "index(at_row[r]) < index(c[mod(r, 2)]))\n";
	const char *text = print(a, parse(a, scatter));
	CHECK_STR(print(a, parse(a, text)), text);
	static const char scan[] =
	        "program S(x: f16[5,N]) -> (y: f16[5,N], z: f32[5,N], u0: f32[5,N], w0: f32[5,N])\n"
	        "  y: f16[5,N] = scan sum along j (i, j) f32(x[i, j])\n"
	        "  z: f32[5,N] = scan max along i exclusive (i, j) f32(x[i, j]) then it * 2.0 + f32(j)\n"
	        "  u0: f32[5,N] = scan prod along j reverse (i, j) f32(x[i, j]) * 0.5\n"
	        "  w0: f32[5,N] = scan min along j exclusive reverse (i, j) f32(x[i, j])\n";
	CHECK_STR(print(a, parse(a, scan)), scan);
	static const char sort[] = "program K(x: f32[5,N]) -> (y: f32[5,3], at0: i64[5,3])\n"
	                           "  at0: i64[5,3] = sort descending along j (i, j | r<N) x[i, r]\n"
	                           "  y: f32[5,3] = map (i, j) x[i, index(at0[i, j])]\n";
	CHECK_STR(print(a, parse(a, sort)), sort);
	static const char compact[] = "program C(x: f32[N,4]) -> (y: i64[K], found: i64[])\n"
	                              "  size K = found <= N * 4\n"
	                              "  y: i64[K] = compact found (| r<N, s<4) i64(r * 4 + s) where x[r, s] < 0.0\n";
	CHECK_STR(print(a, parse(a, compact)), compact);
	static const char loop[] = "program L(x: f32[T,8], h0: f32[8]) -> (h: f32[8], y: f32[T,8])\n"
	                           "  loop turn<T while h[0] < 1.5 {\n"
	                           "    carry h: f32[8] (i) h0[i]\n"
	                           "    sum_0: f32[] = sum (| r<8) h[r]\n"
	                           "    g: f32[8] = map (i) x[turn, i] + sum_0[]\n"
	                           "    next h = g\n"
	                           "    collect y: f32[T,8] at T - turn - 1 = g\n"
	                           "  }\n";
	CHECK_STR(print(a, parse(a, loop)), loop);
	struct ir_program *p0 = parse(a, loop);
	struct err e = { 0 };
	CHECK_INT(ir_optimise(p0, NULL, NULL, &e), 0);
	CHECK_STR(print(a, p0), loop);
}

/* Input values that determine extents. */
static void values(struct arena *a)
{
	static const char tiled[] = "program K(x: f32[N,3], times: i64[2]) -> (y: f32[rows,3])\n"
	                            "  value times0 = times[0]\n"
	                            "  value rows = N * times0\n"
	                            "  y: f32[rows,3] = map (i, j) x[mod(i, N), j]\n";
	CHECK_STR(print(a, parse(a, tiled)), tiled);
	struct ir_program *p = parse(a, "program K(x: f32[N,3], times: i64[2]) -> (y: f32[N * times0,3])\n"
	                                "  value times0 = times[0]\n"
	                                "  y: f32[N * times0,3] = map (i, j) x[mod(i, N), j]\n");
	ir_value_extents(p);
	CHECK(p->values.n == 2 && p->values.at[1].known && p->outputs.at[0]->dim[0]->op == IR_SYMBOL);
	CHECK(ir_value_is(p, p->inputs.at[1]) && !ir_value_is(p, p->inputs.at[0]));
	char one[33], other[33];
	ir_hash(parse(a, tiled), one);
	ir_hash(parse(a, "program K(x: f32[N,3], times: i64[2]) -> (y: f32[rows,3])\n  value times0 = times[1]\n"
	                 "  value rows = N * times0\n  y: f32[rows,3] = map (i, j) x[mod(i, N), j]\n"),
	        other);
	CHECK(strcmp(one, other) != 0);
}

/* A weight's value is no part of the text, of the hash, or of an expression. */
static void weights(struct arena *a)
{
	static const char text[] = "program K(x: f32[N,2]) -> (y: f32[N,2])\n  weight gain: u8[2]\n"
	                           "  y: f32[N,2] = map (i, j) x[i, j] * f32(gain[1])\n";
	struct ir_program *p = parse(a, text), *q = parse(a, text);
	char one[33], other[33];
	struct err e = { 0 };
	CHECK_STR(print(a, p), text);
	ir_hash(p, one);
	vec_each (b, &q->buffers)
		if ((*b)->weight) {
			struct tensor *t = NEW(a, struct tensor);
			CHECK_INT(tensor_new(t, (*b)->data->type, 1, (*b)->data->dim, a, &e), 0);
			tensor_set_int(t, 1, 7);
			(*b)->data = t;
		}
	CHECK_INT(ir_optimise(q, NULL, NULL, &e), 0);
	CHECK_STR(print(a, q), text);
	ir_hash(q, other);
	CHECK_STR(one, other);
}

/* Invalid stages. */
static void wrong_stages(struct arena *a)
{
	static const char *const wrong[] = {
		"program K(x: f32[5]) -> (y: f32[5])\n  y: f32[5] = sort along i (i | r<5) x[r]\n",
		"program K(x: f32[5]) -> (y: i64[5])\n  y: i64[5] = sort along i (i | r<5) x[i]\n",
		"program K(x: f32[5]) -> (y: i64[5])\n  y: i64[5] = compact n0 (| r<5) r where x[r] < 0.0\n",
		"program K(x: f32[5]) -> (y: f32[5])\n  y: f32[5] = map (i) x[i] + f32(turn)\n",
		"program K(x: f32[5]) -> (y: f32[5])\n  loop turn<5 {\n carry y: f32[5] (i) 0.0\n next y = x\n g: "
		"f32[turn] = map "
		"(i) 0.0\n }\n",
		"program K(x: f32[5]) -> (y: f32[5])\n  loop turn<5 {\n carry y: f32[5] (i) 0.0\n }\n",
		"program K(x: f32[5], z: f32[4]) -> (y: f32[5])\n  loop turn<5 {\n carry y: f32[5] (i) 0.0\n next y = "
		"z\n }\n",
		"program K(x: f32[5]) -> (y: f32[5], u0: f32[5])\n  loop turn<5 {\n carry y: f32[5] (i) 0.0\n g: "
		"f32[5] = map (i) "
		"y[i]\n next y = g\n }\n  u0: f32[5] = map (i) g[i]\n",
		/* elements narrower than a byte: only maps make them, and nothing computes with them */
		"program K(x: u4[5,3]) -> (y: u4[5])\n  y: u4[5] = max (i | r<3) i32(x[i, r]) then u4(it)\n",
		"program K(x: u4[5]) -> (y: u4[5])\n  y: u4[5] = scatter replace (i | r<5) init x[i] at [4 - r] value "
		"x[r]\n",
		"program K(x: u4[5]) -> (y: u4[5])\n  y: u4[5] = map (i) x[i] + x[i]\n",
		"program K(x: f4e2m1[5]) -> (y: i4[5])\n  y: i4[5] = map (i) bitcast_i4(x[i])\n",
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct err e = { 0 };
		struct ir_program *p = NULL;
		if (ir_parse_program(&p, wrong[i], a, &e) == 0)
			printf("taken: %s", wrong[i]);
		CHECK(e.code != 0);
	}
}

static const char *show(struct arena *a, expr e)
{
	struct str s = str_new(a);
	ir_print_expr(&s, e, 8);
	return str_text(&s);
}

/* Quotients and remainders, put together again: by a number and by an extent, inside and outside of other terms. */
static void apart_and_joined(struct arena *a)
{
	struct ir_pool *p = ir_pool_new(a);
	expr N = ir_symbol(p, "N"), i = ir_axis(p, 0, ir_binary(IR_MUL, N, ir_index(p, 12))), j = ir_axis(p, 1, N);
	for (int k = 0; k < 2; k++) {
		expr by = k ? N : ir_index(p, 12);
		expr whole = ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, i, by), by), rest = ir_binary(IR_MOD, i, by);
		CHECK(ir_binary(IR_ADD, whole, rest) == i);
		expr more = ir_binary(IR_ADD, ir_binary(IR_MUL, rest, N), j);
		CHECK_STR(show(a, ir_binary(IR_ADD, more, ir_binary(IR_MUL, whole, N))), "i * N + j");
	}
	/* Two levels: i = (a * 3 + b) * 4 + c. */
	expr c = ir_binary(IR_MOD, i, ir_index(p, 4)), q = ir_binary(IR_FLOORDIV, i, ir_index(p, 4));
	expr b = ir_binary(IR_MOD, q, ir_index(p, 3)), top = ir_binary(IR_FLOORDIV, i, ir_index(p, 12));
	expr sum = ir_binary(IR_ADD, ir_binary(IR_MUL, top, ir_index(p, 12)), ir_binary(IR_MUL, b, ir_index(p, 4)));
	CHECK(ir_binary(IR_ADD, sum, c) == i);
	/* Another multiple of the quotient stays. */
	expr other = ir_binary(IR_ADD, ir_binary(IR_MUL, q, ir_index(p, 5)), c);
	CHECK_STR(show(a, other), "floordiv(i, 4) * 5 + mod(i, 4)");
}

static void index_arithmetic(struct arena *a)
{
	struct ir_pool *p = ir_pool_new(a);
	expr B = ir_symbol(p, "B"), S = ir_symbol(p, "S"), n768 = ir_index(p, 768), n64 = ir_index(p, 64);
	expr b = ir_axis(p, 0, B), s = ir_axis(p, 1, S), h = ir_axis(p, 2, ir_index(p, 12)), d = ir_axis(p, 3, n64);
	/* [B,S,12,64] seen as [B,S,768] */
	expr flat = ir_binary(IR_ADD, ir_binary(IR_MUL, b, S), s);
	flat = ir_binary(IR_ADD, ir_binary(IR_MUL, flat, ir_index(p, 12)), h);
	flat = ir_binary(IR_ADD, ir_binary(IR_MUL, flat, n64), d);
	CHECK_STR(show(a, ir_binary(IR_MOD, flat, n768)), "k * 64 + l");
	expr rows = ir_binary(IR_FLOORDIV, flat, n768);
	CHECK_STR(show(a, rows), "i * S + j");
	CHECK(ir_binary(IR_MOD, rows, S) == s);
	CHECK(ir_binary(IR_FLOORDIV, rows, S) == b);
	CHECK_STR(show(a, ir_binary(IR_FLOORDIV, ir_binary(IR_MUL, ir_binary(IR_MUL, B, S), n768),
	                            ir_binary(IR_MUL, S, n64))),
	          "B * 12");
	CHECK_STR(show(a, ir_binary(IR_SUB, ir_binary(IR_ADD, B, ir_index(p, 3)), B)), "3");
	apart_and_joined(a);
	CHECK_STR(show(a, ir_binary(IR_LT, b, B)), "true");
	CHECK_STR(show(a, ir_binary(IR_LE, ir_index(p, 0), ir_binary(IR_ADD, s, b))), "true");
	CHECK_STR(show(a, ir_binary(IR_LT, s, B)), "j < B");
	CHECK_STR(
	        show(a, ir_binary(IR_FLOORDIV, ir_binary(IR_SUB, ir_binary(IR_MUL, B, ir_index(p, 2)), ir_index(p, 1)),
	                          ir_index(p, 4))),
	        "floordiv(B - 1, 2)");
	CHECK_STR(show(a, ir_binary(IR_MAX, B, ir_index(p, 0))), "B");
	CHECK_STR(show(a, ir_binary(IR_MIN, s, ir_binary(IR_SUB, S, ir_index(p, 1)))), "j");
	expr window = ir_binary(IR_FLOORDIV, ir_binary(IR_SUB, S, ir_index(p, 1)), ir_index(p, 2));
	expr w = ir_axis(p, 0, ir_binary(IR_ADD, window, ir_index(p, 1)));
	CHECK_STR(show(a, ir_binary(IR_LT, w, ir_binary(IR_ADD, window, ir_index(p, 1)))), "true");
	/* Every other element lies inside, also if there is none. */
	expr other = ir_binary(IR_MUL, w, ir_index(p, 2));
	CHECK_STR(show(a, ir_binary(IR_LT, other, S)), "true");
	CHECK(!ir_nonnegative(ir_binary(IR_SUB, ir_binary(IR_SUB, S, other), ir_index(p, 2))));
}

struct place {
	int64_t whole, lane;
};

static expr at_place(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	const struct place *at = user;
	(void)arg;
	return e->op == IR_VAR ? ir_index(p, e->n == 2 ? at->whole : at->lane) : NULL;
}

/* Simplification with known divisibility of a variable: shorter, with equal values. */
/* What broadcasting and slices leave of an extent: equal wherever the condition holds, and so one of the two. */
static void extents(struct arena *a)
{
	struct ir_pool *p = ir_program_new(a, "extents")->pool;
	expr n = ir_symbol(p, "N"), m = ir_symbol(p, "M"), one = ir_index(p, 1), large = ir_index(p, 1000);
	expr least = ir_binary(IR_MIN, n, large), is_one = ir_binary(IR_EQ, one, n);
	CHECK(ir_binary(IR_EQ, one, least) == is_one);
	CHECK(ir_binary(IR_EQ, least, one) == is_one);
	CHECK(ir_binary(IR_EQ, ir_index(p, 5), ir_binary(IR_MAX, n, one)) == ir_binary(IR_EQ, ir_index(p, 5), n));
	CHECK(ir_binary(IR_EQ, large, least) != ir_binary(IR_EQ, large, n));
	CHECK(ir_binary(IR_EQ, one, ir_binary(IR_MAX, n, one)) != is_one);
	expr last = ir_binary(IR_SUB, n, one);
	CHECK(ir_binary(IR_MIN, last, ir_binary(IR_MAX, ir_index(p, 0), last)) == last);
	CHECK(ir_binary(IR_MIN, ir_binary(IR_MAX, n, m), last) == last);
	CHECK(ir_binary(IR_MAX, n, ir_binary(IR_MIN, m, last)) == n);
	CHECK(ir_binary(IR_MIN, last, ir_binary(IR_MAX, m, one))->op == IR_MIN);
	CHECK(ir_binary(IR_MAX, last, ir_binary(IR_MIN, m, n))->op == IR_MAX);
	CHECK(ir_select(is_one, n, least) == least);
	CHECK(ir_select(is_one, least, n) == n);
	CHECK(ir_select(is_one, one, n) == n);
	CHECK(ir_select(is_one, m, n)->op == IR_SELECT);
	CHECK(ir_select(is_one, m, ir_binary(IR_MUL, m, n)) == ir_binary(IR_MUL, m, n));
	CHECK(ir_select(ir_binary(IR_EQ, n, m), n, m)->op == IR_SELECT); /* right, but left as it is */
	CHECK(ir_select(ir_binary(IR_EQ, one, least), ir_select(ir_binary(IR_EQ, one, least), n, least), least) ==
	      least);
}

static void multiples(struct arena *a)
{
	struct ir_pool *p = ir_pool_new(a);
	expr v = ir_var_multiple(ir_variable_called(p, TYPE_INDEX, "v"), ir_index(p, 200), 8);
	expr lane = ir_var(p, TYPE_INDEX, "lane", ir_index(p, 8));
	expr sum = ir_binary(IR_ADD, v, lane);
	CHECK_STR(show(a, ir_binary(IR_FLOORDIV, sum, ir_index(p, 40))), "floordiv(v, 40)");
	CHECK_STR(show(a, ir_binary(IR_FLOORDIV, sum, ir_index(p, 4))), "floordiv(lane, 4) + floordiv(v, 4)");
	CHECK_STR(show(a, ir_binary(IR_MOD, sum, ir_index(p, 4))), "mod(lane, 4)");
	CHECK_INT(ir_multiple(ir_binary(IR_FLOORDIV, v, ir_index(p, 4))), 2);
	CHECK_INT(ir_multiple(ir_binary(IR_MOD, ir_binary(IR_MUL, v, ir_index(p, 3)), ir_index(p, 20))), 4);
	CHECK_INT(ir_multiple(sum), 1);
	static const int factor[] = { 1, 2, 3, 5, 6, -1 }, add[] = { 0, 1, -2, 7, 8 },
	                 divisor[] = { 2, 3, 4, 8, 12, 16, 40 };
	for (size_t i = 0; i < 6 * 3 * 5 * 7; i++) {
		expr e = ir_binary(IR_ADD, ir_binary(IR_MUL, v, ir_index(p, factor[i % 6])),
		                   ir_binary(IR_MUL, lane, ir_index(p, factor[i / 6 % 3])));
		e = ir_binary(IR_ADD, e, ir_index(p, add[i / 18 % 5]));
		expr by = ir_index(p, divisor[i / 90 % 7]), whole = ir_binary(IR_FLOORDIV, e, by),
		     rest = ir_binary(IR_MOD, e, by);
		for (int64_t k = 0; k < 25 * 8; k++) {
			struct place at = { k / 8 * 8, k % 8 };
			expr n = ir_copy(p, e, at_place, &at);
			CHECK(ir_copy(p, whole, at_place, &at) == ir_binary(IR_FLOORDIV, n, by));
			CHECK(ir_copy(p, rest, at_place, &at) == ir_binary(IR_MOD, n, by));
			CHECK(n->i % ir_multiple(e) == 0);
		}
	}
}

static void fusion(struct arena *a)
{
	char h1[33], h2[33];
	struct err e = { 0 };
	struct ir_program *p = parse(a, layer_norm), *q = parse(a, layer_norm_spelled);
	CHECK_INT(ir_optimise(p, NULL, NULL, &e), 0);
	CHECK_INT(ir_optimise(q, NULL, NULL, &e), 0);
	if (e.code)
		printf("%s\n", e.text);
	CHECK_INT(p->stages.n, 3);
	CHECK_INT(q->stages.n, 3);
	ir_hash(parse(a, print(a, p)), h1);
	ir_hash(p, h2);
	CHECK_STR(h1, h2);
	printf("%s%s", print(a, p), print(a, q));
}

/* The number of stages of a product with a concatenation of `parts`, for `rows` rows, after the passes. */
static int stages_of_product(struct arena *a, const char *rows, const char *parts)
{
	struct err e = { 0 };
	struct ir_program *p =
	        parse(a, arena_printf(a,
	                              "program p(x: f16[%s,8], past: f16[20,8], new: f16[N,8]) -> (y: f32[%s,N + "
	                              "20])\n"
	                              "  a: f16[N + 20,8] = map (i, j) %s\n"
	                              "  y: f32[%s,N + 20] = sum (i, j | r<8) f32(x[i, r]) * f32(a[j, "
	                              "r])\n",
	                              rows, rows, parts, rows));
	CHECK_INT(ir_optimise(p, NULL, NULL, &e), 0);
	return p->stages.n;
}

/* A concatenation is stored if products read it often; other maps move into them. */
static void concatenations(struct arena *a)
{
	static const char both[] = "select(i < 20, past[i, j], new[i - 20, j])",
	                  one[] = "select(i < 20, past[i, j], f16(0.0))";
	CHECK_INT(stages_of_product(a, "M", both), 2);
	CHECK_INT(stages_of_product(a, "16", both), 2);
	CHECK_INT(stages_of_product(a, "2", both), 1);
	CHECK_INT(stages_of_product(a, "M", one), 1);
}

/* The scanned expression, the direction and the axis are part of a program; maps move into and after scans. */
static void scans(struct arena *a)
{
	static const char *const along[] = { "i", "j", "i exclusive", "i reverse", "i exclusive reverse" };
	char hash[5][33];
	struct err e = { 0 };
	for (int k = 0; k < 5; k++) {
		ir_hash(parse(a, arena_printf(a,
		                              "program p(x: f32[N,N]) -> (y: f32[N,N])\n"
		                              "  y: f32[N,N] = scan sum along %s (i, j) x[i, j]\n",
		                              along[k])),
		        hash[k]);
		for (int q = 0; q < k; q++)
			CHECK(strcmp(hash[q], hash[k]) != 0);
	}
	struct ir_program *p = parse(a, "program p(x: f16[N,K]) -> (y: f16[N,K], z: f32[N])\n"
	                                "  a: f32[N,K] = map (i, j) exp(f32(x[i, j]))\n"
	                                "  b: f32[N,K] = scan sum along j (i, j) a[i, j]\n"
	                                "  c: f32[N,K] = scan sum along j (i, j) a[i, j]\n"
	                                "  d: f32[N,K] = scan sum along j reverse (i, j) a[i, j]\n"
	                                "  y: f16[N,K] = map (i, j) f16(b[i, j] * c[i, j])\n"
	                                "  z: f32[N] = sum (i | r<K) d[i, r]\n");
	CHECK_INT(ir_optimise(p, NULL, NULL, &e), 0);
	CHECK_STR(print(a, p), "program p(x: f16[N,K]) -> (y: f16[N,K], z: f32[N])\n"
	                       "  d: f32[N,K] = scan sum along j reverse (i, j) exp(f32(x[i, j]))\n"
	                       "  y: f16[N,K] = scan sum along j (i, j) exp(f32(x[i, j])) then f16(it * it)\n"
	                       "  z: f32[N] = sum (i | r<K) d[i, r]\n");
	/* Read at another index, it stays. */
	p = parse(a, "program p(x: f32[N]) -> (y: f32[N])\n"
	             "  b: f32[N] = scan sum along i (i) x[i]\n"
	             "  y: f32[N] = map (i) b[N - 1 - i]\n");
	CHECK_INT(ir_optimise(p, NULL, NULL, &e), 0);
	CHECK_INT(p->stages.n, 2);
	/* Shape arithmetic. */
	p = parse(a, "program p(x: f32[N,K]) -> (y: i64[4], z: i64[4])\n"
	             "  y: i64[4] = scan sum along i (i) i64(i) * i64(N)\n"
	             "  z: i64[4] = scan sum along i exclusive reverse (i) i64(i + 1)\n");
	CHECK_STR(show(a, ir_element(p, p->stages.at[0], &(int64_t){ 2 })), "i64(N) + i64(2) * i64(N)");
	CHECK_STR(show(a, ir_element(p, p->stages.at[1], &(int64_t){ 1 })), "i64(7)");
	p = parse(a, "program p(x: f32[N,K], q: i64[2]) -> (y: i64[4], z: i64[4], last: i64[4])\n"
	             "  y: i64[4] = scatter replace (i | r<2) init i64(N) at [2 * r + 1] value i64(r * K)\n"
	             "  z: i64[4] = scatter sum (i | r<3) init i64(i) at [1] value i64(r + 1) where r < 2\n"
	             "  last: i64[4] = scatter sum (i | r<2) init i64(i) at [index(q[r])] value i64(r)\n");
	CHECK_STR(show(a, ir_element(p, p->stages.at[0], &(int64_t){ 2 })), "i64(N)");
	CHECK_STR(show(a, ir_element(p, p->stages.at[0], &(int64_t){ 3 })), "i64(K)");
	CHECK_STR(show(a, ir_element(p, p->stages.at[1], &(int64_t){ 1 })), "i64(4)");
	CHECK(!ir_element(p, p->stages.at[2], &(int64_t){ 1 })); /* the updates' positions are unknown */
}

static void mistakes(struct arena *a)
{
	static const char *const bad[] = {
		"",
		"program",
		"program p(x: f32[N]) -> (y: f32[N])\n",
		"program p(x: f32[N]) -> (y: f32[N])\n y: f32[N] = map (i) x[j]\n",
		"program p(x: f32[N]) -> (y: f32[N])\n y: f32[N] = map (i) x[i, i]\n",
		"program p(x: f32[N]) -> (y: f16[N])\n y: f16[N] = map (i) x[i]\n",
		"program p(x: f32[N]) -> (y: f32[N])\n y: f32[N] = sum (i | r<3) x[i] + 1\n",
		"program p(x: f32[N]) -> (y: f32[N])\n y: f32[N] = map (i) y[i]\n",
		"program p(x: f32[N]) -> (y: f32[N])\n y: f32[N] = map (i) it\n",
		"program p(x: f32[N]) -> (y: f32[N])\n y: f32[N] = map (i) select(1, x[i], x[i])\n",
		"program p(x: f32[N]) -> (y: f32[N])\n y: f32[N] = scan sum along j (i) x[i]\n",
		"program p(x: f32[N]) -> (y: f32[N])\n y: f32[N] = scan sum (i) x[i]\n",
		"program p(x: f32[N]) -> (y: f32[N])\n y: f32[N] = scan argmax along i (i) x[i]\n",
		"program p(x: f32[N]) -> (y: f32[N])\n y: f32[N] = scan replace along i (i) x[i]\n",
		"program p(x: f32[N]) -> (y: f32[N])\n y: f32[N] = scan sum along i (i | r<3) x[i]\n",
		"program p(x: f32[]) -> (y: f32[])\n y: f32[] = scan sum along i () x[]\n",
		"program p(x: f16[N]) -> (y: f16[N])\n y: f16[N] = scan sum along i (i) x[i]\n",
		"program p(x: f32[N]) -> (y: f16[N])\n y: f16[N] = scan sum along i (i) x[i] then it\n",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = { 0 };
		struct ir_program *p;
		if (ir_parse_program(&p, bad[i], a, &e) == 0)
			printf("taken: %s\n", bad[i]);
		CHECK(e.code < 0);
		CHECK(e.text[0] != 0);
	}
}

/* Buffers of one name get numbers; a number that has become free is the next one's. A function of many nodes makes
 * thousands, so that a search from the beginning for each of them took minutes. */
static void names(struct arena *a)
{
	enum { MANY = 50000 };
	struct ir_program *p = ir_program_new(a, "names");
	struct ir_buffer *b[MANY];
	char text[16];

	for (int i = 0; i < MANY; i++) {
		b[i] = ir_buffer_new(p, "part", TYPE_F32, 0, NULL, IR_TEMP);
		snprintf(text, sizeof text, i ? "part_%d" : "part", i + 1);
		if (strcmp(b[i]->name, text) != 0)
			CHECK_STR(b[i]->name, text);
	}
	CHECK_STR(ir_buffer_new(p, "part_7", TYPE_F32, 0, NULL, IR_TEMP)->name, "part_7_2");
	ir_buffer_rename(p, b[2], "other");
	CHECK_STR(ir_buffer_new(p, "part", TYPE_F32, 0, NULL, IR_TEMP)->name, "part_3");
	CHECK_STR(ir_buffer_new(p, "other", TYPE_F32, 0, NULL, IR_TEMP)->name, "other_2");
	CHECK(ir_buffer_named(p, "other") == b[2]);
	p->buffers.n = 10; /* as a pass that removes buffers */
	CHECK_STR(ir_buffer_new(p, "part", TYPE_F32, 0, NULL, IR_TEMP)->name, "part_3");
}

int main(void)
{
	struct arena *a = arena_new();
	round_trip(a);
	names(a);
	values(a);
	weights(a);
	wrong_stages(a);
	index_arithmetic(a);
	extents(a);
	multiples(a);
	fusion(a);
	concatenations(a);
	scans(a);
	mistakes(a);
	arena_free(a);
	return test_done();
}
