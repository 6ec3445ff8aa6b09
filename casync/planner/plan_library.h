// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace casync {

/// A function that libcasync_planio exports, which is loaded when first needed and stays: Protocol Buffers does not
/// like to be unloaded. `wanted` names the purpose, as "plan files". Unavailable: no such module; lists where it was
/// sought.
Result<void*> plan_library_function(const char* name, const std::string& wanted);

/// The text of a file of at most 16 MiB. InvalidArgument: begins with `what`, as "plan file", and the path.
Result<std::string> text_of_input(const std::string& what, const std::string& path);

/// Reads a file through a reader that libcasync_planio exports: void(text, size, source, sizeof(Value), &value,
/// &status).
template <class Value>
Result<Value> read_through_library(const char* reader, const std::string& what, const std::string& path) {
  using Reader = void(const char*, std::size_t, const char*, std::size_t, Value*, Status*);
  Result<std::string> text = text_of_input(what, path);
  if (!text) return text.status();
  Result<void*> function = plan_library_function(reader, what + "s");
  if (!function) return function.status();
  Value value;
  Status status;
  reinterpret_cast<Reader*> (*function)(text->data(), text->size(), path.c_str(), sizeof(Value), &value, &status);
  if (!status) return status;
  return value;
}

/// Makes the text of a value through a writer: void(&value, sizeof(Value), &text, &status).
template <class Value>
Result<std::string> write_through_library(const char* writer, const std::string& what, const Value& value) {
  using Writer = void(const Value*, std::size_t, std::string*, Status*);
  Result<void*> function = plan_library_function(writer, what + "s");
  if (!function) return function.status();
  std::string text;
  Status status;
  reinterpret_cast<Writer*> (*function)(&value, sizeof(Value), &text, &status);
  if (!status) return status;
  return text;
}

}  // namespace casync
