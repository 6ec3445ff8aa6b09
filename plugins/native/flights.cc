// SPDX-License-Identifier: Apache-2.0
#include "plugins/native/flights.h"

#include <map>

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

}  // namespace

Outcome Flights::submit(std::uint32_t gradient, void* data, std::size_t bytes, Done done) {
  auto flight = std::make_unique<Flight>(Flight{this, std::move(done)});
  casync_submission submission = {};
  submission.struct_size = sizeof submission;
  submission.gradient = gradient;
  submission.data = data;
  submission.bytes = bytes;
  submission.done = land;
  submission.user = flight.get();
  {
    std::lock_guard lock(mutex_);
    ++count_;
  }
  const Outcome outcome = Outcome::of(casync_session_submit_each(session_, 1, &submission, nullptr));
  if (outcome.ok()) {
    static_cast<void>(flight.release());  // land() owns it
  } else {
    note_landed();
  }
  return outcome;
}

void Flights::land(void* flight, casync_handle, casync_status status, const char* message) {
  const std::unique_ptr<Flight> landed(static_cast<Flight*>(flight));
  landed->done({status, message == nullptr ? std::string() : std::string(message)});
  landed->flights->note_landed();
}

void Flights::note_landed() {
  std::lock_guard lock(mutex_);
  --count_;
  landed_.notify_all();
}

Outcome Flights::step(bool* finite, std::string* first_non_finite) {
  std::int32_t all_finite = 0;
  char name[4096] = "";
  const Outcome outcome = Outcome::of(casync_session_step(session_, &all_finite, name, sizeof name));
  *finite = all_finite != 0;
  *first_non_finite = name;
  return outcome;
}

std::size_t Flights::count() const {
  std::lock_guard lock(mutex_);
  return count_;
}

void Flights::drain() {
  std::unique_lock lock(mutex_);
  landed_.wait(lock, [&] { return count_ == 0; });
}

int attach(casync_session* session) {
  auto flights = std::make_shared<Flights>(session);
  std::lock_guard lock(table().mutex);
  table().flights.emplace(++table().last, std::move(flights));
  return table().last;
}

void detach(int number) {
  const std::shared_ptr<Flights> flights = find(number);
  if (!flights) return;
  flights->drain();
  std::lock_guard lock(table().mutex);
  table().flights.erase(number);
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
void casync_plugin_detach(int number) { casync::native::detach(number); }
std::size_t casync_plugin_in_flight(int number) {
  const auto flights = casync::native::find(number);
  return flights ? flights->count() : 0;
}
#pragma GCC visibility pop
}
