/* The types, functions and methods of the device headers (rt/device) that kernels use, with their signatures. The table
 * is device.def; a pointer to a row identifies its entry. Names are for printers only. */
#ifndef TPAT_IR_DEVICE_H
#define TPAT_IR_DEVICE_H

#include "ir/ir.h"

struct ir_device_header {
	const char *name;
	const struct ir_device_header *includes[3];
};

/* Kind of a template parameter. */
enum ir_of {
	IR_OF_END,
	IR_OF_TYPE,
	IR_OF_NUMBER,
	IR_OF_TRUTH,
	IR_OF_WORD,       /* of an enumeration */
	IR_OF_MAYBE = 16, /* flag: it has a default, or is deduced from the arguments */
};
enum { IR_OF_MOST = 8, IR_PARAMETERS_MOST = 22 /* and an end */ };

struct ir_device_word {
	const char *name;
};

/* Template arguments: see IR_OF() below. */
struct ir_template {
	int n;
	struct ir_of_arg {
		enum ir_of kind;
		enum type type;
		int number; /* for IR_OF_TRUTH: 0 or 1 */
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

/* A member whose address kernels pass on; an array of `rank`. */
struct ir_device_member {
	const char *name;
	const struct ir_device_type *of;
	int rank;
};

struct ir_device_parameter {
	enum ir_parameter_kind {
		IR_PARAMETER_END,
		IR_PARAMETER_INDEX,    /* a position, or any integer */
		IR_PARAMETER_VALUE,    /* of any type */
		IR_PARAMETER_TRUTH,    /* bool */
		IR_PARAMETER_OBJECT,   /* by reference: of that type, an array of `rank` */
		IR_PARAMETER_VARIABLE, /* by reference: of any type, an array of `rank` */
		IR_PARAMETER_SHARED,   /* any variable in shared memory */
		IR_PARAMETER_MEMBER,   /* the address of a member of an object */
		IR_PARAMETER_READS,    /* the address of a buffer's element, to read */
		IR_PARAMETER_WRITES,   /* the address of a buffer's element, to write */
		IR_PARAMETER_CALLS,    /* a lambda, or an object in its place */
		IR_PARAMETER_MAP,      /* a tensor map */
		IR_PARAMETER_PLACE,    /* several indices: { x, y } */
		IR_PARAMETER_LOADS,    /* the address of a buffer's element, or an object in its place */
	} kind;
	const struct ir_device_type *type;
	int rank;
	bool maybe; /* it has a default, as all later ones do */
};

struct ir_device_function {
	const char *name;
	const struct ir_device_header *header;
	const struct ir_device_type *method_of; /* or null */
	enum type result;                       /* TYPE_NONE: void, or dependent on the templates */
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

/* All functions and methods, and all types. null ends each list. */
const struct ir_device_function *const *ir_device_functions(void);
const struct ir_device_type *const *ir_device_types(void);

/* The type of a variable that is a device object. */
struct ir_object {
	const struct ir_device_type *type;
	struct ir_template of;
};
/* Returns a variable of such a type; ir_variable_dims() makes it an array. */
struct ir_variable *ir_object_new(struct ir_pool *p, const struct ir_device_type *type, struct ir_template of,
                                  const char *hint, ...) __attribute__((format(printf, 4, 5)));
/* True if the arguments fit a template with these parameters. */
bool ir_template_fits(const enum ir_of *of, const struct ir_template *given);
bool ir_template_same(const struct ir_template *a, const struct ir_template *b);

#endif
