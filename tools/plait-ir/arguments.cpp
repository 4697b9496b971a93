#include "arguments.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/inside/numbers/element_text.h"
#include "plait/io/npy.h"
#include "plait/tensor/array_machine.h"

using namespace plait;

namespace {

// Reads one element, or nested lists of elements with equal lengths and depths.
class ListReader {
 public:
  ListReader(TextReader& reader, DType dtype) : reader_(reader), dtype_(dtype) {}

  Array read() {
    read_item(0);
    return Array::of(Literal::of_bytes(dtype_, std::move(sizes_), std::move(bytes_)));
  }

 private:
  void read_item(size_t depth) {
    if (rank_ && depth == *rank_ && reader_.next_is("[")) {
      reader_.fail("expected an element, as elsewhere at this depth, found a list");
    }
    if (reader_.accept("[")) return read_list(depth);
    if (depth < rank_.value_or(sizes_.size())) reader_.fail_expecting("a list");
    rank_ = depth;
    const size_t size = static_cast<size_t>(size_of(dtype_)), at = bytes_.size();
    bytes_.resize(at + size);
    read_element(reader_, dtype_, bytes_.data() + at);
  }

  void read_list(size_t depth) {
    const TextReader::Nesting nesting(reader_);
    const bool is_first = depth == sizes_.size();
    if (is_first) sizes_.push_back(0);
    int64_t count = 0;
    if (!reader_.accept("]")) {
      do {
        read_item(depth + 1);
        ++count;
      } while (reader_.accept(","));
      reader_.expect("]");
    }
    if (is_first) sizes_[depth] = count;
    if (count == sizes_[depth]) return;
    reader_.fail("a list of {}, but those before it have {}", count, sizes_[depth]);
  }

  TextReader& reader_;
  DType dtype_;
  std::vector<int64_t> sizes_;
  std::optional<size_t> rank_;  // known after the first element
  std::vector<std::byte> bytes_;
};

bool next_is_literal(TextReader reader) {
  return reader.next_is_name() && parse_dtype(reader.name()).has_value();
}

Array read_array(TextReader& reader, DType dtype) {
  if (reader.accept("@")) {
    const std::string path(reader.rest());
    reader.advance(path.size());
    return load_npy(path);
  }
  if (next_is_literal(reader)) return Array::of(parse_literal(reader));
  return ListReader(reader, dtype).read();
}

ir::Value read_value(TextReader& reader, const ir::Type& type) {
  if (type.is_optional()) {
    if (reader.accept_word("absent")) return ir::Value::absent();
    return ir::Value::present(read_value(reader, type.element()));
  }
  if (!type.is_array()) {
    throw ValueError("an argument of type {} cannot be written on the command line", type.text());
  }
  return TensorMachine::value_of(read_array(reader, type.dtype()));
}

}  // namespace

ir::Value parse_argument(const std::string& text, const ir::Type& type) {
  TextReader reader(text);
  ir::Value value = read_value(reader, type);
  if (!reader.at_end()) reader.fail("expected the end of the argument, found {}", reader.found());
  return value;
}
