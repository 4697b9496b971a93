#include "python/bindings/text/text_arguments.h"

namespace plait::python {
namespace {

std::vector<std::string_view> words_from(nb::handle words, std::vector<nb::object>& objects) {
  if (!is_sequence(words)) {
    throw TypeError("Tokenizer: expected a list of words, not {}", full_class_name_of(words));
  }
  std::vector<std::string_view> result;
  for (const nb::handle word : words) {
    objects.push_back(nb::borrow(word));
    result.push_back(text_from_python(word, "a word"));
  }
  return result;
}

}  // namespace

std::string_view text_from_python(nb::handle object, const char* what) {
  if (!PyUnicode_Check(object.ptr())) {
    throw TypeError("Tokenizer: {} is {}, expected a str", what, full_class_name_of(object))
        .hint("bytes.decode() makes a str of bytes");
  }
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (data == nullptr) {
    PyErr_Clear();
    throw ValueError("Tokenizer: {} has a lone surrogate, which is not a character", what)
        .hint("text.encode(errors=\"replace\").decode() replaces it");
  }
  return {data, static_cast<size_t>(size)};
}

void TextInputs::add(nb::handle text, nb::handle pair, bool is_split) {
  objects.push_back(nb::borrow(text));
  objects.push_back(nb::borrow(pair));
  if (is_split) {
    text::WordsInput input{words_from(text, objects)};
    if (!pair.is_none()) input.pair = words_from(pair, objects);
    words.push_back(std::move(input));
  } else {
    text::TextInput input{text_from_python(text, "the text")};
    if (!pair.is_none()) input.pair = text_from_python(pair, "the pair");
    texts.push_back(input);
  }
}

std::vector<uint32_t> ids_from_python(nb::handle ids) {
  std::vector<uint32_t> result;
  if (!is_sequence(ids)) {
    throw TypeError("Tokenizer: expected a list of ids, not {}", full_class_name_of(ids));
  }
  for (const nb::handle id : ids) {
    const int64_t value = integer_from(id);
    if (value < 0 || value > UINT32_MAX) {
      throw ValueError("Tokenizer: the id {} is out of range, which is 0 to {}", value, UINT32_MAX);
    }
    result.push_back(static_cast<uint32_t>(value));
  }
  return result;
}

}  // namespace plait::python
