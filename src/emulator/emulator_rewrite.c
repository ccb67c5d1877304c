/* Rewrites declarations that C++ lacks: shared memory and kernels. Everything else stays unchanged, on its line. Knows
 * C's tokens, not its grammar. */
#include "emulator/emulator.h"

#include <string.h>

#include "base/ascii.h"
#include "base/str.h"

struct rewriter {
	const char *name, *text;
	struct str out, kernels;
	int shared;
	int may_race;
	struct arena *arena;
	struct err *err;
};

static int line_of(const struct rewriter *r, const char *p)
{
	int line = 1;
	for (const char *q = r->text; q < p; q++)
		line += *q == '\n';
	return line;
}

static const char *skip_space(const char *p)
{
	while (ascii_is_space(*p))
		p++;
	return p;
}

/* Returns the position after the bracket that closes the one at p; null if none does. */
static const char *skip_brackets(const char *p)
{
	int depth = 0;
	for (; *p; p++) {
		depth += *p == '(' || *p == '[' || *p == '{';
		depth -= *p == ')' || *p == ']' || *p == '}';
		if (depth == 0)
			return p + 1;
	}
	return NULL;
}

/* Returns the position after a comment or literal at p; p if there is none. */
static const char *skip_opaque(const char *p)
{
	const char *end = p;
	if (p[0] == '/' && p[1] == '/')
		return p + strcspn(p, "\n");
	if (p[0] == '/' && p[1] == '*')
		return (end = strstr(p + 2, "*/")) ? end + 2 : p + strlen(p);
	if (*p != '"' && *p != '\'')
		return p;
	for (end = p + 1; *end && *end != *p && *end != '\n'; end++)
		if (*end == '\\' && end[1])
			end++;
	return *end == *p ? end + 1 : end;
}

static bool starts_word(const char *p, const char *word)
{
	size_t n = strlen(word);
	return strncmp(p, word, n) == 0 && !ascii_is_word(p[n]);
}

/* `extern "C" __global__`: kernels of two texts may have one name, so they keep C++'s linkage. */
static const char *after_extern_c(const char *p)
{
	p = skip_space(p + strlen("extern"));
	if (strncmp(p, "\"C\"", 3) != 0)
		return NULL;
	p = skip_space(p + 3);
	return starts_word(p, "__global__") ? p : NULL;
}

static int mentions(const char *text, const char *const *word)
{
	for (; *word; word++)
		if (strstr(text, *word))
			return 1;
	return 0;
}

/* Finds out whether threads, and blocks, of the kernel whose arguments end at p may wait for each other, and whether
 * all blocks must run at the same time. A text with its own functions is searched as a whole, but for the last. */
static void scan_kernel(struct rewriter *r, const char *p, int *waits, int *fences, int *together)
{
	static const char *const waiting[] = { "__sync",
		                               "__shfl",
		                               "__ballot",
		                               "__any_sync",
		                               "__all_sync",
		                               "warp_",
		                               "shuffle",
		                               "block_reduce",
		                               "block_scan",
		                               "tile_next",
		                               "tiles_before",
		                               "sort_row",
		                               "sort_items",
		                               "select_row",
		                               "select_delegates",
		                               "select_digits",
		                               "select_cluster",
		                               "mark_points",
		                               "put_marked",
		                               "radix_",
		                               "mma",
		                               "attention<",
		                               "attention_few",
		                               "attention_ring",
		                               "attention_wide<",
		                               "words_take",
		                               "packed_product",
		                               "patch_product",
		                               "winograd_product",
		                               "pick_row",
		                               "cluster_reduce",
		                               NULL };
	static const char *const fence[] = { "__threadfence", "tiles_before", "radix_pass", "parts_put", NULL };
	static const char *const all[] = { "words_take", NULL };
	const char *open = skip_space(p), *close = *open == '{' ? skip_brackets(open) : NULL, *text = r->text,
	           *own = text;
	if (close)
		own = arena_strndup(r->arena, open, (size_t)(close - open));
	if (!strstr(r->text, "__device__") && !strstr(r->text, "#define"))
		text = own;
	*waits = mentions(text, waiting);
	*fences = mentions(text, fence);
	*together = mentions(own, all);
}

/* Records the name after `__global__`, and __launch_bounds__. */
static int note_kernel(struct rewriter *r, const char *p)
{
	const char *bounds = "0", *cluster = "0";
	for (p += strlen("__global__"); *p;) {
		const char *next = skip_opaque(p);
		if (next != p || !ascii_is_word(*p)) {
			p = next != p ? next : p + 1;
			continue;
		}
		const char *word = p;
		while (ascii_is_word(*p))
			p++;
		const char *open = skip_space(p);
		if (*open != '(')
			continue;
		const char *close = skip_brackets(open);
		if (!close)
			break;
		if (starts_word(word, "__launch_bounds__")) {
			bounds = arena_printf(r->arena, "emulator_first%.*s", (int)(close - open), open);
			p = close;
			continue;
		}
		if (starts_word(word, "block_cluster")) {
			cluster = arena_strndup(r->arena, open, (size_t)(close - open));
			p = close;
			continue;
		}
		char *name = arena_strndup(r->arena, word, (size_t)(p - word));
		int waits, fences, together;
		scan_kernel(r, close, &waits, &fences, &together);
		str_printf(&r->kernels, "\t{ \"%s\", \"%s\", emulator_caller<&%s>::call, %s, %s, %d, %d, %d, %d },\n",
		           r->name, name, name, bounds, cluster, together, waits, fences, r->may_race);
		return 0;
	}
	return err_set(r->err, ERR_USAGE, "%s:%d: __global__ without a function after it.", r->name, line_of(r, p));
}

/* One declarator, `name` or `name[4][33]`, of type `type`. */
static int declare_shared(struct rewriter *r, const char *type, const char *decl, size_t n, bool dynamic)
{
	size_t name = 0;
	while (name < n && ascii_is_word(decl[name]))
		name++;
	if (name == 0)
		return err_set(r->err, ERR_USAGE, "%s: shared memory without a name near \"%.40s\".", r->name, decl);
	int dims = (int)(n - name);
	const char *d = decl + name;
	if (dynamic)
		str_printf(&r->out, "%s *%.*s = (%s *)emulator_dynamic_shared(\"%.*s\"); ", type, (int)name, decl, type,
		           (int)name, decl);
	else
		str_printf(&r->out, "%s (&%.*s)%.*s = *(%s (*)%.*s)emulator_shared(%d, sizeof(%s %.*s), \"%.*s\"); ",
		           type, (int)name, decl, dims, d, type, dims, d, r->shared++, type, dims, d, (int)name, decl);
	return 0;
}

/* The type's text ends where the first name begins: the last word in front of '[', ',' or the end. */
static size_t type_length(const char *s)
{
	size_t end = strcspn(s, "[");
	int depth = 0;
	for (size_t i = 0; i < end; i++) {
		depth += s[i] == '<';
		depth -= s[i] == '>';
		if (s[i] == ',' && depth == 0)
			end = i;
	}
	while (end > 0 && ascii_is_space(s[end - 1]))
		end--;
	while (end > 0 && ascii_is_word(s[end - 1]))
		end--;
	return end;
}

/* p: at __shared__. Returns the position after the declaration. */
static const char *rewrite_shared(struct rewriter *r, const char *p, bool dynamic)
{
	const char *start = p, *semicolon = strchr(p, ';');
	if (!semicolon) {
		err_set(r->err, ERR_USAGE, "%s:%d: no ';' after __shared__.", r->name, line_of(r, p));
		return NULL;
	}
	p = skip_space(p + strlen("__shared__"));
	while (starts_word(p, "__align__") || starts_word(p, "alignas")) /* shared memory is always 256-byte aligned
	                                                                    here */
		p = skip_space(skip_brackets(p + strcspn(p, "(")));
	char *decl = arena_strndup(r->arena, p, (size_t)(semicolon - p));
	for (char *c = decl; *c; c++)
		if (*c == '\n')
			*c = ' ';
	size_t n = type_length(decl);
	char *type = arena_strndup(r->arena, decl, n);
	while (n > 0 && ascii_is_space(type[n - 1]))
		type[--n] = 0;
	for (char *d = decl + type_length(decl); *d;) {
		d += strspn(d, " \t,");
		size_t length = strcspn(d, ",");
		size_t used = length;
		while (used > 0 && ascii_is_space(d[used - 1]))
			used--;
		if (used && declare_shared(r, type, d, used, dynamic) < 0)
			return NULL;
		d += length;
	}
	for (; start < semicolon; start++)
		if (*start == '\n')
			str_add(&r->out, "\n");
	return semicolon + 1;
}

static int rewrite_words(struct rewriter *r)
{
	const char *p = r->text;
	while (*p) {
		const char *next = skip_opaque(p);
		if (next == p && ascii_is_word(*p)) {
			if (starts_word(p, "__global__"))
				TRY(note_kernel(r, p));
			const char *follower = starts_word(p, "extern") ? skip_space(p + strlen("extern")) : NULL;
			if (starts_word(p, "__shared__") || (follower && starts_word(follower, "__shared__"))) {
				p = rewrite_shared(r, follower ? follower : p, follower != NULL);
				if (!p)
					return r->err->code;
				continue;
			}
			if (follower && (follower = after_extern_c(p))) {
				p = follower;
				continue;
			}
			for (next = p; ascii_is_word(*next);)
				next++;
		} else if (next == p) {
			next = p + 1;
		}
		str_addn(&r->out, p, (size_t)(next - p));
		p = next;
	}
	return 0;
}

const char *emulator_rewrite(const struct emulator_text *t, int number, struct arena *a, struct err *e)
{
	struct rewriter r = { .name = t->name,
		              .text = t->text,
		              .out = str_new(a),
		              .kernels = str_new(a),
		              .may_race = t->may_race,
		              .arena = a,
		              .err = e };
	str_printf(&r.out, "namespace emulator_text_%d {\n#line 1 \"%s\"\n", number, t->name);
	if (rewrite_words(&r) < 0)
		return NULL;
	str_printf(&r.out,
	           "\n#line 1 \"kernels of %s\"\nstatic const struct emulator_kernel emulator_kernels[] = {\n%s"
	           "\t{},\n};\n}\n",
	           t->name, str_text(&r.kernels));
	return str_text(&r.out);
}
