/* Inputs of invalid shapes, made from all operators' own cases. Extents: each extent of each input
 * becomes dynamic in turn, and then larger or smaller than it should be. The interpreter, which looks at every index,
 * may find that the extents do not fit, and never a read outside a tensor. Ranks: each input has an axis more, one
 * less, and none. Lowering gives a sound program or an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/verify.h"
#include "ops/lower/lower.h"
#include "tests/program/op_case.h"
#include "test.h"

enum { USUAL = 6 }; /* of a case's symbols */

static int tried, refused, ranks, ranks_refused;

/* Position of an input's extents in a case's text. */
struct place {
	const char *from, *to;
};

static int find_shapes(const char *text, bool known, struct place *place, int max)
{
	int n = 0;

	for (const char *c = text; (c = strchr(c, '[')) && n < max;) {
		const char *colon = c;

		while (colon > text && *colon != ':' && *colon != ' ' && *colon != '=')
			colon--;
		place[n].from = c + 1;
		c += strcspn(c, "]");
		place[n].to = c;
		n += *colon == ':' && (known || strncmp(c, "]=", 2) != 0);
	}
	return n;
}

/* The case with "open" for one extent. The old one in *was. */
static char *with_open(const char *text, const struct place *p, int axis, int64_t *was, struct arena *a)
{
	const char *from = p->from, *to;

	for (int k = 0; k < axis; k++) {
		from += strcspn(from, ",]");
		if (*from != ',')
			return NULL;
		from++;
	}
	to = from + strcspn(from, ",]");
	if (to == from)
		return NULL;
	*was = *from >= '0' && *from <= '9' ? atoll(from) : USUAL;
	return arena_printf(a, "%.*sopen%s", (int)(from - text), text, to);
}

struct extents {
	int64_t open;
};

static bool extent_of(void *user, expr symbol, int64_t *value)
{
	*value = strcmp(symbol->name, "open") == 0 ? ((struct extents *)user)->open : USUAL;
	return true;
}

static void run(const struct op_def *op, const char *text, const struct ir_program *p, int64_t open, struct arena *a)
{
	struct verify_input *input = NEWN(a, struct verify_input, p->inputs.n + 1);
	struct tensor *in = NEWN(a, struct tensor, p->inputs.n + 1), *want = NEWN(a, struct tensor, p->outputs.n + 1);
	struct verify_case c = { .plugin = op->name, .reference = p, .input = input, .seed = 1 };
	struct extents x = { open };
	struct err e = { 0 };

	for (int i = 0; i < p->inputs.n; i++) {
		const struct ir_buffer *b = p->inputs.at[i];

		input[i].rank = b->rank;
		for (int k = 0; k < b->rank; k++)
			ir_eval_int(b->dim[k], extent_of, &x, &input[i].dim[k]);
		input[i].tensor = b->data;
	}
	verify_draw(in, want, &c, 0, a, &e);
	tried++;
	refused += e.code == ERR_MODEL;
	if (e.code && e.code != ERR_MODEL) {
		printf("%s %s, open = %lld: %s%s\n", op->name, text, (long long)open, e.where, e.text);
		CHECK(false);
	}
}

static void try_open(const struct op_def *op, const char *text, const struct place *p, int axis)
{
	const int64_t of[] = { 0, 1, -1, 7 };
	struct arena *a = arena_new();
	struct ir_program *program;
	struct err e = { 0 };
	int64_t was;
	char *opened = with_open(text, p, axis, &was, a);

	if (opened && op_case_program(&program, op, opened, a, &e) == 0)
		for (size_t i = 0; i < sizeof of / sizeof *of; i++)
			if (was + of[i] >= 0)
				run(op, opened, program, was + of[i], a);
	if (opened && !e.code)
		run(op, opened, program, 1, a); /* as a scale of one element for all */
	arena_free(a);
}

/* ---- Ranks ------------------------------------------------------------------------------------------------------- */

static void try_rank(const struct op_def *op, const char *text, const struct place *p, const char *shape,
                     const char *rest)
{
	struct arena *a = arena_new();
	const char *other = arena_printf(a, "%.*s%s%s", (int)(p->from - text), text, shape, rest);
	struct ir_program *program;
	struct err e = { 0 }, unsound = { 0 };

	ranks++;
	ranks_refused += op_case_program(&program, op, other, a, &e) < 0;
	if (!e.code && ir_check(program, &unsound) < 0) {
		printf("%s %s: %s\n", op->name, other, unsound.text);
		CHECK(false);
	}
	arena_free(a);
}

/* Optional inputs that the case does not have, of each rank. */
static void try_optional(const struct op_def *op, const char *text)
{
	for (int i = 0; i < OP_MAX_INPUTS && op->inputs[i].kind; i++) {
		const struct op_slot *s = &op->inputs[i];
		struct arena *a = arena_new();
		struct str given = str_new(a);
		enum type t = TYPE_F32;
		const char *there = strstr(text, arena_printf(a, "%s:", s->name));

		while (s->types && !(s->types & 1u << t))
			t = t + 1 == TYPE_COUNT ? TYPE_NONE : t + 1;
		for (int rank = 0; s->kind == OP_OPTIONAL && !there && rank < 6; rank++) {
			const char *more = arena_printf(a, " %s:%s[%s]", s->name, type_name(t), str_text(&given));

			try_rank(op, text, &(struct place){ text + strlen(text), NULL }, more, "");
			str_add(&given, rank ? ",1" : "1");
		}
		arena_free(a);
	}
}

static void try_ranks(const struct op_def *op, const char *text)
{
	struct place place[32];
	int n = find_shapes(text, true, place, 32);

	try_optional(op, text);
	for (int k = 0; k < n; k++) {
		const char *from = place[k].from, *to = place[k].to, *second = from + strcspn(from, ",]");

		try_rank(op, text, &place[k], from == to ? "1" : "1,", from);
		try_rank(op, text, &place[k], "", to);
		if (from != to)
			try_rank(op, text, &place[k], "", *second == ',' ? second + 1 : second);
	}
}

int main(int argc, char **argv)
{
	for (const struct op_def *const *op = op_all(); *op; op++)
		for (int i = 0; i < OP_MAX_CASES && (*op)->cases[i]; i++) {
			struct place place[32];
			bool wanted = argc < 2 || strcmp(argv[1], (*op)->name) == 0;
			int n = wanted ? find_shapes((*op)->cases[i], false, place, 32) : 0;

			if (wanted)
				try_ranks(*op, (*op)->cases[i]);
			for (int k = 0; k < n; k++)
				for (int axis = 0; axis < IR_MAX_RANK; axis++)
					try_open(*op, (*op)->cases[i], &place[k], axis);
		}
	CHECK(argc > 1 || (tried > 1000 && refused > 100 && ranks > 1000 && ranks_refused > 100));
	return test_done();
}
