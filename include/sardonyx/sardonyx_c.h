/* Sardonyx for C and for every language that calls C: loads ONNX models and runs them, the same
 * bits on every machine.
 *
 *   sardonyx_model* model = NULL;
 *   sardonyx_error* error = sardonyx_model_load("digits.onnx", &model);
 *   if (error != NULL) { fputs(sardonyx_error_text(error), stderr); ... }
 *
 * Errors. A function that can fail returns NULL when it succeeded and otherwise an error, which the
 * caller releases. What it would have written is then left alone.
 *
 * Handles. Objects are known by opaque handles. Each is released once, by its own _release
 * function, in any order: a session outlives its model's handle. NULL, a released handle or one of
 * another kind is an error (SDX-A0101), never a crash; releasing NULL does nothing. No function
 * blocks while it holds a lock that another needs, throws, or keeps anything per thread, and every
 * function may be called from any thread at any time.
 *
 * Strings and arrays that come from a handle belong to it and stay as they are until it is
 * released. Text is UTF-8 and ends with 0.
 *
 * Versions. Functions, struct members and numbers are only ever added. Structs start with `size`,
 * which the caller sets to sizeof the struct it was compiled with; members beyond it count as 0. */
#ifndef SARDONYX_C_H
#define SARDONYX_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SARDONYX_API __attribute__((visibility("default")))
#define SARDONYX_CHECKED __attribute__((visibility("default"), warn_unused_result))
#else
#define SARDONYX_API
#define SARDONYX_CHECKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The interface that this header describes, and the one that the library has: at least as new. */
#define SARDONYX_ABI_VERSION 1
SARDONYX_API uint32_t sardonyx_abi_version(void);
/* The library's release: "0.3.0". */
SARDONYX_API const char* sardonyx_version(void);

typedef struct sardonyx_error sardonyx_error;
typedef struct sardonyx_value sardonyx_value;
typedef struct sardonyx_model sardonyx_model;
typedef struct sardonyx_session sardonyx_session;
typedef struct sardonyx_stop sardonyx_stop;
typedef struct sardonyx_stream sardonyx_stream;
typedef struct sardonyx_call sardonyx_call;

/* Errors: a stable code such as "SDX-T0102", what went wrong, where (the innermost place first),
 * and perhaps what to do. For a handle that is no error: "", 0 places. */
SARDONYX_API const char* sardonyx_error_code(const sardonyx_error* error);
SARDONYX_API const char* sardonyx_error_message(const sardonyx_error* error);
SARDONYX_API size_t sardonyx_error_places(const sardonyx_error* error);
SARDONYX_API const char* sardonyx_error_place(const sardonyx_error* error, size_t i);
SARDONYX_API const char* sardonyx_error_help(const sardonyx_error* error);
/* All of it, as the command line prints it. */
SARDONYX_API const char* sardonyx_error_text(const sardonyx_error* error);
SARDONYX_API void sardonyx_error_release(sardonyx_error* error);

/* ONNX's element types, with ONNX's numbers. Elements narrower than a byte are packed from the
 * least significant bit. */
typedef enum sardonyx_type {
  SARDONYX_UNDEFINED = 0,
  SARDONYX_F32 = 1,
  SARDONYX_U8 = 2,
  SARDONYX_I8 = 3,
  SARDONYX_U16 = 4,
  SARDONYX_I16 = 5,
  SARDONYX_I32 = 6,
  SARDONYX_I64 = 7,
  SARDONYX_STRING = 8,
  SARDONYX_BOOL = 9,
  SARDONYX_F16 = 10,
  SARDONYX_F64 = 11,
  SARDONYX_U32 = 12,
  SARDONYX_U64 = 13,
  SARDONYX_C64 = 14,
  SARDONYX_C128 = 15,
  SARDONYX_BF16 = 16,
  SARDONYX_F8E4M3FN = 17,
  SARDONYX_F8E4M3FNUZ = 18,
  SARDONYX_F8E5M2 = 19,
  SARDONYX_F8E5M2FNUZ = 20,
  SARDONYX_U4 = 21,
  SARDONYX_I4 = 22,
  SARDONYX_F4E2M1 = 23,
  SARDONYX_F8E8M0 = 24,
  SARDONYX_U2 = 25,
  SARDONYX_I2 = 26,
  SARDONYX_F6E2M3 = 27,
  SARDONYX_F6E3M2 = 28
} sardonyx_type;
/* "f32", "bool"; "" for a number that is none. */
SARDONYX_API const char* sardonyx_type_name(int32_t type);

/* Values: tensors, sequences, maps, and the optional without a value. */
typedef enum sardonyx_kind {
  SARDONYX_NONE = 0,
  SARDONYX_TENSOR = 1,
  SARDONYX_SEQUENCE = 2,
  SARDONYX_MAP = 3
} sardonyx_kind;

/* A tensor of zeros (or empty strings) in the library's memory. */
SARDONYX_CHECKED sardonyx_error* sardonyx_tensor_new(int32_t type, const int64_t* dims, size_t rank,
                                                     sardonyx_value** tensor);
/* A tensor over the caller's memory of `bytes` bytes, which must hold the elements and stay until
 * `release` is called with `data` and `context`; without `release`, until the handle is released
 * and every run that uses it has returned. Not for strings. */
SARDONYX_CHECKED sardonyx_error* sardonyx_tensor_over(int32_t type, const int64_t* dims,
                                                      size_t rank, void* data, size_t bytes,
                                                      void (*release)(void* data, void* context),
                                                      void* context, sardonyx_value** tensor);
/* A tensor of strings, copied. `lengths` may be NULL if every string ends with 0. */
SARDONYX_CHECKED sardonyx_error* sardonyx_tensor_of_strings(const int64_t* dims, size_t rank,
                                                            const char* const* strings,
                                                            const size_t* lengths, size_t count,
                                                            sardonyx_value** tensor);
/* The items stay the caller's; their elements are shared. */
SARDONYX_CHECKED sardonyx_error* sardonyx_sequence_new(sardonyx_value* const* items, size_t count,
                                                       sardonyx_value** sequence);
/* A map with integer keys, or with string keys: the other array is NULL. */
SARDONYX_CHECKED sardonyx_error* sardonyx_map_new(const int64_t* keys,
                                                  const char* const* string_keys,
                                                  sardonyx_value* const* items, size_t count,
                                                  sardonyx_value** map);
/* The optional without a value. */
SARDONYX_CHECKED sardonyx_error* sardonyx_none_new(sardonyx_value** none);
SARDONYX_API void sardonyx_value_release(sardonyx_value* value);

SARDONYX_CHECKED sardonyx_error* sardonyx_value_kind(const sardonyx_value* value, int32_t* kind);
/* Of a tensor. `bytes` is what its elements take; `data` may be written to while no run uses it. */
SARDONYX_CHECKED sardonyx_error* sardonyx_tensor_type(const sardonyx_value* tensor, int32_t* type);
SARDONYX_CHECKED sardonyx_error* sardonyx_tensor_shape(const sardonyx_value* tensor,
                                                       const int64_t** dims, size_t* rank);
SARDONYX_CHECKED sardonyx_error* sardonyx_tensor_count(const sardonyx_value* tensor, size_t* count);
SARDONYX_CHECKED sardonyx_error* sardonyx_tensor_data(const sardonyx_value* tensor, void** data,
                                                      size_t* bytes);
SARDONYX_CHECKED sardonyx_error* sardonyx_tensor_string(const sardonyx_value* tensor, size_t i,
                                                        const char** text, size_t* length);
/* SHA-256 of the elements, as `sardonyx run --digest` prints it, into 65 characters. */
SARDONYX_CHECKED sardonyx_error* sardonyx_tensor_digest(const sardonyx_value* tensor,
                                                        char digest[65]);
/* Of a sequence or a map: how many items, item i as a new handle, and a map's key i: `text` is NULL
 * for an integer key. */
SARDONYX_CHECKED sardonyx_error* sardonyx_value_size(const sardonyx_value* value, size_t* size);
SARDONYX_CHECKED sardonyx_error* sardonyx_value_item(const sardonyx_value* value, size_t i,
                                                     sardonyx_value** item);
SARDONYX_CHECKED sardonyx_error* sardonyx_map_key(const sardonyx_value* map, size_t i,
                                                  int64_t* number, const char** text);

/* An input or output. */
typedef struct sardonyx_port {
  size_t size;
  const char* name;
  const char* text;             /* "f32[N,3,224,224]", "seq(f32[?])" */
  int32_t kind;                 /* SARDONYX_TENSOR, or SARDONYX_NONE for every other kind */
  int32_t type;                 /* of a tensor's elements */
  int64_t rank;                 /* of a tensor; -1: not known */
  const int64_t* dims;          /* -1: a size that a run binds */
  const char* const* dim_names; /* of such sizes; "" if it has none */
} sardonyx_port;

/* Models: an .onnx file with the external data beside it, or its bytes, which are copied; external
 * data is then looked up in `folder` (NULL: nowhere). A model never changes. */
SARDONYX_CHECKED sardonyx_error* sardonyx_model_load(const char* path, sardonyx_model** model);
SARDONYX_CHECKED sardonyx_error* sardonyx_model_parse(const void* bytes, size_t size,
                                                      const char* folder, sardonyx_model** model);
SARDONYX_API void sardonyx_model_release(sardonyx_model* model);
SARDONYX_CHECKED sardonyx_error* sardonyx_model_counts(const sardonyx_model* model, size_t* inputs,
                                                       size_t* outputs);
SARDONYX_CHECKED sardonyx_error* sardonyx_model_input(const sardonyx_model* model, size_t i,
                                                      sardonyx_port* port);
SARDONYX_CHECKED sardonyx_error* sardonyx_model_output(const sardonyx_model* model, size_t i,
                                                       sardonyx_port* port);
/* What keeps the model from being valid or from running here: `count` findings, of which the first
 * `capacity` are written as errors that the caller releases. */
SARDONYX_CHECKED sardonyx_error* sardonyx_model_check(const sardonyx_model* model,
                                                      sardonyx_error** findings, size_t capacity,
                                                      size_t* count);

typedef enum sardonyx_isa {
  SARDONYX_ISA_NATIVE = 0,
  SARDONYX_ISA_PORTABLE = 1,
  SARDONYX_ISA_AVX2 = 2,
  SARDONYX_ISA_AVX512 = 3,
  SARDONYX_ISA_NEON = 4
} sardonyx_isa;

typedef struct sardonyx_size {
  const char* name;
  int64_t value;
} sardonyx_size;

/* How a model is compiled: all 0 is the default. Only `strict` can change a bit. */
typedef struct sardonyx_options {
  size_t size;
  int32_t threads;          /* 0: the CPUs this process may use */
  int32_t isa;              /* a sardonyx_isa */
  int32_t no_optimize;      /* 1: run the graph as written */
  int32_t strict;           /* 1: no rewrite of the published list of those that change bits */
  const sardonyx_size* set; /* sizes for named dimensions */
  size_t set_count;
  size_t plans;           /* kept at a time, for different shapes of the inputs; 0: 8 */
  size_t arena_bytes;     /* the most working memory of a run; 0: the machine's memory */
  const char* pack_cache; /* a folder in which packed weights are kept from one load to the next, or
                             "beside": the model's own; NULL: none */
  int32_t accept_strict;  /* 1: no model that deviates from ONNX's rules; 0: those with one meaning
                             all the same, and sardonyx_session_note says so */
} sardonyx_options;

/* Sessions: a compiled model. Any number of threads may run one at a time or all at once; each run
 * has memory of its own, kept for the next. `options` may be NULL. */
SARDONYX_CHECKED sardonyx_error* sardonyx_session_new(const sardonyx_model* model,
                                                      const sardonyx_options* options,
                                                      sardonyx_session** session);
SARDONYX_API void sardonyx_session_release(sardonyx_session* session);
/* What did not go as asked and is no error, one after the other; *text is NULL behind the last. It
 * lives as long as the session. */
SARDONYX_CHECKED sardonyx_error* sardonyx_session_note(const sardonyx_session* session, size_t i,
                                                       const char** text);
SARDONYX_CHECKED sardonyx_error* sardonyx_session_counts(const sardonyx_session* session,
                                                         size_t* inputs, size_t* outputs);
SARDONYX_CHECKED sardonyx_error* sardonyx_session_input(const sardonyx_session* session, size_t i,
                                                        sardonyx_port* port);
SARDONYX_CHECKED sardonyx_error* sardonyx_session_output(const sardonyx_session* session, size_t i,
                                                         sardonyx_port* port);

/* Inputs by name (`input_names` NULL: in the session's order) and outputs by name (NULL: the first
 * `output_count` in the session's order). Where outputs[i] is NULL it becomes a new value in the
 * library's memory; where it is a tensor of the right type and shape, the result is written there,
 * and nothing is copied if all are, in the session's order. Only what the outputs asked for need is
 * computed. */
SARDONYX_CHECKED sardonyx_error* sardonyx_session_run(
    sardonyx_session* session, const char* const* input_names, sardonyx_value* const* inputs,
    size_t input_count, const char* const* output_names, sardonyx_value** outputs,
    size_t output_count);

/* Ends the runs that were given it, soon: they give SDX-R0030. One that was asked stays asked. It
 * may be asked by any thread, and released while runs still have it. */
SARDONYX_CHECKED sardonyx_error* sardonyx_stop_new(sardonyx_stop** stop);
SARDONYX_CHECKED sardonyx_error* sardonyx_stop_ask(sardonyx_stop* stop);
SARDONYX_API void sardonyx_stop_release(sardonyx_stop* stop);

/* What one run is allowed: all 0 is the default. */
typedef struct sardonyx_run_options {
  size_t size;
  sardonyx_stop* stop;   /* NULL: nothing ends it early */
  int64_t time_limit_ns; /* 0: none; beyond it the run gives SDX-R0031 */
  int64_t loop_limit;    /* iterations of one Loop; 0: a billion; more give SDX-R0610 */
} sardonyx_run_options;

/* sardonyx_session_run within limits; `options` may be NULL. */
SARDONYX_CHECKED sardonyx_error* sardonyx_session_run_within(
    sardonyx_session* session, const char* const* input_names, sardonyx_value* const* inputs,
    size_t input_count, const char* const* output_names, sardonyx_value** outputs,
    size_t output_count, const sardonyx_run_options* options);

/* Streams: a model over an endless axis, fed as its rows come (docs/streaming.md). `axis` is the
 * name of an open size of the inputs, or "INPUT:AXIS". Calls on one stream wait for each other. */
SARDONYX_CHECKED sardonyx_error* sardonyx_stream_new(const sardonyx_model* model, const char* axis,
                                                     const sardonyx_options* options,
                                                     sardonyx_stream** stream);
SARDONYX_API void sardonyx_stream_release(sardonyx_stream* stream);
SARDONYX_CHECKED sardonyx_error* sardonyx_stream_counts(const sardonyx_stream* stream,
                                                        size_t* inputs, size_t* outputs);
SARDONYX_CHECKED sardonyx_error* sardonyx_stream_input(const sardonyx_stream* stream, size_t i,
                                                       sardonyx_port* port);
SARDONYX_CHECKED sardonyx_error* sardonyx_stream_output(const sardonyx_stream* stream, size_t i,
                                                        sardonyx_port* port);
/* Rows in, and the rows that are certain now out: new values, or NULL for what only the end tells.
 * `input_names` NULL: in the stream's order. `outputs` has room for all of them. `options` may be
 * NULL. After an error the stream is as it was. */
SARDONYX_CHECKED sardonyx_error* sardonyx_stream_push(sardonyx_stream* stream,
                                                      const char* const* input_names,
                                                      sardonyx_value* const* inputs,
                                                      size_t input_count, sardonyx_value** outputs,
                                                      const sardonyx_run_options* options);
/* The rest, and what is known now that the stream has ended. */
SARDONYX_CHECKED sardonyx_error* sardonyx_stream_finish(sardonyx_stream* stream,
                                                        sardonyx_value** outputs,
                                                        const sardonyx_run_options* options);
SARDONYX_CHECKED sardonyx_error* sardonyx_stream_reset(sardonyx_stream* stream);
/* Another stream that goes on from here by itself. */
SARDONYX_CHECKED sardonyx_error* sardonyx_stream_fork(const sardonyx_stream* stream,
                                                      sardonyx_stream** fork);
/* The state as bytes: `size` of them are needed, and written to `bytes` if `capacity` is enough
 * (NULL and 0 ask for the size). A state of another model is refused with SDX-S0042. */
SARDONYX_CHECKED sardonyx_error* sardonyx_stream_save(const sardonyx_stream* stream, void* bytes,
                                                      size_t capacity, size_t* size);
SARDONYX_CHECKED sardonyx_error* sardonyx_stream_restore(sardonyx_stream* stream, const void* bytes,
                                                         size_t size);

/* Operators of the caller, which models may use once they are registered. */
typedef struct sardonyx_operator {
  size_t size;
  const char* domain; /* not ONNX's own */
  const char* name;
  const char* doc; /* NULL: none */
  /* The versions: what each changes, the first gives all, as in
   * "(x: T, bias?: T) -> (y: T) {by: float = 2.0, axis!: int} T in f32 f64". */
  const int32_t* since;
  const char* const* signatures;
  size_t versions;
  int32_t random; /* 1: equal inputs may give other outputs */
  void* context;  /* given to the functions below */
  /* Types and shapes of the outputs from those of the inputs: sets kind, type, rank, dims and, for
   * sizes of -1 that are named as an input's, dim_names of each; what they point to must last until
   * the function is called again or the process ends. NULL: every output is like input 0. */
  int32_t (*infer)(void* context, sardonyx_call* call, const sardonyx_port* inputs,
                   size_t input_count, sardonyx_port* outputs, size_t output_count);
  /* Fills the outputs. An input left out is NULL, and so is an output that nobody wants
   * (sardonyx_call_wants) or whose size only running tells: the latter is set to a new tensor,
   * which the library then releases. May be called by several threads at a time. Handles are the
   * function's while it runs. */
  int32_t (*compute)(void* context, sardonyx_call* call, sardonyx_value* const* inputs,
                     size_t input_count, sardonyx_value** outputs, size_t output_count);
} sardonyx_operator;

/* infer and compute return 0, or another number after sardonyx_call_fail has said why. */
SARDONYX_CHECKED sardonyx_error* sardonyx_operator_register(const sardonyx_operator* op);
/* Functions in ONNX's text syntax, each with its domain and imports. */
SARDONYX_CHECKED sardonyx_error* sardonyx_functions_register(const char* text);

/* One use of an operator, while infer or compute runs: its attributes, defaults filled in. */
SARDONYX_API int32_t sardonyx_call_has(const sardonyx_call* call, const char* attribute);
SARDONYX_API int32_t sardonyx_call_wants(const sardonyx_call* call, size_t output);
SARDONYX_CHECKED sardonyx_error* sardonyx_call_int(const sardonyx_call* call, const char* attribute,
                                                   int64_t* value);
SARDONYX_CHECKED sardonyx_error* sardonyx_call_float(const sardonyx_call* call,
                                                     const char* attribute, float* value);
SARDONYX_CHECKED sardonyx_error* sardonyx_call_string(const sardonyx_call* call,
                                                      const char* attribute, const char** value);
SARDONYX_CHECKED sardonyx_error* sardonyx_call_ints(const sardonyx_call* call,
                                                    const char* attribute, const int64_t** values,
                                                    size_t* count);
SARDONYX_CHECKED sardonyx_error* sardonyx_call_floats(const sardonyx_call* call,
                                                      const char* attribute, const float** values,
                                                      size_t* count);
SARDONYX_API void sardonyx_call_fail(sardonyx_call* call, const char* message);

#ifdef __cplusplus
}
#endif

#endif /* SARDONYX_C_H */
