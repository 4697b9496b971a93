// Refusals of fft.h.
#include <gtest/gtest.h>

#include "plait/ops/fft/fft.h"

#include "refusals.h"

namespace plait {
namespace {

using fft::AxisList, fft::Length, fft::Lengths;
using OneAxis = Tensor (*)(const Tensor&, Length, int64_t, fft::Norm);
using SeveralAxes = Tensor (*)(const Tensor&, const Lengths&, const AxisList&, fft::Norm);

const std::vector<Named<OneAxis>> kOneAxis = {{"fft::fft", fft::fft},   {"fft::ifft", fft::ifft},
                                              {"fft::rfft", fft::rfft}, {"fft::irfft", fft::irfft},
                                              {"fft::hfft", fft::hfft}, {"fft::ihfft", fft::ihfft}};
const std::vector<Named<SeveralAxes>> kSeveralAxes = {
    {"fft::fftn", fft::fftn},     {"fft::ifftn", fft::ifftn},  {"fft::rfftn", fft::rfftn},
    {"fft::irfftn", fft::irfftn}, {"fft::fft2", fft::fft2},    {"fft::ifft2", fft::ifft2},
    {"fft::rfft2", fft::rfft2},   {"fft::irfft2", fft::irfft2}};
constexpr auto kPlain = fft::Norm::backward;

}  // namespace

Refusals refusals_of_fft() {
  Refusals rows = {
      {"fft::rfft", [] { fft::rfft(c64(4)); }, kType, {"c64[4]"}},
      {"fft::ihfft", [] { fft::ihfft(c64(4)); }, kType, {"c64[4]"}},
      {"fft::rfftn", [] { fft::rfftn(c64(4)); }, kType, {"c64[4]"}},
      {"fft::rfft2", [] { fft::rfft2(c64(4, 4)); }, kType, {"c64[4, 4]"}},
      {"fft::irfft", [] { fft::irfft(c64(1)); }, kValue, {"c64[1]", "0"}},
      {"fft::fftfreq", [] { fft::fftfreq(0); }, kValue, {"0"}},
      {"fft::fftfreq", [] { fft::fftfreq(4, 0); }, kValue, {"0"}},
      {"fft::fftfreq", [] { fft::fftfreq(4, __builtin_nan("")); }, kValue, {"nan"}},
      {"fft::fftfreq", [] { fft::fftfreq(4, 1, DType::i32); }, kType, {"i32"}},
      {"fft::fftfreq", [] { fft::fftfreq(4, 1, DType::key); }, kType, {"key"}},
      {"fft::rfftfreq", [] { fft::rfftfreq(-1); }, kValue, {"-1"}},
      {"fft::rfftfreq", [] { fft::rfftfreq(4, 0); }, kValue, {"0"}},
      {"fft::rfftfreq", [] { fft::rfftfreq(4, 1, DType::i32); }, kType, {"i32"}},
      {"fft::rfftfreq", [] { fft::rfftfreq(4, 1, DType::key); }, kType, {"key"}},
      {"fft::fftshift", [] { fft::fftshift(f32(4), {1}); }, kIndex, {"axis 1", "f32[4]"}},
      {"fft::fftshift", [] { fft::fftshift(Tensor()); }, kValue, {"never given"}},
      {"fft::ifftshift", [] { fft::ifftshift(f32(4), {-2}); }, kIndex, {"axis -2", "f32[4]"}},
  };
  for (const auto& [name, f] : kOneAxis) {
    rows.push_back({name, [f] { f(f32(4), {}, 1, kPlain); }, kIndex, {"axis 1", "f32[4]"}});
    rows.push_back({name, [f] { f(f32(4), 0, -1, kPlain); }, kValue, {"length", "0", "f32[4]"}});
    rows.push_back({name, [f] { f(f32(4), -2, -1, kPlain); }, kValue, {"-2", "f32[4]"}});
    rows.push_back({name, [f] { f(f32(0), {}, -1, kPlain); }, kValue, {"f32[0]"}});
    rows.push_back({name, [f] { f(f32(), {}, -1, kPlain); }, kIndex, {"axis -1", "f32[]"}});
    rows.push_back({name, [f] { f(keys(4), {}, -1, kPlain); }, kType, {"key[4]"}});
  }
  for (const auto& [name, f] : kSeveralAxes) {
    rows.push_back({name, [f] { f(f32(4), {}, {1}, kPlain); }, kIndex, {"axis 1", "f32[4]"}});
    rows.push_back(
        {name, [f] { f(f32(4, 4), {4}, {0, 1}, kPlain); }, kValue, {"1 lengths", "f32[4, 4]"}});
    rows.push_back(
        {name, [f] { f(f32(4, 4), {4, 0}, {0, 1}, kPlain); }, kValue, {"0", "f32[4, 4]"}});
    rows.push_back({name, [f] { f(f32(4, 4), {4, -2}, {0, 1}, kPlain); }, kValue, {"-2"}});
    rows.push_back({name, [f] { f(f32(4), {4, 4}, {}, kPlain); }, kValue, {"2 lengths", "f32[4]"}});
    rows.push_back({name, [f] { f(f32(), {}, {}, kPlain); }, kValue, {"f32[]"}});
    rows.push_back({name, [f] { f(keys(4), {}, {}, kPlain); }, kType, {"key[4]"}});
  }
  return rows;
}

TEST(Refusals, Fft) { expect_refused(refusals_of_fft()); }

}  // namespace plait
