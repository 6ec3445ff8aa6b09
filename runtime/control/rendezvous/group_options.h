// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"
#include "base/units.h"
#include "runtime/control/rendezvous/store.h"

namespace casync::runtime {

/// The place of a rank in its job, and its way to the others.
struct GroupOptions {
  Rank rank = 0;
  int ranks = 1;
  std::string token;    ///< each side proves it first, by an HMAC-SHA256 challenge; nothing else is read until then
  std::string address;  ///< "host:port": rank 0 listens there; "": rank 0 picks one and tells `store`
  /// Rank 0 listens on the addresses of this interface, or of "eth0,eth1", when `address` is "".
  std::string interface_name;
  int ports = 1;           ///< rank 0 takes the first free one of so many, from that of `address` on
  bool insecure = false;   ///< without token and store: accept a key that anybody can compute
  Store* store = nullptr;  ///< may be null when `address` is set; used until join() returns
  std::string job;         ///< the launcher's id of this job: without a token it helps to keep out other jobs
  std::string machine;     ///< ranks with the same are neighbours; "": what the system says. For measurements
  Seconds timeout{300};    ///< of joining: the rank that started first gives up first, and all with it
  Seconds beat{0.5};       ///< a heartbeat is sent this often
  Seconds dead{5};         ///< a rank silent this long has failed
  Seconds stall{0};        ///< a rank that waits this long for others logs for whom; 0: it never does
};

}  // namespace casync::runtime
