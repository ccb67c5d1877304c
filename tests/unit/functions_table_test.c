/* The table of functions that expressions call (ir/functions.def) against the headers of kernels, and that no name of a
 * model may be one of them. */
#include "ir/functions.h"

#include <ctype.h>
#include <string.h>

#include "ir/reserved.h"
#include "test.h"

static struct arena *arena;

/* True if a word of the language's headers begins with the name's part before its first mark, and is it if there is no
 * mark. */
static bool is_declared(enum kernel_language language, const char *name)
{
	size_t n = strcspn(name, "@$<");
	const char *stem = arena_strndup(arena, name, n);
	for (const struct embed_file *f = embed_files; f->name; f++) {
		if (!embed_is_header(f, language))
			continue;
		for (const char *at = f->text; (at = strstr(at, stem)) && *at; at++) {
			bool begins = at == f->text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
			if (begins && (at[n] == '(' || at[n] == ',' || name[n] == '@' || name[n] == '$'))
				return true;
		}
	}
	return false;
}

int main(void)
{
	arena = arena_new();
	for (enum ir_function f = 0; f < FN_COUNT; f++)
		for (int l = 0; l < KERNEL_LANGUAGES; l++) {
			const char *name = ir_function_info[f].name[l];
			bool libm = strchr(name, '~') || f == FN_FMA || strcmp(name, "abs") == 0; /* the compiler has it
			                                                                           */
			if (*name && !libm && !test_check(is_declared(l, name), __FILE__, __LINE__, "a header has it"))
				printf("  %s\n", name);
		}
	CHECK_STR(ir_function_name(FN_TRUNC_DIV, KERNEL_CUDA, TYPE_I8, TYPE_I8, arena), "trunc_div<i8>");
	CHECK_STR(ir_function_name(FN_TRUNC_DIV, KERNEL_CUDA, TYPE_I64, TYPE_I64, arena), "trunc_div");
	CHECK_STR(ir_function_name(FN_TRUNC_DIV, KERNEL_C, TYPE_I64, TYPE_I64, arena), "trunc_div_i64");
	CHECK_STR(ir_function_name(FN_BIT_CAST, KERNEL_CUDA, TYPE_F32, TYPE_U32, arena), "bit_cast_to<float>");
	CHECK_STR(ir_function_name(FN_TO_SAT, KERNEL_C, TYPE_I8, TYPE_F32, arena), "i8_sat_of_f32");
	CHECK_STR(ir_function_name(FN_POW, KERNEL_C, TYPE_F32, TYPE_F32, arena), "powf");
	static const char *const words[] = { "round_to_i8", "half_add", "to_f16_sat", "trunc_div", "fmaf",
		                             "load_u4",     "gelu",     "fmod",       "fmodf",     "f16_of_i64" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!test_check(names_is_reserved(words[i]), __FILE__, __LINE__, "the name is reserved"))
			printf("  %s\n", words[i]);
	CHECK(!names_is_reserved("round_to_i8_2") && !names_is_reserved("gelus"));
	arena_free(arena);
	return test_done();
}
