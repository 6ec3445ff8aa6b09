// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cpu/plan_text.h"

#include "compll/ir/tiles/plan_writer.h"

namespace casync::compll {
namespace {

std::string word_of(CpuCheck check) {
  switch (check) {
    case CpuCheck::kNone: return "";
    case CpuCheck::kOwn: return ", checks all elements";
    case CpuCheck::kReduction: return ", checks all elements by its reduction";
    case CpuCheck::kBlocks: return ", checks all elements by reductions of blocks";
  }
  return "";
}

std::vector<ValueId> lines_of(const RoutineValues& values) { return flagged(values.has_line); }

class EncoderPlanText {
 public:
  explicit EncoderPlanText(const CpuEncoder& plan) : plan_(plan), out_(*plan.program, plan.graph()) {}

  std::string run() {
    out_.open("passes: " + std::to_string(plan_.schedule.passes.size()));
    for (const auto& [id, reduction] : plan_.reductions) write(id, reduction);
    for (const auto& [id, idiom] : plan_.values.idioms.values) {
      out_.line("idiom " + out_.name(id) + " = " + std::string(idiom.function) + "(" + out_.name(idiom.argument) + ")");
    }
    out_.values("lines", lines_of(plan_.values));
    for (std::size_t i = 0; i < plan_.passes.size(); ++i) write(i, plan_.passes[i]);
    if (!plan_.at_end.empty() || !plan_.end_stores.empty()) {
      out_.open("end");
      out_.values("values of the tensor", plan_.at_end);
      out_.stores(plan_.end_stores);
      out_.close();
    }
    return out_.take();
  }

 private:
  void write(ValueId id, const CpuReduction& reduction) {
    out_.line("reduction " + out_.name(id) +
              (reduction.counts_all ? " counts all" : " of " + out_.name(reduction.taken)) +
              out_.condition(reduction.condition) + (reduction.in_chunks ? ", in chunks" : ""));
  }

  void write(std::size_t number, const CpuPass& pass) {
    out_.open("pass " + std::to_string(number) + (pass.has_blocks ? ", by blocks" : "") +
              (pass.waits ? ", if anything is kept" : "") + word_of(pass.check));
    out_.values("values of the tensor", pass.of_tensor);
    out_.values("random numbers", pass.random);
    for (const std::uint32_t index : pass.packed) out_.line("pack " + out_.section(index));
    out_.values("reduce for the tensor", pass.reductions);
    out_.values("reduce for each block", pass.block_reductions);
    for (const auto& [id, array] : pass.array_of) out_.line("array " + std::to_string(array) + ": " + out_.name(id));
    for (const CpuLoop& loop : pass.loops) write(loop);
    out_.close();
  }

  void write(const CpuLoop& loop) {
    out_.values("values of the block", loop.ahead.values);
    out_.stores(loop.ahead.stores);
    out_.open(std::string("loop") + (loop.waits ? ", if anything is kept" : "") +
              (loop.is_longest ? ", fetches ahead" : ""));
    out_.values("load for the block", loop.loads);
    if (loop.loads_input) out_.line("load " + out_.name(plan_.encode->input) + (loop.takes_top ? ", checked" : ""));
    out_.values("elements", loop.elements);
    out_.values("feed", loop.reductions);
    for (const CpuStore& store : loop.sections) {
      out_.line("store " + out_.section(store.section) + " = " + out_.name(store.value));
    }
    if (loop.states_then) write("if states are kept", *loop.states_then);
    if (loop.residual) write("if a residual is kept", *loop.residual);
    out_.close();
    out_.values("transform", loop.transforms);
    out_.values("values of the block", loop.after.values);
    out_.stores(loop.after.stores);
    out_.values("save for the block", loop.saves);
  }

  void write(const std::string& when, const CpuKept& kept) {
    out_.open(when);
    out_.values("elements", kept.elements);
    out_.stores(kept.stores);
    out_.close();
  }

  const CpuEncoder& plan_;
  PlanWriter out_;
};

std::string text_of(const Program& program, const CpuDecoder& plan) {
  PlanWriter out(program, plan.decode->graph);
  out.open(plan.table ? "decode, by a table of " + out.name(*plan.table) : "decode");
  out.values("values of the tensor", plan.of_tensor);
  out.values("values of the block", plan.of_block);
  for (const auto& [id, array] : plan.array_of) out.line("array " + std::to_string(array) + ": " + out.name(id));
  for (const CpuDecoderLoop& loop : plan.loops) {
    out.open("loop");
    out.values("elements", loop.elements);
    if (loop.gives) out.line("give " + out.name(plan.decode->result));
    out.close();
    out.values("transform", loop.transforms);
  }
  return out.take();
}

std::string text_of(const Program& program, const CpuResult& plan) {
  PlanWriter out(program, plan.result->graph);
  out.open("result");
  out.values("values of the tensor", plan.of_tensor);
  out.values("random numbers", plan.random);
  out.open("loop");
  out.values("elements", plan.elements);
  out.stores(plan.stores);
  return out.take();
}

}  // namespace

std::string text_of(const CpuEncoder& plan) { return EncoderPlanText(plan).run(); }

std::string text_of(const CpuTiles& plan) {
  std::string text = "encode, " + text_of(plan.encoder);
  if (plan.merge) text += "merge, " + text_of(*plan.merge);
  if (plan.merges_bits) text += "merge by words of bits\n";
  text += text_of(*plan.program, plan.decoder);
  if (plan.result) text += text_of(*plan.program, *plan.result);
  return text;
}

}  // namespace casync::compll
