/* Default extents: of programs, of regions inside a model, and in the command that builds an engine. */
#include "graph_models.h"
#include "lib/tpat_inside.h"
#include "program/parse.h"

/* The middle point's extents of a program with this input and result, in the order of its symbols. */
static const char *usual_of(const char *input, const char *result, const char *value, struct arena *a)
{
	struct ir_program *p = NULL;
	struct err e = { 0 };
	struct str s = str_new(a);
	const char *text = arena_printf(a, "program one(x: f32[%s]) -> (y: f32[%s])\n  y: f32[%s] = map (i, j, k) %s\n",
	                                input, result, result, value);
	if (ir_parse_program(&p, text, a, &e) < 0)
		return "not read";
	const struct sched_points points = sched_usual_points(p, &sched_default_target);
	for (int i = 0; i < points.n; i++)
		for (int k = 0; k < points.target[i].extents; k++)
			str_printf(&s, "%s%lld", s.n ? "," : "", (long long)points.target[i].extent[k].value);
	return str_text(&s);
}

static void of_programs(struct arena *a)
{
	CHECK_STR(usual_of("N,8,2", "N,8,2", "x[i, j, k]", a), "4,64,1024");
	CHECK_STR(usual_of("N,8,2", "floordiv(N, 49),8,2", "x[i * 49, j, k]", a), "4,64,1024");
	CHECK_STR(usual_of("N,8,2", "floordiv(N, 196),8,2", "x[i * 196, j, k]", a), "784,12544,200704");
	CHECK_STR(usual_of("N,8,2", "floordiv(N - 400, 160) + 1,8,2", "x[i * 160, j, k]", a), "640,10240,163840");
	/* Both sides of an image: the least that gives an element. */
	CHECK_STR(usual_of("2,H,W", "2,floordiv(H, 128),floordiv(W, 128)", "x[i, j * 128, k * 128]", a),
	          "8,8,128,128,2048,2048");
}

/* Rows of images, 196 each: the input's extents are `rows`, and the region is all after the first node. */
static void of_region(const char *rows, const char *want, struct arena *a)
{
	struct onnx_model *m = model(8, 20);
	struct graph *g;
	struct graph_region *r;
	struct ir_program *p;
	struct tpat_extents *x;
	struct err e = { 0 };
	const struct tpat_strings none = { 0 };
	const struct graph_program_options options = { .sizes = true };
	static const int number[] = { 1, 2, 3 };

	input(m, "x", TYPE_F32, rows);
	output(m, "y", TYPE_F32, "? 8");
	ints(m, "flat", 2, (double[]){ -1, 8 });
	ints(m, "image", 3, (double[]){ -1, 196, 8 });
	node(m, "Reshape", "x flat", "a");
	node(m, "Tanh", "a", "b");
	node(m, "Reshape", "b image", "c");
	node(m, "Sigmoid", "c", "y");
	g = graph_of(m, NULL);
	CHECK_INT(graph_region_new(&r, g, number, 3, &e), 0);
	CHECK_INT(graph_region_program(&p, r, &options, a, &e), 0);
	CHECK_INT(tpat_profile_extents(&x, g, &none, a, &e), 0);
	const struct sched_points points = tpat_profile_points(x, &sched_default_target, r, p, NULL);
	CHECK_INT(points.n, 3);
	const struct sched_target *t = &points.target[points.opt];
	CHECK_STR(sched_shape_text(p, tpat_extent_at, &t, a), want);
	graph_free(g);
	onnx_model_free(m);
}

/* What trtexec is told to build for. */
static void of_example(struct arena *a)
{
	struct onnx_model *m = model(8, 20);
	struct tpat_example *x;
	struct err e = { 0 };
	const struct tpat_strings none = { 0 };

	input(m, "x", TYPE_F32, "n 8");
	output(m, "y", TYPE_F32, "? 196 8");
	ints(m, "image", 3, (double[]){ -1, 196, 8 });
	node(m, "Reshape", "x image", "y");
	struct graph *g = graph_of(m, NULL);
	CHECK_INT(tpat_example(&x, g, &none, a, &e), 0);
	expr n = graph_value_find(g, "x")->dim[0];
	CHECK_INT(tpat_example_extent(x, n, 0), 196);
	CHECK_INT(tpat_example_extent(x, n, 1), 8 * 196);
	CHECK_INT(tpat_example_extent(x, n, 2), 32 * 196);
	graph_free(g);
	onnx_model_free(m);
}

int main(void)
{
	struct arena *a = arena = arena_new();
	of_programs(a);
	of_region("N 196 8", "12544", a);
	of_region("N 14 14 8", "12544", a);
	of_region("n 8", "12544", a);
	of_region("B S 8", "4096", a);
	of_example(a);
	arena_free(a);
	return test_done();
}
