// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/host/host_device.h"
#include "runtime/session/group_table.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/lone_session.h"

/// The parts of a session with a group, without the session.
namespace casync::test::groups {

using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

using Values = std::vector<float>;

inline GradientSpec spec(const std::string& name) { return {name, DType::kFloat32, {2}, 0}; }

/// Notes what is declared, and for what it is asked; a result is there if the test says so.
class Noting final : public LoneSession {
 public:
  Result<GradientId> declare(const GradientSpec& gradient) override {
    declared.push_back(gradient.name);
    return LoneSession::declare(gradient);
  }
  Status submit(std::span<const Submission> submissions, std::span<Handle> handles) override {
    return failed.is_ok() ? LoneSession::submit(submissions, handles) : failed;
  }
  Status wait(Handle handle, double, Waiter) override {
    asked.push_back(handle);
    if (in_wait) in_wait();
    return Status::ok();
  }
  bool done(Handle) const override { return is_done; }
  Status wait_any(std::span<const Handle> handles, Clock::time_point until, const std::atomic<bool>& interrupted,
                  std::vector<Handle>* done) override {
    asked_until = until;
    asked.insert(asked.end(), handles.begin(), handles.end());
    if (meanwhile) meanwhile(interrupted);
    done->clear();
    if (is_done) done->assign(handles.begin(), handles.end());
    return Status::ok();
  }
  Status note_exposed(Handle handle, double) override {
    asked.push_back(handle);
    return Status::ok();
  }
  void abort(const std::string& reason) override { aborted_with = reason; }

  std::vector<std::string> declared;
  std::vector<Handle> asked;
  Clock::time_point asked_until;                                        ///< by the last wait for any
  std::function<void(const std::atomic<bool>& interrupted)> meanwhile;  ///< while somebody sleeps in wait_any()
  std::function<void()> in_wait;                                        ///< the same in wait()
  bool is_done = false;
  Status failed;
  std::string aborted_with;
};

/// Gradients of two elements, of which "a" and "b" are the group "g".
struct Table {
  explicit Table(Device& device) : on(device) {}
  Table() : Table(*own_device()) {}

  void add(const std::string& name) { table.add(name, *table.declare(spec(name))); }
  /// The check of a call that submits these.
  std::string check(std::initializer_list<unsigned> ids, std::uint32_t step = 0) {
    std::vector<Submission> calls;
    for (const unsigned id : ids) calls.push_back({GradientId(id), view_of(any)});
    return table.check(calls, step).text();
  }
  std::optional<Submission> take(unsigned id, Values& values, std::uint32_t step = 0) {
    return *table.take({GradientId(id), view_of(values)}, step);
  }
  /// A call that submits one. Returns what leaves.
  std::optional<Submission> submit(unsigned id, Values& values, std::uint32_t step = 0) {
    check({id}, step);
    std::optional<Submission> leaves = take(id, values, step);
    table.submitted(GradientId(id), step);
    return leaves;
  }

  /// The host.
  static Device* own_device() {
    static const std::unique_ptr<Device> host = make_host_device();
    return host.get();
  }

  Device& on;
  Noting session;
  GroupTable table{session, on, {{"g", {"a", "b"}, {}}}};
  Values any = {0, 0};
};

}  // namespace casync::test::groups
