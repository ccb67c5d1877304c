/* Names that buffers and symbols cannot have because the text form of programs reserves them. */
#include <pthread.h>
#include <string.h>

#include "base/map.h"
#include "ir/axis_names.h"

static const char *const words[] = {
	"along", "at",  "descending", "exclusive", "false", "index", "inf",  "init", "it",    "let",
	"map",   "nan", "program",    "reverse",   "scan",  "sum",   "then", "true", "value", "where",
};

/* All of them, with open addressing: every new buffer's name is looked up. */
enum { SLOTS = 1024 };
static const char *slot[SLOTS];

static const char **slot_of(const char *name)
{
	uint64_t i = hash_str(0, name) % SLOTS;
	while (slot[i] && strcmp(slot[i], name) != 0)
		i = (i + 1) % SLOTS;
	return &slot[i];
}

static void fill(void)
{
	_Static_assert(sizeof words / sizeof *words + 2 * IR_MAX_RANK + IR_OP_COUNT + TYPE_COUNT < SLOTS / 2,
	               "too full");
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		*slot_of(words[i]) = words[i];
	for (int i = 0; i < 2 * IR_MAX_RANK; i++)
		*slot_of(ir_axis_names[i % 2][i / 2]) = ir_axis_names[i % 2][i / 2];
	for (enum ir_op op = IR_ADD; op < IR_OP_COUNT; op++)
		*slot_of(ir_op_info[op].text) = ir_op_info[op].text;
	for (enum type t = TYPE_NONE + 1; t < TYPE_COUNT; t++)
		*slot_of(type_name(t)) = type_name(t);
}

bool ir_name_reserved(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, fill);
	return *slot_of(name) != NULL;
}
