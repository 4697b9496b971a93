// Aggregates with every supported number of fields.

#include <string_view>
#include <type_traits>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "plait/core/trees/reflect.h"

namespace plait::reflect {
namespace {

// clang-format off
struct Fields0 {};
struct Fields1 { int f0; };
struct Fields2 { int f0, f1; };
struct Fields3 { int f0, f1, f2; };
struct Fields4 { int f0, f1, f2, f3; };
struct Fields5 { int f0, f1, f2, f3, f4; };
struct Fields6 { int f0, f1, f2, f3, f4, f5; };
struct Fields7 { int f0, f1, f2, f3, f4, f5, f6; };
struct Fields8 { int f0, f1, f2, f3, f4, f5, f6, f7; };
struct Fields9 { int f0, f1, f2, f3, f4, f5, f6, f7, f8; };
struct Fields10 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9; };
struct Fields11 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10; };
struct Fields12 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11; };
struct Fields13 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12; };
struct Fields14 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13; };
struct Fields15 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14; };
struct Fields16 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15; };
struct Fields17 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16; };
struct Fields18 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17; };
struct Fields19 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18; };
struct Fields20 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19; };
struct Fields21 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19, f20; };
struct Fields22 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19, f20, f21; };
struct Fields23 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19, f20, f21, f22; };
struct Fields24 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19, f20, f21, f22, f23; };
struct Fields25 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19, f20, f21, f22, f23, f24; };
struct Fields26 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19, f20, f21, f22, f23, f24, f25; };
struct Fields27 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19, f20, f21, f22, f23, f24, f25, f26; };
struct Fields28 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27; };
struct Fields29 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28; };
struct Fields30 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29; };
struct Fields31 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30; };
struct Fields32 { int f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16,
                 f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31; };
// clang-format on

template <class T>
class ReflectCounts : public testing::Test {};

using AllCounts =
    testing::Types<Fields0, Fields1, Fields2, Fields3, Fields4, Fields5, Fields6, Fields7, Fields8,
                   Fields9, Fields10, Fields11, Fields12, Fields13, Fields14, Fields15, Fields16,
                   Fields17, Fields18, Fields19, Fields20, Fields21, Fields22, Fields23, Fields24,
                   Fields25, Fields26, Fields27, Fields28, Fields29, Fields30, Fields31, Fields32>;
TYPED_TEST_SUITE(ReflectCounts, AllCounts);

TYPED_TEST(ReflectCounts, EachFieldByNameInOrder) {
  constexpr size_t count = std::is_empty_v<TypeParam> ? 0 : sizeof(TypeParam) / sizeof(int);
  static_assert(kFieldCount<TypeParam> == count);
  TypeParam object{};
  int next = 0;
  for_each_field(object, [&](std::string_view name, int& field) {
    EXPECT_EQ(name, fmt::format("f{}", next));
    EXPECT_EQ(&field, reinterpret_cast<int*>(&object) + next);
    ++next;
  });
  EXPECT_EQ(next, static_cast<int>(count));
}

}  // namespace
}  // namespace plait::reflect
