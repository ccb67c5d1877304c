/* What kernels take from the device headers (rt/device): types, functions and methods with their signatures. The table
 * is device.def; a pointer to a row stands for what the row says. Names are for printers alone. */
#ifndef TPAT_IR_DEVICE_H
#define TPAT_IR_DEVICE_H

#include "ir/ir.h"

struct ir_device_header {
	const char *name;
	const struct ir_device_header *includes[3];
};

/* A template's parameter. */
enum ir_of {
	IR_OF_END,
	IR_OF_TYPE,
	IR_OF_NUMBER,
	IR_OF_TRUTH,
	IR_OF_WORD,       /* of an enumeration */
	IR_OF_MAYBE = 16, /* added: it has a default, or follows from the arguments */
};
enum { IR_OF_MOST = 8, IR_PARAMETERS_MOST = 20 };

struct ir_device_word {
	const char *name;
	const struct ir_device_header *header;
};

/* What a template is given: see IR_OF() below. */
struct ir_template {
	int n;
	struct ir_of_arg {
		enum ir_of kind;
		enum type type;
		int number; /* and of a truth: 0 or 1 */
		const struct ir_device_word *word;
	} at[IR_OF_MOST];
};
#define IR_OF(...) \
	((struct ir_template){ (int)(sizeof((const struct ir_of_arg[]){ __VA_ARGS__ }) / sizeof(struct ir_of_arg)), \
	                       { __VA_ARGS__ } })
#define IR_TYPE(t) { .kind = IR_OF_TYPE, .type = (t) }
#define IR_NUMBER(x) { .kind = IR_OF_NUMBER, .number = (x) }
#define IR_TRUTH(x) { .kind = IR_OF_TRUTH, .number = (x) }
#define IR_WORD(name) { .kind = IR_OF_WORD, .word = &device_##name }
#define IR_OF_NOTHING ((struct ir_template){ 0 })

struct ir_device_type {
	const char *name;
	const struct ir_device_header *header;
	enum ir_of of[IR_OF_MOST];
};

/* A member that kernels hand on the address of; an array of `rank`. */
struct ir_device_member {
	const char *name;
	const struct ir_device_type *of;
	int rank;
};

struct ir_device_parameter {
	enum ir_parameter_kind {
		IR_PARAMETER_END,
		IR_PARAMETER_INDEX,    /* a position, or any whole number */
		IR_PARAMETER_VALUE,    /* of any type */
		IR_PARAMETER_TRUTH,    /* bool */
		IR_PARAMETER_OBJECT,   /* by reference: of the type, an array of `rank` */
		IR_PARAMETER_VARIABLE, /* by reference: of any type, an array of `rank` */
		IR_PARAMETER_SHARED,   /* memory that a block shares, whatever has been placed there */
		IR_PARAMETER_MEMBER,   /* the address of a member of an object */
		IR_PARAMETER_READS,    /* the address of a buffer's element */
		IR_PARAMETER_WRITES,   /* the same, to be written */
		IR_PARAMETER_CALLS,    /* a function of the kernel's own, or an object in its place */
		IR_PARAMETER_MAP,      /* a tensor map */
		IR_PARAMETER_PLACE,    /* several indices: { x, y } */
		IR_PARAMETER_LOADS,    /* the address of a buffer's element, or an object in its place */
	} kind;
	const struct ir_device_type *type;
	int rank;
	bool maybe; /* it has a default, as all that follow */
};

struct ir_device_function {
	const char *name;
	const struct ir_device_header *header;
	const struct ir_device_type *method_of; /* or null */
	enum type result;                       /* TYPE_NONE: nothing, or what templates decide */
	enum ir_of of[IR_OF_MOST];
	struct ir_device_parameter parameter[IR_PARAMETERS_MOST];
};

#define HEADER(name, ...) extern const struct ir_device_header device_header_##name;
#define WORD(name, header) extern const struct ir_device_word device_##name;
#define TYPE(name, header, ...) extern const struct ir_device_type device_##name;
#define MEMBER(type, name, rank) extern const struct ir_device_member device_##type##_##name;
#define FUNCTION(name, header, result, of, ...) extern const struct ir_device_function device_##name;
#define OVERLOAD(id, name, header, result, of, ...) extern const struct ir_device_function device_##id;
#define METHOD(type, name, ...) extern const struct ir_device_function device_##type##_##name;
#include "ir/device.def"

/* All functions and methods; null behind them. And all types. */
const struct ir_device_function *const *ir_device_functions(void);
const struct ir_device_type *const *ir_device_types(void);

/* What a variable of a device type is. */
struct ir_object {
	const struct ir_device_type *type;
	struct ir_template of;
};
/* A variable of such a type, or, with ir_variable_dims(), an array of them. */
struct ir_variable *ir_object_new(struct ir_pool *p, const struct ir_device_type *type, struct ir_template of,
                                  const char *hint, ...) __attribute__((format(printf, 4, 5)));
/* Whether these are for a template with such parameters. */
bool ir_template_fits(const enum ir_of *of, const struct ir_template *given);
bool ir_template_same(const struct ir_template *a, const struct ir_template *b);

#endif
