// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/fork_guard.h"

#include <fmt/format.h>
#include <unistd.h>

#include "runtime/control/wire/fd.h"

namespace casync::runtime {
namespace {

class ForkGuard final : public Group {
 public:
  explicit ForkGuard(std::unique_ptr<Group> group) : group_(std::move(group)) {}
  ~ForkGuard() override {
    // Its mutexes may be locked for ever and its thread cannot be joined: left as it is.
    if (is_forked()) static_cast<void>(group_.release());
  }

  std::uint64_t epoch() const override { return group_->epoch(); }
  const std::string& host_of(Rank rank) const override { return group_->host_of(rank); }
  int local_ranks() const override { return group_->local_ranks(); }
  bool is_one_process() const override { return group_->is_one_process(); }
  int pid_of(Rank rank) const override { return group_->pid_of(rank); }
  Result<std::vector<std::string>> all_gather(const std::string& what, const std::string& blob,
                                              Clock::time_point deadline) override {
    if (is_forked()) return refusal();
    return group_->all_gather(what, blob, deadline);
  }
  void claim(std::vector<Claim> claims) override {
    if (!is_forked()) group_->claim(std::move(claims));
  }
  Status agree(Claim claim, Clock::time_point deadline) override {
    return is_forked() ? refusal() : group_->agree(std::move(claim), deadline);
  }
  void watch_agreements(std::function<void(const Agreement&)> on_agreement) override {
    if (!is_forked()) group_->watch_agreements(std::move(on_agreement));
  }
  void need(std::vector<std::string> names, std::uint32_t step) override {
    if (!is_forked()) group_->need(std::move(names), step);
  }
  void watch_needs(std::function<void(const std::string&, std::uint32_t)> on_need) override {
    if (!is_forked()) group_->watch_needs(std::move(on_need));
  }
  void lack(const std::string& name) override {
    if (!is_forked()) group_->lack(name);
  }
  void give_up(const std::string& name) override {
    if (!is_forked()) group_->give_up(name);
  }
  void ask_who_is_late(const std::string& name) override {
    if (!is_forked()) group_->ask_who_is_late(name);
  }
  Bytes control_bytes() override { return is_forked() ? 0 : group_->control_bytes(); }
  void abort(const Status& cause) override {
    if (!is_forked()) group_->abort(cause);
  }
  void watch(std::function<void(const Status&)> on_failure) override {
    if (!is_forked()) return group_->watch(std::move(on_failure));
    on_failure(refusal());
  }
  void watch_leavers(std::function<void(Rank, const LastWords&)> on_leave) override {
    if (!is_forked()) group_->watch_leavers(std::move(on_leave));
  }
  Status failure() const override { return is_forked() ? refusal() : group_->failure(); }
  using Group::close;
  Status close(Clock::time_point deadline, const LastWords& words) override {
    return is_forked() ? refusal() : group_->close(deadline, words);
  }

 private:
  bool is_forked() const { return fork_generation() != generation_; }
  Status refusal() const {
    return unavailable(
        fmt::format("process {} is a fork of process {}, whose session this is: open sessions after "
                    "forking, or start workers with \"spawn\"",
                    getpid(), pid_));
  }

  std::unique_ptr<Group> group_;
  unsigned generation_ = fork_generation();
  int pid_ = getpid();
};

}  // namespace

std::unique_ptr<Group> guard_against_forks(std::unique_ptr<Group> group) {
  return std::make_unique<ForkGuard>(std::move(group));
}

}  // namespace casync::runtime
