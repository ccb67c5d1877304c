/* The program: commands, their options and output. Data go to standard output, messages to standard error. Only this
 * folder prints or exits, and it uses only the library's public header. */
#ifndef TPAT_CLI_CLI_H
#define TPAT_CLI_CLI_H

#include <jansson.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/vec.h"
#include "tpat/tpat.h"

/* Exit status: 0 success, 1 results differ, 2 usage, 3 model, 4 unsupported, 5 device; 130: interrupted. */
enum { EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

/* Maximum of --trials and --jobs, in all commands. */
enum { CLI_MOST_TRIALS = 1000000, CLI_MOST_JOBS = 1024, CLI_MOST_CHAINS = 1000000 };

struct cli;

/* The target and range of a number option. */
struct cli_number {
	int *to, least, most;
};

/* A flag that may have one value, which sets a second flag. */
struct cli_mode {
	bool *on, *more;
	const char *value;
};

/* One option of a command. The table drives both the parser and --help. */
struct cli_option {
	const char *name; /* "output": --output; null ends the table */
	char letter;      /* 'o': -o; 0: none */
	enum cli_kind {
		CLI_FLAG,   /* bool */
		CLI_MODE,   /* struct cli_mode; a value only as --name=value */
		CLI_TEXT,   /* const char * */
		CLI_NUMBER, /* struct cli_number */
		CLI_SEED,   /* uint64_t */
		CLI_TIME,   /* double, in seconds: "60", "60s", "2m" */
		CLI_LIST,   /* struct tpat_strings; each use appends one */
		CLI_SPLIT,  /* the same, split at commas too */
	} kind;
	void *target;      /* of the kind's type */
	const char *value; /* placeholder of the value in --help: "FILE"; "NAME|a b": the words that it takes, for
	                      completion */
	const char *help;  /* null: an alias, hidden from --help */
};

/* The placeholder of --tensorrt. */
#define CLI_VERSION "VERSION|8.5 8.6 9.3 10.3 10.13 11.5 rtx"

/* The help of --shape, for inputs of a model. */
#define CLI_SHAPE \
	"shape of a model input: numbers, or names of dynamic dimensions; of\n" \
	"several inputs: x:1x3,y:1x8"

/* Table rows that select nodes, for library options with these fields. */
/* clang-format off */
#define CLI_CHOICE(o) \
	{ "node", 'n', CLI_SPLIT, &(o).node, "NODE,...", \
	  "nodes by name, index (\"#12\"), path (\"IF/then_branch/#3\") or output tensor" }, \
	{ "type", 't', CLI_SPLIT, &(o).type, "TYPE,...", "all nodes of these operator types" }, \
	{ "auto", 'a', CLI_MODE, &(struct cli_mode){ &(o).automatic, &(o).fast, "fast" }, "[=fast]", \
	  "all nodes that TensorRT refuses and tpat supports, joined with the\n" \
	  "cheap nodes between them into few plugins; with =fast also chains of\n" \
	  "other nodes that a plugin runs faster, by the estimate" }, \
	{ "min-gain", 0, CLI_TEXT, &(o).min_gain, "GAIN", \
	  "with --auto=fast: how much a chain must gain: a time (5us) or a share\n" \
	  "of its own time (default 20%, and at least 1 us); 0: no minimum" }, \
	{ "decompose", 0, CLI_TEXT, &(o).decompose, "HOW|auto no all", \
	  "with --auto: replace refused nodes with nodes that TensorRT supports,\n" \
	  "without a plugin: auto (if the estimate says that they are no\n" \
	  "slower), all (wherever possible) or no" }, \
	{ "chains", 0, CLI_NUMBER, &(struct cli_number){ &(o).chains, 0, CLI_MOST_CHAINS }, "N", \
	  "with --auto=fast: at most N chains, those that gain most" }, \
	{ "region", 'r', CLI_LIST, &(o).region, "A,B,C", "fuse these nodes into one plugin; may be repeated" }, \
	{ "from", 0, CLI_SPLIT, &(o).from, "TENSOR,...", \
	  "fuse all nodes between these tensors and those of --to\n" \
	  "(default: the model's inputs)" }, \
	{ "to", 0, CLI_SPLIT, &(o).to, "TENSOR,...", "the end of this region (default: the model's outputs)" }, \
	{ "pattern", 0, CLI_SPLIT, &(o).pattern, \
	  "NAME,...|layernorm rmsnorm gelu silu swiglu rope attention nms qdq", \
	  "make a plugin wherever this pattern occurs: layernorm, rmsnorm, gelu,\n" \
	  "silu, swiglu, rope, attention, nms, qdq, or that of a small ONNX file" }, \
	{ "all", 0, CLI_FLAG, &(o).all, NULL, "every node that tpat supports, in few plugins" }, \
	{ "except", 0, CLI_SPLIT, &(o).except, "NODE,...", "nodes that --type and --auto skip" }
/* Rows that builds and reports share: the nodes that are refused, and the model's inputs; types; the database. */
#define CLI_READ(o) \
	{ "engine-report", 0, CLI_TEXT, &(o).engine_report, "LOG", \
	  "a log of trtexec, of the ONNX parser, or of polygraphy inspect\n" \
	  "capability: --auto also selects nodes that TensorRT refuses there" }, \
	{ "shape", 's', CLI_LIST, &(o).shape, "IN:1x3xHxW", CLI_SHAPE }, \
	{ "value", 0, CLI_LIST, &(o).value, "IN=16000", \
	  "make a model input a constant: a number or a list (1,2,3)" }
/* Rows that builds, fixes, reports and tuning share: memory and formats at a plugin's edge. */
#define CLI_EDGES(o) \
	{ "format", 0, CLI_SPLIT, &(o).format, \
	  "FORMAT,...|auto HWC8 HWC16 HWC CHW2 CHW4 CHW16 CHW32 DHWC8 DHWC CDHW32", \
	  "also make kernels for these tensor formats, so that TensorRT need\n" \
	  "not reformat tensors at a plugin; auto: the formats of neighbouring\n" \
	  "convolutions, if the estimate says that they are no slower" }, \
	{ "in-place", 0, CLI_FLAG, &(o).in_place, NULL, \
	  "let plugins update tensors such as caches in place: an output that\n" \
	  "is an input with some elements replaced may share its memory\n" \
	  "(TensorRT's aliased inputs)" }
#define CLI_TYPES(o) \
	{ "keep-types", 0, CLI_FLAG, &(o).keep_types, NULL, \
	  "keep BOOL and UINT8 inputs and outputs of plugins (default:\n" \
	  "convert them to INT32)" }, \
	{ "any-types", 0, CLI_FLAG, &(o).any_types, NULL, \
	  "let plugins have inputs and outputs of types that TensorRT lacks" }
#define CLI_DATABASE(o) \
	{ "db", 0, CLI_TEXT, &(o).db, "FILE", \
	  "tuning database to take schedules from (default $TPAT_DB, else\n" \
	  "tpat/tpat.db in $XDG_CACHE_HOME or ~/.cache)" }, \
	{ "no-db", 0, CLI_FLAG, &(o).no_db, NULL, "use the cost model only" }
/* clang-format on */

struct cli_command {
	const char *name;
	const char *arguments;                            /* "MODEL", for --help */
	const char *help;                                 /* one line */
	int (*run)(struct cli *c, int argc, char **argv); /* argv[0]: the command; returns the exit status */
};

/* All commands, which a null name ends (main.c). */
extern const struct cli_command cli_commands[];

/* A name and what it stands for, of a table that a null name ends. */
struct cli_row {
	const char *name, *text; /* a few words */
	const char *more;        /* what follows them: ", or ..."; null: nothing */
};
/* A topic of `tpat help`. All topics: topics.c, which a null name ends. */
struct cli_topic {
	const char *name, *help; /* one line */
	const char *text;        /* paragraphs */
	const struct cli_row *row;
};
extern const struct cli_topic cli_topics[];

/* cmd_help.c. Null: there is none of this name. */
const struct cli_command *cli_find_command(const char *name);
const struct cli_topic *cli_find_topic(const char *name);
/* Reports that there is no such command (or topic); returns EXIT_USAGE. */
int cli_unknown_command(const char *name, bool or_topic);
/* cli_foreign.c. What to write instead of an option of trtexec, for a command with these options; null: it has none of
 * this name. */
const char *cli_foreign(const struct cli_option *option, const char *name);
/* The same for a word that is no command. */
const char *cli_foreign_command(const char *name);
void cli_print_help(FILE *to);
/* Prints `length` bytes from column `at` on, in lines of at most `columns`, with `indent` blanks before further lines.
 */
void cli_wrap(FILE *to, const char *text, size_t length, int at, int indent, int columns);

/* The length of an option's placeholder, and its words; null: none are known. */
int cli_placeholder(const struct cli_option *o);
const char *cli_words(const struct cli_option *o);

/* Table rows that choose a plugin's inputs, for library options with these fields. */
/* clang-format off */
#define CLI_INPUTS(o) \
	{ "input", 'i', CLI_LIST, &(o).input, "TENSOR=FILE", \
	  "read a plugin input from a .npy, .npz or .pb file" }, \
	{ "shape", 's', CLI_LIST, &(o).shape, "TENSOR:4x3x64", "shape of a plugin input; of several: x:1x3,y:1x8" }, \
	{ "value", 0, CLI_LIST, &(o).value, "TENSOR=16000", \
	  "value of a plugin input: a number or a list (1,2,3)" }, \
	{ "seed", 0, CLI_SEED, &(o).seed, "N", "seed of the random shapes and values (default 1)" }
/* clang-format on */

/* The context of a command. */
struct cli {
	struct arena *arena;
	struct tpat *tpat;
	const struct cli_command *command;
	void (*show)(struct cli *c, const struct cli_option *option); /* not null: cli_parse() only calls this */
};

/* Calls `show` with the options of a command; one without a table is left out. */
void cli_show_options(struct cli *c, const struct cli_command *k,
                      void (*show)(struct cli *c, const struct cli_option *option));

/* Parses argv into the options' targets and at most `most` arguments, at least `least`. Returns -1 to continue, else
 * the exit status: 0 after --help, EXIT_USAGE after a reported mistake. */
int cli_parse(struct cli *c, const struct cli_option *option, int argc, char **argv, const char **argument, int least,
              int most);

/* Reads a number; `option`: "--jobs". Returns as cli_parse. */
int cli_read_number(int *to, const char *option, const char *value, int least, int most);

/* Prints the context's error; returns the exit status. */
int cli_fail(const struct cli *c, int code);
/* Reports a mistake in the command line: "tpat: TEXT", advice on the next line (null: none). Returns EXIT_USAGE. */
int cli_usage(const char *advice, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the printf width that makes `text` fill `columns` columns: printf counts bytes. */
int cli_field(int columns, const char *text);
int cli_wider(int width, const char *text); /* the larger of `width` and the text's columns */

/* ---- cli_color.c: colours, on terminals only, unless the environment says otherwise. */

enum cli_style { CLI_PLAIN, CLI_HEADING, CLI_ERROR, CLI_WARNING, CLI_GOOD };
/* The escape sequence that begins a style on a stream; CLI_PLAIN ends it. "": the stream has no colours. */
const char *cli_style(FILE *to, enum cli_style s);
/* True if the stream understands cursor movements. */
bool cli_is_terminal(FILE *to);
/* The columns of the terminal that a stream writes to, or $COLUMNS; of a file, as many as help texts have. */
int cli_columns(FILE *to);
/* The same for sentences, which stay whole in a file, so that grep finds them. */
int cli_text_columns(FILE *to);
/* Prints "tpat: TEXT" and a line end on standard error; the style is that of "tpat:". */
void cli_tell(enum cli_style s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- cli_json.c: machine-readable output is valid JSON for all names and numbers. */

/* Makes an object as json_pack from "{s:s, s:s?, s:i, s:I, s:f, s:b, s:o}". Escapes bytes that are not UTF-8 as \xff;
 * NaN becomes null. */
json_t *cli_json(const char *format, ...);
json_t *cli_json_list(const struct tpat_strings *list);
json_t *cli_json_plain(const struct tpat_plain_node *node, int n);
/* "  3 nodes replaced by 2 plain nodes: no plugin needed (SequenceAt 2, SplitToSequence 1)" */
void cli_print_plain(const struct tpat_plain_node *plain, int n);
void cli_print_json(json_t *x);              /* and frees it */
void cli_json_wanted(int argc, char **argv); /* with --json, errors also go to standard output, as an object */
/* Prints a failure as an object, unless one was printed already; `t`: the context with its location, or null. */
void cli_print_error(const char *where, const char *text, const char *advice, int status, const struct tpat *t);

/* Shows progress on standard error: on a terminal a line with counts and the time left, which the next one replaces;
 * else a line every few seconds. Returns true after an interrupt. For the library's options; any thread may call it. */
bool cli_progress(void *user, const struct tpat_progress *p);
void cli_progress_end(void);
/* True if a log is due for its next line. Never with --quiet or TPAT_PROGRESS=0. */
bool cli_log_is_due(void);
/* The target of --quiet: no progress. */
bool *cli_quiet(void);
#define CLI_QUIET { "quiet", 'q', CLI_FLAG, cli_quiet(), NULL, "show no progress" }
bool cli_interrupted(void);
/* From here on Ctrl-C, SIGTERM and SIGHUP interrupt: cli_interrupted() is true. A second one ends the program, and so
 * does the first after two seconds in which nothing called cli_interrupted() and there is nothing to clean up. */
void cli_watch_signals(void);

/* Calls tpat_tune with a progress line and prints its warnings. */
int cli_tune_run(struct cli *c, const struct tpat_tuning **r, struct tpat_tune_options *o);

/* The part of a tuning that this process does, as --shard says or the program that started it and others: see
 * cli_shard.c. Prints it. Returns as cli_parse. */
int cli_shard(struct tpat_tune_options *o, const char *shard);
/* "0-3,6" as devices of the kind `device` (null: cuda). Returns as cli_parse. */
int cli_devices(struct cli *c, struct tpat_tune_options *o, const struct tpat_strings *list);

/* cli_extents.c: replaces long extents in "f32[N,floordiv(...)]" by ?1, ?2 ..., the same in all texts, and prints what
 * they stand for. Zeroed but for `arena`. */
struct cli_extents {
	VEC(const char *);
	struct arena *arena;
};
const char *cli_shorten(struct cli_extents *x, const char *types);
void cli_print_legend(const struct cli_extents *x);

/* cmd_list_print.c: prints a model's nodes; `o`: which of them; `engine`: "TensorRT 11". */
struct cli_list {
	bool all, refused;
	struct tpat_strings type; /* none: any */
};
/* True if the type is the node's operator, also with its domain: "com.microsoft.Gelu". */
bool cli_is_type(const struct cli *c, const struct tpat_node *n, const char *type);
void cli_print_list(const struct cli *c, const struct tpat_list *l, const struct cli_list *o, const char *engine);
const char *cli_support(enum tpat_support s); /* "yes", "partly", "no" */

/* Explains the schedule of a node or plugin (cli_why.c). */
void cli_print_why(const struct tpat_schedule *s);
json_t *cli_json_why(const struct tpat_schedule *s);

/* The name of a version of TensorRT, as written by the user; null: the default. */
const char *cli_version_name(const struct cli *c, const char *version);

/* Prints a build's results, human-readable or as JSON (cmd_build_print.c). */
void cli_print_built(const struct tpat_built *r, const char *engine, bool verbose);
void cli_print_built_json(const struct tpat_built *r);

/* Prints the errors of a log with their causes (cmd_doctor.c). */
void cli_print_explained(const struct tpat_explained *x);

/* Prints the progress of all databases in a folder, until Ctrl-C (cmd_db_watch.c). Returns the exit status. */
int cli_db_watch(struct cli *c, const char *folder);

int cli_bench(struct cli *c, int argc, char **argv);
int cli_check_plugin(struct cli *c, int argc, char **argv);
int cli_completion(struct cli *c, int argc, char **argv);
int cli_db(struct cli *c, int argc, char **argv);
int cli_tune(struct cli *c, int argc, char **argv);
int cli_build(struct cli *c, int argc, char **argv);
int cli_deploy(struct cli *c, int argc, char **argv);
int cli_fix(struct cli *c, int argc, char **argv);
int cli_help(struct cli *c, int argc, char **argv);
int cli_kernel(struct cli *c, int argc, char **argv);
int cli_list(struct cli *c, int argc, char **argv);
int cli_man(struct cli *c, int argc, char **argv);
int cli_report(struct cli *c, int argc, char **argv);
int cli_run(struct cli *c, int argc, char **argv);
int cli_verify(struct cli *c, int argc, char **argv);
int cli_inspect(struct cli *c, int argc, char **argv);
int cli_onnx2plugin(struct cli *c, int argc, char **argv);
int cli_rebuild(struct cli *c, int argc, char **argv);
int cli_doctor(struct cli *c, int argc, char **argv);

#endif
