/* The part that RNN, GRU and LSTM share: inputs, directions and lengths, activations, and the loop over steps.
 *
 * Extents: T steps, B sequences, D directions, I inputs, H hidden values, N = gates * H. All directions run in one
 * loop, each from its own end of each sequence. A sequence that has ended keeps its states, and its outputs are zero.
 */
#ifndef TPAT_OPS_RECURRENT_H
#define TPAT_OPS_RECURRENT_H

#include "ops/lower/lower.h"

enum { RECURRENT_FUNCTIONS = 3 };

enum recurrent_formula {
	RECURRENT_RELU,
	RECURRENT_TANH,
	RECURRENT_SIGMOID,
	RECURRENT_AFFINE,
	RECURRENT_LEAKY_RELU,
	RECURRENT_THRESHOLDED_RELU,
	RECURRENT_SCALED_TANH,
	RECURRENT_HARD_SIGMOID,
	RECURRENT_ELU,
	RECURRENT_SOFTSIGN,
	RECURRENT_SOFTPLUS,
};

struct recurrent_function {
	enum recurrent_formula formula;
	double alpha, beta;
};

struct recurrent {
	struct lower *l;
	struct value x, w, r, b, lens; /* b, lens: optional */
	enum type type, compute;       /* the elements' type; the compute type */
	bool reverse, both;            /* the first direction runs backwards; there are two directions */
	bool batch_first;              /* layout 1 */
	bool quantized;                /* weights are 8-bit integers, [D,I,N] and [D,H,N] */
	expr directions, steps, sequences, inputs, hidden, gates;   /* gates: N */
	struct recurrent_function function[2][RECURRENT_FUNCTIONS]; /* by direction */
	double clip;                                                /* 0: none */
	/* The loop. */
	struct lower_loop loop;
	struct space s; /* D, B, H */
	expr running;   /* the condition that the sequence has not ended; null: always true */
};

#define RECURRENT_ATTRS \
	ATTR_FLOATS("activation_alpha", "numbers of the activations that take an alpha, in their order"), \
	        ATTR_FLOATS("activation_beta", "numbers of the activations that take a beta, in their order"), \
	        ATTR_STRINGS("activations", \
	                     "of one direction, then of the other: Relu, Tanh, Sigmoid, Affine, LeakyRelu ..."), \
	        ATTR_FLOAT("clip", 0, "bound of what goes into activations; 0: none"), \
	        ATTR_WORD("direction", "forward|reverse|bidirectional", "in which the steps are taken"), \
	        ATTR_INT("hidden_size", 0, "H; the weights' shape says it too"), \
	        ATTR_INT("layout", 0, "1: x is [B,T,I], y [B,T,D,H], states are [B,D,H]"), \
	        ATTR_INT("output_sequence", 0, "opset 1 only; no meaning")

/* Reads and checks attributes and inputs 0 to 5 (x, w, r, b, lens, initial_h). Weights are [D,N,I] and [D,N,H] with N
 * = `gates` * H, or [D,I,N] and [D,H,N] if `quantized`. `functions`: activations of a direction; `names`: their
 * defaults. */
int recurrent_read(struct lower *l, struct recurrent *r, bool quantized, int gates, int functions,
                   const char *const *names);
/* Activation k of the direction, applied to x. */
expr recurrent_apply(const struct recurrent *r, int k, expr direction, expr x);
expr recurrent_clip(const struct recurrent *r, expr x);
/* x w^T + bias for all steps: [D,T,B,N]. `bias` gives the bias of (direction, gate), or is null. */
struct value recurrent_inputs(struct recurrent *r, expr (*bias)(struct recurrent *r, expr d, expr n));
/* The two halves of input b, in the compute type. */
expr recurrent_input_bias(struct recurrent *r, expr d, expr n);
expr recurrent_state_bias(struct recurrent *r, expr d, expr n);
expr recurrent_biases(struct recurrent *r, expr d, expr n); /* their sum */

/* Begins the loop over turns; states come next. */
void recurrent_begin(struct recurrent *r);
/* A state over [D,B,H] that starts as input i, or as zeros. */
struct value recurrent_state(struct recurrent *r, const char *name, int i);
/* The state's next value at the turn's element: `now`, or the old one if the sequence has ended. */
expr recurrent_keep(const struct recurrent *r, expr now, struct value old);
/* Element n of `inputs` at the turn's time, for the direction and sequence of `s`. */
expr recurrent_step(const struct recurrent *r, struct value inputs, const struct space *s, expr n);
/* The space [D,B,count] of gates in a turn, followed by the axis k < H to sum over. */
struct space recurrent_gates(struct recurrent *r, expr count);
/* The sum over k of `state` (at direction, sequence and k of `s`) times the recurrence weight of gate n. */
struct value recurrent_sum(struct recurrent *r, const char *name, const struct space *s, expr state, expr n, expr post);
/* Ends the turn and the loop: `next` becomes h. Makes outputs 0 (y, all values of h) and 1 (the last one). */
void recurrent_end(struct recurrent *r, struct value h, struct value next);
/* The value of gate n from its sum: its activation, or with peephole weights, which come first, the sum itself. */
expr lstm_gate(struct recurrent *r, bool peephole, const struct space *s, expr n, expr sum);
/* Runs the loop of an LSTM and makes its outputs. `gates` makes lstm_gate() of all gates of a turn, [D,B,N], from
 * `user` and the previous turn's h. `p`: the peephole weights, optional. */
int lstm_loop(struct recurrent *r, struct value p, bool input_forget,
              struct value (*gates)(struct recurrent *r, struct value h, void *user), void *user);

/* Makes output i from a last state. */
void recurrent_last(struct recurrent *r, int i, struct value state);

#endif
