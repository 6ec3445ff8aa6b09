// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/control/group/claim_book.h"
#include "runtime/control/group/facts.h"
#include "runtime/control/group/gather_book.h"
#include "runtime/control/group/last_words.h"
#include "runtime/control/wire/identity.h"
#include "runtime/control/wire/poll_set.h"

namespace casync::runtime {

/// The events that a role reports to its group. Every call comes on the group's thread.
class RoleEvents {
 public:
  virtual ~RoleEvents() = default;
  /// All ranks are here: who they are, by rank. Once.
  virtual void joined(std::vector<Identity> roster) = 0;
  /// The job is over, and why. Once; answers and goodbyes that are on their way may follow.
  virtual void failed(const Status& cause) = 0;
  /// The answer to the one call that waits.
  virtual void gathered(Result<std::vector<BlobRef>> blobs) = 0;
  /// All ranks have claimed these names with the same facts. The same calls in the same order on every rank.
  virtual void agreed(const Agreement& agreement) = 0;
  /// Another rank waits, in `step`, for a name that this rank has not claimed.
  virtual void needed(const std::string& name, std::uint32_t step) = 0;
  /// A rank, this one included, said goodbye with these last words.
  virtual void left(Rank rank, const LastWords& words) = 0;
  /// `leaver`, rank 0 or one on the way to it, said goodbye and is gone: this rank hears of nobody any more, which is
  /// no failure.
  virtual void alone(Rank leaver) = 0;
};

/// This rank's part in the star: the hub, or a member. All on the group's thread; nothing here blocks.
class Role {
 public:
  virtual ~Role() = default;
  /// Comes first: the thread sleeps over `set`, which outlives the role.
  virtual void attach(PollSet& set) = 0;
  /// Beats and deadlines; returns when it has to be called again at the latest.
  virtual Clock::time_point tend(Clock::time_point now) = 0;
  /// This process did not run for so long: nobody else is to blame for that silence.
  virtual void forgive(Clock::duration stalled) = 0;

  virtual void gather(GatherCall call) = 0;
  virtual void claim(std::vector<Claim> claims) = 0;
  /// This rank waits for these names, in this step.
  virtual void need(const std::vector<std::string>& names, std::uint32_t step) = 0;
  /// This rank never claims `name`: the job fails where another rank needs it.
  virtual void lack(const std::string& name) = 0;
  /// This rank has waited for `name` as long as it may: the job fails unless all have claimed it.
  virtual void give_up(const std::string& name) = 0;
  /// This rank has waited long for a name, or a collective call of that name: rank 0 says which ranks have not come,
  /// and this rank logs it.
  virtual void ask_who_is_late(const std::string& name) = 0;
  virtual void abort(const Status& cause) = 0;
  virtual void say_goodbye(const LastWords& words) = 0;
  /// Bytes that this rank's control connections have sent and received.
  virtual Bytes bytes_moved() const { return 0; }
  /// There are bytes that have not left yet.
  virtual bool has_output() const = 0;
  /// Tells the ranks below this one that nothing more comes.
  virtual void hang_up() = 0;
  /// A rank below this one has not closed its end yet: bytes for it may be on their way.
  virtual bool has_children() const = 0;
};

/// A role that does nothing.
class IdleRole : public Role {
 public:
  void attach(PollSet&) override {}
  Clock::time_point tend(Clock::time_point) override { return Clock::time_point::max(); }
  void forgive(Clock::duration) override {}
  void gather(GatherCall) override {}
  void claim(std::vector<Claim>) override {}
  void need(const std::vector<std::string>&, std::uint32_t) override {}
  void lack(const std::string&) override {}
  void give_up(const std::string&) override {}
  void ask_who_is_late(const std::string&) override {}
  void abort(const Status&) override {}
  void say_goodbye(const LastWords&) override {}
  bool has_output() const override { return false; }
  void hang_up() override {}
  bool has_children() const override { return false; }
};

}  // namespace casync::runtime
