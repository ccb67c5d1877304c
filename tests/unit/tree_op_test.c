/* Ensembles of decision trees: cases that no other engine computes correctly or at all. Sets of any numbers, missing
 * values in them, trees that are refused. */
#include <math.h>
#include <string.h>

#include "eval/eval.h"
#include "tests/program/op_case.h"
#include "tests/unit/test.h"

static struct arena *arena;

static int program_of(struct ir_program **out, const char *op, const char *text, struct err *e)
{
	return op_case_program(out, op_find("ai.onnx.ml", op), text, arena, e);
}

/* One tree of one node, mode 6: leaf 0 (weight 1) for members of the set, leaf 1 (weight 2) for others. */
static void sets(void)
{
	static const double member[] = { -1.5, 0.25, 3, 1e30, -7 };
	static const double other[] = { -1, 0, 0.5, 2.9999, 3.5, -1e30, 1e31, INFINITY, -INFINITY };
	static const char *const form =
	        "x:f64[N,1] tree_roots=0 nodes_modes=u8{6} nodes_featureids=0 nodes_splits=f64{0} nodes_truenodeids=0 "
	        "nodes_trueleafs=1 nodes_falsenodeids=1 nodes_falseleafs=1 "
	        "membership_values=f64{3,-1.5,1e30,0.25,-7,3,nan} leaf_targetids=0,0 leaf_weights=f64{1,2} "
	        "nodes_missing_value_tracks_true=%d";
	enum { MEMBERS = 5, OTHERS = 9, N = MEMBERS + OTHERS + 1 };

	for (int missing = 0; missing < 2; missing++) {
		struct ir_program *p;
		struct tensor x, y;
		struct err e = { 0 };

		CHECK(program_of(&p, "TreeEnsemble", arena_printf(arena, form, missing), &e) == 0);
		CHECK(tensor_new(&x, TYPE_F64, 2, (int64_t[]){ N, 1 }, arena, &e) == 0);
		for (int i = 0; i < N; i++)
			tensor_set_float(&x, i, i < MEMBERS ? member[i] : i + 1 < N ? other[i - MEMBERS] : (double)NAN);
		CHECK(eval_program(p, (const struct tensor *[]){ &x }, &y, NULL, arena, &e) == 0);
		CHECK(y.type == TYPE_F64 && y.rank == 2 && y.dim[0] == N && y.dim[1] == 1);
		for (int i = 0; i + 1 < N; i++)
			CHECK(tensor_float(&y, i) == (i < MEMBERS ? 1 : 2));
		CHECK(tensor_float(&y, N - 1) == (missing ? 1 : 2));
	}
}

/* Trees of one comparison and two leaves, with one list changed. */
static const char *changed(const char *name, const char *list)
{
	static const char *const plain[][2] = {
		{ "nodes_treeids", "0,0,0" },      { "nodes_nodeids", "0,1,2" },
		{ "nodes_featureids", "1,0,0" },   { "nodes_modes", "BRANCH_LEQ,LEAF,LEAF" },
		{ "nodes_values", "0.5,0,0" },     { "nodes_truenodeids", "1,0,0" },
		{ "nodes_falsenodeids", "2,0,0" }, { "target_treeids", "0,0" },
		{ "target_nodeids", "1,2" },       { "target_ids", "0,0" },
		{ "target_weights", "1,2" },       { "base_values", "0.5" },
	};
	struct str s = str_new(arena);

	str_printf(&s, "x:f32[N,2]");
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		str_printf(&s, " %s=%s", plain[i][0], strcmp(plain[i][0], name) == 0 ? list : plain[i][1]);
	return str_text(&s);
}

static void refusals(void)
{
	static const struct {
		const char *name, *list, *why;
	} wrong[] = {
		{ "nodes_truenodeids", "0,0,0", "no root leads to 1 of the nodes" },
		{ "nodes_truenodeids", "2,0,0", "2 roots" },
		{ "nodes_truenodeids", "7,0,0", "no node 7" },
		{ "nodes_truenodeids", "1,0", "nodes_truenodeids has 2 elements" },
		{ "nodes_nodeids", "0,1,1", "two nodes 1" },
		{ "nodes_modes", "BRANCH_LEQ,LEAF,TWIG", "\"TWIG\", which is not a mode" },
		{ "nodes_featureids", "2,0,0", "asks for feature 2, and the input has 2" },
		{ "nodes_featureids", "-1,0,0", "must be at least 0" },
		{ "nodes_values", "0.5", "1 nodes_values" },
		{ "target_nodeids", "1,5", "no node 5" },
		{ "target_ids", "0,3", "for number 3, and there are 1" },
		{ "target_weights", "1", "but 1 weights" },
		{ "base_values", "1,2", "2 base values for 1 scores" },
	};
	struct ir_program *p;
	struct err e = { 0 };

	CHECK(program_of(&p, "TreeEnsembleRegressor", changed("", ""), &e) == 0);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		e = (struct err){ 0 };
		CHECK(program_of(&p, "TreeEnsembleRegressor", changed(wrong[i].name, wrong[i].list), &e) < 0);
		if (!strstr(e.text, wrong[i].why))
			printf("  \"%s\" says nothing of \"%s\"\n", e.text, wrong[i].why);
		CHECK(strstr(e.text, wrong[i].why) != NULL);
	}
	/* The nodes after the root form a cycle. */
	e = (struct err){ 0 };
	CHECK(program_of(
	              &p, "TreeEnsembleRegressor",
	              "x:f32[N,2] nodes_treeids=0,0,0,0 nodes_nodeids=0,1,2,3 nodes_featureids=0,0,0,0 "
	              "nodes_modes=BRANCH_LEQ,BRANCH_LT,BRANCH_LT,LEAF nodes_values=0,0,0,0 nodes_truenodeids=1,2,1,0 "
	              "nodes_falsenodeids=3,3,3,0 target_treeids=0 target_nodeids=3 target_ids=0 target_weights=1",
	              &e) < 0);
	CHECK(strstr(e.text, "form a cycle") != NULL);
}

int main(void)
{
	arena = arena_new();
	sets();
	refusals();
	arena_free(arena);
	return test_done();
}
