// SPDX-License-Identifier: Apache-2.0
//
// A session's facts as JSON, and its memory between steps.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "plugins/c_api/session_handle.h"
#include "plugins/c_api/text.h"

using namespace casync;         // NOLINT: this file is the seam
using namespace casync::c_api;  // NOLINT

namespace {

using nlohmann::json;

using Ranges = std::vector<runtime::GradientState::Range>;

json pairs_of(const Ranges& ranges) {
  json pairs = json::array();
  for (const auto& range : ranges) pairs.push_back(json::array({range.first, range.count}));
  return pairs;
}

json to_json(const runtime::SessionState& state) {
  json gradients = json::object();
  for (const auto& [name, gradient] : state.gradients) {
    json& one = gradients[name] = {{"codec", gradient.codec}, {"elements", gradient.residual.size()}};
    if (gradient.is_residual || !gradient.op.empty()) one["owned"] = pairs_of(gradient.owned);
    if (gradient.op.empty()) continue;
    one["op"] = gradient.op;
    one["sent"] = pairs_of(gradient.sent);
    one["is_residual"] = gradient.is_residual;
  }
  return {{"step", state.step}, {"ranks", state.ranks}, {"rank", state.rank}, {"gradients", std::move(gradients)}};
}

/// A whole number of the state, which the conversion of a larger one would take for another.
template <class Whole>
Status read_whole(const json& object, const char* key, Whole* value) {
  const json& given = object.at(key);
  const std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<Whole>::max());
  if (!given.is_number_unsigned() || given.get<std::uint64_t>() > most) {
    return invalid_argument("the state's " + std::string(key) + " is " + given.dump() +
                            ", expected a whole number from 0 to " + std::to_string(most));
  }
  *value = given.get<Whole>();
  return Status::ok();
}

Status read_ranges(const json& object, const char* key, Ranges* ranges) {
  if (!object.contains(key)) return Status::ok();
  for (const json& pair : object.at(key)) {
    const json range = {{"first", pair.at(0)}, {"count", pair.at(1)}};
    CASYNC_RETURN_IF_ERROR(read_whole(range, "first", &ranges->emplace_back().first));
    CASYNC_RETURN_IF_ERROR(read_whole(range, "count", &ranges->back().count));
  }
  return Status::ok();
}

/// States of earlier versions have no `op`, and `owned` only where the state is a residual.
Status read_gradient(const json& object, runtime::GradientState* gradient) {
  object.at("codec").get_to(gradient->codec);
  gradient->is_residual = object.value("is_residual", object.contains("owned"));
  gradient->op = object.value("op", std::string());
  CASYNC_RETURN_IF_ERROR(read_ranges(object, "owned", &gradient->owned));
  return read_ranges(object, "sent", &gradient->sent);
}

/// The state without its residuals, which come one by one.
Result<runtime::SessionState> from_json(const char* text) {
  try {
    const json object = json::parse(text);
    runtime::SessionState state;
    CASYNC_RETURN_IF_ERROR(read_whole(object, "step", &state.step));
    CASYNC_RETURN_IF_ERROR(read_whole(object, "ranks", &state.ranks));
    CASYNC_RETURN_IF_ERROR(read_whole(object, "rank", &state.rank));
    for (const auto& [name, gradient] : object.at("gradients").items()) {
      CASYNC_RETURN_IF_ERROR(read_gradient(gradient, &state.gradients[name]));
    }
    return state;
  } catch (const json::exception& error) {
    return invalid_argument(std::string("the state's JSON is not what casync_session_state gives: ") + error.what());
  }
}

Status load_when_complete(casync_session* session) {
  if (!session->awaited.empty()) return Status::ok();
  const runtime::SessionState complete = std::move(*session->arriving);
  session->arriving.reset();
  session->taken.reset();  // of a time ahead of the load
  return session->session->load_state(complete);
}

Status begin_state(casync_session* session, const char* counters) {
  session->arriving.reset();
  session->awaited.clear();
  CASYNC_RETURN_IF_ERROR(need(counters, "codec (with name NULL: the state's JSON)"));
  Result<runtime::SessionState> state = from_json(counters);
  if (!state) return state.status();
  for (const auto& entry : state->gradients) session->awaited.insert(entry.first);
  session->arriving = std::move(*state);
  return load_when_complete(session);
}

Status add_residual(casync_session* session, const std::string& name, const char* codec, const float* residual,
                    std::size_t elements, uint32_t step) {
  CASYNC_RETURN_IF_ERROR(need(codec, "codec"));
  CASYNC_RETURN_IF_ERROR(need_array(residual, elements, "residual"));
  if (!session->arriving) return invalid_argument("give the state's JSON first (name NULL, codec the JSON)");
  if (session->awaited.count(name) == 0) {
    return invalid_argument("gradient " + name + " is not in the state's JSON, or was given already");
  }
  if (step != session->arriving->step) {
    return invalid_argument("gradient " + name + " is of step " + std::to_string(step) + ", the state's JSON of step " +
                            std::to_string(session->arriving->step));
  }
  runtime::GradientState& gradient = session->arriving->gradients[name];
  if (gradient.codec != codec) {
    return invalid_argument("gradient " + name + " is of " + codec + ", in the state's JSON of " + gradient.codec);
  }
  if (elements > 0) gradient.residual.assign(residual, residual + elements);
  session->awaited.erase(name);
  return load_when_complete(session);
}

Status copy_residual(const casync_session& session, const char* name, float* residual, std::size_t elements) {
  if (!session.taken) {
    return invalid_argument("call casync_session_state first, also after a step has ended or a state was loaded");
  }
  const auto found = session.taken->gradients.find(name);
  if (found == session.taken->gradients.end()) return invalid_argument(std::string("no gradient ") + name);
  const std::vector<float>& kept = found->second.residual;
  if (kept.size() != elements) {
    return invalid_argument(std::string("gradient ") + name + ": room for " + std::to_string(elements) +
                            " elements, the residual has " + std::to_string(kept.size()));
  }
  std::copy(kept.begin(), kept.end(), residual);
  return Status::ok();
}

}  // namespace

casync_status casync_session_stats(casync_session* session, char* json, size_t capacity, size_t* length) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(check_open(session));
    return give_text(json_text(session->session->stats()), json, capacity, length);
  });
}

casync_status casync_session_state(casync_session* session, char* json, size_t capacity, size_t* length) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(check_open(session));
    std::lock_guard lock(session->state_mutex);
    // A state is as large as the model: one that was taken to ask for the text's length is the one that is given.
    const bool asked = std::exchange(session->taken_for_length, false) && session->taken;
    if (!asked) {
      Result<runtime::SessionState> state = session->session->state();
      if (!state) return state.status();
      session->taken = std::move(*state);
    }
    const std::string text = to_json(*session->taken).dump();
    session->taken_for_length = text.size() >= capacity;
    return give_text(text, json, capacity, length);
  });
}

casync_status casync_session_state_get(casync_session* session, const char* name, float* residual, size_t elements) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(check_open(session));
    CASYNC_RETURN_IF_ERROR(need(name, "name"));
    CASYNC_RETURN_IF_ERROR(need_array(residual, elements, "residual"));
    std::lock_guard lock(session->state_mutex);
    return copy_residual(*session, name, residual, elements);
  });
}

casync_status casync_session_state_set(casync_session* session, const char* name, const char* codec,
                                       const float* residual, size_t elements, uint32_t step) {
  return guarded([&] {
    CASYNC_RETURN_IF_ERROR(check_open(session));
    // A state that is loaded forgets all handles. Without the mutex: a completion may ask for a state.
    CASYNC_RETURN_IF_ERROR(session->completions->catch_up(after(Seconds(session->timeout_s))));
    std::lock_guard lock(session->state_mutex);
    return name == nullptr ? begin_state(session, codec) : add_residual(session, name, codec, residual, elements, step);
  });
}
