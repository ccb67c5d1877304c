/* Every operator's cases with one input of another type: each gives a program, or a sentence with the error; never a
 * failed ck(). */
#include <stdio.h>
#include <string.h>

#include "tests/program/op_case.h"
#include "tests/unit/test.h"

static void try_case(const struct op_def *op, const char *text)
{
	struct arena *a = arena_new();
	struct arena_guard guard;
	struct err e = { 0 };
	struct ir_program *p;
	if (setjmp(*arena_guard_push(&guard)))
		err_set_guard(&e, "");
	else if (op_case_program(&p, op, text, a, &e) == 0 && ir_check(p, &e) == 0)
		ir_optimise(p, NULL, NULL, &e);
	arena_guard_pop(&guard);
	bool bug = e.code && (strstr(e.text, "a bug in tpat") || strstr(e.advice, "bug in tpat"));
	if (!test_check(!bug, __FILE__, __LINE__, "no bug is found"))
		printf("  %s, case \"%s\": %s%s\n", op->name, text, e.where, e.text);
	arena_free(a);
}

/* The case with `n` characters from `at` on replaced. */
static void try_with(const struct op_def *op, const char *text, const char *at, size_t n, const char *by)
{
	struct arena *a = arena_new();
	try_case(op, arena_printf(a, "%.*s%s%s", (int)(at - text), text, by, at + n));
	arena_free(a);
}

static void try_others(const struct op_def *op, const char *text)
{
	static const char *const types[] = { "f32", "f64", "f16", "bf16", "i64", "i32", "u8", "bool" };
	for (const char *at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
		size_t n = strcspn(at + 1, "[ ");
		if (at[1 + n] != '[' || strchr(text, '{')) /* known values are of their type */
			continue;
		for (size_t t = 0; t < sizeof types / sizeof *types; t++)
			try_with(op, text, at + 1, n, types[t]);
	}
}

int main(int argc, char **argv)
{
	for (const struct op_def *const *op = op_all(); *op; op++)
		for (int i = 0; i < OP_MAX_CASES && (*op)->cases[i]; i++)
			if (argc == 1 || strcmp(argv[1], (*op)->name) == 0)
				try_others(*op, (*op)->cases[i]);
	return test_done();
}
