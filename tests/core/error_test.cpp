#include "plait/core/error.h"

#include <exception>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace plait {
namespace {

// Throws an error of type `Thrown` and checks that each handler that should catch it does.
template <class Thrown>
void expect_kind(ErrorKind kind, std::string_view name) {
  EXPECT_EQ(name_of(kind), name);
  const auto raise = [] { throw Thrown("bad {}", 7); };
  EXPECT_THROW(raise(), Thrown);
  try {
    raise();
    FAIL() << name << " was not thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_EQ(error.message(), "bad 7");
    EXPECT_EQ(error.what(), std::string(name) + ": bad 7");
  }
  try {
    raise();
    FAIL() << name << " was not thrown";
  } catch (const std::exception& error) {
    EXPECT_EQ(error.what(), std::string(name) + ": bad 7");
  }
}

TEST(Error, HasATypeANameAndAKindForEachOther) {
  expect_kind<ShapeError>(ErrorKind::shape, "ShapeError");
  expect_kind<TypeError>(ErrorKind::type, "TypeError");
  expect_kind<ValueError>(ErrorKind::value, "ValueError");
  expect_kind<IndexError>(ErrorKind::index, "IndexError");
  expect_kind<KeyError>(ErrorKind::key, "KeyError");
  expect_kind<MemoryError>(ErrorKind::memory, "MemoryError");
  expect_kind<DeviceError>(ErrorKind::device, "DeviceError");
  expect_kind<ParseError>(ErrorKind::parse, "ParseError");
  expect_kind<IoError>(ErrorKind::io, "IoError");
  expect_kind<DistError>(ErrorKind::dist, "DistError");
  expect_kind<CompileError>(ErrorKind::compile, "CompileError");
  expect_kind<CheckError>(ErrorKind::check, "CheckError");
}

TEST(Error, NamesEachKindDifferently) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::check); ++kind) {
    names.insert(name_of(static_cast<ErrorKind>(kind)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(ErrorKind::check) + 1);
}

TEST(Error, NamesAKindThatDoesNotExist) { EXPECT_EQ(name_of(static_cast<ErrorKind>(99)), "Error"); }

TEST(Error, IsNotCaughtAsAnotherKind) {
  const auto caught_as = [] {
    try {
      throw IndexError("index 9 of 3");
    } catch (const ShapeError&) {
      return ErrorKind::shape;
    } catch (const IndexError&) {
      return ErrorKind::index;
    }
  };
  EXPECT_EQ(caught_as(), ErrorKind::index);
}

TEST(Error, FormatsTheActualValues) {
  const ShapeError error("matmul: inner sizes differ: {} · {} ({} ≠ {})", "[32, 768]", "[512, 10]",
                         768, 512);
  EXPECT_EQ(error.message(), "matmul: inner sizes differ: [32, 768] · [512, 10] (768 ≠ 512)");
  EXPECT_EQ(error.hint(), "");
  EXPECT_FALSE(error.location().known());
  EXPECT_STREQ(error.what(),
               "ShapeError: matmul: inner sizes differ: [32, 768] · [512, 10] (768 ≠ 512)");
}

TEST(Error, KeepsBracesOfValues) {
  EXPECT_EQ(KeyError("no field {}", "{}").message(), "no field {}");
  EXPECT_EQ(Error(ErrorKind::key, "no field {}").message(), "no field {}");
}

TEST(Error, ComposesPlaceAndHint) {
  try {
    throw ValueError("rate is {}", -0.5)
        .at(Location::of("nets/vit.cpp", 42))
        .hint("take a rate in [0, 1)");
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "rate is -0.5");
    EXPECT_EQ(error.hint(), "take a rate in [0, 1)");
    EXPECT_EQ(error.location(), Location::of("nets/vit.cpp", 42));
    EXPECT_STREQ(error.what(),
                 "ValueError: rate is -0.5, at vit.cpp:42\n  hint: take a rate in [0, 1)");
    return;
  }
  FAIL() << "nothing was thrown";
}

TEST(Error, ComposesInAnyOrderAndAgain) {
  Error error(ErrorKind::io, "cannot read weights");
  error.set_hint("check the path");
  EXPECT_STREQ(error.what(), "IoError: cannot read weights\n  hint: check the path");
  error.set_location(Location::of("serve.cpp", 3));
  EXPECT_STREQ(error.what(),
               "IoError: cannot read weights, at serve.cpp:3\n  hint: check the path");
  error.set_hint("");
  EXPECT_STREQ(error.what(), "IoError: cannot read weights, at serve.cpp:3");
  error.set_location(Location());
  EXPECT_STREQ(error.what(), "IoError: cannot read weights");
}

TEST(Error, GainsItsPlaceOnTheWayUp) {
  const auto locate = [] {
    try {
      throw TypeError("f32 expected, got i8");
    } catch (Error& error) {
      error.set_location(Location::of("train.cpp", 8));
      throw;
    }
  };
  try {
    locate();
    FAIL() << "nothing was thrown";
  } catch (const TypeError& error) {
    EXPECT_STREQ(error.what(), "TypeError: f32 expected, got i8, at train.cpp:8");
  }
}

TEST(Error, CopiesAreIndependent) {
  Error original(ErrorKind::check, "loss is not finite");
  Error copy = original;
  copy.set_hint("lower the learning rate");
  EXPECT_STREQ(original.what(), "CheckError: loss is not finite");
  EXPECT_STREQ(copy.what(), "CheckError: loss is not finite\n  hint: lower the learning rate");
}

TEST(Error, MovesWholeAndStaysUsableAfterwards) {
  static_assert(std::is_nothrow_move_constructible_v<ShapeError>);
  const std::string long_text(200, 'x');
  ShapeError original("{}", long_text);
  original.set_hint(long_text);
  const ShapeError moved = std::move(original);
  EXPECT_EQ(moved.what(), "ShapeError: " + long_text + "\n  hint: " + long_text);

  EXPECT_NE(original.what(), nullptr);
  EXPECT_EQ(original.kind(), ErrorKind::shape);
  original = ShapeError("again");
  EXPECT_STREQ(original.what(), "ShapeError: again");
}

TEST(Error, OutlivesItsThrowAsAPointer) {
  std::exception_ptr kept;
  try {
    throw ParseError("line {}", 3).hint("close the bracket");
  } catch (...) {
    kept = std::current_exception();
  }
  try {
    std::rethrow_exception(kept);
  } catch (const ParseError& error) {
    EXPECT_STREQ(error.what(), "ParseError: line 3\n  hint: close the bracket");
  }
}

}  // namespace
}  // namespace plait
