/* Sequences and optional values of known contents, resolved into tensors. Only files of src/graph/ include this.
 *
 * A round (graph_resolve.c) walks all graphs of the model in order. It follows what each sequence holds
 * (graph_sequence.c), and puts plain nodes in place of those that read one: the producers then are unread, and are
 * dropped. Loops, branches and functions that pass sequences on are taken apart (graph_expand.c). What a round makes
 * has shapes in the next one. */
#ifndef TPAT_GRAPH_GRAPH_SEQUENCE_H
#define TPAT_GRAPH_GRAPH_SEQUENCE_H

#include "graph/graph_plain.h"

enum seq_kind {
	SEQ_ONE,    /* the tensor itself */
	SEQ_STACK,  /* its slices along `axis`, without that axis */
	SEQ_CHUNKS, /* pieces of `size` along `axis`; the last one may be shorter */
	SEQ_LIST,   /* pieces of the extents in the tensor `sizes` along `axis` */
	SEQ_STATE,  /* unknown elements: a loop's state before the turn */
};
struct seq_part {
	enum seq_kind kind;
	const char *tensor;
	int axis, rank; /* of the tensor */
	int64_t size;   /* of chunks; -1: it is the scalar `sizes` */
	const char *sizes;
	int64_t count;               /* elements; -1: unknown */
	const char **element;        /* their tensors, once made; null: none is */
	struct resolve_scope *scope; /* where the sequence was made */
};
struct seq {
	VEC(struct seq_part *);
	const char *stacked; /* a tensor of all elements along a new first axis, once made */
};

/* The tensor, sequence or optional value of a name. */
struct resolve_name {
	const char *name; /* the tensor, or the sequence as the nodes that make it call it */
	struct seq *seq;  /* null: a tensor, or a sequence of which nothing is known */
	bool nothing;     /* an optional value without an element */
	bool optional;    /* an optional value, whose element is the rest of this */
};

struct resolve {
	struct graph *root; /* as it was before the round */
	struct onnx_model *model;
	struct arena *arena; /* the model's; a round leaves only nodes in it */
	int opset;
	bool force;       /* no other way is left: take long loops apart, too */
	struct map stuck; /* nodes of the main graph that are taken apart if that is possible, by address */
	int changes;      /* in this round */
	int nodes;        /* copied in this round */
};

/* A graph while its nodes are walked. */
struct resolve_scope {
	struct resolve *r;
	struct resolve_scope *outer;
	struct graph *g; /* null: of a body that was copied in this round */
	Onnx__GraphProto *proto;
	struct map names; /* struct resolve_name */
	struct map read;  /* names that its nodes read before */
	struct map given; /* names that its nodes made before */
	struct {
		VEC(Onnx__NodeProto *);
	} nodes; /* the new ones */
};

/* ---- graph_resolve_names.c */
struct resolve_name resolve_find(const struct resolve_scope *s, const char *name);
struct graph_value *resolve_value(const struct resolve_scope *s, struct graph **in, const char *name); /* or null */
/* Sets *x to a constant of one element; false: it is none. */
bool resolve_int(const struct resolve_scope *s, const char *name, int64_t *x);
void resolve_define(struct resolve_scope *s, const char *name, struct resolve_name what);
/* The same, for the result of a node that goes: adds Identity if the graph has it as an output. Counts a change. */
void resolve_give(struct resolve_scope *s, const char *name, struct resolve_name what);
void resolve_give_tensor(struct resolve_scope *s, const char *name, const char *tensor);
/* The same of a tensor that nothing else reads: the last node, a Concat, may make it under that name. */
void resolve_give_last(struct resolve_scope *s, const char *name, const char *tensor);
/* Writes nodes at the place of the walk. */
struct plain resolve_begin(const struct resolve_scope *s, const char *stem);
void resolve_end(struct resolve_scope *s, struct plain *p);
/* Keeps a node as it is, with its inputs renamed. */
void resolve_keep(struct resolve_scope *s, Onnx__NodeProto *n);

/* ---- graph_resolve.c */
/* Walks a node: keeps it, with its inputs renamed, or puts others in its place. */
void resolve_node(struct resolve_scope *s, Onnx__NodeProto *n);
/* Walks a body: begin, then what the caller does with its outputs, then finish. */
void resolve_body(struct resolve_scope *inner, struct resolve_scope *s, Onnx__GraphProto *body);
void resolve_walk(struct resolve_scope *inner);
void resolve_finish(struct resolve_scope *inner);
/* Drops what nothing reads any more. */
void resolve_sweep(struct resolve_scope *s);
struct graph *resolve_graph(const struct resolve *r, const Onnx__GraphProto *p); /* null: copied in this round */
/* True if anything in the message makes, changes or reads sequences or optional values. */
bool resolve_holds(struct onnx_model *m, ProtobufCMessage *message);
/* True if the node is to be taken apart because it is not supported as it is. */
bool resolve_is_stuck(const struct resolve_scope *s, const Onnx__NodeProto *n);
bool resolve_is_sequence_type(const Onnx__ValueInfoProto *v); /* or an optional one */

/* ---- graph_sequence.c */
/* True if the node is gone or its sequence known; false: keep it. */
bool seq_node(struct resolve_scope *s, Onnx__NodeProto *n);
bool seq_is_operator(const Onnx__NodeProto *n);
int64_t seq_count(const struct seq *q); /* -1: unknown */
/* The tensor of element k, 0 <= k < seq_count() or in a last part of unknown count; null: not possible. */
const char *seq_element(struct resolve_scope *s, struct seq *q, int64_t k);
/* All elements along an axis, or along a new one; null: not possible. */
const char *seq_join(struct resolve_scope *s, struct seq *q, const char *stem, int axis, bool new_axis);
struct seq *seq_new(struct resolve_scope *s);
struct seq_part *seq_add(struct resolve_scope *s, struct seq *q, enum seq_kind kind, const char *tensor, int64_t count);

/* ---- graph_expand_copy.c */
/* True if that many copies of the nodes may be made in this round. */
bool expand_has_room(const struct resolve_scope *s, size_t nodes, int64_t times);
/* Walks copies of these nodes in this scope; copies a body's initializers to the scope's graph. */
void expand_nodes(struct resolve_scope *s, struct onnx_copy *c, Onnx__NodeProto *const *node, size_t n);
void expand_initializers(struct resolve_scope *s, struct onnx_copy *c, const Onnx__GraphProto *g);
/* The number of a turn, with as many axes as the body declares: none or one. */
const char *expand_turn_number(struct plain *p, const Onnx__GraphProto *body, int64_t k);
struct resolve_name expand_copied(const struct resolve_scope *s, const struct onnx_copy *c, const char *name);

/* ---- graph_expand.c. True if the node is dealt with. */
bool expand_call(struct resolve_scope *s, Onnx__NodeProto *n);
bool expand_if(struct resolve_scope *s, Onnx__NodeProto *n);
bool expand_loop(struct resolve_scope *s, Onnx__NodeProto *n);
bool expand_map(struct resolve_scope *s, Onnx__NodeProto *n);
/* Nodes that follow the one that is walked: they make the sequence of its tensors, for what still reads it. */
struct resolve_later {
	VEC(Onnx__NodeProto *);
};
/* ---- graph_expand_list.c: makes tensors of a loop's states that are sequences of a known length, which each turn
 * keeps. False if there is none. */
bool expand_lists(struct resolve_scope *s, Onnx__NodeProto *n, Onnx__GraphProto *body, struct resolve_later *later);

/* ---- graph_expand_turn.c: puts the first turn of a loop before it. False if it is unknown whether there is one. */
bool expand_turn(struct resolve_scope *s, Onnx__NodeProto *n, Onnx__GraphProto *body);

#endif
