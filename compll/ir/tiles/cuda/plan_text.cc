// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cuda/plan_text.h"

#include "compll/ir/tiles/plan_writer.h"

namespace casync::compll {
namespace {

class EncoderPlanText {
 public:
  explicit EncoderPlanText(const CudaEncoder& plan) : plan_(plan), out_(*plan.program, plan.graph()) {}

  std::string run() {
    const cuda::Shape& shape = plan_.shape;
    out_.open("passes: " + std::to_string(plan_.schedule.passes.size()) +
              (shape.statistics ? ", the last one in a launch of its own" : "") +
              (shape.second_for_kept ? ", if anything is kept" : "") + (shape.ordered ? ", sums in order" : ""));
    for (ValueId id = 0; id < plan_.conditions.size(); ++id) {
      if (plan_.conditions[id]) out_.line("need " + out_.name(id) + out_.condition(plan_.conditions[id]));
    }
    for (const auto& [id, slot] : plan_.slots) out_.line("word " + std::to_string(slot) + ": " + out_.name(id));
    out_.values("of places", {plan_.of_places.begin(), plan_.of_places.end()});
    out_.values("lines", flagged(plan_.values.of.has_line));
    out_.values("NaN is seen", flagged(plan_.values.seen));
    for (std::size_t i = 0; i < plan_.passes.size(); ++i) write(i, plan_.passes[i]);
    if (!plan_.end.values.empty() || !plan_.end.stores.empty()) {
      out_.open("end");
      write(plan_.end);
      out_.stores(plan_.end.stores);
      out_.close();
    }
    return out_.take();
  }

 private:
  void write(const CudaPreamble& preamble) { out_.values("values of the tensor", preamble.values); }

  void write(std::size_t number, const CudaPass& pass) {
    out_.open("pass " + std::to_string(number));
    write(pass.preamble);
    out_.values("random numbers", pass.random);
    out_.values("reduce for the tensor", pass.reductions);
    out_.values("keep for later loops", pass.kept);
    for (const CudaPhase& phase : pass.phases) write(phase);
    out_.close();
  }

  void write(const CudaPhase& phase) {
    out_.values("values of the block", phase.of_block);
    out_.stores(phase.block_stores);
    out_.values("reduce for each block", phase.block_reductions);
    if (phase.quads) write(*phase.quads);
    if (phase.lanes) write(*phase.lanes);
  }

  void write(const CudaQuads& loop) {
    out_.open("loop over four neighbours");
    out_.values("states", loop.states);
    out_.values("draw", loop.drawn);
    for (const CudaAhead& ahead : loop.ahead) write(ahead);
    out_.values("elements", loop.elements);
    out_.values("feed", loop.reductions);
    if (loop.residual) write(*loop.residual);
    out_.stores(loop.stores);
    out_.close();
  }

  void write(const CudaAhead& ahead) {
    out_.line("ahead " + out_.name(ahead.id) + (ahead.is_kept ? ", kept by an earlier loop" : "") +
              (ahead.keeps ? ", kept for later loops" : "") +
              (ahead.elements.empty() ? "" : ": " + out_.names(ahead.elements)));
  }

  void write(const CudaResidual& residual) {
    out_.open(residual.asks ? "residual, if it is kept" : "residual");
    for (const CudaAhead& ahead : residual.ahead) write(ahead);
    out_.values("elements", residual.elements);
    out_.close();
  }

  void write(const CudaLanes& loop) {
    out_.open("loop over 16 lanes" + out_.condition(loop.condition) + (loop.are_sums ? ", sums" : ""));
    out_.values("elements", loop.elements);
    out_.values("feed", loop.reductions);
    out_.close();
  }

  const CudaEncoder& plan_;
  PlanWriter out_;
};

std::string text_of(const Program& program, const CudaDecoder& plan) {
  PlanWriter out(program, plan.decode->graph);
  out.open("decode");
  out.values("values of the tensor", plan.of_tensor);
  out.values("values of the block", plan.of_block);
  out.open("loop over four neighbours");
  for (const CudaAhead& ahead : plan.ahead) out.values("ahead " + out.name(ahead.id), ahead.elements);
  out.values("elements", plan.elements);
  out.line("give " + out.name(plan.decode->result));
  return out.take();
}

std::string text_of(const Program& program, const CudaResult& plan) {
  PlanWriter out(program, plan.result->graph);
  out.open("result");
  out.values("values of the tensor", plan.of_tensor);
  out.open("loop over four neighbours");
  out.values("draw", plan.drawn);
  out.values("elements", plan.elements);
  out.stores(plan.stores);
  return out.take();
}

}  // namespace

std::string text_of(const CudaEncoder& plan) { return EncoderPlanText(plan).run(); }

std::string text_of(const CudaTiles& plan) {
  std::string text = "encode, " + text_of(plan.encoder);
  if (plan.merge) text += "merge, " + text_of(*plan.merge);
  text += text_of(*plan.program, plan.decoder);
  if (plan.result) text += text_of(*plan.program, *plan.result);
  return text;
}

}  // namespace casync::compll
