// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/device/cuda_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "compll/ops/cpu/convert.h"

namespace casync::compll::test {
namespace {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

constexpr std::size_t kAlignment = 256;

}  // namespace

std::unique_ptr<CudaDevice> CudaDevice::open(std::size_t bytes, std::string& reason) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    reason = error != cudaSuccess ? cudaGetErrorString(error) : "the driver knows of none";
    return nullptr;
  }
  auto device = std::unique_ptr<CudaDevice>(new CudaDevice());
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0), "properties");
  device->name_ = properties.name;
  device->processors_ = properties.multiProcessorCount;
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "memory");
  device->size_ = std::min<std::size_t>(free / 2, bytes);
  check(cudaMalloc(reinterpret_cast<void**>(&device->memory_), device->size_), "cudaMalloc");
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  device->begin_ = begin;
  device->end_ = end;
  return device;
}

CudaDevice::~CudaDevice() {
  cudaEventDestroy(static_cast<cudaEvent_t>(begin_));
  cudaEventDestroy(static_cast<cudaEvent_t>(end_));
  cudaFree(memory_);
}

std::byte* CudaDevice::allocate(std::size_t bytes) {
  std::byte* at = memory_ + used_;
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (used_ > size_) {
    std::fprintf(stderr, "%zu bytes of device memory are wanted, there are %zu\n", used_, size_);
    std::exit(1);
  }
  return at;
}

void CudaDevice::upload(std::byte* to, const void* from, std::size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copy to the device");
}
void CudaDevice::download(void* to, const std::byte* from, std::size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "a kernel, or the copy after it");
}
void CudaDevice::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice), "copy on the device");
}
void CudaDevice::fill(std::byte* at, unsigned char value, std::size_t bytes) {
  check(cudaMemset(at, value, bytes), "cudaMemset");
}

std::uint32_t CudaDevice::blocks_at_once(cuda::Kernel kernel) {
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(kernel),
                                                      static_cast<int>(cuda::kThreads), cuda::kVectorFormSharedBytes),
        "occupancy");
  return static_cast<std::uint32_t>(std::max(blocks, 1) * processors_);
}

void CudaDevice::launch(cuda::Kernel kernel, const cuda::Grid& grid, const cuda::Launch& launch) {
  cuda::Launch own = launch;
  void* arguments[] = {&own};
  check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(grid.blocks), dim3(grid.threads), arguments,
                         grid.shared_bytes, nullptr),
        "launch");
}

void CudaDevice::wait() { check(cudaDeviceSynchronize(), "a kernel"); }

void CudaDevice::begin_timing() { check(cudaEventRecord(static_cast<cudaEvent_t>(begin_)), "event"); }

double CudaDevice::end_timing() {
  check(cudaEventRecord(static_cast<cudaEvent_t>(end_)), "event");
  check(cudaEventSynchronize(static_cast<cudaEvent_t>(end_)), "a kernel");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(begin_), static_cast<cudaEvent_t>(end_)), "time");
  return milliseconds / 1e3;
}

std::byte* elements(KernelDevice& device, Elements n, const std::vector<float>& values, DType dtype) {
  const std::size_t width = bytes_of(dtype);
  std::byte* const at = device.allocate(n * width);
  std::vector<std::byte> some(values.size() * width);
  from_float32(values.data(), values.size(), dtype, some.data());
  for (Elements i = 0; i < n && !values.empty(); i += values.size()) {
    device.upload(at + i * width, some.data(), std::min<Elements>(values.size(), n - i) * width);
  }
  return at;
}

double median_of_some(const std::unique_ptr<double[]>& times, int count) {
  std::sort(times.get(), times.get() + count);
  return times[static_cast<std::size_t>(count / 2)];
}

}  // namespace casync::compll::test
