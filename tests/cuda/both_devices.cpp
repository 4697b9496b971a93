#include "tests/cuda/both_devices.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "plait/core/device.h"
#include "plait/ir/primitive.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/device_calls.h"
#include "plait/tensor/inside/memory/layout_extent.h"

namespace plait {
namespace {

int64_t host_calls_of(const ir::Primitive& primitive) {
  for (const HostCalls& each : host_calls()) {
    if (each.primitive == &primitive) return each.count;
  }
  return 0;
}

std::vector<Array> applied(const ir::Primitive& primitive, const std::vector<Array>& operands,
                           const ir::Attributes& attributes) {
  const std::vector<Tensor> tensors(operands.begin(), operands.end());
  std::vector<Array> results;
  for (const Tensor& each : apply_all(primitive, tensors, attributes)) {
    results.push_back(each.array());
  }
  return results;
}

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::string short_text(const Array& a) { return a.element_count() < 200 ? text_of(a) : "(long)"; }

}  // namespace

void BothDevices::TearDown() {
  if (!IsSkipped()) set_order(0);
  CudaTest::TearDown();
}

// A view there with the same strides.
Array BothDevices::on_device(const Array& operand) const {
  if (operand.is_contiguous() || operand.element_count() == 0) return operand.on(there);
  const LayoutExtent extent = extent_of(operand.layout());
  Layout whole = Layout::contiguous({extent.count()});
  whole.offset = extent.least;
  Layout layout = operand.layout();
  layout.offset -= extent.least;
  return operand.view(whole).on(there).view(layout);
}

BothDevices::Results BothDevices::run(const ir::Primitive& primitive,
                                      const std::vector<Array>& operands,
                                      const ir::Attributes& attributes) {
  Results results;
  results.host = applied(primitive, operands, attributes);
  std::vector<Array> moved;
  for (const Array& operand : operands) {
    if (operand.dtype() == DType::key) {
      moved.push_back(operand);
      continue;
    }
    moved.push_back(on_device(operand));
  }
  const int64_t before = host_calls_of(primitive);
  const DeviceScope scope(there);
  for (const Array& result : applied(primitive, moved, attributes)) {
    EXPECT_TRUE(result.dtype() == DType::key || result.device() == there) << primitive.name;
    results.device.push_back(result.on_host());
  }
  EXPECT_EQ(host_calls_of(primitive), before) << primitive.name << " was computed by the host";
  return results;
}

void BothDevices::expect_same(const ir::Primitive& primitive, const std::vector<Array>& operands,
                              const ir::Attributes& attributes, const std::string& name) {
  for (const int order : {0, 3}) {
    set_order(order);
    const Results results = run(primitive, operands, attributes);
    ASSERT_EQ(results.host.size(), results.device.size());
    for (size_t i = 0; i < results.host.size(); ++i) {
      const Array &host = results.host[i], &device = results.device[i];
      EXPECT_TRUE(same_bits(host, device))
          << primitive.name << " " << name << ", result " << i << ", order " << order << ": "
          << short_text(device) << "\n, expected " << short_text(host);
    }
    EXPECT_EQ(findings(), "") << primitive.name << " " << name;
    if (HasFailure()) return;
  }
}

void BothDevices::expect_near(const ir::Primitive& primitive, const std::vector<Array>& operands,
                              const ir::Attributes& attributes, double ulps,
                              const std::string& name) {
  std::vector<Array> first;
  for (const int order : {0, 3}) {
    set_order(order);
    const Results results = run(primitive, operands, attributes);
    ASSERT_EQ(results.host.size(), results.device.size());
    for (size_t i = 0; i < results.host.size(); ++i) {
      const DType dtype = results.host[i].dtype();
      ASSERT_EQ(dtype, results.device[i].dtype());
      ASSERT_EQ(results.host[i].sizes(), results.device[i].sizes());
      EXPECT_TRUE(order == 0 || same_bits(first[i], results.device[i])) << name;
      const DType wide = is_complex(dtype) ? DType::c128 : DType::f64;
      const Array host = results.host[i].contiguous().converted(wide);
      const Array device = results.device[i].contiguous().converted(wide);
      const auto* a = reinterpret_cast<const double*>(host.data());
      const auto* b = reinterpret_cast<const double*>(device.data());
      const double epsilon = float_limits(dtype).epsilon;
      for (int64_t k = 0; k < host.element_count() * (is_complex(dtype) ? 2 : 1); ++k) {
        if (std::isnan(a[k]) && std::isnan(b[k])) continue;
        const double size = std::max(std::abs(a[k]), float_limits(dtype).smallest_normal);
        const bool is_near = a[k] == b[k] || std::abs(a[k] - b[k]) <= ulps * epsilon * size;
        ASSERT_TRUE(is_near) << primitive.name << " " << name << " at " << k << ": " << b[k]
                             << ", expected " << a[k];
      }
    }
    first = results.device;
    EXPECT_EQ(findings(), "") << primitive.name << " " << name;
  }
}

Array assorted(DType dtype, const Sizes& sizes, int64_t seed, bool finite) {
  Array wide = Array::empty(is_complex(dtype) ? DType::c128 : DType::f64, sizes);
  auto* const numbers = reinterpret_cast<double*>(wide.writable_data());
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (int64_t i = 0; i < wide.element_count() * (is_complex(dtype) ? 2 : 1); ++i) {
    const uint64_t r = mixed(static_cast<uint64_t>(seed * 1000003 + i));
    const auto small = static_cast<double>(static_cast<int64_t>(r >> 8 & 31) - 15);
    numbers[i] = r % 3 == 0 ? small : small / 8;
    if (finite || !is_inexact(dtype)) continue;
    if (r % 41 == 1) numbers[i] = -0.;
    if (r % 41 == 2) numbers[i] = 0.;
    if (r % 97 == 3) numbers[i] = nan;
    if (r % 97 == 4) numbers[i] = r % 2 == 0 ? inf : -inf;
  }
  if (dtype == DType::boolean) {
    Array truths = Array::empty(dtype, sizes);
    for (int64_t i = 0; i < truths.element_count(); ++i) {
      reinterpret_cast<bool*>(truths.writable_data())[i] =
          mixed(static_cast<uint64_t>(seed * 7 + i)) % 2 == 0;
    }
    return truths;
  }
  if (dtype == DType::u64 || dtype == DType::i64) {
    Array whole = Array::empty(dtype, sizes);
    for (int64_t i = 0; i < whole.element_count(); ++i) {
      const uint64_t r = mixed(static_cast<uint64_t>(seed * 11 + i));
      reinterpret_cast<uint64_t*>(whole.writable_data())[i] = r % 3 == 0 ? r : r % 23 - 11;
    }
    return whole;
  }
  return wide.converted(dtype);
}

Array indices_between(DType dtype, const Sizes& sizes, int64_t least, int64_t end, int64_t seed) {
  Array numbers = Array::empty(DType::i64, sizes);
  for (int64_t i = 0; i < numbers.element_count(); ++i) {
    const uint64_t r = mixed(static_cast<uint64_t>(seed * 77777 + i));
    numbers.writable_elements<int64_t>()[static_cast<size_t>(i)] =
        least + static_cast<int64_t>(r % static_cast<uint64_t>(end - least));
  }
  return numbers.converted(dtype);
}

Array permuted(const Array& x, const std::vector<int64_t>& axes) {
  return x.view(x.layout().permuted(axes));
}

Array stepped(const Array& x, int64_t axis, int64_t step) {
  return x.view(x.layout().sliced(axis, Slice{1, std::nullopt, step}));
}

bool same_bits(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  if (a.element_count() == 0) return true;
  const Array left = a.contiguous(), right = b.contiguous();
  return std::memcmp(left.data(), right.data(),
                     static_cast<size_t>(a.element_count() * a.element_size())) == 0;
}

}  // namespace plait
