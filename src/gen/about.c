/* The comment of a printed kernel: its stages, its schedule, and what launches it when. */
#include "gen/about.h"

#include <string.h>

/* True if a part of a stage's text begins after this space: a variable for a part of its value, or the value after
 * them; what it does with a sum; what a scatter begins with, where it writes and what. */
static bool begins_part(const char *text, size_t space)
{
	static const char *const words[] = { "let ", "then ", "where ", "init ", "at [", "value " };
	const char *next = text + space + 1;
	if (text[space] != ' ' || !space)
		return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (str_starts(next, words[i]))
			return true;
	size_t name = strspn(next, "_0123456789");
	return text[space - 1] == ';' || (text[space - 1] == ',' && name > 1 && str_starts(next + name, " = "));
}

/* Returns where a line of n bytes breaks, of which at most `width` fit: before a part, the first one if the line is
 * very long; else at a space. */
static size_t line_break(const char *text, size_t n, size_t width)
{
	size_t part = 0, space = width;
	for (size_t i = 1; i <= width && !(part && n > 2 * width); i++)
		if (begins_part(text, i) && (n > 2 * width || i > width / 4))
			part = i;
	for (; space > width / 2 && text[space] != ' '; space--)
		;
	return part ? part : text[space] == ' ' ? space : width;
}

/* Prints lines as comments. Long ones are broken, and continue further to the right. */
static void comment(struct str *out, const char *text)
{
	enum { WIDTH = 116, INDENT = 2, FURTHER = 4 };
	int indent = 0; /* of a line's continuation; 0: the text is at the beginning of a line */
	for (size_t n; *text; text += n) {
		const size_t width = (size_t)(WIDTH - indent);
		int own = 0;
		for (int i = 0; i < INDENT && !indent && *text == ' '; i++)
			text++;
		for (; !indent && text[own] == ' '; own++)
			;
		n = strcspn(text, "\n");
		bool broken = n > width;
		if (broken)
			n = line_break(text, n, width);
		str_printf(out, "// %*s%.*s\n", indent, "", (int)n, text);
		indent = !broken ? 0 : indent ? indent : own + FURTHER;
		n += strspn(text + n, text[n] == ' ' ? " " : "\n");
	}
}

/* An expression over symbols as C text, with their names in the program. */
static const char *expression(const struct gen_target *target, expr e, struct arena *a)
{
	const struct ir_kernel none = { .index64 = false };
	const struct map reserved = map_new(a);
	struct names names = names_new(a, &reserved);
	struct str text = str_new(a), named = str_new(a);
	struct gen_text g = { .out = &text, .target = target, .kernel = &none, .names = &names, .fixed = map_new(a) };
	gen_expr(&g, e);
	names_choose(&named, &names, str_text(&text));
	return str_text(&named);
}

/* "ceil(n * 96 / 2048) blocks of 256 threads" */
static const char *grid(const struct gen_target *target, const struct ir_kernel *k, struct arena *a)
{
	expr blocks = k->blocks, up = blocks->op == IR_FLOORDIV ? blocks->arg[0] : NULL;
	const char *of = arena_printf(a, "of %d threads", k->threads);
	int64_t by, more;
	if (ir_is_int(blocks, 1))
		return arena_printf(a, "one block %s", of);
	if (!up || up->op != IR_ADD || !ir_const_int(blocks->arg[1], &by) || !ir_const_int(up->arg[1], &more) ||
	    more != by - 1)
		return arena_printf(a, "%s blocks %s", expression(target, blocks, a), of);
	bool sum = up->arg[0]->op == IR_ADD || up->arg[0]->op == IR_SUB;
	return arena_printf(a, sum ? "ceil((%s) / %lld) blocks %s" : "ceil(%s / %lld) blocks %s",
	                    expression(target, up->arg[0], a), (long long)by, of);
}

/* ---- When a kernel runs: the first of a step's alternatives whose guard holds. */

enum { MOST_NAMED = 6, MOST_CONDITIONS = 3 /* in a comment; the tables in plugins/ have all */ };

struct texts {
	VEC(const char *);
};

static void add_once(struct texts *all, const char *text, struct arena *a)
{
	vec_each (have, all)
		if (strcmp(*have, text) == 0)
			return;
	vec_push(a, all, text);
}

static const char *joined(const struct texts *all, const char *separator, struct arena *a)
{
	struct str text = str_new(a);
	vec_each (one, all)
		str_printf(&text, "%s%s", one == all->at ? "" : separator, *one);
	return str_text(&text);
}

/* "unless softmax_y does", or "" for the first one. */
static const char *unless_before(const struct ir_step *step, const struct ir_kernel *k, struct arena *a)
{
	struct texts names = { 0 };
	vec_each (other, step) {
		if (strcmp((*other)->name, k->name) == 0)
			break;
		add_once(&names, (*other)->name, a);
	}
	if (names.n > MOST_NAMED)
		return "unless a kernel before it in its table (plugins/) does";
	return names.n ? arena_printf(a, "unless %s does", joined(&names, " or ", a)) : "";
}

/* The guard without its bounds of 32-bit positions, which become words. */
struct guard {
	VEC(expr);
	bool narrow;
};

/* True if `e` holds wherever `known` does: they are the same, or upper bounds of the same extent. */
static bool follows(expr e, expr known)
{
	int64_t most, known_most;
	return e == known ||
	       (e->op == IR_LE && known->op == IR_LE && e->arg[0] == known->arg[0] && ir_const_int(e->arg[1], &most) &&
	        ir_const_int(known->arg[1], &known_most) && known_most <= most);
}

/* Calls itself for each condition of a guard; conditions that follow from others are left out. */
static void take_guard(struct guard *out, expr e, struct arena *a)
{
	if (e->op == IR_AND) {
		take_guard(out, e->arg[0], a);
		take_guard(out, e->arg[1], a);
		return;
	}
	if (e->op == IR_LE && ir_is_int(e->arg[1], IR_POSITION_MOST)) {
		out->narrow = true;
		return;
	}
	vec_each (known, out) {
		if (follows(e, *known))
			return;
		if (follows(*known, e)) {
			*known = e;
			return;
		}
	}
	vec_push(a, out, e);
}

static const char *guard_text(const struct gen_target *target, expr e, struct arena *a)
{
	static const char fits[] = "all positions fit into 32 bits";
	struct guard guard = { 0 };
	expr all = NULL;
	if (!e)
		return "";
	take_guard(&guard, e, a);
	vec_each (one, &guard)
		all = all ? ir_binary(IR_AND, all, *one) : *one;
	if (!all)
		return guard.narrow ? arena_printf(a, "if %s", fits) : "";
	return arena_printf(a, "if %s%s%s", expression(target, all, a), guard.narrow ? ", and " : "",
	                    guard.narrow ? fits : "");
}

/* "if n <= 4096, unless softmax_y does"; "": always. */
static const char *condition(const struct gen_target *target, const struct ir_step *step, const struct ir_kernel *k,
                             struct arena *a)
{
	const char *before = unless_before(step, k, a), *own = guard_text(target, k->guard, a);
	return arena_printf(a, "%s%s%s", own, *own && *before ? ", " : "", before);
}

/* Equal kernels of several steps and plans are printed once. */
static struct texts conditions_of(const struct gen_about *x, const struct ir_kernel *k, struct arena *a)
{
	struct texts all = { 0 };
	for (int i = 0; i < x->n; i++)
		vec_each (step, &x->plans[i]->steps)
			vec_each (have, *step)
				if (strcmp((*have)->name, k->name) == 0)
					add_once(&all, condition(x->target, *step, *have, a), a);
	return all;
}

static void print_conditions(struct str *out, const struct gen_about *x, const struct ir_kernel *k, struct arena *a)
{
	struct texts all = conditions_of(x, k, a);
	vec_each (one, &all)
		if (!**one) /* always */
			return;
	if (all.n > MOST_CONDITIONS)
		comment(out, arena_printf(a, "Runs in %d cases: see its table (plugins/).\n", all.n));
	else if (all.n)
		comment(out, arena_printf(a, "Runs %s.\n", joined(&all, "; or ", a)));
}

static void print_launch(struct str *out, const struct gen_about *x, const struct ir_kernel *k, struct arena *a)
{
	struct str text = str_new(a);
	str_printf(&text, "Launch: %s", grid(x->target, k, a));
	if (k->cluster)
		str_printf(&text, ", in clusters of %d", k->cluster);
	if (k->shared_bytes)
		str_printf(&text, ", each with %d bytes of dynamic shared memory", k->shared_bytes);
	str_printf(&text, "%s.\n", k->together ? ", all at the same time" : "");
	comment(out, str_text(&text));
}

/* Prints the text of the stages, or the name of an earlier kernel that has the same text. */
static void print_stages(struct str *out, struct gen_about *x, const struct ir_kernel *k)
{
	const char *said = map_get(&x->said, k->about);
	if (said)
		str_printf(out, "// The same as %s.\n", said);
	else
		comment(out, k->about);
	if (!said && *k->about)
		map_put(&x->said, k->about, k->name);
}

/* Prints what the threads do, if no earlier kernel of the same stages does the same. */
static void print_method(struct str *out, struct gen_about *x, const struct ir_kernel *k)
{
	const char *all = k->method && *k->method ? arena_printf(out->arena, "%s%s", k->about, k->method) : NULL;
	if (!all || map_get(&x->methods, all))
		return;
	comment(out, k->method);
	map_put(&x->methods, all, k->name);
}

void gen_about(struct str *out, struct gen_about *x, const struct ir_kernel *k, bool part)
{
	struct arena *scratch = arena_new();
	if (k->parts.n) {
		str_printf(out, "// %d kernels in one launch, %s; %d threads a block.\n", k->parts.n,
		           k->in_turn    ? "in turn in its block"
		           : k->repeated ? "the first in every block, and its results in shared memory"
		                         : "each in blocks of its own",
		           k->threads);
	} else {
		print_stages(out, x, k);
		str_printf(out, "// Schedule: %s; %d threads a block%s.\n", ir_kernel_decision(k, out->arena),
		           k->threads, k->index64 ? "; 64-bit positions" : "");
		print_method(out, x, k);
	}
	if (!part) {
		print_launch(out, x, k, scratch);
		print_conditions(out, x, k, scratch);
	}
	arena_free(scratch);
}

void gen_about_program(struct str *out, const struct ir_plan *plan)
{
	struct str summary = str_new(out->arena);
	ir_print_summary(&summary, plan->program);
	const char *text = str_text(&summary), *stages = strchr(text, '\n');
	const struct ir_kernel *first = plan->steps.n ? plan->steps.at[0]->at[0] : NULL;
	if (stages && first && strcmp(stages + 1, first->about) == 0)
		text = arena_strndup(out->arena, text, (size_t)(stages - text));
	comment(out, text);
}
