// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/codec_json.h"

namespace casync::compll {

nlohmann::ordered_json json_of(const CodecInfo& info) {
  using Json = nlohmann::ordered_json;
  Json json{{"name", info.name},
            {"summary", info.summary},
            {"source", info.source},
            {"number", info.number},
            {"version", info.version},
            {"identity", info.identity},
            {"exact_merge", info.exact_merge},
            {"votes", info.votes},
            {"has_result", info.has_result},
            {"contractive", info.contractive},
            {"feedback", info.feedback},
            {"states", info.state_initial},
            {"rounds", info.rounds},
            {"block", info.block},
            {"bits_per_element", info.bits_per_element},
            {"ratio", 32 / info.bits_per_element},
            {"parameters", Json::array()}};
  if (info.digest != 0) json["program"] = text_of_digest(info.digest);
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    const CodecParameter& parameter = info.parameters[i];
    json["parameters"].push_back({{"name", parameter.name},
                                  {"value", info.values.at(i)},
                                  {"initial", parameter.initial},
                                  {"least", parameter.least},
                                  {"most", parameter.most},
                                  {"meaning", parameter.meaning}});
  }
  return json;
}

}  // namespace casync::compll
