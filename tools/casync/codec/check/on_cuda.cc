// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec/check/on_cuda.h"

#include <memory>
#include <utility>

#include "base/clock.h"
#include "compll/codegen/cuda/codec_text.h"
#include "compll/cuda/cubin.h"
#include "compll/cuda/cuda_codec.h"
#include "compll/cuda/cuda_device.h"
#include "compll/cuda/cuda_modules.h"
#include "compll/cuda/driver.h"
#include "tools/casync/codec/check/cuda_speeds.h"
#include "tools/casync/codec/check/rounds.h"

namespace casync::tools {
namespace {

/// A program's kernels on a device.
struct Loaded {
  std::unique_ptr<compll::CudaDevice> device;
  compll::CudaCodecText text;
  compll::CudaModules modules;
  Making making;
};

Result<Loaded> load(const compll::Program& program, const compll::Source& source) {
  auto begin = Clock::now();
  Result<compll::CudaCodecText> text = compll::cuda_codec_text(program, source);
  if (!text) return text.status();
  Making making;
  making.text_seconds = seconds_since(begin);
  const Result<const compll::DriverApi*> driver = compll::find_driver();
  if (!driver) return driver.status();
  auto device = compll::CudaDevice::open(**driver);
  if (!device) return device.status();
  begin = Clock::now();
  const Result<compll::Cubin> cubin = compll::cubin_of(*text, (*device)->facts().architecture);
  if (!cubin) return cubin.status();
  auto modules = compll::CudaModules::load(**device, cubin->code);
  if (!modules) return modules.status();
  making.compiled_seconds = seconds_since(begin);
  making.built = cubin->built;
  making.device = (*device)->facts().name;
  making.compiler = cubin->compiler + " for " + (*device)->facts().architecture;
  return Loaded{std::move(*device), std::move(*text), std::move(*modules), making};
}

/// Adds the verdicts on properties that only kernels can break.
void add_verdicts(const compll::OnDevice& codec, const compll::CudaDevice& device, std::vector<Verdict>& verdicts) {
  using State = Verdict::State;
  verdicts.push_back({"kernels write to their own memory only, and leave their workspace as it was",
                      codec.wrote_outside() ? State::kFails : State::kHolds, ""});
  verdicts.push_back({"the driver reports no error", device.status().is_ok() ? State::kHolds : State::kFails,
                      device.status().message()});
}

}  // namespace

Result<Part> check_on_cuda(const compll::Program& program, const compll::Source& source, const compll::Codec& meaning,
                           double seconds) {
  const Result<Loaded> loaded = load(program, source);
  if (!loaded) return loaded.status();
  const auto codec = compll::make_cuda_codec(*loaded->device, loaded->modules, loaded->text, meaning);
  if (!codec) return codec.status();
  Part part{loaded->making, {}, {}};
  part.verdicts = check_properties({.codec = **codec,
                                    .meaning = &meaning,
                                    .contractive = program.declares.contractive,
                                    .unbiased = program.declares.unbiased});
  Figures figures = measure_figures(**codec, 0);
  if (seconds > 0) figures.speeds = measure_on_cuda(**codec, *loaded->device, seconds);
  part.figures = figures;
  add_verdicts(**codec, *loaded->device, part.verdicts);
  return part;
}

Result<Part> check_on_cuda(const compll::Program& program, const compll::Source& source,
                           const compll::RoundsCodec& meaning, double seconds) {
  const Result<Loaded> loaded = load(program, source);
  if (!loaded) return loaded.status();
  const auto codec = compll::make_cuda_rounds(*loaded->device, loaded->modules, loaded->text, meaning);
  if (!codec) return codec.status();
  Part part{loaded->making, {}, {}};
  part.verdicts = check_rounds_properties({**codec, &meaning, program});
  RoundsFigures figures = measure_rounds(**codec, 0);
  if (seconds > 0) figures.speeds = measure_on_cuda(**codec, *loaded->device, seconds);
  part.figures = figures;
  add_verdicts(**codec, *loaded->device, part.verdicts);
  return part;
}

}  // namespace casync::tools
