// SPDX-License-Identifier: Apache-2.0
//
// The arguments of the kernels that code sections of payloads, and read them: around other kernels, which make and read
// payloads without coding (launch.h). Plain structs, the same for nvcc, NVRTC and a host's compiler.
#pragma once

#include "compll/ops/cuda/launch.h"

namespace casync::compll::cuda {

/// Elements of a block of a coded section, and bytes of a piece of a section that is not coded. A block of threads
/// works on one at a time.
inline constexpr uint32_t kCodedElements = 4096;
inline constexpr uint32_t kPlainPiece = 16384;
/// Bytes of shared memory: CodingShared.
inline constexpr uint32_t kCodingSharedBytes = 40 << 10;

/// One section of a payload of which some are coded (docs/payloads.md).
struct CodedSection {
  uint32_t coding = 0;                        ///< compll::Coding
  uint32_t bits = 0;                          ///< of an element; kTrits
  uint64_t count = 0;                         ///< of elements
  uint64_t begin = 0, bytes = 0;              ///< in the payload without coding
  uint64_t codes = 0;                         ///< its first block's place in CodedPayload::codes
  uint32_t first_block = 0, block_count = 0;  ///< blocks or pieces of the sections before, and its own
};

/// The outcome of coding, which kernels write to the device's memory or to pinned memory.
struct CodedOutcome {
  uint64_t bytes = 0;  ///< of the payload that was made
  uint64_t fault = 0;  ///< not 0: a payload that was read is none of its codec
};

/// A payload to code, or to read.
struct CodedPayload {
  unsigned char* plain = nullptr;    ///< without coding
  unsigned char* payload = nullptr;  ///< with it, from a multiple of 16 bytes on; what is read is not written
  uint64_t bytes = 0;                ///< of a payload to read
  CodedOutcome* outcome = nullptr;   ///< of several payloads perhaps; kernels write what they find, and no zeros
  const CodedSection* sections = nullptr;
  uint32_t section_count = 0;
  uint32_t first_block = 0, block_count = 1;  ///< of earlier payloads, and its own: one at least
  uint64_t* places = nullptr;                 ///< of each block or piece in `payload`
  uint32_t* sizes = nullptr;                  ///< to code: of each block
  unsigned char* codes = nullptr;             ///< to code: room for the code of each block
};

/// The arguments of all kernels that code. All pointers are the device's.
struct CodingLaunch {
  const CodedPayload* payloads = nullptr;
  uint32_t payload_count = 0;
  uint32_t* tickets = nullptr;  ///< to code: a word for each payload, zero when the launch starts and when it ends
};
using CodingKernel = void (*)(CodingLaunch);

/// The kernels of one codec that code. A block of kThreads threads takes a block or a piece; of `find` it takes a
/// payload. Nothing is read or written outside of the memory of a CodedPayload, whatever the payload says.
struct CodingKernels {
  const char* name = "";
  CodingKernel code = nullptr;  ///< codes each block, and finds the payload's size and the places of all in it
  CodingKernel join = nullptr;  ///< in the next launch: writes the blocks to the payload
  CodingKernel find = nullptr;  ///< finds the blocks of a payload
  CodingKernel read = nullptr;  ///< in the next launch: checks and reads them
};

}  // namespace casync::compll::cuda
