// SPDX-License-Identifier: Apache-2.0
#include "proto/text_writer.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <vector>

namespace casync::proto {
namespace {

namespace pb = google::protobuf;

void write_line(const pb::TextFormat::Printer& printer, const pb::Message& message, const pb::FieldDescriptor* field,
                int index, std::string* out) {
  std::string value;
  printer.PrintFieldValueToString(message, field, index, &value);
  const bool fields = field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE;
  *out += std::string(field->name()) + (fields ? " { " + value + "}" : ": " + value) + "\n";
}

}  // namespace

std::string text_of(const pb::Message& message) {
  pb::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::vector<const pb::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  std::string out;
  for (const pb::FieldDescriptor* field : fields) {
    if (!field->is_repeated()) write_line(printer, message, field, -1, &out);
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 0;
    for (int i = 0; i < count; ++i) write_line(printer, message, field, i, &out);
  }
  return out;
}

}  // namespace casync::proto
