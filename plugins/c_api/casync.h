/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface of CaSync: what every framework plugin is built on. C99.
 *
 * Handles are opaque. Every function returns a casync_status; on failure casync_last_error() has the sentence,
 * per thread, until the next call on that thread. No exception and no C++ type crosses this line. Each options
 * struct begins with its size: set it to sizeof(struct), zero the rest, fill in what you need.
 *
 * Texts that come out go into `capacity` bytes of the caller's, always with a NUL at the end, and *length is how
 * long the text is without it: when *length >= capacity it was cut, and a larger buffer gets all of it.
 */
#ifndef CASYNC_H_
#define CASYNC_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* The library hides everything but what is declared from here on. */
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#define CASYNC_ABI_VERSION 1

typedef enum casync_status {
  CASYNC_OK = 0,
  CASYNC_INVALID_ARGUMENT = 1,
  CASYNC_PLAN_ERROR = 2,
  CASYNC_PEER_FAILURE = 3,
  CASYNC_TIMEOUT = 4,
  CASYNC_DATA_LOSS = 5,
  CASYNC_UNAVAILABLE = 6,
  CASYNC_ABORTED = 7,
  CASYNC_UNIMPLEMENTED = 8,
  CASYNC_INTERNAL = 9,
  CASYNC_COMPILE_ERROR = 10
} casync_status;

/* Numbers as in base/dtype.h. */
typedef enum casync_dtype { CASYNC_FLOAT32 = 1, CASYNC_FLOAT16 = 2, CASYNC_BFLOAT16 = 3 } casync_dtype;

/* What a step exchanges, by the plan. */
typedef enum casync_exchanged {
  CASYNC_GRADIENTS = 0,
  CASYNC_NOTHING = 1,     /* local SGD: what is submitted is refused */
  CASYNC_DIFFERENCES = 2, /* local SGD: parameters right after the last exchange, minus their values now */
  CASYNC_PARAMETERS = 3   /* gossip, or a consensus: parameters as they are, which come back as a mean */
} casync_exchanged;

/* The place of a gradient's memory. */
typedef enum casync_device {
  CASYNC_CPU = 0,
  CASYNC_CUDA = 1 /* a GPU, in a session that was opened on it */
} casync_device;

typedef struct casync_session casync_session;
typedef struct casync_codec casync_codec;
typedef uint64_t casync_handle;

/* A store of the program's own (torch's, MPI's), called on the thread inside casync_session_open. Each returns 0
 * on success. get writes at most `capacity` bytes to `value`, the true length to `length`, and waits for the
 * key at most timeout_s seconds (then returns non-zero). */
typedef int (*casync_store_set)(void* user, const char* key, const void* value, size_t length);
typedef int (*casync_store_get)(void* user, const char* key, void* value, size_t capacity, size_t* length,
                                double timeout_s);

typedef struct casync_parameter {
  const char* name;
  double value;
} casync_parameter;

typedef struct casync_session_options {
  size_t struct_size;     /* sizeof(casync_session_options). The struct grows at its end: fields that an older program
                           * lacks are zero, and those that only a newer one has must be zero. */
  int32_t rank;           /* -1, or 0 with size 0: the launcher's environment */
  int32_t size;           /* -1 or 0: the launcher's environment */
  const char* rendezvous; /* NULL: the environment; "host:port", "file:DIRECTORY" */
  const char* token;      /* NULL: the environment */
  /* A plan file, or instead of it one codec for every gradient ("int4:block=64", "mine.cll"). Both NULL: CASYNC_PLAN or
   * CASYNC_CODEC. "" is none, whatever the environment says. */
  const char* plan;
  const char* codec;
  const casync_parameter* parameters; /* of codec, besides those in its text */
  size_t parameter_count;
  const char* transport;      /* NULL: CASYNC_TRANSPORT, else "ucx" */
  const char* op;             /* NULL or "average", "sum"; "copy": sums, and casync_session_declare_copied; no plan */
  double timeout_s;           /* 0: CASYNC_TIMEOUT_SEC, else 300 */
  const char* trace;          /* a directory, "": none; NULL: CASYNC_TRACE */
  casync_store_set store_set; /* both or neither */
  casync_store_get store_get;
  void* store_user;
  /* The place of all gradients of this rank: NULL or "cpu", "cuda:1", or "cuda", a GPU for each rank of a machine: of
   * those that this process sees the one at its local rank, from the first again where ranks are more. All ranks have
   * the same kind. Unimplemented: docs/devices.md has what sessions on a GPU do not do. */
  const char* device;
} casync_session_options;

/* Called once for each submission that has it: with CASYNC_OK once its memory holds the result, else with the session's
 * failure and its sentence (NULL on success, valid during the call). Runs on one thread of the session, for one
 * submission at a time, in the order in which gradients are done. In a plan's group it fails alone, and the session
 * goes on, if the group cannot leave by the end of the step's submissions: the submission is void then, and may be made
 * again. It may use the session, and must neither wait for another submission nor free the session. casync_session_step
 * and casync_session_close wait for it, each for the session's time limit, and return CASYNC_TIMEOUT if it has not
 * returned by then; a step that ends so ends the job. */
typedef void (*casync_completion)(void* user, casync_handle handle, casync_status status, const char* message);

typedef struct casync_submission {
  size_t struct_size;   /* sizeof(casync_submission), in each element of an array the same */
  uint32_t gradient;    /* of casync_session_declare */
  int32_t device;       /* a casync_device: that of the session */
  int32_t device_index; /* 0 on the CPU */
  int32_t reserved;     /* 0 */
  void* stream; /* the stream that writes the gradient, as the device's runtime has it; NULL: the default stream,
                 * on the CPU none. The reduction waits for what is queued there; the submission is done once
                 * the result is in place, so that no stream has to wait for it. With CASYNC_RECORD, or a plan
                 * that has a prediction, it stays until the session is closed. */
  void* ready;  /* NULL: reserved for an event behind which the gradient is written */
  void* data;   /* reduced in place; the session's until the submission is done */
  size_t bytes;
  casync_completion done; /* NULL: none */
  void* user;
} casync_submission;

uint32_t casync_abi_version(void);
const char* casync_version(void);
/* The last failure of this thread, "" when there was none. Valid until the next call on this thread. */
const char* casync_last_error(void);
/* Names of the codecs known, separated by spaces. */
const char* casync_codec_names(void);

typedef enum casync_log_level {
  CASYNC_LOG_NOTHING = 0, /* no line came */
  CASYNC_LOG_TRACE = 1,
  CASYNC_LOG_DEBUG = 2,
  CASYNC_LOG_INFO = 3,
  CASYNC_LOG_WARN = 4,
  CASYNC_LOG_ERROR = 5
} casync_log_level;

/* From now on lines of the library's log wait for casync_log_next instead of going to stderr: those of `level` and
 * above, or as CASYNC_LOG_LEVEL says. At most 1,000 wait, later ones go to stderr. A child after a fork writes to
 * stderr until it begins, too. CASYNC_INVALID_ARGUMENT: no such level, or somebody reads the log of this process
 * already. */
casync_status casync_log_begin(casync_log_level level);
/* Waits at most `wait_s` seconds for a line, on any one thread; INFINITY: until one comes. CASYNC_LOG_NOTHING as its
 * level: none came, or casync_log_end was called. A line that does not fit stays for the next call.
 * CASYNC_INVALID_ARGUMENT: `wait_s` is NaN. */
casync_status casync_log_next(double wait_s, casync_log_level* level, char* text, size_t capacity, size_t* length);
/* Lines that wait go to stderr, as do all later ones. */
casync_status casync_log_end(void);

/* Reads a plan as casync_session_open does, and looks for its codecs. CASYNC_PLAN_ERROR: it cannot be carried out,
 * whatever the gradients are. Codecs of files are compiled later, when a session opens. */
casync_status casync_plan_check(const char* path);

/* Collective: see Session::open. */
casync_status casync_session_open(const casync_session_options* options, casync_session** session);
casync_status casync_session_rank(casync_session* session, int32_t* rank, int32_t* size);
/* The session's time limit, which ends each of its waits. */
casync_status casync_session_timeout(casync_session* session, double* seconds);
/* Says that this rank submits nothing more in the step under way, for programs that wait for submissions ahead of
 * casync_session_step. Ranks whose gradients differ in name then learn it at once, and not by a timeout. */
casync_status casync_session_end_submissions(casync_session* session);
/* The data that the step under way exchanges: a casync_exchanged. */
casync_status casync_session_exchanged(casync_session* session, int32_t* exchanged);
/* With a plan's gossip or asynchronous: makes the step under way a consensus, which exchanges parameters and gives the
 * exact mean of all ranks, the same bytes on each. On every rank in the same step, ahead of its first submission. */
casync_status casync_session_begin_consensus(casync_session* session);
/* priority: smaller is needed sooner in the next forward pass. */
casync_status casync_session_declare(casync_session* session, const char* name, casync_dtype dtype,
                                     const int64_t* shape, size_t dimensions, int32_t priority, uint32_t* id);
/* The same for a gradient that is reduced and scattered: each rank gets the result of its own shard alone, in place,
 * with half of the bytes on the wire. Shards are equal, in rank order; the elements of others stay as they were. A
 * count that is no multiple of the ranks is CASYNC_INVALID_ARGUMENT; docs/strategies.md says what else is refused. */
casync_status casync_session_declare_scattered(casync_session* session, const char* name, casync_dtype dtype,
                                               const int64_t* shape, size_t dimensions, int32_t priority, uint32_t* id);
/* In a session with op "copy", beside gradients, which it sums uncompressed: memory of `bytes` bytes, which is
 * submitted like theirs and whose bytes go from rank to rank as they are. root >= 0: every rank gets that rank's; -1:
 * each gets the shards of all, and its own is the rank-th of equal ones. Multiples of 4 bytes, at multiples of 4. No
 * step of such a session counts for CASYNC_STEPS, and CASYNC_RECORD and CASYNC_TRACE are not for it. Unimplemented:
 * memory of a GPU. */
casync_status casync_session_declare_copied(casync_session* session, const char* name, size_t bytes, int32_t root,
                                            uint32_t* id);
/* Starts reducing `count` gradients in place; data[i] holds bytes[i] bytes and is the session's until
 * handles[i] is done. */
casync_status casync_session_submit(casync_session* session, size_t count, const uint32_t* ids, void* const* data,
                                    const size_t* bytes, casync_handle* handles);
/* The same with everything that a framework knows of each gradient. `handles` may be NULL. When it fails nothing was
 * started and no completion is called. Invalid argument: memory of another device than the session's. A device or an
 * event that this build cannot take is CASYNC_UNAVAILABLE. */
casync_status casync_session_submit_each(casync_session* session, size_t count, const casync_submission* submissions,
                                         casync_handle* handles);
/* Waits for one submission; timeout_s < 0: the session's. A timeout of the caller's own may be tried again as often as
 * it likes: the session's runs from the first wait for this submission, and when it is over the job ends, on all
 * ranks. */
casync_status casync_session_wait(casync_session* session, casync_handle handle, double timeout_s);
/* The same on a thread that waits in the program's stead while the program goes on: none of it counts as exposed. */
casync_status casync_session_wait_hidden(casync_session* session, casync_handle handle, double timeout_s);
/* The program stood still for so long because of this submission, elsewhere than in casync_session_wait and
 * casync_session_step: for reports. */
casync_status casync_session_note_exposed(casync_session* session, casync_handle handle, double seconds);
casync_status casync_session_done(casync_session* session, casync_handle handle, int32_t* done);
/* Ends the step. All completions of the step have returned by then, except when it is called by one of them.
 * *finite is 0 when some rank's gradient was NaN or infinite, or a result is; `name` (capacity bytes, may be NULL)
 * then holds the first such gradient's name. */
casync_status casync_session_step(casync_session* session, int32_t* finite, char* name, size_t capacity);
/* Counters as a JSON object. */
casync_status casync_session_stats(casync_session* session, char* json, size_t capacity, size_t* length);
/* The state of the last committed step, not while a step is under way: casync_session_state takes it and gives a
 * JSON object {step, ranks, rank, gradients: {name: {codec, elements, op, owned, sent, is_residual}}}. owned, sent:
 * ranges [first, count] of elements whose result this rank encodes, and of those that it encodes as its contribution.
 * is_residual: false where the state is more than a residual. Late results have no op, and neither has what an earlier
 * version saved and nobody has declared since. Until the step is ended or a state is loaded,
 * casync_session_state_get copies one gradient's residual of `elements` floats out of it. After the job's failure,
 * which other calls return, both still work, unless results of `staleness` are lost with it; ranks may be a step apart
 * then. */
casync_status casync_session_state(casync_session* session, char* json, size_t capacity, size_t* length);
casync_status casync_session_state_get(casync_session* session, const char* name, float* residual, size_t elements);
/* And back: first name NULL and codec the JSON (residual NULL, elements 0), then each gradient in it with its codec,
 * residual and the JSON's step. With the last of them the whole state is loaded, or none of it on an error. A gradient
 * with an op goes on in the roles that it has now, or is refused; without one it is loaded as it is. An earlier step
 * than the session's is a way back; on every rank or on none, which the next submit compares. */
casync_status casync_session_state_set(casync_session* session, const char* name, const char* codec,
                                       const float* residual, size_t elements, uint32_t step);
casync_status casync_session_abort(casync_session* session, const char* reason);
/* Waits until the other ranks have what this one has sent, and says goodbye; a second time it does nothing. Rank 0
 * serves the others until they have left, too. After it only casync_session_free is left. Aborted: gradients were still
 * under way. Timeout: a task or a completion has not ended within the session's time limit. Its thread goes on, and
 * uses the gradients' memory until it ends. */
casync_status casync_session_close(casync_session* session);
/* Closes if need be. No other call may be under way; NULL is allowed. While a completion has not returned by the
 * session's time limit, its thread uses the session and the gradients: an error is logged then, and nothing is freed.
 * In a forked child every other function on the parent's session returns CASYNC_UNAVAILABLE, and this one only lets go
 * of it. */
void casync_session_free(casync_session* session);

/* `name` may carry parameters, as in a session's codec, and may be the path of a codec's file ("mine.cll"), which is
 * compiled. One of rounds (`rounds` of casync_codec_info is not 0) says what it is; to encode by itself is
 * CASYNC_INVALID_ARGUMENT: it exchanges between its rounds, in a session. */
casync_status casync_codec_open(const char* name, const casync_parameter* parameters, size_t count,
                                casync_codec** codec);
casync_status casync_codec_bound(const casync_codec* codec, size_t elements, size_t* bytes);
/* `capacity` is at least casync_codec_bound. residual_in and residual_out: `elements` floats each, or both NULL; where
 * `states` of casync_codec_info has several entries, so many for each of them, one after the other. When an input is
 * NaN or infinite, the payload decodes to NaN there and residual_out becomes a copy of residual_in. No two of the
 * arrays may overlap. */
casync_status casync_codec_encode(const casync_codec* codec, const float* in, size_t elements, const float* residual_in,
                                  float* residual_out, uint64_t seed, uint32_t step, void* payload, size_t capacity,
                                  size_t* bytes);
/* Data loss: the payload is not one of this codec for so many elements. */
casync_status casync_codec_decode(const casync_codec* codec, const void* payload, size_t bytes, float* out,
                                  size_t elements);
/* For a codec that encodes differences (`has_result` of casync_codec_info): adds decoded elements to the state of the
 * one who decodes, and gives the elements that were encoded. state_in and state_out: as large as the residuals of
 * casync_codec_encode, zeros at first. If a decoded element is NaN or infinite, state_out becomes a copy of state_in.
 * `out` may be `decoded`; otherwise no two of the arrays may overlap. CASYNC_INVALID_ARGUMENT: another codec. */
casync_status casync_codec_result(const casync_codec* codec, const float* decoded, size_t elements,
                                  const float* state_in, float* state_out, float* out);
/* Payload of the sum of `count` payloads of `elements` elements each. */
casync_status casync_codec_merge(const casync_codec* codec, size_t count, const void* const* payloads,
                                 const size_t* bytes, size_t elements, void* payload, size_t capacity,
                                 size_t* merged_bytes);
/* The codec's declarations as a JSON object. */
casync_status casync_codec_info(const casync_codec* codec, char* json, size_t capacity, size_t* length);
void casync_codec_free(casync_codec* codec);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* CASYNC_H_ */
