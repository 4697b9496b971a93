// Compiled operations compute the same bits as the eager loops, at every level.
#include <cstdint>
#include <map>

#include "tests/cpu/nest_support.h"

namespace plait::nest_test {
namespace {

constexpr DType kHeld[] = {DType::f64, DType::f32, DType::f16,    DType::bf16, DType::i8,
                           DType::i16, DType::i32, DType::i64,    DType::u8,   DType::u16,
                           DType::u32, DType::u64, DType::boolean};

// Special values of any dtype.
std::vector<double> unusual_numbers() {
  std::vector<double> numbers = elementwise_test::special_values<double>();
  for (const double x : elementwise_test::special_values<float>()) numbers.push_back(x);
  for (const double x :
       {5.96e-8, 6.1e-5,  65504.0, 65520.0, 70000.0,      127.0,        128.0,        255.0,
        256.0,   32767.0, 32768.0, 65535.0, 2147483647.0, 2147483648.0, 4294967295.0, 9.2e18,
        9.3e18,  1.8e19,  1.9e19,  8191.5,  9000.0,       33.0,         0.3,          20.7}) {
    numbers.push_back(x);
    numbers.push_back(-x);
  }
  return numbers;
}

// Special values, numbers of moderate size, and random bits; a function of the seed.
Elements elements_of(DType dtype, size_t count, unsigned seed) {
  Elements result(dtype, count);
  const std::vector<double> unusual = unusual_numbers();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> middling(-5, 5);
  for (size_t i = 0; i < count; ++i) {
    std::byte* to = result.data() + i * result.size();
    const uint64_t bits = random();
    const auto kind = bits >> 61;
    if (is_boolean(dtype)) {
      *to = std::byte{static_cast<uint8_t>(bits & 1)};
    } else if (kind < 3) {
      store_element(dtype, Element::of(unusual[bits % unusual.size()]), to);
    } else if (kind < 6) {
      store_element(dtype, Element::of(middling(random)), to);
    } else {
      std::memcpy(to, &bits, result.size());
    }
  }
  return result;
}

bool is_nan(const Elements& elements, size_t i) {
  return is_floating(elements.dtype()) && std::isnan(elements.element(i).number.real());
}

// Equal bits; any two NaNs are equal.
bool alike(const Elements& a, const Elements& b, size_t i) {
  if (is_nan(a, i)) return is_nan(b, i);
  return std::memcmp(a.data() + i * a.size(), b.data() + i * b.size(), a.size()) == 0;
}

struct Case {
  const ir::Primitive* primitive;
  DType dtype, result;
  Nest nest;
};

std::vector<DType> operand_dtypes(const ir::Primitive& primitive, DType dtype) {
  std::vector<DType> dtypes(primitive.operands.least, dtype);
  if (primitive.name == "select") dtypes[0] = DType::boolean;
  return dtypes;
}

Nest nest_of(const ir::Primitive& primitive, DType dtype) {
  NestMaker maker({}, Dim::symbol("n"));
  std::vector<uint32_t> operands;
  for (const DType each : operand_dtypes(primitive, dtype))
    operands.push_back(maker.load(each, {1}));
  maker.result(maker.compute(primitive.name.c_str(), operands), {1});
  return maker.nest;
}

// Every elementwise primitive for the dtypes that are tested, except for those that only mark their
// operand.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const ir::Primitive* primitive : ir::primitives()) {
    if (primitive->elementwise == ir::Elementwise::no) continue;
    for (const DType dtype : kHeld) {
      if (!primitive->takes.contains(dtype)) continue;
      if (find_elementwise_loop(primitive->name, dtype) == nullptr) continue;
      cases.push_back({primitive, dtype, ir::elementwise_result(primitive->elementwise, dtype),
                       nest_of(*primitive, dtype)});
    }
  }
  return cases;
}

void check(const Case& each, const CompiledNest& code, size_t count) {
  std::vector<Elements> operands;
  std::vector<const Elements*> parameters;
  std::vector<const std::byte*> in;
  std::vector<int64_t> strides;
  unsigned seed = 1;
  for (const DType dtype : operand_dtypes(*each.primitive, each.dtype)) {
    operands.push_back(elements_of(dtype, count, seed++));
  }
  for (const Elements& operand : operands) {
    parameters.push_back(&operand);
    in.push_back(operand.data());
    strides.push_back(static_cast<int64_t>(operand.size()));
  }
  Elements result(each.result, count), expected(each.result, count);
  find_elementwise_loop(each.primitive->name, each.dtype)(
      expected.data(), static_cast<int64_t>(expected.size()), in.data(), strides.data(),
      static_cast<int64_t>(count));
  run(code, each.nest, parameters, {&result}, {{Dim::symbol("n"), static_cast<int64_t>(count)}});
  int wrong = 0;
  for (size_t i = 0; i < count && wrong < 3; ++i) {
    if (alike(result, expected, i)) continue;
    ++wrong;
    std::string text;
    for (const Elements& operand : operands) {
      text += fmt::format(" {}/{}", operand.element(i).number.real(),
                          static_cast<int64_t>(operand.element(i).integer));
    }
    ADD_FAILURE() << each.primitive->name << ' ' << name_of(each.dtype) << " of" << text
                  << " gives " << result.element(i).number.real() << '/'
                  << result.element(i).integer << " instead of "
                  << expected.element(i).number.real() << '/' << expected.element(i).integer;
  }
}

using CompiledOperations = Nests;

TEST_F(CompiledOperations, GiveTheBitsOfEagerLoops) {
  std::vector<Case> cases = all_cases();
  EXPECT_GT(cases.size(), 350u);
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    std::vector<Nest> nests;
    for (const Case& each : cases) {
      const std::vector<DType> dtypes = operand_dtypes(*each.primitive, each.dtype);
      EXPECT_TRUE(cpu::is_emitted(*each.primitive, dtypes, each.result))
          << each.primitive->name << ' ' << name_of(each.dtype);
      nests.push_back(each.nest);
    }
    const std::vector<CompiledNest> codes = compiled(nests);
    for (size_t i = 0; i < cases.size(); ++i) check(cases[i], codes[i], 1203);
  }
}

TEST_F(CompiledOperations, ConvertAsConversionsOfElementsDo) {
  std::vector<Nest> nests;
  std::vector<std::pair<DType, DType>> pairs;
  for (const DType from : kHeld) {
    for (const DType to : kHeld) {
      NestMaker maker({}, Dim::symbol("n"));
      maker.result(maker.convert(maker.load(from, {1}), to), {1});
      nests.push_back(maker.nest);
      pairs.emplace_back(from, to);
    }
  }
  constexpr size_t kCount = 3001;
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    const std::vector<CompiledNest> codes = compiled(nests);
    for (size_t i = 0; i < pairs.size(); ++i) {
      const auto [from, to] = pairs[i];
      const Elements x = elements_of(from, kCount, 5);
      Elements result(to, kCount), expected(to, kCount);
      convert(from, x.data(), to, expected.data(), kCount);
      run(codes[i], nests[i], {&x}, {&result}, {{Dim::symbol("n"), kCount}});
      for (size_t j = 0; j < kCount; ++j) {
        ASSERT_TRUE(alike(result, expected, j))
            << name_of(from) << " to " << name_of(to) << " of " << x.element(j).number.real() << '/'
            << x.element(j).integer << " gives " << result.element(j).number.real() << '/'
            << result.element(j).integer << " instead of " << expected.element(j).number.real();
      }
    }
  }
}

}  // namespace
}  // namespace plait::nest_test
