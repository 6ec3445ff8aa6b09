// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compll/codec/coded/coded_codec.h"
#include "compll/cuda/codec_kernels.h"
#include "compll/cuda/cuda_device.h"
#include "compll/cuda/cuda_modules.h"
#include "compll/cuda/staged_memory.h"

namespace casync::compll {

/// The kernels that code the payloads of a codec with coded sections: around those of CodecKernels, which make and read
/// payloads without coding. A call begins, names the payloads that it reads and makes, each of which gets the address
/// of one without coding, and then takes the launches that come ahead of the codec's own and those that follow them.
///
/// Threads: one at a time. After a call with as many payloads the next one allocates nothing.
class PayloadCoder {
 public:
  /// Borrows `coding`.
  explicit PayloadCoder(const PayloadCoding& coding) : coding_(coding) {}
  /// Finds the kernels by the codec's name. Unavailable: the modules lack one.
  Status find(CudaDevice& device, const CudaModules& modules, const std::string& codec);

  void begin();
  /// A payload of n elements to read, whose head has been checked (PayloadCoding::check_head).
  unsigned char* add_read(const unsigned char* payload, Bytes bytes, Elements n, cuda::CodedOutcome* outcome,
                          LaunchMemory& memory);
  /// One to make, in memory of the device or in pinned memory, with room for the codec's encoded_bound(n).
  unsigned char* add_made(unsigned char* payload, Elements n, cuda::CodedOutcome* outcome, LaunchMemory& memory);
  /// Adds the launches that read, if there is anything to read.
  void launch_reads(LaunchMemory& memory, Launches& launches);
  /// Adds the launches that make.
  void launch_makes(LaunchMemory& memory, Launches& launches);

 private:
  /// Payloads of one kind, and the sections of all.
  struct Batch {
    std::vector<cuda::CodedPayload> payloads;
    std::vector<cuda::CodedSection> sections;
    std::uint32_t blocks = 0;
  };
  static void clear(Batch& batch);
  cuda::CodedPayload& add(Elements n, LaunchMemory& memory, Batch& batch) const;
  static cuda::CodingLaunch launch_of(Batch& batch, LaunchMemory& memory);

  const PayloadCoding& coding_;
  DriverApi::Handle code_ = nullptr, join_ = nullptr, find_ = nullptr, read_ = nullptr;
  Batch read_batch_, made_;
};

}  // namespace casync::compll
