/* Fields: their rules, the user's attributes, and plugins made from fields that a creator may read wrongly. */
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/number.h"
#include "base/trap.h"
#include "engine/tensorrt/host_check.h"

enum { FIELD_TYPES = 14, FLOAT16 = 0, FLOAT32 = 1, FLOAT64 = 2, INT32 = 5, CHAR = 6, BF16 = 9, INT64 = 10 };
enum { PROBE_MS = 10000, MOST_SEALED = 256, MOST_LISTED = 32 };

bool check_fields(struct checker *k, enum check_rule rule, const struct trt_fields *f, bool values)
{
	if (!f || f->count < 0 || f->count > CHECK_MOST_FIELDS || (f->count && !f->field)) {
		check_found(k, rule, "%s",
		            !f ? "it returns null"
		               : "the collection has an impossible number of fields, or none at all");
		return false;
	}
	bool good = true;
	for (int32_t i = 0; i < f->count; i++) {
		const struct trt_field *x = &f->field[i];
		const char *what = !x->name                                ? "has no name"
		                   : x->type < 0 || x->type >= FIELD_TYPES ? "has an unknown type"
		                   : x->length < 0                         ? "has a negative length"
		                   : values && x->length && !x->data       ? "has a length, but no data"
		                                                           : NULL;
		for (int32_t j = 0; j < i && !what; j++)
			if (f->field[j].name && strcmp(f->field[j].name, x->name) == 0)
				what = "has one name with another";
		if (what)
			check_found(k, RULE_FIELD, "field %d (%s) %s", (int)i, x->name ? x->name : "null", what);
		good &= !what;
	}
	return good;
}

struct trt_fields check_copy_fields(struct arena *a, const struct trt_fields *f)
{
	struct trt_field *field = NEWN(a, struct trt_field, f->count + 1);
	for (int32_t i = 0; i < f->count; i++) {
		size_t n = host_field_bytes(&f->field[i]);
		char *data = arena_alloc(a, n + 1);
		memcpy(data, f->field[i].data ? f->field[i].data : "", f->field[i].data ? n : 0);
		field[i] = f->field[i];
		field[i].name = arena_strdup(a, f->field[i].name);
		field[i].data = data;
	}
	return (struct trt_fields){ f->count, field };
}

void check_flatten(struct arena *a, struct check_saved *s)
{
	struct str out = str_new(a);
	for (int32_t i = 0; i < s->fields.count; i++) {
		const struct trt_field *f = &s->fields.field[i];
		str_printf(&out, "%s %d %d ", f->name, (int)f->type, (int)f->length);
		str_addn(&out, f->data, host_field_bytes(f));
	}
	s->bytes = str_text(&out);
	s->n = out.n;
}

/* ---- The user's attributes. */

static const struct trt_field *declared(const struct checker *k, const char *name)
{
	for (int32_t i = 0; i < k->declared->count; i++)
		if (strcmp(k->declared->field[i].name, name) == 0)
			return &k->declared->field[i];
	return NULL;
}

const char *check_declared(const struct checker *k)
{
	static const char *const type[FIELD_TYPES] = { "kFLOAT16", "kFLOAT32", "kFLOAT64", "kINT8",    "kINT16",
		                                       "kINT32",   "kCHAR",    "kDIMS",    "kUNKNOWN", "kBF16",
		                                       "kINT64",   "kFP8",     "kINT4",    "kFP4" };
	struct str out = str_new(k->arena);
	for (int32_t i = 0; i < k->declared->count && i < MOST_LISTED; i++) {
		const struct trt_field *f = &k->declared->field[i];
		str_printf(&out, "%s%s (%s)", i ? ", " : ". getFieldNames() lists ", f->name, type[f->type]);
	}
	return str_text(&out);
}

/* Like onnx-tensorrt: floats become FLOAT32, integers INT32, texts CHAR with their NUL. */
static struct trt_field attribute_of(struct arena *a, const struct trt_field *d, const char *value)
{
	bool real = d->type <= FLOAT64 || d->type == BF16;
	if (d->type == CHAR)
		return (struct trt_field){ d->name, value, CHAR, (int32_t)strlen(value) + 1 };
	int32_t n = *value != 0;
	for (const char *c = value; *c; c++)
		n += *c == ',';
	float *reals = NEWN(a, float, n + 1);
	int32_t *ints = NEWN(a, int32_t, n + 1);
	const char *at = value;
	for (int32_t i = 0; i < n; i++, at += strcspn(at, ",") + 1) {
		double x = number_read(arena_strndup(a, at, strcspn(at, ",")), NULL);
		reals[i] = (float)x;
		ints[i] = (int32_t)x;
	}
	return (struct trt_field){ d->name, real ? (void *)reals : ints, real ? FLOAT32 : INT32, n };
}

struct trt_fields check_attributes(struct checker *k)
{
	struct trt_field *field = NEWN(k->arena, struct trt_field, k->c->attributes + 1);
	int32_t n = 0;
	for (int i = 0; i < k->c->attributes; i++) {
		const char *text = k->c->attribute[i];
		size_t name = strcspn(text, "=");
		const struct trt_field *d = declared(k, arena_strndup(k->arena, text, name));
		if (d)
			field[n++] = attribute_of(k->arena, d, text[name] ? text + name + 1 : "");
		else
			check_note(k,
			           "getFieldNames() does not list %.*s: the ONNX parser leaves such an attribute out",
			           (int)name, text);
	}
	return (struct trt_fields){ n, field };
}

/* ---- Plugins from fields. */

/* Fields in memory that trap_close() takes away. */
struct sealed {
	void *part[2 * MOST_SEALED + 2];
	int parts;
	const struct trt_fields *fields;
};

static void *seal(struct sealed *s, const void *data, size_t bytes, enum check_rule beyond)
{
	void *copy = trap_new(bytes, (int)beyond);
	if (bytes)
		memcpy(copy, data, bytes);
	return s->part[s->parts++] = copy;
}

static void seal_fields(struct sealed *s, const struct trt_fields *f)
{
	struct trt_field *field = seal(s, f->field, (size_t)f->count * sizeof *field, RULE_FIELD_COUNT);
	for (int32_t i = 0; i < f->count; i++) {
		field[i].name = seal(s, f->field[i].name, strlen(f->field[i].name) + 1, RULE_FIELD_READ);
		field[i].data = seal(s, f->field[i].data, host_field_bytes(&f->field[i]), RULE_FIELD_READ);
	}
	struct trt_fields all = { f->count, field };
	s->fields = seal(s, &all, sizeof all, RULE_FIELD_COUNT);
}

void *check_create(struct checker *k, const struct trt_fields *f, int32_t phase)
{
	struct sealed s = { .parts = 0 };
	if (f->count == 0 || f->count > MOST_SEALED)
		return k->calls->make(k, f->count ? f : k->no_fields, phase);
	seal_fields(&s, f);
	void *plugin = k->calls->make(k, s.fields, phase);
	for (int i = 0; i < s.parts; i++)
		trap_close(s.part[i], RULE_FIELD_KEPT);
	return plugin;
}

const void *check_lend(struct checker *k, const void *data, size_t bytes)
{
	if (k->lent)
		trap_free(k->lent);
	k->lent = trap_new(bytes, RULE_DESCRIBED);
	return memcpy(k->lent, data, bytes);
}

void check_took(struct checker *k)
{
	trap_close(k->lent, RULE_DESCRIBED);
}

/* ---- Probes. */

struct probe {
	struct checker *k;
	const struct trt_fields *fields;
};

static void probe(void *arg, int fd)
{
	const struct probe *p = arg;
	struct checker *k = p->k;
	k->probe = fd;
	alarm(PROBE_MS / 1000);
	check_create(k, p->fields, TRT_PHASE_BUILD);
}

/* True if a creator reads these fields beyond their end. What else becomes of the process is no matter: a creator may
 * refuse such fields in its own way. */
static bool reads_beyond(struct checker *k, const struct trt_fields *f)
{
	struct probe p = { k, f };
	struct child process;
	struct err e = { 0 };
	char rule = 0;
	bool ready = false;
	if (child_start(&process, probe, &p, NULL, &e) < 0)
		return false;
	child_wait(&process.fd, &ready, 1, PROBE_MS);
	if (ready && child_receive(process.fd, &rule, 1) == 0)
		rule = 0;
	child_kill(&process, NULL);
	return rule == RULE_FIELD_READ;
}

/* The type that the ONNX parser gives a field of this type; the same if there is no narrower one. */
static int32_t parser_type(int32_t type)
{
	return type == INT64 ? INT32 : type == FLOAT64 ? FLOAT32 : type;
}

void check_probe_fields(struct checker *k, const struct check_saved *saved)
{
	const struct trt_fields *from = k->given.count ? &k->given : &saved->fields;
	struct trt_fields f = check_copy_fields(k->arena, from);
	struct trt_field *field = (struct trt_field *)(uintptr_t)f.field;
	check_step(k, k->calls->create);
	for (int32_t i = 0; i < f.count && f.count <= MOST_SEALED; i++) {
		const struct trt_field whole = field[i], *d = declared(k, whole.name);
		if (!d)
			continue;
		field[i].type = parser_type(d->type);
		if (field[i].type != d->type && reads_beyond(k, &f))
			check_found(k, RULE_FIELD_READ,
			            "it reads 8 bytes of each element of field %s, which is %s here", whole.name,
			            field[i].type == INT32 ? "kINT32" : "kFLOAT32");
		field[i] = whole;
		if (d->length == 1) /* a single number, which the parser always passes with length 1 */
			continue;
		field[i].length = 0;
		if (reads_beyond(k, &f))
			check_found(k, RULE_FIELD_READ, "it reads field %s, which has length 0 here", whole.name);
		field[i] = whole;
	}
}
