// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/explain.h"

#include <bit>
#include <cstdio>
#include <set>

#include "compll/codegen/cpu/cpu.h"
#include "compll/codegen/cuda/launches.h"
#include "compll/ir/form.h"
#include "compll/ir/rounds/cpu/plan.h"
#include "compll/ir/tiles/bit_merge.h"
#include "compll/ir/tiles/cpu/plan.h"
#include "compll/ir/tiles/outputs.h"
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

std::string list_of(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

/// Encode or merge of a program that works on tiles: each pass loads all elements once.
class EncoderExplanation {
 public:
  EncoderExplanation(const Program& program, const EncodeGraph& encode, const Source& source, double payload)
      : program_(program), encode_(encode), graph_(encode.graph), source_(source), payload_(payload) {
    std::vector<Output> outputs;
    for (const Output& output : outputs_of(encode)) {
      if (output.kind != Output::Kind::kResidual || program.declares.feedback) outputs.push_back(output);
    }
    plan_ = schedule(graph_, outputs, Transforms::kAgain);
    arrays_ = static_cast<double>(program.states.size()) + (program.declares.feedback ? 1 : 0);
  }

  /// The passes: each reads `input` bytes of the vector and the kept arrays for each element; the last one writes.
  std::vector<Loop> passes(double input) const {
    std::vector<std::string> last = {"sections"};
    if (program_.declares.feedback) last.push_back("residual");
    for (const ProgramState& state : program_.states) last.push_back("`" + state.name + "`");
    std::vector<Loop> loops;
    for (std::size_t i = 0; i + 1 < plan_.passes.size(); ++i) loops.push_back({names(i), input + 4 * arrays_, 0});
    loops.push_back({list_of(last), input + 4 * arrays_, payload_ + 4 * arrays_});
    return loops;
  }

  /// The least bytes: codes that wait for a reduction read the input once more.
  double least(double input) const { return input + 8 * arrays_ + payload_ + (waits() ? input + 4 * arrays_ : 0); }

  std::string reason() const {
    if (plan_.passes.size() < 2) return "";
    if (!waits()) {
      return "only the residual waits for " + names(0) +
             ": kept as it is and taken apart in the next step it would not";
    }
    return "codes wait for " + names(0) + ", and that for a pass of its own";
  }

 private:
  std::string word(ValueId id) const {
    const Value& value = graph_[id];
    const std::string line = "line " + std::to_string(source_.position(value.at.begin).line);
    return value.name.empty() ? "what is reduced in " + line : "`" + value.name + "` (" + line + ")";
  }

  /// The values that the pass reduces over the whole tensor.
  std::string names(std::size_t pass) const {
    std::string all;
    for (const Phase& phase : plan_.passes[pass].phases) {
      for (const ValueId id : phase.reductions) {
        if (graph_[id].kind == Value::Kind::kReduce) all += (all.empty() ? "" : ", ") + word(id);
      }
    }
    return all;
  }

  /// Returns true if codes have to wait for a reduction over the whole tensor.
  bool waits() const {
    for (const ValueId id : encode_.sections) {
      if (graph_[id].domain != Domain::kTensor && depends(id)) return true;
    }
    return false;
  }
  bool depends(ValueId id) const {
    if (graph_[id].kind == Value::Kind::kReduce) return true;
    for (const ValueId argument : graph_[id].arguments) {
      if (depends(argument)) return true;
    }
    return false;
  }

  const Program& program_;
  const EncodeGraph& encode_;
  const Graph& graph_;
  const Source& source_;
  double payload_;
  double arrays_ = 0;  ///< arrays that are kept
  Schedule plan_;
};

/// The functions that work on tiles.
class TileExplanation {
 public:
  TileExplanation(const Program& program, const Lowered& lowered, const Source& source, double payload)
      : program_(program),
        lowered_(lowered),
        encode_(program, lowered.encode, source, payload),
        merge_(program, lowered.merge ? *lowered.merge : lowered.encode, source, payload),
        payload_(payload) {}

  std::string text() const {
    const LeastBytes least = this->least();
    const double codes = kMerged * payload_, states = 4.0 * static_cast<double>(program_.states.size());
    std::string all;
    add(all, {program_.declares.feedback ? "encode with feedback" : "encode", encode_.passes(4)}, least.encode,
        encode_.reason());
    add(all, {"decode", {{"codes become elements", payload_, 4}}}, least.decode, "");
    add(all, {"decode and add", {{"codes become elements", payload_ + 4, 4}}}, payload_ + 8, "");
    add(all, {"merge of " + std::to_string(kMerged), merge_passes(codes)}, least.merge, merge_.reason());
    if (!lowered_.result) return all;
    add(all, {"result", {{"what was decoded becomes the gradient", 4 + states, 4 + states}}}, 8 + 2 * states, "");
    return all;
  }

  LeastBytes least() const {
    return {.encode = encode_.least(4), .decode = payload_ + 4, .merge = merge_.least(kMerged * payload_)};
  }

 private:
  std::vector<Loop> merge_passes(double codes) const {
    if (program_.declares.feedback || !merges_bits(program_, lowered_)) return merge_.passes(codes);
    return {{"words of codes become sections, no element is decoded", codes, payload_}};
  }

  const Program& program_;
  const Lowered& lowered_;
  EncoderExplanation encode_, merge_;
  double payload_;
};

/// The least bytes of programs for whole vectors: they read the gradient and kept arrays, and write the latter.
LeastBytes least_of_whole(const Program& program, double payload) {
  const double kept = 8.0 * static_cast<double>(program.states.size()) + (program.declares.feedback ? 8 : 0);
  return {.encode = 4 + kept + payload, .decode = 4 + payload, .merge = (kMerged + 1) * payload + kept};
}

double payload_of(const Program& program) {
  std::vector<double> parameters;
  for (const ProgramParameter& parameter : program.parameters) parameters.push_back(parameter.initial);
  return payload_bits(program, parameters, kMany) / 8;
}

Result<std::string> whole_explanation(const Program& program, const Source& source, double payload) {
  const Result<cpu_whole::Plan> plan = cpu_whole::plan_whole(program, source);
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
    const double least = encodes                     ? least_of_whole(program, payload).encode
                         : function.name == "decode" ? 4 + payload
                                                     : 8 + 8.0 * static_cast<double>(program.states.size());
    add(all, function, least, encodes ? "each loop above reads what the one before has made" : "");
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
std::string cliffs(const Program& program, const std::string& why_whole) {
  std::string all;
  if (!why_whole.empty()) {
    all += "slower than its bytes say: " + why_whole +
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
  return form.lowered ? TileExplanation(program, *form.lowered, source, payload).least()
                      : least_of_whole(program, payload);
}

Result<std::string> explanation(const Program& program, const Source& source) {
  const TargetForm<CpuTiles> form = form_of(program, source, plan_cpu_tiles);
  if (form.kind == Form::Kind::kRounds) return rounds_explanation(program, source);
  const double payload = payload_of(program);
  std::string text = "payload: " + number(8 * payload) + " bits per element\n";
  const std::string launches = cuda_launches(program, source);
  if (form.kind == Form::Kind::kTiles) {
    return text + TileExplanation(program, *form.lowered, source, payload).text() + cliffs(program, "") + launches;
  }
  const std::string why = form.lowered ? why_not_tiles(program, *form.lowered).value_or("") : "";
  const Result<std::string> whole = whole_explanation(program, source, payload);
  if (!whole) return whole.status();
  return text + *whole + cliffs(program, why) + launches;
}

}  // namespace casync::compll
