/* Writes docs/operators.md from the operators' structs, the tables of TensorRT's support (measured) and of operators
 * that no plugin can run, and the results of ONNX's node tests. `make docs` runs it; the tests check that the page is
 * up to date.
 *
 *   operators RESULTS ONNX_OPERATORS NOT_IN_CUDA     the page; fails when a node test has a wrong result
 *   operators --names                                the supported operators, one per line, with domains */
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"
#include "ops/lower/op.h"
#include "tests/nodes/result_table.h"

static struct arena *arena;
static struct result_table results, known, not_in_cuda;

/* ---- TensorRT ---------------------------------------------------------------------------------------------------- */

struct trt_row {
	const char *domain, *op, *class, *note;
};
static const struct trt_row trt_rows[] = {
#define TRT(domain, op, class, refused, conditions, note) { domain, op, #class, note },
#include "engine/tensorrt/tensorrt_support.def"
#undef TRT
};

static const struct trt_row *trt_find(const char *domain, const char *op)
{
	for (size_t i = 0; i < sizeof trt_rows / sizeof *trt_rows; i++)
		if (strcmp(trt_rows[i].op, op) == 0 && strcmp(trt_rows[i].domain, domain) == 0)
			return &trt_rows[i];
	return NULL;
}

/* ---- Missing operators. */

static const struct {
	const char *domain, *op, *why;
} missing_rows[] = {
#define MISSING(domain, op, why) { domain, op, why },
#include "graph/missing.def"
#undef MISSING
};

static const char *missing_why(const char *domain, const char *op)
{
	for (size_t i = 0; i < sizeof missing_rows / sizeof *missing_rows; i++)
		if (strcmp(missing_rows[i].op, op) == 0 && strcmp(missing_rows[i].domain, domain) == 0)
			return missing_rows[i].why;
	return NULL;
}

static bool trt_is(const char *domain, const char *op, const char *class)
{
	const struct trt_row *row = trt_find(domain, op);
	return row && strcmp(row->class, class) == 0;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static const char *domain_of(const struct op_def *op)
{
	return op->domain ? op->domain : "";
}

/* "Relu", "com.microsoft.Gelu"; plugins are known in any domain */
static const char *full_name(const char *domain, const char *op)
{
	return *domain ? arena_printf(arena, "%s.%s", domain, op) : op;
}

/* True if tpat supports the operator in exactly this domain. */
static bool stands(const char *domain, const char *op)
{
	const struct op_def *found = op_find(domain, op);
	return found && !op_any_domain(found);
}

/* Rows of operators.tsv, in the columns of a result table: domain, name, "deprecated", who defines it. is_known() looks
 * there. */
static bool is_known(const char *domain, const char *op)
{
	vec_each (row, &known)
		if (strcmp(row->name, domain) == 0 && strcmp(row->operators, op) == 0)
			return true;
	return false;
}

/* ---- Node tests -------------------------------------------------------------------------------------------------- */

static bool holds(const char *list, const char *name)
{
	size_t n = strlen(name);
	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == n && strncmp(list, name, n) == 0)
			return true;
	return false;
}

static bool passed(const struct result_row *row)
{
	return strcmp(row->verdict, "passed") == 0;
}

static bool of_numbers(const struct result_row *row)
{
	return strcmp(row->values, "numbers") == 0;
}

/* True if one of the names is in the domain. */
static bool holds_domain(const char *list, const char *domain)
{
	for (; *list; list += strcspn(list, ","), list += *list == ',') {
		size_t n = strcspn(list, ","), dot = n;
		while (dot && list[dot - 1] != '.')
			dot--;
		dot -= dot > 0;
		if (dot == strlen(domain) && strncmp(list, domain, dot) == 0)
			return true;
	}
	return false;
}

/* Counts tests of numbers with the operator, or with any of the domain if null: all of them, those that pass, those
 * that pass as CUDA. */
struct count {
	int all, interpreter, cuda;
};
static struct count count_tests(const char *name, const char *domain)
{
	struct count c = { 0 };
	vec_each (row, &results) {
		if (!of_numbers(row) || (name && !holds(row->operators, name)) ||
		    (domain && !holds_domain(row->operators, domain)))
			continue;
		c.all++;
		c.interpreter += passed(row);
		c.cuda += passed(row) && !result_table_find(&not_in_cuda, row->name);
	}
	return c;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* Prints names of sets first, then the remaining types. */
static void print_types(uint32_t types)
{
	static const struct {
		uint32_t set;
		const char *name;
	} sets[] = { { TS_FLOAT, "floats" }, { TS_F8, "fp8" }, { TS_SINT, "signed" }, { TS_UINT, "unsigned" } };
	const char *separator = "";
	if (!types)
		printf("any");
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
		if ((types & sets[i].set) == sets[i].set) {
			printf("%s%s", separator, sets[i].name);
			types &= ~sets[i].set;
			separator = ", ";
		}
	}
	for (enum type t = TYPE_F32; t < TYPE_COUNT; t++) {
		if (types & 1u << t) {
			printf("%s%s", separator, type_name(t));
			separator = ", ";
		}
	}
}

static void print_tests(int ok, int all, int cases)
{
	if (all)
		printf("%d/%d", ok, all);
	if (cases)
		printf("%s+%d", all ? " " : "", cases);
	printf(" | ");
}

static void print_trt(const struct op_def *op)
{
	const struct trt_row *trt = trt_find(domain_of(op), op->name);
	if (!trt || strcmp(trt->class, "NEVER") == 0)
		printf("%s |\n", op_any_domain(op) && !trt ? "plugin" : "no");
	else
		printf("%s%s%s |\n", strcmp(trt->class, "FULL") == 0 ? "yes" : "in part", *trt->note ? "; " : "",
		       trt->note);
}

static void print_operator(const struct op_def *op)
{
	const char *name = op_any_domain(op) ? op->name : full_name(domain_of(op), op->name);
	struct count tests = count_tests(name, NULL);
	int cases = 0;
	while (cases < OP_MAX_CASES && op->cases[cases])
		cases++;
	printf("| %s | ", name);
	for (int i = 0; !op_any_domain(op) && i < OP_MAX_VERSIONS && op->since[i]; i++)
		printf("%s%d", i ? ", " : "", op->since[i]);
	printf(op_any_domain(op) ? "" : " | ");
	for (int i = 0; i < OP_MAX_INPUTS && op->inputs[i].kind; i++) {
		const struct op_slot *in = &op->inputs[i];
		printf("%s%s%s: ", i ? "; " : "", in->name,
		       in->kind == OP_OPTIONAL   ? "?"
		       : in->kind >= OP_VARIADIC ? "…"
		                                 : "");
		print_types(in->types);
	}
	printf(" | ");
	for (int i = 0, n = 0; i < OP_MAX_ATTRS && op->attrs[i].kind; i++)
		printf("%s%s", n++ ? ", " : "", op->attrs[i].name);
	printf(" | ");
	print_tests(tests.interpreter, tests.all, cases);
	print_tests(tests.cuda, tests.all, cases);
	print_trt(op);
}

static void print_operators(void)
{
	printf("## Supported operators\n\n"
	       "tpat supports each operator at every opset version from its first on, with all attributes listed. "
	       "Types: *floats* are f16, bf16,\n"
	       "f32 and f64; *fp8* is the four kinds of f8; *signed* and *unsigned* are integers of 8 to 64 bits. `?` "
	       "marks optional inputs, `…`\n"
	       "repeated ones. A plugin's own inputs and outputs cannot be f64 or unsigned integers of more than 8 "
	       "bits; values inside it can.\n\n"
	       "*Interpreter* and *CUDA*: `14/15 +3` means that 14 of the 15 ONNX node tests of numbers with this "
	       "operator pass, and three cases\n"
	       "of its own (test group `op_cases`). The generated CUDA runs on the emulator (group `emulated`), and on "
	       "a GPU with `DEV=cuda`.\n"
	       "Group `ort` also compares random models with ONNX Runtime.\n\n"
	       "Operators that draw random numbers (RandomUniform and similar, Bernoulli, Multinomial, Dropout with "
	       "training_mode = true) use\n"
	       "Philox4x32-10. An element's number depends only on its position and the node's `seed`, or the name of "
	       "the node's result if there\n"
	       "is no seed. Every run draws the same numbers on every device; other engines draw different ones.\n\n"
	       "| operator | opsets | inputs | attributes | interpreter | CUDA | TensorRT itself |\n"
	       "|---|---|---|---|---|---|---|\n");
	for (const struct op_def *const *op = op_all(); *op; op++)
		if (!op_any_domain(*op))
			print_operator(*op);
}

static void print_plugin_names(void)
{
	int n = 0;
	for (const struct op_def *const *op = op_all(); *op; op++)
		n += op_any_domain(*op);
	printf("\n"
	       "## Plugins' names\n\n"
	       "%d names of plugins, of TensorRT and of its users, that exporters write as nodes. tpat finds them by "
	       "name "
	       "alone, in\n"
	       "any domain, as TensorRT's parser does. It ignores `plugin_version` and `plugin_namespace`, and an "
	       "attribute "
	       "may be a number\n"
	       "or a list of one. TensorRT runs those marked *in part* only if NVIDIA's plugin library is loaded, and "
	       "the "
	       "others only with\n"
	       "the library that brings them. `--auto` leaves the former to TensorRT; name them with `-t` to have tpat "
	       "generate them.\n\n"
	       "| name | inputs | attributes | interpreter | CUDA | TensorRT itself |\n"
	       "|---|---|---|---|---|---|\n",
	       n);
	for (const struct op_def *const *op = op_all(); *op; op++)
		if (op_any_domain(*op))
			print_operator(*op);
}

/* ---- Counts ------------------------------------------------------------------------------------------------------ */

static const struct domain {
	const char *name, *title;
} domains[] = {
	{ "", "ai.onnx" },
	{ "ai.onnx.ml", "ai.onnx.ml" },
	{ "ai.onnx.preview", "ai.onnx.preview" },
	{ "ai.onnx.preview.training", "ai.onnx.preview.training" },
	{ "com.microsoft", "com.microsoft, of ONNX Runtime" },
};

/* Skips old experiments that ONNX Runtime adds to ai.onnx. */
static bool is_counted(const struct result_row *row, const char *domain)
{
	return strcmp(row->name, domain) == 0 && (*domain || strcmp(row->verdict, "onnx") == 0);
}

static void print_domain(const struct domain *d)
{
	int all = 0, stand = 0, full = 0, partly = 0, refused = 0;
	vec_each (row, &known) {
		if (!is_counted(row, d->name))
			continue;
		all++;
		stand += stands(d->name, row->operators);
		full += trt_is(d->name, row->operators, "FULL");
		partly += trt_is(d->name, row->operators, "PARTLY");
		refused += graph_refusal_find(d->name, row->operators) != NULL;
	}
	struct count tests = count_tests(NULL, d->name);
	printf("| %s | %d | %d | %d | %d | %d | %d | %d/%d |\n", d->title, all, stand, refused, all - stand - refused,
	       full, partly, tests.interpreter, tests.all);
}

static bool is_missing(const struct result_row *row, const char *domain)
{
	return is_counted(row, domain) && !stands(domain, row->operators) &&
	       !graph_refusal_find(domain, row->operators);
}

static void print_missing(void)
{
	printf("## Not supported yet\n\nOperators that a plugin could run, but tpat does not support.\n\n"
	       "| operator | reason |\n|---|---|\n");
	for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
		vec_each (row, &known)
			if (is_missing(row, domains[i].name))
				printf("| %s | %s |\n", full_name(domains[i].name, row->operators),
				       missing_why(domains[i].name, row->operators));
}

/* Counts missing operators without a reason, and reasons for operators that are not missing. */
static int count_unexplained(void)
{
	int wrong = 0;
	for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
		vec_each (row, &known) {
			if (is_missing(row, domains[i].name) && !missing_why(domains[i].name, row->operators)) {
				fprintf(stderr, "operators: %s is missing: give it a row in src/graph/missing.def.\n",
				        full_name(domains[i].name, row->operators));
				wrong++;
			}
		}
	}
	for (size_t i = 0; i < sizeof missing_rows / sizeof *missing_rows; i++) {
		if (stands(missing_rows[i].domain, missing_rows[i].op)) {
			fprintf(stderr, "operators: %s stands: take its row out of src/graph/missing.def.\n",
			        missing_rows[i].op);
			wrong++;
		}
	}
	return wrong;
}

static void print_counts(void)
{
	struct count tests = count_tests(NULL, NULL);
	int others = 0;
	for (const struct op_def *const *op = op_all(); *op; op++)
		others += !op_any_domain(*op) && !is_known(domain_of(*op), (*op)->name);
	printf("| domain | operators | supported | impossible as a plugin | not yet | native in TensorRT | partly | "
	       "node tests |\n"
	       "|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
		print_domain(&domains[i]);
	if (others)
		printf("\ntpat also supports %d operators that neither ONNX nor ONNX Runtime defines today.\n", others);
	printf("\n"
	       "Of ONNX's %d node tests, %d have only tensors of numbers as inputs and outputs. %d of these pass in "
	       "the interpreter and\n"
	       "%d as generated CUDA; tpat refuses [the others](#failing-node-tests) with a reason and never answers "
	       "wrongly. Two tests of Resize\n"
	       "are compared with ONNX Runtime's results, because their data contradict the operator's text. "
	       "TensorRT's support was measured\n"
	       "with TensorRT-RTX 1.7, of the TensorRT 11 family. `tpat list MODEL` shows for each node whether tpat "
	       "takes it, and if not,\n"
	       "the reason and what to do.\n\n",
	       results.n, tests.all, tests.interpreter, tests.cuda);
	printf("Two lists at the end: operators [not supported yet](#not-supported-yet) and [impossible as a "
	       "plugin](#impossible-as-a-plugin).\n\n");
}

/* ---- Failures ------------------------------------------------------------------------------------------ */

static void print_not_passed(void)
{
	struct map reasons = map_new(arena);
	printf("\n## Failing node tests\n\n"
	       "ONNX's node tests of numbers that do not pass, by reason.\n\n| reason | tests |\n|---|---|\n");
	vec_each (row, &results)
		if (of_numbers(row) && !passed(row))
			map_put(&reasons, row->reason, &reasons);
	for (int i = 0; i < reasons.n; i++) {
		const char *separator = "";
		printf("| %s | ", reasons.entry[i].name);
		vec_each (row, &results) {
			if (of_numbers(row) && !passed(row) && strcmp(row->reason, reasons.entry[i].name) == 0) {
				printf("%s%s", separator, row->name);
				separator = ", ";
			}
		}
		printf(" |\n");
	}
	vec_each (row, &not_in_cuda)
		printf("| in CUDA only: %s | %s |\n", row->operators, row->name);
}

static void print_refused(void)
{
	printf("\n## Impossible as a plugin\n\n| operator | what it does | reason | instead |\n|---|---|---|---|\n");
	for (const struct graph_refusal *r = graph_refusals(); r->op; r++)
		printf("| %s | %s | %s: %s | %s |\n", full_name(r->domain, r->op), r->what,
		       graph_refusal_title(r->kind), graph_refusal_reason(r->kind, engine_find("TensorRT"), arena),
		       r->way_out);
}

/* Counts wrong results, and supported operators that are listed as impossible. */
static int count_wrong(void)
{
	int wrong = 0;
	vec_each (row, &results) {
		if (strcmp(row->verdict, "failed") == 0) {
			fprintf(stderr, "operators: the node test %s fails: %s\n", row->name, row->reason);
			wrong++;
		}
	}
	for (const struct graph_refusal *r = graph_refusals(); r->op; r++) {
		if (stands(r->domain, r->op)) {
			fprintf(stderr, "operators: %s stands: take its row out of src/graph/refused.def.\n", r->op);
			wrong++;
		}
	}
	return wrong;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	arena = arena_new();
	if (argc == 2 && strcmp(argv[1], "--names") == 0) {
		for (const struct op_def *const *op = op_all(); *op; op++)
			if (!op_any_domain(*op))
				printf("%s\n", full_name(domain_of(*op), (*op)->name));
		return 0;
	}
	if (argc != 4) {
		fprintf(stderr, "usage: operators RESULTS ONNX_OPERATORS NOT_IN_CUDA | operators --names\n");
		return 2;
	}
	if (result_table_read(&results, argv[1], arena, &e) < 0 || result_table_read(&known, argv[2], arena, &e) < 0 ||
	    result_table_read(&not_in_cuda, argv[3], arena, &e) < 0) {
		fprintf(stderr, "operators: %s\n", e.text);
		return 3;
	}
	if (count_wrong() + count_unexplained())
		return 1;
	printf("# Operators\n\n"
	       "Written by `make docs` from the operators' own definitions in `src/ops/`, from `src/graph/*.def` and "
	       "from the node tests'\n"
	       "results; do not edit.\n\n");
	print_counts();
	print_operators();
	print_plugin_names();
	print_not_passed();
	print_refused();
	printf("\n");
	print_missing();
	return 0;
}
