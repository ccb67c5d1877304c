/* Names that no function, buffer, symbol or variable of a kernel may have. The build lists what the headers of kernels
 * declare (mk/generate.mk). */
#include "ir/reserved.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "ir/device.h"
#include "ir/functions.h"

/* The words of a language: its keywords, and what its printer calls that no header of ours declares. */
struct words {
	const char *list; /* of what headers declare: an embedded file */
	const char *keywords, *called;
};

/* C++20, CUDA C++ and C, as kernels pass through compilers of each, and compilers' alternative spellings. */
static const struct words words_of[KERNEL_LANGUAGES] = {
	[KERNEL_CUDA] = {
		"words_cuda.txt",
		"alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand "
		"bitor bool break case catch char char8_t char16_t char32_t class co_await co_return "
		"co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
		"default delete do double dynamic_cast else enum explicit export extern false final float "
		"for friend goto if import inline int long main module mutable namespace new noexcept not "
		"not_eq nullptr operator or or_eq override private protected public reflexpr register "
		"reinterpret_cast requires restrict return short signed sizeof static static_assert "
		"static_cast struct switch synchronized template this thread_local throw true try typedef "
		"typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t "
		"while xor xor_eq",
		"blockDim blockIdx gridDim threadIdx uint4 warpSize",
	},
	[KERNEL_C] = {
		"words_c.txt",
		"alignas alignof asm auto bool break case char const constexpr continue default do double "
		"else enum extern false float for goto if inline int long main nullptr register restrict "
		"return short signed sizeof static static_assert struct switch thread_local true typedef "
		"typeof typeof_unqual union unsigned void volatile while",
		"free memcpy memset uint32_t",
	},
};

static void add(struct map *m, const char *name)
{
	map_put(m, name, m->arena);
}

static void add_list(struct map *m, const char *words)
{
	for (size_t n; *words; words += n + strspn(words + n, " \n")) {
		n = strcspn(words, " \n");
		add(m, arena_strndup(m->arena, words, n));
	}
}

/* Functions of libm, for f64 and for f32. */
static void add_operations(struct map *m)
{
	for (enum ir_op op = 0; op < IR_OP_COUNT; op++) {
		add(m, ir_op_info[op].ctext);
		add(m, arena_printf(m->arena, "%sf", ir_op_info[op].ctext));
	}
}

/* Functions that expressions call: macros of the headers make some of their names. */
static void add_functions(struct map *m, enum kernel_language language)
{
	for (enum ir_function f = 0; f < FN_COUNT; f++)
		for (enum type to = TYPE_NONE + 1; to < TYPE_COUNT && *ir_function_info[f].name[language]; to++)
			for (enum type from = TYPE_NONE + 1; from < TYPE_COUNT; from++) {
				const char *name = ir_function_name(f, language, to, from, m->arena);
				add(m, arena_strndup(m->arena, name, strcspn(name, "<")));
			}
}

/* Their declarations may be of forms that the build does not see. */
static void add_device_functions(struct map *m)
{
	for (const struct ir_device_function *const *f = ir_device_functions(); *f; f++)
		if (!(*f)->method_of)
			add(m, (*f)->name);
	for (const struct ir_device_type *const *t = ir_device_types(); *t; t++)
		add(m, (*t)->name);
}

static struct map reserved[KERNEL_LANGUAGES]; /* never freed */

static void read_lists(void)
{
	for (int l = 0; l < KERNEL_LANGUAGES; l++) {
		const struct embed_file *declared = embed_find(words_of[l].list);
		ck(declared);
		reserved[l] = map_new(arena_new());
		add_list(&reserved[l], words_of[l].keywords);
		add_list(&reserved[l], words_of[l].called);
		add_list(&reserved[l], declared->text);
		add_operations(&reserved[l]);
		add_functions(&reserved[l], (enum kernel_language)l);
		for (enum type t = TYPE_NONE + 1; t < TYPE_COUNT; t++)
			add(&reserved[l], type_name(t));
		if (l == KERNEL_CUDA)
			add_device_functions(&reserved[l]);
	}
}

const struct map *names_reserved(enum kernel_language language)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, read_lists);
	return &reserved[language];
}

bool names_is_reserved(const char *name)
{
	bool found = false;
	for (int l = 0; l < KERNEL_LANGUAGES; l++)
		found = found || map_get(names_reserved((enum kernel_language)l), name);
	return found;
}
