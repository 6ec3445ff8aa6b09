// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec_facts.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/session/difference_gossip.h"

namespace casync::tools {

Result<CodecFacts> facts_of(const CodecChoice& choice) {
  if (compll::has_rounds(choice.name)) {
    Result<std::unique_ptr<compll::RoundsCodec>> made = compll::make_rounds_codec(choice.name, choice.parameters);
    if (!made) return made.status();
    const std::shared_ptr<const compll::RoundsCodec> rounds = std::move(*made);
    std::vector<std::string> codecs;
    for (const compll::ExchangeKind kind : rounds->info().exchanges) codecs.push_back(compll::codec_of(kind));
    // Merging at each hop adds no error: exchanges are sums and greatest elements.
    CodecFacts facts{text_of(choice),
                     {true, rounds->info().bits_per_element, false},
                     false,
                     0,
                     [rounds, codecs](Elements rows, Elements columns) {
                       compll::RoundsShape shape = rounds->shape(rows, columns);
                       return RoundsFacts{std::move(shape.exchanged), shape.states, codecs};
                     }};
    facts.takes_vectors = !rounds->info().of_matrices;
    return facts;
  }
  Result<std::unique_ptr<compll::Codec>> made = compll::make_codec(choice.name, choice.parameters);
  if (!made) return made.status();
  const std::shared_ptr<const compll::Codec> codec = std::move(*made);
  const compll::CodecInfo& info = codec->info();
  // Each state is an array of floats, read and written.
  CodecFacts facts{text_of(choice),
                   {info.exact_merge, info.bits_per_element, info.coded_terms, info.votes, info.has_result},
                   info.identity,
                   8.0 * info.states};
  facts.brings_nearer = [codec] { return runtime::suitable_gamma(*codec) > 0; };
  return facts;
}

}  // namespace casync::tools
