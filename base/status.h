// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace casync {

/// The kind of an error: its origin, and so the caller's options. The numbers go over the wire and into C: they stay.
enum class StatusCode : unsigned char {
  kOk,
  kInvalidArgument,  ///< the caller's arguments; nothing was started
  kPlanError,        ///< a plan file or a decision that cannot be carried out
  kPeerFailure,      ///< another rank died, froze or left; the message names it
  kTimeout,          ///< a deadline passed; the message names who or what was missing
  kDataLoss,         ///< bytes that arrived are not the bytes that were sent
  kUnavailable,      ///< something this machine or build does not have
  kAborted,          ///< the session was aborted or closed by its own program
  kUnimplemented,    ///< built without it
  kInternal,         ///< our own fault
  kCompileError,     ///< a codec's source that does not compile
};

/// The last code: a larger number that arrives is no code.
inline constexpr StatusCode kLastStatusCode = StatusCode::kCompileError;

/// "PeerFailure" and so on: the name of the Python exception.
const char* name_of(StatusCode code);

/// The result of something that can fail in the world. OK holds no message and never allocates.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}
  static Status ok() { return {}; }

  bool is_ok() const { return code_ == StatusCode::kOk; }
  explicit operator bool() const { return is_ok(); }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  /// "PeerFailure: rank 2 ..." or "OK".
  std::string text() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

/// A Status of each code but kOk. The message names the culprit (rank, gradient, file and line), the values seen, and
/// the remedy.
Status invalid_argument(std::string message);
Status plan_error(std::string message);
Status peer_failure(std::string message);
Status timeout_error(std::string message);
Status data_loss(std::string message);
Status unavailable(std::string message);
Status aborted(std::string message);
Status unimplemented(std::string message);
Status internal_error(std::string message);
Status compile_error(std::string message);

/// A value or the Status that says why there is none, which is not OK. value(), * and -> are for a result with a value;
/// otherwise they throw std::bad_variant_access.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}        // NOLINT
  Result(Status status) : state_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    CASYNC_CHECK(!std::get<Status>(state_).is_ok());
  }

  bool is_ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return is_ok(); }
  Status status() const { return is_ok() ? Status() : std::get<Status>(state_); }
  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<Status, T> state_;
};

}  // namespace casync

/// Returns from the enclosing function when `expr` is a Status that is not OK.
#define CASYNC_RETURN_IF_ERROR(expr)                    \
  do {                                                  \
    ::casync::Status casync_status_ = (expr);           \
    if (!casync_status_.is_ok()) return casync_status_; \
  } while (0)
