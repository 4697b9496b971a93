#include "plait/cpu/inside/convolutions/cpu_convolution.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "plait/core/error.h"
#include "plait/core/function_ref.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/convolutions/patches.h"
#include "plait/cpu/inside/convolutions/winograd.h"
#include "plait/cpu/inside/libraries/library_convolution.h"
#include "plait/cpu/inside/products/blocked_product.h"
#include "plait/cpu/inside/products/matmul.h"

namespace plait {
namespace {

constexpr int64_t kThreadWork = 64 * 64 * 64;   // multiplications that are worth a thread
constexpr int64_t kLibraryWork = 48 * 48 * 48;  // multiplications that are worth a call of the
                                                // library
constexpr int64_t kPatchBytes = 1 << 20;        // size of a block of patches
constexpr int64_t kChannelUnit = 16;            // channels that the library computes at a time

int64_t worthwhile_threads(const ConvolutionShape& shape) {
  return std::clamp<int64_t>(shape.work() / kThreadWork, 1, planned_thread_count());
}

// Convolution by the library: each thread takes a part of the images and channels.
class LibraryPieces {
 public:
  LibraryPieces(ConvolutionKind kind, const ConvolutionShape& shape, const Array& x, const Array& w,
                const Array& out)
      : kind_(kind),
        shape_(shape),
        strides_{x.layout().strides, w.layout().strides, out.layout().strides} {
    const int64_t threads = worthwhile_threads(shape);
    const bool cuts_images = kind != ConvolutionKind::weight_gradient;
    images_ = quotient_up(shape.images, cuts_images ? std::min(threads, shape.images) : 1);
    image_pieces_ = quotient_up(shape.images, images_);
    const int64_t unit = shape.groups > 1 ? 1 : kChannelUnit;
    const int64_t units = quotient_up(channels(), unit);
    channels_ = unit * quotient_up(units, std::clamp<int64_t>(threads / image_pieces_, 1, units));
    channels_ = std::min(channels_, channels());
    channel_pieces_ = quotient_up(channels(), channels_);
    for (size_t kind_of_piece = 0; kind_of_piece < 4; ++kind_of_piece) {
      const bool last_images = kind_of_piece & 1, last_channels = kind_of_piece & 2;
      prepared_[kind_of_piece] =
          library_convolution(kind,
                              piece_of(last_images ? last_image_count() : images_,
                                       last_channels ? last_channel_count() : channels_),
                              strides_);
    }
  }

  bool is_prepared() const { return std::ranges::find(prepared_, nullptr) == prepared_.end(); }

  void run(std::byte* x, std::byte* w, std::byte* out) const {
    parallel_for(image_pieces_ * channel_pieces_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) run_piece(piece, x, w, out);
    });
  }

 private:
  // The dimension that is divided: groups if there are several, else the channels of the result.
  int64_t channels() const {
    if (shape_.groups > 1) return shape_.groups;
    return kind_ == ConvolutionKind::input_gradient ? shape_.inputs : shape_.outputs;
  }
  int64_t last_image_count() const { return shape_.images - (image_pieces_ - 1) * images_; }
  int64_t last_channel_count() const { return channels() - (channel_pieces_ - 1) * channels_; }

  ConvolutionShape piece_of(int64_t images, int64_t channels) const {
    ConvolutionShape piece = shape_;
    piece.images = images;
    if (shape_.groups > 1) {
      piece.groups = channels;
      piece.inputs = channels * shape_.group_inputs();
      piece.outputs = channels * shape_.group_outputs();
    } else {
      (kind_ == ConvolutionKind::input_gradient ? piece.inputs : piece.outputs) = channels;
    }
    return piece;
  }

  void run_piece(int64_t piece, std::byte* x, std::byte* w, std::byte* out) const {
    const int64_t image_piece = piece / channel_pieces_, channel_piece = piece % channel_pieces_;
    const int64_t image = image_piece * images_, channel = channel_piece * channels_;
    int64_t input = 0, output = 0, w_offset = 0;
    if (shape_.groups > 1) {
      input = channel * shape_.group_inputs();
      output = channel * shape_.group_outputs();
      w_offset = output * strides_.w[0];
    } else if (kind_ == ConvolutionKind::input_gradient) {
      input = channel;
      w_offset = input * strides_.w[1];
    } else {
      output = channel;
      w_offset = output * strides_.w[0];
    }
    const int64_t size = size_of(shape_.dtype);
    const size_t last_images = image_piece + 1 == image_pieces_ ? 1 : 0;
    const size_t last_channels = channel_piece + 1 == channel_pieces_ ? 2 : 0;
    prepared_[last_images + last_channels]->run(
        x + (image * strides_.x[0] + input * strides_.x[1]) * size, w + w_offset * size,
        out + (image * strides_.out[0] + output * strides_.out[1]) * size);
  }

  const ConvolutionKind kind_;
  const ConvolutionShape& shape_;
  const ConvolutionStrides strides_;
  int64_t images_, image_pieces_, channels_, channel_pieces_;
  // Index: (last images) + 2 · (last channels).
  std::array<std::shared_ptr<LibraryConvolution>, 4> prepared_;
};

// Convolution by Plait's own products: patches (im2col) are written block by block.
class PatchProducts {
 public:
  explicit PatchProducts(const ConvolutionShape& shape)
      : shape_(shape), size_(size_of(shape.dtype)), threads_(worthwhile_threads(shape)) {
    const int64_t most = kPatchBytes / std::max<int64_t>(shape.patch() * size_, 1);
    block_places_ = std::clamp<int64_t>(most / 32 * 32, 32, 512);
    blocks_ = quotient_up(shape.out_places(), block_places_);
  }

  // out[o, s] = w[o, r] · patches[r, s]
  void forward(const std::byte* x, const std::byte* w, std::byte* out) const {
    const int64_t units = shape_.images * shape_.groups * blocks_;
    const int64_t cuts =
        std::clamp<int64_t>(quotient_up(threads_, units), 1, shape_.group_outputs());
    const int64_t outputs = quotient_up(shape_.group_outputs(), cuts);
    each(units * cuts, [&](int64_t unit) {
      const int64_t first = unit % cuts * outputs;
      const int64_t count = std::min(outputs, shape_.group_outputs() - first);
      if (count <= 0) return;
      const int64_t group = unit / cuts / blocks_;  // counted over all images
      const PatchBlock block = block_at(unit / cuts % blocks_, 0, shape_.patch());
      const std::byte* channels = x + group * in_group_bytes();
      Buffer room;
      const Matrix patches = patches_of(channels, block, room);
      const Matrix weights =
          weights_of(w, group % shape_.groups).block(first, 0, count, shape_.patch(), size_);
      const TargetMatrix result =
          places_of(out, group).block(first, block.first_place, count, block.places, size_);
      blocked_product(shape_.dtype, weights, patches, result);
    });
  }

  // patches[r, s] = Σ_o w[o, r] · out[o, s], then col2im. Each unit has its own channels.
  void input_gradient(std::byte* x, const std::byte* w, const std::byte* out) const {
    const int64_t groups = shape_.images * shape_.groups;
    const int64_t cuts =
        std::clamp<int64_t>(quotient_up(threads_, groups), 1, shape_.group_inputs());
    const int64_t inputs = quotient_up(shape_.group_inputs(), cuts);
    each(groups * cuts, [&](int64_t unit) {
      const int64_t first = unit % cuts * inputs, group = unit / cuts;
      const int64_t count = std::min(inputs, shape_.group_inputs() - first);
      if (count <= 0) return;
      const int64_t rows = count * shape_.taps(), channel_bytes = shape_.in_places() * size_;
      std::byte* channels = x + group * in_group_bytes();
      std::memset(channels + first * channel_bytes, 0, static_cast<size_t>(count * channel_bytes));
      const Matrix weights = weights_of(w, group % shape_.groups).transposed();
      const Matrix gradient = places_of(out, group);
      const Buffer room = Buffer::allocate_work(rows * block_places_ * size_);
      for (int64_t i = 0; i < blocks_; ++i) {
        const PatchBlock block = block_at(i, first * shape_.taps(), rows);
        blocked_product(
            shape_.dtype, weights.block(block.first_row, 0, rows, shape_.group_outputs(), size_),
            gradient.block(0, block.first_place, shape_.group_outputs(), block.places, size_),
            {room.data(), rows, block.places, block.places, 1});
        scatter_patches(shape_, block, room.data(), channels);
      }
    });
  }

  // w[o, r] = Σ_images Σ_s out[o, s] · patches[r, s]. Each unit has its own rows r.
  void weight_gradient(const std::byte* x, std::byte* w, const std::byte* out) const {
    const int64_t cuts =
        std::clamp<int64_t>(quotient_up(threads_, shape_.groups), 1, shape_.patch());
    const int64_t rows_each = quotient_up(shape_.patch(), cuts);
    each(shape_.groups * cuts, [&](int64_t unit) {
      const int64_t group = unit / cuts, first = unit % cuts * rows_each;
      const int64_t rows = std::min(rows_each, shape_.patch() - first);
      if (rows <= 0) return;
      const Matrix whole = weights_of(w, group);
      const TargetMatrix target{w + (whole.data - w) + first * size_, whole.rows, rows,
                                shape_.patch(), 1};
      const Buffer room = Buffer::allocate_work(rows * block_places_ * size_);
      bool accumulates = false;
      for (int64_t image = 0; image < shape_.images; ++image) {
        for (int64_t i = 0; i < blocks_; ++i, accumulates = true) {
          const PatchBlock block = block_at(i, first, rows);
          const int64_t place = image * shape_.groups + group;
          gather_patches(shape_, block, x + place * in_group_bytes(), room.data());
          blocked_product(
              shape_.dtype,
              places_of(out, place).block(0, block.first_place, target.rows, block.places, size_),
              {room.data(), block.places, rows, 1, block.places}, target, accumulates);
        }
      }
      if (!accumulates) {
        blocked_product(shape_.dtype, {x, target.rows, 0, 0, 0}, {x, 0, rows, 0, 0}, target);
      }
    });
  }

 private:
  void each(int64_t units, FunctionRef<void(int64_t)> body) const {
    const int64_t work = std::max<int64_t>(shape_.work() / std::max<int64_t>(units, 1), 1);
    const int64_t grain = std::max<int64_t>(kThreadWork / work, 1);
    parallel_for(units, grain, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) body(unit);
    });
  }

  int64_t in_group_bytes() const { return shape_.group_inputs() * shape_.in_places() * size_; }
  PatchBlock block_at(int64_t index, int64_t first_row, int64_t rows) const {
    const int64_t first = index * block_places_;
    return {first_row, rows, first, std::min(block_places_, shape_.out_places() - first)};
  }
  Matrix weights_of(const std::byte* w, int64_t group) const {
    return {w + group * shape_.group_outputs() * shape_.patch() * size_, shape_.group_outputs(),
            shape_.patch(), shape_.patch(), 1};
  }
  // The result for a group, counted over all images: channels × positions.
  template <class Byte>
  MatrixOf<Byte> places_of(Byte* out, int64_t group) const {
    const int64_t places = shape_.out_places();
    return {out + group * shape_.group_outputs() * places * size_, shape_.group_outputs(), places,
            places, 1};
  }
  Matrix patches_of(const std::byte* channels, const PatchBlock& block, Buffer& room) const {
    if (shape_.is_pointwise()) {
      const int64_t places = shape_.out_places();
      return {channels + block.first_place * size_, block.rows, block.places, places, 1};
    }
    room = Buffer::allocate_work(block.rows * block.places * size_);
    gather_patches(shape_, block, channels, room.data());
    return {room.data(), block.rows, block.places, block.places, 1};
  }

  const ConvolutionShape& shape_;
  const int64_t size_, threads_;
  int64_t block_places_, blocks_;
};

// For few input channels, such as those of an image, the library's input gradient is several times
// slower than ours.
bool is_worth_library(ConvolutionKind kind, const ConvolutionShape& shape) {
  const bool gives_few =
      kind == ConvolutionKind::input_gradient && shape.groups == 1 && shape.inputs < kChannelUnit;
  return shape.work() >= kLibraryWork && !gives_few && library_has_convolution(shape);
}

bool all_positive(const Array& array) {
  return std::ranges::all_of(array.layout().strides, [](int64_t stride) { return stride > 0; });
}

// The three arrays; the one for the result is written, the others are only read.
struct Operands {
  Array x, w, out;
  ConvolutionKind kind;

  Array& result() {
    return kind == ConvolutionKind::forward ? out : kind == ConvolutionKind::input_gradient ? x : w;
  }
  void run(const LibraryPieces& pieces) {
    pieces.run(x.writable_data(), w.writable_data(), out.writable_data());
  }
};

// Runs PatchProducts, which needs contiguous arrays, and f32 for narrow floats.
void run_by_patches(Operands& operands, const ConvolutionShape& shape) {
  ConvolutionShape computed = shape;
  const bool is_narrow = is_floating(shape.dtype) && size_of(shape.dtype) == 2;
  if (is_narrow) computed.dtype = DType::f32;
  Array& result = operands.result();
  const bool is_direct = !is_narrow && result.is_contiguous();
  Operands dense = operands;
  for (Array* array : {&dense.x, &dense.w, &dense.out}) {
    if (array != &dense.result()) *array = array->converted(computed.dtype).contiguous();
  }
  if (!is_direct) dense.result() = Array::empty(computed.dtype, result.sizes());
  const PatchProducts products(computed);
  std::byte *x = dense.x.writable_data(), *w = dense.w.writable_data();
  std::byte* out = dense.out.writable_data();
  switch (operands.kind) {
    case ConvolutionKind::forward: products.forward(x, w, out); break;
    case ConvolutionKind::input_gradient: products.input_gradient(x, w, out); break;
    case ConvolutionKind::weight_gradient: products.weight_gradient(x, w, out); break;
  }
  if (!is_direct) copy_elements(dense.result().converted(shape.dtype), result);
}

// A convolution by kernels of one element is a product of matrices, without the library's changes
// of layouts. Products of few columns are slower than the library's convolutions.
bool is_worth_products(ConvolutionKind kind, const ConvolutionShape& shape) {
  constexpr int64_t kLeastColumns = 224;
  return is_floating(shape.dtype) && shape.groups == 1 && shape.is_pointwise() &&
         shape.work() >= kLibraryWork &&
         (kind == ConvolutionKind::weight_gradient || shape.out_places() >= kLeastColumns);
}

// Images as matrices [images][channels][places]. A copy if their places have no common stride.
Array as_matrices(const Array& images) {
  const Sizes& sizes = images.sizes();
  return images.reshaped({sizes[0], sizes[1], images.element_count() / (sizes[0] * sizes[1])});
}

void run_by_products(Operands& operands, const ConvolutionShape& shape) {
  const Array x = as_matrices(operands.x), out = as_matrices(operands.out);
  const Array w = operands.w.reshaped({shape.outputs, shape.inputs});
  const auto transposed = [](const Array& array) {
    return array.view(array.layout().transposed());
  };
  Array& result = operands.result();
  Array target = operands.kind == ConvolutionKind::forward          ? out
                 : operands.kind == ConvolutionKind::input_gradient ? x
                                                                    : w;
  switch (operands.kind) {
    case ConvolutionKind::forward: matmul(w, x, target); break;
    case ConvolutionKind::input_gradient: matmul(transposed(w), out, target); break;
    case ConvolutionKind::weight_gradient: {
      // One sum over the places of all images.
      const auto rows = [](const Array& matrices) {
        const Array channels_first = matrices.view(matrices.layout().permuted(Sizes{1, 0, 2}));
        return channels_first.reshaped({channels_first.sizes()[0], channels_first.element_count() /
                                                                       channels_first.sizes()[0]});
      };
      matmul(rows(out), transposed(rows(x)), target);
      break;
    }
  }
  if (target.buffer() != result.buffer()) copy_elements(target.reshaped(result.sizes()), result);
}

void run(Operands operands, const ConvolutionGeometry& geometry) {
  // Batching of zero samples makes zero groups.
  if (geometry.groups == 0 && operands.result().element_count() == 0) return;
  const ConvolutionShape shape = convolution_shape(operands.x, operands.w, operands.out, geometry);
  if (!has_product(shape.dtype)) {
    throw TypeError("convolution: products of {} are not supported", name_of(shape.dtype))
        .hint("convert to a wider dtype");
  }
  Array& result = operands.result();
  if (result.layout().repeats()) {
    throw ValueError("convolution: elements of the result share memory (a stride of 0)");
  }
  if (result.element_count() == 0) return;
  if (const int m = winograd_results(operands.kind, shape)) {
    if (winograd_convolution(operands.kind, shape, m, operands.x, operands.w, operands.out)) return;
  }
  if (is_worth_products(operands.kind, shape)) return run_by_products(operands, shape);
  if (is_worth_library(operands.kind, shape)) {
    Operands positive = operands;
    for (Array* array : {&positive.x, &positive.w, &positive.out}) {
      if (!all_positive(*array)) {
        *array =
            array == &positive.result() ? Array::empty(shape.dtype, array->sizes()) : array->copy();
      }
    }
    const LibraryPieces pieces(operands.kind, shape, positive.x, positive.w, positive.out);
    if (pieces.is_prepared()) {
      positive.run(pieces);
      if (positive.result().buffer() != result.buffer()) copy_elements(positive.result(), result);
      return;
    }
  }
  run_by_patches(operands, shape);
}

}  // namespace

void convolution(const Array& x, const Array& w, const ConvolutionGeometry& geometry, Array& out) {
  run({x, w, out, ConvolutionKind::forward}, geometry);
}

void convolution_input_gradient(const Array& out_gradient, const Array& w,
                                const ConvolutionGeometry& geometry, Array& x_gradient) {
  run({x_gradient, w, out_gradient, ConvolutionKind::input_gradient}, geometry);
}

void convolution_weight_gradient(const Array& x, const Array& out_gradient,
                                 const ConvolutionGeometry& geometry, Array& w_gradient) {
  run({x, w_gradient, out_gradient, ConvolutionKind::weight_gradient}, geometry);
}

}  // namespace plait
