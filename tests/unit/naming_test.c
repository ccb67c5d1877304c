/* The names that printers choose: free ones, by scope, as near to their hints as can be. */
#include "gen/naming.h"

#include "ir/reserved.h"
#include "test.h"

/* Marked names: variables, a symbol, a buffer. */
#define V(hint, n) \
	hint "\x01" \
	     "0000000" #n
#define S(hint) \
	hint "\x02" \
	     "00000000"
#define B(hint, n) \
	hint "\x03" \
	     "0000000" #n

/* A scope's beginning and end. */
#define IN "\x04"
#define OUT "\x05"

static void chosen(const char *text, const char *want, bool c)
{
	struct arena *a = arena_new();
	struct str s = str_new(a);
	names_choose(&s, text, names_reserved(c ? KERNEL_C : KERNEL_CUDA));
	CHECK_STR(str_text(&s), want);
	arena_free(a);
}

static void test_variables(void)
{
	/* One block declares two of a hint; blocks behind each other may share it; inner ones must not hide what is
	 * outside. */
	chosen("void f()\n{\n\tint " V("j", 1) " = 1;\n\tint " V("j", 2) " = " V("j", 1) ";\n}\n",
	       "void f()\n{\n\tint j = 1;\n\tint j_2 = j;\n}\n", false);
	chosen("{ " IN "for (int " V("i", 1) " = 0;;) { a(" V("i", 1) "); " OUT "} " IN
	                                                              "for (int " V("i", 2) " = 0;;) "
	                                                                                    "{ a(" V("i", 2) "); " OUT
	                                                                                                     "} }",
	       "{ for (int i = 0;;) { a(i); } for (int i = 0;;) { a(i); } }", false);
	chosen("{ int " V("r", 1) "; {" IN " int " V("r", 2) " = " V("r", 1) "; " OUT "} }",
	       "{ int r; { int r_2 = r; } }", false);
	chosen("{ const auto " V("at", 1) " = [&](" IN "int " V("r", 2) ", u32 (&" V("x", 3) ")[1]) { return " V(
	               "r", 2) "; " OUT "}; int " V("r", 4) "; }",
	       "{ const auto at = [&](int r, u32 (&x)[1]) { return r; }; int r; }", false);
	/* The same name may be declared again where it has ended. */
	chosen("{ {" IN " int " V("x_v", 1) "; " V("x_v", 1) " = 1; " OUT "} {" IN
	                                                     " int " V("x_v", 2) "; int " V("x_v", 1) "; " OUT "} }",
	       "{ { int x_v; x_v = 1; } { int x_v; int x_v_2; } }", false);
}

static void test_plain(void)
{
	/* What stands there without a mark stays, and is no variable's name; members are in nobody's way. */
	chosen("{ int " V("row", 1) "; f(row, p.row, q->row, p." V("column", 2) "); }",
	       "{ int row_2; f(row, p.row, q->row, p.column); }", false);
	chosen("{ int " V("row", 1) "; f(p.row, q->row); }", "{ int row; f(p.row, q->row); }", false);
	chosen("{ mma(); int " V("mma", 1) "; }", "{ mma(); int mma_2; }", false);
	chosen("// " V("row", 1) " of " B("x", 1) "\n{ int " V("row", 1) "; }", "// row of x\n{ int row; }", false);
}

static void test_models_names(void)
{
	chosen("void f(const float *" B("end", 0) ", int " S("number") ")\n{\n\tint " V("number", 1) " = " S(
	               "number") ";\n"
	                         "\tg(" B("end", 0) "[end]);\n}\n",
	       "void f(const float *end_data, int number_extent)\n{\n\tint number = "
	       "number_extent;\n\tg(end_data[end]);\n}\n",
	       false);
	chosen("f(" B("x", 0) ", " B("x", 1) ", " S("x") ")", "f(x, x_data, x_extent)", false);
	chosen("f(" B("x_v", 0) ", " V("x_v", 1) ")", "f(x_v_data, x_v)", false);
	chosen("f(" S("NULL") ", " S("xor") ", " S("__global__") ", " S("TPAT_ARCH") ", " B("nullptr", 0) ", " B(
	               "shared_tile", 1) ")",
	       "f(NULL_extent, xor_extent, v__global__, TPAT_ARCH_extent, nullptr_data, shared_tile_data)", false);
	chosen("f(" S("M_PI") ", " S("linux") ", " S("restrict") ", " B("sort_items", 0) ")",
	       "f(M_PI_extent, linux_extent, restrict_extent, sort_items_data)", true);
	/* What a macro that stands there is made of stands there, too. */
	CHECK(map_get(names_reserved(KERNEL_CUDA), "block_cluster"));
	const struct names_word *w = map_get(names_reserved(KERNEL_CUDA), "block_cluster");
	CHECK(w && w->body && w->n > 0 && !w->declared);
}

int main(void)
{
	test_variables();
	test_plain();
	test_models_names();
	return test_done();
}
