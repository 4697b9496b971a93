// Each elementwise primitive on the emulated device, for each of its dtypes. PLAIT_TEST_ALL=1 tries
// all dtypes; else each primitive has one.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "plait/ops/inside/primitives.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/device_calls.h"
#include "plait/tensor/kernels.h"

#include "tests/cuda/cuda_support.h"

namespace plait::cuda_test::elementwise {
namespace {

class CudaElementwise : public CudaTest {};

bool takes_all_dtypes() { return std::getenv("PLAIT_TEST_ALL") != nullptr; }

// All that the primitive takes, or one of them, in turn by its number.
std::vector<DType> dtypes_of(const ir::Primitive& primitive) {
  std::vector<DType> all;
  for (const DTypeInfo& info : kDTypes) {
    if (primitive.takes.contains(info.dtype) && info.kind != DTypeKind::key) {
      all.push_back(info.dtype);
    }
  }
  if (takes_all_dtypes()) return all;
  return {all[primitive.number % all.size()]};
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Numbers in the primitive's domain, then special ones.
Array operand_of(const ir::Primitive& primitive, DType dtype, size_t operand, int64_t count) {
  const ir::Range range = primitive.numerics.domain.of_operand(operand);
  const double specials[] = {0, -0.0, 1, -1, kInfinity, -kInfinity, std::nan(""), 0.5, 2, -2.5, 3};
  constexpr int64_t kSpecials = std::size(specials);
  Array array = Array::empty(dtype, {count});
  for (int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<double>((i * (7 + 4 * static_cast<int64_t>(operand))) % 37) / 37;
    const int64_t special = operand == 0 ? i % kSpecials : i / kSpecials % kSpecials;
    const bool is_special = i >= 37 && !is_complex(dtype);
    const double number =
        is_special ? specials[special] : range.low + place * (range.high - range.low);
    const Element element =
        is_complex(dtype)    ? Element::of(std::complex<double>(number, place - 0.4))
        : is_floating(dtype) ? Element::of(number)
        : i % 5 == 0         ? Element::of_signed(i % 10 == 0 ? std::numeric_limits<int64_t>::min()
                                                              : std::numeric_limits<int64_t>::max())
        : is_integer(dtype)  ? Element::of_signed((i * 5 + static_cast<int64_t>(operand) * 3) % 23 -
                                                  (is_signed(dtype) ? 9 : 0))
                             : Element::of((i + static_cast<int64_t>(operand)) % 3 == 0);
    store_element(dtype, element, array.writable_data() + i * array.element_size());
  }
  return array;
}

// In units in the last place.
double tolerance_of(const ir::Primitive& primitive, DType dtype) {
  switch (primitive.numerics.accuracy) {
    case ir::Accuracy::exact: return 0;
    case ir::Accuracy::rounded: return is_complex(dtype) ? 8 : 1;
    case ir::Accuracy::twice: return 4;
    default: break;
  }
  const bool is_double = real_dtype(dtype) == DType::f64;
  return size_of(dtype) < 4 ? 2 : is_double ? 64 : 4;
}

void try_primitive(const ir::Primitive& primitive, DType dtype) {
  const std::string what = fmt::format("{} of {}", primitive.name, name_of(dtype));
  std::vector<Tensor> here, there;
  for (size_t i = 0; i < primitive.operands.least; ++i) {
    const bool is_condition = primitive.name == "select" && i == 0;
    const Array operand = operand_of(primitive, is_condition ? DType::boolean : dtype, i, 160);
    here.emplace_back(operand);
    there.emplace_back(operand.on(kDevice));
  }
  const Tensor expected = plait::apply(primitive, here), actual = plait::apply(primitive, there);
  EXPECT_EQ(actual.array().device(), kDevice) << what;
  const bool is_double = real_dtype(dtype) == DType::f64;
  expect_close(actual.array(), expected.array(), tolerance_of(primitive, dtype), what,
               primitive.numerics.accuracy == ir::Accuracy::special && is_double ? 64 : 0);
}

TEST_F(CudaElementwise, EachPrimitive) {
  register_all();
  std::string on_host;
  for (const ir::Primitive* primitive : ir::primitives()) {
    if (primitive->elementwise == ir::Elementwise::no) continue;
    for (const DType dtype : dtypes_of(*primitive)) {
      try_primitive(*primitive, dtype);
      if (HasFatalFailure()) return;
    }
  }
  for (const HostCalls& calls : host_calls()) on_host += calls.primitive->name + " ";
  RecordProperty("computed_by_the_host", on_host);
  std::printf("computed by the host, for some dtype: %s\n", on_host.c_str());
}

TEST_F(CudaElementwise, EachConversion) {
  for (const DTypeInfo& from : kDTypes) {
    if (from.kind == DTypeKind::key) continue;
    for (const DTypeInfo& to : kDTypes) {
      const auto number = static_cast<int>(from.dtype) * 5 + static_cast<int>(to.dtype);
      if (to.kind == DTypeKind::key || from.dtype == to.dtype) continue;
      if (!takes_all_dtypes() && number % 9 != 0) continue;
      const Array x = operand_of(convert_primitive(), from.dtype, 0, 160);
      Array result = Array::empty_on(kDevice, to.dtype, x.sizes());
      Array there = x.on(kDevice);
      std::vector<ArrayType> types = {{to.dtype, x.sizes()}};
      std::vector<Array> results(1);
      const ir::Attributes none;
      KernelCall call{convert_primitive(), {&there, 1}, none, types, results, kDevice};
      run_on_device(call);
      expect_close(results[0], x.converted(to.dtype), 0,
                   fmt::format("{} to {}", from.name, to.name));
    }
  }
}

Tensor added(const Array& a, const Array& b) {
  return plait::apply(add_primitive(), {Tensor(a), Tensor(b)});
}

TEST_F(CudaElementwise, SizesAndAlignment) {
  for (const int64_t size : {0, 1, 3, 4, 5, 1023, 1024, 4099}) {
    for (const int64_t offset : {0, 1, 4}) {
      const Array a = numbers(DType::f32, {size + offset}, 1), b = numbers(DType::f32, {size}, 2);
      const auto tail = [&](const Array& x) {
        return x.view(x.layout().sliced(0, Slice{.start = offset}));
      };
      expect_same(added(tail(a.on(kDevice)), b.on(kDevice)).array(), added(tail(a), b).array(),
                  fmt::format("{} from {}", size, offset));
    }
  }
}

TEST_F(CudaElementwise, LayoutsOfOperands) {
  const Array x = numbers(DType::i32, {12, 20}), row = numbers(DType::i32, {1, 20}),
              column = numbers(DType::i32, {12, 1}), y = numbers(DType::i32, {20, 12}),
              deep = numbers(DType::i32, {4, 3, 5, 4});
  const auto broadcast = [&](const Array& a) {
    return a.view(a.layout().broadcast_to(std::vector<int64_t>{12, 20}));
  };
  const auto turned = [](const Array& a) {
    return a.view(a.layout().permuted(std::vector<int64_t>{1, 0}));
  };
  const auto back = [](const Array& a) { return a.view(a.layout().reversed(1)); };
  const auto mixed = [](const Array& a) {
    return a.view(a.layout().permuted(std::vector<int64_t>{2, 0, 3, 1}));
  };
  const auto there = [](const Array& a) { return a.on(kDevice); };
  expect_same(added(there(x), broadcast(there(row))).array(), added(x, broadcast(row)).array(),
              "row");
  expect_same(added(broadcast(there(column)), there(x)).array(),
              added(broadcast(column), x).array(), "column");
  expect_same(added(there(x), turned(there(y))).array(), added(x, turned(y)).array(), "transposed");
  expect_same(added(back(there(x)), there(x)).array(), added(back(x), x).array(), "reversed");
  expect_same(added(mixed(there(deep)), mixed(there(deep))).array(),
              added(mixed(deep), mixed(deep)).array(), "permuted");
  const Array one = Array::of(int32_t{7});
  const Array all = one.view(one.layout().broadcast_to(std::vector<int64_t>{12, 20}));
  expect_same(added(there(x), all).array(), added(x, all).array(), "a number of the host");
  expect_same(added(there(one), there(one)).array(), added(one, one).array(), "rank 0");
}

TEST_F(CudaElementwise, Copies) {
  for (const DType dtype : {DType::boolean, DType::f16, DType::f32, DType::f64, DType::c128}) {
    const Array x = numbers(dtype, {7, 9});
    const auto turned = [](const Array& a) {
      return a.view(a.layout().permuted(std::vector<int64_t>{1, 0}));
    };
    expect_same(turned(x.on(kDevice)).contiguous(), turned(x).contiguous(), "transposed");
    Array whole = x.on(kDevice);
    Array part = turned(whole);
    const Array y = numbers(dtype, {9, 7}, 3);
    copy_elements(y.on(kDevice), part);
    expect_same(turned(whole), y, "into a view");
    copy_elements(x.view(turned(x).layout()), part);
    expect_same(whole, x, "from the host into a view");
    expect_same(Array::filled_on(kDevice, dtype, {5, 3}, Element::of(true)),
                Array::filled(dtype, {5, 3}, Element::of(true)), "filled");
  }
}

TEST_F(CudaElementwise, TransposedCopies) {
  for (const DType dtype : {DType::u8, DType::f32, DType::c128}) {
    const Array x = numbers(dtype, {3, 45, 2, 70});
    for (const std::vector<int64_t>& order :
         {std::vector<int64_t>{0, 3, 2, 1}, {3, 2, 1, 0}, {2, 0, 3, 1}}) {
      const auto turned = [&](const Array& a) { return a.view(a.layout().permuted(order)); };
      expect_same(turned(x.on(kDevice)).contiguous(), turned(x).contiguous(), text_of_sizes(order));
    }
  }
}

TEST_F(CudaElementwise, OrdersGiveTheSameBits) {
  const Array x = numbers(DType::f32, {70, 33}).on(kDevice),
              y = numbers(DType::f32, {33}).on(kDevice);
  const Array row = y.view(y.layout().broadcast_to(std::vector<int64_t>{70, 33}));
  const Array first = added(x, row).array().on_host();
  set_order(1);
  expect_same(added(x, row).array(), first, "reversed");
  set_order(0);
}

}  // namespace
}  // namespace plait::cuda_test::elementwise
