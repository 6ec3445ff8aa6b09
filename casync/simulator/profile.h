// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "casync/model/plan.h"
#include "casync/simulator/curve.h"
#include "casync/simulator/fan.h"

namespace casync {

/// One kind of link. A message of b bytes keeps its sender's port busy for message_s + wire(b) seconds and arrives
/// latency_s later, if nobody else is on its way to the same port.
struct Link {
  double latency_s = 0;
  double message_s = 0;  ///< of each message, however small, at the sender
  Curve wire;            ///< seconds by bytes
  Fan incast;            ///< of receiving, while so many ports send to one
  Fan outcast;           ///< of sending, while messages for so many ports wait to leave
  // Processor time of the kernel's copies, checksums and queues, which the rank's other work loses, while as many
  // messages go the other way.
  Curve send_work;     ///< processor seconds of a message at its sender, by bytes
  Curve receive_work;  ///< and at its receiver
  /// Least bytes of a message that asks its receiver first. 0: none does. The time this takes of ends that have nothing
  /// else to do is part of `wire`; with one processor each end answers when its task is over.
  double announced_bytes = 0;

  bool operator==(const Link&) const = default;
};

/// Measured costs of one codec, in seconds by elements; without the launch.
struct CodecCurves {
  Curve encode;
  Curve decode;
  Curve merge;       ///< by elements times the number of contributions; with merge_base, of encoded ones
  Curve merge_base;  ///< in addition, by elements: the rank's own are read, the sum is encoded

  bool operator==(const CodecCurves&) const = default;
};

/// Slowdown of each while both a rank's training and its codecs run. At least 1.
struct Contention {
  double training = 1;
  double encode = 1, merge = 1, decode = 1;

  static constexpr Contention of_all(double times) { return {times, times, times, times}; }
  bool operator==(const Contention&) const = default;
};

/// The costs of a cluster's machines and links, as plain numbers. Read from a file by planner/profile_file.h.
struct Profile {
  std::string name;
  std::string source;                  ///< origin of the numbers
  double memory_bytes_per_second = 0;  ///< of the device that encodes: gives the costs of codecs without curves
  double launch_s = 0;                 ///< of each encode, merge and decode
  /// Seconds that a rank's codec is busy with each task of any size and kind, in addition to the task's work:
  /// queues, bookkeeping, waking up. Also spent for each message that leaves or arrives.
  double task_s = 0;
  /// The same of each task of a gradient that travels in a bundle, where many gradients' tasks are one. Unset: task_s.
  std::optional<double> bundled_task_s;
  /// Copies of a payload from the host's memory to the device that encodes, and back, in seconds by bytes. Each way is
  /// a resource of its own, beside the codecs. Empty: codecs run where messages are.
  Curve upload, download;
  Contention contention;
  /// Processors of a rank for codecs and messages besides its training. With 1 they take turns; 0: as many as it needs.
  int processors = 0;
  Link inside;                    ///< between ranks of one node; every rank has its own port
  Link between;                   ///< between nodes
  bool node_shares_port = false;  ///< one port between nodes for all ranks of a node; else one for each rank
  std::map<std::string, CodecCurves> codecs;  ///< by name ("int4") or by name and parameters ("int4:block=64")

  bool operator==(const Profile&) const = default;
};

/// The seconds of each task of a gradient besides its work, where small gradients are submitted together.
inline double task_seconds(const Profile& profile, const Decision& decision, DType dtype, Elements elements) {
  return travels_in_bundle(decision, dtype, elements) ? profile.bundled_task_s.value_or(profile.task_s)
                                                      : profile.task_s;
}

}  // namespace casync
