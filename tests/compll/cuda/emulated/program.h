// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "compll/codegen/cuda/codec_text.h"
#include "compll/cuda/cuda_codec.h"
#include "compll/interpreter/program_codec.h"
#include "compll/interpreter/rounds_program.h"
#include "compll/lang/front_end.h"
#include "tests/compll/cuda/emulated/device.h"
#include "tests/compll/cuda/emulated/driver.h"

namespace casync::compll::emulated {

/// A codec of compll/codecs or of the tests, as a file, with its digest in each payload; and a GPU, which this host
/// emulates.
struct ProgramOnDevice {
  explicit ProgramOnDevice(const std::string& name, const std::string& called = "")
      : source(name + ".cll", test::text_of_program(name)) {
    Result<Program> compiled = compile(source);
    REQUIRE(compiled.status().text() == "OK");
    if (!called.empty()) compiled->declares.name = called;
    compiled->declares.digest = 0x1234'5678'9abc'def0;
    Result<CudaCodecText> made = cuda_codec_text(*compiled, source);
    REQUIRE(made.status().text() == "OK");
    text = std::move(*made);
    program = std::make_shared<const Program>(std::move(*compiled));
    auto opened = CudaDevice::open(driver());
    REQUIRE(opened.status().text() == "OK");
    device = std::move(*opened);
  }

  CudaModules modules() {
    const auto loaded = CudaModules::load(*device, std::vector<std::string>{"no machine code"});
    REQUIRE(loaded.is_ok());
    return *loaded;
  }

  Source source;
  std::shared_ptr<const Program> program;
  std::optional<CudaCodecText> text;
  std::unique_ptr<CudaDevice> device;
};

/// A codec that encodes: the program's meaning, and its kernels.
struct CodecOnDevice : ProgramOnDevice {
  explicit CodecOnDevice(const std::string& name, const Parameters& parameters = {}) : ProgramOnDevice(name) {
    Result<std::unique_ptr<Codec>> interpreted = make_program_codec(program, parameters);
    REQUIRE(interpreted.status().text() == "OK");
    meaning = std::move(*interpreted);
    auto made = make_cuda_codec(*device, modules(), *text, *meaning);
    REQUIRE(made.status().text() == "OK");
    codec = std::move(*made);
  }
  ~CodecOnDevice() {
    codec.reset();  // the device has to outlive it
  }

  std::unique_ptr<Codec> meaning;
  std::unique_ptr<CudaCodec> codec;
};

}  // namespace casync::compll::emulated
