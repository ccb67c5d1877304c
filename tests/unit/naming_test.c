/* The names that printers choose: free ones, by scope, as near to their hints as can be. */
#include "gen/naming.h"

#include "ir/ir.h"
#include "ir/reserved.h"
#include "test.h"

/* A text as a printer writes it. */
struct text {
	struct arena *a;
	struct ir_pool *pool;
	struct names names;
	struct str out;
};

static struct text text_new(enum kernel_language language)
{
	struct arena *a = arena_new();
	return (struct text){ a, ir_pool_new(a), names_new(a, names_reserved(language)), str_new(a) };
}

static void chosen(struct text *t, const char *want)
{
	struct str s = str_new(t->a);
	names_choose(&s, &t->names, str_text(&t->out));
	CHECK_STR(str_text(&s), want);
	arena_free(t->a);
}

static void test_variables(void)
{
	/* One block declares two of a hint. */
	struct text t = text_new(KERNEL_CUDA);
	int object[4];
	const char *first = names_object(&t.names, NAME_VARIABLE, &object[0], "j");
	const char *second = names_object(&t.names, NAME_VARIABLE, &object[1], "j");
	CHECK(names_object(&t.names, NAME_VARIABLE, &object[0], "j") == first);
	str_printf(&t.out, "{ int %s = 1; int %s = %s; }", first, second, first);
	chosen(&t, "{ int j = 1; int j_2 = j; }");

	/* Blocks one after the other may share a name. */
	t = text_new(KERNEL_CUDA);
	for (int i = 0; i < 2; i++) {
		names_scope(&t.out);
		const char *name = names_own(&t.names, "i");
		str_printf(&t.out, "for (int %s = 0;;) { a(%s); ", name, name);
		names_scope_end(&t.out);
		str_add(&t.out, "} ");
	}
	chosen(&t, "for (int i = 0;;) { a(i); } for (int i = 0;;) { a(i); } ");

	/* Inner ones must not hide what is outside. */
	t = text_new(KERNEL_CUDA);
	str_printf(&t.out, "{ int %s; { ", first = names_own(&t.names, "r"));
	names_scope(&t.out);
	str_printf(&t.out, "int %s = %s; ", names_own(&t.names, "r"), first);
	names_scope_end(&t.out);
	str_add(&t.out, "} }");
	chosen(&t, "{ int r; { int r_2 = r; } }");

	/* The same variable may be declared again where it has ended. */
	t = text_new(KERNEL_CUDA);
	first = names_own(&t.names, "x_v");
	second = names_own(&t.names, "x_v");
	names_scope(&t.out);
	str_printf(&t.out, "int %s; %s = 1; ", first, first);
	names_scope_end(&t.out);
	names_scope(&t.out);
	str_printf(&t.out, "int %s; int %s; ", second, first);
	names_scope_end(&t.out);
	chosen(&t, "int x_v; x_v = 1; int x_v; int x_v_2; ");
}

static void test_words(void)
{
	/* Names that headers declare or a launch calls are no variable's. */
	struct text t = text_new(KERNEL_CUDA);
	names_function(&t.names, "f");
	const char *f = names_own(&t.names, "f"), *mma = names_own(&t.names, "mma"), *x = names_own(&t.names, "fmaf");
	str_printf(&t.out, "f(%s, %s, %s, %s)", f, mma, x, names_own(&t.names, "to_f16"));
	chosen(&t, "f(f_2, mma_2, fmaf_2, to_f16_2)");
	t = text_new(KERNEL_C);
	f = names_own(&t.names, "f16_of_f32");
	mma = names_own(&t.names, "mma");
	x = names_own(&t.names, "memcpy");
	str_printf(&t.out, "f(%s, %s, %s, %s)", f, mma, x, names_own(&t.names, "sqrtf"));
	chosen(&t, "f(f16_of_f32_2, mma, memcpy_2, sqrtf_2)");
}

static void put(struct text *t, enum name_kind kind, const char *hint)
{
	const void *object = kind == NAME_SYMBOL ? (const void *)ir_symbol(t->pool, hint) : arena_strdup(t->a, hint);
	str_printf(&t->out, "%s ", names_object(&t->names, kind, object, hint));
}

static void test_models_names(void)
{
	struct text t = text_new(KERNEL_CUDA);
	put(&t, NAME_BUFFER, "end");
	put(&t, NAME_SYMBOL, "number");
	put(&t, NAME_VARIABLE, "number");
	put(&t, NAME_VARIABLE, "end");
	chosen(&t, "end_data number_extent number end ");
	t = text_new(KERNEL_CUDA);
	put(&t, NAME_BUFFER, "x");
	put(&t, NAME_BUFFER, "x");
	put(&t, NAME_SYMBOL, "x");
	put(&t, NAME_SYMBOL, "x");
	chosen(&t, "x x_data x_extent x_extent ");
	t = text_new(KERNEL_CUDA);
	put(&t, NAME_SYMBOL, "NULL");
	put(&t, NAME_SYMBOL, "xor");
	put(&t, NAME_SYMBOL, "__global__");
	put(&t, NAME_SYMBOL, "TPAT_ARCH");
	put(&t, NAME_BUFFER, "nullptr");
	put(&t, NAME_BUFFER, "shared_tile");
	put(&t, NAME_BUFFER, "block_cluster");
	chosen(&t,
	       "NULL_extent xor_extent v__global__ TPAT_ARCH_extent nullptr_data shared_tile_data block_cluster_data ");
	t = text_new(KERNEL_C);
	put(&t, NAME_SYMBOL, "M_PI");
	put(&t, NAME_SYMBOL, "linux");
	put(&t, NAME_SYMBOL, "restrict");
	put(&t, NAME_SYMBOL, "template");
	put(&t, NAME_BUFFER, "sort_items");
	chosen(&t, "M_PI_extent linux_extent restrict_extent template sort_items_data ");
}

int main(void)
{
	test_variables();
	test_words();
	test_models_names();
	return test_done();
}
