// SPDX-License-Identifier: Apache-2.0
//
// A session in C: each function checks its pointers and hands over.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/env.h"
#include "base/log.h"
#include "base/log_sink.h"
#include "plugins/c_api/options.h"
#include "plugins/c_api/session_handle.h"
#include "plugins/c_api/text.h"
#include "runtime/control/launch/launch.h"

using namespace casync;         // NOLINT: this file is the seam
using namespace casync::c_api;  // NOLINT

namespace {

constexpr std::size_t kMostDimensions = 64;

/// Returns true on one rank of each machine, as environments may differ between machines.
bool speaks_for_machine(const runtime::LaunchArguments& arguments) {
  if (arguments.rank) return *arguments.rank == 0;
  const Result<runtime::Launch> launch = runtime::read_launch(arguments, foreign_env_text);
  return !launch || launch->local_rank == 0;
}

Status open(const casync_session_options* options, casync_session** session) {
  CASYNC_RETURN_IF_ERROR(need(session, "session"));
  *session = nullptr;
  Result<runtime::SessionOptions> filled = session_options(options);
  if (!filled || speaks_for_machine(filled->launch)) warn_unknown_variables();
  if (!filled) return filled.status();
  const Result<std::optional<double>> steps = env_number("CASYNC_STEPS");
  if (!steps) return steps.status();
  auto handle = std::make_unique<casync_session>();
  handle->timeout_s = filled->timeout_s;
  // A training's steps are those of the session that reduces.
  if (filled->op != runtime::ReduceOp::kCopy) handle->steps_left = static_cast<std::uint64_t>(steps->value_or(0));
  Result<std::unique_ptr<runtime::Session>> opened = runtime::Session::open(*filled);
  if (!opened) return opened.status();
  handle->session = std::move(*opened);
  handle->completions = std::make_unique<runtime::Completions>(*handle->session);
  *session = handle.release();
  return Status::ok();
}

Status declare(casync_session* session, const char* name, int dtype, const int64_t* shape, std::size_t dimensions,
               int32_t priority, bool scattered, uint32_t* id) {
  CASYNC_RETURN_IF_ERROR(check_open(session));
  CASYNC_RETURN_IF_ERROR(need(name, "name"));
  CASYNC_RETURN_IF_ERROR(need_array(shape, dimensions, "shape"));
  CASYNC_RETURN_IF_ERROR(need(id, "id"));
  if (!is_utf8(name)) return invalid_argument("a gradient's name is not UTF-8");
  if (dtype < CASYNC_FLOAT32 || dtype > CASYNC_BFLOAT16) {
    return invalid_argument(std::string("gradient ") + name + ": dtype " + std::to_string(dtype) +
                            ", expected 1 (float32), 2 (float16) or 3 (bfloat16)");
  }
  if (dimensions > kMostDimensions) {
    return invalid_argument(std::string("gradient ") + name + ": " + std::to_string(dimensions) +
                            " dimensions, expected at most 64");
  }
  GradientSpec gradient{name, static_cast<DType>(dtype), {}, priority};
  if (dimensions > 0) gradient.shape.assign(shape, shape + dimensions);
  gradient.scattered = scattered;
  const Result<runtime::GradientId> declared = session->session->declare(gradient);
  if (declared) *id = static_cast<uint32_t>(*declared);
  return declared.status();
}

Status declare_copied(casync_session* session, const char* name, std::size_t bytes, int32_t root, uint32_t* id) {
  CASYNC_RETURN_IF_ERROR(check_open(session));
  CASYNC_RETURN_IF_ERROR(need(name, "name"));
  CASYNC_RETURN_IF_ERROR(need(id, "id"));
  if (!is_utf8(name)) return invalid_argument("a name is not UTF-8");
  if (bytes % sizeof(float) != 0) {
    return invalid_argument(std::string(name) + ": " + std::to_string(bytes) + " bytes, expected a multiple of 4");
  }
  const GradientSpec words{name, DType::kFloat32, {static_cast<std::int64_t>(bytes / sizeof(float))}};
  const Result<runtime::GradientId> declared =
      session->session->declare_copied(words, root == -1 ? std::nullopt : std::optional<Rank>(root));
  if (declared) *id = static_cast<uint32_t>(*declared);
  return declared.status();
}

Status submit(casync_session* session, std::size_t count, const uint32_t* ids, void* const* data, const size_t* bytes,
              casync_handle* handles) {
  CASYNC_RETURN_IF_ERROR(check_open(session));
  CASYNC_RETURN_IF_ERROR(need_array(ids, count, "ids"));
  CASYNC_RETURN_IF_ERROR(need_array(data, count, "data"));
  CASYNC_RETURN_IF_ERROR(need_array(bytes, count, "bytes"));
  CASYNC_RETURN_IF_ERROR(need_array(handles, count, "handles"));
  thread_local std::vector<runtime::Submission> submissions;  // keeps its memory: this runs in every step
  submissions.clear();
  for (std::size_t i = 0; i < count; ++i) {
    if (data[i] == nullptr && bytes[i] > 0) return invalid_argument("data[" + std::to_string(i) + "] is NULL");
    submissions.push_back({runtime::GradientId(ids[i]), {static_cast<std::byte*>(data[i]), bytes[i]}});
  }
  thread_local std::vector<runtime::Handle> submitted;
  submitted.resize(count);
  CASYNC_RETURN_IF_ERROR(session->session->submit(submissions, submitted));
  for (std::size_t i = 0; i < count; ++i) handles[i] = static_cast<casync_handle>(submitted[i]);
  return Status::ok();
}

Status wait(casync_session* session, casync_handle handle, double timeout_s, runtime::Waiter waiter) {
  CASYNC_RETURN_IF_ERROR(check_open(session));
  if (std::isnan(timeout_s)) return invalid_argument("timeout_s is not a number");
  return session->session->wait(runtime::Handle(handle), timeout_s, waiter);
}

Clock::time_point deadline_of(const casync_session& session) { return after(Seconds(session.timeout_s)); }

/// Waits for the program's completions. Timeout: the thread that is in one of them goes on.
Status end_completions(casync_session* session, Clock::time_point deadline) {
  Status status = session->completions->drain(deadline);
  if (status) return status;
  return timeout_error(status.message() + " (after " + std::to_string(session->timeout_s) + " s)");
}

/// Every rank is here after the same step, so each says goodbye and none fails.
[[noreturn]] void end_program(casync_session* session) {
  const Status closed = session->session->close();
  if (!closed) log().warn("CASYNC_STEPS: {}", closed.message());
  log_sink().end_reading();  // no handler at exit does
  std::fflush(nullptr);
  std::_Exit(closed ? 0 : 1);
}

/// False: a thread is in a completion and comes back to the session, which is then never freed.
bool has_ended(casync_session* session) {
  if (session == nullptr || session->generation != runtime::fork_generation()) return true;
  static_cast<void>(session->session->close());
  const bool was_closed = session->closed.exchange(true);
  if (session->completions->close(was_closed ? session->close_deadline : deadline_of(*session))) return true;
  log().error("a completion has not returned after {} s: its session is kept, and the gradients' memory is in use",
              session->timeout_s);
  return false;
}

Status step(casync_session* session, int32_t* finite, char* name, std::size_t capacity) {
  CASYNC_RETURN_IF_ERROR(check_open(session));
  CASYNC_RETURN_IF_ERROR(need(finite, "finite"));
  {
    std::lock_guard lock(session->state_mutex);
    session->taken.reset();  // as large as the model, and of the past from here on
  }
  const Result<runtime::StepResult> result = session->session->step();
  const Status told = end_completions(session, deadline_of(*session));
  if (!result) return result.status();
  if (!told) {
    session->session->abort(told.message());  // the other ranks would wait for this one's next step
    return told;
  }
  *finite = result->finite ? 1 : 0;
  if (name != nullptr) copy_text(result->first_non_finite, name, capacity);
  if (session->steps_left > 0 && --session->steps_left == 0) end_program(session);
  return Status::ok();
}

}  // namespace

casync_status casync_session_open(const casync_session_options* options, casync_session** session) {
  return guarded([&] { return open(options, session); });
}

casync_status casync_session_rank(casync_session* session, int32_t* rank, int32_t* size) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(check_open(session));
    CASYNC_RETURN_IF_ERROR(need(rank, "rank"));
    CASYNC_RETURN_IF_ERROR(need(size, "size"));
    *rank = session->session->rank();
    *size = session->session->ranks();
    return Status::ok();
  });
}

casync_status casync_session_timeout(casync_session* session, double* seconds) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(check_open(session));
    CASYNC_RETURN_IF_ERROR(need(seconds, "seconds"));
    *seconds = session->timeout_s;
    return Status::ok();
  });
}

casync_status casync_session_end_submissions(casync_session* session) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(check_open(session));
    session->session->end_submissions();
    return Status::ok();
  });
}

casync_status casync_session_exchanged(casync_session* session, int32_t* exchanged) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(check_open(session));
    CASYNC_RETURN_IF_ERROR(need(exchanged, "exchanged"));
    *exchanged = static_cast<int32_t>(session->session->exchanged());
    return Status::ok();
  });
}

casync_status casync_session_begin_consensus(casync_session* session) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(check_open(session));
    return session->session->begin_consensus();
  });
}

casync_status casync_session_declare(casync_session* session, const char* name, casync_dtype dtype,
                                     const int64_t* shape, size_t dimensions, int32_t priority, uint32_t* id) {
  return guarded(
      [&] { return declare(session, name, static_cast<int>(dtype), shape, dimensions, priority, false, id); });
}

casync_status casync_session_declare_scattered(casync_session* session, const char* name, casync_dtype dtype,
                                               const int64_t* shape, size_t dimensions, int32_t priority,
                                               uint32_t* id) {
  return guarded(
      [&] { return declare(session, name, static_cast<int>(dtype), shape, dimensions, priority, true, id); });
}

casync_status casync_session_declare_copied(casync_session* session, const char* name, size_t bytes, int32_t root,
                                            uint32_t* id) {
  return guarded([&] { return declare_copied(session, name, bytes, root, id); });
}

casync_status casync_session_submit(casync_session* session, size_t count, const uint32_t* ids, void* const* data,
                                    const size_t* bytes, casync_handle* handles) {
  return guarded([&] { return submit(session, count, ids, data, bytes, handles); });
}

casync_status casync_session_wait(casync_session* session, casync_handle handle, double timeout_s) {
  return guarded([&] { return wait(session, handle, timeout_s, runtime::Waiter::kProgram); });
}

casync_status casync_session_wait_hidden(casync_session* session, casync_handle handle, double timeout_s) {
  return guarded([&] { return wait(session, handle, timeout_s, runtime::Waiter::kHelper); });
}

casync_status casync_session_note_exposed(casync_session* session, casync_handle handle, double seconds) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(check_open(session));
    return session->session->note_exposed(runtime::Handle(handle), seconds);
  });
}

casync_status casync_session_done(casync_session* session, casync_handle handle, int32_t* done) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(check_open(session));
    CASYNC_RETURN_IF_ERROR(need(done, "done"));
    *done = session->session->done(runtime::Handle(handle)) ? 1 : 0;
    return *done == 1 ? Status::ok() : session->session->failure();  // a program that asks again and again hears of it
  });
}

casync_status casync_session_step(casync_session* session, int32_t* finite, char* name, size_t capacity) {
  return guarded([&] { return step(session, finite, name, capacity); });
}

casync_status casync_session_abort(casync_session* session, const char* reason) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(check_open(session));
    CASYNC_RETURN_IF_ERROR(need(reason, "reason"));
    session->session->abort(reason);
    return Status::ok();
  });
}

casync_status casync_session_close(casync_session* session) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(need(session, "session"));
    const bool before = session->closed.exchange(true);
    const Status status = session->session->close();  // of two threads one waits for the other's
    if (before || session->generation != runtime::fork_generation()) return status;
    session->close_deadline = deadline_of(*session);
    const Status told = end_completions(session, session->close_deadline);
    return status ? told : status;
  });
}

void casync_session_free(casync_session* session) {
  guarded_free([&] {
    if (has_ended(session)) delete session;
  });
}
