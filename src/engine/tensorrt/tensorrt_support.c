/* TensorRT's support for element types, at a plugin's inputs and outputs and in a network, and for nodes, from a
 * measured table. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "engine/tensorrt/tensorrt.h"
#include "ops/lower/op.h"

enum class { FULL, PARTLY, NEVER };

static const struct row {
	const char *domain, *op;
	enum class class;
	uint32_t refused;
	const char *conditions, *note;
} rows[] = {
#define TRT(domain, op, class, refused, conditions, note) { domain, op, class, refused, conditions, note },
#include "engine/tensorrt/tensorrt_support.def"
#undef TRT
};

/* Differences between releases of the full TensorRT: from `since` to before `until`, as 1003 for 10.3. */
static const struct change {
	struct row row;
	int since, until;
} changes[] = {
#define TRT(domain, op, since, until, class, refused, conditions, note) \
	{ { domain, op, class, refused, conditions, note }, since, until },
#include "engine/tensorrt/tensorrt_changes.def"
#undef TRT
};

/* 1003 for 10.3, 806 for 8.6; 0: none is named. Source: NvInferVersion.h, whose numbers have three digits for 8 and 9,
 * and four after that. */
static int release_of(int32_t version)
{
	return version >= 100000 ? version / 100 : version / 1000 * 100 + version % 1000 / 100;
}

static const struct row *row_find(const char *domain, const char *op, int32_t version)
{
	int release = release_of(version);

	for (size_t i = 0; release && i < sizeof changes / sizeof *changes; i++)
		if (release >= changes[i].since && release < changes[i].until && strcmp(changes[i].row.op, op) == 0 &&
		    strcmp(changes[i].row.domain, domain) == 0)
			return &changes[i].row;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].op, op) == 0 && strcmp(rows[i].domain, domain) == 0)
			return &rows[i];
	return NULL;
}

/* True if TensorRT has the type. */
static bool has_type(enum type t)
{
	switch (t) {
	case TYPE_F32:
	case TYPE_F16:
	case TYPE_BF16:
	case TYPE_I8:
	case TYPE_I32:
	case TYPE_I64:
	case TYPE_BOOL:
	case TYPE_U8:
	case TYPE_F8E4M3FN:
	case TYPE_I4:
	case TYPE_F4E2M1: return true;
	default: return false;
	}
}

/* TensorRT 8 imports int64 tensors of a model as INT32, and 9 can. Of the types that came later, plugins of these
 * versions have none. */
enum type tensorrt_edge(const struct engine_version *v, enum type t)
{
	bool old = tensorrt_is_old(v);

	if (!has_type(t) || (old && (t == TYPE_BF16 || t == TYPE_F8E4M3FN || t == TYPE_I4 || t == TYPE_F4E2M1)))
		return TYPE_NONE;
	return t == TYPE_BOOL || t == TYPE_U8 || (old && t == TYPE_I64) ? TYPE_I32 : t;
}

/* Networks of TensorRT 8 and 9 need a scale for each INT8 tensor, as do those of 10 that are weakly typed. */
enum type tensorrt_exchange(const struct engine_version *v, enum type t)
{
	bool fits = t == TYPE_BOOL || t == TYPE_U8 || t == TYPE_U4 || t == TYPE_U2 || t == TYPE_I2;

	return fits && !tensorrt_is_old(v) ? TYPE_I8 : TYPE_NONE;
}

/* True if `text` is one of "first|second"; the list ends at a blank or at the end. */
static bool is_listed(const char *list, const char *text, size_t n)
{
	for (size_t len;; list += len + 1) {
		len = strcspn(list, "| ");
		if (len == n && strncmp(list, text, n) == 0)
			return true;
		if (list[len] != '|')
			return false;
	}
}

/* Cast and Equal may read a network input of 8 bits; all other layers refuse it. */
bool tensorrt_takes_type(const Onnx__NodeProto *node, enum type t)
{
	const char *op = onnx_text(node->op_type);
	return has_type(t) && (t != TYPE_U8 || strncmp(op, "Cast", 4) == 0 || strcmp(op, "Equal") == 0);
}

/* The type of an output of a few bits that only quantisation, constants and what moves elements may write; TYPE_NONE:
 * there is none. Plugins may, too. Source: the builder's own message. */
static enum type quantized_output(const struct engine_node *n)
{
	static const char writers[] =
	        "QuantizeLinear|Constant|ConstantOfShape|Concat|Reshape|Transpose|Flatten|Squeeze|"
	        "Unsqueeze|DepthToSpace|SpaceToDepth|Identity|DequantizeLinear|If|Loop|Scan";
	const char *op = onnx_text(n->proto->op_type);
	if (n->inside || is_listed(writers, op, strlen(op)))
		return TYPE_NONE;
	for (size_t i = 0; i < n->proto->n_output; i++) {
		enum type t = n->value[n->proto->n_input + i].type;
		if (t == TYPE_F8E4M3FN || t == TYPE_I4 || t == TYPE_F4E2M1)
			return t;
	}
	return TYPE_NONE;
}

const char *tensorrt_lack(const struct engine_version *v, enum type t, const char **advice, struct arena *a)
{
	if (tensorrt_is_old(v) && has_type(t)) {
		*advice = "Convert the model to float or float16, keep the tensor inside a plugin (--region), or use "
		          "TensorRT "
		          "10 or later.";
		return arena_printf(a, "plugins of TensorRT %s have no %s", v->name, type_info(t)->onnx_name);
	}
	*advice = "Convert the model to types that TensorRT has (float, float16, bfloat16, int8, int32, int64, bool), "
	          "or keep this node outside the engine.";
	if (type_is_packed(t) || t == TYPE_F8E8M0)
		*advice = "Make one plugin of the nodes that write and read this tensor (--region), so that it stays "
		          "inside, or use int4 or float4e2m1, which TensorRT has.";
	/* Its DataType E8M0, of 10.12, is for its own layers: no tensor of a model can have it (measured,
	 * tensorrt_support.def). */
	return arena_printf(a, t == TYPE_F8E8M0 ? "TensorRT's parser does not accept %s" : "TensorRT has no %s",
	                    type_info(t)->onnx_name);
}

static bool attribute_holds(const Onnx__NodeProto *node, const char *name, const char *values)
{
	const Onnx__AttributeProto *a = onnx_attr(node, name);
	char text[32];

	if (!a)
		return true;
	switch (onnx_attr_type(a)) {
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING: return is_listed(values, (const char *)a->s.data, a->s.len);
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
		snprintf(text, sizeof text, "%lld", (long long)a->i);
		return is_listed(values, text, strlen(text));
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
		number_snprintf(text, sizeof text, "%g", (double)a->f);
		return is_listed(values, text, strlen(text));
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
		for (size_t i = 0; i < a->n_ints; i++) {
			snprintf(text, sizeof text, "%lld", (long long)a->ints[i]);
			if (!is_listed(values, text, strlen(text)))
				return false;
		}
		return true;
	default: return false;
	}
}

static bool inputs_known(const struct engine_node *n)
{
	for (size_t i = 1; i < n->proto->n_input; i++)
		if (*n->value[i].name && !n->value[i].known)
			return false;
	return true;
}

/* True if all inputs but the first are absent, of this type, or of one that is not known. */
static bool rest_is(const struct engine_node *n, enum type t)
{
	for (size_t i = 1; i < n->proto->n_input; i++)
		if (*n->value[i].name && n->value[i].type && n->value[i].type != t)
			return false;
	return true;
}

static bool has_zero(const struct engine_node *n, size_t input)
{
	return input >= n->proto->n_input || !*n->value[input].name || n->value[input].zero;
}

static bool one_output(const Onnx__NodeProto *node)
{
	int outputs = 0;

	for (size_t i = 0; i < node->n_output; i++)
		outputs += *node->output[i] != 0;
	return outputs <= 1;
}

static bool condition_holds(const struct engine_node *e, const char *condition)
{
	const Onnx__NodeProto *node = e->proto;
	const Onnx__AttributeProto *equation = onnx_attr(node, "equation");
	enum type first = node->n_input ? e->value[0].type : TYPE_NONE;
	char name[64];
	size_t n = strcspn(condition, "= ");

	if (is_listed("const", condition, n))
		return inputs_known(e);
	if (is_listed("outputs", condition, n))
		return one_output(node);
	if (is_listed("rest", condition, n))
		return rest_is(e, TYPE_I64);
	if (is_listed("zero", condition, n))
		return has_zero(e, 2);
	if (is_listed("no_vector_of_batch", condition, n))
		return node->n_input != 2 || e->value[0].rank != 1 || e->value[1].rank <= 2;
	if (is_listed("floats_known", condition, n))
		return !type_is_float(first) || (e->value[0].known && inputs_known(e));
	if (is_listed("rank", condition, n))
		return node->n_input && e->value[0].rank == condition[n + 1] - '0';
	if (is_listed("axes_given", condition, n))
		return node->n_input > 1 || onnx_attr(node, "axes");
	if (is_listed("plain", condition, n))
		return equation && !memchr(equation->s.data, '.', equation->s.len);
	if (is_listed("fmod_of_floats", condition, n))
		return !type_is_float(first) || (onnx_attr(node, "fmod") && onnx_attr(node, "fmod")->i == 1);
	ck(n < sizeof name && condition[n] == '=');
	memcpy(name, condition, n);
	name[n] = 0;
	return attribute_holds(node, name, condition + n + 1);
}

static bool conditions_hold(const struct engine_node *n, const char *conditions)
{
	for (const char *c = conditions; *c; c += strcspn(c, " "), c += *c == ' ')
		if (!condition_holds(n, c))
			return false;
	return true;
}

enum engine_support tensorrt_support(const struct engine_node *n, const char **reason, struct arena *a)
{
	const char *domain = onnx_domain(n->proto->domain), *op = onnx_text(n->proto->op_type);
	const struct row *row = row_find(n->domain, op, n->version);
	enum type first = n->value && n->proto->n_input ? n->value[0].type : TYPE_NONE;

	*reason = "";
	if (!row && strcmp(n->domain, OP_ANY_DOMAIN) == 0) {
		*reason = arena_printf(a, "TensorRT runs %s only as a plugin from a library.", op);
		return ENGINE_NO;
	}
	if (!row) {
		*reason = arena_printf(a, "TensorRT does not know %s%s%s.", domain, *domain ? "." : "", op);
		return ENGINE_NO;
	}
	if (row->class == NEVER) {
		*reason = arena_printf(a, "TensorRT does not support %s: %s.", op, row->note);
		return ENGINE_NO;
	}
	if (first && first < 32 && row->refused & 1u << first) {
		*reason = arena_printf(a, "TensorRT does not support %s of type %s.", op, type_info(first)->onnx_name);
		return ENGINE_NO;
	}
	enum type few = strcmp(n->domain, OP_ANY_DOMAIN) == 0 ? TYPE_NONE : quantized_output(n);
	if (few) {
		*reason = arena_printf(a, "TensorRT makes tensors of type %s by QuantizeLinear only.",
		                       type_info(few)->onnx_name);
		return ENGINE_NO;
	}
	bool holds = n->inside || conditions_hold(n, row->conditions);
	if (holds && row->class != PARTLY)
		return ENGINE_YES;
	*reason = arena_printf(a, "TensorRT supports %s only partly: %s.", holds ? op : arena_printf(a, "this %s", op),
	                       row->note);
	return holds ? ENGINE_PARTLY : ENGINE_NO;
}
