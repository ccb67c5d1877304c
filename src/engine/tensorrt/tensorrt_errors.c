/* Texts of errors that users meet, with cause and fix: the table in tensorrt_errors.def. */
#include "engine/tensorrt/tensorrt.h"

const struct engine_error tensorrt_errors[] = {
#define ERROR(text, from, cause, fix) { text, from, cause, fix },
#include "engine/tensorrt/tensorrt_errors.def"
#undef ERROR
	{ NULL, NULL, NULL, NULL },
};
