// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/declaration.h"

#include "base/nearest.h"

namespace casync::compll {

CodecParameter feedback_parameter(bool initial) {
  return {"feedback", initial ? 1.0 : 0.0, 0, 1, "1 keeps what a step did not send and adds it to the next"};
}

Status unknown_parameter(const CodecInfo& info, const std::string& name) {
  std::vector<std::string_view> names;
  std::string list;
  for (const CodecParameter& parameter : info.parameters) {
    names.push_back(parameter.name);
    list += (list.empty() ? "; it takes " : ", ") + parameter.name;
  }
  return invalid_argument("codec `" + info.name + "` has no parameter `" + name + "`" + hint(name, names) +
                          (list.empty() ? "; it takes none" : list));
}

}  // namespace casync::compll
