/* Escaped text, and CUDA C++ and tensor programs in colours. */
#include <string.h>

#include "base/ascii.h"
#include "base/number.h"
#include "html/html.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* True for characters that XML excludes. */
static bool is_excluded(const char *c, int bytes)
{
	if (bytes == 1)
		return ((unsigned char)*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f;
	return (bytes == 2 && strncmp(c, "\xc2\xa0", 2) < 0) || /* U+0080 to U+009F */
	       (bytes == 3 && (strncmp(c, "\xef\xbf\xbe", 3) == 0 || strncmp(c, "\xef\xbf\xbf", 3) == 0));
}

static void put(struct str *out, const char *text, size_t size)
{
	for (const char *c = text, *end = text + size; c < end;) {
		int n = str_character(c);
		if (n == 0 || is_excluded(c, n))
			str_add(out, replacement);
		else if (*c == '<')
			str_add(out, "&lt;");
		else if (*c == '>')
			str_add(out, "&gt;");
		else if (*c == '&')
			str_add(out, "&amp;");
		else if (*c == '"')
			str_add(out, "&quot;");
		else if (*c == '\'')
			str_add(out, "&#39;");
		else
			str_addn(out, c, (size_t)n);
		c += n ? n : 1;
	}
}

void html_text(struct str *out, const char *text)
{
	put(out, text, strlen(text));
}

void html_format(struct str *out, const char *format, ...)
{
	va_list ap, again;
	va_start(ap, format);
	va_copy(again, ap);
	int n = number_vsnprintf(NULL, 0, format, ap);
	char *text = arena_alloc(out->arena, (size_t)n + 1);
	number_vsnprintf(text, (size_t)n + 1, format, again);
	va_end(again);
	va_end(ap);
	put(out, text, (size_t)n);
}

/* ---- Code. */

static const char *const cuda_words[] = {
	"__global__",
	"__device__",
	"__shared__",
	"__restrict__",
	"__launch_bounds__",
	"__forceinline__",
	"extern",
	"static",
	"const",
	"constexpr",
	"volatile",
	"auto",
	"void",
	"bool",
	"char",
	"int",
	"unsigned",
	"float",
	"double",
	"long",
	"short",
	"struct",
	"template",
	"typename",
	"for",
	"while",
	"do",
	"if",
	"else",
	"return",
	"break",
	"continue",
	"switch",
	"case",
	"default",
	"true",
	"false",
	"f16",
	"bf16",
	"i8",
	"u8",
	"i16",
	"u16",
	"i64",
	"u32",
	"u64",
	"int64_t",
	"uint32_t",
	NULL,
};

static const char *const program_words[] = {
	"program", "const",     "weight",     "value", "size",  "demand",  "loop",   "while",  "carry",   "next",
	"collect", "map",       "sum",        "prod",  "min",   "max",     "argmin", "argmax", "any",     "all",
	"scan",    "scatter",   "sort",       "init",  "where", "compact", "let",    "then",   "reverse", "along",
	"it",      "exclusive", "descending", "at",    "bool",  "f16",     "bf16",   "f32",    "f64",     "i8",
	"u8",      "i16",       "u16",        "i32",   "u32",   "i64",     "u64",    "true",   "false",   NULL,
};

static bool is_keyword(const char *const *keyword, const char *word, size_t n)
{
	for (; *keyword; keyword++)
		if (strlen(*keyword) == n && strncmp(*keyword, word, n) == 0)
			return true;
	return false;
}

/* The length of a comment at `c`; 0: none. */
static size_t comment(const char *c)
{
	if (c[0] != '/' || (c[1] != '/' && c[1] != '*'))
		return 0;
	if (c[1] == '/')
		return strcspn(c, "\n");
	const char *end = strstr(c + 2, "*/");
	return end ? (size_t)(end + 2 - c) : strlen(c);
}

static size_t quoted(const char *c)
{
	size_t n = 1;
	while (c[n] && c[n] != *c && c[n] != '\n')
		n += c[n] == '\\' && c[n + 1] ? 2 : 1;
	return n + (c[n] == *c);
}

/* The length of a number, with its exponent and suffix. */
static size_t number(const char *c)
{
	size_t n = 0;
	while (ascii_is_word(c[n]) || c[n] == '.' ||
	       ((c[n] == '-' || c[n] == '+') && n && (c[n - 1] == 'e' || c[n - 1] == 'E') && c[1] != 'x'))
		n++;
	return n;
}

/* The length of the token at `c`, and the letter of its class; 0: it has none. */
static size_t token(const char *c, bool begins_line, const char *const *keyword, char *kind)
{
	size_t n = comment(c);
	*kind = n ? 'c' : 0;
	if (n)
		return n;
	if (*c == '#' && begins_line) {
		*kind = 'd';
		return strcspn(c, "\n");
	}
	if (*c == '"' || *c == '\'') {
		*kind = 's';
		return quoted(c);
	}
	if (ascii_is_digit(*c)) {
		*kind = 'n';
		return number(c);
	}
	while (ascii_is_word(c[n]))
		n++;
	*kind = n && is_keyword(keyword, c, n) ? 'k' : 0;
	return n ? n : 1;
}

void html_code(struct str *out, const char *text, enum html_language language)
{
	const char *const *keyword = language == HTML_CUDA ? cuda_words : program_words;
	bool begins_line = true;
	size_t plain = 0; /* bytes before `c` that have no class, and are not yet put */
	const char *c = text;
	while (*c) {
		char kind;
		size_t n = token(c, begins_line, keyword, &kind);
		begins_line = *c == '\n' || (begins_line && (*c == ' ' || *c == '\t'));
		if (kind) {
			put(out, c - plain, plain);
			str_printf(out, "<span class=\"t%c\">", kind);
			put(out, c, n);
			str_add(out, "</span>");
		}
		plain = kind ? 0 : plain + n;
		c += n;
	}
	put(out, c - plain, plain);
}
