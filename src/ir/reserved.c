/* Names that no buffer, symbol or variable of a kernel may have: the languages' keywords, and definitions of included
 * headers, found by reading those. */
#include "ir/reserved.h"

#include <pthread.h>
#include <string.h>

#include "base/ascii.h"
#include "base/embed.h"
#include "base/error.h"

/* C11, C++20, CUDA C++, and compilers' alternative spellings. */
static const char keywords[] = "alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand "
                               "bitor bool break case catch char "
                               "char8_t char16_t char32_t class co_await co_return co_yield compl concept const "
                               "const_cast consteval constexpr constinit "
                               "continue decltype default delete do double dynamic_cast else enum explicit export "
                               "extern false float for friend goto if "
                               "import inline int long module mutable namespace new noexcept not not_eq nullptr "
                               "operator or or_eq private protected "
                               "public reflexpr register reinterpret_cast requires restrict return short signed sizeof "
                               "static static_assert static_cast "
                               "struct switch synchronized template this thread_local throw true try typedef typeid "
                               "typename typeof typeof_unqual union "
                               "unsigned using virtual void volatile wchar_t while xor xor_eq override final "
                               "threadIdx blockIdx blockDim gridDim warpSize main";

bool names_is_start(char c)
{
	return ascii_is_letter(c) || c == '_';
}

bool names_is_inside(char c)
{
	return ascii_is_alnum(c) || c == '_';
}

size_t names_token(const char *text)
{
	size_t n = 0;
	const char *end;
	if (text[0] == '/' && text[1] == '/')
		return strcspn(text, "\n");
	if (text[0] == '/' && text[1] == '*') {
		end = strstr(text + 2, "*/");
		return end ? (size_t)(end - text) + 2 : strlen(text);
	}
	if (text[0] == '"' || text[0] == '\'') {
		for (n = 1; text[n] && text[n] != text[0] && text[n] != '\n'; n++)
			n += text[n] == '\\' && text[n + 1];
		return text[n] ? n + 1 : n;
	}
	if (names_is_inside(text[0]) || (text[0] == '.' && ascii_is_digit(text[1]))) { /* includes numbers */
		bool number = !names_is_start(text[0]);
		while (names_is_inside(text[n]) || (number && text[n] == '.') ||
		       (number && (text[n] == '+' || text[n] == '-') && strchr("eEpP", text[n - 1])))
			n++;
		return n;
	}
	return text[0] != '\0';
}

size_t names_directive(const char *text)
{
	size_t n = 0;
	while (text[n] && text[n] != '\n')
		n += text[n] == '\\' && text[n + 1] == '\n' ? 2 : names_token(text + n);
	return n;
}

static struct names_word *put(struct map *m, const char *name, size_t n)
{
	char *word = arena_strndup(m->arena, name, n);
	if (!map_get(m, word))
		map_put(m, word, NEW(m->arena, struct names_word));
	return map_get(m, word);
}

static const char *skip_spaces(const char *text)
{
	return text + strspn(text, " \t");
}

/* Adds the macro that a preprocessor line defines. */
static void add_macro(struct map *m, const char *text)
{
	static const char define[] = "define";
	text = skip_spaces(text + 1);
	if (strncmp(text, define, sizeof define - 1) != 0)
		return;
	text = skip_spaces(text + sizeof define - 1);
	size_t n = names_token(text);
	struct names_word *w = put(m, text, n);
	w->body = text + n;
	w->n = names_directive(text + n);
}

/* Adds the function, type or constant that an unindented line declares. */
static size_t add_declared(struct map *m, const char *text)
{
	int depth = 0;
	size_t at = 0;
	for (size_t n; text[at] && text[at] != '\n'; at += n) {
		n = names_token(text + at);
		depth += strchr("({", text[at]) ? 1 : strchr(")}", text[at]) ? -1 : 0;
		if (depth == 0 && names_is_start(text[at]) && text[at + n] &&
		    strchr("({;=[", *skip_spaces(text + at + n)))
			put(m, text + at, n)->declared = true;
	}
	return at;
}

/* Adds a header's top-level declarations and all macros. */
static void add_header(struct map *m, const char *text)
{
	for (size_t n; *text; text += n) {
		if (*text == '#')
			add_macro(m, text);
		if (*text == '#')
			n = names_directive(text);
		else if (names_is_start(*text))
			n = add_declared(m, text);
		else
			n = *text == '\t' ? strcspn(text, "\n") : names_token(text);
	}
}

static void add_words(struct map *m, const char *words)
{
	for (size_t n; *words; words += n + strspn(words + n, " \n")) {
		n = strcspn(words, " \n");
		put(m, words, n);
	}
}

static struct map words[KERNEL_LANGUAGES]; /* never freed */

static void read_headers(void)
{
	const struct embed_file *libc = embed_find("c_macros.txt");
	ck(libc);
	for (int l = 0; l < KERNEL_LANGUAGES; l++) {
		words[l] = map_new(arena_new());
		add_words(&words[l], keywords);
		add_words(&words[l], libc->text); /* for CUDA too: NVRTC predefines some, nvcc includes the headers */
		for (const struct embed_file *f = embed_files; f->name; f++)
			if (embed_is_header(f, (enum kernel_language)l))
				add_header(&words[l], f->text);
	}
}

const struct map *names_reserved(enum kernel_language language)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, read_headers);
	return &words[language];
}

bool names_is_reserved(const char *name)
{
	bool found = false;
	for (int l = 0; l < KERNEL_LANGUAGES; l++)
		found = found || map_get(names_reserved((enum kernel_language)l), name);
	return found;
}
