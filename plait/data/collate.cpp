#include "plait/data/collate.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/call.h"
#include "plait/tensor/scalar.h"

namespace plait::data {
namespace {

Sizes with_rows(int64_t rows, const Sizes& sizes) {
  Sizes all{rows};
  for (const int64_t size : sizes) all.push_back(size);
  return all;
}

std::span<const int64_t> without_first(const Sizes& sizes) {
  return std::span<const int64_t>(sizes).subspan(1);
}

// Other values would be rounded or cut to the range of the dtype without a word.
void expect_fits(DType dtype, double padding_value) {
  const DTypeKind kind = kind_of(dtype);
  if (kind != DTypeKind::integer && kind != DTypeKind::boolean) return;
  const Array as_element = Array::filled(dtype, {}, Element::of(padding_value));
  if (as_element.converted(DType::f64).element().number.real() == padding_value) return;
  throw ValueError("padding_value is {}, which is no {}", padding_value, name_of(dtype))
      .at(Location::of_caller());
}

}  // namespace

RowBuffer::RowBuffer(const Array& like, int64_t rows)
    : batch_(Array::empty_on(like.device(), like.dtype(), with_rows(rows, like.sizes()))) {}

void RowBuffer::put(int64_t row, const Array& array) {
  const Sizes sizes = without_first(batch_.sizes());
  if (array.dtype() != batch_.dtype() || array.sizes() != sizes) {
    throw ShapeError("it has a tensor {}{}, but the first sample of its batch has {}{} there",
                     name_of(array.dtype()), text_of_sizes(array.sizes()), name_of(batch_.dtype()),
                     text_of_sizes(sizes))
        .hint("resize or pad the samples, or pass a function that makes the batch");
  }
  Array target = batch_.view(batch_.layout().picked(0, row));
  copy_elements(array, target);
}

void RowBuffer::repeat_first(int64_t from_row) {
  const Array first = batch_.view(batch_.layout().picked(0, 0));
  for (int64_t row = from_row; row < batch_.sizes()[0]; ++row) put(row, first);
}

Tensor RowBuffer::finish(int64_t rows) && {
  if (rows == batch_.sizes()[0]) return Tensor(std::move(batch_));
  return Tensor(batch_.view(batch_.layout().sliced(0, {.start = 0, .stop = rows})));
}

void expect_same_structure(const TreeKey& first, const TreeKey& other) {
  if (first == other) return;
  throw ValueError("it differs from the first sample of its batch: {}",
                   explain_difference(first, other))
      .hint("only tensors are put into a batch: make a tensor of it");
}

void refuse_no_samples() { throw ValueError("a batch of 0 samples has no sizes"); }

Tensor pad_sequence(std::span<const Tensor> sequences, const PadSequenceOptions& options) {
  const Call call("pad_sequence", sequences);
  if (sequences.empty()) throw ValueError("there are no sequences").at(Location::of_caller());
  const Array& first = constant_array("pad_sequence", sequences[0]);
  int64_t length = 0;
  for (const Tensor& each : sequences) {
    const Array& array = constant_array("pad_sequence", each);
    if (array.rank() == 0 || array.dtype() != first.dtype() || array.rank() != first.rank() ||
        !std::ranges::equal(without_first(array.sizes()), without_first(first.sizes()))) {
      throw ShapeError("{} does not fit {}: the sequences may differ in their first size only",
                       each.type().text(), sequences[0].type().text())
          .at(Location::of_caller());
    }
    length = std::max(length, array.sizes()[0]);
  }
  expect_fits(first.dtype(), options.padding_value);
  const auto count = static_cast<int64_t>(sequences.size());
  Sizes sizes = options.batch_first ? Sizes{count, length} : Sizes{length, count};
  for (const int64_t size : without_first(first.sizes())) sizes.push_back(size);
  Array padded =
      Array::filled_on(first.device(), first.dtype(), sizes, Element::of(options.padding_value));
  for (int64_t i = 0; i < count; ++i) {
    const Array& array = sequences[static_cast<size_t>(i)].array();
    const int64_t own = array.sizes()[0],
                  begin = options.padding_side == PaddingSide::right ? 0 : length - own;
    const Layout row = padded.layout().picked(options.batch_first ? 0 : 1, i);
    Array target = padded.view(row.sliced(0, {.start = begin, .stop = begin + own}));
    copy_elements(array, target);
  }
  return Tensor(std::move(padded));
}

}  // namespace plait::data
