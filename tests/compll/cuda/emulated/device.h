// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/compll/cuda/emulated/launch.h"
#include "tests/compll/cuda/support/device.h"
#include "tests/compll/support/programs.h"

namespace casync::compll::test {

/// This host as a GPU.
class EmulatedDevice final : public test::KernelDevice {
 public:
  /// `blocks`: see blocks_at_once.
  explicit EmulatedDevice(emulated::Order order, std::uint32_t blocks = 3) : order_(order), blocks_(blocks) {}
  std::string title() const override {
    return std::to_string(blocks_) + (order_ == emulated::Order::kForward ? " blocks" : " backward blocks") +
           " of threads";
  }
  std::byte* allocate(std::size_t bytes) override {
    memory_.push_back(std::make_unique<Line[]>(bytes / sizeof(Line) + 1));
    return reinterpret_cast<std::byte*>(memory_.back().get());
  }
  void reset() override { memory_.clear(); }
  void upload(std::byte* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void download(void* to, const std::byte* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void fill(std::byte* at, unsigned char value, std::size_t bytes) override { std::memset(at, value, bytes); }
  std::uint32_t blocks_at_once(cuda::Kernel) override { return blocks_; }
  void launch(cuda::Kernel kernel, const cuda::Grid& grid, const cuda::Launch& launch) override {
    emulated::launch(kernel, grid, launch, order_);
  }

 private:
  struct alignas(256) Line {
    std::byte bytes[256];
  };
  emulated::Order order_;
  std::uint32_t blocks_;
  std::vector<std::unique_ptr<Line[]>> memory_;
};

/// The text of the program of this name: one of compll/codecs, or of the tests.
std::string text_of_program(const std::string& name);

/// The interpreter's codec of this name: of compll/codecs, or a program of the tests.
Written meaning_of(const std::string& name, const Parameters& parameters);
std::unique_ptr<RoundsCodec> meaning_of_rounds(const std::string& name, const Parameters& parameters);

}  // namespace casync::compll::test
