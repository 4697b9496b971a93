// The encodings that a tokenizer returns.
#include <algorithm>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "plait/text/encoding.h"

#include "python/bindings/text/text_arguments.h"

namespace plait::python {
namespace {

using text::Encoding;

nb::list words_of(const Encoding& encoding) {
  nb::list words;
  for (const uint32_t word : encoding.words) {
    words.append(word == Encoding::kNoWord ? nb::none() : nb::object(nb::int_(word)));
  }
  return words;
}

nb::list tokens_of(const Encoding& encoding) {
  nb::list tokens;
  for (const std::string& token : encoding.tokens()) tokens.append(text_to_python(token));
  return tokens;
}

nb::list sequences_of(const Encoding& encoding) {
  nb::list sequences;
  for (const int32_t sequence : encoding.sequence_ids()) {
    sequences.append(sequence < 0 ? nb::none() : nb::object(nb::int_(sequence)));
  }
  return sequences;
}

using Column = std::vector<uint32_t> Encoding::*;

// One row for each encoding.
Tensor stacked_column(const std::vector<const Encoding*>& encodings, Column column) {
  const size_t length = encodings.empty() ? 0 : encodings[0]->size();
  Array array = Array::empty(
      DType::i64, {static_cast<int64_t>(encodings.size()), static_cast<int64_t>(length)});
  const auto elements = array.writable_elements<int64_t>();
  for (size_t i = 0; i < encodings.size(); ++i) {
    std::ranges::copy(encodings[i]->*column, elements.begin() + static_cast<ptrdiff_t>(i * length));
  }
  return Tensor(array);
}

// (ids, attention_mask, type_ids, special_tokens_mask)
nb::tuple stack(const std::vector<const Encoding*>& encodings) {
  for (size_t i = 0; i < encodings.size(); ++i) {
    if (encodings[i]->size() == encodings[0]->size()) continue;
    throw ShapeError("text.stack: encoding 0 has {} tokens, encoding {} has {}",
                     encodings[0]->size(), i, encodings[i]->size())
        .hint("tokenizer.with_padding() makes those of a batch equally long");
  }
  return nb::make_tuple(stacked_column(encodings, &Encoding::ids),
                        stacked_column(encodings, &Encoding::attention_mask),
                        stacked_column(encodings, &Encoding::type_ids),
                        stacked_column(encodings, &Encoding::special_tokens_mask));
}

}  // namespace

void bind_encoding(nb::module_& module) {
  nb::class_<Encoding>(module, "_Encoding")
      .def("__len__", &Encoding::size)
      .def_ro("ids", &Encoding::ids)
      .def_ro("type_ids", &Encoding::type_ids)
      .def_ro("offsets", &Encoding::offsets)
      .def_ro("special_tokens_mask", &Encoding::special_tokens_mask)
      .def_ro("attention_mask", &Encoding::attention_mask)
      .def_ro("overflowing", &Encoding::overflowing)
      .def_prop_ro("word_ids", words_of)
      .def_prop_ro("tokens", tokens_of)
      .def_prop_ro("sequence_ids", sequences_of)
      .def_prop_ro("n_sequences", &Encoding::sequence_count)
      .def("char_to_token", &Encoding::char_to_token, nb::arg("position"), nb::arg("sequence"))
      .def("word_to_tokens", &Encoding::word_to_tokens, nb::arg("word"), nb::arg("sequence"));
  module.def("_stack_encodings", stack, nb::arg("encodings"));
}

}  // namespace plait::python
