// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/explain.h"

#include <bit>
#include <cstdio>
#include <set>

#include "compll/codegen/cuda/launches.h"
#include "compll/ir/form.h"
#include "compll/ir/rounds/cpu/plan.h"
#include "compll/ir/tiles/cpu/memory_passes.h"
#include "compll/ir/tiles/cpu/plan.h"
#include "compll/ir/tiles/value_flags.h"
#include "compll/ir/vector/cpu/plan.h"
#include "compll/lang/element_count.h"

namespace casync::compll {
namespace {

constexpr Elements kMany = Elements{1} << 26;
constexpr int kMerged = kExplainedMerge;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

double sum_of(const std::vector<Loop>& loops) {
  double sum = 0;
  for (const Loop& loop : loops) sum += loop.read + loop.written;
  return sum;
}

void add(std::string& text, const FunctionLoops& function, double least, const std::string& why) {
  const double bytes = sum_of(function.loops);
  const std::size_t passes = function.loops.size();
  text += function.name + ": " + std::to_string(passes) + (passes == 1 ? " pass, " : " passes, ") + number(bytes) +
          " bytes per element, the least is " + number(least) + "\n";
  for (const Loop& loop : function.loops) {
    text += "  reads " + number(loop.read) + ", writes " + number(loop.written) + ": " + loop.what + "\n";
  }
  if (bytes > least + 0.005 && !why.empty()) text += "  " + why + "\n";
}

/// Encode or merge of a program that works on tiles: the least that its loops can move, however they are planned.
class EncoderLeast {
 public:
  EncoderLeast(const Program& program, const EncodeGraph& encode, double payload)
      : graph_(encode.graph), payload_(payload), residual_(program.declares.feedback ? 4 : 0) {
    ValueFlags codes(graph_.values().size(), false), all = codes;
    for (const ValueId id : encode.sections) codes[id] = graph_[id].domain != Domain::kTensor, all[id] = true;
    for (const ValueId id : encode.states) all[id] = true;
    codes = below(graph_, std::move(codes));
    ValueFlags awaited(graph_.values().size(), false);
    for (const ValueId id : flagged(codes)) awaited[id] = graph_[id].kind == Value::Kind::kReduce;
    waits_ = !flagged(awaited).empty();
    awaited_states_ = bytes_of_states(std::move(awaited));
    states_ = bytes_of_states(std::move(all)) + 4 * static_cast<double>(encode.states.size());
  }

  /// `input`: the bytes that an element of the vector is made of, its residual left out. Codes that wait for a
  /// reduction read the vector once more, and the states that are reduced.
  double bytes(double input) const {
    return input + 2 * residual_ + states_ + payload_ + (waits_ ? input + residual_ + awaited_states_ : 0);
  }

  /// Returns true if codes have to wait for a reduction over the whole tensor.
  bool waits() const { return waits_; }

 private:
  /// The bytes of the states that these values are made of.
  double bytes_of_states(ValueFlags values) const {
    double bytes = 0;
    for (const ValueId id : flagged(below(graph_, std::move(values)))) {
      if (graph_[id].kind == Value::Kind::kState) bytes += 4;
    }
    return bytes;
  }

  const Graph& graph_;
  double payload_;
  double residual_;            ///< the bytes of an element's residual
  double states_ = 0;          ///< bytes of states, read and written
  double awaited_states_ = 0;  ///< bytes of states that have to be reduced ahead of the codes
  bool waits_ = false;
};

const EncodeGraph& merge_of(const Lowered& lowered) { return lowered.merge ? *lowered.merge : lowered.encode; }

LeastBytes least_of_tiles(const Program& program, const Lowered& lowered, double payload) {
  return {.encode = EncoderLeast(program, lowered.encode, payload).bytes(4),
          .decode = payload + 4,
          .merge = EncoderLeast(program, merge_of(lowered), payload).bytes(kMerged * payload)};
}

/// The reason why encode or merge goes through memory more than once; "" if it does not.
std::string reason_of(const CpuEncoder& plan, const Source& source, double payload) {
  if (plan.passes.size() < 2) return "";
  const std::string reductions = reductions_of_first_pass(plan, source);
  if (EncoderLeast(*plan.program, *plan.encode, payload).waits()) {
    return "codes wait for " + reductions + ", and that for a pass of its own";
  }
  return "only the residual waits for " + reductions + ": kept as it is and taken apart in the next step it would not";
}

std::string tile_explanation(const CpuTiles& plan, const Source& source, double payload) {
  const Program& program = *plan.program;
  const LeastBytes least = least_of_tiles(program, *plan.lowered, payload);
  const std::vector<FunctionLoops> functions = loops_of(plan, source, kMerged);
  std::string all;
  add(all, functions[0], least.encode, reason_of(plan.encoder, source, payload));
  add(all, functions[1], least.decode, "");
  add(all, functions[2], payload + 8, "");
  add(all, functions[3], least.merge, reason_of(plan.merge ? *plan.merge : plan.encoder, source, payload));
  if (plan.result) add(all, functions[4], 8 + 8 * static_cast<double>(program.states.size()), "");
  return all;
}

/// The least bytes of programs in vector form: they read the gradient and kept arrays, and write the latter.
LeastBytes least_of_vector(const Program& program, double payload) {
  const double kept = 8.0 * static_cast<double>(program.states.size()) + (program.declares.feedback ? 8 : 0);
  return {.encode = 4 + kept + payload, .decode = 4 + payload, .merge = (kMerged + 1) * payload + kept};
}

double payload_of(const Program& program) {
  std::vector<double> parameters;
  for (const ProgramParameter& parameter : program.parameters) parameters.push_back(parameter.initial);
  return payload_bits(program, parameters, kMany) / 8;
}

Result<std::string> vector_explanation(const Program& program, const Source& source, double payload) {
  const Result<cpu_vector::Plan> plan = cpu_vector::plan_vector(program, source);
  if (!plan) return plan.status();
  std::string all;
  for (FunctionLoops& function : loops_of(*plan)) {
    const bool encodes = function.name == "encode" || function.name == "merge";
    if (encodes && program.declares.feedback) {
      function.name += " with feedback";
      if (program.decode.result->op != Op::kScatter) {
        function.loops.push_back({"the residual, less what is decoded", 4 + payload, 4});
      }
    }
    const double least = encodes                     ? least_of_vector(program, payload).encode
                         : function.name == "decode" ? 4 + payload
                                                     : 8 + 8.0 * static_cast<double>(program.states.size());
    add(all, function, least, encodes ? "each loop above reads the results of the preceding one" : "");
  }
  return all;
}

/// The explanation of a step with exchanges: the bytes of each turn for each element of a large matrix, and their sum.
Result<std::string> rounds_explanation(const Program& program, const Source& source) {
  const Result<cpu_turns::Plan> plan = cpu_turns::plan_turns(program, source);
  if (!plan) return plan.status();
  const std::vector<FunctionLoops> functions = cpu_turns::loops_of(*plan);
  double bytes = 0;
  for (const FunctionLoops& function : functions) bytes += sum_of(function.loops);
  std::string all = std::to_string(program.rounds) + (program.rounds == 1 ? " exchange, " : " exchanges, ") +
                    number(bytes) + " bytes per element of the gradient\n";
  for (const FunctionLoops& function : functions) {
    const std::size_t passes = function.loops.size();
    all += function.name + ": " + std::to_string(passes) + (passes == 1 ? " pass, " : " passes, ") +
           number(sum_of(function.loops)) + " bytes per element\n";
    for (const Loop& loop : function.loops) {
      all += "  reads " + number(loop.read) + ", writes " + number(loop.written) + ": " + loop.what + "\n";
    }
  }
  return all + cuda_launches(program, source);
}

/// The parts that take longer than their bytes suggest.
std::string cliffs(const Program& program, const std::string& why_vector) {
  std::string all;
  if (!why_vector.empty()) {
    all += "slower than its bytes say: " + why_vector +
           ", so loops go over the whole vector and take 3 to 5 times as long\n";
  }
  std::set<int> widths;
  for (const Section& section : program.sections) {
    const ScalarType type = section.type.element;
    const bool many = section.type.extent && section.type.extent->kind != Extent::Kind::kBlocks;
    if (many && type.is_integer() && type != kTritType && !std::has_single_bit(unsigned{type.bits})) {
      widths.insert(type.bits);
    }
  }
  for (const int width : widths) {
    all +=
        "slower than its bytes say: codes of " + std::to_string(width) +
        " bits are packed bit by bit; those of 1, 2, 4, 8 or 16 bits are encoded and decoded 2 to 4 times as quickly "
        "and merged 7 to 10 times\n";
  }
  return all;
}

}  // namespace

LeastBytes least_bytes(const Program& program, const Source& source) {
  const double payload = payload_of(program);
  const CommonForm form = form_of(program, source);
  return form.lowered ? least_of_tiles(program, *form.lowered, payload) : least_of_vector(program, payload);
}

Result<std::string> explanation(const Program& program, const Source& source) {
  const TargetForm<CpuTiles> form = form_of(program, source, plan_cpu_tiles);
  if (form.kind == Form::Kind::kRounds) return rounds_explanation(program, source);
  const double payload = payload_of(program);
  std::string text = "payload: " + number(8 * payload) + " bits per element\n";
  const std::string launches = cuda_launches(program, source);
  if (form.kind == Form::Kind::kTiles) {
    return text + tile_explanation(*form.tiles, source, payload) + cliffs(program, "") + launches;
  }
  const std::string why = form.lowered ? why_not_tiles(program, *form.lowered).value_or("") : "";
  const Result<std::string> vector = vector_explanation(program, source, payload);
  if (!vector) return vector.status();
  return text + *vector + cliffs(program, why) + launches;
}

}  // namespace casync::compll
