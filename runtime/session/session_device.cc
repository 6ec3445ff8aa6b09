// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_device.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/env.h"
#include "runtime/device/cuda/factory.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/pinned_bound.h"

namespace casync::runtime {
namespace {

constexpr std::string_view kCuda = "cuda";
constexpr int kMostDevices = 1024;

/// The index behind "cuda:"; -1: it is none.
int index_of(std::string_view name) {
  if (!name.starts_with("cuda:")) return -1;
  const std::string_view digits = name.substr(kCuda.size() + 1);
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && index >= 0 && index < kMostDevices ? index : -1;
}

Result<Bytes> most_pinned(int local_ranks) {
  const Result<std::optional<double>> wanted = env_number("CASYNC_PINNED_MB");
  if (!wanted) return wanted.status();
  if (wanted->has_value()) return static_cast<Bytes>(**wanted * static_cast<double>(1_MiB));
  const Bytes memory = static_cast<Bytes>(sysconf(_SC_PHYS_PAGES)) * static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  return memory / 2 / static_cast<Bytes>(std::max(1, local_ranks));
}

}  // namespace

Result<std::unique_ptr<Device>> open_device(const std::string& name, int local_rank) {
  if (name.empty() || name == "cpu") return make_host_device();
  if (name == kCuda) {
    const Result<int> count = count_cuda_devices();
    if (!count) return count.status();
    return make_cuda_device(std::max(local_rank, 0) % *count);
  }
  const int index = index_of(name);
  if (index < 0) return invalid_argument("device `" + name + "`, expected cpu, cuda or cuda:0 and so on");
  return make_cuda_device(index);
}

Result<std::unique_ptr<Device>> open_device(const SessionOptions& options, const Launch& launch) {
  Result<std::unique_ptr<Device>> device =
      options.open_device ? options.open_device(options.device) : open_device(options.device, launch.local_rank);
  if (!device || (*device)->is_host()) return device;
  const Result<Bytes> most = most_pinned(launch.local_ranks);
  if (!most) return most.status();
  return std::unique_ptr<Device>(bound_pinned(std::move(*device), *most));
}

Status check_memory(const Device& device, const GradientSpec& gradient, const Submission& submission) {
  if (device.is_host()) {
    if (submission.device_data.is_null() && submission.stream == nullptr)
      return check_memory(gradient, submission.data);
    return invalid_argument("gradient " + gradient.name +
                            ": its memory is on a device, and the session is on the CPU: " + "open it with the device");
  }
  const DeviceView memory = submission.device_data;
  const auto refused = [&](const std::string& why) {
    return invalid_argument("gradient " + gradient.name + ": " + why);
  };
  if (submission.data.data != nullptr) {
    return refused("its memory is the host's, and the session is on " + device.name());
  }
  if (memory.size() != gradient.bytes()) {
    return refused(std::to_string(memory.size()) + " bytes, declared with " + std::to_string(gradient.bytes()));
  }
  if (memory.size() > 0 && memory.is_null()) return refused("no memory");
  if (memory.address() % bytes_of(gradient.dtype) != 0) return refused("its memory is not aligned to its elements");
  Status usable = device.check(memory);
  if (usable) usable = device.check_stream(submission.stream);
  return usable ? usable : Status(usable.code(), refused(usable.message()).message());
}

}  // namespace casync::runtime
