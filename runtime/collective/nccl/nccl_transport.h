// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/units.h"
#include "runtime/collective/nccl/nccl_api.h"
#include "runtime/collective/round_transport.h"
#include "runtime/device/stream.h"

namespace casync::runtime {

/// A name for one communicator, as bytes: one rank makes it, and all ranks open with it. Unavailable: NCCL finds no
/// network to be called on; its words.
Result<std::string> make_nccl_id(const NcclApi& api);

/// Options of a communicator.
struct NcclOptions {
  Rank rank = 0;
  int ranks = 1;
  std::string id;            ///< of make_nccl_id() on one of them
  Stream* stream = nullptr;  ///< of a CUDA device; outlives the transport
  /// Asked while ranks are waited for: another cause to give up, such as the end of the job.
  std::function<Status()> interrupted = [] { return Status::ok(); };
};

/// A communicator of NCCL that never blocks its caller. `api` outlives it, and the process's last abort(). Collective.
/// Timeout: not all ranks have come by the deadline. InvalidArgument: `id` is none. Errors as RoundTransport; what
/// `interrupted` returns.
Result<std::unique_ptr<RoundTransport>> open_nccl(const NcclApi& api, const NcclOptions& options,
                                                  Clock::time_point deadline);

}  // namespace casync::runtime
