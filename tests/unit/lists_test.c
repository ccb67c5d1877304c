/* Options for several tensors in one text: "a:1x2,b:3x4". */
#include <string.h>

#include "base/map.h"
#include "lib/tpat_inside.h"
#include "tests/unit/test.h"

struct known {
	const char *const *name;
	int n;
};

static bool has(const void *of, const char *name)
{
	const struct known *k = of;
	for (int i = 0; i < k->n; i++)
		if (strcmp(k->name[i], name) == 0)
			return true;
	return false;
}

/* The parts, each followed by " | ". */
static void split(const char *text, const struct known *k, const char *want)
{
	struct arena *a = arena_new();
	const struct tpat_strings one = { &text, 1 }, got = tpat_split_lists(&one, has, k, a);
	struct str s = str_new(a);
	for (int i = 0; i < got.n; i++)
		str_printf(&s, "%s | ", got.at[i]);
	CHECK_STR(str_text(&s), want);
	arena_free(a);
}

static void test_names(void)
{
	static const char *const name[] = { "a", "b", "a:1x2,b", "x,y", "c:0" };
	const struct known all = { name, 5 }, some = { name, 2 };
	split("a:1x2", &all, "a:1x2 | ");
	split("a:", &all, "a: | ");
	split("a:1x2,b:3x4", &some, "a:1x2 | b:3x4 | ");
	split("a:1x2,b:3x4", &all, "a:1x2,b:3x4 | "); /* the name of a tensor */
	split("a:1,2,3,b:4,5", &all, "a:1,2,3 | b:4,5 | ");
	split("b:1x2,x,y:3x4,c:0:5,a:6", &all, "b:1x2 | x,y:3x4 | c:0:5 | a:6 | ");
	split("a:1x2,8x2,16x2,b:1,2,3", &some, "a:1x2,8x2,16x2 | b:1,2,3 | "); /* profiles */
	split("'c:0':1x2,'x,y':3,a:4", &all, "c:0:1x2 | x,y:3 | a:4 | ");      /* trtexec's quotes */
	split("'z:0':1x2,a:4", &all, "'z:0':1x2 | a:4 | ");
	split("a:,b:3", &some, "a: | b:3 | "); /* a scalar */
}

/* Texts with tensors that do not exist: each part by itself is what a message can name. */
static void test_unknown(void)
{
	static const char *const name[] = { "a", "b" };
	const struct known k = { name, 2 };
	split("", &k, " | ");
	split("1x4", &k, "1x4 | ");
	split("a:1x2,z:3x4", &k, "a:1x2 | z:3x4 | ");
	split("z:1x2,8x2,9x2,b:1,2,3", &k, "z:1x2,8x2,9x2 | b:1,2,3 | ");
	split("z:0:1x2", &k, "z:0:1x2 | ");
	split(",a:1", &k, ",a:1 | ");
	split("a:1,,b:2", &k, "a:1, | b:2 | ");
}

/* Drawn names of the characters that texts consist of: whatever is split are tensors that exist, and nothing is lost.
 */
static void test_drawn(void)
{
	enum { NAMES = 4, TEXTS = 3000 };
	static const char letter[] = "ab1x,:";
	uint64_t random = 91;
	for (int i = 0; i < TEXTS; i++) {
		struct arena *a = arena_new();
		const char *name[NAMES];
		struct str text = str_new(a), joined = str_new(a);
		const struct known k = { name, NAMES };
		for (int j = 0; j < NAMES; j++) {
			struct str s = str_new(a);
			do {
				random = hash_u64(random, 0x9e3779b97f4a7c15u);
				str_addn(&s, &letter[random % 6], 1);
			} while (s.n < 4 && random % 3);
			name[j] = str_text(&s);
			str_printf(&text, "%s%s:%dx%d", j ? "," : "", name[j], j + 1, (int)(random % 9));
		}
		const char *whole = str_text(&text);
		const struct tpat_strings one = { &whole, 1 }, got = tpat_split_lists(&one, has, &k, a);
		for (int j = 0; j < got.n; j++) {
			const char *colon = strrchr(got.at[j], ':');
			CHECK(colon && has(&k, arena_strndup(a, got.at[j], (size_t)(colon - got.at[j]))));
			str_printf(&joined, "%s%s", j ? "," : "", got.at[j]);
		}
		CHECK_STR(str_text(&joined), whole);
		arena_free(a);
	}
}

int main(void)
{
	test_names();
	test_unknown();
	test_drawn();
	return test_done();
}
