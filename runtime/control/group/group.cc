// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>

#include "base/log.h"
#include "runtime/control/group/descriptors.h"
#include "runtime/control/group/fork_guard.h"
#include "runtime/control/group/group_state.h"
#include "runtime/control/group/group_thread.h"
#include "runtime/control/group/hub.h"
#include "runtime/control/group/member.h"
#include "runtime/control/group/messages.h"
#include "runtime/control/launch/token.h"
#include "runtime/control/rendezvous/rendezvous.h"
#include "runtime/control/wire/crypto.h"

namespace casync::runtime {
namespace {

/// Time after a deadline in which rank 0's answer, which names the culprits, may still arrive.
constexpr Seconds kAnswerGrace{5};
constexpr Seconds kAbortTime{1.5};
constexpr int kHubBeside = 16;  // descriptors: listeners, callers, events
/// Interval at which rank 0, while it waits, checks that no second rank 0 took its place in the store.
constexpr Seconds kRivalPause{0.5};

Clock::time_point with_grace(Clock::time_point deadline) {
  const auto grace = std::chrono::duration_cast<Clock::duration>(kAnswerGrace);
  return deadline > Clock::time_point::max() - grace ? deadline : deadline + grace;
}

Identity identity_of(const GroupOptions& options) {
  Identity self = own_identity(options.rank, options.ranks);
  if (!options.machine.empty()) self.machine = options.machine;
  return self;
}

class TcpGroup final : public Group {
 public:
  explicit TcpGroup(const GroupOptions& options)
      : self_(identity_of(options)),
        dead_(options.dead),
        stall_(std::chrono::duration_cast<Clock::duration>(options.stall)),
        state_(options.rank) {}
  ~TcpGroup() override {
    if (!closing_) thread_.post([](Role& role) { role.say_goodbye({}); });
    thread_.stop();
  }

  Status open(const GroupOptions& options);

  std::uint64_t epoch() const override { return epoch_; }
  const std::string& host_of(Rank rank) const override {
    return state_.roster().at(static_cast<std::size_t>(rank)).host;
  }
  int local_ranks() const override { return state_.local_ranks(); }
  bool is_one_process() const override { return state_.is_one_process(); }
  int pid_of(Rank rank) const override { return state_.roster().at(static_cast<std::size_t>(rank)).pid; }
  Result<std::vector<std::string>> all_gather(const std::string& what, const std::string& blob,
                                              Clock::time_point deadline) override;
  void claim(std::vector<Claim> claims) override;
  Status agree(Claim claim, Clock::time_point deadline) override;
  void watch_agreements(std::function<void(const Agreement&)> on_agreement) override;
  void need(std::vector<std::string> names, std::uint32_t step) override;
  void watch_needs(std::function<void(const std::string&, std::uint32_t)> on_need) override;
  void lack(const std::string& name) override;
  void give_up(const std::string& name) override;
  void ask_who_is_late(const std::string& name) override;
  Bytes control_bytes() override;
  void abort(const Status& cause) override;
  void watch(std::function<void(const Status&)> on_failure) override;
  void watch_leavers(std::function<void(Rank, const LastWords&)> on_leave) override;
  Status failure() const override { return state_.failure(); }
  using Group::close;
  Status close(Clock::time_point deadline, const LastWords& words) override;

 private:
  Result<std::unique_ptr<Role>> make_hub(const GroupOptions& options, Clock::time_point deadline);
  Result<std::unique_ptr<Role>> make_member(const GroupOptions& options, Clock::time_point deadline);
  template <class Wait, class Say>
  auto wait_patiently(Clock::duration stall, Clock::time_point deadline, Wait wait, Say say);

  Identity self_;
  Seconds dead_;
  Clock::duration stall_;
  std::uint64_t epoch_ = 0;
  GroupState state_;
  std::atomic<bool> closing_ = false;
  std::optional<std::vector<SocketAddress>> published_;  // rank 0 with a store
  GroupThread thread_;                                   // last: it ends ahead of what it uses
};

Status check(const GroupOptions& options) {
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks) {
    return invalid_argument(
        fmt::format("rank {} of {} ranks: it must be 0 .. {}", options.rank, options.ranks, options.ranks - 1));
  }
  if (options.ranks > 1 && options.store == nullptr && options.address.empty()) {
    return invalid_argument(
        fmt::format("{} ranks, and neither an address nor a store to find each other", options.ranks));
  }
  if (options.ranks > 1 && options.store == nullptr && options.token.empty() && !options.insecure) {
    return invalid_argument(
        fmt::format("no token: anybody who reaches {} could join this job. Set CASYNC_TOKEN or CASYNC_TOKEN_FILE to "
                    "the same secret "
                    "on all ranks (openssl rand -hex 32), or CASYNC_INSECURE=1 where nobody else reaches that address",
                    options.address));
  }
  if (options.beat.count() <= 0 || options.dead <= options.beat || options.timeout.count() <= 0) {
    return invalid_argument(
        fmt::format("heartbeat {} s, dead after {} s, timeout {} s: need 0 < heartbeat < dead, 0 < timeout",
                    options.beat.count(), options.dead.count(), options.timeout.count()));
  }
  return Status::ok();
}

/// The descriptors that rank 0 needs: one connection to each child, and a process descriptor if it is on this machine.
DescriptorNeed hub_need(int ranks) {
  const int children = ranks > kStarRanks ? 2 * kFan : ranks - 1;
  const int callers = std::min(ranks, kStarRanks);
  return {2 * children + callers + kHubBeside, 2 * children + static_cast<int>(kMostCallers) + kHubBeside,
          fmt::format("{} control connections and their processes", children)};
}

Result<std::unique_ptr<Role>> TcpGroup::make_hub(const GroupOptions& options, Clock::time_point deadline) {
  if (const Status few = reserve_descriptors(hub_need(options.ranks)); !few) {
    return Status(few.code(), self_.text() + ": " + few.message());
  }
  const std::string random = random_bytes(sizeof(epoch_));
  epoch_ = WireReader(random).u64();
  std::optional<Door> door;
  if (options.ranks > 1) {
    auto open = open_door(options);
    if (!open) return open.status();
    if (options.store != nullptr) published_ = open->published;
    door.emplace(std::move(open->listeners), self_, std::move(open->token), options.dead);
  }
  const Hub::Options hub{self_, {options.beat, options.dead}, epoch_, deadline};
  return std::unique_ptr<Role>(std::make_unique<Hub>(hub, std::move(door), state_));
}

Result<std::unique_ptr<Role>> TcpGroup::make_member(const GroupOptions& options, Clock::time_point deadline) {
  auto entrance = find_hub(options, self_, deadline);
  if (!entrance) return entrance.status();
  epoch_ = entrance->epoch;
  Connection connection(std::move(entrance->fd), std::move(entrance->key_in), std::move(entrance->key_out),
                        Clock::now());
  const Pulse pulse{options.beat, options.dead};
  auto member =
      std::make_unique<Member>(self_, entrance->hub, pulse, std::move(connection), std::move(entrance->early), state_);
  if (options.ranks > kStarRanks) {
    auto listeners = open_side_door(options);
    if (!listeners) return listeners.status();
    member->open_door(Door(std::move(*listeners), self_, entrance->token, options.dead), epoch_);
  }
  return std::unique_ptr<Role>(std::move(member));
}

Status TcpGroup::open(const GroupOptions& options) {
  const Clock::time_point deadline = after(options.timeout);
  auto role = options.rank == 0 ? make_hub(options, deadline) : make_member(options, deadline);
  if (!role) return role.status();
  CASYNC_RETURN_IF_ERROR(thread_.start(std::move(*role), state_, options.beat));
  const Clock::time_point latest = with_grace(deadline);
  while (published_ && Clock::now() < latest) {
    if (const auto joined = state_.wait_joined(std::min(after(kRivalPause), latest))) return *joined;
    const Status rival = find_rival(options, self_, *published_);
    if (!rival) thread_.post([rival](Role& running) { running.abort(rival); });
  }
  if (const auto joined = state_.wait_joined(latest)) return *joined;
  return timeout_error("rank 0 did not say whether all ranks came");
}

/// Waits by `wait`, and calls `say` after `stall`, and from then on half as often; never if it is 0.
template <class Wait, class Say>
auto TcpGroup::wait_patiently(Clock::duration stall, Clock::time_point deadline, Wait wait, Say say) {
  for (Clock::time_point next = Clock::now() + stall; stall.count() > 0 && next < deadline; next += 2 * stall) {
    if (auto answer = wait(next)) return answer;
    say();
  }
  return wait(deadline);
}

Result<std::vector<std::string>> TcpGroup::all_gather(const std::string& what, const std::string& blob,
                                                      Clock::time_point deadline) {
  if (blob.size() > kMostBlobBytes) {
    return invalid_argument(
        fmt::format("\"{}\": a blob of {} bytes, at most {} can be gathered", what, blob.size(), kMostBlobBytes));
  }
  if (closing_) return aborted(fmt::format("\"{}\": this rank has closed the group", what));
  CASYNC_RETURN_IF_ERROR(failure());
  state_.expect_answer();
  const GatherCall call{what.substr(0, kMostName), std::make_shared<const std::string>(blob), deadline};
  thread_.post([call](Role& role) { role.gather(call); });
  auto answer = wait_patiently(
      stall_, with_grace(deadline), [this](Clock::time_point until) { return state_.wait_answer(until); },
      [&] { ask_who_is_late(call.what); });
  if (!answer) {
    // Its number is used up on one side only: nothing after it would match.
    abort(timeout_error(fmt::format("\"{}\": rank 0 did not answer {}", what, self_.text())));
    return failure();
  }
  if (!*answer) return answer->status();
  std::vector<std::string> blobs;
  for (const BlobRef& each : **answer) blobs.push_back(*each);
  return blobs;
}

void TcpGroup::claim(std::vector<Claim> claims) {
  thread_.post([claims = std::move(claims)](Role& role) { role.claim(claims); });
}

Status TcpGroup::agree(Claim claim, Clock::time_point deadline) {
  if (closing_) return aborted(fmt::format("\"{}\": this rank has closed the group", claim.name));
  CASYNC_RETURN_IF_ERROR(failure());
  const std::string name = claim.name;
  thread_.post([claim = std::move(claim)](Role& role) {
    role.claim({claim});
    role.need({claim.name}, kNoStep);
  });
  const auto agreed = wait_patiently(
      stall_, deadline, [&](Clock::time_point until) { return state_.wait_agreed(name, until); },
      [&] { ask_who_is_late(name); });
  if (agreed) return *agreed;
  give_up(name);
  if (const auto late = state_.wait_agreed(name, Clock::now())) return *late;
  abort(timeout_error(fmt::format("\"{}\": rank 0 did not answer {}", name, self_.text())));
  return failure();
}

void TcpGroup::watch_agreements(std::function<void(const Agreement&)> on_agreement) {
  state_.watchers().set_agreement(std::move(on_agreement));
}

void TcpGroup::need(std::vector<std::string> names, std::uint32_t step) {
  thread_.post([names = std::move(names), step](Role& role) { role.need(names, step); });
}

void TcpGroup::watch_needs(std::function<void(const std::string&, std::uint32_t)> on_need) {
  state_.watchers().set_need(std::move(on_need));
}

void TcpGroup::lack(const std::string& name) {
  thread_.post([name](Role& role) { role.lack(name); });
}

void TcpGroup::give_up(const std::string& name) {
  thread_.post([name](Role& role) { role.give_up(name); });
  static_cast<void>(state_.wait_agreed(name, after(kAbortTime)));
}

void TcpGroup::ask_who_is_late(const std::string& name) {
  thread_.post([name](Role& role) { role.ask_who_is_late(name); });
}

Bytes TcpGroup::control_bytes() {
  auto answer = std::make_shared<std::promise<Bytes>>();
  auto bytes = answer->get_future();
  thread_.post([answer](Role& role) { answer->set_value(role.bytes_moved()); });
  return bytes.wait_for(Seconds(1)) == std::future_status::ready ? bytes.get() : 0;
}

void TcpGroup::abort(const Status& cause) {
  if (!failure().is_ok()) return;
  Status why = cause.is_ok() ? aborted("the program ended the job without a reason") : cause;
  // A message that begins with the culprit stays as it is: two ranks in front would hide which one failed.
  if (!why.message().starts_with("rank ")) {
    why = Status(why.code(), self_.text() + ": " + why.message());
  }
  thread_.post([why](Role& role) { role.abort(why); });
  if (thread_.is_current()) return;
  if (!state_.wait_failed(after(kAbortTime))) log().error("abort: the group's thread does not answer");
}

void TcpGroup::watch(std::function<void(const Status&)> on_failure) {
  state_.watchers().add(std::move(on_failure));
  thread_.post([this](Role&) { state_.run_watchers(); });
}

void TcpGroup::watch_leavers(std::function<void(Rank, const LastWords&)> on_leave) {
  thread_.post([this, on_leave = std::move(on_leave)](Role&) { state_.add_leave_watcher(on_leave); });
}

Status check(const LastWords& words) {
  if (words.to_all.size() > kMostLastWords) {
    return invalid_argument(fmt::format("last words of {} bytes, at most {}", words.to_all.size(), kMostLastWords));
  }
  if (words.to_hub.size() > kMostHubWords) {
    return invalid_argument(
        fmt::format("last words for rank 0 of {} bytes, at most {}", words.to_hub.size(), kMostHubWords));
  }
  return Status::ok();
}

Status TcpGroup::close(Clock::time_point deadline, const LastWords& words) {
  CASYNC_RETURN_IF_ERROR(check(words));
  if (const Status failed = failure(); !failed) {
    thread_.stop();
    return failed;
  }
  closing_ = true;
  thread_.post([words](Role& role) { role.say_goodbye(words); });
  const Clock::duration stall =
      stall_.count() > 0 ? std::max(stall_, std::chrono::duration_cast<Clock::duration>(dead_)) : stall_;
  const auto left = wait_patiently(
      stall, deadline, [this](Clock::time_point until) { return state_.wait_all_left(until); },
      [this] { log().warn("rank {}: {}", self_.rank, not_come("closing", state_.not_left())); });
  // Nobody waits for a rank that has left and stands still.
  const bool all_left = left && left->is_ok();
  thread_.stop(all_left ? std::min(deadline, after(dead_)) : Clock::time_point{});
  if (left) return *left;
  return timeout_error(fmt::format("{} did not say goodbye in time", list_ranks(state_.not_left())));
}

}  // namespace

Result<std::unique_ptr<Group>> Group::join(const GroupOptions& given) {
  CASYNC_RETURN_IF_ERROR(check(given));
  GroupOptions options = given;
  options.token = stretched(std::move(options.token));
  auto group = std::make_unique<TcpGroup>(options);
  const Status status = group->open(options);
  if (!status) return status;
  return guard_against_forks(std::move(group));
}

}  // namespace casync::runtime
