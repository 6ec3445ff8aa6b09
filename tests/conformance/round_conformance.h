// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/collective/round_transport.h"
#include "runtime/device/device.h"

namespace casync::test {

/// One rank of a job: its transport, and what it was opened on.
struct RoundRank {
  Rank rank = 0;
  int ranks = 1;
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::Stream> stream;
  std::unique_ptr<runtime::Event> event;
  std::unique_ptr<runtime::RoundTransport> transport;

  using Buffer = std::unique_ptr<runtime::DeviceBuffer>;
  /// Memory of the device with these values.
  Buffer floats(const std::vector<float>& values);
  std::vector<float> read(const Buffer& buffer);
  /// Waits until all that was called is in the stream. Timeout after 20 s.
  Status queued();
  /// Waits until all that is in the stream is over. Timeout after these seconds.
  Status over(double seconds = 20);
};

/// Opens the transports of as many ranks, each on a device of its own; called from one thread for each rank at once.
using OpenRound = std::function<Result<std::unique_ptr<runtime::RoundTransport>>(Rank, int ranks, runtime::Stream&)>;
using OpenDevice = std::function<std::unique_ptr<runtime::Device>()>;

/// A kind of transport under test.
struct RoundNetwork {
  OpenDevice open_device;
  std::function<OpenRound(int ranks)> open_job;  ///< once for each job
};

/// Runs `body` on each rank, in a thread of its own; returns what they complain about, a line each.
std::string run_rounds(const RoundNetwork& network, int ranks, const std::function<std::string(RoundRank&)>& body);

/// The contract of RoundTransport as a test: values, order, sizes, ranks that differ, abort, ranks that leave.
void check_round_transport(const RoundNetwork& network);

}  // namespace casync::test
