// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/control/connection.h"
#include "runtime/control/hub.h"
#include "runtime/control/messages.h"
#include "runtime/control/role.h"

namespace casync::runtime {

/// Every rank but 0: one connection, to the hub.
class Member final : public Role {
 public:
  /// `early`: bytes that came right behind the handshake. `events` outlives the member.
  Member(const Identity& self, const Identity& hub, const Pulse& pulse, Connection connection, std::string early,
         RoleEvents& events);

  void watch(PollSet& set) override;
  Clock::time_point tend(Clock::time_point now) override;
  void forgive(Clock::duration stalled) override;
  void gather(GatherCall call) override;
  void abort(const Status& cause) override;
  void say_goodbye() override;
  bool has_output() const override { return connection_ && connection_->has_output(); }

 private:
  void read();
  void process(const std::vector<Frame>& frames, Status status);
  Status handle(const Frame& frame);
  Status handle_gathered(const std::string& bytes);
  void lose(const Status& reason);
  void fail(const Abort& abort);

  Identity self_, hub_;
  Pulse pulse_;
  std::optional<Connection> connection_;
  Fd hub_process_;
  std::string early_;
  RoleEvents& events_;
  std::vector<BlobRef> blobs_;  // of the call that waits, by rank
  int blobs_missing_ = 0;
  std::optional<Status> proposed_;  // our cause, until the hub has said which was first
  Clock::time_point proposal_deadline_ = Clock::time_point::max();
  bool said_goodbye_ = false, hub_left_ = false, over_ = false;
};

}  // namespace casync::runtime
