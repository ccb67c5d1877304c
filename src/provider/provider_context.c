/* Compiled regions as bytes, for the nodes EPContext of a compiled model: the region's nodes and constants as a model,
 * the decisions of its schedules, and the code of its kernels. What a session does not find there it compiles, so that
 * a context of another GPU or of another version of tpat is slower to start but never wrong. See provider.h.
 *
 * The bytes: a head, then parts, then "end\n". Numbers are those of the processor. */
#include <stdio.h>
#include <string.h>

#include "base/embed.h"
#include "lib/tpat_decisions.h"
#include "lib/tpat_inside.h"
#include "provider/provider.h"

#if defined __aarch64__
#define PROCESSOR "aarch64"
#else
#define PROCESSOR "x86_64"
#endif

static const char magic[16] = "tpat context 1\n", ending[4] = "end\n";

struct head {
	char magic[16];
	uint64_t bytes;    /* of all */
	uint64_t checksum; /* of the parts */
};

enum part_kind { PART_MODEL = 1, PART_INPUT, PART_DECISIONS, PART_CODE };

struct part {
	uint32_t kind, name_bytes;
	int32_t arch, ptx; /* of code */
	uint64_t bytes;
};

struct provider_context {
	struct provider *p;
	struct arena *arena;
	const char *maker; /* of code */
	struct map decisions, codes;
	struct {
		VEC(const char *);
	} inputs; /* names, in the order of the node's */
	const void *model;
	size_t model_bytes;
	bool loaded;
	int compiled;
};

/* Code is the same for a text if the device, its architecture and what the text includes are the same. */
static const char *maker_of(const struct provider *p, struct arena *a)
{
	uint64_t hash = 1;
	for (const struct embed_file *f = embed_files; f->name; f++)
		if (embed_is_header(f, p->on.dev->props.language))
			hash = hash_bytes(hash_str(hash, f->name), f->text, f->size);
	return arena_printf(a, "%s %s sm_%d %016llx", p->on.dev->kind, PROCESSOR, p->on.dev->props.arch,
	                    (unsigned long long)hash);
}

struct provider_context *provider_context_new(struct provider *p, struct arena *a)
{
	struct provider_context *c = NEW(a, struct provider_context);
	*c = (struct provider_context){
		.p = p, .arena = a, .maker = maker_of(p, a), .decisions = map_new(a), .codes = map_new(a)
	};
	return c;
}

/* ---- What a session asks and tells. */

static const struct sched_choice *choose(void *user, struct ir_program *program, const struct sched_target *t,
                                         const char *region)
{
	struct provider_context *c = user;
	const struct run_device *on = &c->p->on;
	struct sched_choice *choice = NEWN(c->arena, struct sched_choice, program->stages.n + 1);
	char hash[33];
	const char *why;
	ir_hash(program, hash);
	const char *text = map_get(&c->decisions, hash);
	if (text && tpat_decisions_parse(choice, text, program, t, &why, c->arena))
		return choice;
	sched_decide(program, t, on->choose ? on->choose(on->user, program, t, region) : NULL, choice);
	map_put(&c->decisions, hash, sched_decisions_text(program, choice, c->arena));
	return choice;
}

struct run_device provider_context_device(struct provider_context *c)
{
	struct run_device on = c->p->on;
	on.fit = false; /* nothing runs before the code is there */
	on.choose = choose;
	on.user = c;
	return on;
}

static const char *key_of(const struct provider_context *c, const struct dev_source *s)
{
	size_t n = strlen(s->text);
	return arena_printf(c->arena, "%s %016llx%016llx", c->maker, (unsigned long long)hash_bytes(1, s->text, n),
	                    (unsigned long long)hash_bytes(2, s->text, n));
}

static bool find(void *user, struct dev_code *out, const struct dev_source *s, struct arena *a)
{
	const struct provider_context *c = user;
	const struct dev_code *code = map_get(&c->codes, key_of(c, s));
	if (!code)
		return false;
	void *own = arena_alloc(a, code->size + 1); /* aligned for the code, with a NUL after PTX */
	memcpy(own, code->data, code->size);
	((char *)own)[code->size] = '\0';
	*out = *code;
	out->data = own;
	return true;
}

static void made(void *user, const struct dev_source *s, const struct dev_code *code, bool found)
{
	struct provider_context *c = user;
	if (found)
		return;
	struct dev_code *own = NEW(c->arena, struct dev_code);
	*own = *code;
	map_put(&c->codes, key_of(c, s), own);
	if (c->loaded && c->compiled++ == 0)
		provider_log(c->p, ORT_LOG_WARNING,
		             PROVIDER_NAME " compiles kernels of a compiled model, which was made for another device "
		                           "or by another version of tpat. Make it again here to start faster.");
}

struct run_codes provider_context_codes(struct provider_context *c)
{
	return (struct run_codes){ find, made, c };
}

/* ---- Bytes. */

static void put(struct str *out, struct part x, const char *name, const void *data)
{
	x.name_bytes = (uint32_t)strlen(name);
	str_addn(out, (const char *)&x, sizeof x);
	str_addn(out, name, x.name_bytes);
	str_addn(out, data, (size_t)x.bytes);
}

int provider_context_write(const char **out, size_t *bytes, struct provider_context *c, const struct onnx_model *m,
                           const struct provider_values *in, struct err *e)
{
	struct str text = str_new(c->arena);
	struct head head = { 0 };
	size_t size = protobuf_c_message_get_packed_size(&m->proto->base);
	if (size >= (1u << 31)) {
		err_set(e, ERR_UNSUPPORTED, "A compiled model would have more than 2 GB in a node.");
		return err_advise(e, "Run the model itself, without ep.context_enable.");
	}
	uint8_t *model = arena_alloc(c->arena, size + 1);
	protobuf_c_message_pack(&m->proto->base, model);
	str_addn(&text, (const char *)&head, sizeof head);
	put(&text, (struct part){ .kind = PART_MODEL, .bytes = size }, "", model);
	for (size_t i = 0; i < in->n; i++) {
		const char *name;
		TRY(provider_value_name(&name, &c->p->host, in->at[i], e));
		put(&text, (struct part){ .kind = PART_INPUT }, name, "");
	}
	for (int i = 0; i < c->decisions.n; i++) {
		const char *decisions = c->decisions.entry[i].value;
		put(&text, (struct part){ .kind = PART_DECISIONS, .bytes = strlen(decisions) + 1 },
		    c->decisions.entry[i].name, decisions);
	}
	for (int i = 0; i < c->codes.n; i++) {
		const struct dev_code *code = c->codes.entry[i].value;
		put(&text,
		    (struct part){ .kind = PART_CODE, .arch = code->arch, .ptx = code->ptx, .bytes = code->size },
		    c->codes.entry[i].name, code->data);
	}
	str_addn(&text, ending, sizeof ending);
	memcpy(head.magic, magic, sizeof magic);
	head.bytes = text.n;
	head.checksum = hash_bytes(1, str_text(&text) + sizeof head, text.n - sizeof head);
	*out = str_text(&text);
	memcpy(text.at, &head, sizeof head);
	*bytes = text.n;
	return 0;
}

static int damaged(const char *what, struct err *e)
{
	err_set(e, ERR_MODEL, "A compiled region is damaged: %s.", what);
	return err_advise(e, "Make the compiled model again, with ep.context_enable.");
}

static int take(struct provider_context *c, const struct part *x, const char *name, const char *data, struct err *e)
{
	switch (x->kind) {
	case PART_MODEL:
		c->model = data;
		c->model_bytes = (size_t)x->bytes;
		return 0;
	case PART_INPUT: vec_push(c->arena, &c->inputs, name); return 0;
	case PART_DECISIONS:
		if (!x->bytes || data[x->bytes - 1])
			return damaged("decisions without an end", e);
		map_put(&c->decisions, name, data);
		return 0;
	case PART_CODE: {
		struct dev_code *code = NEW(c->arena, struct dev_code);
		*code = (struct dev_code){
			.data = data, .size = (size_t)x->bytes, .arch = x->arch, .ptx = x->ptx != 0
		};
		map_put(&c->codes, name, code);
		return 0;
	}
	default: return 0; /* of a later version */
	}
}

int provider_context_read(struct provider_context *c, const void *bytes, size_t size, struct err *e)
{
	const char *at = bytes, *end = at + size;
	struct head head;
	if (size < sizeof head + sizeof ending)
		return damaged("it is too short", e);
	memcpy(&head, at, sizeof head);
	if (memcmp(head.magic, magic, sizeof magic) != 0)
		return damaged("it does not begin like one of tpat", e);
	if (head.bytes != size || memcmp(end - sizeof ending, ending, sizeof ending) != 0)
		return damaged("it was cut off", e);
	if (head.checksum != hash_bytes(1, at + sizeof head, size - sizeof head))
		return damaged("its checksum is wrong", e);
	at += sizeof head;
	end -= sizeof ending;
	c->loaded = true;
	while (at < end) {
		struct part x;
		if ((size_t)(end - at) < sizeof x)
			return damaged("a part is cut off", e);
		memcpy(&x, at, sizeof x);
		at += sizeof x;
		if ((size_t)(end - at) < x.name_bytes || (size_t)(end - at) - x.name_bytes < x.bytes)
			return damaged("a part is cut off", e);
		TRY(take(c, &x, arena_strndup(c->arena, at, x.name_bytes), at + x.name_bytes, e));
		at += x.name_bytes + x.bytes;
	}
	return c->model ? 0 : damaged("it has no model", e);
}

int provider_context_model(struct onnx_model **out, struct provider_context *c, struct err *e)
{
	TRY(onnx_model_parse(out, c->model, c->model_bytes, NULL, e));
	return onnx_model_check(*out, e);
}

int provider_context_input(const struct provider_context *c, const char *name)
{
	for (int i = 0; i < c->inputs.n; i++)
		if (strcmp(c->inputs.at[i], name) == 0)
			return i;
	return -1;
}
