/* The library in a host process with its own locale: texts of programs, kernels and numbers are those of the C
 * locale, and are read back. German writes a comma in numbers; Turkish also has other capitals, and in ISO-8859-9
 * letters beyond ASCII in one byte. The locales are made in build/locale by localedef (Debian: package locales). */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/number.h"
#include "base/str.h"
#include "gen/language.h"
#include "ir/ir.h"
#include "tests/program/op_case.h"
#include "sched/sched.h"
#include "tensor/tensor.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

static const struct {
	const char *name, *source, *charset;
} locales[] = { { "de_DE.UTF-8", "de_DE", "UTF-8" },
	        { "tr_TR.UTF-8", "tr_TR", "UTF-8" },
	        { "tr_TR.ISO-8859-9", "tr_TR", "ISO-8859-9" } };

/* Before the first setlocale(), which caches missing locales. */
static void make_locales(void)
{
	setenv("LOCPATH", "build/locale", 1);
	for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
		char command[256];
		snprintf(command, sizeof command,
		         "mkdir -p build/locale && cd build/locale && { test -e %s || localedef -i %s -f %s ./%s; }",
		         locales[i].name, locales[i].source, locales[i].charset, locales[i].name);
		CHECK(system(command) == 0);
	}
}

/* ---- Writing. */

static void write_number(struct str *out, double x)
{
	char text[NUMBER_TEXT];
	str_printf(out, "%s %s %g %.3f\n", number_text(text, x, false), number_text(text, x, true), x, x);
	str_printf(out, "%s\n", number_short(text, x));
}

static void write_numbers(struct str *out)
{
	static const double number[] = { 0,         -0.0, 0.5,     -1.25,    0.1,       1e-5, 1e300,
		                         1234567.5, 3,    1.0 / 3, INFINITY, -INFINITY, NAN };
	for (size_t i = 0; i < sizeof number / sizeof *number; i++)
		write_number(out, number[i]);
}

/* The program of an operator's case, and its kernels in both languages. */
static void write_case(struct str *out, const struct op_def *op, const char *text)
{
	struct err e = { 0 };
	struct ir_program *p;
	if (op_case_program(&p, op, text, out->arena, &e) < 0 || ir_optimise(p, NULL, NULL, &e) < 0) {
		str_printf(out, "%s: %s\n", op->name, e.text);
		return;
	}
	ir_print_program(out, p);
	const struct ir_plan *plan = sched_program(p, NULL, NULL);
	language_cuda.print(out, &plan, 1);
	language_c.print(out, &plan, 1);
}

static void write_tensor(struct str *out)
{
	struct err e = { 0 };
	struct tensor x, strings, back;
	const int64_t extent = 4;
	CHECK(tensor_new(&x, TYPE_F32, 1, &extent, out->arena, &e) == 0);
	for (int i = 0; i < 4; i++)
		tensor_set_float(&x, i, i * 0.3 - 0.5);
	CHECK(tensor_convert(&strings, &x, TYPE_STRING, out->arena, &e) == 0);
	CHECK(tensor_convert(&back, &strings, TYPE_F32, out->arena, &e) == 0);
	for (int i = 0; i < 4; i++)
		str_printf(out, "%s %d\n", strings.strings[i], tensor_float(&back, i) == tensor_float(&x, i));
}

static void write_all(struct str *out)
{
	write_numbers(out);
	write_tensor(out);
	str_printf(out, "%s\n", str_identifier(out->arena, "I\xddi\xe4 1"));
	for (const struct op_def *const *op = op_all(); *op; op++)
		if ((*op)->cases[0])
			write_case(out, *op, (*op)->cases[0]);
}

/* ---- Reading. */

static void numbers_read(void)
{
	char *end;
	CHECK(number_read("0.5x", &end) == 0.5 && *end == 'x');
	CHECK(number_read("0,5", &end) == 0 && *end == ',');
	CHECK(number_read_float("1e-3", NULL) == 1e-3f);
	CHECK(type_from_name("INT32") == TYPE_I32 && type_from_name("int32") == TYPE_I32);
	CHECK(ascii_same("TITAN i", "titan I") && !ascii_is_letter('\xdd') && ascii_upper('i') == 'I');
}

static void program_read(struct arena *a)
{
	struct err e = { 0 };
	struct ir_program *p;
	struct str out = str_new(a);
	const char *text = "program read(x: f32[N]) -> (y: f32[N])\n  y: f32[N] = map (i) x[i] * 0.1 + 2.5\n";
	if (test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "a program is read"))
		ir_print_program(&out, p);
	else
		printf("  %s\n", e.text);
	CHECK_STR(str_text(&out), text);
}

/* Each call restores the thread's own locale. */
static void host_keeps(const char *decimal)
{
	char text[8];
	snprintf(text, sizeof text, "%.1f", 0.5);
	CHECK_STR(text, decimal);
}

int main(void)
{
	struct arena *a = arena_new();
	struct str want = str_new(a);
	make_locales();
	write_all(&want);
	for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
		struct str got = str_new(a);
		if (!test_check(setlocale(LC_ALL, locales[i].name) != NULL, __FILE__, __LINE__, "the locale is there"))
			continue;
		host_keeps("0,5");
		write_all(&got);
		bool same = strcmp(str_text(&got), str_text(&want)) == 0;
		size_t at = 0;
		while (!same && str_text(&got)[at] == str_text(&want)[at])
			at++;
		if (!test_check(same, __FILE__, __LINE__, "texts are those of the C locale"))
			printf("  %s: got \"%.60s\", want \"%.60s\"\n", locales[i].name, str_text(&got) + at,
			       str_text(&want) + at);
		numbers_read();
		program_read(a);
		host_keeps("0,5");
	}
	arena_free(a);
	return test_done();
}
