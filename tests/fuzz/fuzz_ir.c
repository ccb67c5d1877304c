/* Fuzz target: the text of a tensor program through parser, checker, passes, schedules and both printers. Every program
 * that the parser accepts must survive the rest, and its printed text must parse to the same program. */
#include <setjmp.h>

#include "gen/language.h"
#include "sched/sched.h"
#include "tests/program/program_text.h"
#include "tests/fuzz/fuzz_main.h"

enum { MAX_TEXT = 4096 };

static const char *print(struct arena *a, const struct ir_program *p)
{
	struct str s = str_new(a);
	ir_print_program(&s, p);
	return str_text(&s);
}

/* Prints every choice of every stage. */
static void schedule(struct ir_program *p, struct arena *a)
{
	struct sched_choice choice[SCHED_MAX_CHOICES], *given = NEWN(a, struct sched_choice, p->stages.n + 1);
	int most = 1;
	for (int round = 0; round < most && round < 4; round++) {
		for (int i = 0; i < p->stages.n; i++) {
			int n = sched_choices(p, p->stages.at[i], &sched_default_target, choice);
			most = n > most ? n : most;
			given[i] = choice[round < n ? round : n - 1];
		}
		const struct ir_plan *plan = sched_program(p, NULL, given);
		struct str cuda = str_new(a), c = str_new(a);
		language_cuda.print(&cuda, &plan, 1);
		language_c.print(&c, &plan, 1);
	}
}

static void run(const char *text, struct arena *a)
{
	struct ir_program *p, *again;
	struct err e = { 0 };
	char hash[33], other[33];
	if (ir_parse_program(&p, text, a, &e) < 0) {
		if (!e.text[0]) /* the checker reports a refused text as a bug of the pass */
			finding("a failure without a sentence", "");
		return;
	}
	const char *once = print(a, p);
	ir_hash(p, hash);
	if (ir_parse_program(&again, once, a, &e) < 0)
		finding("what is printed cannot be read", e.text);
	ir_hash(again, other);
	if (strcmp(hash, other) != 0)
		finding("read again it is another program", once);
	if (ir_optimise(p, NULL, NULL, &e) < 0)
		finding("the passes", e.text);
	if (p->stages.n <= 16)
		schedule(p, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct arena_guard guard;
	limit_time();
	if (size <= MAX_TEXT) {
		if (setjmp(*arena_guard_push(&guard)) == 0)
			run(arena_strndup(a, (const char *)data, size), a);
		else if (arena_guard_bug())
			finding("a bug", arena_guard_bug());
		arena_guard_pop(&guard);
	}
	arena_free(a);
	return 0;
}
