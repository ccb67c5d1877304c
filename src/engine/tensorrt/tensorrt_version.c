/* The TensorRT version that a build targets. Up to 10.6 the parser prefers a node's local function over its plugin,
 * from 10.7 on the plugin. 10.0 is the first version with IPluginV3; 8.5 to 9.3 use the library's V2 plugins. */
#include "engine/tensorrt/tensorrt.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "tpat/tpat_abi.h"

enum { LAST_MAJOR = 11, LAST_FUNCTIONS_FIRST = 6, FIRST_SHAPE_INPUTS = 1 };

struct number {
	int major, minor;
};

static int wrong(const char *text, struct err *e)
{
	err_set(e, ERR_USAGE, "\"%s\" is not a TensorRT version that tpat knows.", text);
	return err_advise(e, "Write 8.5 to 11.x, for example --tensorrt 10.3, or rtx for TensorRT-RTX.");
}

/* "10", "10.3", "10.3.0.30": the rest after the second number is ignored. */
static bool read_number(struct number *t, const char *text)
{
	char *end;
	if (!ascii_is_digit(*text))
		return false;
	t->major = (int)strtol(text, &end, 10);
	if (*end == '.' && ascii_is_digit(end[1]))
		t->minor = (int)strtol(end + 1, &end, 10);
	return strspn(end, ".0123456789") == strlen(end) && !str_ends(text, ".") && t->major < 1000 && t->minor < 1000;
}

/* As getInferLibVersion() returns it: 8601, 100300. */
static int32_t encode(const struct number *n)
{
	return n->major < 10 ? n->major * 1000 + n->minor * 100 : n->major * 10000 + n->minor * 100;
}

bool tensorrt_is_old(const struct engine_version *v)
{
	return trt_form(v->number) == 8;
}

int tensorrt_version(struct engine_version *v, const char *text, struct err *e)
{
	struct number n = { 0 };
	*v = (struct engine_version){
		.name = text,
		.runs = "TensorRT 10 and 11",
		.note = "# For TensorRT 10.7 and later; for an older one, such as JetPack 6's, build with --tensorrt "
		        "10.3.",
	};
	if (!text)
		return 0;
	if (strcmp(text, "rtx") == 0) {
		v->note = "# This is for TensorRT 10.7 and later. TensorRT-RTX 1.7 cannot run plugins: load no library "
		          "there.";
		v->warning = "TensorRT-RTX 1.7 cannot run plugins: its networks do not accept them, and its parser "
		             "aborts the process. Without the library it runs the original operators.";
		return 0;
	}
	if (!read_number(&n, text) || n.major > LAST_MAJOR || n.major < 5)
		return wrong(text, e);
	v->number = encode(&n);
	if (!trt_form(v->number)) {
		err_set(e, ERR_UNSUPPORTED, "TensorRT %s is too old for tpat's plugins: use TensorRT 8.5 or later.",
		        text);
		return err_advise(e,
		                  "Name the version that builds the engine; JetPack 5.1 has --tensorrt 8.5, JetPack 6 "
		                  "has 10.3.");
	}
	if (tensorrt_is_old(v)) {
		v->no_functions = true;
		v->no_layouts = true;
		v->runs = "TensorRT 8.5 to 11";
		v->shape_inputs = "TensorRT passes these to plugins from 10.1 on";
		v->sizes = "plugins can do that from TensorRT 10.0 on";
		v->note = "# For TensorRT 8.5 to 9.3, and for 10 and 11. Versions before 10.7 prefer functions to "
		          "plugins, so "
		          "this model has none.";
	}
	if (n.major == 10 && n.minor <= LAST_FUNCTIONS_FIRST) {
		v->no_functions = true;
		v->note = "# For TensorRT 10.0 and later. Versions before 10.7 prefer functions to plugins, so this "
		          "model has none.";
	}
	if (n.major == 10 && n.minor < FIRST_SHAPE_INPUTS)
		v->shape_inputs = "TensorRT passes these to plugins from 10.1 on";
	return 0;
}
