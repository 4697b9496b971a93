// Texts as Python passes them to tokenizers.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "plait/text/tokenizer.h"

#include "python/bindings/bindings.h"

namespace plait::python {

// The UTF-8 of a str, as long as that object exists. TypeError if it is something else, ValueError
// if it has a part of a character.
std::string_view text_from_python(nb::handle object, const char* what);

// Inputs, with the Python objects that they are views of. Make it, and destroy it, with Python's
// lock.
struct TextInputs {
  std::vector<nb::object> objects;
  std::vector<text::TextInput> texts;  // or
  std::vector<text::WordsInput> words;

  // A str, or a list of words if `is_split`; the pair may be None.
  void add(nb::handle text, nb::handle pair, bool is_split);
};

std::vector<uint32_t> ids_from_python(nb::handle ids);

void bind_encoding(nb::module_& module);

}  // namespace plait::python
