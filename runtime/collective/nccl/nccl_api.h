// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <climits>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>

#include "base/status.h"

namespace casync::runtime {

/// The functions of NCCL that this library calls: names and numbers as NVIDIA documents them for 2.28. The build needs
/// no NCCL: handles are pointers, and results, types and operators ints.
struct NcclApi {
  using Code = int;      ///< ncclResult_t
  using Handle = void*;  ///< ncclComm_t, cudaStream_t

  /// ncclUniqueId: passed by value.
  struct UniqueId {
    char bytes[128];
  };

  /// ncclConfig_t of 2.28. Later versions add fields behind these, which `size` tells them to leave as they are.
  struct Config {
    std::size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = kOldest;
    int blocking = INT_MIN;  ///< INT_MIN, here and below: NCCL chooses
    int cga_cluster_size = INT_MIN;
    int least_ctas = INT_MIN, most_ctas = INT_MIN;
    const char* network = nullptr;
    int split_share = INT_MIN;
    int traffic_class = INT_MIN;
    const char* name = nullptr;
    int collnet = INT_MIN;
    int cta_policy = INT_MIN;
    int shrink_share = INT_MIN;
    int nvls_ctas = INT_MIN;
    int channels_per_peer = INT_MIN;
    int nvlink_centric = INT_MIN;
  };

  Code (*version)(int* version) = nullptr;  ///< 10000 * major + 100 * minor + patch
  const char* (*error_text)(Code code) = nullptr;
  const char* (*last_error)(Handle communicator) = nullptr;  ///< of this process, with more words
  Code (*unique_id)(UniqueId* id) = nullptr;
  Code (*init_rank)(Handle* communicator, int ranks, UniqueId id, int rank, Config* config) = nullptr;
  Code (*async_error)(Handle communicator, Code* code) = nullptr;
  Code (*finalize)(Handle communicator) = nullptr;
  Code (*destroy)(Handle communicator) = nullptr;
  Code (*abort)(Handle communicator) = nullptr;
  Code (*begin_group)() = nullptr;
  Code (*end_group)() = nullptr;
  Code (*send)(const void* from, std::size_t count, int type, int peer, Handle communicator, Handle stream) = nullptr;
  Code (*recv)(void* to, std::size_t count, int type, int peer, Handle communicator, Handle stream) = nullptr;
  Code (*all_reduce)(const void* from, void* to, std::size_t count, int type, int operation, Handle communicator,
                     Handle stream) = nullptr;

  int found = 0;  ///< the library's version

  static constexpr int kOldest = 22800, kNewest = 23299;
  static constexpr Code kUnhandledCudaError = 1, kSystemError = 2, kInternalError = 3, kInvalidArgument = 4,
                        kInvalidUsage = 5, kRemoteError = 6, kInProgress = 7;
  static constexpr int kUint8 = 1, kFloat32 = 7;
  static constexpr int kSum = 0, kMost = 2;
};

/// "2.30.7" of 23007.
std::string nccl_version_text(int version);

/// Opens NCCL from `library`, a file's name or path: the copy that this process has loaded, if it has one. It stays
/// loaded. Unavailable: it is not there and where to get it, it lacks a function, or its version is another than 2.28
/// to 2.32 (which).
Result<NcclApi> load_nccl(const std::string& library);

/// A library of NCCL that is looked for until it is found once, and then kept. Any thread.
class NcclSearch {
 public:
  /// Errors as load_nccl. The functions live as long as this object.
  Result<const NcclApi*> find(const std::string& library);

 private:
  std::mutex mutex_;
  std::optional<NcclApi> found_;
};

/// NCCL's libnccl.so.2, opened at the first call that finds it, until the process ends. Errors as load_nccl.
Result<const NcclApi*> find_nccl();

}  // namespace casync::runtime
