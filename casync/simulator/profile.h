// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "casync/simulator/curve.h"
#include "casync/simulator/fan.h"

namespace casync {

/// One kind of link. A message of b bytes keeps its sender's port busy for message_s + wire(b) seconds and arrives
/// latency_s later, if nobody else is on its way to the same port.
struct Link {
  double latency_s = 0;
  double message_s = 0;  ///< of each message, however small, at the sender
  Curve wire;            ///< seconds by bytes
  Fan incast;            ///< of receiving, while so many ranks send to one
  Fan outcast;           ///< of sending, while messages for so many ranks wait to leave
  // What the kernel's copies, checksums and queues take from whoever else uses the rank's processors.
  Curve send_work;     ///< processor seconds of a message at its sender, by bytes
  Curve receive_work;  ///< and at its receiver
  /// From so many bytes on a message asks its receiver first. 0: none does. What that takes of ends that have nothing
  /// else to do is part of `wire`; with one processor each end answers when its task is over.
  double announced_bytes = 0;

  bool operator==(const Link&) const = default;
};

/// What one codec costs where it was measured, in seconds by elements; without the launch.
struct CodecCurves {
  Curve encode;
  Curve decode;
  Curve merge;       ///< by elements times the number of contributions; with merge_base, of those that are coded
  Curve merge_base;  ///< beside those, by elements: the rank's own are read, the sum is encoded

  bool operator==(const CodecCurves&) const = default;
};

/// How many times as long each takes while both a rank's training and its codecs run. At least 1.
struct Contention {
  double training = 1;
  double encode = 1, merge = 1, decode = 1;

  static constexpr Contention of_all(double times) { return {times, times, times, times}; }
  bool operator==(const Contention&) const = default;
};

/// What a cluster's machines and links cost, as plain numbers. Read from a file by planner/profile_file.h.
struct Profile {
  std::string name;
  std::string source;                  ///< where the numbers are from
  double memory_bytes_per_second = 0;  ///< of the device that encodes: what codecs without curves are derived from
  double launch_s = 0;                 ///< of each encode, merge and decode
  /// That a rank's codec is busy with each task, however small and of whatever kind, beside what the task does:
  /// queues, bookkeeping, waking up. With a message that leaves or arrives, too.
  double task_s = 0;
  Contention contention;
  /// Of a rank, for codecs and messages beside its training. With one they take turns; 0: as many as they can use.
  int processors = 0;
  Link inside;                    ///< between ranks of one node; every rank has its own port
  Link between;                   ///< between nodes
  bool node_shares_port = false;  ///< one port between nodes for all ranks of a node; else one for each rank
  std::map<std::string, CodecCurves> codecs;  ///< by name ("int4") or by name and parameters ("int4:block=64")

  bool operator==(const Profile&) const = default;
};

}  // namespace casync
