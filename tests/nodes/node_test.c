/* Runs folders of ONNX models with inputs and expected outputs (tests/cases.py writes them): each node becomes its own
 * program, which a backend runs; the results are compared.
 *
 *   node_test [OPTION ...] FOLDER/index.tsv
 *   node_test --rules                              prints the names of all rules
 *
 *   --device interp|emulator|cpu|aarch64|cuda
 *                    the interpreter; the generated .cu on the emulator; the plugin library, called through its ABI,
 * with its kernels in C, or those of a library for AArch64 under QEMU, or on a GPU
 *   --whole          the whole graph becomes one program
 *   --every N        only every N-th case
 *   --filter PATTERN only matching cases
 *   --rule NAME      use that schedule rule wherever it applies; skip cases where it applies nowhere. any: each stage
 * takes some choice of some rule
 *   --gpu NAME       schedule for that GPU
 *   --table FILE     write the results (result_table.h)
 *   --like FILE      tests that passed in that table must pass here, too
 *   --but FILE       exceptions from --like, which must not pass
 *   --jobs N, --verbose
 *
 * Prints "FAIL name: sentence" for wrong results, and "REFUSED name: sentence" (counted as failed) for unsupported
 * nodes whose operator is supported. Models with missing operators are skipped, and counted by reason at the end. Cases
 * run in worker processes, so that a crash, or a case that never ends, fails alone. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "sched/sched.h"
#include "tests/nodes/forced_rule.h"
#include "tests/nodes/node_workers.h"
#include "tests/nodes/result_table.h"

static const struct backend {
	const char *name;
	backend_fn *run;
} backends[] = {
	{ "interp", backend_interp },          { "emulator", backend_emulator }, { "cpu", backend_cpu_plugin },
	{ "aarch64", backend_aarch64_plugin }, { "cuda", backend_cuda_plugin },
};

struct suite {
	struct arena *arena;
	struct node_options options;
	int every, seen;
	struct {
		VEC(struct node_case);
	} cases;
	struct node_result *result; /* by case */
	const char *table;          /* --table, or null */
	struct result_table like, but;
};

/* ---- The index. */

/* The next of the tab-separated columns. */
static char *column(char **line)
{
	char *start = *line, *end = start + strcspn(start, "\t");

	*line = *end ? end + 1 : end;
	*end = 0;
	return start;
}

static void add_test(struct suite *s, const char *folder, char *line, const char *filter)
{
	struct node_case t = { .name = column(&line) };
	char *inputs, *outputs;

	if (filter && fnmatch(filter, t.name, 0) != 0 && !strstr(t.name, filter))
		return;
	if (s->seen++ % s->every)
		return;
	t.operators = column(&line);
	column(&line);
	inputs = column(&line);
	outputs = column(&line);
	t.types = arena_printf(s->arena, "%s %s", inputs, outputs);
	t.tolerance.relative = strtod(column(&line), NULL);
	t.tolerance.absolute = strtod(column(&line), NULL);
	t.sets = atoi(column(&line));
	t.dir = path_join(s->arena, folder, t.name);
	vec_push(s->arena, &s->cases, t);
}

static int read_index(struct suite *s, const char *path, const char *filter, struct err *e)
{
	char *text, *folder = path_dir(s->arena, path);

	TRY(file_read(&text, NULL, path, s->arena, e));
	for (char *line = text, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = 0;
		if (*line && *line != '#')
			add_test(s, folder, line, filter);
	}
	return 0;
}

static int write_table(const struct suite *s, struct err *e)
{
	static const char *const verdict[] = { [NODE_PASSED] = "passed",
		                               [NODE_FAILED] = "failed",
		                               [NODE_REFUSED] = "refused",
		                               [NODE_SKIPPED] = "skipped",
		                               [NODE_PASSED_OVER] = "passed over" };
	FILE *file = fopen(s->table, "w");

	if (!file)
		return err_set(e, ERR_USAGE, "%s cannot be written.", s->table);
	result_table_head(file);
	for (int i = 0; i < s->cases.n; i++) {
		const struct node_case *t = &s->cases.at[i];
		const struct node_result *r = &s->result[i];

		result_table_write(file, &(struct result_row){ t->name, t->operators,
		                                               node_case_has_other_values(t) ? "other" : "numbers",
		                                               verdict[r->verdict], r->text });
	}
	fclose(file);
	return 0;
}

/* --like: a test that passes elsewhere must pass here, unless it is listed as an exception. */
static void compare_with(const struct suite *s)
{
	for (int i = 0; i < s->cases.n; i++) {
		const struct result_row *row = result_table_find(&s->like, s->cases.at[i].name);
		bool named = result_table_find(&s->but, s->cases.at[i].name) != NULL;
		struct node_result *r = &s->result[i];

		if (!row || strcmp(row->verdict, "passed") != 0)
			continue;
		if (named && r->verdict == NODE_PASSED) {
			snprintf(r->text, sizeof r->text, "it passes, and is named as one that does not: take it out.");
			r->verdict = NODE_FAILED;
		} else if (r->verdict != NODE_PASSED) {
			r->verdict = named ? NODE_SKIPPED : r->verdict == NODE_SKIPPED ? NODE_REFUSED : r->verdict;
			snprintf(r->missing, sizeof r->missing, "(not on this device)");
		}
	}
}

static int report(const struct suite *s, int verbose)
{
	int count[NODE_VERDICTS] = { 0 };
	struct map missing = map_new(s->arena);

	for (int i = 0; i < s->cases.n; i++) {
		const struct node_case *t = &s->cases.at[i];
		const struct node_result *r = &s->result[i];

		count[r->verdict]++;
		if (r->verdict == NODE_FAILED)
			printf("FAIL %s: %s\n", t->name, r->text);
		if (r->verdict == NODE_REFUSED)
			printf("REFUSED %s: %s\n", t->name, r->text);
		if (r->verdict == NODE_PASSED && verbose)
			printf("ok %s\n", t->name);
		if (r->verdict == NODE_SKIPPED)
			map_put(&missing, r->missing, (char *)map_get(&missing, r->missing) + 1);
	}
	for (int i = 0; i < missing.n; i++)
		printf("skipped for %s: %d\n", missing.entry[i].name, (int)(intptr_t)missing.entry[i].value);
	printf("%d passed, %d failed, %d skipped\n", count[NODE_PASSED], count[NODE_FAILED] + count[NODE_REFUSED],
	       count[NODE_SKIPPED]);
	return count[NODE_FAILED] + count[NODE_REFUSED] > 0;
}

int main(int argc, char **argv)
{
	struct suite s = { .arena = arena_new(), .options.run = backend_interp, .every = 1 };
	const char *path = NULL, *filter = NULL, *like = NULL, *but = NULL;
	int jobs = 0, verbose = 0, rc;
	struct err e = { 0 };

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--verbose") == 0) {
			verbose = 1;
		} else if (strcmp(argv[i], "--whole") == 0) {
			s.options.whole = true;
		} else if (strcmp(argv[i], "--plain") == 0) {
			s.options.plain = true;
		} else if (i + 1 < argc && strcmp(argv[i], "--table") == 0) {
			s.table = argv[++i];
		} else if (i + 1 < argc && strcmp(argv[i], "--like") == 0) {
			like = argv[++i];
		} else if (i + 1 < argc && strcmp(argv[i], "--but") == 0) {
			but = argv[++i];
		} else if (i + 1 < argc && strcmp(argv[i], "--filter") == 0) {
			filter = argv[++i];
		} else if (i + 1 < argc && strcmp(argv[i], "--jobs") == 0) {
			jobs = atoi(argv[++i]);
		} else if (i + 1 < argc && strcmp(argv[i], "--every") == 0) {
			s.every = atoi(argv[++i]);
		} else if (strcmp(argv[i], "--rules") == 0) {
			for (const struct sched_rule *const *r = sched_rules; *r; r++)
				printf("%s\n", (*r)->name);
			return 0;
		} else if (i + 1 < argc && strcmp(argv[i], "--rule") == 0) {
			if (!forced_rule_set(argv[++i])) {
				fprintf(stderr, "node_test: there is no rule %s.\n", argv[i]);
				return 2;
			}
		} else if (i + 1 < argc && strcmp(argv[i], "--gpu") == 0) {
			if (!forced_gpu_set(argv[++i])) {
				fprintf(stderr, "node_test: there is no GPU %s.\n", argv[i]);
				return 2;
			}
		} else if (i + 1 < argc && strcmp(argv[i], "--device") == 0) {
			s.options.run = NULL;
			i++;
			for (size_t k = 0; k < sizeof backends / sizeof *backends; k++)
				if (strcmp(backends[k].name, argv[i]) == 0)
					s.options.run = backends[k].run;
		} else {
			path = argv[i];
		}
	}
	if (!path || !s.options.run || s.every < 1) {
		fprintf(stderr,
		        "usage: node_test [--device interp|emulator|cpu|aarch64|cuda] [--whole] [--plain] [--every N] "
		        "[--filter PATTERN] "
		        "[--jobs N] [--verbose] [--rule NAME] [--table FILE] [--like FILE] [--but FILE] "
		        "FOLDER/index.tsv, or node_test --rules\n");
		return 2;
	}
	s.like.by_name = s.but.by_name = map_new(s.arena);
	if (read_index(&s, path, filter, &e) < 0 || (like && result_table_read(&s.like, like, s.arena, &e) < 0) ||
	    (but && result_table_read(&s.but, but, s.arena, &e) < 0)) {
		fprintf(stderr, "node_test: %s\n", e.text);
		return 3;
	}
	s.result = node_workers_run(s.cases.at, s.cases.n, &s.options, jobs);
	if (!s.result) {
		perror("node_test");
		return 5;
	}
	compare_with(&s);
	if (s.table && write_table(&s, &e) < 0) {
		fprintf(stderr, "node_test: %s\n", e.text);
		return 3;
	}
	rc = report(&s, verbose);
	arena_free(s.arena);
	return rc;
}
