// SPDX-License-Identifier: Apache-2.0
#include "plugins/native/flights.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

namespace casync::native {
namespace {

struct Table {
  std::mutex mutex;
  std::map<int, std::shared_ptr<Flights>> flights;
  int last = 0;
};

Table& table() {
  static Table* const table = new Table;  // never destroyed: threads of the framework may outlive main()
  return *table;
}

const Outcome kLetGo = {CASYNC_ABORTED, "its session is closed"};

}  // namespace

/// A call of the session's functions, from here on and until it has returned.
class Flights::Call {
 public:
  explicit Call(Flights& flights) : flights_(flights) {
    const std::lock_guard lock(flights_.mutex_);
    allowed_ = !flights_.let_go_;
    if (allowed_) ++flights_.calls_;
  }
  ~Call() {
    if (allowed_) flights_.end_one(flights_.calls_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  bool allowed() const { return allowed_; }

 private:
  Flights& flights_;
  bool allowed_ = false;
};

Flights::Flights(casync_session* session) : session_(session) {
  double seconds = 0;
  if (casync_session_timeout(session, &seconds) == CASYNC_OK) limit_ = std::chrono::duration<double>(seconds);
}

Outcome Flights::submit(std::uint32_t gradient, void* data, std::size_t bytes, Done done) {
  const Call call(*this);
  if (!call.allowed()) return kLetGo;
  auto flight = std::make_unique<Flight>(Flight{shared_from_this(), std::move(done)});
  casync_submission submission = {};
  submission.struct_size = sizeof submission;
  submission.gradient = gradient;
  submission.data = data;
  submission.bytes = bytes;
  submission.done = land;
  submission.user = flight.get();
  {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  const Outcome outcome = Outcome::of(casync_session_submit_each(session_, 1, &submission, nullptr));
  if (outcome.ok()) {
    static_cast<void>(flight.release());  // land() owns it
  } else {
    end_one(count_);
  }
  return outcome;
}

void Flights::land(void* flight, casync_handle, casync_status status, const char* message) {
  const std::unique_ptr<Flight> landed(static_cast<Flight*>(flight));
  landed->done({status, message == nullptr ? std::string() : std::string(message)});
  landed->done = nullptr;  // what it holds is the caller's: it goes first
  landed->flights->end_one(landed->flights->count_);
}

void Flights::end_one(std::size_t& of) {
  const std::lock_guard lock(mutex_);
  --of;
  ended_.notify_all();
}

Outcome Flights::step(bool* finite, std::string* first_non_finite) {
  const Call call(*this);
  if (!call.allowed()) return kLetGo;
  std::int32_t all_finite = 0;
  char name[4096] = "";
  const Outcome outcome = Outcome::of(casync_session_step(session_, &all_finite, name, sizeof name));
  *finite = all_finite != 0;
  *first_non_finite = name;
  return outcome;
}

void Flights::abort(const std::string& reason) {
  const Call call(*this);
  if (call.allowed()) casync_session_abort(session_, reason.c_str());
}

std::size_t Flights::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

Outcome Flights::drain() {
  std::unique_lock lock(mutex_);
  if (!let_go_) {
    let_go_ = true;
    using Clock = std::chrono::steady_clock;
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit_);
  }
  if (ended_.wait_until(lock, deadline_, [&] { return count_ == 0 && calls_ == 0; })) return {};
  return {CASYNC_TIMEOUT, std::to_string(count_) + " gradients and " + std::to_string(calls_) +
                              " calls are still under way " + std::to_string(std::llround(limit_.count())) +
                              " s after the session was closed: it and the gradients' memory stay in use"};
}

int attach(casync_session* session) {
  auto flights = std::make_shared<Flights>(session);
  std::lock_guard lock(table().mutex);
  table().flights.emplace(++table().last, std::move(flights));
  return table().last;
}

Outcome detach(int number) {
  const std::shared_ptr<Flights> flights = find(number);
  if (!flights) return {};
  Outcome drained = flights->drain();
  if (!drained.ok()) return drained;
  std::lock_guard lock(table().mutex);
  table().flights.erase(number);
  return drained;
}

std::shared_ptr<Flights> find(int number) {
  std::lock_guard lock(table().mutex);
  const auto known = table().flights.find(number);
  return known == table().flights.end() ? nullptr : known->second;
}

}  // namespace casync::native

// The functions that Python calls through ctypes.
extern "C" {
#pragma GCC visibility push(default)
std::uint32_t casync_plugin_abi_version() { return CASYNC_ABI_VERSION; }
int casync_plugin_attach(casync_session* session) { return casync::native::attach(session); }
/// A casync_status, and its sentence.
int casync_plugin_detach(int number, char* message, std::size_t capacity) {
  const casync::native::Outcome outcome = casync::native::detach(number);
  if (capacity > 0) std::snprintf(message, capacity, "%s", outcome.message.c_str());
  return outcome.status;
}
std::size_t casync_plugin_in_flight(int number) {
  const auto flights = casync::native::find(number);
  return flights ? flights->count() : 0;
}
#pragma GCC visibility pop
}
