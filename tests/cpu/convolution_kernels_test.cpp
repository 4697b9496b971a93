#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/cpu/inside/convolutions/cpu_convolution.h"
#include "plait/cpu/inside/libraries/library_convolution.h"

#include "tests/cpu/product_reference.h"
#include "tests/support/threads.h"

namespace plait {
namespace {

struct Case {
  const char* name;
  Sizes x, w;
  ConvolutionGeometry geometry = {};
};

const std::vector<Case>& small_cases() {
  static const std::vector<Case> cases = {
      {"line", {2, 3, 9}, {4, 3, 3}},
      {"plane", {2, 3, 6, 7}, {4, 3, 3, 2}},
      {"space", {1, 2, 4, 5, 6}, {3, 2, 2, 3, 2}},
      {"pointwise", {2, 5, 3, 4}, {6, 5, 1, 1}},
      {"padded", {1, 2, 5, 5}, {3, 2, 3, 3}, {{}, {1, 2}, {0, 3}}},
      {"wide padding", {1, 1, 2, 3}, {2, 1, 2, 2}, {{}, {4, 3}, {5, 4}}},
      {"cut off", {1, 2, 8, 9}, {3, 2, 3, 3}, {{}, {-1, 0}, {-2, -1}}},
      {"strided", {2, 2, 9, 10}, {3, 2, 3, 3}, {{2, 3}, {1, 1}, {1, 1}}},
      {"dilated", {1, 2, 9, 10}, {3, 2, 3, 3}, {{}, {2, 1}, {2, 1}, {2, 3}}},
      {"input dilated", {1, 2, 4, 5}, {3, 2, 3, 3}, {{}, {2, 1}, {1, 2}, {}, {2, 3}}},
      {"all", {2, 4, 7, 8}, {6, 2, 3, 2}, {{2, 1}, {2, -1}, {1, 3}, {1, 2}, {2, 2}, 2}},
      {"groups", {2, 6, 5, 5}, {9, 2, 3, 3}, {{}, {1, 1}, {1, 1}, {}, {}, 3}},
      {"depthwise", {2, 4, 6, 6}, {8, 1, 3, 3}, {{2, 2}, {1, 1}, {1, 1}, {}, {}, 4}},
      {"one element", {1, 1, 1}, {1, 1, 1}},
      {"no images", {0, 2, 5}, {3, 2, 3}},
      {"no channels", {2, 0, 5}, {3, 0, 3}},
      {"no outputs", {2, 2, 5}, {0, 2, 3}},
      {"no places", {2, 2, 2}, {3, 2, 3}},
      {"no input", {1, 2, 0, 4}, {3, 2, 2, 2}, {{}, {2, 0}, {1, 0}}}};
  return cases;
}

// Large enough for the library, and for several threads.
const std::vector<Case>& large_cases() {
  static const std::vector<Case> cases = {
      {"plane", {3, 16, 20, 18}, {40, 16, 3, 3}, {{}, {1, 1}, {1, 1}}},
      {"strided", {2, 3, 32, 32}, {24, 3, 7, 7}, {{2, 2}, {3, 3}, {2, 3}}},
      {"one image", {1, 32, 14, 14}, {40, 32, 3, 3}, {{}, {1, 0}, {0, 1}}},
      {"pointwise", {2, 40, 15, 13}, {50, 40, 1, 1}},
      {"pointwise by products", {3, 20, 16, 15}, {24, 20, 1, 1}},
      {"line", {2, 20, 300}, {33, 20, 5}, {{}, {2}, {2}, {2}}},
      {"space", {2, 8, 9, 10, 8}, {16, 8, 3, 3, 3}, {{}, {1, 1, 1}, {1, 1, 1}}},
      {"groups", {2, 32, 14, 14}, {48, 8, 3, 3}, {{}, {1, 1}, {1, 1}, {}, {}, 4}},
      {"depthwise", {2, 64, 24, 24}, {64, 1, 3, 3}, {{}, {1, 1}, {1, 1}, {}, {}, 64}},
      {"patches", {3, 3, 32, 32}, {64, 3, 8, 8}, {{8, 8}}},
      {"input dilated", {1, 16, 10, 10}, {24, 16, 3, 3}, {{}, {1, 1}, {2, 2}, {}, {2, 2}}}};
  return cases;
}

int64_t or_one(const Sizes& list, size_t axis) { return list.empty() ? 1 : list[axis]; }

// Calls visit(index in x, in w, in out), with flat row-major indices, for all products.
template <class Visit>
void visit_products(const Case& c, const Sizes& out, const Visit& visit) {
  const ConvolutionGeometry& g = c.geometry;
  const size_t rank = c.x.size() - 2;
  const int64_t group_inputs = c.w[1], group_outputs = c.w[0] / g.groups;
  Sizes places(std::span(out.data() + 2, rank)), taps(std::span(c.w.data() + 2, rank));
  const int64_t place_count = element_count_of(places), tap_count = element_count_of(taps);
  for (int64_t image = 0; image < c.x[0]; ++image) {
    for (int64_t place = 0; place < place_count; ++place) {
      for (int64_t tap = 0; tap < tap_count; ++tap) {
        int64_t in = 0, in_count = 1, rest_place = place, rest_tap = tap;
        bool meets = true;
        for (size_t i = rank; i-- > 0;) {
          const int64_t dilation = or_one(g.input_dilation, i);
          const int64_t low = g.padding_low.empty() ? 0 : g.padding_low[i];
          const int64_t at = rest_place % places[i] * or_one(g.strides, i) +
                             rest_tap % taps[i] * or_one(g.dilation, i) - low;
          meets = meets && at >= 0 && at % dilation == 0 && at / dilation < c.x[i + 2];
          in += at / dilation * in_count;
          in_count *= c.x[i + 2];
          rest_place /= places[i];
          rest_tap /= taps[i];
        }
        for (int64_t output = 0; meets && output < c.w[0]; ++output) {
          for (int64_t i = 0; i < group_inputs; ++i) {
            const int64_t input = output / group_outputs * group_inputs + i;
            visit((image * c.x[1] + input) * in_count + in,
                  (output * group_inputs + i) * tap_count + tap,
                  (image * c.w[0] + output) * place_count + place);
          }
        }
      }
    }
  }
}

void expect_sums(const Array& actual, const std::vector<ReferenceSum>& sums,
                 const std::string& where) {
  const Array dense = actual.contiguous();
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto offset = static_cast<int64_t>(i) * dense.element_size();
    expect_sum(load_element(dense.dtype(), dense.data() + offset), sums[i],
               fmt::format("{} element {}", where, i));
    if (testing::Test::HasFatalFailure()) return;
  }
}

struct Sums {
  std::vector<ReferenceSum> x, w, out;
};

// The three expected results; x, w and out are contiguous.
Sums reference(const Case& c, const Array& x, const Array& w, const Array& out) {
  const auto zeros = [&](const Array& array) {
    return std::vector(static_cast<size_t>(array.element_count()),
                       ReferenceSum{.dtype = x.dtype()});
  };
  const auto elements = [](const Array& array) {
    std::vector<Element> list;
    for (int64_t i = 0; i < array.element_count(); ++i) {
      list.push_back(load_element(array.dtype(), array.data() + i * array.element_size()));
    }
    return list;
  };
  Sums sums{zeros(x), zeros(w), zeros(out)};
  const auto in_x = elements(x), in_w = elements(w), in_out = elements(out);
  visit_products(c, out.sizes(), [&](int64_t x_at, int64_t w_at, int64_t out_at) {
    const auto i = static_cast<size_t>(x_at), j = static_cast<size_t>(w_at);
    const auto k = static_cast<size_t>(out_at);
    sums.out[k].add_product(in_x[i], in_w[j]);
    sums.x[i].add_product(in_out[k], in_w[j]);
    sums.w[j].add_product(in_out[k], in_x[i]);
  });
  return sums;
}

void try_case(const Case& c, DType dtype, Order order, const std::vector<int>& thread_counts) {
  const Array x = random_array(dtype, c.x, 1), w = random_array(dtype, c.w, 2);
  const Sizes out_sizes = convolution_sizes(c.x, c.w, c.geometry);
  const Array gradient = random_array(dtype, out_sizes, 3);
  const Sums sums = reference(c, x, w, gradient);
  const Array given_x = reordered(x, order), given_w = reordered(w, order);
  const Array given_gradient = reordered(gradient, order);
  for (const int count : thread_counts) {
    const Threads threads(count);
    const std::string where = fmt::format("{} {}, {} threads, order {}: ", name_of(dtype), c.name,
                                          count, static_cast<int>(order));
    Array out = reordered(gradient, order), x_gradient = reordered(x, order);
    Array w_gradient = reordered(w, order);
    convolution(given_x, given_w, c.geometry, out);
    expect_sums(out, sums.out, where + "result");
    convolution_input_gradient(given_gradient, given_w, c.geometry, x_gradient);
    expect_sums(x_gradient, sums.x, where + "gradient of the input");
    convolution_weight_gradient(given_x, given_gradient, c.geometry, w_gradient);
    expect_sums(w_gradient, sums.w, where + "gradient of the kernel");
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Convolution, EveryDTypeAndGeometry) {
  for (const DType dtype : kProductDTypes) {
    for (const Case& c : small_cases()) {
      try_case(c, dtype, Order::rows, {1, 2});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Convolution, EveryLayout) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i8, DType::c64}) {
    for (const Case& c : small_cases()) {
      for (const Order order : {Order::columns, Order::backwards, Order::gaps}) {
        try_case(c, dtype, order, {2});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Convolution, Large) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32}) {
    for (const Case& c : large_cases()) {
      try_case(c, dtype, Order::rows, {1, 2, 3});
      if (HasFatalFailure()) return;
    }
  }
  for (const Order order : kOrders) {
    try_case(large_cases()[0], DType::f32, order, {2});
    try_case(large_cases()[4], DType::f32, order, {2});
    try_case(large_cases()[7], DType::bf16, order, {2});
  }
}

TEST(Convolution, RunsInManyHostThreads) {
  const Threads team(2);
  std::vector<std::thread> hosts;
  for (size_t host = 0; host < 6; ++host) {
    hosts.emplace_back([host] {
      const Case& c = large_cases()[host % 3 * 2];
      const Array x = random_array(DType::f32, c.x, 1), w = random_array(DType::f32, c.w, 2);
      Array first = Array::empty(DType::f32, convolution_sizes(c.x, c.w, c.geometry));
      Array again = first.copy();
      convolution(x, w, c.geometry, first);
      for (int i = 0; i < 10; ++i) {
        convolution(x, w, c.geometry, again);
        const auto a = first.elements<float>(), b = again.elements<float>();
        EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
      }
    });
  }
  for (std::thread& host : hosts) host.join();
}

TEST(Convolution, RefusesWhatDoesNotFit) {
  const auto sizes = [](const Sizes& x, const Sizes& w, const ConvolutionGeometry& geometry) {
    return convolution_sizes(x, w, geometry);
  };
  EXPECT_EQ(sizes({2, 3, 8, 8}, {4, 3, 3, 3}, {{2, 2}, {1, 1}, {1, 1}}), (Sizes{2, 4, 4, 4}));
  EXPECT_EQ(sizes({2, 3, 2}, {4, 3, 3}, {}), (Sizes{2, 4, 0}));
  EXPECT_THROW(sizes({2, 3}, {4, 3}, {}), ShapeError);
  EXPECT_THROW(sizes({2, 3, 8, 8}, {4, 3, 3}, {}), ShapeError);
  EXPECT_THROW(sizes({2, 3, 2, 2, 2, 2}, {4, 3, 1, 1, 1, 1}, {}), ShapeError);
  EXPECT_THROW(sizes({2, 3, 8}, {4, 2, 3}, {}), ShapeError);
  EXPECT_THROW(sizes({2, 3, 8}, {4, 3, 0}, {}), ShapeError);
  EXPECT_THROW(sizes({2, 4, 8}, {3, 2, 3}, {.groups = 2}), ShapeError);
  EXPECT_THROW(sizes({2, 4, 8}, {4, 4, 3}, {.groups = 0}), ShapeError);
  EXPECT_THROW(sizes({2, 3, 8}, {4, 3, 3}, {.strides = {1, 1}}), ShapeError);
  EXPECT_THROW(sizes({2, 3, 8}, {4, 3, 3}, {.strides = {0}}), ValueError);
  EXPECT_THROW(sizes({2, 3, 8}, {4, 3, 3}, {.dilation = {-1}}), ValueError);
  EXPECT_THROW(sizes({2, 3, 8}, {4, 3, 3}, {.input_dilation = {0}}), ValueError);
  EXPECT_THROW(sizes({2, 3, 8}, {4, 3, 3}, {.dilation = {int64_t{1} << 62}}), ValueError);
  EXPECT_THROW(sizes({2, 3, 8}, {4, 3, 3}, {.padding_low = {INT64_MIN}}), ValueError);

  const Array x = random_array(DType::f32, {1, 2, 5}, 1),
              w = random_array(DType::f32, {3, 2, 3}, 2);
  Array wrong_size = Array::empty(DType::f32, {1, 3, 4});
  EXPECT_THROW(convolution(x, w, {}, wrong_size), ShapeError);
  Array wrong_dtype = Array::empty(DType::f64, {1, 3, 3});
  EXPECT_THROW(convolution(x, w, {}, wrong_dtype), TypeError);
  Array repeated = Array::empty(DType::f32, {1, 1, 3});
  repeated = repeated.view(repeated.layout().broadcast_to(Sizes{1, 3, 3}));
  EXPECT_THROW(convolution(x, w, {}, repeated), ValueError);
  Array narrow = Array::empty(DType::f8e4m3, {1, 3, 3});
  EXPECT_THROW(convolution(Array::empty(DType::f8e4m3, {1, 2, 5}),
                           Array::empty(DType::f8e4m3, {3, 2, 3}), {}, narrow),
               TypeError);
}

}  // namespace
}  // namespace plait
