/* Writes docs/operators.md from the operators' own structs: which operators, versions, types and attributes stand, and
 * what TensorRT takes by itself (measured). `make docs` runs it; the tests check that the page is up to date. */
#include <stdio.h>
#include <string.h>

#include "ops/op.h"

struct trt_row {
	const char *domain, *op, *class, *note;
};
static const struct trt_row trt_rows[] = {
#define TRT(domain, op, class, refused, conditions, note) { domain, op, #class, note },
#include "graph/trt_support.def"
#undef TRT
};

static const char *domain_of(const struct op_def *op)
{
	return op->domain ? op->domain : "";
}

static const struct trt_row *trt_find(const struct op_def *op)
{
	for (size_t i = 0; i < sizeof trt_rows / sizeof *trt_rows; i++)
		if (strcmp(trt_rows[i].op, op->name) == 0 && strcmp(trt_rows[i].domain, domain_of(op)) == 0)
			return &trt_rows[i];
	return NULL;
}

static const char *trt_word(const struct op_def *op)
{
	const struct trt_row *row = trt_find(op);
	if (!row)
		return op_any_domain(op) ? "plugin" : "no";
	return strcmp(row->class, "FULL") == 0 ? "yes" : strcmp(row->class, "PARTLY") == 0 ? "partly" : "no";
}

/* Names of sets come first, then what is left over. */
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

static void print_operator(const struct op_def *op)
{
	bool named = op_any_domain(op);
	printf("| %s%s%s | ", named ? "" : domain_of(op), named || !*domain_of(op) ? "" : ".", op->name);
	for (int i = 0; !named && i < OP_MAX_VERSIONS && op->since[i]; i++)
		printf("%s%d", i ? ", " : "", op->since[i]);
	printf(named ? "" : " | ");
	for (int i = 0; i < OP_MAX_INPUTS && op->inputs[i].kind; i++) {
		const struct op_slot *in = &op->inputs[i];
		printf("%s%s%s: ", i ? "; " : "", in->name,
		       in->kind == OP_OPTIONAL   ? "?"
		       : in->kind == OP_VARIADIC ? "…"
		                                 : "");
		print_types(in->types);
	}
	printf(" | ");
	for (int i = 0, n = 0; i < OP_MAX_ATTRS && op->attrs[i].kind; i++)
		printf("%s%s", n++ ? ", " : "", op->attrs[i].name);
	printf(" | %s |\n", trt_word(op));
}

int main(void)
{
	int total = 0, refused = 0, plugins = 0;
	for (const struct op_def *const *op = op_all(); *op; op++) {
		plugins += op_any_domain(*op);
		if (op_any_domain(*op))
			continue;
		total++;
		refused += strcmp(trt_word(*op), "yes") != 0;
	}
	printf("# Operators\n\n"
	       "Written by `make docs` from the operators' own definitions in `src/ops/`; do not edit.\n\n"
	       "%d operators stand, of which TensorRT refuses %d altogether or in part (measured with TensorRT-RTX "
	       "1.7, of the\n"
	       "TensorRT 11 family). Each is taken at every opset version from its first on, with all attributes "
	       "listed; `tpat list\n"
	       "MODEL` says for each node of a model whether it is taken and why not.\n\n"
	       "Types: *floats* f16 bf16 f32 f64; *fp8* the four kinds of f8; *signed* and *unsigned* integers of 8 to "
	       "64 bits. `?`\n"
	       "marks inputs that may be absent, `…` those that repeat.\n\n"
	       "| operator | versions | inputs | attributes | TensorRT itself |\n|---|---|---|---|---|\n",
	       total, refused);
	for (const struct op_def *const *op = op_all(); *op; op++)
		if (!op_any_domain(*op))
			print_operator(*op);
	printf("\n## Plugins' names\n\n"
	       "%d names that exporters write for plugins of TensorRT and of its users. They are found by name alone, "
	       "whatever\n"
	       "domain the node is in (TensorRT's parser does the same); `plugin_version` and `plugin_namespace` are "
	       "not looked at,\n"
	       "and an attribute may be a number or a list of one. TensorRT itself runs those marked *partly* where "
	       "NVIDIA's own\n"
	       "plugin library is loaded, and the others with the library that brings them. `--auto` leaves the former "
	       "to it; name\n"
	       "them with `-t` to have them generated.\n\n"
	       "| name | inputs | attributes | TensorRT itself |\n|---|---|---|---|\n",
	       plugins);
	for (const struct op_def *const *op = op_all(); *op; op++)
		if (op_any_domain(*op))
			print_operator(*op);
	return 0;
}
