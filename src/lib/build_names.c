/* Plugin names. In a process, TensorRT's registry takes one creator of each name, version and namespace, and refuses a
 * whole library if one of its plugins is taken. So names carry a hash of everything in the library: any two libraries
 * can be loaded together, and an engine never gets the plugin of another build. */
#include "lib/build_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/ascii.h"
#include "base/embed.h"
#include "base/file.h"
#include "dev/nvrtc.h"
#include "gen/language.h"

enum { NAME_MAX_BYTES = 64, DIGITS = 8 };

int build_given_name(const struct build *b, const char *label, const char **name)
{
	size_t n = strlen(label);
	*name = NULL;
	for (int i = 0; i < b->o->name.n; i++) {
		const char *text = b->o->name.at[i];
		if (strncmp(text, label, n) != 0 || text[n] != '=')
			continue;
		*name = text + n + 1;
		bool fine = ascii_is_letter(**name) || **name == '_';
		for (const char *c = *name; *c; c++)
			fine &= ascii_is_word(*c);
		if (!fine || strlen(*name) > NAME_MAX_BYTES)
			return err_set(b->err, ERR_USAGE,
			               "\"%s\" cannot be a plugin's name: letters, digits and _ only, at most %d.",
			               *name, NAME_MAX_BYTES);
		const struct op_def *op = op_find("", *name);
		if (op && !op_any_domain(op)) {
			err_set(b->err, ERR_USAGE, "\"%s\" is an ONNX operator; a plugin of this name would hide it.",
			        *name);
			return err_advise(b->err, "Give the plugin another name, for example My%s.", *name);
		}
	}
	return 0;
}

int build_check_names(const struct build *b)
{
	for (int i = 0; i < b->o->name.n; i++) {
		bool used = false;
		vec_each (r, &b->regions) {
			size_t n = strlen((*r)->label);
			used |= strncmp(b->o->name.at[i], (*r)->label, n) == 0 && b->o->name.at[i][n] == '=';
		}
		if (!used) {
			err_set(b->err, ERR_USAGE, "--name %s names no selected node.", b->o->name.at[i]);
			if (b->regions.n == 1)
				return err_advise(b->err, "Write it as %s=PLUGIN: this node is selected.",
				                  b->regions.at[0]->label);
			return err_advise(
			        b->err,
			        "Write it as NODE=PLUGIN, with a node that -n, -t, --region or --auto selects.");
		}
	}
	return 0;
}

static uint64_t hash_weights(uint64_t x, const struct made *m)
{
	for (int i = 0; i < m->weights.n; i++)
		x = hash_bytes(x, m->weights.at[i]->data, (size_t)tensor_bytes(m->weights.at[i]));
	return x;
}

static uint64_t hash_plugin(uint64_t x, const struct made *m, const struct language *language, struct arena *a)
{
	struct str program = str_new(a), kernels = str_new(a);
	x = hash_weights(x, m);
	if (m->like)
		return hash_str(x, m->given ? m->given : "");
	ir_print_program(&program, m->plan[0]->program); /* the tensors' names */
	vec_each (b, &m->plan[0]->program->buffers)
		x = hash_u64(x, (*b)->edge);
	language->print(&kernels, m->plan, m->plans);
	x = hash_str(hash_str(x, m->hash), m->given ? m->given : "");
	x = hash_str(hash_str(x, m->all_decisions), str_text(&program));
	return hash_bytes(x, str_text(&kernels), kernels.n);
}

/* Hashes the sources in every library. The compiled runtime also depends on the compiler that made tpat. */
static uint64_t hash_runtime(uint64_t x)
{
	for (const struct embed_file *f = embed_files; f->name; f++)
		if (str_ends(f->name, ".c") || str_ends(f->name, ".h"))
			x = hash_bytes(hash_str(x, f->name), f->text, f->size);
	return x;
}

/* The same inputs, options and tools give the same hash. */
static uint64_t hash_library(const struct build *b)
{
	uint64_t x = hash_runtime(hash_str(0, TPAT_VERSION));
	x = hash_str(hash_str(x, path_base(b->o->model)), path_base(b->out.library));
	x = hash_str(x, b->o->name_space ? b->o->name_space : "");
	x = hash_u64(x, (uint64_t)dev_nvrtc_version());
	for (int i = 0; i < b->archs; i++)
		x = hash_u64(x, (uint64_t)b->arch[i].arch * 2 + b->arch[i].ptx);
	vec_each (m, &b->plugins)
		x = hash_plugin(x, *m, b->graph->engine->language, b->arena);
	return x;
}

/* Returns an earlier build's plugin name without its hash, to use it again. */
static char *plain_name(char *name)
{
	size_t n = strlen(name);
	if (!str_starts(name, "tpat_") || n < DIGITS + 7 || name[n - DIGITS - 1] != '_' ||
	    strspn(name + n - DIGITS, "0123456789abcdef") != DIGITS)
		return name;
	name[n - DIGITS - 1] = 0;
	return name + 5;
}

/* "tpat_ConvInteger_1a2b3c4d" */
static char *name_of(const struct build *b, const struct made *m, const char *hash)
{
	char *base = plain_name(str_identifier(b->arena, m->plan[0]->program->name));
	if (strlen(base) > NAME_MAX_BYTES - DIGITS - 6)
		base[NAME_MAX_BYTES - DIGITS - 6] = 0;
	return arena_printf(b->arena, "tpat_%s_%s", base, hash);
}

static bool is_taken(const struct build *b, const struct made *mine)
{
	for (size_t i = 0; i < b->model->proto->n_functions; i++)
		if (strcmp(onnx_text(b->model->proto->functions[i]->name), mine->name) == 0)
			return true;
	vec_each (m, &b->plugins) {
		if (*m == mine)
			break;
		if (strcmp((*m)->name, mine->name) == 0)
			return true;
	}
	return false;
}

/* A name given by the user is kept; then the namespace distinguishes builds, unless the user gave that, too.
 * TensorRT-RTX 1.7 refuses two libraries whose plugins differ only in their version (seen). */
void build_names(struct build *b)
{
	uint64_t library = b->plugins.n ? hash_library(b) : 0;
	vec_each (pm, &b->plugins) {
		struct made *m = *pm;
		uint64_t x = hash_str(library, m->hash);
		do {
			const char *hash = arena_printf(b->arena, "%0*" PRIx64, DIGITS, x >> (64 - 4 * DIGITS));
			m->name_space = b->o->name_space ? arena_strdup(b->arena, b->o->name_space)
			                : m->given       ? hash
			                                 : "";
			m->name = m->given ? arena_strdup(b->arena, m->given) : name_of(b, m, hash);
			x = hash_u64(library, x);
		} while (!m->given && is_taken(b, m));
	}
	vec_each (x, &b->stored) {
		(*x)->name = arena_printf(b->arena, "%s_%s", (*x)->of->name, (*x)->layout->name);
		(*x)->name_space = (*x)->of->name_space;
	}
}
