#include "plait/io/gguf.h"

#include <bit>
#include <limits>

#include "plait/io/inside/file.h"

#include "tests/io/npy_samples.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

// The bytes of a file, part after part.
struct GgufText {
  std::string bytes;

  template <class T>
  GgufText& number(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  GgufText& text(std::string_view value) {
    number<uint64_t>(value.size());
    bytes += value;
    return *this;
  }
  GgufText& key(std::string_view name, uint32_t type) { return text(name).number(type); }
  GgufText& list(uint32_t type, uint64_t count) { return number(type).number(count); }
  GgufText& tensor(std::string_view name, const std::vector<uint64_t>& inner_first, uint32_t type,
                   uint64_t offset) {
    text(name).number(static_cast<uint32_t>(inner_first.size()));
    for (const uint64_t size : inner_first) number(size);
    return number(type).number(offset);
  }
  GgufText& pad(size_t alignment = 32) {
    bytes.append((alignment - bytes.size() % alignment) % alignment, '\0');
    return *this;
  }
  GgufText& raw(std::string_view more) {
    bytes += more;
    return *this;
  }
};

GgufText begin(uint64_t tensors, uint64_t entries, uint32_t version = 3) {
  GgufText file;
  return file.raw("GGUF").number(version).number(tensors).number(entries);
}

Gguf opened(const GgufText& file) { return Gguf::read(bytes_of(std::string_view(file.bytes))); }

template <class T>
std::vector<T> values(const Array& array) {
  const auto elements = array.elements<T>();
  return {elements.begin(), elements.end()};
}

// The one tensor of a file, of these sizes and bytes.
Array only(uint32_t type, const std::vector<uint64_t>& inner_first, std::string_view bytes) {
  const GgufText file = begin(1, 0).tensor("x", inner_first, type, 0).pad().raw(bytes);
  return opened(file).array("x");
}

TEST(Gguf, MetadataHasAllTypes) {
  GgufText file = begin(0, 15, 2);
  file.key("u8", 0).number<uint8_t>(200).key("i8", 1).number<int8_t>(-2);
  file.key("u16", 2).number<uint16_t>(60000).key("i16", 3).number<int16_t>(-3);
  file.key("u32", 4).number<uint32_t>(4'000'000'000).key("i32", 5).number<int32_t>(-4);
  file.key("f32", 6).number(0.5F).key("bool", 7).number<uint8_t>(1).key("text", 8).text("größe");
  file.key("u64", 10).number(UINT64_MAX).key("i64", 11).number(INT64_MIN);
  file.key("f64", 12).number(0.1);
  file.key("numbers", 9).list(5, 2).number<int32_t>(7).number<int32_t>(-8);
  file.key("texts", 9).list(8, 2).text("a").text("");
  file.key("lists", 9).list(9, 2).list(0, 0).list(8, 1).text("b");
  const Gguf read = opened(file);
  EXPECT_EQ(read.version(), 2u);
  EXPECT_EQ(read.metadata().size(), 15u);
  EXPECT_EQ(read.metadata()[8].first, "text");
  EXPECT_EQ(read.at("u8").as<int64_t>(), 200);
  EXPECT_EQ(read.at("i8").as<int64_t>(), -2);
  EXPECT_EQ(read.at("u16").as<int64_t>(), 60000);
  EXPECT_EQ(read.at("i16").as<int64_t>(), -3);
  EXPECT_EQ(read.at("u32").as<int64_t>(), 4'000'000'000);
  EXPECT_EQ(read.at("i32").as<int64_t>(), -4);
  EXPECT_EQ(read.at("f32").as<double>(), 0.5);
  EXPECT_EQ(read.at("bool").as<bool>(), true);
  EXPECT_EQ(read.at("text").as<std::string>(), "größe");
  EXPECT_EQ(read.at("u64").as<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(read.at("i64").as<int64_t>(), INT64_MIN);
  EXPECT_EQ(read.at("f64").as<double>(), 0.1);
  EXPECT_EQ(values<int32_t>(read.at("numbers").as<Array>()), (std::vector<int32_t>{7, -8}));
  EXPECT_EQ(read.at("texts").as<GgufValue::Strings>(), (GgufValue::Strings{"a", ""}));
  const auto& lists = read.at("lists").as<GgufValue::List>();
  EXPECT_EQ(lists[0].as<Array>().dtype(), DType::u8);
  EXPECT_EQ(lists[1].as<GgufValue::Strings>(), GgufValue::Strings{"b"});
  EXPECT_EQ(read.find("none"), nullptr);
  expect_failure([&] { read.at("none"); }, "KeyError: the metadata has no \"none\"");
  expect_failure([&] { read.at("f32").as<int64_t>(); },
                 "TypeError: the value is a float, expected an integer");
}

TEST(Gguf, TensorsHaveTheirSizesInRowMajorOrder) {
  const GgufText file = begin(2, 1)
                            .key("general.alignment", 4)
                            .number<uint32_t>(8)
                            .tensor("x", {3, 2}, 0, 0)
                            .tensor("y", {}, 26, 24)
                            .pad(8)
                            .raw(std::string(24, '\0'))
                            .number<int32_t>(-5);
  const Gguf read = opened(file);
  EXPECT_EQ(read.info("x").type, "F32");
  EXPECT_EQ(read.info("x").sizes, (Sizes{2, 3}));
  EXPECT_EQ(read.info("y").end, file.bytes.size());
  EXPECT_EQ(std::vector(read.names().begin(), read.names().end()),
            (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(values<float>(read.array("x")), std::vector<float>(6));
  EXPECT_EQ(read.array("y").elements<int32_t>()[0], -5);
  EXPECT_TRUE(read.contains("y"));
  expect_failure([&] { read.array("z"); }, "KeyError: unknown tensor \"z\"");
}

TEST(Gguf, PlainElementsKeepTheirDType) {
  const std::string bytes = "\1\2\3\4\5\6\7\x08";
  const auto dtype = [&](uint32_t type, uint64_t count) {
    const Array array = only(type, {count}, bytes);
    EXPECT_EQ(text(array.literal().bytes()), bytes);
    return array.dtype();
  };
  EXPECT_EQ(dtype(0, 2), DType::f32);
  EXPECT_EQ(dtype(1, 4), DType::f16);
  EXPECT_EQ(dtype(24, 8), DType::i8);
  EXPECT_EQ(dtype(25, 4), DType::i16);
  EXPECT_EQ(dtype(26, 2), DType::i32);
  EXPECT_EQ(dtype(27, 1), DType::i64);
  EXPECT_EQ(dtype(28, 1), DType::f64);
  EXPECT_EQ(dtype(30, 4), DType::bf16);
  EXPECT_EQ(only(2, {0, 7}, "").sizes(), (Sizes{7, 0}));
}

// gguf_test.py compares all types with the Python package.
TEST(Gguf, BlocksAreDequantized) {
  std::string halves;
  for (int i = 0; i < 16; ++i) halves += static_cast<char>(i | (15 - i) << 4);
  const std::string one("\x00\x3c", 2), two("\x00\x40", 2);  // in f16
  std::vector<float> rising;
  for (int i = 0; i < 32; ++i) rising.push_back(static_cast<float>(i < 16 ? i : 31 - i));
  const auto mapped = [&](auto map) {
    std::vector<float> result;
    for (const float each : rising) result.push_back(map(each));
    return result;
  };
  EXPECT_EQ(values<float>(only(2, {32}, two + halves)),
            mapped([](float x) { return 2 * (x - 8); }));
  EXPECT_EQ(values<float>(only(3, {32}, two + one + halves)),
            mapped([](float x) { return 2 * x + 1; }));
  EXPECT_EQ(values<float>(only(6, {32}, two + std::string(4, '\xff') + halves)),
            mapped([](float x) { return 2 * x; }));
  EXPECT_EQ(values<float>(only(8, {32}, two + std::string(32, '\xfd'))),
            std::vector<float>(32, -6));
  const Array many = only(2, {64, 1000}, [&] {
    std::string bytes;
    for (int i = 0; i < 2000; ++i) bytes += one + halves;
    return bytes;
  }());
  EXPECT_EQ(many.sizes(), (Sizes{1000, 64}));
  EXPECT_EQ(many.elements<float>()[63999], rising[31] - 8);
}

TEST(Gguf, TypesThatAreNotReadAreListed) {
  const GgufText file = begin(1, 0).tensor("x", {256}, 16, 0).pad().raw(std::string(66, 'x'));
  EXPECT_EQ(opened(file).info("x").type, "IQ2_XXS");
  expect_failure([&] { opened(file).array("x"); },
                 "TypeError: tensor \"x\": it is IQ2_XXS, which is not read; F32, F16, Q4_0");
  expect_failure([] { opened(begin(1, 0).tensor("x", {256}, 31, 0).pad()); },
                 "ParseError: tensor \"x\": the type of its elements is 31, which is unknown; "
                 "known are F32, F16");
}

TEST(Gguf, OtherVersionsAreRefused) {
  const auto expect = [](const GgufText& file, const std::string& message) {
    expect_failure([&] { opened(file); }, "ParseError: " + message);
  };
  expect({""}, "byte 0: this is not a GGUF file");
  expect({"GGUX"}, "byte 0: this is not a GGUF file");
  expect({"GGUF"}, "byte 4: expected 4 bytes, 0 are left");
  expect(begin(0, 0, 1), "byte 4: version 1 of GGUF is not supported; versions 2 and 3 are");
  expect(begin(0, 0, 4), "byte 4: version 4");
  expect(begin(0, 0, 3 << 24), "byte 4: this is a big-endian file");
}

TEST(Gguf, MalformedFilesSayWhereAndWhat) {
  const auto expect = [](const GgufText& file, const std::string& message) {
    expect_failure([&] { opened(file); }, "ParseError: " + message);
  };
  constexpr uint64_t kMany = UINT64_MAX;
  expect(begin(kMany, 0), "byte 24: 18446744073709551615 tensors do not fit into the 0 bytes");
  expect(begin(0, kMany), "byte 24: 18446744073709551615 entries of metadata do not fit");
  expect(begin(0, 1).number(kMany).raw("12345"), "byte 32: expected 18446744073709551615 bytes");
  expect(begin(0, 1).text("\xff").number<uint32_t>(0), "byte 32: this text is not UTF-8");
  expect(begin(0, 1).key("k", 13).number<uint8_t>(0), "byte 33: the type of a value is 13");
  expect(begin(0, 1).key("k", 7).number<uint8_t>(2), "byte 37: 2 is not a bool");
  expect(begin(0, 1).key("k", 9).list(0, kMany),
         "byte 49: 18446744073709551615 numbers do not fit");
  expect(begin(0, 1).key("k", 9).list(8, 1), "byte 49: 1 texts do not fit");
  expect(begin(0, 1).key("k", 9).list(9, 1), "byte 49: 1 lists do not fit");
  expect(begin(0, 2).key("k", 0).raw("x").key("k", 0).raw("x"),
         "byte 38: the metadata has two entries \"k\"");
  GgufText deep = begin(0, 1).key("k", 9);
  for (int i = 0; i < 1000; ++i) deep.list(9, 1);
  expect(deep, "byte 229: more than 16 levels of lists");
  expect(begin(2, 0).tensor("x", {}, 0, 0).tensor("x", {}, 0, 0), "byte 49: two tensors are named");
  expect(begin(1, 0).text("x").number(UINT32_MAX).raw(std::string(20, 'x')),
         "tensor \"x\": byte 37: 4294967295 sizes do not fit");
}

TEST(Gguf, TensorsThatTheFileCannotHoldAreRefused) {
  const auto expect = [](const GgufText& file, const std::string& message) {
    expect_failure([&] { opened(file); }, "ParseError: " + message);
  };
  const auto of = [](const std::vector<uint64_t>& sizes, uint32_t type, uint64_t offset) {
    return begin(1, 0).tensor("x", sizes, type, offset).pad().raw(std::string(64, 'x'));
  };
  expect(of({17}, 0, 0), "tensor \"x\": its 68 bytes at place 0 do not fit into the 64 bytes");
  expect(of({1}, 0, 64), "tensor \"x\": its 4 bytes at place 64 do not fit into the 64 bytes");
  expect(of({1}, 0, UINT64_MAX - 31), "tensor \"x\": its 4 bytes at place 18446744073709551584");
  expect(of({1}, 0, 8), "tensor \"x\": its place 8 is not a multiple of 32");
  expect(of({33}, 2, 0), "tensor \"x\": Q4_0[33]: rows of 33 are not divisible into blocks of 32");
  expect(of({UINT64_MAX}, 0, 0), "tensor \"x\": a size of 18446744073709551615");
  expect(of({1ull << 62, 16}, 0, 0), "tensor \"x\": F32[16, 4611686018427387904]: the number of");
  EXPECT_EQ(opened(of({0, 1ull << 62}, 0, 0)).info("x").sizes, (Sizes{1ll << 62, 0}));
  for (const uint32_t alignment : {0, 24}) {
    expect(begin(0, 1).key("general.alignment", 4).number(alignment),
           "general.alignment is not a power of 2");
  }
  expect(begin(0, 1).key("general.alignment", 8).text("32"), "general.alignment is not");
}

TEST(Gguf, OnePartOfSeveralIsNotTheWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.path("m-00001-of-00002.gguf");
  const auto save = [&](const GgufText& file) {
    OutputFile output(path);
    output.write(bytes_of(std::string_view(file.bytes)));
    output.finish();
  };
  save(begin(0, 1).key("split.count", 2).number<uint16_t>(2));
  expect_failure([&] { load_gguf(path); }, path + ": it is one of 2 files");
  EXPECT_EQ(Gguf::open(path).names().size(), 0u);
  save(begin(1, 1)
           .key("split.count", 2)
           .number<uint16_t>(1)
           .tensor("x", {2}, 0, 0)
           .pad()
           .raw("12345678"));
  EXPECT_EQ(load_gguf(path).at("x").sizes(), (Sizes{2}));
  save({"no"});
  expect_failure([&] { load_gguf(path); }, "ParseError: " + path + ": byte 0: ");
}

}  // namespace
}  // namespace plait
