// SPDX-License-Identifier: Apache-2.0
#include "proto/text_reader.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "base/nearest.h"

namespace casync::proto {
namespace {

namespace pb = google::protobuf;

// Plans need four levels. Without a limit 200,000 of them end the process: the parser recurses.
constexpr int kMostLevels = 64;

// Hints for the user, by the token that the parser says it expected.
constexpr std::pair<std::string_view, std::string_view> kHints[] = {
    {"string", "put text in double quotes"},
    {"integer", "a whole number without quotes"},
    {"double", "a number without quotes"},
    {"\"{\"", "what has fields is written in braces, as in codec { name: \"int8\" }"},
    {"\":\"", "a colon stands between a field and its value"},
    {"identifier", "the name of a field; is a brace missing, or one too many?"},
};

std::string list_of(const std::vector<std::string_view>& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last : ", ";
    text += words[i];
  }
  return text;
}

/// The text between `before` and `after`, nothing when `message` has another form.
std::string_view between(std::string_view message, std::string_view before, std::string_view after) {
  const std::size_t start = message.find(before);
  if (start == std::string_view::npos) return {};
  const std::string_view rest = message.substr(start + before.size());
  return rest.substr(0, rest.rfind(after));
}

/// Takes errors and warnings under one name: Protocol Buffers renamed its functions in version 22.
class Mistakes : public pb::io::ErrorCollector {
 public:
  virtual void error(int line, pb::io::ColumnNumber column, std::string_view message) = 0;
  virtual void warning(int, pb::io::ColumnNumber, std::string_view) {}

#if GOOGLE_PROTOBUF_VERSION >= 4022000
  void RecordError(int line, pb::io::ColumnNumber column, absl::string_view message) final {
    error(line, column, {message.data(), message.size()});
  }
  void RecordWarning(int line, pb::io::ColumnNumber column, absl::string_view message) final {
    warning(line, column, {message.data(), message.size()});
  }
#else
  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) final {
    error(line, column, message);
  }
  void AddWarning(int line, pb::io::ColumnNumber column, const std::string& message) final {
    warning(line, column, message);
  }
#endif
};

/// Rewords the parser's messages: the text seen, the text expected, and a hint.
class Collector : public Mistakes {
 public:
  Collector(const pb::Descriptor* root, TextDiagnostics* diagnostics) : root_(root), diagnostics_(diagnostics) {}

  void error(int line, pb::io::ColumnNumber column, std::string_view message) override {
    // The tokenizer goes on after a mistake, and the parser then stumbles over what is left of that line.
    if (diagnostics_->full() || !lines_.insert(line).second ||
        (failed_ && diagnostics_->offset_of({line, column}) >= end()))
      return;
    failed_ = true;
    const std::size_t after = diagnostics_->offset_of({line, column});
    // The parser notices these two only after it has passed them.
    std::string_view behind = between(message, "Unknown enumeration value of \"", "\" for field");
    if (behind.empty()) behind = between(message, "Non-repeated field \"", "\" is specified");
    diagnostics_->add_at(start_of(behind, after), wording(message));
  }

  // With unknown fields allowed the parser skips them with a warning and so finds all, not only the first.
  void warning(int line, pb::io::ColumnNumber column, std::string_view message) override {
    if (diagnostics_->full()) return;
    const std::string_view name = between(message, "has no field named \"", "\".");
    const std::string_view type = between(message, "Message type \"", "\" has no field");
    const std::size_t after = diagnostics_->offset_of({line, column});
    diagnostics_->add_at(start_of(name, after), name.empty() ? wording(message) : unknown_field(name, type));
  }

 private:
  /// The offset of the last `word` up to `after`; `after` when there is no word.
  std::size_t start_of(std::string_view word, std::size_t after) const {
    return word.empty() ? after : std::min(diagnostics_->text().rfind(word, after), after);
  }

  std::size_t end() const {
    const std::size_t last = diagnostics_->text().find_last_not_of(" \t\r\n");
    return last == std::string_view::npos ? 0 : last + 1;
  }

  std::string unknown_field(std::string_view name, std::string_view type) const {
    const pb::Descriptor* in = root_->file()->pool()->FindMessageTypeByName(std::string(type));
    std::vector<std::string_view> known;
    for (int i = 0; in != nullptr && i < in->field_count(); ++i) known.push_back(in->field(i)->name());
    return "unknown field `" + std::string(name) + "`, expected " + list_of(known, " or ") + hint(name, known);
  }

  std::string wording(std::string_view message) const {
    if (const auto value = between(message, "Unknown enumeration value of \"", "\" for field"); !value.empty()) {
      return unknown_value(value, between(message, "for field \"", "\"."));
    }
    if (const auto field = between(message, "Non-repeated field \"", "\" is specified"); !field.empty()) {
      return "`" + std::string(field) + "` a second time, expected once";
    }
    if (message.starts_with("Message is too deep")) {
      return "nested too deep, expected at most " + std::to_string(kMostLevels) + " levels";
    }
    if (message.starts_with("String literals cannot cross")) {
      return "the end of the line, expected a closing quote (a text stands on one line)";
    }
    if (message.starts_with("Expected ")) return expected(message);
    std::string text(message.substr(0, message.find_last_not_of('.') + 1));
    if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
  }

  std::string unknown_value(std::string_view value, std::string_view field) const {
    std::vector<std::string_view> known;
    const pb::EnumDescriptor* type = enum_of(field);
    // Number 0 is "unspecified", which is said by leaving the field out.
    for (int i = 1; type != nullptr && i < type->value_count(); ++i) known.push_back(type->value(i)->name());
    return std::string(field) + " `" + std::string(value) + "`, expected " + list_of(known, " or ") +
           hint(value, known);
  }

  const pb::EnumDescriptor* enum_of(std::string_view field) const {
    for (int i = 0; i < root_->file()->message_type_count(); ++i) {
      const pb::FieldDescriptor* found = root_->file()->message_type(i)->FindFieldByName(std::string(field));
      if (found != nullptr && found->enum_type() != nullptr) return found->enum_type();
    }
    return nullptr;
  }

  /// "Expected X, got: Y" and "Expected "x", found "y"."
  static std::string expected(std::string_view message) {
    message.remove_prefix(std::string_view("Expected ").size());
    const std::size_t got = message.find(", got: "), found = message.find(", found \"");
    const std::string_view wanted = message.substr(0, std::min(got, found));
    std::string_view seen;
    if (got != std::string_view::npos) seen = message.substr(got + 7);
    if (found != std::string_view::npos) seen = between(message, ", found \"", "\".");
    std::string text = seen.empty() ? "the end of the text" : quoted(seen, '`');
    text += ", expected " + std::string(wanted == "identifier" ? "a field" : wanted);
    for (const auto& [word, advice] : kHints) {
      if (wanted == word) text += " (" + std::string(advice) + ")";
    }
    return text;
  }

  const pb::Descriptor* root_;
  TextDiagnostics* diagnostics_;
  std::set<int> lines_;
  bool failed_ = false;
};

/// The fields of a file's messages that are enums, by name.
std::map<std::string, const pb::EnumDescriptor*, std::less<>> enum_fields(const pb::FileDescriptor& file) {
  std::map<std::string, const pb::EnumDescriptor*, std::less<>> fields;
  for (int i = 0; i < file.message_type_count(); ++i) {
    for (int j = 0; j < file.message_type(i)->field_count(); ++j) {
      const pb::FieldDescriptor* field = file.message_type(i)->field(j);
      if (field->enum_type() != nullptr) fields[std::string(field->name())] = field->enum_type();
    }
  }
  return fields;
}

bool same_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

/// Leaves mistakes to the parser.
class Silent : public Mistakes {
 public:
  void error(int, pb::io::ColumnNumber, std::string_view) override {}
};

/// Gives the name of an enum's value that begins at `text[at]` the case of its declaration.
void set_case(const pb::EnumDescriptor& type, std::string_view written, std::size_t at, std::string* text) {
  for (int i = 0; i < type.value_count(); ++i) {
    const std::string_view name = type.value(i)->name();
    if (same_but_for_case(name, written)) text->replace(at, name.size(), name);
  }
}

/// The text with the names of enums' values in the case in which they are declared, which is the only one that the
/// parser knows. Everything keeps its place.
std::string with_declared_case(const pb::FileDescriptor& file, const TextDiagnostics& diagnostics) {
  std::string text(diagnostics.text());
  const auto fields = enum_fields(file);
  if (fields.empty()) return text;
  pb::io::ArrayInputStream stream(diagnostics.text().data(), static_cast<int>(diagnostics.text().size()));
  Silent silent;
  pb::io::Tokenizer tokenizer(&stream, &silent);
  tokenizer.set_comment_style(pb::io::Tokenizer::SH_COMMENT_STYLE);
  auto field = fields.end();
  while (tokenizer.Next()) {
    const pb::io::Tokenizer::Token& token = tokenizer.current();
    if (token.text == ":") continue;
    if (field != fields.end() && tokenizer.previous().text == ":") {
      set_case(*field->second, token.text, diagnostics.offset_of({token.line, token.column}), &text);
      field = fields.end();
    } else {
      field = fields.find(token.text);
    }
  }
  return text;
}

}  // namespace

bool read_text(pb::Message* message, Places* places, TextDiagnostics* diagnostics) {
  if (diagnostics->text().size() > kMostTextBytes) {
    diagnostics->add(
        {}, std::to_string(diagnostics->text().size()) + " bytes, expected at most " + std::to_string(kMostTextBytes));
    return false;
  }
  Collector collector(message->GetDescriptor(), diagnostics);
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kMostLevels);
  parser.WriteLocationsTo(places);
  const bool read =
      parser.ParseFromString(with_declared_case(*message->GetDescriptor()->file(), *diagnostics), message);
  if (!read && diagnostics->empty()) diagnostics->add({}, "no text format, expected lines like version: 1");
  return diagnostics->empty();
}

}  // namespace casync::proto
