/* Inside src/sched/: constructors of kernel statements. */
#ifndef TPAT_SCHED_EMIT_H
#define TPAT_SCHED_EMIT_H

#include "sched/rule.h"

/* Each function appends a statement to block `b`; memory is the program's. The result identifies a variable; `name` is
 * a hint for the printer; "": it takes a word for the value, such as "total". */
struct ir_stmt *emit(struct ir_program *p, struct ir_block *b, enum ir_stmt_kind kind);
expr emit_declare(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent);
/* Declares a mutable variable. */
expr emit_variable(struct ir_program *p, struct ir_block *b, const char *name, expr first);
/* A variable for the combination of values so far, named after it: at first, of none. */
expr emit_combination(struct ir_program *p, struct ir_block *b, enum ir_combine c, enum type t);
/* Like emit_declare, which returns numbers and variables as they are, but always declares. */
expr emit_constant(struct ir_program *p, struct ir_block *b, const char *name, expr value, expr extent);
/* The same for an existing variable. */
expr emit_define(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr value, expr extent);
expr emit_define_variable(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr first);
void emit_assign(struct ir_program *p, struct ir_block *b, expr variable, expr value);
/* Returns the loop's body, and its variable of that extent. */
struct ir_block *emit_loop(struct ir_program *p, struct ir_block *b, const char *name, expr from, expr to, expr step,
                           expr extent, expr *variable);
struct ir_block *emit_for_each(struct ir_program *p, struct ir_block *b, const struct ir_variable *v, expr from,
                               expr to, expr step);
struct ir_block *emit_if(struct ir_program *p, struct ir_block *b, expr cond);
void emit_return_if(struct ir_program *p, struct ir_block *b, expr cond);
void emit_store(struct ir_program *p, struct ir_block *b, const struct ir_buffer *buf, expr at, expr value);
/* The same for a buffer of rank 1: the block's shared memory, or a flat_view(). */
void emit_store_flat(struct ir_program *p, struct ir_block *b, const struct ir_buffer *view, expr at, expr value);
/* v = combination of v over `lanes` neighbouring threads. The pointer is valid until the block's next statement. */
struct ir_lanes *emit_lanes_combine(struct ir_program *p, struct ir_block *b, const struct ir_variable *v,
                                    enum ir_combine c, int lanes);
/* Inclusive scan over `lanes` threads: part = combination of `sum` and of part up to this thread; sum = the total. */
void emit_lanes_scan(struct ir_program *p, struct ir_block *b, expr part, expr sum, enum ir_combine c, int lanes);
/* The same for an array of items per thread: a warp's items are contiguous, `columns` neighbours per thread. */
void emit_items_scan(struct ir_program *p, struct ir_block *b, const struct ir_variable *items, expr sum,
                     enum ir_combine c, int lanes, int columns, bool exclusive);
void emit_comment(struct ir_program *p, struct ir_block *b, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Lambdas, whose bodies the caller fills. All from here on is for CUDA only. */
struct ir_lambda *emit_lambda(struct ir_program *p, struct ir_block *b, const char *name);
expr emit_parameter(struct ir_program *p, struct ir_lambda *lambda, enum type t, const char *name, expr extent);
const struct ir_variable *emit_array_parameter(struct ir_program *p, struct ir_lambda *lambda, enum type t,
                                               const char *name, int n);
void take_parameter(struct ir_program *p, struct ir_lambda *lambda, const struct ir_variable *v);
/* The lambda returns f(value) instead of its value. */
void lambda_through(struct ir_program *p, struct ir_lambda *lambda, const struct ir_device_function *f,
                    struct ir_template of);

/* Declare a variable, an array (array_of()) or an object of the device headers (ir_object_new()): local to the thread;
 * local and zeroed; in shared memory; in dynamic shared memory, after variable `after`, or at its start if that is
 * null. */
struct ir_variable *array_of(struct ir_variable *v, int n);
struct ir_variable *array_of_rows(struct ir_variable *v, int rows, int n);
const struct ir_variable *emit_local(struct ir_program *p, struct ir_block *b, struct ir_variable *v);
const struct ir_variable *emit_zeros(struct ir_program *p, struct ir_block *b, struct ir_variable *v);
const struct ir_variable *emit_shared(struct ir_program *p, struct ir_block *b, struct ir_variable *v);
const struct ir_variable *emit_placed(struct ir_program *p, struct ir_block *b, struct ir_variable *v,
                                      const struct ir_variable *after);

/* A call of a function of the device headers; its arguments are added one by one. */
struct ir_call *emit_invoke(struct ir_program *p, struct ir_block *b, const struct ir_device_function *f,
                            struct ir_template of);
struct ir_call *emit_method(struct ir_program *p, struct ir_block *b, const struct ir_variable *object,
                            const struct ir_device_function *f);
/* Declares a variable for the call's result; adds a nested call as the next argument. */
const struct ir_variable *take_result(struct ir_program *p, struct ir_call *call, const char *name);
struct ir_call *add_call(struct ir_program *p, struct ir_call *call, const struct ir_device_function *f,
                         struct ir_template of);
void add_variable(struct ir_program *p, struct ir_call *call, const struct ir_variable *v);     /* by reference */
void add_item(struct ir_program *p, struct ir_call *call, const struct ir_variable *v, expr i); /* v[i] */
void add_item_of_row(struct ir_program *p, struct ir_call *call, const struct ir_variable *v, expr row, expr i);
/* &v.member[at], or of v[i]; `i` and `at` may be null. */
void add_member(struct ir_program *p, struct ir_call *call, const struct ir_variable *v, expr i,
                const struct ir_device_member *member, expr at);
void add_value(struct ir_program *p, struct ir_call *call, expr value);
void add_place(struct ir_program *p, struct ir_call *call, int n, const expr *index);
void add_address(struct ir_program *p, struct ir_call *call, const struct ir_buffer *b, expr at, bool written);
/* A temporary object, constructed from `value` or, if that is null, without arguments. */
void add_object(struct ir_program *p, struct ir_call *call, const struct ir_device_type *type, struct ir_template of,
                expr value);

#endif
