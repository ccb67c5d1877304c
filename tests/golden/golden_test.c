/* Golden texts: NAME.txt is a program; next to it are its form after all passes (NAME.ir), its CUDA text (NAME.cu) and
 * its C text (NAME.c.txt, without the header). A diff shows any change of them.
 *
 *   golden_test FOLDER [--update] [NAME ...]     --update writes the current texts */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "base/file.h"
#include "gen/language.h"
#include "sched/sched.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

static bool update;

/* Prints the first line in which two texts differ. */
static void show_difference(const char *path, const char *got, const char *want)
{
	int line = 1;
	for (; *got && *got == *want; got++, want++)
		line += *got == '\n';
	while (line > 1 && got[-1] != '\n') {
		got--;
		want--;
	}
	printf("  %s:%d\n  got  %.*s\n  want %.*s\n", path, line, (int)strcspn(got, "\n"), got,
	       (int)strcspn(want, "\n"), want);
}

static void compare(struct arena *a, const char *folder, const char *name, const char *ending, const char *got)
{
	char *path = path_join(a, folder, arena_printf(a, "%s%s", name, ending)), *want = NULL;
	struct err e = { 0 };
	size_t size = 0;
	if (update) {
		if (!test_check(file_write(path, got, strlen(got), &e) == 0, __FILE__, __LINE__, "written"))
			printf("  %s\n", e.text);
		return;
	}
	if (file_read(&want, &size, path, a, &e) < 0) {
		CHECK(!"the expected text is there");
		printf("  %s Run this with --update when it is new.\n", e.text);
		return;
	}
	want = arena_strndup(a, want, size);
	if (!test_check(strcmp(got, want) == 0, __FILE__, __LINE__, "text as expected"))
		show_difference(path, got, want);
}

static void program_text(struct arena *a, const char *folder, const char *name)
{
	struct err e = { 0 };
	struct ir_program *p;
	char *text, hash[33];
	size_t size;
	struct str ir = str_new(a), cuda = str_new(a), c = str_new(a);
	int rc = file_read(&text, &size, path_join(a, folder, arena_printf(a, "%s.txt", name)), a, &e);
	if (rc == 0)
		rc = ir_parse_program(&p, arena_strndup(a, text, size), a, &e);
	if (rc == 0)
		rc = ir_optimise(p, NULL, NULL, &e);
	if (!test_check(rc == 0, __FILE__, __LINE__, "a program")) {
		printf("  %s: %s\n", name, e.text);
		return;
	}
	ir_print_program(&ir, p);
	ir_hash(p, hash);
	str_printf(&ir, "# %s\n", hash);
	const struct ir_plan *plan = sched_program(p, NULL, NULL);
	language_cuda.print(&cuda, &plan, 1);
	language_c.print(&c, &plan, 1);
	compare(a, folder, name, ".ir", str_text(&ir));
	compare(a, folder, name, ".cu", str_text(&cuda));
	compare(a, folder, name, ".c.txt", str_text(&c) + embed_find("rt/device/tpat_cpu.h")->size);
}

static int by_name(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

int main(int argc, char **argv)
{
	struct arena *a = arena_new();
	const char *folder = argc > 1 ? argv[1] : "tests/golden";
	struct {
		VEC(const char *);
	} names = { 0 };
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--update") == 0)
			update = true;
		else
			vec_push(a, &names, argv[i]);
	}
	DIR *d = names.n ? NULL : opendir(folder);
	for (struct dirent *entry; d && (entry = readdir(d));) {
		const char *name = entry->d_name;
		if (str_ends(name, ".txt") && !str_ends(name, ".c.txt"))
			vec_push(a, &names, arena_strndup(a, name, strlen(name) - 4));
	}
	if (d)
		closedir(d);
	if (names.n)
		qsort(names.at, (size_t)names.n, sizeof *names.at, by_name);
	CHECK(names.n > 0);
	for (int i = 0; i < names.n; i++)
		program_text(a, folder, names.at[i]);
	arena_free(a);
	return test_done();
}
