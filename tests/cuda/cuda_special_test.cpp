// Functions built from the gamma function on the device: the mathematics of the CPU, with pairs of
// doubles in place of long double.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "plait/ops/register_all.h"

#include "tests/cuda/both_devices.h"

namespace plait::cuda_special_test {
namespace {

class CudaSpecial : public BothDevices {
 protected:
  void SetUp() override {
    BothDevices::SetUp();
    register_all();
  }
};

const ir::Primitive& named(std::string_view name) {
  for (const ir::Primitive* each : ir::primitives()) {
    if (each->name == name) return *each;
  }
  throw std::out_of_range(std::string(name));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
uint64_t st = 99;
double u() { st=st*6364136223846793005u+1442695040888963407u; return (double)(st>>11)*0x1p-53; }
double lg(double lo,double hi){ return std::pow(10.0, lo+(hi-lo)*u()); }
double unit(){ double t=u(); return t<0.3? lg(-300,0): t<0.6? u() : t<0.8 ? 1-lg(-15,0): std::nearbyint(8*u())/8; }
double shape(){ double t=u(); static const double sp[]={0,1,2,0.5,INFINITY,NAN,-1,16,64}; return t<0.05? sp[(int)(u()*9)] : t<0.4? lg(-3,2): t<0.8? lg(0,5) : t<0.9? lg(-200,0): lg(5,12); }

TEST_F(CudaSpecial, Probe) {
  const int64_t n = 3000;
  for (const DType dtype : {DType::f64, DType::f32}) {
  Array A = Array::empty(DType::f64, {n}), B = Array::empty(DType::f64, {n}), X= Array::empty(DType::f64, {n}), G= Array::empty(DType::f64, {n}), L= Array::empty(DType::f64, {n});
  const auto at = [](Array& a, int64_t i) -> double& { return reinterpret_cast<double*>(a.writable_data())[i]; };
  for (int64_t i = 0; i < n; ++i) {
    double a=shape(), b=shape(), x=unit(), r=u();
    a = a > 1e7 ? lg(0, 5) : a; b = b > 1e7 ? lg(0, 5) : b;
    double g = r<0.5? a*(0.3+1.5*u()) : shape();
    double m=r<0.5? a/(a+b)*(0.9+0.2*u()) : x; if(!(m<=1)) m=x;
    at(A,i)=a; at(B,i)=b; at(X,i)=m; at(G,i)=g; at(L,i)=std::log(g);
  }
  for (Array* each : {&A,&B,&X,&G,&L}) *each = each->converted(dtype);
  const Array wa = A.converted(DType::f64), wb = B.converted(DType::f64), wx = X.converted(DType::f64), wg = G.converted(DType::f64);
  for (const char* name : {"betaln","gammainc","gammaincc","gammainc_grad_a","gamma_density","random_gamma_grad","random_gamma_slope","betainc","betainc_grad_a","betainc_grad_b","beta_density"}) {
    const ir::Primitive& p = named(name);
    const bool gamma = std::string(name).find("gamma") != std::string::npos;
    std::vector<Array> ops = std::string(name)=="random_gamma_slope" ? std::vector<Array>{A,L} : gamma ? std::vector<Array>{A,G} : std::string(name)=="betaln" ? std::vector<Array>{A,B} : std::vector<Array>{A,B,X};
    const Results r = run(p, ops, {});
    const Array h = r.host[0].converted(DType::f64), d = r.device[0].converted(DType::f64);
    const auto* hp = reinterpret_cast<const double*>(h.data()); const auto* dp = reinterpret_cast<const double*>(d.data());
    double worst = 0; int64_t where = -1; int over=0;
    for (int64_t i = 0; i < n; ++i) {
      if (hp[i]==dp[i] || (std::isnan(hp[i])&&std::isnan(dp[i]))) continue;
      double ulp = std::abs(hp[i]-dp[i]) / (std::max(std::abs(hp[i]), float_limits(dtype).smallest_normal) * float_limits(dtype).epsilon);
      if (!(ulp < 1e30)) ulp = 1e30;
      if (ulp > 2.1) ++over;
      if (ulp > worst) { worst = ulp; where = i; }
    }
    fmt::print("{} {} worst {:.3g} over2 {}", name, name_of(dtype), worst, over);
    if (where >= 0) fmt::print(" at a={:.17g} b={:.17g} x={:.17g} g={:.17g}: {} expected {}", at(const_cast<Array&>(wa),where), at(const_cast<Array&>(wb),where), at(const_cast<Array&>(wx),where), at(const_cast<Array&>(wg),where), dp[where], hp[where]);
    fmt::print("\n"); std::fflush(stdout);
  }}
}

}  // namespace
}  // namespace plait::cuda_special_test
