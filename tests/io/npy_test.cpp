#include "plait/io/npy.h"

#include "plait/io/inside/file.h"

#include "tests/io/npy_samples.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

Array from_npy(const std::string& file) { return read_npy(bytes_of(std::string_view(file))); }

template <class T>
std::vector<T> values(const Array& array) {
  const auto elements = array.elements<T>();
  return {elements.begin(), elements.end()};
}

TEST(Npy, EveryDTypeGoesThereAndBack) {
  const TemporaryFolder folder;
  for (const DType dtype : all_dtypes()) {
    SCOPED_TRACE(name_of(dtype));
    for (const Sizes& sizes : {Sizes{}, Sizes{0}, Sizes{3}, Sizes{2, 3, 5}, Sizes{4, 0, 2}}) {
      const Array array = sample(dtype, sizes);
      expect_same(read_npy(write_npy(array)), array);
      save_npy(folder.path("array.npy"), array);
      expect_same(load_npy(folder.path("array.npy")), array);
    }
  }
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(Npy, AnyLayoutIsSavedInRowMajorOrder) {
  const Array cube = sample(DType::i16, {4, 5, 6});
  const Layout& layout = cube.layout();
  for (const Layout& each :
       {layout.permuted(std::vector<int64_t>{2, 0, 1}), layout.sliced(1, {.step = -2}),
        layout.picked(2, 3).broadcast_to(Sizes{3, 4, 5})}) {
    const Array view = cube.view(each);
    expect_same(read_npy(write_npy(view)), view);
  }
}

TEST(Npy, HeadersAreAsNumPyWritesThem) {
  const auto header = [](const Array& array) { return text(write_npy(array)).substr(0, 128); };
  const auto padded = [](const std::string& dictionary) {
    std::string expected("\x93NUMPY\x01\0\x76\0", 10);
    expected += dictionary;
    expected.append(127 - expected.size(), ' ');
    return expected + '\n';
  };
  EXPECT_EQ(header(sample(DType::f32, {2, 3})),
            padded("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"));
  EXPECT_EQ(header(sample(DType::boolean, {7})),
            padded("{'descr': '|b1', 'fortran_order': False, 'shape': (7,), }"));
  EXPECT_EQ(header(sample(DType::u8, {0})),
            padded("{'descr': '|u1', 'fortran_order': False, 'shape': (0,), }"));
  EXPECT_EQ(header(sample(DType::key, {3})),
            padded("{'descr': [('key', '<u8', (2,))], 'fortran_order': False, 'shape': (3,), }"));
  EXPECT_EQ(text(write_npy(sample(DType::c128, {}))).substr(10, 55),
            "{'descr': '<c16', 'fortran_order': False, 'shape': (), ");
}

TEST(Npy, LongHeadersAreVersionTwo) {
  Sizes sizes(30'000, 1);
  sizes[7] = 2;
  const Array array = sample(DType::u8, sizes);
  const auto bytes = write_npy(array);
  EXPECT_EQ(bytes[6], std::byte{2});
  EXPECT_EQ((bytes.size() - 2) % 64, 0u);
  expect_same(read_npy(bytes), array);
}

TEST(Npy, BothByteOrdersAreRead) {
  EXPECT_EQ(values<int16_t>(from_npy(npy_of("'>i2'", "(2,)", {"\1\2\xff\xfe", 4}))),
            (std::vector<int16_t>{0x0102, -2}));
  EXPECT_EQ(values<float>(from_npy(npy_of("'>f4'", "(1,)", {"\x3f\x80\0\0", 4}))),
            (std::vector<float>{1}));
  EXPECT_EQ(values<std::complex<float>>(
                from_npy(npy_of("'>c8'", "(1,)", {"\x3f\x80\0\0\xbf\x80\0\0", 8}))),
            (std::vector<std::complex<float>>{{1, -1}}));
  EXPECT_EQ(values<uint64_t>(from_npy(npy_of("'>u8'", "(1,)", {"\0\1\2\3\4\5\6\7", 8}))),
            (std::vector<uint64_t>{0x0001020304050607}));
  EXPECT_EQ(values<uint8_t>(from_npy(npy_of("'>u1'", "(2,)", "ab"))),
            (std::vector<uint8_t>{97, 98}));
  for (const char* code : {"'=i2'", "'|i2'", "'i2'", "'<i2'"}) {
    EXPECT_EQ(values<int16_t>(from_npy(npy_of(code, "(1,)", {"\1\0", 2}))),
              (std::vector<int16_t>{1}));
  }
}

TEST(Npy, FortranOrderIsTurnedAround) {
  EXPECT_EQ(values<uint8_t>(from_npy(npy_of("'|u1'", "(2, 3)", "adbecf", true))),
            (std::vector<uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
  EXPECT_EQ(values<int16_t>(from_npy(npy_of("'>i2'", "(2, 2)", {"\0\1\0\3\0\2\0\4", 8}, true))),
            (std::vector<int16_t>{1, 2, 3, 4}));
  EXPECT_EQ(values<uint8_t>(from_npy(npy_of("'|u1'", "(2,)", "ab", true))),
            (std::vector<uint8_t>{'a', 'b'}));
  EXPECT_EQ(from_npy(npy_of("'<f4'", "(0, 3)", "", true)).sizes(), (Sizes{0, 3}));
}

TEST(Npy, NarrowFloatsAreToldApart) {
  EXPECT_EQ(from_npy(npy_of("'<V2'", "(1,)", "ab")).dtype(), DType::bf16);
  EXPECT_EQ(from_npy(npy_of("'|V2'", "(1,)", "ab")).dtype(), DType::bf16);
  EXPECT_EQ(from_npy(npy_of("'<V1'", "(1,)", "a")).dtype(), DType::f8e4m3);
  EXPECT_EQ(from_npy(npy_of("'<f1'", "(1,)", "a")).dtype(), DType::f8e5m2);
  expect_failure([] { from_npy(npy_of("'|V1'", "(1,)", "a")); },
                 "TypeError: byte 20: elements of dtype \"|V1\" are raw bytes of unknown meaning");
}

TEST(Npy, HeadersMayBeWrittenOtherwise) {
  const std::string_view dictionary =
      " {\"shape\" : (2L , 1) ,\t'fortran_order':False,'descr':\"<i2\"} \n ";
  for (const int version : {1, 2, 3}) {
    const Array array = from_npy(npy_file(dictionary, {"\1\0\2\0", 4}, version));
    EXPECT_EQ(array.sizes(), (Sizes{2, 1}));
    EXPECT_EQ(values<int16_t>(array), (std::vector<int16_t>{1, 2}));
  }
}

TEST(Npy, MalformedFilesSayWhereAndWhat) {
  const auto expect = [](const std::string& file, const std::string& message) {
    expect_failure([&] { from_npy(file); }, message);
  };
  expect("", "ParseError: byte 0: this is not a .npy file");
  expect("\x93NUMPX\x01", "this is not a .npy file");
  expect("\x93NUMPY", "ParseError: byte 6: expected 1 bytes, 0 are left");
  expect(npy_file("{}", "", 4), "byte 6: unknown version 4.0; known versions are 1.0, 2.0 and 3.0");
  expect(npy_file("{}", "").substr(0, 11), "byte 10: a header of 2 bytes, but 1 are left");
  expect(npy_file(std::string(1 << 21, ' '), "", 2),
         "byte 12: a header of 2097152 bytes; at most 1048576 are read");
  expect(npy_file("", ""), "byte 10: expected a string");
  expect(npy_file("{}", ""), "byte 10: 'descr' is missing");
  expect(npy_file("[1, 2]", ""), "byte 10: expected a dictionary");
  expect(npy_file("{'descr': '<f4', 'descr': '<f4'}", ""), "byte 27: expected 'descr'");
  expect(npy_file("{'a': 1}", ""), "byte 11: expected 'descr', 'fortran_order' and 'shape'");
  expect(npy_file("{'descr: 1}", ""), "byte 11: an unterminated string");
  expect(npy_file("{'a' 1}", ""), "byte 15: expected ':', found \"1}\"");
  expect(npy_file("{'a': (1 2)}", ""), "byte 19: expected ',' or the closing bracket");
  expect(npy_file("{'a': 99999999999999999999}", ""), "byte 16: a number that exceeds 63 bits");
  expect(npy_file("{'a': -}", ""), "byte 16: expected a number");
  expect(npy_file(std::string(2000, '('), ""), "values are nested too deeply");
  expect(npy_file("{} x", ""), "byte 13: expected the end of the header, found \"x\"");
  expect(npy_file("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "abcd"),
         "byte 44: 'fortran_order' must be True or False");
  expect(npy_of("'<f4'", "[1]", "abcd"), "'shape' is not a tuple");
  expect(npy_of("'<f4'", "(1)", "abcd"), "'shape' is not a tuple");
  expect(npy_of("'<f4'", "(-1,)", ""), "a size is an integer of 0 or more");
  expect(npy_of("'<f4'", "('1',)", ""), "a size is an integer of 0 or more");
  expect(npy_of("7", "(1,)", ""), "ParseError: byte 20: 'descr' is not a dtype");
  expect(npy_of("'|b1'", "(3,)", {"\0\1\2", 3}), "2 is not a bool, which is 0 or 1");
}

TEST(Npy, SizesThatTheBytesCannotBackAreRefused) {
  const auto expect = [](const std::string& file, const std::string& message) {
    expect_failure([&] { from_npy(file); }, message);
  };
  expect(npy_of("'<f4'", "(2, 3)", std::string(23, 'a')),
         "ParseError: byte 70: expected the 24 bytes of f32[2, 3], found 23");
  expect(npy_of("'<f4'", "(2, 3)", std::string(25, 'a')), "found 25");
  expect(npy_of("'<f4'", "(1000000000000,)", "a"), "expected the 4000000000000 bytes");
  const char* too_many = "the number of bytes exceeds 63 bits";
  expect(npy_of("'<f4'", "(4611686018427387904,)", ""), too_many);
  expect(npy_of("'<f4'", "(0, 4611686018427387904, 4611686018427387904)", ""), too_many);
}

TEST(Npy, DTypesThatPlaitLacksAreTypeErrors) {
  const auto expect = [](const char* descr, const std::string& message) {
    expect_failure([&] { from_npy(npy_of(descr, "(0,)", "")); }, "TypeError: byte 20: " + message);
  };
  expect("'|O'", "elements of dtype \"|O\" are Python objects");
  expect("'<U5'", "elements of dtype \"<U5\" are text");
  expect("'<M8[ns]'", "elements of dtype \"<M8[ns]\" are dates or times");
  expect("'<f16'", "elements of dtype \"<f16\" are not a dtype of Plait");
  expect("''", "elements of dtype \"\" are not a dtype of Plait");
  expect("[('a', '<f4'), ('b', '<i2')]", "the elements are records");
  expect("[('key', '<u8', (3,))]", "the elements are records");
  EXPECT_THROW(write_npy(Array()), ValueError);
}

TEST(NpyFile, LargeOnesAreMappedAndNotCopied) {
  const TemporaryFolder folder;
  const Array array = sample(DType::f32, {1 << 18});
  save_npy(folder.path("large.npy"), array);
  const Array loaded = load_npy(folder.path("large.npy"));
  EXPECT_TRUE(loaded.buffer().is_borrowed());
  EXPECT_FALSE(loaded.is_writable());
  save_npy(folder.path("large.npy"), sample(DType::i8, {3}));
  expect_same(loaded, array);
  EXPECT_FALSE(load_npy(folder.path("large.npy")).buffer().is_borrowed());
}

TEST(NpyFile, LargeOnesOfAnotherOrderAreCopied) {
  const TemporaryFolder folder;
  const std::string data(size_t{1} << 21, '\1');
  for (const bool fortran : {false, true}) {
    for (const char* descr : {"'>i4'", "'<i4'"}) {
      const std::string file = npy_of(descr, "(1024, 512)", data, fortran);
      OutputFile output(folder.path("other.npy"));
      output.write(bytes_of(std::string_view(file)));
      output.finish();
      const Array loaded = load_npy(folder.path("other.npy"));
      EXPECT_FALSE(loaded.buffer().is_borrowed());  // the last of the four is at an odd address
      EXPECT_EQ(loaded.elements<int32_t>()[1'000], 0x01010101);
    }
  }
}

TEST(NpyFile, ErrorsOfOpeningNameThePathAndTheReason) {
  const TemporaryFolder folder;
  const std::string missing = folder.path("no/such.npy");
  expect_failure([&] { load_npy(missing); },
                 "IoError: cannot open " + missing + ": No such file or directory");
  expect_failure([&] { save_npy(missing, sample(DType::f32, {1})); },
                 "IoError: cannot write " + missing + ": No such file or directory");
  expect_failure([&] { load_npy(folder.path("")); }, "it is not a regular file");
  expect_failure([&] { save_npy("/dev/null", sample(DType::f32, {1})); },
                 "it is not a regular file");
  OutputFile(folder.path("empty.npy")).finish();
  expect_failure([&] { load_npy(folder.path("empty.npy")); },
                 "ParseError: " + folder.path("empty.npy") + ": byte 0: ");
}

}  // namespace
}  // namespace plait
