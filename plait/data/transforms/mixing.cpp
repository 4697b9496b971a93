#include "plait/data/transforms/mixing.h"

#include <algorithm>
#include <cmath>

#include "plait/core/error.h"
#include "plait/data/constant_array.h"
#include "plait/data/inside/transforms/image_view.h"

namespace plait::data::transforms {
namespace {

struct Batch {
  ImageView images;
  Array labels;
};

void expect_mixing(std::string_view name, double alpha, std::optional<int64_t> classes) {
  if (!(alpha > 0) || !std::isfinite(alpha)) {
    throw ValueError("{}: alpha is {}, expected more than 0", name, alpha);
  }
  if (classes && *classes < 1) {
    throw ValueError("{}: num_classes is {}, expected 1 or more", name, *classes);
  }
}

Batch batch_of(std::string_view name, const Tensor& images, const Tensor& labels,
               std::optional<int64_t> classes) {
  Batch batch{view_of(name, images), constant_array(name, labels)};
  const Sizes &sizes = batch.images.array.sizes(), &of_labels = batch.labels.sizes();
  if (sizes.size() != 4) {
    throw ShapeError("{}: the images are {}, expected [batch, channels, height, width]", name,
                     text_of_sizes(sizes))
        .hint("it mixes the images of a batch: call it on batches of the loader");
  }
  if (of_labels.empty() || of_labels.size() > 2 || of_labels[0] != sizes[0]) {
    throw ShapeError("{}: the labels are {}, expected [{}] or [{}, classes]", name,
                     text_of_sizes(of_labels), sizes[0], sizes[0]);
  }
  if (of_labels.size() == 1 && !classes) {
    throw ValueError("{}: num_classes is not given, but the labels are {}", name,
                     text_of_sizes(of_labels));
  }
  if (of_labels.size() == 2 && classes && of_labels[1] != *classes) {
    throw ShapeError("{}: the labels are {}, but num_classes is {}", name, text_of_sizes(of_labels),
                     *classes);
  }
  return batch;
}

Array one_hot(std::string_view name, const Array& labels, int64_t classes) {
  const Array numbers = labels.converted(DType::i64).contiguous();
  Array shares = Array::filled(DType::f32, {labels.sizes()[0], classes}, Element::of(0.));
  auto* row = shares.writable_elements<float>().data();
  for (const int64_t label : numbers.elements<int64_t>()) {
    if (label < 0 || label >= classes) {
      throw ValueError("{}: a label is {}, expected 0 to {}", name, label, classes - 1);
    }
    row[label] = 1;
    row += classes;
  }
  return shares;
}

bool is_wide_or_single(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

// share · x + (1 - share) · the row before, for each row.
template <class T>
Array mixed_rows(const Array& given, double share) {
  const Array from = given.contiguous();
  Array result = Array::empty(from.dtype(), from.sizes());
  const int64_t rows = from.sizes()[0];
  const int64_t length = rows == 0 ? 0 : from.element_count() / rows;
  const T* x = from.elements<T>().data();
  T* to = result.writable_elements<T>().data();
  const auto own = static_cast<T>(share), rest = static_cast<T>(1 - share);
  for (int64_t row = 0; row < rows; ++row) {
    const T* mine = x + row * length;
    const T* other = x + (row == 0 ? rows - 1 : row - 1) * length;
    for (int64_t i = 0; i < length; ++i) to[row * length + i] = other[i] * rest + mine[i] * own;
  }
  return result;
}

Tensor mixed_floats(const Array& from, double share) {
  if (from.dtype() == DType::f64) return Tensor(mixed_rows<double>(from, share));
  const Array single = mixed_rows<float>(from.converted(DType::f32), share);
  return Tensor(single.converted(from.dtype()));
}

Tensor mixed_labels(std::string_view name, const Array& labels, std::optional<int64_t> classes,
                    double share) {
  if (labels.rank() == 1) return mixed_floats(one_hot(name, labels, *classes), share);
  return mixed_floats(is_wide_or_single(labels.dtype()) ? labels : labels.converted(DType::f32),
                      share);
}

}  // namespace

void MixUp::check() const { expect_mixing("MixUp", alpha, num_classes); }

double MixUp::share(const DrawKey& key) const { return Draws(key).beta(alpha, alpha); }

ImagesAndLabels MixUp::operator()(const Tensor& images, const Tensor& labels,
                                  const DrawKey& key) const {
  check();
  const Batch batch = batch_of("MixUp", images, labels, num_classes);
  if (batch.images.array.dtype() == DType::u8) {
    throw TypeError("MixUp: the images are u8{}, expected floats",
                    text_of_sizes(batch.images.array.sizes()))
        .hint("convert them before: ToDtype, of f32 and with scale");
  }
  const double own = share(key);
  return {mixed_floats(batch.images.array, own),
          mixed_labels("MixUp", batch.labels, num_classes, own)};
}

void CutMix::check() const { expect_mixing("CutMix", alpha, num_classes); }

ImageBox CutMix::box(ImageSize image, const DrawKey& key) const {
  Draws draws(key);
  const double half = 0.5 * std::sqrt(1 - draws.beta(alpha, alpha));
  const auto along = [&](int64_t size) {
    const int64_t middle = draws.below(size);
    const auto reach = static_cast<int64_t>(half * static_cast<double>(size));
    return std::pair(std::max<int64_t>(middle - reach, 0), std::min(middle + reach, size));
  };
  const auto [left, right] = along(image.width);
  const auto [top, bottom] = along(image.height);
  return {top, left, bottom - top, right - left};
}

ImagesAndLabels CutMix::operator()(const Tensor& images, const Tensor& labels,
                                   const DrawKey& key) const {
  check();
  const Batch batch = batch_of("CutMix", images, labels, num_classes);
  const ImageView& view = batch.images;
  if (view.height == 0 || view.width == 0) {
    throw ShapeError("CutMix: the images are {}, which have no pixels",
                     text_of_sizes(view.array.sizes()));
  }
  const ImageBox cut = box({view.height, view.width}, key);
  Array result = view.array.copy();
  const auto part = [&](const Array& array, int64_t image) {
    const Layout rows = array.layout().picked(0, image).sliced(
        -2, {.start = cut.top, .stop = cut.top + cut.height});
    return array.view(rows.sliced(-1, {.start = cut.left, .stop = cut.left + cut.width}));
  };
  for (int64_t image = 0; image < view.count(); ++image) {
    Array to = part(result, image);
    copy_elements(part(view.array, image == 0 ? view.count() - 1 : image - 1), to);
  }
  const double taken =
      static_cast<double>(cut.height * cut.width) / static_cast<double>(view.height * view.width);
  return {Tensor(std::move(result)), mixed_labels("CutMix", batch.labels, num_classes, 1 - taken)};
}

}  // namespace plait::data::transforms
