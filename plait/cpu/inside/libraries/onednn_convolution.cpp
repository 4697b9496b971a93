// Convolutions by oneDNN, which chooses the layouts of its arrays; arrays in other layouts are
// reordered before and after.
#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "plait/core/hash.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/inside/system/recent_cache.h"
#include "plait/cpu/inside/libraries/library_convolution.h"
#include "plait/cpu/inside/libraries/onednn_engine.h"
#include "plait/tensor/memory/buffer.h"

namespace plait {
namespace {

using dnnl::memory;
using Dims = memory::dims;

constexpr size_t kCacheCapacity = 256;

struct Key {
  std::vector<int64_t> words;
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    return static_cast<size_t>(hash_bytes(std::as_bytes(std::span(key.words))));
  }
};

Key key_of(ConvolutionKind kind, const ConvolutionShape& shape, const ConvolutionStrides& strides) {
  Key key{{static_cast<int64_t>(kind), static_cast<int64_t>(shape.dtype), shape.rank, shape.images,
           shape.inputs, shape.outputs, shape.groups}};
  for (const auto& d : shape.spatial) {
    key.words.insert(key.words.end(), {d.in, d.kernel, d.out, d.stride, d.low, d.high, d.dilation});
  }
  for (const Sizes* list : {&strides.x, &strides.w, &strides.out}) {
    key.words.insert(key.words.end(), list->begin(), list->end());
  }
  return key;
}

// One of the three arrays, with the caller's layout and the one of the convolution.
struct Side {
  memory::desc given, wanted;
  std::shared_ptr<OnednnPrimitive> reorder;  // null if the layouts are the same

  int64_t bytes() const { return static_cast<int64_t>(wanted.get_size()); }
};

class OnednnConvolution : public LibraryConvolution {
 public:
  OnednnConvolution(std::shared_ptr<OnednnPrimitive> primitive, std::array<Side, 3> sides,
                    size_t result)
      : primitive_(std::move(primitive)), sides_(std::move(sides)), result_(result) {}

  void run(std::byte* x, std::byte* w, std::byte* out) override {
    std::byte* const given[] = {x, w, out};
    std::array<Buffer, 3> reordered;
    void* data[3];
    for (size_t i = 0; i < 3; ++i) {
      data[i] = given[i];
      if (!sides_[i].reorder) continue;
      reordered[i] = Buffer::allocate_work(sides_[i].bytes());
      data[i] = reordered[i].data();
      void* const arguments[] = {given[i], data[i]};
      if (i != result_) sides_[i].reorder->run(arguments);
    }
    primitive_->run(data);
    void* const arguments[] = {data[result_], given[result_]};
    if (sides_[result_].reorder) sides_[result_].reorder->run(arguments);
  }

 private:
  std::shared_ptr<OnednnPrimitive> primitive_;
  std::array<Side, 3> sides_;  // x, w, out
  size_t result_;
};

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

std::shared_ptr<OnednnPrimitive> reorder_of(const memory::desc& from, const memory::desc& to) {
  if (from == to) return nullptr;
  const dnnl::reorder::primitive_desc desc(onednn_engine(), from, onednn_engine(), to,
                                           user_scratchpad());
  return std::make_shared<OnednnPrimitive>(
      dnnl::reorder(desc), desc.scratchpad_desc(),
      std::vector<OnednnPrimitive::Argument>{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

// The kernel in oneDNN's form: groups are a separate dimension if there are several.
void set_kernel(const ConvolutionShape& shape, const Sizes& strides, Dims& sizes, Dims& steps) {
  sizes = {shape.group_outputs(), shape.group_inputs()};
  steps = {strides[0], strides[1]};
  if (shape.groups > 1) {
    sizes.insert(sizes.begin(), shape.groups);
    steps.insert(steps.begin(), strides[0] * shape.group_outputs());
  }
  steps.insert(steps.end(), strides.begin() + 2, strides.end());
}

struct Descriptions {
  std::array<memory::desc, 3> given, any;  // x, w, out
  Dims strides, dilations, low, high;
};

Descriptions describe(const ConvolutionShape& shape, const ConvolutionStrides& strides) {
  const auto type = *onednn_type(shape.dtype);
  Descriptions result;
  std::array<Dims, 3> sizes{Dims{shape.images, shape.inputs}, {}, {shape.images, shape.outputs}};
  std::array<Dims, 3> steps{
      Dims(strides.x.begin(), strides.x.end()), {}, Dims(strides.out.begin(), strides.out.end())};
  set_kernel(shape, strides.w, sizes[1], steps[1]);
  for (size_t i = 3 - static_cast<size_t>(shape.rank); i < 3; ++i) {
    const auto& d = shape.spatial[i];
    sizes[0].push_back(d.in);
    sizes[1].push_back(d.kernel);
    sizes[2].push_back(d.out);
    result.strides.push_back(d.stride);
    result.dilations.push_back(d.dilation - 1);
    result.low.push_back(d.low);
    result.high.push_back(d.high);
  }
  for (size_t i = 0; i < 3; ++i) {
    result.given[i] = memory::desc(sizes[i], type, steps[i]);
    result.any[i] = memory::desc(sizes[i], type, memory::format_tag::any);
  }
  return result;
}

template <class Desc, class Primitive>
std::shared_ptr<OnednnPrimitive> primitive_of(const Desc& desc, const std::array<int, 3>& names,
                                              const std::array<memory::desc, 3>& wanted) {
  if (std::string_view(desc.impl_info_str()).starts_with("ref")) return nullptr;
  return std::make_shared<OnednnPrimitive>(
      Primitive(desc), desc.scratchpad_desc(),
      std::vector<OnednnPrimitive::Argument>{
          {names[0], wanted[0]}, {names[1], wanted[1]}, {names[2], wanted[2]}});
}

std::shared_ptr<OnednnPrimitive> make_primitive(ConvolutionKind kind, const Descriptions& d,
                                                std::array<memory::desc, 3>& wanted) {
  using Forward = dnnl::convolution_forward;
  using ByInput = dnnl::convolution_backward_data;
  using ByWeight = dnnl::convolution_backward_weights;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  // For inference the library takes kernels and layouts that need up to three times as long
  // (version 2.6, AVX-512).
  constexpr auto kUse = dnnl::prop_kind::forward_training;
  const Forward::primitive_desc forward(
      {kUse, algorithm, d.any[0], d.any[1], d.any[2], d.strides, d.dilations, d.low, d.high},
      user_scratchpad(), onednn_engine());
  if (kind == ConvolutionKind::forward) {
    wanted = {forward.src_desc(), forward.weights_desc(), forward.dst_desc()};
    return primitive_of<Forward::primitive_desc, Forward>(
        forward, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}, wanted);
  }
  if (kind == ConvolutionKind::input_gradient) {
    const ByInput::primitive_desc desc(
        {algorithm, d.any[0], d.any[1], d.any[2], d.strides, d.dilations, d.low, d.high},
        user_scratchpad(), onednn_engine(), forward);
    wanted = {desc.diff_src_desc(), desc.weights_desc(), desc.diff_dst_desc()};
    return primitive_of<ByInput::primitive_desc, ByInput>(
        desc, {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST}, wanted);
  }
  const ByWeight::primitive_desc desc(
      {algorithm, d.any[0], d.any[1], d.any[2], d.strides, d.dilations, d.low, d.high},
      user_scratchpad(), onednn_engine(), forward);
  wanted = {desc.src_desc(), desc.diff_weights_desc(), desc.diff_dst_desc()};
  return primitive_of<ByWeight::primitive_desc, ByWeight>(
      desc, {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}, wanted);
}

std::shared_ptr<LibraryConvolution> make_convolution(ConvolutionKind kind,
                                                     const ConvolutionShape& shape,
                                                     const ConvolutionStrides& strides) {
  const size_t result = kind == ConvolutionKind::forward          ? 2
                        : kind == ConvolutionKind::input_gradient ? 0
                                                                  : 1;
  std::array<Side, 3> sides;
  const auto primitive = make_onednn_primitive([&]() -> std::shared_ptr<OnednnPrimitive> {
    const Descriptions descriptions = describe(shape, strides);
    std::array<memory::desc, 3> wanted;
    auto made = make_primitive(kind, descriptions, wanted);
    for (size_t i = 0; made && i < 3; ++i) {
      const memory::desc& given = descriptions.given[i];
      sides[i] = {given, wanted[i],
                  i == result ? reorder_of(wanted[i], given) : reorder_of(given, wanted[i])};
    }
    return made;
  });
  if (!primitive) return nullptr;
  return std::make_shared<OnednnConvolution>(primitive, std::move(sides), result);
}

}  // namespace

bool library_has_convolution(const ConvolutionShape& shape) {
  return onednn_type(shape.dtype).has_value() &&
         std::ranges::all_of(shape.spatial, [](const ConvolutionShape::Dimension& d) {
           return d.low >= 0 && d.high >= 0 && d.input_dilation == 1;
         });
}

std::shared_ptr<LibraryConvolution> library_convolution(ConvolutionKind kind,
                                                        const ConvolutionShape& shape,
                                                        const ConvolutionStrides& strides) {
  static Immortal<RecentCache<Key, LibraryConvolution, KeyHash>> cache(kCacheCapacity);
  return cache->find_or_make(key_of(kind, shape, strides),
                             [&](const Key&) { return make_convolution(kind, shape, strides); });
}

}  // namespace plait
