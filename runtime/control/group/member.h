// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/control/group/hub_link.h"
#include "runtime/control/group/member_requests.h"
#include "runtime/control/group/messages.h"
#include "runtime/control/group/proposal.h"
#include "runtime/control/group/pulse.h"
#include "runtime/control/group/relay.h"
#include "runtime/control/group/role.h"
#include "runtime/control/wire/connection.h"
#include "runtime/control/wire/door.h"

namespace casync::runtime {

/// Every rank but 0: one connection, to the hub.
class Member final : public Role {
 public:
  /// `early`: bytes that came right after the handshake. `events` outlives the member.
  Member(const Identity& self, const Identity& hub, const Pulse& pulse, Connection connection, std::string early,
         RoleEvents& events);
  /// In a large job, first of all: children come in by this door.
  void open_door(Door door, std::uint64_t epoch);

  void attach(PollSet& set) override;
  Clock::time_point tend(Clock::time_point now) override;
  void forgive(Clock::duration stalled) override;
  void gather(GatherCall call) override;
  void claim(std::vector<Claim> claims) override { requests_.claim(std::move(claims)); }
  void need(const std::vector<std::string>& names, std::uint32_t step) override { requests_.need(names, step); }
  void lack(const std::string& name) override { requests_.lack(name); }
  void give_up(const std::string& name) override { requests_.give_up(name); }
  void ask_who_is_late(const std::string& name) override { requests_.ask_who_is_late(name); }
  void abort(const Status& cause) override;
  void say_goodbye(const LastWords& words) override;
  bool has_output() const override { return link_.has_output() || (relay_ && relay_->has_output()); }
  void hang_up() override;
  bool has_children() const override { return relay_ && relay_->has_children(); }
  Bytes bytes_moved() const override { return link_.bytes_moved(); }

 private:
  Clock::time_point watch_hub(Clock::time_point now);
  Status handle(FrameType type, const PayloadRef& payload);
  Status handle_down(const PayloadRef& payload);
  void propose(const Abort& abort);
  void send(FrameType type, std::string payload);
  void lose(const Status& reason);
  bool is_alone() const { return leaver_ && !link_.is_open(); }
  void fail(const Abort& abort);

  Identity self_, hub_, root_;  // its parent is its hub; rank 0 is the root, which it knows once it has joined
  RoleEvents& events_;
  HubLink link_;
  MemberRequests requests_;
  Pulse pulse_;                   // of children
  std::unique_ptr<Relay> relay_;  // in a large job
  Proposal proposal_;
  std::optional<Identity> leaver_;  // rank 0, or another rank on the way to it, that has said goodbye
  PayloadRef goodbye_;              // this rank's, until rank 0 has announced it
  bool said_goodbye_ = false, over_ = false;
};

}  // namespace casync::runtime
