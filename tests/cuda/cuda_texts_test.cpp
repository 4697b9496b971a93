// The texts of kernels that no printer writes, compiled by NVIDIA's NVRTC, if it is there: nothing
// runs.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/cuda/inside/fourier/fourier_text.h"
#include "plait/cuda/inside/indexing/cuda_gather.h"
#include "plait/cuda/inside/indexing/cuda_nonzero.h"
#include "plait/cuda/inside/indexing/cuda_planes.h"
#include "plait/cuda/inside/indexing/scatter_text.h"
#include "plait/cuda/inside/kernels/compile_text.h"
#include "plait/cuda/inside/order/cuda_unique.h"
#include "plait/cuda/inside/order/radix_sort.h"
#include "plait/cuda/inside/order/sort_text.h"
#include "plait/cuda/inside/random/random_text.h"
#include "plait/cuda/inside/reductions/cuda_arg_extreme.h"
#include "plait/cuda/inside/reductions/cuda_lattice.h"
#include "plait/cuda/inside/reductions/scan_text.h"
#include "plait/cuda/inside/windows/convolution_text.h"
#include "plait/cuda/inside/windows/window_text.h"

#include "tests/cuda/nvidias_compiler.h"

namespace plait::cuda::texts_test {
namespace {

class CudaKernelTexts : public testing::Test {
 protected:
  void SetUp() override {
    nvrtc_ = cuda_test::nvidias_compiler();
    if (!nvrtc_) GTEST_SKIP() << "there is no NVRTC on this machine";
  }
  // Each text has all the kernels of its file: one name suffices.
  void expect_compiles(const std::string& name, const std::string& text, int architecture = 90) {
    try {
      EXPECT_GT(compile_text(*nvrtc_, {name, text}, architecture).size(), 1000u) << name;
    } catch (const Error& error) {
      ADD_FAILURE() << name << ": " << error.what();
    }
  }

 private:
  std::optional<Nvrtc> nvrtc_;
};

TEST_F(CudaKernelTexts, OfRandomNumbers) {
  expect_compiles("random_bits", random_bits_text(1));
  expect_compiles("random_bits", random_bits_text(8));
  for (const DType dtype : {DType::f64, DType::f16}) {
    for (const Distribution each :
         {Distribution::uniform, Distribution::normal, Distribution::laplace}) {
      expect_compiles("random_values", random_values_text(each, dtype));
    }
  }
  expect_compiles("random_values", random_values_text(Distribution::gumbel, DType::bf16));
  expect_compiles("random_values", random_values_text(Distribution::exponential, DType::f16));
  expect_compiles("random_integers", random_integers_text());
  expect_compiles("truncated_normal", truncated_normal_text(DType::f16));
  expect_compiles("random_values", random_values_text(Distribution::normal, DType::f32), 80);
}

TEST_F(CudaKernelTexts, OfIndexing) {
  Points points;
  points.rank = 2;
  points.indices = 2;
  Row row;
  row.rank = 1;
  for (const int64_t word : {1, 2, 4, 8, 16}) {
    expect_compiles("gather", gather_text(points, row, word, word != 4));
  }
  for (const DType dtype : {DType::f32, DType::c128, DType::boolean, DType::f8e5m2}) {
    expect_compiles("count_taken", nonzero_text(dtype));
  }
  expect_compiles("locate", locate_text(points, true, 4));
  expect_compiles("locate", locate_text(points, false, 8));
  for (const auto& [combine, dtype] : {std::pair{Combine::set, DType::u8},
                                       {Combine::set, DType::c128},
                                       {Combine::add, DType::f32},
                                       {Combine::add, DType::c64},
                                       {Combine::add, DType::bf16},
                                       {Combine::multiply, DType::c128},
                                       {Combine::multiply, DType::i8},
                                       {Combine::minimum, DType::boolean},
                                       {Combine::maximum, DType::f8e4m3},
                                       {Combine::maximum, DType::f64}}) {
    expect_compiles("update_rows", update_rows_text(points, row, true, combine, dtype));
    expect_compiles("sorted_updates", sorted_updates_text(row, true, 4, 4, combine, dtype));
  }
  expect_compiles("sorted_updates",
                  sorted_updates_text(row, false, 8, 8, Combine::add, DType::f32));
  expect_compiles("gather", gather_text(points, row, 16, true), 80);
}

TEST_F(CudaKernelTexts, OfSorts) {
  for (const DType dtype : {DType::f64, DType::bf16, DType::i16}) {
    expect_compiles("sort_rows", block_sort_text(dtype));
    expect_compiles("take_sorted", sorted_values_text(dtype, dtype == DType::f64 ? 8 : 4));
    expect_compiles("search_sorted", search_text(dtype));
    expect_compiles("count_taken", unique_text(dtype, dtype == DType::f64));
  }
  expect_compiles("arg_extreme", arg_extreme_text(DType::f32, true, 1));
  expect_compiles("arg_extreme", arg_extreme_text(DType::f8e4m3, false, 32));
  expect_compiles("arg_extreme", arg_extreme_text(DType::u64, true, 256));
  expect_compiles("move_items", radix_sort_text(1, 4));
  expect_compiles("move_items", radix_sort_text(8, 8));
  expect_compiles("move_items", radix_sort_text(4, 4), 80);
}

TEST_F(CudaKernelTexts, OfScans) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i8, DType::c64}) {
    if (joins(ScanKind::product, dtype)) {
      expect_compiles("scan_rows", scan_text(ScanKind::product, dtype));
    } else {
      expect_compiles("scan_in_order", ordered_scan_text(ScanKind::product, dtype));
      expect_compiles("scan_in_order", ordered_scan_text(ScanKind::recurrence, dtype));
    }
    expect_compiles("scan_rows", scan_text(ScanKind::sum, dtype));
    if (!is_complex(dtype)) expect_compiles("scan_rows", scan_text(ScanKind::maximum, dtype));
  }
  expect_compiles("scan_rows", scan_text(ScanKind::minimum, DType::boolean));
  expect_compiles("scan_rows", scan_text(ScanKind::logsumexp, DType::f32));
  expect_compiles("scan_rows", scan_text(ScanKind::logsumexp, DType::f16));
}

TEST_F(CudaKernelTexts, OfWindows) {
  for (const WindowForm form :
       {WindowForm{DType::f32, 2, 2, false, true}, WindowForm{DType::bf16, 3, 4, true, false},
        WindowForm{DType::i8, 1, 0, false, false}, WindowForm{DType::f8e4m3, 2, 1, true, true}}) {
    expect_compiles("window_spread", window_sum_text(form));
    expect_compiles("window_maximum", window_maximum_text(form));
  }
  expect_compiles("window_sum", window_sum_text({DType::c128, 2, 1, false, true}));
  expect_compiles("window_maximum_index", window_maximum_text({DType::boolean, 1, 1, false, true}));
}

TEST_F(CudaKernelTexts, OfConvolutions) {
  const ConvolvedForm plane{.space = 2, .is_narrow = true};
  const ConvolvedForm cube{.space = 3, .is_strided = true, .is_dilated = true};
  for (const ConvolvedForm& form : {plane, cube}) {
    for (const int64_t word : {2, 16}) {
      expect_compiles("gather_patches", gather_patches_text(form, word));
    }
    for (const DType dtype : {DType::f16, DType::i8, DType::c64}) {
      const DType stored = dtype == DType::f16 ? DType::f32 : dtype;
      expect_compiles("join_patches", join_patches_text(form, dtype, stored));
      expect_compiles("add_parts", add_parts_text(dtype, stored));
      expect_compiles("direct_weight", direct_convolution_text(form, dtype));
    }
  }
  expect_compiles("direct_output", direct_convolution_text(plane, DType::bf16), 80);
}

TEST_F(CudaKernelTexts, OfTransformsAndPlanes) {
  expect_compiles("transform",
                  fourier_text(DType::c64, FourierInput::complex, FourierOutput::complex, true));
  expect_compiles("transform",
                  fourier_text(DType::c64, FourierInput::half, FourierOutput::real, false));
  expect_compiles("transform",
                  fourier_text(DType::c128, FourierInput::real, FourierOutput::half, true));
  expect_compiles("transform",
                  fourier_text(DType::c128, FourierInput::complex, FourierOutput::complex, true),
                  80);
  for (const int64_t bytes : {1, 2, 4, 8, 16}) {
    expect_compiles("plane_take", plane_take_text(bytes, bytes < 8));
  }
  expect_compiles("check_planes", check_planes_text());
  expect_compiles("walk", lattice_text(false, DType::f32));
  expect_compiles("walk", lattice_text(true, DType::f64));
}

}  // namespace
}  // namespace plait::cuda::texts_test
