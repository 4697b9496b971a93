#include "plait/io/safetensors.h"

#include <sys/mman.h>
#include <unistd.h>

#include "plait/io/inside/file.h"

#include "tests/io/npy_samples.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

using Arrays = std::map<std::string, Array>;

// A file with this header, which is not padded.
std::string file_of(std::string_view header, std::string_view data = "") {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  return file.append(header).append(data);
}

Safetensors opened(const std::string& file) {
  return Safetensors::read(bytes_of(std::string_view(file)));
}

void save(const std::string& path, std::string_view content) {
  OutputFile file(path);
  file.write(bytes_of(content));
  file.finish();
}

std::string one(std::string_view description) {
  return fmt::format(R"({{"a":{{{}}}}})", description);
}

TEST(Safetensors, EveryDTypeGoesThereAndBack) {
  const TemporaryFolder folder;
  Arrays arrays;
  for (const DType dtype : all_dtypes()) {
    for (const Sizes& sizes : {Sizes{}, Sizes{0}, Sizes{3}, Sizes{2, 3, 5}, Sizes{4, 0, 2}}) {
      arrays.emplace(fmt::format("{}{}", name_of(dtype), text_of_sizes(sizes)),
                     sample(dtype, sizes));
    }
  }
  save_safetensors(folder.path("all.safetensors"), arrays);
  const Arrays loaded = load_safetensors(folder.path("all.safetensors"));
  const Arrays read = read_safetensors(write_safetensors(arrays));
  ASSERT_EQ(loaded.size(), arrays.size());
  for (const auto& [name, array] : arrays) {
    SCOPED_TRACE(name);
    expect_same(loaded.at(name), array);
    expect_same(read.at(name), array);
  }
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(Safetensors, FilesAreAsTheReferenceWritesThem) {
  const Arrays arrays = {{"b", sample(DType::u8, {3})},
                         {"a", sample(DType::u8, {1})},
                         {"é\n", sample(DType::f32, {})},
                         {"z", sample(DType::i64, {0, 2})}};
  const std::string file = text(write_safetensors(arrays, SafetensorsMetadata{{"k", "v\""}}));
  const std::string header =
      R"({"__metadata__":{"k":"v\""},"z":{"dtype":"I64","shape":[0,2],"data_offsets":[0,0]},)"
      R"("é\n":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[4,5]},)"
      R"("b":{"dtype":"U8","shape":[3],"data_offsets":[5,8]}})";
  const size_t padded = (header.size() + 7) / 8 * 8;
  EXPECT_EQ(file.substr(8, padded), header + std::string(padded - header.size(), ' '));
  EXPECT_EQ(file.size(), 8 + padded + 8);
  EXPECT_EQ(text(write_safetensors({})), file_of("{}      "));
  EXPECT_EQ(text(write_safetensors({}, SafetensorsMetadata())),
            file_of(R"({"__metadata__":{}}     )"));
}

TEST(Safetensors, HasNamesTypesAndMetadata) {
  const std::string header =
      R"({"late":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[4,6]},"__metadata__":{"x":"1"},)"
      R"("early":{"dtype":"I16","shape":[1,2],"data_offsets":[0,4]}})";
  const std::string bytes = file_of(header, "abcdef");
  const Safetensors file = opened(bytes);
  EXPECT_EQ(std::vector(file.names().begin(), file.names().end()),
            (std::vector<std::string>{"early", "late"}));
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"x", "1"}}));
  EXPECT_TRUE(file.contains("late"));
  EXPECT_FALSE(file.contains("x"));
  EXPECT_EQ(file.info("early").dtype, "I16");
  EXPECT_EQ(file.info("early").sizes, (Sizes{1, 2}));
  EXPECT_EQ(file.info("late").begin, 8 + header.size() + 4);
  EXPECT_EQ(file.info("late").end, bytes.size());
  expect_failure([&] { file.array("late"); },
                 "TypeError: tensor \"late\": it is F8_E8M0, which is not a dtype of Plait");
  expect_failure([&] { file.array("late"); }, "values(name) converts it to f32");
  expect_failure([&] { read_safetensors(bytes_of(std::string_view(bytes))); },
                 "Safetensors::open(path) lists the tensors, and reads the others");
  expect_failure([&] { file.array("earli"); }, "KeyError: unknown tensor \"earli\"");
  expect_failure([&] { file.array("earli"); }, "did you mean \"early\"?");
  EXPECT_EQ(opened(file_of("{}")).metadata(), std::nullopt);
}

TEST(Safetensors, DTypesThatPlaitLacksAreBytesAndValues) {
  const std::string header = R"({"e8":{"dtype":"F8_E8M0","shape":[4],"data_offsets":[0,4]},)"
                             R"("e4":{"dtype":"F8_E4M3FNUZ","shape":[4],"data_offsets":[4,8]},)"
                             R"("e5":{"dtype":"F8_E5M2FNUZ","shape":[4],"data_offsets":[8,12]},)"
                             R"("f4":{"dtype":"F4","shape":[2,4],"data_offsets":[12,16]},)"
                             R"("f6":{"dtype":"F6_E2M3","shape":[2,2],"data_offsets":[16,19]},)"
                             R"("f32":{"dtype":"F32","shape":[],"data_offsets":[19,23]}})";
  const std::string bytes = file_of(header, std::string("\x7f\x80\x00\xff"
                                                        "\x40\xc1\x01\x80"
                                                        "\x40\xc1\x01\x80"
                                                        "abcdefghijk",
                                                        23));
  const Safetensors file = opened(bytes);
  const auto values = [&](const char* name) { return file.values(name).literal().text(); };
  EXPECT_EQ(values("e8"), "f32[4](1, 2, 5.877472e-39, nan)");
  EXPECT_EQ(values("e4"), "f32[4](1, -1.125, 0.0009765625, nan)");
  EXPECT_EQ(values("e5"), "f32[4](1, -1.25, 7.6293945e-06, nan)");
  const auto bytes_read = [&](const char* name) { return file.bytes(name).literal().text(); };
  EXPECT_EQ(bytes_read("f4"), "u8[2, 2](97, 98, 99, 100)");
  EXPECT_EQ(bytes_read("f6"), "u8[3](101, 102, 103)");  // its rows are 12 bits
  EXPECT_EQ(bytes_read("f32"), "u8[4](104, 105, 106, 107)");
  EXPECT_EQ(bytes_read("e8"), "u8[4](127, 128, 0, 255)");
  expect_failure([&] { file.values("f4"); },
                 "TypeError: tensor \"f4\": it is F4, of which only the bytes are read");
  expect_failure([&] { file.values("f32"); }, "array(name) reads it");
}

TEST(Safetensors, KeysAndDoubleComplexNumbersArePairsToOthers) {
  const Arrays arrays = {{"k", sample(DType::key, {3})}, {"c", sample(DType::c128, {})}};
  const std::string bytes = text(write_safetensors(arrays));
  const Safetensors file = opened(bytes);
  EXPECT_EQ(file.info("k").dtype, "U64");
  EXPECT_EQ(file.info("k").sizes, (Sizes{3, 2}));
  EXPECT_EQ(file.info("c").sizes, (Sizes{2}));
  EXPECT_EQ(file.metadata()->at("plait.dtypes"), R"({"c":"c128","k":"key"})");
  EXPECT_EQ(file.array("k").dtype(), DType::key);
  const Slice last{2, {}};
  EXPECT_EQ(file.slice("k", {&last, 1}).sizes(), (Sizes{1}));
}

TEST(Safetensors, AListOfPairsThatDoesNotFitIsIgnored) {
  const auto dtype_with = [](const std::string& entry) {
    const std::string header = R"({"__metadata__":{"plait.dtypes":")" + entry +
                               R"("},"a":{"dtype":"U64","shape":[1,2],"data_offsets":[0,16]}})";
    return read_safetensors(bytes_of(std::string_view(file_of(header, std::string(16, 'x')))))
        .at("a")
        .dtype();
  };
  EXPECT_EQ(dtype_with(R"({\"a\":\"key\"})"), DType::key);
  for (const char* other :
       {R"({\"a\":\"c128\"})", R"({\"b\":\"key\"})", R"({\"a\":1})", "[]", "{"}) {
    EXPECT_EQ(dtype_with(other), DType::u64) << other;
  }
  // The list belongs to the tensors, not to the metadata that users pass on.
  const auto again = write_safetensors({{"a", sample(DType::u64, {1, 2})}},
                                       SafetensorsMetadata{{"plait.dtypes", R"({"a":"key"})"}});
  EXPECT_EQ(read_safetensors(again).at("a").dtype(), DType::u64);
}

TEST(Safetensors, SlicesAreThoseOfTheWholeTensor) {
  const TemporaryFolder folder;
  for (const DType dtype : all_dtypes()) {
    SCOPED_TRACE(name_of(dtype));
    const Array array = sample(dtype, {4, 5, 6});
    const std::vector<Slice> slices = {{1, 3}, {{}, {}, -2}, {-3, {}}};
    Layout layout = array.layout();
    for (int64_t i = 0; i < 3; ++i) layout = layout.sliced(i, slices[static_cast<size_t>(i)]);
    const auto bytes = write_safetensors({{"x", array}});
    save(folder.path("x.safetensors"), text(bytes));
    for (const Safetensors& file :
         {Safetensors::read(bytes), Safetensors::open(folder.path("x.safetensors"))}) {
      expect_same(file.slice("x", slices).contiguous(), array.view(layout).contiguous());
      expect_same(file.slice("x", {}).contiguous(), array);
      expect_failure([&] { file.slice("x", std::vector<Slice>(4)); }, "4 slices for [4, 5, 6]");
    }
  }
}

TEST(Safetensors, UnalignedTensorsAreCopied) {
  const TemporaryFolder folder;
  const std::string data(size_t{8} << 17, '\1');
  const std::string header = fmt::format(
      R"({{"x":{{"dtype":"F64","shape":[{}],"data_offsets":[0,{}]}}}})", 1 << 17, data.size());
  for (size_t spaces = 0; spaces < 9; ++spaces) {
    save(folder.path("x"), file_of(header + std::string(spaces, ' '), data));
    const Safetensors file = Safetensors::open(folder.path("x"));
    const bool is_aligned = (header.size() + spaces) % 8 == 0;
    EXPECT_EQ(file.array("x").buffer().is_borrowed(), is_aligned);
    const Slice few{5, 7};
    for (const Array& array : {file.array("x"), file.slice("x", {&few, 1})}) {
      EXPECT_EQ(std::bit_cast<uint64_t>(array.elements<double>()[1]), 0x0101010101010101u);
    }
  }
}

// A gigabyte of which the disk has only the header.
TEST(Safetensors, OnlyTheHeaderOfALargeFileIsRead) {
  const TemporaryFolder folder;
  const int64_t bytes = int64_t{1} << 30;
  const std::string path = folder.path("large.safetensors");
  std::string header =
      fmt::format(R"({{"x":{{"dtype":"F32","shape":[{0}],"data_offsets":[0,{1}]}},)"
                  R"("y":{{"dtype":"F32","shape":[{0}],"data_offsets":[{1},{2}]}}}})",
                  bytes / 8, bytes / 2, bytes);
  header.append((8 - header.size() % 8) % 8, ' ');
  save(path, file_of(header));
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(8 + header.size()) + bytes), 0);
  const Safetensors file = Safetensors::open(path);
  const Array y = file.array("y");
  const Slice last{-1, {}};
  EXPECT_EQ(file.slice("y", {&last, 1}).elements<float>()[0], 0);
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<uintptr_t>(y.data()) + page - 1) / page * page;
  std::vector<unsigned char> is_resident(static_cast<size_t>(bytes) / 4 / page);
  ASSERT_EQ(
      ::mincore(reinterpret_cast<void*>(first), is_resident.size() * page, is_resident.data()), 0);
  EXPECT_EQ(std::ranges::count_if(is_resident, [](unsigned char each) { return each & 1; }), 0);
}

TEST(Safetensors, MalformedHeadersSayWhatIsWrong) {
  const auto expect = [](const std::string& file, const std::string& message) {
    expect_failure([&] { opened(file); }, "ParseError: " + message);
  };
  expect("", "byte 0: expected 8 bytes, 0 are left");
  expect(file_of("{}").substr(0, 9), "byte 8: expected 2 bytes, 1 are left");
  expect(std::string("\0\0\0\0\0\0\0\x80", 8), "byte 0: a header of 9223372036854775808 bytes");
  expect(std::string("PK\3\4\x14\0\0\0\x08\0", 10),
         "byte 0: this is a zip archive, such as torch.save");
  expect(file_of(""), "byte 8: this is not a safetensors file");
  expect(file_of(" {}"), "byte 8: this is not a safetensors file");
  expect(file_of("{\"a\":}"), "the header, from byte 8: byte 5: ");
  expect(file_of("{\"\xff\":1}"), "the header, from byte 8: byte 2: ");
  expect(file_of({"{}\0", 3}), "the header, from byte 8: byte 2: expected the end");
  expect(file_of(R"({"a":1,"a":2})"),
         "the header, from byte 8: byte 10: an object has two members");
  expect(file_of(R"({"__metadata__":[]})"), "__metadata__ is a list");
  expect(file_of(R"({"__metadata__":{"k":1}})"), "\"k\" of __metadata__ is");
  expect(file_of(R"({"a":1})"), "tensor \"a\": its description is");
  expect(file_of(one(R"("shape":[],"data_offsets":[0,0])")), "tensor \"a\": \"dtype\" is missing");
  const auto of = [](std::string_view dtype, std::string_view shape, std::string_view offsets,
                     std::string_view data = "") {
    return file_of(
        one(fmt::format(R"("dtype":{},"shape":{},"data_offsets":{})", dtype, shape, offsets)),
        data);
  };
  expect(of(R"("f32")", "[]", "[0,4]", "abcd"),
         "tensor \"a\": the dtype is \"f32\", which the format does not have");
  expect(of(R"("F32")", "[-1]", "[0,0]"), "tensor \"a\": a size of shape is -1");
  expect(of(R"("F32")", "[1.0]", "[0,4]", "abcd"), "tensor \"a\": a size of shape is a number");
  expect(of(R"("F32")", "[-0]", "[0,0]"), "tensor \"a\": a size of shape is a number");
  expect(of(R"("F32")", "[1]", "[0,4,4]", "abcd"), "tensor \"a\": data_offsets has 3 elements");
  expect(of(R"("F32")", "[1]", "[1,5]", "abcde"),
         "tensor \"a\": data_offsets begins at 1, expected 0");
  expect(of(R"("F32")", "[1]", "[0,3]", "abc"),
         "tensor \"a\": data_offsets is [0, 3], but F32[1] has 4 bytes");
  expect(of(R"("F4")", "[3]", "[0,1]", "a"), "tensor \"a\": F4[3]: 12 bits are not a number");
  expect(of(R"("F32")", "[4611686018427387904,8,0]", "[0,0]"),
         "tensor \"a\": F32[4611686018427387904, 8, 0]: the number of bits exceeds 64");
  expect(of(R"("F32")", "[1]", "[0,4]", "abcde"), "byte 62: expected the 4 bytes of the tensors");
  expect_failure([&] { opened(of(R"("BOOL")", "[3]", "[0,3]", {"\0\1\2", 3})).array("a"); },
                 "ParseError: tensor \"a\": byte 65: 2 is not a bool");
}

TEST(Safetensors, RefusesInvalidArgumentsOnWriting) {
  const TemporaryFolder folder;
  const auto expect = [&](const Arrays& arrays, const SafetensorsOptions& options,
                          const std::string& message) {
    expect_failure([&] { save_safetensors(folder.path("x.safetensors"), arrays, options); },
                   "ValueError: " + message);
  };
  expect({{"x", Array()}}, {}, "the array to save as \"x\" is empty");
  expect({{"\xff", sample(DType::f32, {})}}, {}, "the name of a tensor, ");
  expect({{"__metadata__", sample(DType::f32, {})}}, {}, "a tensor cannot be named");
  expect({}, {.metadata = {{{"k", "\xe2\x82"}}}}, "the metadata \"k\", ");
  expect({}, {.largest_shard = -1}, "largest_shard is -1");
  expect_failure([&] { save_safetensors(folder.path("x"), {}, {.largest_shard = 1}); },
                 "ends with .safetensors");
  EXPECT_EQ(folder.file_count(), 0u);
  expect_failure([&] { save_safetensors(folder.path("no/x.safetensors"), {}); }, "IoError: ");
}

TEST(Safetensors, AFileThatIsInTheWayOrDamagedIsNamed) {
  const TemporaryFolder folder;
  expect_failure([&] { load_safetensors(folder.path("none")); },
                 "IoError: cannot open " + folder.path("none"));
  save(folder.path("x"), file_of(one(R"("dtype":"BOOL","shape":[1],"data_offsets":[0,1])"), "\2"));
  expect_failure([&] { load_safetensors(folder.path("x")); },
                 "ParseError: " + folder.path("x") + ": tensor \"a\": byte ");
  save(folder.path("y"), "short");
  expect_failure([&] { load_safetensors(folder.path("y")); },
                 "ParseError: " + folder.path("y") + ": byte 0: ");
}

}  // namespace
}  // namespace plait
