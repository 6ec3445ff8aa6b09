// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/explain/whole_step_text.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "casync/planner/search/bandwidth.h"
#include "casync/planner/search/measured.h"
#include "tools/casync/explain/crossover_picture.h"
#include "tools/casync/planning/gain.h"
#include "tools/casync/scenario/scenario.h"

namespace casync::tools {
namespace {

using Json = nlohmann::ordered_json;

/// One term in milliseconds: plain by the closed form and as simulated, then compressed.
struct Term {
  const char* name;
  const char* key;
  std::array<double, 4> ms;
};

std::array<double, 4> columns(const WholeStep& whole, double (*form)(const UtilityStep&),
                              double (*simulated)(const WholeStep::Side&)) {
  return {form(whole.plain.closed_form) * 1e3, simulated(whole.plain) * 1e3, form(whole.compressed.closed_form) * 1e3,
          simulated(whole.compressed) * 1e3};
}

std::array<Term, 7> terms(const WholeStep& whole) {
  using Form = const UtilityStep&;
  using Side = const WholeStep::Side&;
  const auto of = [&](auto form, auto simulated) { return columns(whole, form, simulated); };
  return {{
      {"computing", "computing",
       of([](Form f) { return f.computing_s; }, [](Side s) { return s.simulation.parts.training_s; })},
      {"+ encode, merge", "encode",
       of([](Form f) { return f.encode_s; },
          [](Side s) {
            const StepParts& parts = s.simulation.parts;
            return parts.encode_s + parts.merge_s + parts.copies_s + parts.tasks_s;
          })},
      {"+ latency", "latency", of([](Form f) { return f.latency_s; }, [](Side s) { return s.latency_s; })},
      {"+ wire", "wire", of([](Form f) { return f.wire_s; }, [](Side s) { return s.simulation.parts.wire_s; })},
      {"+ decode", "decode", of([](Form f) { return f.decode_s; }, [](Side s) { return s.simulation.parts.decode_s; })},
      {"- overlapping", "overlapping", of([](Form f) { return f.hidden_s; }, [](Side s) { return s.hidden_s; })},
      {"= step", "step", of([](Form f) { return f.step_s(); }, [](Side s) { return s.simulation.step_s; })},
  }};
}

std::string row(const char* name, const std::array<double, 4>& values, const char* unit) {
  char text[160];
  std::snprintf(text, sizeof text, "  %-16s %12.3f %12.3f %14.3f %12.3f  %s\n", name, values[0], values[1], values[2],
                values[3], unit);
  return text;
}

std::string text_of_limit(const std::optional<double>& below) {
  if (!below) return "never";
  return *below >= kFastestBandwidth ? "always" : "below " + text_of_bandwidth(*below);
}

std::string text_of_enough(double ratio) {
  char text[120];
  if (ratio <= 1)
    return "all buckets but the last are hidden as they are: no ratio of compression gains more than that";
  if (std::isinf(ratio)) return "latency alone takes longer than the backward pass: no ratio of compression hides it";
  std::snprintf(text, sizeof text, "a ratio of %.1f hides all buckets but the last; a higher one gains hardly more",
                ratio);
  return text;
}

}  // namespace

std::string whole_step_text(const PlanRequest& request, const WholeStep& whole, const std::string& codecs) {
  char head[200];
  std::string text = text_of_setting(request.training, request.topology, request.profile) + "\n";
  std::snprintf(head, sizeof head, "  %-16s %25s %27s\n  %-16s %12s %12s %14s %12s\n", "", "uncompressed",
                codecs.c_str(), "", "closed form", "simulated", "closed form", "simulated");
  text += head;
  for (const Term& term : terms(whole)) text += row(term.name, term.ms, "ms");
  const double mib = 1.0 / (1 << 20);
  text += row(
      "gradients",
      {whole.plain.bytes * mib, whole.plain.bytes * mib, whole.compressed.bytes * mib, whole.compressed.bytes * mib},
      "MiB");
  text += "compression pays " + text_of_limit(whole.pays_below) + " as simulated, " +
          text_of_limit(whole.closed_form_pays_below) + " by the closed form\n" + text_of_enough(whole.enough) + "\n";
  const std::string assumed = text_of_assumed(assumed_codecs(request.profile, whole.compressed.step));
  return assumed.empty() ? text : text + assumed + "\n";
}

Json whole_step_json(const WholeStep& whole, const std::string& codecs) {
  const auto limit = [](const std::optional<double>& below) { return below ? Json(*below) : Json(); };
  Json json{{"codecs", codecs}};
  for (const Term& term : terms(whole)) {
    json["plain"]["closed_form"][std::string(term.key) + "_ms"] = term.ms[0];
    json["plain"]["simulated"][std::string(term.key) + "_ms"] = term.ms[1];
    json["compressed"]["closed_form"][std::string(term.key) + "_ms"] = term.ms[2];
    json["compressed"]["simulated"][std::string(term.key) + "_ms"] = term.ms[3];
  }
  json["plain"]["bytes"] = whole.plain.bytes;
  json["compressed"]["bytes"] = whole.compressed.bytes;
  json["pays_below_bytes_per_second"] = {{"simulated", limit(whole.pays_below)},
                                         {"closed_form", limit(whole.closed_form_pays_below)}};
  json["enough_ratio"] = std::isinf(whole.enough) ? Json() : Json(whole.enough);
  return json;
}

}  // namespace casync::tools
