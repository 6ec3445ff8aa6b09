// SPDX-License-Identifier: Apache-2.0
//
// The codecs that are written in the language, as the files in compll/codecs or as a text of the test's own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compll/codec/rounds_codec.h"
#include "compll/lang/program.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {

/// A program and the codec that interprets it.
struct Written {
  std::shared_ptr<const Program> program;
  std::unique_ptr<Codec> codec;
};

/// The codecs of compll/codecs that encode gradients, by their files' names, in alphabetical order; and those that
/// exchange in rounds.
std::vector<std::string> written_names();
std::vector<std::string> written_round_names();

/// The text of compll/codecs/NAME.cll.
std::string source_of(const std::string& name);

/// The same after the text of the prelude, whose functions are then the program's own and can be changed.
std::string whole_source_of(const std::string& name);

/// The text of tests/compll/program/NAME.cll, a program that is no codec of ours.
std::string test_program(const std::string& name);

/// A program's codec with these parameters. Throws what the compiler says where it refuses.
Written from_text(const std::string& name, const std::string& text, const Parameters& parameters = {});
Written from_source(const std::string& name, const Parameters& parameters = {});

/// The same of a program that exchanges in rounds.
std::unique_ptr<RoundsCodec> rounds_from_text(const std::string& name, const std::string& text,
                                              const Parameters& parameters = {});
std::unique_ptr<RoundsCodec> rounds_from_source(const std::string& name, const Parameters& parameters = {});

/// `text` with all of `before`, which it has, become `after`.
std::string changed(std::string text, const std::string& before, const std::string& after);

}  // namespace casync::compll
