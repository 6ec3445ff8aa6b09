/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface of CaSync, on which every framework plugin is built. C99.
 *
 * Handles are opaque. Every function returns a casync_status; on failure casync_last_error() has the sentence,
 * per thread, until the next call on that thread. No exception and no C++ type crosses this line. Each options
 * struct begins with its size: set it to sizeof(struct), zero the rest, fill in what you need.
 *
 * Texts that come out go into `capacity` bytes of the caller's, always with a NUL at the end, and *length is how
 * long the text is without it: when *length >= capacity it was cut, and a larger buffer gets all of it.
 * Texts and arrays that go in are read during the call only, except the memory of submissions.
 *
 * Threads: any thread may call any function, and several threads may use one session or one codec at the same time. On
 * a session only one thread at a time ends a step, one declares, and one loads a state; casync_session_free comes last.
 *
 * Errors that every function may return: CASYNC_INVALID_ARGUMENT if a pointer is NULL that may not be, CASYNC_INTERNAL
 * without memory. Functions of a session may also return the session's first failure, which is final and the same on
 * all ranks, CASYNC_ABORTED once it is closed, and CASYNC_UNAVAILABLE in a forked child.
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
  CASYNC_INVALID_ARGUMENT = 1, /* the caller's arguments, or ranks that differ; nothing was started */
  CASYNC_PLAN_ERROR = 2,       /* a plan that cannot be read, or a decision that cannot be carried out */
  CASYNC_PEER_FAILURE = 3,     /* a rank died, froze, left or aborted the job; the sentence names it */
  CASYNC_TIMEOUT = 4,          /* a time limit is over; the sentence names what was missing */
  CASYNC_DATA_LOSS = 5,        /* bytes that arrived are not the bytes that were sent */
  CASYNC_UNAVAILABLE = 6,      /* a part that this machine or build does not have */
  CASYNC_ABORTED = 7,          /* the program has closed the session */
  CASYNC_UNIMPLEMENTED = 8,    /* a part that this version does not have */
  CASYNC_INTERNAL = 9,         /* a fault of this library */
  CASYNC_COMPILE_ERROR = 10    /* a codec's file that does not compile */
} casync_status;

/* Numbers as in base/dtype.h. */
typedef enum casync_dtype { CASYNC_FLOAT32 = 1, CASYNC_FLOAT16 = 2, CASYNC_BFLOAT16 = 3 } casync_dtype;

/* The values that a step exchanges, by the plan. */
typedef enum casync_exchanged {
  CASYNC_GRADIENTS = 0,
  CASYNC_NOTHING = 1,     /* local SGD, gossip: submissions are refused */
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
 * key at most timeout_s seconds (then returns non-zero, and may be called again). CASYNC_UNAVAILABLE from get: the
 * store has failed. casync_session_open then returns the same at once on a rank above 0, which needs the value. */
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
   * the same kind. CASYNC_UNIMPLEMENTED: docs/devices.md has what sessions on a GPU do not do. */
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

/* The version of this interface that the library has: CASYNC_ABI_VERSION of its header. */
uint32_t casync_abi_version(void);
/* The library's version, such as "0.1.0". */
const char* casync_version(void);
/* The last failure of this thread, "" when there was none. Valid until the next call on this thread, other than
 * casync_session_free and casync_codec_free. */
const char* casync_last_error(void);
/* Names of the built-in codecs, separated by spaces. Valid until the process ends. */
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

/* Finds the other ranks, compares versions and plans with them, and connects. All ranks call it, and wait for each
 * other until the time limit. Afterwards casync_session_free is called once. On failure *session is NULL.
 * CASYNC_INVALID_ARGUMENT: an option, or ranks with different plans, codecs, versions or kinds of devices.
 * CASYNC_PLAN_ERROR, CASYNC_COMPILE_ERROR: the plan; a codec's file. CASYNC_TIMEOUT, CASYNC_PEER_FAILURE: a rank did
 * not come; one died meanwhile. CASYNC_UNAVAILABLE: no such transport, device or rendezvous here. CASYNC_UNIMPLEMENTED:
 * sessions on a GPU do not have it (docs/devices.md). */
casync_status casync_session_open(const casync_session_options* options, casync_session** session);
/* This rank, from 0, and the number of ranks. */
casync_status casync_session_rank(casync_session* session, int32_t* rank, int32_t* size);
/* The session's time limit in seconds, which ends each of its waits. */
casync_status casync_session_timeout(casync_session* session, double* seconds);
/* Says that this rank submits nothing more in the step under way, for programs that wait for submissions ahead of
 * casync_session_step. Ranks whose gradients differ in name then learn it at once, and not by a timeout. */
casync_status casync_session_end_submissions(casync_session* session);
/* The values that the step under way exchanges: a casync_exchanged. */
casync_status casync_session_exchanged(casync_session* session, int32_t* exchanged);
/* With a plan's gossip or asynchronous: makes the step under way a consensus, which exchanges parameters and gives the
 * exact mean of all ranks, the same bytes on each. On every rank in the same step, ahead of its first submission.
 * CASYNC_INVALID_ARGUMENT: the plan has neither of them, or the step has submissions. */
casync_status casync_session_begin_consensus(casync_session* session);
/* Makes a gradient known and gives it an id. `name` is UTF-8; `shape` has `dimensions` extents, up to 64, the last one
 * contiguous. priority: smaller is needed sooner in the next forward pass. Every rank declares the same gradients, in
 * any order, ahead of the first step in which a rank submits them; ranks that differ end the job with
 * CASYNC_INVALID_ARGUMENT, and its sentence has both values. The same declaration again gives the same id.
 * CASYNC_INVALID_ARGUMENT: a name that was declared otherwise, a dtype or shape that there is not, an unknown codec.
 * CASYNC_PLAN_ERROR: the plan's decision for it cannot be carried out. */
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
 * step of such a session counts for CASYNC_STEPS, and CASYNC_RECORD and CASYNC_TRACE are not for it.
 * CASYNC_UNIMPLEMENTED: memory of a GPU. */
casync_status casync_session_declare_copied(casync_session* session, const char* name, size_t bytes, int32_t root,
                                            uint32_t* id);
/* Starts reducing `count` gradients in place; data[i] holds bytes[i] bytes of the host's memory, contiguous, and is the
 * session's until handles[i] is done. The first submission of a session and after a loaded state waits for all ranks,
 * others do not wait. A handle is known until its gradient is submitted again. CASYNC_INVALID_ARGUMENT: an unknown id,
 * another size than the declared one, memory of another device than the session's, a gradient twice in one step, or a
 * step that exchanges nothing. Nothing of the call was started then. */
casync_status casync_session_submit(casync_session* session, size_t count, const uint32_t* ids, void* const* data,
                                    const size_t* bytes, casync_handle* handles);
/* The same with everything that a framework knows of each gradient. `handles` may be NULL. When it fails nothing was
 * started and no completion is called. CASYNC_INVALID_ARGUMENT: memory of another device than the session's. A device
 * or an event that this build cannot take is CASYNC_UNAVAILABLE. */
casync_status casync_session_submit_each(casync_session* session, size_t count, const casync_submission* submissions,
                                         casync_handle* handles);
/* Waits for one submission; timeout_s < 0: the session's. A timeout of the caller's own may be tried again as often as
 * it likes: the session's runs from the first wait for this submission, and when it is over the job ends, on all
 * ranks. CASYNC_TIMEOUT: not done by then, and the sentence says what is missing. CASYNC_INVALID_ARGUMENT: an unknown
 * handle, or timeout_s is NaN. */
casync_status casync_session_wait(casync_session* session, casync_handle handle, double timeout_s);
/* The same on a thread that waits in the program's stead while the program goes on: none of it counts as exposed. */
casync_status casync_session_wait_hidden(casync_session* session, casync_handle handle, double timeout_s);
/* Notes that the program stood still for so many seconds because of this submission, elsewhere than in
 * casync_session_wait and casync_session_step: for reports. CASYNC_INVALID_ARGUMENT: seconds below 0 or NaN, or an
 * unknown handle. */
casync_status casync_session_note_exposed(casync_session* session, casync_handle handle, double seconds);
/* Sets *done to 1 once the submission's memory holds the result, else to 0, also for an unknown handle. Does not wait
 * for it; once the job has failed it returns the failure, but for a submission that is done. A failure of the
 * submission alone is that of casync_session_wait. */
casync_status casync_session_done(casync_session* session, casync_handle handle, int32_t* done);
/* Ends the step: waits for all of its submissions, then commits residuals. All of its completions have returned by
 * then, except when it is called by one of them. *finite is 0 when some rank's gradient was NaN or infinite, or a
 * result is: leave the update out. It is the same on all ranks, except with a plan's gossip and asynchronous. `name`
 * (capacity bytes, may be NULL) then holds the first such gradient's name. CASYNC_TIMEOUT: a completion has not
 * returned within the session's time limit, which ends the job. */
casync_status casync_session_step(casync_session* session, int32_t* finite, char* name, size_t capacity);
/* Counters as a JSON object: steps, messages, bytes, seconds of each kind of task, allocations, and the transport. */
casync_status casync_session_stats(casync_session* session, char* json, size_t capacity, size_t* length);
/* The state of the last committed step, not while a step is under way: casync_session_state takes it and gives a
 * JSON object {step, ranks, rank, gradients: {name: {codec, elements, op, owned, sent, is_residual}}}. owned, sent:
 * ranges [first, count] of elements whose result this rank encodes, and of those that it encodes as its contribution.
 * is_residual: false where the state is more than a residual. Late results have no op, and neither has what an earlier
 * version saved and nobody has declared since. Until the step is ended or a state is loaded,
 * casync_session_state_get copies one gradient's residual of `elements` floats out of it. CASYNC_INVALID_ARGUMENT: a
 * step is under way, no state was taken, no such gradient, or another number of elements. After the job's failure,
 * which other calls return, both still work, unless results of `staleness` are lost with it; ranks may be a step apart
 * then. */
casync_status casync_session_state(casync_session* session, char* json, size_t capacity, size_t* length);
casync_status casync_session_state_get(casync_session* session, const char* name, float* residual, size_t elements);
/* And back: first name NULL and codec the JSON (residual NULL, elements 0), then each gradient in it with its codec,
 * residual and the JSON's step. With the last of them the whole state is loaded, or none of it on an error. A gradient
 * with an op goes on in the roles that it has now, or is refused; without one it is loaded as it is. An earlier step
 * than the session's is a way back; on every rank or on none, which the next submit compares. It forgets all handles:
 * the completions of gradients that are done have returned by then, except when it is called by one of them.
 * CASYNC_INVALID_ARGUMENT: a step is under way, JSON that is damaged, or a gradient of another size, codec, step or
 * number of ranks, by its name. CASYNC_TIMEOUT: a completion has not returned within the session's time limit; nothing
 * was loaded. */
casync_status casync_session_state_set(casync_session* session, const char* name, const char* codec,
                                       const float* residual, size_t elements, uint32_t step);
/* Ends the job on all ranks. `reason` is part of the sentence that they get. */
casync_status casync_session_abort(casync_session* session, const char* reason);
/* Waits until the other ranks have what this one has sent, and says goodbye. Rank 0 serves the others until they have
 * left, too. After it only casync_session_free is left. A second call, on another thread maybe, waits until the first
 * has said goodbye, and returns its status, but for that of completions. CASYNC_ABORTED: gradients were still under
 * way. CASYNC_TIMEOUT: a task or a completion has not ended within the session's time limit. Its thread goes on, and
 * uses the gradients' memory until it ends. */
casync_status casync_session_close(casync_session* session);
/* Closes if need be. No other call may be under way; NULL is allowed. While a completion has not returned by the
 * session's time limit, its thread uses the session and the gradients: an error is logged then, and nothing is freed.
 * In a forked child every other function on the parent's session returns CASYNC_UNAVAILABLE, and this one only lets go
 * of it. */
void casync_session_free(casync_session* session);

/* Opens a codec. `name` may carry parameters, as in a session's codec, and may be the path of a codec's file
 * ("mine.cll"), which is compiled. Afterwards casync_codec_free is called once; on failure *codec is NULL. A codec of
 * rounds (`rounds` of casync_codec_info is not 0) exchanges within a step of a session: casync_codec_info takes it, and
 * all other functions refuse it as CASYNC_INVALID_ARGUMENT. Opening fails with CASYNC_INVALID_ARGUMENT: no such codec,
 * file or parameter, or a value out of its range; CASYNC_COMPILE_ERROR: the file, with line and column. */
casync_status casync_codec_open(const char* name, const casync_parameter* parameters, size_t count,
                                casync_codec** codec);
/* The most bytes that a payload of `elements` elements takes. CASYNC_INVALID_ARGUMENT: the codec takes fewer. */
casync_status casync_codec_bound(const casync_codec* codec, size_t elements, size_t* bytes);
/* Writes a payload of *bytes bytes. The same input, seed and step give the same payload. `capacity` is at least
 * casync_codec_bound. residual_in and residual_out: `elements` floats each, or both NULL; where `states` of
 * casync_codec_info has several entries, so many for each of them, one after the other. When an input is NaN or
 * infinite, the payload decodes to NaN there and residual_out becomes a copy of residual_in. CASYNC_INVALID_ARGUMENT: a
 * capacity below the bound, one residual without the other, or arrays that overlap. */
casync_status casync_codec_encode(const casync_codec* codec, const float* in, size_t elements, const float* residual_in,
                                  float* residual_out, uint64_t seed, uint32_t step, void* payload, size_t capacity,
                                  size_t* bytes);
/* Writes `elements` floats to `out`, which may not overlap the payload. CASYNC_DATA_LOSS: the payload is not one of
 * this codec for so many elements. */
casync_status casync_codec_decode(const casync_codec* codec, const void* payload, size_t bytes, float* out,
                                  size_t elements);
/* For a codec that encodes differences (`has_result` of casync_codec_info): adds decoded elements to the state of the
 * one who decodes, and gives the elements that were encoded. state_in and state_out: as large as the residuals of
 * casync_codec_encode, zeros at first. If a decoded element is NaN or infinite, state_out becomes a copy of state_in.
 * `out` may be `decoded`; otherwise no two of the arrays may overlap. CASYNC_INVALID_ARGUMENT: another codec. */
casync_status casync_codec_result(const casync_codec* codec, const float* decoded, size_t elements,
                                  const float* state_in, float* state_out, float* out);
/* Payload of the sum of `count` payloads, at least one, of `elements` elements each. `capacity` is at least
 * casync_codec_bound; *merged_bytes are taken. `payload` may overlap no input. CASYNC_DATA_LOSS: a payload is not one
 * of this codec for so many elements. CASYNC_INVALID_ARGUMENT: a codec of differences (`patch`). */
casync_status casync_codec_merge(const casync_codec* codec, size_t count, const void* const* payloads,
                                 const size_t* bytes, size_t elements, void* payload, size_t capacity,
                                 size_t* merged_bytes);
/* The codec's declarations as a JSON object. */
casync_status casync_codec_info(const casync_codec* codec, char* json, size_t capacity, size_t* length);
/* NULL is allowed. No other call with the codec may be under way. */
void casync_codec_free(casync_codec* codec);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* CASYNC_H_ */
